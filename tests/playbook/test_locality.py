"""Containers go to the hosts, racks and labels they ask for, wait with patience, or are told that no node can serve."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, running
from tests.support.rm_options import LIMITS, Options
from yodel.domain.allocation.locality import LocalityDelays
from yodel.domain.ask_rules import AskRules
from yodel.domain.ids import NodeId, dns_name
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidLabelRequest, InvalidResourceRequest
from yodel.ports.kube_nodes import NodeObservation

RACK, LABEL = "topology.kubernetes.io/rack", "yodel.io/node-label"
LABELS = AskRules(are_node_labels_enabled=True)
HOST_2 = NodeId("node-2", 8041)


def kube_node(name: str, labels: Mapping[str, str]) -> NodeObservation:
    return NodeObservation(name=name, uid="u", resource_version="1", labels=labels)


async def two_nodes(world: World, second: Mapping[str, str], first: Mapping[str, str] | None = None) -> Am:
    world.rm.facts.nodes_listed([kube_node(NODE.host, first or {}), kube_node(HOST_2.host, second)])
    am = await world.running_am()
    await world.register_node(HOST_2)
    await world.settle()
    return am


def affinity_of(world: World, number: int = 0) -> Any:
    task = sorted(world.live_tasks(), key=lambda container: container.id)[number]
    spec = world.pods.manifests[dns_name(task.id)]["spec"]
    return spec.get("affinity", {}), spec.get("nodeSelector")


# --- patience --------------------------------------------------------------------------------------------------------


async def test_asks_wait_for_room_on_their_host_and_then_go_anywhere() -> None:
    limits = replace(LIMITS, delays=LocalityDelays(node_s=1.0, rack_s=0.0))
    async with World(Options(allocation=limits)) as world:
        am = await two_nodes(world, {})
        await am.beat(ask(20, "node-2"), ask(20))
        await world.settle()
        assert len(world.live_tasks()) == 16  # as many as node-2 has room for
        assert world.rm.scheduler.again_in_s == 1.0

        await world.pass_time(1.0)
        world.rm.scheduler.wake()
        await world.settle()
        assert len(world.live_tasks()) == 20


async def test_patience_begins_anew_when_a_container_was_placed_locally() -> None:
    limits = replace(LIMITS, delays=LocalityDelays(node_s=10.0, rack_s=0.0))
    async with World(Options(allocation=limits)) as world:
        am = await two_nodes(world, {})
        await am.beat(ask(17, "node-2"), ask(17))
        world.clock.advance(9.0)
        await world.settle()
        assert len(world.live_tasks()) == 16
        await world.pass_time(9.0)
        world.rm.scheduler.wake()
        await world.settle()
        assert len(world.live_tasks()) == 16
        await world.pass_time(1.0)
        world.rm.scheduler.wake()
        await world.settle()
        assert len(world.live_tasks()) == 17


async def test_preferred_places_are_preferences_of_the_pod() -> None:
    async with World() as world:
        am = await two_nodes(world, {RACK: "r1"})
        await am.beat(ask(1, "node-2"), ask(1, "/r1"), ask(1))
        await world.settle()
        preferred = affinity_of(world)[0]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert [term["preference"]["matchExpressions"][0]["values"] for term in preferred] == [["node-2"], ["r1"]]


# --- racks -----------------------------------------------------------------------------------------------------------


async def test_rack_of_a_grant_is_its_nodes_and_takes_the_racks_count_down(world: World) -> None:
    am = await two_nodes(world, {}, {RACK: "r1"})
    await am.beat(ask(2, "/r1"), ask(2, relax_locality=False))
    await world.settle()
    await world.bind_and_settle()
    answer = await am.beat()
    assert [granted.node.rack for granted in answer.granted] == ["/r1", "/r1"]
    assert world.rm.state.masters.runtimes[am.attempt_id].wishes.asks.lines() == []


async def test_strict_rack_that_appears_later_is_served_then(world: World) -> None:
    am = await two_nodes(world, {})
    await am.beat(ask(1, "/r7"), ask(1, relax_locality=False))
    await world.settle()
    assert world.live_tasks() == []
    world.rm.facts.node_seen(kube_node(HOST_2.host, {RACK: "r7"}))
    await world.settle()
    assert [task.placement.racks for task in world.live_tasks()] == [("/r7",)]


# --- labels ----------------------------------------------------------------------------------------------------------


async def test_label_expression_is_a_node_selector_and_others_keep_away() -> None:
    async with World(Options(ask_rules=LABELS)) as world:
        am = await two_nodes(world, {LABEL: "gpu"})
        await am.beat(replace(ask(1), node_label="gpu"))
        await world.settle()
        assert affinity_of(world) == ({}, {LABEL: "gpu"})
        await am.beat(ask(1, priority=2))
        await world.settle()
        required = affinity_of(world, 1)[0]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert required["nodeSelectorTerms"] == [{"matchExpressions": [{"key": LABEL, "operator": "DoesNotExist"}]}]


async def test_expression_is_what_the_pod_requires() -> None:
    async with World(Options(ask_rules=LABELS)) as world:
        am = await two_nodes(world, {LABEL: "gpu"})
        for place, (text, operator) in enumerate({"gpu || gpu || !gpu": "", "!gpu": "NotIn"}.items()):
            await am.beat(replace(ask(1, priority=place + 1), node_label=text))
            await world.settle()
            found, selector = affinity_of(world, place)
            assert selector is None
            terms = [{"matchExpressions": [{"key": LABEL, "operator": operator, "values": ["gpu"]}]}]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            assert found == ({"nodeAffinity": required} if operator else {})


async def test_unknown_label_is_refused_in_an_ask_and_in_a_submission() -> None:
    async with World(Options(ask_rules=LABELS)) as world:
        am = await two_nodes(world, {LABEL: "gpu"})
        words = "Invalid label resource request, cluster do not contain , label= fpga"
        with pytest.raises(InvalidLabelRequest, match=words):
            await am.beat(replace(ask(1), node_label="fpga"))
        with pytest.raises(InvalidLabelRequest, match=words):
            await world.submit(am_node_label="fpga")


async def test_master_goes_where_its_label_is() -> None:
    async with World(Options(ask_rules=LABELS)) as world:
        await two_nodes(world, {LABEL: "gpu"})
        application_id = await world.submit(am_node_label="gpu")
        await world.settle()
        (master,) = world.rm.state.containers_of(world.application(application_id).current_attempt_id)
        assert master.placement.node_label == "gpu"


# --- what no node can serve ------------------------------------------------------------------------------------------


@pytest.fixture
async def growing() -> AsyncIterator[World]:
    """A cluster to which nodes come when something waits for them: what is too large for all is taken, and waits."""
    async with World(Options(allocation=replace(LIMITS, maximum_follows_nodes=False))) as world:
        yield world


async def test_ask_that_can_never_fit_is_told_and_makes_no_pods(growing: World) -> None:
    world = growing
    await world.register_node(capability=Resource(4096, 4))
    am = await world.running_am()
    created = len(world.pods.created)
    await am.beat(ask(3, capability=Resource(6000, 1)), ask(1, "nowhere", priority=2))
    await am.beat(ask(1, priority=2, relax_locality=False))
    for _ in range(20):
        await world.pass_time(10)
        await world.beat(running(am.container.id))
        await am.beat()
        world.rm.scheduler.wake()
        await world.settle()
    assert (len(world.pods.created), world.pods.deleted) == (created, [])

    view = world.rm.queries.application(am.application_id)
    assert view.application.diagnostics.splitlines() == [
        "Cannot be placed: 3 of 6 GiB, 1 vcore (priority 1): 6 GiB, 1 vcore is larger than every "
        "eligible node; the largest node has 4 GiB, 4 vcores",
        "Cannot be placed: 1 of 1 GiB, 1 vcore (priority 2): locality is strict and none of nowhere is in the cluster",
    ]
    assert view.pending_containers == 4
    assert world.application(am.application_id).diagnostics == ""  # of the moment, not on disk


async def test_ask_that_can_never_fit_holds_up_nothing_else(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1000, "nowhere", priority=1), ask(1000, priority=1, relax_locality=False), ask(2, priority=5))
    await world.settle()
    assert [task.priority for task in world.live_tasks()] == [5, 5]


async def test_master_that_no_node_may_ever_take_is_refused(world: World) -> None:
    """Some node has enough of each type, and no node of both."""
    await world.register_node(capability=Resource(2048, 4))
    await world.register_node(HOST_2, Resource(4096, 2))
    with pytest.raises(InvalidResourceRequest, match="no node can be that large"):
        await world.submit(am_asked_capability=Resource(4096, 4))
    assert world.rm.state.applications == {}


async def test_master_that_fits_nowhere_says_so_in_its_applications_diagnostics(world: World) -> None:
    """It was submitted before there were nodes."""
    application_id = await world.submit(am_asked_capability=Resource(4096, 1))
    await world.register_node(capability=Resource(2048, 2))
    await world.settle()
    view = world.rm.queries.application(application_id)
    assert view.application.state is ApplicationState.ACCEPTED
    assert "(the ApplicationMaster): 4 GiB, 1 vcore is larger than every eligible node" in view.application.diagnostics
    await world.register_node(HOST_2)
    await world.settle()
    assert world.rm.queries.application(application_id).application.diagnostics == ""


async def test_pod_that_kubernetes_cannot_schedule_is_told_and_left_alone(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (task,) = world.live_tasks()
    world.pods.change(dns_name(task.id), unschedulable_message="0/9 nodes are available: 9 Insufficient cpu.")
    await world.settle()
    created = len(world.pods.created)
    for _ in range(10):
        await world.pass_time(10)
        await am.beat()
    assert (len(world.pods.created), world.pods.deleted) == (created, [])
    told = world.rm.queries.application(am.application_id).application.diagnostics
    assert told == f"Pod {dns_name(task.id)} cannot be scheduled: 0/9 nodes are available: 9 Insufficient cpu."
    await world.bind_and_settle()
    assert world.rm.queries.application(am.application_id).application.diagnostics == ""
