"""``/applications/{id}/failure``: the first container that failed, and the last line that is known of the failure."""

from __future__ import annotations

import re

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.states import ContainerExitStatus
from yodel.rm_api.v1 import models
from yodel.rm_api.v1.applications import container_shape
from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, visible_application
from yodel.rm_api.v1.container_pages import ContainerSource, container_page

READ_MAX = 100
"""Failed containers in memory, and first containers of all, among which the one that failed first is looked for."""
STOPPED = ContainerExitStatus.TERMINATED
NO_FAILURES = (
    ContainerExitStatus.SUCCESS,
    ContainerExitStatus.INVALID,
    ContainerExitStatus.ABORTED,
    ContainerExitStatus.PREEMPTED,
    ContainerExitStatus.KILLED_BY_APPMASTER,
    ContainerExitStatus.KILLED_BY_RESOURCEMANAGER,
    ContainerExitStatus.KILLED_AFTER_APP_COMPLETION,
    ContainerExitStatus.KILLED_BY_CONTAINER_SCHEDULER,
)
"""Exit statuses of containers that did not end by themselves, or ended well."""
_LOG_HEADING = re.compile(r"Last \d+ bytes of .{1,255} :")
"""The heading of a log's end in diagnostics (ContainerLaunch.tailFile)."""
router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])


class Failure(models.Model):
    """Explains why an application failed, as far as that is known."""

    container: models.Container | None = Field(
        description="Of the containers that are kept, the first that ended badly; one that was stopped counts last."
    )
    last_line: str = Field(description="The last line of its diagnostics, or of those of the application.")


@router.get("/{application_id}/failure")
async def why_it_failed(request: Request, application_id: ApplicationPath) -> Failure:
    """Show the first container that failed, whether the application has ended or not."""
    services, view = visible_application(request, application_id)
    row = view.application
    failed = await _first_failed(services.containers, row)
    return Failure(
        container=container_shape(services, failed) if failed is not None else None,
        last_line=_last_line(failed.diagnostics if failed is not None else "") or _last_line(row.diagnostics),
    )


async def _first_failed(source: ContainerSource, row: Application) -> Container | None:
    """Raises Unavailable: the store did not answer."""
    in_memory, _ = await container_page(source, row, _has_failed, READ_MAX, None, are_ended_wanted=False)
    first, _ = await container_page(source, row, lambda _: True, READ_MAX, None)
    failed = [one for one in (*in_memory, *first) if _has_failed(one)]
    return min(failed, key=lambda one: (one.exit_status == STOPPED, one.finished_ms, one.id), default=None)


def _has_failed(row: Container) -> bool:
    return not row.is_live and row.exit_status not in NO_FAILURES


def _last_line(text: str) -> str:
    """Return the last line that is more than the heading of a log without a line."""
    lines = (line.strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line and _LOG_HEADING.fullmatch(line) is None), "")
