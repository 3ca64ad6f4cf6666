"""Nodes chosen by the ResourceManager (``placement = "bind"``): places, refusals, waiting, restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, complete, running
from tests.support.rm_options import SMALL, Options
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.pod import PodHolding, PodPhase
from yodel.domain.states import ContainerExitStatus, ContainerState
from yodel.errors import Refused, Unavailable
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.pods.binder import ADMISSION_S, AVOIDED_S

OTHER = NodeId("node-2", 8041)
TOO_LITTLE = "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 8000, capacity: 8000"


def machine(name: str, cpu: str = "8", version: int = 1, **changes: object) -> NodeObservation:
    fields = {"uid": f"uid-{name}", "ready": True, "labels": {"kubernetes.io/hostname": name}, **changes}
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return NodeObservation(name=name, resource_version=str(version), allocatable=allocatable, **fields)  # type: ignore[arg-type]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World(Options(is_binding=True))
    world.kube_nodes = [machine(NODE.host)]
    async with world:
        yield world


def node_of(world: World, container_id: ContainerId) -> str | None:
    return world.pods.pods[dns_name(container_id)].node_name


def admit_all(world: World) -> None:
    """Kubelets take the pods of their nodes."""
    for pod in list(world.pods.pods.values()):
        if pod.node_name is not None and pod.phase is PodPhase.PENDING:
            world.pods.change(pod.name, phase=PodPhase.RUNNING, is_ready=True)


async def a_job(world: World, *, others: int = 1) -> Am:
    """An AM on NODE; the other machines come afterwards."""
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    admit_all(world)
    await world.settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    await world.beat(running(am.container.id))
    await am.register()
    if others:
        await world.register_node(OTHER)
        world.kube_nodes.append(machine(OTHER.host))
        world.rm.facts.nodes_listed(world.kube_nodes)
    return am


async def planned(world: World, am: Am, count: int = 1) -> list[ContainerId]:
    known = {c.id for c in world.live_tasks()}
    await am.beat(ask(count))
    await world.settle()
    return [c.id for c in world.live_tasks() if c.id not in known]


async def refuse(world: World, container_id: ContainerId, reason: str = "OutOfcpu") -> None:
    world.pods.change(dns_name(container_id), phase=PodPhase.FAILED, reason=reason, message=TOO_LITTLE)
    await world.settle()


async def test_pods_are_created_bound_and_granted_at_once(world: World) -> None:
    am = await a_job(world)
    first, second = await planned(world, am, 2)
    manifest = world.pods.manifests[dns_name(first)]
    assert manifest["spec"]["nodeName"] == OTHER.host  # the AM's node is fuller
    assert {node_of(world, first), node_of(world, second)} == {NODE.host, OTHER.host}
    assert len((await am.beat()).granted) == 2


async def test_an_am_waits_for_its_kubelets_word(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    attempt = world.attempt(world.application(application_id).current_attempt_id)
    assert attempt.am_container_id is not None
    assert world.container(attempt.am_container_id).state is ContainerState.PLANNED
    assert world.agents.started == []

    await world.pass_time(ADMISSION_S + 0.1)  # a kubelet that says nothing does not hold it up for ever
    assert len(world.agents.started) == 1


async def test_refused_pod_of_a_granted_container_is_tried_elsewhere_and_the_am_never_knows(world: World) -> None:
    am = await a_job(world)
    (container_id,) = await planned(world, am)
    assert world.container(container_id).state is ContainerState.ALLOCATED

    await refuse(world, container_id)
    assert world.container(container_id).state is ContainerState.PLANNED
    assert not (await am.beat()).granted
    await world.pass_time(1.1)
    assert node_of(world, container_id) == NODE.host
    (granted,) = (await am.beat()).granted
    assert granted.container.id == container_id
    assert granted.node.id == NODE
    assert (world.rm.reconciler.refused_count, world.rm.reconciler.lost_count) == (1, 0)


async def test_refused_pod_of_a_container_that_was_handed_over_ends_it_without_blame(world: World) -> None:
    am = await a_job(world)
    (container_id,) = await planned(world, am)
    assert len((await am.beat()).granted) == 1
    await refuse(world, container_id)
    await world.pass_time(4)
    ended = world.container(container_id)
    assert ended.exit_status == ContainerExitStatus.ABORTED
    assert "did not admit" in ended.diagnostics


async def test_refused_everywhere_it_waits_with_the_reason_and_comes_back_in_time(world: World) -> None:
    am = await a_job(world)
    (container_id,) = await planned(world, am)
    await refuse(world, container_id, "NodeAffinity")
    await world.pass_time(1.1)
    await refuse(world, container_id, "UnexpectedAdmissionError")
    await world.pass_time(2.1)
    assert not world.has_pod(container_id)
    text = "0/2 nodes are available: 2 node(s) refused the pod a short time ago."
    assert world.rm.state.reasons.waits[container_id] == text

    for _ in range(2):
        await world.pass_time(AVOIDED_S / 2)
    assert node_of(world, container_id) == OTHER.host
    assert container_id not in world.rm.state.reasons.waits


async def test_what_fits_nowhere_waits_until_room_comes(world: World) -> None:
    am = await a_job(world, others=0)
    world.rm.facts.node_seen(machine(NODE.host, cpu="3", version=2))
    containers = await planned(world, am, 4)
    placed = [c for c in containers if world.has_pod(c)]
    waiting = [c for c in containers if not world.has_pod(c)]
    assert (len(placed), len(waiting)) == (2, 2)
    assert world.rm.state.reasons.waits[waiting[0]] == "0/1 nodes are available: 1 Insufficient cpu."
    assert not any(container_id in world.rm.reconciles for container_id in waiting)  # nobody looks again for nothing

    await am.beat()
    admit_all(world)
    world.pods.finish(dns_name(placed[0]), 0)
    await world.beat(complete(placed[0]))
    await world.settle()
    assert [c for c in waiting if world.has_pod(c)] == waiting[:1]

    world.rm.facts.node_seen(machine(NODE.host, cpu="8", version=3))
    await world.settle()
    assert all(world.has_pod(c) for c in waiting)
    assert len((await am.beat()).granted) == 2


async def test_capacity_lowered_to_zero_stops_what_is_new_and_nothing_else(world: World) -> None:
    am = await a_job(world, others=0)
    (runs,) = await planned(world, am)
    await am.beat()
    admit_all(world)
    world.rm.facts.node_seen(machine(NODE.host, cpu="0", version=2))
    (waits,) = await planned(world, am)
    await world.pass_time(30)
    assert world.container(runs).is_live
    assert world.has_pod(runs)
    assert not world.has_pod(waits)
    world.rm.facts.node_seen(machine(NODE.host, cpu="8", version=1))  # an old word
    await world.settle()
    assert not world.has_pod(waits)

    world.rm.facts.node_seen(machine(NODE.host, cpu="8", version=3))
    await world.settle()
    assert node_of(world, waits) == NODE.host


async def test_pods_of_others_count(world: World) -> None:
    am = await a_job(world)
    others = PodHolding(
        namespace="web",
        name="shop",
        uid="u",
        resource_version="9",
        node_name=OTHER.host,
        amounts={"cpu": 7500, "pods": 1000},
    )
    world.rm.binder.holding_seen(others)
    (container_id,) = await planned(world, am)
    assert node_of(world, container_id) == NODE.host
    world.rm.binder.holding_gone(others)
    await am.beat()
    (container_id,) = await planned(world, am)
    assert node_of(world, container_id) == OTHER.host


async def test_closed_nodes_and_those_without_an_agent_get_nothing(world: World) -> None:
    am = await a_job(world, others=0)
    world.rm.facts.nodes_listed([machine(NODE.host, unschedulable=True), machine(OTHER.host)])
    (container_id,) = await planned(world, am)
    assert not world.has_pod(container_id)
    text = "0/2 nodes are available: 1 node(s) had no running node agent, 1 node(s) were unschedulable."
    assert world.rm.state.reasons.waits[container_id] == text
    await world.register_node(OTHER)
    await world.settle()
    assert node_of(world, container_id) == OTHER.host


async def test_locality_is_honoured(world: World) -> None:
    am = await a_job(world)
    await am.beat(ask(1, NODE.host), ask(1, "/default-rack"), ask(1))
    await world.settle()
    (container,) = world.live_tasks()
    assert node_of(world, container.id) == NODE.host  # though the other one is emptier


async def test_lost_answer_of_a_creation_leads_to_the_same_node(world: World) -> None:
    am = await a_job(world)
    world.pods.create_errors += [Unavailable("timeout")]
    await am.beat(ask(2))
    await world.settle()
    await world.pass_time(1.1)
    first, second = world.live_tasks()
    assert {node_of(world, first.id), node_of(world, second.id)} == {NODE.host, OTHER.host}


async def test_refused_creation_gives_its_place_back(world: World) -> None:
    am = await a_job(world, others=0)
    world.rm.facts.node_seen(machine(NODE.host, cpu="2", version=2))
    world.pods.create_errors += [Refused("exceeded quota")]
    one, other = await planned(world, am, 2)
    assert [world.has_pod(one), world.has_pod(other)] == [False, True]


async def test_nothing_is_chosen_before_the_first_listings(world: World) -> None:
    am = await a_job(world, others=0)
    (runs,) = await planned(world, am)
    await am.beat()
    await world.beat(running(runs), running(am.container.id))
    await world.stop()
    relist, world.relist = world.relist, lambda: None  # type: ignore[method-assign]
    await world.start()
    await world.register_node(containers=())
    rm = world.rm
    rm.reconciler.pods_listed(list(world.pods.pods.values()))
    await am.register()
    (container_id,) = await planned(world, am)
    assert not world.has_pod(container_id)
    assert "is not known yet" in rm.state.reasons.waits[container_id]

    relist()
    await world.settle()
    assert node_of(world, container_id) == NODE.host
    assert world.container(container_id).capability == SMALL
