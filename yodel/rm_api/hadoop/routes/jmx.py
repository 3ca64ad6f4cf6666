"""``/jmx`` (JMXJsonServlet): ``qry=`` takes a pattern of names, ``get=name::attribute`` one value."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.hadoop_http.beans import PIECE, Bean, answer_beans
from yodel.hadoop_http.object_names import NamePattern
from yodel.hadoop_http.process_beans import process_beans
from yodel.hadoop_http.rpc_beans import RPC, RPC_DETAILED, rpc_activity, rpc_detailed_activity
from yodel.rm_api.hadoop.routes.scheduler import tree_of
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire import jmx as wire
from yodel.rm_api.hadoop.wire.scheduler import QueueTree
from yodel.rpc_io.server import RpcServer
from yodel.services.views.queue_views import ClusterMetrics
from yodel.serving.pieces import taking_turns
from yodel.serving.turns import others_first

NODES_PIECE = 200
"""Nodes that are written in one go."""
APPLICATIONS_PIECE = 2_000
"""Applications that are put to their queues in one go."""


async def jmx(request: Request) -> Response:
    services = services_of(request)
    return await answer_beans(
        request, partial(_beans, services, await tree_of(services), await services.queries.metrics())
    )


async def metric_beans(services: HadoopServices) -> list[Bean]:
    """Return the beans of the cluster and of every queue, for Prometheus as well."""
    host = services.web_address.rpartition(":")[0]
    cluster = wire.cluster_metrics(await services.queries.metrics(), services.nodes.usable_loads(), host)
    await others_first()
    tree = await tree_of(services)
    queues = _queue_beans(services, tree, await _live_applications(services, tree), host)
    return [cluster, *[bean async for bean in taking_turns(queues, PIECE)]]


async def _beans(
    services: HadoopServices, tree: QueueTree, metrics: ClusterMetrics, pattern: NamePattern
) -> Iterator[Bean]:
    """Only the kinds that may match are made: an alert asks for one bean every few seconds."""
    host = services.web_address.rpartition(":")[0]
    facts, wanted = services.facts, pattern.properties.get("name")
    nodes = await _live_nodes(services) if wanted is None or wanted.fullmatch("RMNMInfo") else []
    applications = (
        await _live_applications(services, tree) if wanted is None or wanted.fullmatch("QueueMetrics") else {}
    )
    kinds: dict[str, Callable[[], Iterable[Bean]]] = {
        "ClusterMetrics": lambda: [wire.cluster_metrics(metrics, services.nodes.usable_loads(), host)],
        "QueueMetrics": lambda: _queue_beans(services, tree, applications, host),
        "RMInfo": lambda: [wire.resource_manager(host, _client_port(services))],
        "RMNMInfo": lambda: [wire.node_managers(nodes)],
        "UgiMetrics": lambda: [wire.user_metrics(services.process.group_lookups, host, time.monotonic())],
        "JvmMetrics": lambda: process_beans(
            "ResourceManager",
            host,
            facts.build_version,
            facts.started_ms,
            services.clock.now_ms(),
            services.process.processor_loads,
        ),
    }
    for server in services.process.rpc_servers():
        for prefix, make in ((RPC, rpc_activity), (RPC_DETAILED, rpc_detailed_activity)):
            kinds[f"{prefix}{server.port}"] = partial(_rpc_beans, make, server, host)
    return (bean for kind, beans in kinds.items() if wanted is None or wanted.fullmatch(kind) for bean in beans())


def _client_port(services: HadoopServices) -> int | None:
    return next((server.port for server in services.process.rpc_servers() if server.name == "client"), None)


async def _live_nodes(services: HadoopServices) -> list[str]:
    """Each node's JSON.  Others have a turn between."""
    views = taking_turns(services.queries.each_node(), NODES_PIECE)
    return [wire.live_node(view) async for view in views if view.node.state in wire.LIVE]


def _rpc_beans(make: Callable[[RpcServer, str, str, float], Bean], server: RpcServer, host: str) -> list[Bean]:
    return [make(server, "ResourceManager", host, asyncio.get_running_loop().time())]


async def _live_applications(services: HadoopServices, tree: QueueTree) -> dict[str, list[Application]]:
    """Return by queue the live applications in it and below it.  Others have a turn between."""
    found: dict[str, list[Application]] = {queue.path: [] for queue in tree.queues}
    lines: dict[str, list[list[Application]]] = {}
    async for app in taking_turns(services.queries.rows.live_applications(), APPLICATIONS_PIECE):
        path = app.submission.queue
        if path not in lines:
            lines[path] = [found[above] for above in _line(path) if above in found]
        for below in lines[path]:
            below.append(app)
    return found


def _queue_beans(
    services: HadoopServices, tree: QueueTree, applications: Mapping[str, list[Application]], host: str
) -> Iterator[Bean]:
    rows, now_ms = services.queries.rows, services.clock.now_ms()
    for queue in tree.queues:
        pending, running = (list(filter(so, applications[queue.path])) for so in (rows.is_pending, rows.is_running))
        yield wire.queue_metrics(tree, queue, pending, running, rows.totals_of(queue.path), host, now_ms)


def _line(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


ROUTES = (Route("/jmx", jmx),)
