"""``/cluster``, which clients take as the sign of an active ResourceManager; queues and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import ROOT
from yodel.domain.states import NodeState
from yodel.errors import InvalidValue, NodeNotFound
from yodel.rm_api.ui.applications import listed
from yodel.rm_api.ui.bars import Bar, queue_bars, usage_bars
from yodel.rm_api.ui.frame import message, moved, page
from yodel.rm_api.ui.services import PageServices, services_of
from yodel.rm_api.v1 import models, shapes
from yodel.rm_api.v1.capacity import UNITS, get_capacity
from yodel.rm_api.v1.cluster import get_node
from yodel.services.views.queries import ApplicationFilter, NodeView
from yodel.services.views.queue_views import QueueView

NEWEST_MAX = 10
"""Applications on the overview."""
NODES_LISTED_MAX = 500
QUEUES, NODES = ("/cluster/scheduler", "Queues"), ("/cluster/nodes", "Nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One queue as ``/api/v1`` shows it, with its bars."""

    row: models.Queue
    view: QueueView
    bars: list[Bar]
    depth: int


async def overview(request: Request) -> Response:
    """Show pools, queues below root, nodes by state and the newest applications."""
    services = services_of(request)
    queries = services.queries
    root = await queries.queue(ROOT)
    return await page(
        request,
        "overview.html",
        title="Overview",
        metrics=await queries.metrics(),
        pools=[(view, usage_bars(view.used, view.size)) for view in queries.pools()],
        queues=[_line(view, 0) for view in root.children] if root is not None else [],
        nodes=sorted(queries.nodes_by_state().items()),
        applications=await listed(request, ApplicationFilter(limit=NEWEST_MAX)),
    )


async def scheduler(request: Request) -> Response:
    """Show the tree of queues."""
    root = await services_of(request).queries.queue(ROOT)
    return await page(request, "queues.html", title="Queues", queues=_lines(root) if root is not None else [])


async def queue(request: Request) -> Response:
    """Show one queue, by its path or a leaf's name, with those below it."""
    asked = request.path_params["queue"]
    view = await services_of(request).queries.queue(asked)
    if view is None:
        return await message(request, "Queue not found", f"There is no queue {asked[:256]}.", 404)
    line, path = _line(view, 0), view.queue.path
    above = [path[:end] for end, letter in enumerate(path) if letter == "."]
    crumbs = [QUEUES, *((f"/cluster/queue/{one}", one.rpartition(".")[2]) for one in above)]
    below = [_line(child, 0) for child in view.children]
    return await page(request, "queue.html", title=f"Queue {path}", crumbs=crumbs, queue=line, queues=below)


async def nodes(request: Request) -> Response:
    """Show nodes by id, of all states or one, a page at a time; what is lent of measured capacity where some is."""
    services, asked = services_of(request), request.path_params.get("state", "")
    if asked.upper() not in (*NodeState.__members__, "ALL", ""):
        known = ", ".join(NodeState.__members__)
        return await message(request, "No such state", f"{asked[:128]} is no state of a node. Use one of {known}.", 404)
    wanted, after = NodeState.__members__.get(asked.upper()), request.query_params.get("after")
    try:
        behind = NodeId.parse(after) if after is not None else None
    except InvalidValue as error:
        return await message(request, "No such page", error, 400)
    ids = (
        row.id
        for row in services.queries.rows.nodes.values()
        if (wanted is None or row.state is wanted) and (behind is None or row.id > behind)
    )
    found = nsmallest(NODES_LISTED_MAX + 1, ids)
    shown = found[:NODES_LISTED_MAX]
    return await page(
        request,
        "nodes.html",
        title="Nodes",
        wanted=wanted,
        states=sorted(services.queries.nodes_by_state().items()),
        has_lent=services.capacities.is_used,
        nodes=_nodes(services, shown),
        last=shown[-1] if len(found) > len(shown) else None,
    )


async def node(request: Request) -> Response:
    """Show one node as ``/api/v1`` does, with what is lent of it as a sum that adds up."""
    asked = request.path_params["node_id"]
    try:
        found = await get_node(request, asked)
    except InvalidValue:
        return await message(request, "Invalid node id", asked[:256], 400)
    except NodeNotFound as error:
        return await message(request, "Node not found", error, 404)
    try:
        capacity = await get_capacity(request, asked)
    except (NodeNotFound, InvalidValue):  # no node of Kubernetes
        capacity = None
    view = services_of(request).queries.node(NodeId.parse(asked))
    return await page(
        request,
        "node.html",
        title=f"Node {found.id}",
        crumbs=[NODES],
        node=found,
        view=view,
        bars=usage_bars(view.used, view.node.capability),
        capacity=capacity if capacity is not None and capacity.resources else None,
        units=UNITS,
    )


def _nodes(services: PageServices, ids: Iterable[NodeId]) -> Iterator[tuple[NodeView, list[Bar], str]]:
    """Yield each as it is when its turn comes; one that has gone by then is left out."""
    for node_id in ids:
        if node_id in services.queries.rows.nodes:
            view = services.queries.node(node_id)
            is_node_manager = view.node.is_node_manager
            lent = "a NodeManager" if is_node_manager else services.capacities.line(view.node.kubernetes_node_name)
            yield view, usage_bars(view.used, view.node.capability), lent


def _lines(view: QueueView, depth: int = 0) -> Iterator[QueueLine]:
    yield _line(view, depth)
    for child in view.children:
        yield from _lines(child, depth + 1)


def _line(view: QueueView, depth: int) -> QueueLine:
    return QueueLine(row=shapes.queue(view), view=view, bars=queue_bars(view), depth=depth)


async def _root(_: Request) -> Response:
    answer = moved("/cluster")
    answer.headers["Content-Type"] = "text/plain;charset=utf-8"
    return answer


async def _to_nodes(_: Request) -> Response:
    return moved("/cluster/nodes")


ROUTES = (
    Route("/", _root),
    *(Route(path, overview) for path in ("/cluster", "/cluster/", "/cluster/cluster")),
    Route("/cluster/scheduler", scheduler),
    Route("/cluster/queue/{queue}", queue),
    Route("/cluster/nodes", nodes),
    Route("/cluster/nodes/{state}", nodes),
    Route("/cluster/node/{node_id}", node),
    Route("/cluster/nodelabels", _to_nodes),
)
