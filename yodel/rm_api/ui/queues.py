"""Pages of queues: the tree, and one with why it waits, its users, windows and changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.queues.queue import ROOT
from yodel.errors import AccessDenied, InvalidValue
from yodel.rm_api.ui.bars import Bar, queue_bars
from yodel.rm_api.ui.frame import answer_at, message, page
from yodel.rm_api.ui.services import services_of
from yodel.rm_api.v1 import models, queue_models, shapes
from yodel.rm_api.v1.cluster import list_queue_users
from yodel.rm_api.v1.queue_changes import list_changes
from yodel.rm_api.v1.queue_windows import list_windows
from yodel.rm_api.v1.why import why_queue_waits
from yodel.services.views.queue_views import QueueView

CHANGES_LISTED_MAX = 10
ROWS_MAX = 200
"""Queues on a page: each takes a tenth of a millisecond."""
WHOLE_MAX = 100
"""A tree of so many queues is shown whole; of a larger one those below root, and those below what the address names."""
OPEN_MAX = 50
"""Queues that an address may name."""
USERS_LISTED_MAX = 100
QUEUES = ("/cluster/scheduler", "Queues")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """Shows one queue as ``/api/v1`` does, with its bars; ``fold`` leads to the tree with or without those below."""

    row: models.Queue
    view: QueueView
    bars: list[Bar]
    depth: int
    fold: str = ""
    is_open: bool = False
    below: int = 0


async def scheduler(request: Request) -> Response:
    """Show the tree of queues, a large one folded; ``open`` and Hadoop's ``openQueues`` name queues that are not."""
    queries = services_of(request).queries
    root = await queries.queue(ROOT)
    asked = [*request.query_params.getlist("open"), *_opened_as_in_hadoop(request.query_params.get("openQueues", ""))]
    found = (queries.find_queue(name) for name in asked[:OPEN_MAX])
    opened = frozenset(one.path for one in found if one is not None)
    is_whole = len(queries.rows.queues) <= WHOLE_MAX
    unfolded = {ROOT, *(above for path in opened for above in accumulate(path.split("."), "{}.{}".format))}
    rows = list(_rows(root, 0, None if is_whole else unfolded)) if root is not None else []
    behind = _behind([view.queue.path for view, _ in rows], request.query_params.get("after"))
    shown = rows[behind : behind + ROWS_MAX]
    return await page(
        request,
        "queues.html",
        title="Queues",
        queues=(_folded(view, depth, opened, is_whole=is_whole) for view, depth in shown),
        more=_address(opened, shown[-1][0].queue.path) if len(rows) > behind + len(shown) else "",
    )


def _opened_as_in_hadoop(text: str) -> list[str]:
    """Return names of queues as Hadoop's page writes them into its address: ``Queue: etl#Queue: adhoc``."""
    return [name for part in text.split("#") if (name := part.strip().removeprefix("Queue:").strip())]


def _rows(view: QueueView, depth: int, unfolded: Set[str] | None) -> Iterator[tuple[QueueView, int]]:
    """Yield the queues to show, with how deep they are: those below these queues; None: all."""
    yield view, depth
    if unfolded is None or view.queue.path in unfolded:
        for child in view.children:
            yield from _rows(child, depth + 1, unfolded)


def _behind(paths: Sequence[str], after: str | None) -> int:
    """Return the number of rows up to this queue; 0 if it is not among them."""
    return paths.index(after) + 1 if after in paths else 0


def _folded(view: QueueView, depth: int, opened: frozenset[str], *, is_whole: bool) -> QueueLine:
    line = queue_line(view, depth)
    if is_whole or not view.children or depth == 0:
        return line
    path = view.queue.path
    below = frozenset(one for one in opened if f"{one}.".startswith(f"{path}."))
    fold = _address(opened - below if below else opened | {path})
    return replace(line, fold=fold, is_open=bool(below), below=len(view.children))


def _address(opened: frozenset[str], after: str = "") -> str:
    named = [("open", path) for path in sorted(opened)] + ([("after", after)] if after else [])
    return f"{QUEUES[0]}?{urlencode(named)}" if named else QUEUES[0]


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
        users_at=answer_at(request, f"/queues/{quote(path, safe='')}/users", limit=USERS_LISTED_MAX, cursor="users"),
        windows=(await list_windows(request, Response(), path)).items,
        changes=changes,
        changes_at=answer_at(request, "/queue-history", limit=CHANGES_LISTED_MAX, queue=path, cursor="changes"),
        queues=[queue_line(child, 0) for child in view.children[:ROWS_MAX]],
        left=max(0, len(view.children) - ROWS_MAX),
        more=_address(frozenset({path}), view.children[ROWS_MAX - 1].queue.path)
        if len(view.children) > ROWS_MAX
        else "",
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


ROUTES = (
    Route("/cluster/scheduler", scheduler),
    Route("/cluster/queue/{queue}", queue),
)
