"""The binder by itself: what it counts, whom it wakes, what it forgets.  Whole stories are in the playbook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.fakes import FakeClock
from tests.support.records import a_container, a_node
from tests.support.rm_options import POD_SETTINGS
from yodel.domain.container import Container, Placement
from yodel.domain.ids import ContainerId, dns_name
from yodel.domain.node import Node
from yodel.domain.pod import PodHolding, PodObservation, PodPhase
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType, NodeState
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.store import ClusterIdentity
from yodel.services.pods.binder import (
    ADMISSION_S,
    ASSUMED_S,
    AVOIDED_MAX,
    AVOIDED_S,
    EXPIRY_INTERVAL_S,
    LINES_AT_ONCE,
    NO_ROOM,
    SEEN_WITHIN_S,
    TURNED_AWAY_S,
    UNKNOWN,
    Binder,
    NoPlace,
)
from yodel.services.writer.changes import Changes
from yodel.services.writer.state import ClusterState
from yodel.translator.node_fit import requests_of
from yodel.translator.pod_spec import manifest

NAMES = ("node-1", "node-2")


class Desk:
    """A binder over two machines of 4 cores; containers ask for 2."""

    def __init__(self, *, binds: bool = True, are_known: bool = True) -> None:
        self.clock = FakeClock()
        self.state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0))
        self.state.publish([agent(name) for name in NAMES])
        self.woken: list[ContainerId] = []
        self._seen: dict[str, NodeObservation] = {}
        self.binder = Binder(self.state, self.clock, "yodel", lambda _: binds, self.woken.append)
        if are_known:
            self.nodes_listed([machine(name) for name in NAMES])
            self.binder.holdings_listed([])

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        self._seen = {node.name: node for node in nodes}
        self.binder.nodes_changed(Changes(nodes=[*self._seen], is_listing=True), self._seen.get)

    def node_seen(self, node: NodeObservation) -> None:
        self._seen[node.name] = node
        self.binder.nodes_changed(Changes(nodes=(node.name,)), self._seen.get)

    def node_gone(self, node: NodeObservation) -> None:
        del self._seen[node.name]
        self.binder.nodes_changed(Changes(nodes=(node.name,)), self._seen.get)

    def place(self, container: Container) -> str | NoPlace:
        made = manifest(container, POD_SETTINGS, None, "n", "t")
        placed = self.binder.place(container, made)
        if isinstance(placed, NoPlace):
            return placed
        assert "nodeName" not in made["spec"]
        node_name = placed["spec"]["nodeName"]
        assert isinstance(node_name, str)
        return node_name

    def fill(self, count: int = 4) -> list[Container]:
        containers = [a_container(container=number) for number in range(2, 2 + count)]
        for container in containers:
            assert self.place(container) in NAMES
        return containers

    def refuse(self, container: Container, node_name: str, reason: str = "NodeAffinity") -> None:
        self.binder.refused(container, a_pod(container, node_name, phase=PodPhase.FAILED, reason=reason))

    async def heard(self) -> list[ContainerId]:
        """Return the containers that were woken since the last time."""
        await asyncio.sleep(0)
        found = [*self.woken]
        self.woken.clear()
        return found


def agent(name: str, **changes: Any) -> Node:
    return a_node(name, **{"state": NodeState.RUNNING, "kubernetes_node_name": name, **changes})


def machine(name: str, cpu: str = "4", version: int = 1, **changes: Any) -> NodeObservation:
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return NodeObservation(
        name=name, uid=name, resource_version=str(version), ready=True, allocatable=allocatable, **changes
    )


def a_pod(container: Container, node_name: str, **changes: Any) -> PodObservation:
    return PodObservation(name=dns_name(container.id), uid="u", resource_version="5", node_name=node_name, **changes)


def holding(container: Container, node_name: str) -> PodHolding:
    amounts = requests_of(manifest(container, POD_SETTINGS, None, "n", "t")["spec"])
    name = dns_name(container.id)
    return PodHolding(namespace="yodel", name=name, uid="u", resource_version="5", node_name=node_name, amounts=amounts)


def reason(found: str | NoPlace) -> str:
    assert isinstance(found, NoPlace)
    return found.reason


async def test_pods_of_other_queues_are_left_to_kubernetes() -> None:
    desk, container = Desk(binds=False), a_container()
    made = manifest(container, POD_SETTINGS, None, "n", "t")
    assert desk.binder.place(container, made) is made
    desk.refuse(container, "node-1")
    am = a_container(type=ContainerType.APPLICATION_MASTER)
    assert desk.binder.admission_left_s(am, a_pod(am, "node-1")) == 0


async def test_who_came_before_the_listings_is_woken_after_both() -> None:
    desk, container = Desk(are_known=False), a_container()
    assert reason(desk.place(container)) == UNKNOWN
    desk.binder.holdings_listed([])
    assert await desk.heard() == []
    desk.nodes_listed([machine("node-1")])
    assert await desk.heard() == [container.id]
    assert desk.place(container) == "node-1"


async def test_a_round_that_is_repeated_keeps_its_node() -> None:
    desk, container = Desk(), a_container()
    first = desk.place(container)
    desk.binder.created(container)
    assert desk.place(container) == first
    desk.node_seen(machine(str(first), version=2, unschedulable=True))
    assert desk.place(container) != first


async def test_the_line_moves_one_by_one_as_room_comes() -> None:
    desk = Desk()
    placed = desk.fill()
    waiting = [a_container(container=number) for number in (10, 11, 12)]
    for container in waiting:
        assert reason(desk.place(container)) == "0/2 nodes are available: 2 Insufficient cpu."
    await desk.heard()

    gone = holding(placed[0], "node-1")
    desk.binder.holding_seen(gone)
    assert await desk.heard() == []
    desk.binder.holding_gone(gone)
    assert await desk.heard() == [waiting[0].id]
    assert desk.place(waiting[0]) == "node-1"
    assert await desk.heard() == []  # full again

    desk.node_seen(machine("node-2", "64", version=2))
    assert await desk.heard() == [waiting[1].id]
    desk.place(waiting[1])
    assert await desk.heard() == [waiting[2].id]


async def test_who_does_not_want_any_more_leaves_the_line_to_the_next() -> None:
    desk = Desk()
    placed = desk.fill()
    first, second = a_container(container=10), a_container(container=11)
    for container in (first, second):
        desk.place(container)
    await desk.heard()
    desk.binder.not_created(placed[0])
    desk.binder.over(first.id)
    assert await desk.heard() == [second.id]


async def test_those_who_want_less_are_not_held_up() -> None:
    desk = Desk()
    strict = a_container(container=10, placement=Placement(hosts=("node-9",), is_strict=True))
    assert "didn't match" in reason(desk.place(strict))
    assert desk.place(a_container(container=11)) in NAMES


async def test_many_lines_are_tried_a_slice_at_a_time() -> None:
    desk = Desk()
    desk.fill()
    many = [a_container(container=number, capability=Resource(1024 + number, 2)) for number in range(10, 10 + 120)]
    reasons = [reason(desk.place(container)) for container in many]
    assert reasons[:2] == ["0/2 nodes are available: 2 Insufficient cpu.", NO_ROOM]  # looking at all nodes is rationed
    await desk.heard()
    desk.node_seen(machine("node-1", "64", version=2))
    slices = [await desk.heard() for _ in range(4)]
    assert [len(some) for some in slices] == [LINES_AT_ONCE, LINES_AT_ONCE, 20, 0]


async def test_assumptions_fall_after_their_time() -> None:
    desk = Desk()
    silent, created, *_ = desk.fill()
    desk.binder.created(created)
    waits = a_container(container=10)
    desk.place(waits)
    await desk.heard()
    desk.clock.advance(SEEN_WITHIN_S)
    desk.binder.expire()
    assert await desk.heard() == [waits.id]
    desk.place(waits)
    late = a_container(container=11)
    assert isinstance(desk.place(late), NoPlace)
    await desk.heard()
    desk.clock.advance(ASSUMED_S - SEEN_WITHIN_S)
    desk.binder.expire()
    assert await desk.heard() == [late.id]
    assert silent.id != late.id


async def test_refusing_node_is_avoided_by_its_container_and_shortly_by_all_when_it_had_too_little() -> None:
    desk, container, other = Desk(), a_container(), a_container(container=3)
    desk.refuse(container, "node-1", "OutOfkubernetes.io/batch-cpu")
    assert desk.place(container) == "node-2"
    assert desk.place(other) == "node-2"
    third = a_container(container=4)
    refused = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) refused the pod a short time ago."
    assert desk.place(third) == NoPlace(refused)
    desk.clock.advance(TURNED_AWAY_S)
    desk.binder.expire()
    assert await desk.heard() == [third.id]
    assert desk.place(third) == "node-1"
    desk.refuse(container, "node-2")
    text = "0/2 nodes are available: 2 node(s) refused the pod a short time ago."
    assert desk.place(container) == NoPlace(text, AVOIDED_S - TURNED_AWAY_S)
    desk.clock.advance(AVOIDED_S - TURNED_AWAY_S)
    assert desk.place(container) == "node-1"


async def test_refusals_remembered_are_bounded_and_forgotten_with_the_container() -> None:
    desk, container = Desk(), a_container()
    desk.refuse(container, "node-1")
    for number in range(AVOIDED_MAX):
        desk.refuse(container, f"machine-{number}")
    assert desk.place(container) in NAMES  # the first was forgotten
    desk.refuse(container, "node-1")
    desk.binder.over(container.id)
    desk.node_gone(machine("node-2"))
    assert desk.place(container) == "node-1"


async def test_agents_that_come_and_go_open_and_close_nodes() -> None:
    desk, container = Desk(), a_container()
    for name in NAMES:
        lost = agent(name, state=NodeState.LOST)
        desk.state.publish([lost])
        desk.binder.published([lost, container])
    assert reason(desk.place(container)) == "0/2 nodes are available: 2 node(s) had no running node agent."
    await desk.heard()
    moved = agent("node-1", kubernetes_node_name="node-2")
    desk.state.publish([moved])
    desk.binder.published([moved])
    assert await desk.heard() == [container.id]
    assert desk.place(container) == "node-2"


@pytest.mark.parametrize(
    ("changes", "is_waiting"), [({}, True), ({"is_ready": False}, False), ({"phase": PodPhase.RUNNING}, False)]
)
async def test_am_waits_for_the_kubelet_and_not_for_ever(changes: dict[str, Any], is_waiting: bool) -> None:
    desk, am = Desk(), a_container(type=ContainerType.APPLICATION_MASTER)
    pod = a_pod(am, "node-1", **changes)
    assert (desk.binder.admission_left_s(am, pod) > 0) is is_waiting
    desk.clock.advance(ADMISSION_S)
    assert desk.binder.admission_left_s(am, pod) <= 0
    assert desk.binder.admission_left_s(a_container(), pod) == 0


@pytest.mark.looptime
async def test_it_looks_at_the_clock_now_and_then() -> None:
    desk = Desk()
    desk.fill()
    waits = a_container(container=10)
    desk.place(waits)
    await desk.heard()
    running = asyncio.create_task(desk.binder.run())
    desk.clock.advance(ASSUMED_S)
    await asyncio.sleep(EXPIRY_INTERVAL_S * 1.5)
    assert await desk.heard() == [waits.id]
    running.cancel()
