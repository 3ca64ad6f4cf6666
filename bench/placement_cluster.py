"""A control plane of its own with fake nodes, for measuring: etcd in memory, API server, scheduler, kwok.

The binaries are those of ``tests/rigs/kubernetes``; ports are free ones, so the rig may run beside it.  There is no
controller manager: what it would do for the measured pods (a service account, taking away a new node's taint) is done
here once, and its share of the machine goes to what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil
import yaml

from bench.placement_figures import Cpu
from tests.rigs.kubernetes import certificates
from tests.rigs.kubernetes.cluster import binaries
from tests.rigs.kubernetes.control_plane import ControlPlane
from tests.rigs.kubernetes.daemons import Daemons
from tests.rigs.kubernetes.kwok import fake_node, fake_node_name, start_kwok
from tests.rigs.kubernetes.layout import Home
from tests.support.ports import free_ports
from yodel.kube.api import ApiRequest, ApiStatus
from yodel.kube.client import KubeClient, open_kube

IN_MEMORY = Path("/dev/shm")
CRDS = Path(__file__).parents[1] / "deploy/helm/yodel/crds/yarnapplications.yaml"
NODE_CORES, NODE_MEMORY_GIB, NODE_PODS = 256, 1024, 1000
"""The size of each fake node: room is never what is short."""
MAKERS = 16
DELETERS = 32
LOOK_S, LOOK_SOON_S = 0.1, 0.03
"""A look costs the API server a millisecond or two."""
PAGE = 500
TIMEOUT_S = 600.0
DAEMONS = ("kube-apiserver", "etcd", "kube-scheduler", "kwok")
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class FakeCluster:
    """``nodes`` are their names; ``client`` is an administrator's, with the project's own HTTP code."""

    home: Home
    daemons: Daemons
    client: KubeClient
    nodes: tuple[str, ...]

    def cpu(self) -> Cpu:
        """Processor seconds that each part has used."""
        found = ((name, self.daemons.find(name)) for name in DAEMONS)
        return Cpu({name: cpu_s(process) for name, process in found if process is not None})

    async def count(self, namespace: str) -> int:
        """Pods in it; one of them is read."""
        body = await self.client.call(ApiRequest(path=pods_path(namespace), query={"limit": "1"}))
        page = msgspec.json.decode(body)
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    async def any_unbound(self, namespace: str) -> bool:
        query = {"limit": "1", "fieldSelector": "spec.nodeName="}
        return bool(
            msgspec.json.decode(await self.client.call(ApiRequest(path=pods_path(namespace), query=query)))["items"]
        )

    async def until_created(self, namespace: str, pods: int) -> float:
        """Return when so many pods exist, by the monotonic clock; polls rarely until it is nearly so."""
        async with asyncio.timeout(TIMEOUT_S):
            while (found := await self.count(namespace)) < pods:  # noqa: ASYNC110 - the API server is asked
                await asyncio.sleep(LOOK_S if found < 0.85 * pods else LOOK_SOON_S)
        return time.perf_counter()

    async def until_bound(self, namespace: str) -> float:
        """Return when all pods have nodes."""
        async with asyncio.timeout(TIMEOUT_S):
            while await self.any_unbound(namespace):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)
        return time.perf_counter()

    async def empty(self, namespace: str) -> None:
        """Delete all pods at once, by the hand of no kubelet, until none is there."""
        async with asyncio.timeout(TIMEOUT_S):
            while names := await self._names(namespace):
                await each(names, DELETERS, lambda name: self._delete(namespace, name))

    async def _names(self, namespace: str) -> list[str]:
        names: list[str] = []
        query = {"limit": str(PAGE)}
        while True:
            page = msgspec.json.decode(await self.client.call(ApiRequest(path=pods_path(namespace), query=query)))
            names += [item["metadata"]["name"] for item in page["items"]]
            if not page["metadata"].get("continue"):
                return names
            query = {"limit": str(PAGE), "continue": page["metadata"]["continue"]}

    async def _delete(self, namespace: str, name: str) -> None:
        body = b'{"gracePeriodSeconds": 0}'
        with contextlib.suppress(ApiStatus):  # gone already
            await self.client.call(ApiRequest(method="DELETE", path=f"{pods_path(namespace)}/{name}", body=body))


@contextlib.asynccontextmanager
async def fake_cluster(nodes: int, namespaces: Iterable[str]) -> AsyncIterator[FakeCluster]:
    folder = Path(tempfile.mkdtemp(prefix="yodel-placement-", dir=IN_MEMORY))
    api_port, etcd_port, peer_port, scheduler_port = free_ports(4)
    home = Home(
        path=folder,
        api_port=api_port,
        etcd_port=etcd_port,
        etcd_peer_port=peer_port,
        scheduler_port=scheduler_port,
    )
    daemons = Daemons(home)
    try:
        await asyncio.to_thread(_start, home, daemons)
        async with await open_kube(home.kubeconfig, None) as client:
            cluster = FakeCluster(home, daemons, client, tuple(map(fake_node_name, range(nodes))))
            await _furnish(client, namespaces)
            await each(range(nodes), MAKERS, lambda number: _make_node(client, number))
            await _until_ready(client, nodes)
            yield cluster
    finally:
        for name in ("kwok", "kube-scheduler", "kube-apiserver", "etcd"):
            daemons.stop(name, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


async def each(things: Iterable[Any], at_once: int, act: Callable[[Any], Awaitable[object]]) -> None:
    """Every one of them, so many under way at any time."""
    left = iter(things)

    async def worker() -> None:
        for thing in left:
            await act(thing)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(worker())


def pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _start(home: Home, daemons: Daemons) -> None:
    plane = ControlPlane(home, daemons, binaries("kubernetes"), binaries("etcd"))
    certificates.prepare(home)
    plane.start_etcd()
    plane.start_api_server()
    daemons.until("kube-apiserver", plane.is_ready)
    plane.start_scheduler()
    start_kwok(home, daemons, binaries("kwok"))


async def _furnish(client: KubeClient, namespaces: Iterable[str]) -> None:
    """Create what a pod needs to be accepted, and the CustomResourceDefinition of the chart."""
    for namespace in namespaces:
        await post(client, "/api/v1/namespaces", {"metadata": {"name": namespace}})
        await post(client, f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    batch = {"metadata": {"name": "koord-batch"}, "value": 5500, "preemptionPolicy": "Never"}
    await post(client, "/apis/scheduling.k8s.io/v1/priorityclasses", batch)
    definition = yaml.safe_load(CRDS.read_text())
    await post(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)


async def _make_node(client: KubeClient, number: int) -> None:
    body = fake_node(number, cores=NODE_CORES, memory_gib=NODE_MEMORY_GIB, pods=NODE_PODS, has_batch=True)
    await post(client, "/api/v1/nodes", body)
    path = f"/api/v1/nodes/{fake_node_name(number)}"
    no_taint = json.dumps({"spec": {"taints": None}}).encode()
    await client.call(ApiRequest(method="PATCH", path=path, body=no_taint, content_type=MERGE))


async def _until_ready(client: KubeClient, nodes: int) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while len(await _ready(client)) < nodes:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)


async def _ready(client: KubeClient) -> list[str]:
    listed = msgspec.json.decode(await client.call(ApiRequest(path="/api/v1/nodes")))["items"]
    return [
        node["metadata"]["name"]
        for node in listed
        if {"Ready": "True"}.items() <= {c["type"]: c["status"] for c in node["status"].get("conditions", ())}.items()
    ]


async def post(client: KubeClient, path: str, body: Mapping[str, Any]) -> None:
    await client.call(ApiRequest(method="POST", path=path, body=msgspec.json.encode(body)))
