"""The cluster's page tells of nodes; clients take ``/cluster`` as the sign of an active ResourceManager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import ROOT
from yodel.domain.states import NodeState
from yodel.errors import InvalidValue, NodeNotFound
from yodel.rm_api.ui.applications import listed
from yodel.rm_api.ui.bars import Bar, usage_bars
from yodel.rm_api.ui.frame import message, moved, page
from yodel.rm_api.ui.queues import queue_line
from yodel.rm_api.ui.services import PageServices, services_of
from yodel.rm_api.v1.attention import get_attention
from yodel.rm_api.v1.capacity import UNITS, get_capacity
from yodel.rm_api.v1.cluster import get_node
from yodel.services.nodes.capacity import CapacityView
from yodel.services.views.queries import ApplicationFilter, NodeView

NEWEST_MAX = 10
"""Applications on the overview."""
TOP_QUEUES_MAX = 20
"""Queues below root on the overview, by name."""
NODES_LISTED_MAX = 500
NODES = ("/cluster/nodes", "Nodes")
POOL_FIELDS = {"capacity": "size"}
NODE_FIELDS = {"used": "allocation.used"}
"""Names in ``/api/v1`` of what bars show."""


async def overview(request: Request) -> Response:
    """Show what needs attention, pools, queues below root, nodes by state and the newest applications."""
    services = services_of(request)
    queries = services.queries
    root = await queries.queue(ROOT)
    return await page(
        request,
        "overview.html",
        title="Overview",
        attention=await get_attention(request),
        metrics=await queries.metrics(),
        pools=[(view, usage_bars(view.used, view.size, POOL_FIELDS)) for view in queries.pools()],
        queues=[queue_line(view, 0) for view in root.children[:TOP_QUEUES_MAX]] if root is not None else [],
        more_queues=max(0, len(root.children) - TOP_QUEUES_MAX) if root is not None else 0,
        nodes=sorted(queries.nodes_by_state().items()),
        applications=(await listed(request, ApplicationFilter(), NEWEST_MAX)).lines,
    )


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
        bars=usage_bars(view.used, view.node.capability, NODE_FIELDS),
        capacity=capacity if capacity is not None and capacity.resources else None,
        units=UNITS,
    )


def _nodes(services: PageServices, ids: Iterable[NodeId]) -> Iterator[tuple[NodeView, list[Bar], CapacityView | None]]:
    """Yield each as it is when its turn comes; one that has gone by then is left out."""
    for node_id in ids:
        if node_id in services.queries.rows.nodes:
            view = services.queries.node(node_id)
            lent = services.capacities.of(view.node.kubernetes_node_name) if not view.node.is_node_manager else None
            yield view, usage_bars(view.used, view.node.capability, NODE_FIELDS), lent


async def _root(_: Request) -> Response:
    answer = moved("/cluster")
    answer.headers["Content-Type"] = "text/plain;charset=utf-8"
    return answer


async def _to_nodes(_: Request) -> Response:
    return moved("/cluster/nodes")


ROUTES = (
    Route("/", _root),
    *(Route(path, overview) for path in ("/cluster", "/cluster/", "/cluster/cluster")),
    Route("/cluster/nodes", nodes),
    Route("/cluster/nodes/{state}", nodes),
    Route("/cluster/node/{node_id}", node),
    Route("/cluster/nodelabels", _to_nodes),
)
