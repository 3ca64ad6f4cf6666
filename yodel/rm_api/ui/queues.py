"""Pages of queues: the tree, and one with why it waits, its users, windows and changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.queues.queue import ROOT
from yodel.errors import AccessDenied, InvalidValue
from yodel.rm_api.ui.bars import Bar, queue_bars
from yodel.rm_api.ui.frame import message, page
from yodel.rm_api.ui.services import services_of
from yodel.rm_api.v1 import models, queue_models, shapes
from yodel.rm_api.v1.cluster import list_queue_users
from yodel.rm_api.v1.queue_changes import list_changes
from yodel.rm_api.v1.queue_windows import list_windows
from yodel.rm_api.v1.why import why_queue_waits
from yodel.services.views.queue_views import QueueView

CHANGES_LISTED_MAX = 10
USERS_LISTED_MAX = 100
QUEUES = ("/cluster/scheduler", "Queues")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """Holds one queue as ``/api/v1`` shows it, with its bars."""

    row: models.Queue
    view: QueueView
    bars: list[Bar]
    depth: int


async def scheduler(request: Request) -> Response:
    """Show the tree of queues."""
    root = await services_of(request).queries.queue(ROOT)
    return await page(request, "queues.html", title="Queues", queues=_lines(root) if root is not None else [])


async def queue(request: Request) -> Response:
    """Show one queue, by its path or a leaf's name, with those below it; every figure is one of ``/api/v1``."""
    asked = request.path_params["queue"]
    view = await services_of(request).queries.queue(asked)
    if view is None:
        return await message(request, "Queue not found", f"There is no queue {asked[:256]}.", 404)
    line, path = queue_line(view, 0), view.queue.path
    above = [path[:end] for end, letter in enumerate(path) if letter == "."]
    try:
        users = await list_queue_users(request, path, USERS_LISTED_MAX, request.query_params.get("users"))
        changes = await _changes(request, path)
    except InvalidValue as error:
        return await message(request, "No such page", error, 400)
    return await page(
        request,
        "queue.html",
        title=f"Queue {path}",
        crumbs=[QUEUES, *((f"/cluster/queue/{one}", one.rpartition(".")[2]) for one in above)],
        queue=line,
        why=await why_queue_waits(request, path),
        users=users,
        windows=(await list_windows(request, Response(), path)).items,
        changes=changes,
        queues=[queue_line(child, 0) for child in view.children],
    )


async def _changes(request: Request, path: str) -> queue_models.QueueChangePage | None:
    """Return the newest changes of the queue and those below it; None for who may not read them.

    Raises InvalidValue: no such page.
    """
    try:
        return await list_changes(request, CHANGES_LISTED_MAX, request.query_params.get("changes"), path)
    except AccessDenied:
        return None


def queue_line(view: QueueView, depth: int) -> QueueLine:
    """Return a queue for a table, ``depth`` steps below its first."""
    return QueueLine(row=shapes.queue(view), view=view, bars=queue_bars(view), depth=depth)


def _lines(view: QueueView, depth: int = 0) -> Iterator[QueueLine]:
    yield queue_line(view, depth)
    for child in view.children:
        yield from _lines(child, depth + 1)


ROUTES = (
    Route("/cluster/scheduler", scheduler),
    Route("/cluster/queue/{queue}", queue),
)
