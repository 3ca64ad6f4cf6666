"""``/jmx`` (JMXJsonServlet): ``qry=`` takes a pattern of names, ``get=name::attribute`` one value."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.hadoop_http.beans import PIECE, Bean, answer_beans
from yodel.hadoop_http.object_names import NamePattern
from yodel.hadoop_http.process_beans import process_beans
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.routes.cluster import loads
from yodel.rm_api.routes.scheduler import tree_of
from yodel.rm_api.wire import jmx as wire
from yodel.rm_api.wire.scheduler import Tree
from yodel.rpc_io.pieces import taking_turns
from yodel.rpc_io.server import RpcServer
from yodel.rpc_io.turns import others_first
from yodel.services.views.queue_views import ClusterMetrics

NODES_PIECE = 200
"""Nodes that are written in one go: two milliseconds."""


async def jmx(request: Request) -> Response:
    api = api_of(request)
    return await answer_beans(request, partial(_beans, api, await tree_of(api), await api.services.queries.metrics()))


async def metric_beans(api: Api) -> list[Bean]:
    """Those of the cluster and of every queue, for Prometheus as well."""
    services = api.services
    host = api.web_address.rpartition(":")[0]
    cluster = wire.cluster_metrics(await services.queries.metrics(), loads(services), host)
    await others_first()
    return [cluster, *[bean async for bean in taking_turns(_queue_beans(api, await tree_of(api), host), PIECE)]]


async def _beans(api: Api, tree: Tree, metrics: ClusterMetrics, pattern: NamePattern) -> Iterator[Bean]:
    """Only the kinds that may match are made: an alert asks for one bean every few seconds."""
    services, host = api.services, api.web_address.rpartition(":")[0]
    settings, wanted = services.settings, pattern.properties.get("name")
    nodes = await _live_nodes(api) if wanted is None or wanted.fullmatch("RMNMInfo") else []
    kinds: dict[str, Callable[[], Iterable[Bean]]] = {
        "ClusterMetrics": lambda: [wire.cluster_metrics(metrics, loads(services), host)],
        "QueueMetrics": lambda: _queue_beans(api, tree, host),
        "RMNMInfo": lambda: [wire.node_managers(nodes)],
        "UgiMetrics": lambda: [wire.user_metrics(services.group_lookups, host, time.monotonic())],
        "JvmMetrics": lambda: process_beans(
            "ResourceManager", host, settings.build_version, settings.started_ms, services.clock.now_ms()
        ),
    }
    for server in services.rpc_servers():
        makers = (wire.rpc_activity, wire.rpc_detailed_activity)
        for prefix, make in zip((wire.RPC, wire.RPC_DETAILED), makers, strict=True):
            kinds[f"{prefix}{server.port}"] = partial(_rpc_beans, make, server, host)
    return (bean for kind, beans in kinds.items() if wanted is None or wanted.fullmatch(kind) for bean in beans())


async def _live_nodes(api: Api) -> list[str]:
    """Each node's JSON.  Others have a turn between."""
    views = taking_turns(api.services.queries.each_node(), NODES_PIECE)
    return [wire.live_node(view) async for view in views if view.node.state in wire.LIVE]


def _rpc_beans(make: Callable[[RpcServer, str, float], Bean], server: RpcServer, host: str) -> list[Bean]:
    """By the loop's clock, which the port counts by."""
    return [make(server, host, asyncio.get_running_loop().time())]


def _queue_beans(api: Api, tree: Tree, host: str) -> Iterator[Bean]:
    rows, now_ms = api.services.queries.rows, api.services.clock.now_ms()
    applications: dict[str, list[Application]] = {queue.path: [] for queue in tree.queues}
    for app in rows.live_applications():
        for path in _line(app.submission.queue):
            if path in applications:
                applications[path].append(app)
    for queue in tree.queues:
        yield wire.queue_metrics(tree, queue, applications[queue.path], rows.totals_of(queue.path), host, now_ms)


def _line(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


ROUTES = (Route("/jmx", jmx),)
