"""``/applications/{id}/timeline``: when each container was planned, bound to a node, started and ended.

Rows say when a container was planned and when it ended.  The steps between are remembered by the process alone
(``Transitions``), of its life and as far back as its ring goes: what is older is not known, and told as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerState
from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, visible_application
from yodel.rm_api.v1.container_pages import container_page
from yodel.rm_api.v1.models import EpochMs, Model
from yodel.rm_api.v1.services import ApiServices
from yodel.services.views.transitions import Transition, TransitionKind
from yodel.serving.pieces import taking_turns

BARS_MAX = 500
PIECE = 1_000
"""Transitions that are looked at in one go: a quarter of a millisecond."""
BOUND = (ContainerState.ALLOCATED.name, ContainerState.ACQUIRED.name)
router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])


class TimelineBar(Model):
    """Shows one container.  Steps of the time before `remembered_from_ms` are null, as if they had not been."""

    container_id: str
    is_am: bool
    state: ContainerState
    planned_ms: EpochMs
    bound_ms: EpochMs | None = Field(description="When it got a node.")
    started_ms: EpochMs | None
    noticed_ms: EpochMs | None = Field(description="When it got the preemption notice that it has now.")
    finished_ms: EpochMs | None
    exit_status: int | None


class Timeline(Model):
    """An application's time, and that of its containers."""

    submitted_ms: EpochMs
    finished_ms: EpochMs | None
    until_ms: EpochMs = Field(description="The end, or now.")
    remembered_from_ms: EpochMs = Field(
        description="Since when all steps are known: since the ResourceManager started, or later if much has happened."
    )
    bars: list[TimelineBar] = Field(description="The newest containers, at most 500, oldest first.")
    more_containers: int = Field(description="Further containers that it has had, older or no longer kept.")


@dataclass(slots=True)
class _Steps:
    """Holds what is remembered of one container."""

    bound_ms: int | None = None
    started_ms: int | None = None


@router.get("/{application_id}/timeline")
async def get_timeline(request: Request, application_id: ApplicationPath) -> Timeline:
    """Return when the newest containers of an application were planned, got a node, started and ended."""
    services, view = visible_application(request, application_id)
    row = view.application
    rows, more = await _newest(services, row)
    remembered = services.transitions.newest_first()
    steps = await _steps(row, remembered)
    started_ms = services.process.started_ms
    is_cut = bool(remembered) and remembered[-1].sequence > 1
    now_ms = services.queries.now_ms()
    return Timeline(
        submitted_ms=row.submitted_ms,
        finished_ms=row.finished_ms or None,
        until_ms=row.finished_ms or max(now_ms, row.submitted_ms),
        remembered_from_ms=max(started_ms, remembered[-1].at_ms) if is_cut else started_ms,
        bars=[_bar(services, one, steps.get(str(one.id), _Steps()), now_ms) for one in rows],
        more_containers=more,
    )


async def _newest(services: ApiServices, row: Application) -> tuple[Sequence[Container], int]:
    """Return the newest containers, oldest first, and how many there were beside them."""
    queries = services.queries
    shown, following = await container_page(services.containers, row, lambda _: True, BARS_MAX, None)
    if following is not None:  # too many: those in memory are the newest
        ids = (i for one in queries.attempts(row.id) for i in queries.rows.container_ids_of(one.id))
        newest = nlargest(BARS_MAX, ids)
        found = (queries.rows.container(one) for one in reversed(newest))
        shown = [one for one in found if one is not None]
    return shown, _had([one.id for one in shown]) - len(shown)


def _had(ids: Iterable[ContainerId]) -> int:
    """Return how many containers there were up to these: each attempt counts its own from 1, and anew in each epoch."""
    highest: dict[tuple[object, int], int] = {}
    for one in ids:
        counted_by = one.attempt_id, one.epoch
        highest[counted_by] = max(highest.get(counted_by, 0), one.sequence)
    return sum(highest.values())


async def _steps(row: Application, remembered: Iterable[Transition]) -> Mapping[str, _Steps]:
    found: dict[str, _Steps] = {}
    async for step in taking_turns(remembered, PIECE):  # newest first: the earliest of its kind stays
        if step.kind is TransitionKind.CONTAINER and step.application is not None and step.application.id == row.id:
            steps = found.setdefault(step.subject, _Steps())
            if step.after in BOUND:
                steps.bound_ms = step.at_ms
            elif step.after == ContainerState.RUNNING.name:
                steps.started_ms = step.at_ms
    return found


def _bar(services: ApiServices, row: Container, steps: _Steps, now_ms: int) -> TimelineBar:
    return TimelineBar(
        container_id=str(row.id),
        is_am=row.is_am,
        state=row.state,
        planned_ms=row.created_ms,
        bound_ms=steps.bound_ms,
        started_ms=steps.started_ms,
        noticed_ms=services.queries.noticed.since_ms(row.id, now_ms) if row.is_live else None,
        finished_ms=row.finished_ms or None,
        exit_status=None if row.is_live else row.exit_status,
    )
