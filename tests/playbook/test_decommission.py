"""Nodes that leave, gracefully and at once, as agents, ApplicationMasters and Kubernetes see it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.playbook import Am, World, ask, complete, running
from tests.support.rm_options import NODE_SIZE
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState, FinalApplicationStatus, NodeState
from yodel.services.nodes.registration import NodeRegistration

OTHER = NodeId("node-2", 8041)
EXCLUDED = HostLists(excluded={NODE.host: None})
LOST = "Container released on a *lost* node"


async def refresh(world: World, lists: HostLists, **how: Any) -> None:
    await world.run(world.rm.decommission.refresh(lists, **how))
    await world.settle()


def state_of(world: World, node_id: NodeId = NODE) -> NodeState:
    return world.rm.state.nodes[node_id].state


async def a_job(world: World) -> tuple[Am, ContainerId]:
    """An AM and one running task on NODE; OTHER is empty."""
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(running(container_id))
    await world.register_node(OTHER)
    await am.beat()
    return am, container_id


def excluded_from(world: World, container_id: ContainerId) -> list[str]:
    affinity = world.pods.manifests[dns_name(container_id)]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [field["values"][0] for field in term["matchFields"]]


async def test_graceful_leave_waits_for_the_applications_that_were_there(world: World) -> None:
    am, container_id = await a_job(world)

    await refresh(world, EXCLUDED, is_graceful=True, timeout_s=3600)
    assert state_of(world) is NodeState.DECOMMISSIONING
    (told,) = (await am.beat()).changed_nodes
    assert (told.id, told.state, told.decommissioning_timeout_s) == (NODE, NodeState.DECOMMISSIONING, 3600)
    assert not (await world.beat(running(container_id))).must_shut_down

    await world.beat(complete(container_id))
    await world.pass_time(2)
    assert state_of(world) is NodeState.DECOMMISSIONING, "its shuffle files may still be fetched"

    await am.finish()
    await am.exit()
    assert world.application(am.application_id).final_status is FinalApplicationStatus.SUCCEEDED
    await world.pass_time(2)
    assert state_of(world) is NodeState.DECOMMISSIONED
    answer = await world.beat()
    assert answer.must_shut_down
    assert answer.diagnostics == "DECOMMISSIONING node-1:8041 is ready to be decommissioned"


async def test_nothing_new_goes_to_a_node_that_leaves(world: World) -> None:
    am, _ = await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True)

    (new,) = await am_obtains_on(world, am, OTHER)
    assert excluded_from(world, new) == [NODE.host]
    assert world.container(new).node_id == OTHER


async def am_obtains_on(world: World, am: Am, node_id: NodeId) -> list[ContainerId]:
    before = {c.id for c in world.live_tasks()}
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle(node_id.host)
    return [c.id for c in world.live_tasks() if c.id not in before]


async def test_pod_that_lands_on_a_closed_node_is_placed_anew(world: World) -> None:
    """Its pod was made before the order came; the container stays the same."""
    am, _ = await a_job(world)
    before = {c.id for c in world.live_tasks()}
    await am.beat(ask(1))
    await world.settle()
    (new,) = {c.id for c in world.live_tasks()} - before
    await refresh(world, EXCLUDED, is_graceful=True)

    await world.bind_and_settle(NODE.host)
    await world.pass_time(2)
    assert world.container(new).state is ContainerState.PLANNED
    assert excluded_from(world, new) == [NODE.host]

    await world.bind_and_settle(OTHER.host)
    assert world.container(new).node_id == OTHER


async def test_waiting_pod_is_no_longer_kept_from_a_node_that_is_open_again(world: World) -> None:
    am, _ = await a_job(world)
    before = {c.id for c in world.live_tasks()}
    await refresh(world, EXCLUDED, is_graceful=True)
    await am.beat(ask(1))
    await world.settle()
    (new,) = {c.id for c in world.live_tasks()} - before
    assert excluded_from(world, new) == [NODE.host]

    await refresh(world, HostLists())
    await world.pass_time(6)
    await world.pass_time(6)
    assert "affinity" not in world.pods.manifests[dns_name(new)]["spec"]


async def test_graceful_leave_ends_at_its_timeout(world: World) -> None:
    am, container_id = await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True, timeout_s=60)
    await world.pass_time(59)
    assert state_of(world) is NodeState.DECOMMISSIONING
    told = world.rm.queries.noticed.of(container_id)
    assert told is not None
    text = "1 container will be stopped within 1 s (node drains): node node-1:8041 is being decommissioned."
    assert told.text == text
    assert not (await world.beat(running(container_id))).on_notice, "it is its ApplicationMaster that hears of the node"
    await world.pass_time(2)
    assert state_of(world) is NodeState.DECOMMISSIONED
    ended = world.container(container_id)
    assert (ended.exit_status, ended.diagnostics) == (ContainerExitStatus.ABORTED, LOST)
    assert not world.has_pod(container_id)
    assert world.attempt(am.attempt_id).state is AttemptState.FAILED
    assert world.application(am.application_id).failure_times_ms == (), "the application is not to blame"


async def test_leave_without_end_waits_for_ever(world: World) -> None:
    await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True, timeout_s=-1)
    await world.pass_time(500)
    assert state_of(world) is NodeState.DECOMMISSIONING


async def test_time_in_the_list_wins_over_the_command(world: World) -> None:
    await a_job(world)
    await refresh(world, HostLists(excluded={NODE.host: 7}), is_graceful=True, timeout_s=3600)
    assert world.rm.state.nodes[NODE].decommissioning_timeout_s == 7


async def test_forced_leave_takes_the_containers_at_once(world: World) -> None:
    _, container_id = await a_job(world)
    await refresh(world, EXCLUDED)
    assert state_of(world) is NodeState.DECOMMISSIONED
    assert world.container(container_id).exit_status == ContainerExitStatus.ABORTED

    answer = await world.beat(running(container_id))
    assert answer.must_shut_down
    assert answer.diagnostics == "Disallowed NodeManager nodeId: node-1:8041 hostname: node-1"


async def test_forceful_ends_every_leave_under_way(world: World) -> None:
    await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True)
    assert world.rm.decommission.decommissioning() == [NODE]
    await world.run(world.rm.decommission.refresh_forcefully())
    assert (state_of(world), state_of(world, OTHER)) == (NodeState.DECOMMISSIONED, NodeState.RUNNING)


async def test_agent_of_a_refused_host_is_turned_away_and_its_node_closed(world: World) -> None:
    await refresh(world, EXCLUDED)
    registration = NodeRegistration(
        node_id=NODE, http_port=8042, capability=NODE_SIZE, kubernetes_node_name="kube-1", version="test"
    )
    registered = await world.run(world.rm.registration.register(registration))
    text = "Disallowed NodeManager from  node-1, Sending SHUTDOWN signal to the NodeManager."
    assert registered.refusal == text
    assert state_of(world) is NodeState.DECOMMISSIONED
    assert world.rm.state.node_index.closed == {"kube-1"}


async def test_taken_back_order_leaves_the_node_as_it_was(world: World) -> None:
    am, container_id = await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True)
    await refresh(world, HostLists())
    assert state_of(world) is NodeState.RUNNING
    assert world.container(container_id).is_live
    assert [n.state for n in (await am.beat()).changed_nodes] == [NodeState.RUNNING]


async def test_node_that_was_out_comes_back_by_registering(world: World) -> None:
    await world.register_node()
    await refresh(world, EXCLUDED)
    await refresh(world, HostLists())
    assert state_of(world) is NodeState.DECOMMISSIONED
    assert (await world.beat()).must_resync
    await world.register_node()
    assert state_of(world) is NodeState.RUNNING


async def test_node_that_an_include_list_does_not_know_is_shut_down(world: World) -> None:
    await world.register_node()
    await world.register_node(OTHER)
    await refresh(world, HostLists(included=frozenset({OTHER.host})))
    assert (state_of(world), state_of(world, OTHER)) == (NodeState.SHUTDOWN, NodeState.RUNNING)
    assert (await world.beat()).must_shut_down


async def test_leave_goes_on_after_a_restart_with_the_time_it_had(world: World) -> None:
    await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True, timeout_s=100)
    await world.pass_time(60)
    await world.restart()
    world.rm.nodes.lists = EXCLUDED
    await world.register_node()
    assert state_of(world) is NodeState.DECOMMISSIONING
    await world.pass_time(41)
    assert state_of(world) is NodeState.DECOMMISSIONED


async def test_room_on_a_leaving_node_is_nobodys_and_what_it_holds_takes_none_elsewhere(world: World) -> None:
    am, _ = await a_job(world)
    size = world.rm.state.nodes[OTHER].capability
    await refresh(world, EXCLUDED, is_graceful=True)
    assert (await am.beat()).headroom == size


async def test_sick_node_loses_its_containers_and_comes_back_empty(world: World) -> None:
    am, container_id = await a_job(world)
    await world.beat(running(container_id), is_healthy=False, health_report="1/1 local-dirs are bad: /data")
    await world.settle()
    assert (state_of(world), world.rm.state.node_index.closed) == (NodeState.UNHEALTHY, {NODE.host})
    assert (world.container(container_id).exit_status, world.container(container_id).diagnostics) == (-100, LOST)
    assert not am.container.is_live
    assert (
        container_id
        in (await world.beat(is_healthy=False, health_report="1/1 local-dirs are bad: /data")).containers_to_clean_up
    )

    await world.beat(is_healthy=True)
    await world.settle()
    assert (state_of(world), world.rm.state.node_index.closed) == (NodeState.RUNNING, frozenset())


async def test_words_of_a_leaving_node_are_news_once(world: World) -> None:
    await a_job(world)
    await refresh(world, EXCLUDED, is_graceful=True)
    await world.beat(is_healthy=False, health_report="disk full")
    await world.settle()
    version = world.rm.state.change_counters.version
    await world.beat(is_healthy=False, health_report="disk full")
    await world.settle()
    assert (world.rm.state.change_counters.version, world.rm.state.nodes[NODE].health_report) == (version, "disk full")


@pytest.mark.parametrize("is_graceful", [True, False])
async def test_crash_at_any_step_of_a_leave_ends_in_a_node_that_is_out(is_graceful: bool) -> None:
    for step in range(100):
        async with World() as world:
            am, container_id = await a_job(world)
            before = len(world.steps)
            world.crash_at_step = before + step
            crashed = True
            try:
                await refresh(world, EXCLUDED, is_graceful=is_graceful, timeout_s=10)
                await world.pass_time(11)
                taken = len(world.steps) - before
                crashed = False
            except Crash:
                pass
            world.crash_at_step = None
            await world.restart()
            await refresh(world, EXCLUDED)  # as every start does with the lists it reads
            await world.pass_time(2)
            assert state_of(world) is NodeState.DECOMMISSIONED
            assert not world.container(container_id).is_live
            assert not world.has_pod(container_id)
            assert am.attempt_id in world.rm.state.attempts
            if not crashed:
                assert step == taken > 10  # a crash was tried at every one
                return
    raise AssertionError("a leave takes more steps than this test looks at")
