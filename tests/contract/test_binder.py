"""Nodes chosen by the binder, on a cluster with kubelets: the local one.

The whole way but the ResourceManager's rows: watches, ledger, choice, the pod's creation with its node in it, and the
kubelet's admission.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.local_kubernetes import NODES, local_cluster
from tests.support.records import a_container, a_node
from tests.support.rm_options import POD_SETTINGS
from yodel.domain.container import Container
from yodel.domain.ids import dns_name
from yodel.domain.pod import PodObservation, PodPhase
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.host.clock import SystemClock
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, open_kube
from yodel.kube.holdings import watched_holdings
from yodel.kube.nodes import watched_nodes
from yodel.kube.pod_driver import PodDriver
from yodel.kube.watch_loop import watch
from yodel.ports.pods import Manifest
from yodel.ports.store import ClusterIdentity
from yodel.services.nodes.facts import Change, Facts
from yodel.services.pods.binder import UNKNOWN, Binder, NoPlace
from yodel.services.writer.state import ClusterState
from yodel.translator.dialects import dialect
from yodel.translator.pod_spec import manifest

TIMEOUT_S = 60.0
LOOK_S = 0.05
NAMESPACE = "default"
SETTINGS = replace(POD_SETTINGS, namespace=NAMESPACE, dialect=dialect("koordinator"))
HALF_A_NODE = Resource(1024, 2)
BATCH_CPU = "kubernetes.io/batch-cpu"


class Desk:
    """A binder on the cluster.  ``is_deaf``: it hears of no pods after the first listing."""

    def __init__(self, kube: KubeClient, *, is_deaf: bool = False) -> None:
        self.kube, self._is_deaf = kube, is_deaf
        self.pods = PodDriver(kube, NAMESPACE)
        state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0))
        agents = [a_node(node.name, state=NodeState.RUNNING, kubernetes_node_name=node.name) for node in NODES]
        state.publish(agents)
        self.woken = asyncio.Event()
        self.binder = Binder(state, SystemClock(), NAMESPACE, lambda _: True, lambda _: self.woken.set())
        self._facts = Facts(state, SystemClock())
        self._facts.follow(Change.COUNTED, lambda changes: self.binder.nodes_changed(changes, self._facts.counted))

    async def watch(self) -> None:
        clock: dict[str, Any] = {"clock": time.monotonic, "random": lambda: 0.5}
        if self._is_deaf:
            self.binder.holdings_listed([])
            await watch(self.kube, watched_nodes("", self._facts), **clock)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch(self.kube, watched_nodes("", self._facts), **clock))
            tasks.create_task(watch(self.kube, watched_holdings(self.binder), **clock))

    async def place(self, container: Container) -> str | NoPlace:
        """Place a container as the reconciler does; return the node, or why there is none."""
        placed = self.binder.place(container, a_manifest(container))
        if isinstance(placed, NoPlace):
            return placed
        await self.pods.create(placed)
        self.binder.created(container)
        return str(placed["spec"]["nodeName"])

    async def until(self, container: Container, check: Callable[[PodObservation], bool]) -> PodObservation:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                pod = await self.pods.get(dns_name(container.id))
                if pod is not None and check(pod):
                    return pod
                await asyncio.sleep(LOOK_S)

    async def placed_in_time(self, container: Container) -> str:
        """Tried again whenever the binder says so."""
        async with asyncio.timeout(TIMEOUT_S):
            while isinstance(placed := await self.place(container), NoPlace):
                await self.woken.wait()
                self.woken.clear()
            return placed


def a_manifest(container: Container) -> Manifest:
    """Its own pod but for the folders of a node agent."""
    made = manifest(container, SETTINGS, None, "n", "t")
    (main,) = made["spec"]["containers"]
    plain = {**main, "command": ["/bin/sh", "-c", "exec sleep 300"], "volumeMounts": []}
    return {**made, "spec": {**made["spec"], "containers": [plain], "volumes": []}}


def containers(count: int) -> list[Container]:
    return [a_container(container=number, capability=HALF_A_NODE) for number in range(2, 2 + count)]


@pytest.fixture
async def kube(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with local_cluster(tmp_path) as cluster, await open_kube(cluster.kubeconfig, None) as client:
        yield client


@asynccontextmanager
async def a_desk(kube: KubeClient, *, is_deaf: bool = False) -> AsyncIterator[Desk]:
    desk = Desk(kube, is_deaf=is_deaf)
    watching = asyncio.create_task(desk.watch())
    try:
        probe = a_container(container=99)
        async with asyncio.timeout(TIMEOUT_S):
            while desk.binder.place(probe, a_manifest(probe)) == NoPlace(UNKNOWN):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(LOOK_S)
        desk.binder.not_created(probe)
        desk.binder.over(probe.id)
        yield desk
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def publish(kube: KubeClient, node: str, batch_cpu: str) -> None:
    """Publish how much is free, as a colocation engine does."""
    body = msgspec.json.encode({"status": {"allocatable": {BATCH_CPU: batch_cpu}}})
    path = f"/api/v1/nodes/{node}/status"
    await kube.call(ApiRequest(method="PATCH", path=path, body=body, content_type="application/merge-patch+json"))


def is_running(pod: PodObservation) -> bool:
    return pod.phase is PodPhase.RUNNING


async def test_nodes_are_filled_evenly_and_not_beyond_and_room_that_comes_is_used(kube: KubeClient) -> None:
    async with a_desk(kube) as desk:
        *first, late, later = containers(6)
        placed = [await desk.place(container) for container in first]
        assert sorted(map(str, placed)) == ["node-a", "node-a", "node-b", "node-b"]
        for container in first:
            await desk.until(container, is_running)

        text = f"0/2 nodes are available: 2 Insufficient {BATCH_CPU}."
        assert await desk.place(late) == NoPlace(text)
        await desk.pods.delete(dns_name(first[0].id), grace_s=0)
        assert await desk.placed_in_time(late) == placed[0]
        await desk.until(late, is_running)

        assert isinstance(await desk.place(later), NoPlace)
        await publish(kube, "node-b", "64000")
        assert await desk.placed_in_time(later) == "node-b"
        await desk.until(later, is_running)


async def test_capacity_lowered_to_zero_places_nothing_and_ends_nothing(kube: KubeClient) -> None:
    async with a_desk(kube) as desk:
        runs, waits = containers(2)
        await desk.place(runs)
        await desk.until(runs, is_running)
        for node in NODES:
            await publish(kube, node.name, "0")
        async with asyncio.timeout(TIMEOUT_S):
            while not isinstance(desk.binder.place(waits, a_manifest(waits)), NoPlace):
                desk.binder.not_created(waits)
                await asyncio.sleep(LOOK_S)
        assert is_running(await desk.until(runs, lambda _: True))
        await publish(kube, "node-a", "4000")
        assert await desk.placed_in_time(waits) == "node-a"


async def test_kubelet_that_refuses_sends_the_container_elsewhere(kube: KubeClient) -> None:
    async with a_desk(kube) as other, a_desk(kube, is_deaf=True) as desk:
        theirs = [a_container(sequence=2, container=number, capability=HALF_A_NODE) for number in (2, 3, 4)]
        taken = [await other.place(container) for container in theirs]
        for container in theirs:
            await other.until(container, is_running)
        full = max({*map(str, taken)}, key=taken.count)
        free = ({node.name for node in NODES} - {full}).pop()

        mine, filler, *_ = containers(3)
        # It believes both to be empty: one more than there is room for has to meet a refusal.
        on = {str(await desk.place(container)): container for container in (mine, filler)}
        assert {*on} == {full, free}
        refused = await desk.until(on[full], lambda pod: pod.phase is PodPhase.FAILED)
        assert refused.reason == f"OutOf{BATCH_CPU}"
        numbers = "requested: 2000, used: 4000, capacity: 4000"
        assert refused.message == f"Pod was rejected: Node didn't have enough resource: {BATCH_CPU}, {numbers}"
        await desk.until(on[free], is_running)

        desk.binder.refused(on[full], refused)
        await desk.pods.delete(refused.name)
        assert await desk.place(on[full]) == free
        again = await desk.until(on[full], lambda pod: pod.uid != refused.uid and pod.phase is not PodPhase.PENDING)
        assert (again.node_name, again.reason) == (free, f"OutOf{BATCH_CPU}")  # full too, by now
        desk.binder.refused(on[full], again)
        found = await desk.place(on[full])
        assert isinstance(found, NoPlace)
        assert found.reason == "0/2 nodes are available: 2 node(s) refused the pod a short time ago."
