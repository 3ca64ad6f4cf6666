"""``/jmx`` (JMXJsonServlet): ``qry=`` takes a pattern of names, ``get=name::attribute`` one value."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.errors import InvalidValue
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.object_names import NamePattern
from yodel.rm_api.routes.cluster import loads
from yodel.rm_api.routes.scheduler import tree_of
from yodel.rm_api.wire import jmx as wire
from yodel.rpc_io.server import RpcServer

HEADERS = {"Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Origin": "*"}
MEDIA_TYPE = "application/json; charset=utf8"
OPEN_FILES = Path("/proc/self/fd")


async def jmx(request: Request) -> Response:
    query = request.query_params
    name, attribute = query.get("qry", "*:*"), None
    if "get" in query:
        name, separator, attribute = query["get"].partition("::")
        if not separator or not name or not attribute or "::" in attribute:
            return _answer({"result": "ERROR", "message": "query format is not as expected."})
    try:
        pattern = NamePattern.parse(name)
    except InvalidValue:
        return _answer({})
    found = [bean for bean in _beans(api_of(request), pattern) if pattern.matches(bean["name"])]
    if attribute is None:
        return _answer({"beans": found})
    return _answer({"beans": list(_values(found, attribute))})


def metric_beans(api: Api) -> list[wire.Bean]:
    """Those of the cluster and of every queue, for Prometheus as well."""
    services = api.services
    host = api.web_address.rpartition(":")[0]
    cluster = wire.cluster_metrics(services.queries.metrics(), loads(services), host)
    return [cluster, *_queue_beans(api, host)]


def _beans(api: Api, pattern: NamePattern) -> list[wire.Bean]:
    """Only the kinds that may match are made: an alert asks for one bean every few seconds."""
    services, host = api.services, api.web_address.rpartition(":")[0]
    settings, queries = services.settings, services.queries
    kinds: dict[str, Callable[[], list[wire.Bean]]] = {
        "ClusterMetrics": lambda: [wire.cluster_metrics(queries.metrics(), loads(services), host)],
        "QueueMetrics": lambda: _queue_beans(api, host),
        "RMNMInfo": lambda: [wire.node_managers(queries.nodes())],
        "UgiMetrics": lambda: [wire.user_metrics(services.group_lookups, host, time.monotonic())],
        "JvmMetrics": lambda: wire.process_beans(
            _process_facts(settings.started_ms, services.clock.now_ms()), host, settings.build_version
        ),
    }
    for server in services.rpc_servers():
        makers = (wire.rpc_activity, wire.rpc_detailed_activity)
        for prefix, make in zip((wire.RPC, wire.RPC_DETAILED), makers, strict=True):
            kinds[f"{prefix}{server.port}"] = partial(_rpc_beans, make, server, host)
    wanted = pattern.properties.get("name")
    return [bean for kind, make in kinds.items() if wanted is None or wanted.fullmatch(kind) for bean in make()]


def _rpc_beans(make: Callable[[RpcServer, str, float], wire.Bean], server: RpcServer, host: str) -> list[wire.Bean]:
    """By the loop's clock, which the port counts by."""
    return [make(server, host, asyncio.get_running_loop().time())]


def _queue_beans(api: Api, host: str) -> list[wire.Bean]:
    state, now_ms = api.services.queries.state, api.services.clock.now_ms()
    tree = tree_of(api)
    applications: dict[str, list[Application]] = {path: [] for path in state.queues}
    for app in map(state.applications.__getitem__, state.index.live):
        for path in _line(app.submission.queue):
            if path in applications:
                applications[path].append(app)
    return [
        wire.queue_metrics(tree, queue, applications[queue.path], state.totals.of(queue.path), host, now_ms)
        for queue in tree.queues
    ]


def _line(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _values(beans: Iterable[wire.Bean], attribute: str) -> Iterator[dict[str, Any]]:
    """Until a bean has it not: that one says so, and ends the list."""
    for bean in beans:
        shown = {key: bean[key] for key in ("name", "modelerType")}
        if attribute not in bean:
            yield {**shown, "result": "ERROR", "message": f"No attribute with name {attribute[:128]} was found."}
            return
        yield {**shown, attribute: bean[attribute]}


def _process_facts(started_ms: int, now_ms: int) -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        "resident_bytes": _resident_pages() * page,
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * page,
        "threads": threading.active_count(),
        "collections": sum(generation["collections"] for generation in gc.get_stats()),
        "processors": os.cpu_count() or 1,
        "load_average": os.getloadavg()[0],
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "open_files": sum(1 for _ in OPEN_FILES.iterdir()),
        "started_ms": started_ms,
        "uptime_ms": max(0, now_ms - started_ms),
    }


def _resident_pages() -> int:
    """The second field of statm; reading it does not touch a disk."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def _answer(value: dict[str, Any]) -> Response:
    """Always 200: JMXJsonServlet sets another status when it has begun to answer, which comes to nothing."""
    return Response(wire.pretty(value), headers=HEADERS, media_type=MEDIA_TYPE)


ROUTES = (Route("/jmx", jmx),)
