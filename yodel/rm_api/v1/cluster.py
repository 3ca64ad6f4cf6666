"""``/queues``, ``/pools`` and ``/nodes``: what there is to run on, who has it, and why it is that much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from starlette.requests import Request

from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import ROOT
from yodel.domain.states import NodeState
from yodel.errors import QueueNotFound
from yodel.rm_api.v1 import cursors, models, shapes
from yodel.rm_api.v1.callers import KNOWN, LIMIT_DEFAULT, TEXT_LENGTH_MAX, VALUES_MAX, Cursor, Limit, viewer
from yodel.rm_api.v1.queue_changes import QueuePath, etag
from yodel.rm_api.v1.services import services_of
from yodel.services.views.queue_views import QueueView

CONTAINERS_SHOWN_MAX = 1_000
router = APIRouter(dependencies=[KNOWN])


@router.get("/queues", tags=["queues"])
async def list_queues(
    request: Request, response: Response, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> models.QueuePage:
    """All queues with the usage of their applications, by path.  The ETag is the version of the queue configuration."""
    response.headers["ETag"] = etag(services_of(request).scheduler_conf.version)
    key = cursors.decoded("queues", cursor, str)
    root = await services_of(request).queries.queue(ROOT)
    views = sorted(_flat(root) if root is not None else (), key=lambda view: view.queue.path)
    rest = [view for view in views if key is None or view.queue.path > str(key[0])]
    shown, next_cursor = cursors.page(rest, limit, lambda view: cursors.encoded("queues", view.queue.path))
    return models.QueuePage(items=[shapes.queue(view) for view in shown], next_cursor=next_cursor)


@router.get("/queues/{path}", tags=["queues"])
async def get_queue(request: Request, response: Response, path: QueuePath) -> models.Queue:
    """One queue.  The ETag is the version of the queue configuration."""
    response.headers["ETag"] = etag(services_of(request).scheduler_conf.version)
    view = await services_of(request).queries.queue(path)
    if view is None:
        raise QueueNotFound(path)
    return shapes.queue(view)


@router.get("/queues/{path}/users", tags=["queues"])
async def list_queue_users(
    request: Request, path: QueuePath, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> models.QueueUserPage:
    """List users with unfinished applications in a queue and those below it, with what each uses and may use.

    You see users of whose applications there you may view at least one; the others are counted.
    """
    queries = services_of(request).queries
    queue = queries.find_queue(path)
    if queue is None:
        raise QueueNotFound(path)
    key = cursors.decoded("queue-users", cursor, str)
    found, hidden = await queries.queue_users(queue, viewer(request))
    rest = [view for view in found if key is None or view.user > str(key[0])]
    shown, next_cursor = cursors.page(rest, limit, lambda view: cursors.encoded("queue-users", view.user))
    items = [shapes.queue_user(view) for view in shown]
    return models.QueueUserPage(items=items, next_cursor=next_cursor, hidden_users=hidden)


@router.get("/pools", tags=["queues"])
async def list_pools(request: Request, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None) -> models.PoolPage:
    """Pools, by the names of their dialects: size, used and free capacity, and the queues that use them."""
    key = cursors.decoded("pools", cursor, str)
    rest = [view for view in services_of(request).queries.pools() if key is None or view.name > str(key[0])]
    shown, next_cursor = cursors.page(rest, limit, lambda view: cursors.encoded("pools", view.name))
    return models.PoolPage(items=[shapes.pool(view) for view in shown], next_cursor=next_cursor)


@router.get("/nodes", tags=["nodes"])
async def list_nodes(
    request: Request,
    state: Annotated[list[models.NodeStatus], Query(max_length=VALUES_MAX, description="Any of these.")] = [],  # noqa: B006
    label: Annotated[str | None, Query(max_length=TEXT_LENGTH_MAX, description="With this label.")] = None,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> models.NodePage:
    """Nodes by id, with capacity, usage and the source of the figures; lost and decommissioned ones too, unless you
    filter by `state`."""
    services = services_of(request)
    nodes = services.nodes
    key = cursors.decoded("nodes", cursor, str, int)
    views = services.queries.nodes(NodeState[wanted.name] for wanted in state)
    rest = sorted(
        (
            view
            for view in views
            if (key is None or (view.node.id.host, view.node.id.port) > key)
            and (not label or label in view.node.labels)
        ),
        key=lambda view: view.node.id,
    )
    shown, next_cursor = cursors.page(
        rest, limit, lambda view: cursors.encoded("nodes", view.node.id.host, view.node.id.port)
    )
    return models.NodePage(
        items=[shapes.node(view, nodes.load(view.node.id), nodes.last_heartbeat_ms(view.node.id)) for view in shown],
        next_cursor=next_cursor,
    )


@router.get("/nodes/{node_id}", tags=["nodes"])
async def get_node(
    request: Request,
    node_id: Annotated[
        str,
        Path(
            max_length=260,
            pattern=r"^[A-Za-z0-9._-]{1,253}:0*[0-9]{1,5}$",
            description="host:port of the node agent.",
            examples=["node-1:8041"],
        ),
    ],
) -> models.NodeDetails:
    """One node with the containers on it that you may view."""
    services = services_of(request)
    asked = NodeId.parse(node_id)
    view = services.queries.node(asked)
    may_view = viewer(request)
    rows, nodes = services.queries.rows, services.nodes
    owned = ((row, rows.application(row.id.application_id)) for row in rows.live_on(asked))
    there = (row for row, owner in owned if owner is not None and may_view(owner))
    shown = sorted(there, key=lambda row: row.id)[:CONTAINERS_SHOWN_MAX]
    return shapes.node_details(view, nodes.load(asked), nodes.last_heartbeat_ms(asked), shown)


def _flat(view: QueueView) -> Iterator[QueueView]:
    yield view
    for child in view.children:
        yield from _flat(child)
