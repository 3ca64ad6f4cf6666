"""The page of an application's time: a bar for each container, from its plan to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.errors import AccessDenied, InvalidValue, NotFound, Unavailable
from yodel.rm_api.ui.applications import APPLICATIONS
from yodel.rm_api.ui.bars import Bar, Part
from yodel.rm_api.ui.frame import at, message, page
from yodel.rm_api.v1.problems import status_of
from yodel.rm_api.v1.timeline import Timeline, TimelineBar, get_timeline

WIDTH_MIN = 0.3
"""Percent of the whole that a stretch has at least, so that it can be seen."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Places times between the application's beginning and its end, in percent."""

    start_ms: int
    end_ms: int

    def place(self, time_ms: int) -> float:
        length_ms = max(1, self.end_ms - self.start_ms)
        return round(100 * min(1.0, max(0.0, (time_ms - self.start_ms) / length_ms)), 2)

    def part(self, kind: str, start_ms: int, end_ms: int) -> Part:
        start = self.place(start_ms)
        return Part(kind, min(start, 100 - WIDTH_MIN), round(max(WIDTH_MIN, self.place(end_ms) - start), 2))


async def timeline(request: Request) -> Response:
    """Show an application's containers over time."""
    asked = request.path_params["application_id"]
    try:
        found = await get_timeline(request, asked)
    except (AccessDenied, InvalidValue, NotFound, Unavailable) as error:
        return await message(request, "No timeline", error, int(status_of(error)))
    return await page(
        request,
        "timeline.html",
        title=f"Timeline of {asked}",
        crumbs=[APPLICATIONS, (f"/cluster/app/{asked}", asked)],
        timeline=found,
        own=f"/applications/{asked}/timeline",
        bars=[(one, bar_of(found, one)) for one in found.bars],
    )


def bar_of(whole: Timeline, one: TimelineBar) -> Bar:
    """Return the bar of a container: pending until it has a node, scheduling until it starts, then used; what happened
    before this life of the ResourceManager is a gap."""
    axis = _Axis(whole.submitted_ms, whole.until_ms)
    steps = [(kind, time_ms) for kind, time_ms in _steps(one) if time_ms is not None]
    words = "; ".join(f"{kind} {at(time_ms)}" for kind, time_ms in steps)
    fields = " ".join(f"{kind}_ms" for kind, _ in steps)
    marks = (Part("maximum", axis.place(one.noticed_ms), 0),) if one.noticed_ms is not None else ()
    return Bar(name="time", text=words, fields=fields, parts=tuple(_parts(axis, whole, one)), marks=marks)


def _steps(one: TimelineBar) -> Iterator[tuple[str, int | None]]:
    yield "planned", one.planned_ms
    yield "bound", one.bound_ms
    yield "started", one.started_ms
    yield "noticed", one.noticed_ms
    yield "finished", one.finished_ms


def _parts(axis: _Axis, whole: Timeline, one: TimelineBar) -> Iterator[Part]:
    end_ms, start_ms = one.finished_ms or whole.until_ms, one.planned_ms
    if start_ms < whole.remembered_from_ms:
        known_ms = min(end_ms, whole.remembered_from_ms)
        yield axis.part("gap", start_ms, known_ms)
        start_ms = known_ms
    if start_ms >= end_ms:
        return
    was_running = one.started_ms is None and start_ms > one.planned_ms and one.state.name in ("RUNNING", "COMPLETED")
    bound_ms = start_ms if was_running else one.bound_ms or one.started_ms or end_ms
    started_ms = start_ms if was_running else one.started_ms or end_ms
    for kind, from_ms, to_ms in (
        ("pending", start_ms, min(bound_ms, end_ms)),
        ("scheduling", bound_ms, min(started_ms, end_ms)),
        ("failed" if one.exit_status not in (None, 0) else "used", started_ms, end_ms),
    ):
        if to_ms > from_ms:
            yield axis.part(kind, from_ms, to_ms)


ROUTES = (Route("/cluster/app/{application_id}/timeline", timeline),)
