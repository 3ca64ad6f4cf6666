"""``/applications/{id}/failure``: the exception that ended the ApplicationMaster, the first container that failed, and
the last line that is known of the failure."""

from __future__ import annotations

import asyncio
import re
from itertools import islice, takewhile

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.states import ContainerExitStatus
from yodel.errors import YodelError
from yodel.rm_api.v1 import models
from yodel.rm_api.v1.applications import container_shape
from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, visible_application
from yodel.rm_api.v1.container_pages import ContainerSource, container_page, found_container
from yodel.rm_api.v1.services import ApiServices
from yodel.services.views.queries import ApplicationView

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
MASTER_LOGS = ("stderr", "stdout")
"""Files of the ApplicationMaster in which its exception is looked for."""
SEARCHED_BYTES, SEARCH_S = 64 * 1024, 3.0
LINES_MAX, LINE_LENGTH_MAX = 5, 500
_EXCEPTION = re.compile(
    r"(?:Caused by: |Exception in thread \S{1,100} )?"
    r"(?:[A-Za-z_$][\w$]{0,100}\.){0,20}[A-Z][\w$]{0,100}(?:Error|Exception)(?::.*)?"
)
"""A line of Java or Python that names an exception, with its message."""
_TRACEBACK = "Traceback (most recent call last):"
router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])


class LoggedException(models.Model):
    """The last exception found in the end of a log of the last ApplicationMaster."""

    container_id: str
    file: str
    lines: list[str] = Field(description="Its name and message first, then where it happened; at most five.")


class Failure(models.Model):
    """Explains why an application failed, as far as that is known."""

    container: models.Container | None = Field(
        description="Of the containers that are kept, the first that ended badly; one that was stopped counts last."
    )
    exception: LoggedException | None = Field(
        description="Null: there is none, the log cannot be read now or is not for you, or it took longer than 3 s."
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
        exception=await _exception(request, services, view),
        last_line=_last_line(failed.diagnostics if failed is not None else "") or _last_line(row.diagnostics),
    )


async def _exception(request: Request, services: ApiServices, view: ApplicationView) -> LoggedException | None:
    row = view.attempt
    if row is None or row.am_container_id is None or not view.application.state.is_final:
        return None
    try:
        async with asyncio.timeout(SEARCH_S):
            master = await found_container(services.containers, view.application.id, str(row.am_container_id))
            for file in MASTER_LOGS:
                end = await services.logs.end(request, master, file, SEARCHED_BYTES)
                if lines := last_exception(end.text.decode("utf-8", "replace")):
                    return LoggedException(container_id=str(master.id), file=file, lines=lines)
    except (TimeoutError, YodelError):
        return None
    return None


def last_exception(text: str) -> list[str]:
    """Return the last exception of a log, its name and message first; of Python's then the innermost lines of its
    traceback, of Java's the first ones of its stack.  Empty: there is none."""
    lines = [line.rstrip()[:LINE_LENGTH_MAX] for line in text.splitlines()]
    last = max((number for number, line in enumerate(lines) if _EXCEPTION.fullmatch(line)), default=None)
    if last is None:
        return []
    above = list(takewhile(lambda line: line.startswith(" "), reversed(lines[:last])))
    if above and last > len(above) and lines[last - len(above) - 1].endswith(_TRACEBACK):
        return [lines[last], *reversed(above[: LINES_MAX - 1])]
    stack = takewhile(lambda line: line.lstrip().startswith(("at ", "... ")), lines[last + 1 :])
    return [lines[last], *islice(stack, LINES_MAX - 1)]


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
