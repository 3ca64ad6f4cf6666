"""Windows of a queue: ``/queues/{path}/windows``.

They are properties of the queue (``window.NAME.…``), so a change of one is a change of the queues: with ``If-Match``, a
dry run, a version, and by whom queues may be changed.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from starlette.requests import Request

from yodel.domain.queues.history import REASON_LENGTH_MAX
from yodel.domain.queues.queue import Queue, is_name
from yodel.domain.queues.window import STAGES_DEFAULT, Window
from yodel.domain.queues.window_properties import said_as
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.errors import InvalidValue, QueueNotFound, Refused, WindowNotFound
from yodel.rm_api.v1 import queue_models as models
from yodel.rm_api.v1.callers import KNOWN, TEXT_LENGTH_MAX
from yodel.rm_api.v1.models import EpochMs, Model, Page
from yodel.rm_api.v1.queue_changes import ADMINISTERED, From, QueuePath, changed, etag
from yodel.rm_api.v1.services import services_of
from yodel.services.scheduling.configuration import assembling

router = APIRouter(tags=["queues"], dependencies=[KNOWN])
Name = Annotated[str, Path(max_length=TEXT_LENGTH_MAX, description="A window's name.", examples=["office"])]
_NUMBER_MAX = 10**9
Count = Annotated[int, Field(ge=0, le=_NUMBER_MAX)]


class WindowSaid(Model):
    """A schedule on which a queue has a lower maximum."""

    cron: models.Text = Field(description="When it opens: five crontab(5) fields.", examples=["0 8 * * 1-5"])
    time_zone: models.Text = Field(default="UTC", description="Time zone of `cron`.", examples=["Europe/Berlin"])
    duration_s: Count = Field(description="How long it stays open, seconds.")
    maximum_capacity_percent: float = Field(
        ge=0, le=100, description="The queue's maximum while it is open, in percent of the parent's."
    )
    stop_new_before_s: Count = Field(
        default=0, description="Start no new containers this long before it opens, seconds."
    )
    give_back_stages: Count = Field(
        default=STAGES_DEFAULT, description="Number of steps in which excess usage is preempted; 0: do not preempt."
    )


class WindowChange(WindowSaid):
    """The new definition of a window."""

    reason: models.Reason = ""


class WindowCreation(WindowChange):
    """A window to create."""

    name: models.Text


class QueueWindow(WindowSaid):
    """A window and its current state."""

    name: str
    is_open: bool
    is_near: bool = Field(description="It opens soon, and no new containers start.")
    begins_ms: EpochMs | None = Field(description="When it opens next; null while it is open.")
    ends_ms: EpochMs | None = Field(description="When it closes; null while it is closed.")


class QueueWindowPage(Page[QueueWindow]):
    """All windows of a queue."""


@router.get("/queues/{path}/windows")
async def list_windows(request: Request, response: Response, path: QueuePath) -> QueueWindowPage:
    """The windows of a queue, by name.  The ETag is the version of the queue configuration."""
    services, queue = services_of(request), _queue(request, path)
    response.headers["ETag"] = etag(services.scheduler_conf.version)
    items = [
        QueueWindow(
            name=window.name,
            cron=window.cron,
            time_zone=window.zone,
            duration_s=window.duration_s,
            maximum_capacity_percent=window.maximum_percent,
            stop_new_before_s=window.stop_new_before_s,
            give_back_stages=window.stages,
            is_open=phase.is_open,
            is_near=phase.is_near,
            begins_ms=None if phase.is_open else phase.begins_ms,
            ends_ms=phase.ends_ms if phase.is_open else None,
        )
        for window, phase in services.queries.window_phases(queue)
    ]
    return QueueWindowPage(items=items, next_cursor=None)


@router.post("/queues/{path}/windows", status_code=HTTPStatus.CREATED, dependencies=ADMINISTERED)
async def add_window(
    request: Request, response: Response, path: QueuePath, body: WindowCreation, since: From
) -> models.QueuesChanged:
    """Create a window."""
    queue = _queue(request, path)
    if not is_name(body.name):
        raise InvalidValue("name", body.name[:80], "1 to 128 letters, digits, _ and -")
    if any(window.name == body.name for window in queue.windows):
        raise Refused(f"Queue {queue.path} already has a window {body.name}")
    return await changed(request, response, assembling(_update(queue.path, body.name, body)), since, body.reason)


@router.put("/queues/{path}/windows/{name}", dependencies=ADMINISTERED)
async def replace_window(
    request: Request, response: Response, path: QueuePath, name: Name, body: WindowChange, since: From
) -> models.QueuesChanged:
    """Replace a window."""
    queue = _having(request, path, name)
    return await changed(request, response, assembling(_update(queue.path, name, body)), since, body.reason)


@router.delete("/queues/{path}/windows/{name}", dependencies=ADMINISTERED)
async def remove_window(
    request: Request,
    response: Response,
    path: QueuePath,
    name: Name,
    since: From,
    reason: Annotated[str, Query(max_length=REASON_LENGTH_MAX, description="Reason, recorded with the change.")] = "",
) -> models.QueuesChanged:
    """Remove a window."""
    queue = _having(request, path, name)
    return await changed(request, response, assembling(_update(queue.path, name, None)), since, reason)


def _queue(request: Request, path: str) -> Queue:
    queue = services_of(request).queries.find_queue(path)
    if queue is None:
        raise QueueNotFound(path)
    return queue


def _having(request: Request, path: str, name: str) -> Queue:
    queue = _queue(request, path)
    if all(window.name != name for window in queue.windows):
        raise WindowNotFound(queue.path, name)
    return queue


def _update(path: str, name: str, said: WindowSaid | None) -> ConfUpdate:
    window = None
    if said is not None:
        window = Window(
            name=name,
            cron=said.cron,
            zone=said.time_zone,
            duration_s=said.duration_s,
            maximum_percent=said.maximum_capacity_percent,
            stop_new_before_s=said.stop_new_before_s,
            stages=said.give_back_stages,
        )
    return ConfUpdate(updated=[QueueUpdate(path=path, properties=said_as(name, window))])
