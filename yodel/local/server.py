"""The local cluster as one coroutine: store, API over HTTPS, scheduler and kubelet, until told to stop.

It owns nothing outside its data directory and the processes of its pods.  It does not handle signals and parses no
command line: that is its caller's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from yodel.hadoop_http.serving import HttpServer, ServerOptions
from yodel.local import times
from yodel.local.api import KubernetesApi
from yodel.local.events import EventRecorder
from yodel.local.journal import Journal
from yodel.local.kubelet import Kubelet
from yodel.local.nodes import LocalNode, NodeKeeper
from yodel.local.objects import ObjectStore
from yodel.local.registry import Registry
from yodel.local.scheduler import PodScheduler

CONNECTIONS_MAX = 4096
BACKLOG = 1024
SHUTDOWN_TIMEOUT_S = 2
KEEP_ALIVE_S = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKubernetesConfig:
    """``port`` 0 takes a free one (``run_local_kubernetes`` tells which).  ``stop_pods_on_exit`` ends all containers at
    a graceful stop; without it they go on and the next start adopts them."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(repr=False)
    tls_certificate: Path
    tls_key: Path
    nodes: tuple[LocalNode, ...]
    priority_classes: Mapping[str, int] = field(default_factory=dict)
    stop_pods_on_exit: bool = False
    stop_grace_s: float = 5.0
    heartbeat_interval_s: float = 60.0


async def run_local_kubernetes(
    config: LocalKubernetesConfig, stop: asyncio.Event, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """Serve until ``stop`` is set.  ``on_ready`` is told the base URL once requests are answered.

    Raises:
        yodel.errors.Unavailable: another process uses the data directory.
        OSError: the address is taken.
    """
    now = times.now
    store = ObjectStore(Journal(config.data_dir / "objects.log"))
    registry = Registry(store, now, config.priority_classes)
    events = EventRecorder(store, now)
    keeper = NodeKeeper(store, registry, config.nodes, now)
    scheduler = PodScheduler(store, registry, events, now)
    kubelet = Kubelet(store, events, config.nodes, config.data_dir / "pods", now)
    api = KubernetesApi(store, registry, kubelet, token=config.token, now=now)
    try:
        _ensure_default_namespace(store, registry)
        keeper.register()
        with _listening(config) as listener:
            server = _server(api, config)
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(kubelet.run(), name="kubelet"),
                    tasks.create_task(scheduler.run(), name="scheduler"),
                    tasks.create_task(_heartbeat(keeper, events, config.heartbeat_interval_s), name="node heartbeat"),
                ]
                serving = tasks.create_task(server.serve(sockets=[listener]), name="kubernetes api")
                await server.until_started(serving)
                if on_ready is not None:
                    on_ready(f"https://{config.host}:{listener.getsockname()[1]}")
                await stop.wait()
                if config.stop_pods_on_exit:
                    await kubelet.stop_pods(config.stop_grace_s)
                api.close()
                server.should_exit = True
                await serving
                for task in background:
                    task.cancel()
    finally:
        store.close()


def _server(api: KubernetesApi, config: LocalKubernetesConfig) -> HttpServer:
    options = ServerOptions(
        backlog=BACKLOG,
        keep_alive_s=KEEP_ALIVE_S,
        stop_timeout_s=SHUTDOWN_TIMEOUT_S,
        requests_max=CONNECTIONS_MAX,
        tls=(config.tls_certificate, config.tls_key),
    )
    return HttpServer(api, options)


@contextlib.contextmanager
def _listening(config: LocalKubernetesConfig) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((config.host, config.port))
        listener.set_inheritable(False)
        yield listener


async def _heartbeat(keeper: NodeKeeper, events: EventRecorder, interval_s: float) -> None:
    while True:
        await asyncio.sleep(interval_s)
        keeper.heartbeat()
        events.expire()


def _ensure_default_namespace(store: ObjectStore, registry: Registry) -> None:
    if store.find("namespaces", "", "default") is None:
        registry.create("namespaces", "", {"metadata": {"name": "default"}})
