"""``/events``: what became of applications, containers and nodes lately, as a list and as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from yodel.domain.ids import ApplicationId
from yodel.rm_api.v1 import cursors, models, shapes, stream
from yodel.rm_api.v1.callers import (
    APPLICATION_PATTERN,
    KNOWN,
    LIMIT_DEFAULT,
    TEXT_LENGTH_MAX,
    Cursor,
    Limit,
    reader_owner,
    viewer,
)
from yodel.rm_api.v1.services import ApiServices, services_of
from yodel.services.views.transitions import Transition

router = APIRouter(prefix="/events", tags=["events"], dependencies=[KNOWN])
EVENT_ID_PATTERN = r"^[0-9]{1,18}-[0-9]{1,18}$"
Kinds = Annotated[list[models.EventKind], Query(max_length=10, description="Any of these; none is all.")]
OfApplication = Annotated[
    str | None,
    Query(
        max_length=TEXT_LENGTH_MAX,
        pattern=APPLICATION_PATTERN,
        description="Only of this application and its containers.",
    ),
]
EventId = Query(
    pattern=EVENT_ID_PATTERN, description="Same as the header Last-Event-ID, for clients that cannot set it."
)
LastEventId = Header(alias="Last-Event-ID", pattern=EVENT_ID_PATTERN, description="Continue after this event.")
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "An endless stream. `application`, `container` and `node` carry an Event; `gap` means that "
        "events after Last-Event-ID were dropped (list again); `cut` gives the reason why the stream ends.",
        "content": {stream.MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.get("")
async def list_events(
    request: Request,
    kind: Kinds = [],  # noqa: B006
    application: OfApplication = None,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> models.EventPage:
    """The last transitions that you may view, newest first.  Ten thousand are kept, until a restart."""
    services = services_of(request)
    transitions = services.transitions
    key = cursors.decoded("events", cursor, int, int)
    wanted, may_view = _wanted(kind, application), viewer(request)
    found: list[Transition] = []
    for step in transitions.newest_first():
        is_later = key is None or (transitions.epoch, step.sequence) < key
        if is_later and wanted(step) and (step.application is None or may_view(step.application)):
            found.append(step)
            if len(found) > limit:
                break
    epoch = transitions.epoch
    shown, next_cursor = cursors.page(found, limit, lambda step: cursors.encoded("events", epoch, step.sequence))
    return models.EventPage(items=[shapes.event(step, epoch) for step in shown], next_cursor=next_cursor)


@router.get("/stream", response_class=Response, responses=STREAM)
async def stream_events(
    request: Request,
    kind: Kinds = [],  # noqa: B006
    application: OfApplication = None,
    last_event_id: Annotated[str | None, LastEventId] = None,
    after: Annotated[str | None, EventId] = None,
) -> Response:
    """Transitions as they happen (server-sent events), from now on or after a given event.

    After 15 seconds without an event the server sends a comment.  A stream that is not read is closed.  At most 64 are
    open, 16 of one user or, without a user name, of one host.
    """
    services = services_of(request)
    transitions = services.transitions
    asked = stream.position_in(last_event_id or after)
    wanted = _wanted(kind, application)
    position, first = _start(services, asked)
    return stream.EventStream(
        transitions,
        transitions.open(position, reader_owner(request)),
        services.rendered_events,
        wanted=wanted,
        viewer=lambda: viewer(request),
        first=first,
    )


def _start(services: ApiServices, asked: tuple[int, int] | None) -> tuple[int, bytes]:
    """Return the position at which to start, and the first bytes of the stream."""
    transitions = services.transitions
    if asked is None:
        return transitions.last, b""
    epoch, sequence = asked
    if epoch != transitions.epoch:
        return transitions.last, stream.gap("the ResourceManager was restarted; list again and continue")
    if not transitions.holds_after(sequence):
        return transitions.last, stream.gap("events after it were dropped; list again and continue")
    return sequence, b""


def _wanted(kinds: Sequence[models.EventKind], application: str | None) -> stream.Wanted:
    """Raises InvalidValue."""
    asked = ApplicationId.parse(application) if application is not None else None
    names = {kind.value for kind in kinds}

    def wanted(step: Transition) -> bool:
        if names and step.kind.value not in names:
            return False
        return asked is None or (step.application is not None and step.application.id == asked)

    return wanted
