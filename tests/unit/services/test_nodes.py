from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, complete, running
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerState, NodeState
from yodel.errors import InvalidValue
from yodel.services.nodes import outbox as nodes_module
from yodel.services.nodes.heartbeat import Heartbeat


@pytest.mark.parametrize("capability", [Resource(-1, 1), Resource(1024, -1)])
async def test_node_with_less_than_nothing_is_refused(world: World, capability: Resource) -> None:
    with pytest.raises(InvalidValue):
        await world.register_node(capability=capability)
    assert world.rm.state.nodes == {}


async def test_node_that_left_between_the_halves_of_a_beat_is_told_to_register(world: World) -> None:
    await world.register_node()
    beat = Heartbeat(node_id=NODE, response_id=0, is_healthy=False, health_report="x")
    assert world.rm.heartbeats.take(beat) is None
    await world.run(world.rm.registration.unregister(NODE))
    assert (await world.run(world.rm.heartbeats.slow(beat))).must_resync


async def test_beat_is_felt_by_who_keeps_answers(world: World) -> None:
    await world.register_node()
    before = world.rm.state.change_counters.heartbeats
    await world.beat()
    assert world.rm.state.change_counters.heartbeats > before


async def test_orders_go_out_once(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await am.beat(releases=[container_id])
    assert (await world.beat()).containers_to_clean_up == (container_id,)
    assert (await world.beat()).containers_to_clean_up == ()


async def test_what_has_ended_may_be_forgotten_once_its_master_has_heard_of_it(world: World) -> None:
    """RMAppAttemptImpl.pullJustFinishedContainers: the next call says that the last answer came."""
    am = await world.running_am()
    (task,) = await am.obtain(1)
    assert (await world.beat(complete(task, 3))).containers_to_forget == ()
    assert [ended.id for ended in (await am.beat()).completed] == [task]
    assert (await world.beat()).containers_to_forget == ()
    await am.acknowledge()
    assert (await world.beat()).containers_to_forget == (task,)
    assert (await world.beat()).containers_to_forget == ()
    assert (await world.beat(complete(task, 3))).containers_to_forget == (task,)  # it was not told, or says it again


async def test_what_has_ended_may_be_forgotten_once_its_attempt_is_over(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(complete(task, 3))
    await world.settle()
    answer = await world.beat(complete(am.container.id, 1))
    await world.settle()
    assert {*answer.containers_to_forget, *(await world.beat()).containers_to_forget} == {task, am.container.id}


async def test_what_has_ended_is_kept_for_the_next_attempt_where_that_takes_containers_over(world: World) -> None:
    am = await world.running_am(keep_containers_across_attempts=True)
    (task,) = await am.obtain(1)
    await world.beat(complete(task, 3))
    answer = await world.beat(complete(am.container.id, 1))
    await world.settle()
    assert task not in (*answer.containers_to_forget, *(await world.beat()).containers_to_forget)
    await world.bind_and_settle()
    second = Am(world, world.application(am.application_id).current_attempt_id)
    await second.register()
    await second.beat()
    await second.acknowledge()
    assert (await world.beat()).containers_to_forget == (task,)


@pytest.mark.parametrize("has_heard", [False, True])
async def test_what_an_agent_may_forget_is_known_after_a_restart(world: World, has_heard: bool) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(complete(task, 3))
    await am.beat()
    if has_heard:
        await am.acknowledge()
    await world.restart()
    await world.register_node(containers=[complete(task, 3)])
    assert (await world.beat()).containers_to_forget == ((task,) if has_heard else ())


async def test_end_that_was_decided_here_may_be_forgotten_when_the_agent_tells_of_it(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(running(task))
    await am.beat(releases=[task])
    await am.acknowledge()
    assert (await world.beat(running(task))).containers_to_clean_up == (task,)
    assert (await world.beat(complete(task, -106))).containers_to_forget == (task,)


async def test_what_an_agent_may_forget_is_told_up_to_a_maximum(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "FORGET_MAX", 2)
    am = await world.running_am()
    tasks = await am.obtain(3)
    await world.beat(*map(complete, tasks))
    await am.beat()
    await am.acknowledge()
    assert (await world.beat()).containers_to_forget == tuple(tasks[-2:])


async def test_end_that_is_told_again_is_no_news(world: World) -> None:
    """Agents of earlier releases tell an end until it may be forgotten: neither queue nor disk is touched."""
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(complete(task, 3))
    again = Heartbeat(node_id=NODE, response_id=world.response_ids[NODE], containers=(complete(task, 3),))
    answer = world.rm.heartbeats.take(again)
    assert answer is not None
    assert answer.containers_to_forget == ()


async def test_node_that_is_given_up_while_its_news_is_written_is_answered(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    beat = Heartbeat(node_id=NODE, response_id=world.response_ids[NODE], containers=(complete(task, 3),))
    answering = asyncio.create_task(world.rm.heartbeats.slow(beat))
    await asyncio.sleep(0)
    world.rm.nodes.give_up(NODE)
    assert (await answering).response_id == beat.response_id + 1
    assert world.container(task).exit_status == 3


async def test_news_in_a_beat_that_is_repeated_is_taken(world: World) -> None:
    """Its answer is the lost one, and an agent takes an answer for a word that all it told is known."""
    am = await world.running_am()
    (task,) = await am.obtain(1)
    last = world.response_ids[NODE]
    lost = await world.beat(running(task))
    again = await world.beat(complete(task, 3), response_id=last)
    assert again is lost
    assert world.container(task).exit_status == 3


async def test_end_of_an_application_is_told_to_every_node(world: World) -> None:
    other = NodeId("node-2", 8041)
    am = await world.running_am()
    await world.register_node(other)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    for node_id in (NODE, other):
        assert (await world.beat(node_id=node_id)).applications_to_clean_up == (am.application_id,)


async def test_container_reported_before_its_binding_was_seen_is_believed_later(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    for _ in range(2):
        await world.beat(running(container_id))
    assert world.container(container_id).state is ContainerState.RUNNING


async def test_node_that_is_sick_and_recovers(world: World) -> None:
    await world.register_node()
    for is_healthy, state in ((False, NodeState.UNHEALTHY), (True, NodeState.RUNNING)):
        await world.beat(is_healthy=is_healthy, health_report="" if is_healthy else "disk full")
        await world.settle()
        assert world.rm.state.nodes[NODE].state is state


async def test_words_of_a_healthy_node_are_kept(world: World) -> None:
    """One of its disks is full, and room again."""
    await world.register_node()
    for report in ("1/2 local-dirs usable space is below", ""):
        await world.beat(health_report=report)
        await world.settle()
        node = world.rm.state.nodes[NODE]
        assert (node.state, node.health_report) == (NodeState.RUNNING, report)


async def test_signals_have_a_limit_and_are_for_the_living(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "SIGNALS_MAX", 2)
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    assert [world.rm.nodes.signal(container_id, 1) for _ in range(3)] == [True, True, False]
    await world.beat(complete(container_id))
    assert not world.rm.nodes.signal(container_id, 1)


async def test_when_a_node_was_heard_of_is_the_time_of_its_last_beat(world: World) -> None:
    await world.register_node()
    registered_ms = world.rm.nodes.runtimes[NODE].last_seen_ms
    world.clock.advance(7.0)
    await world.beat()
    assert world.rm.nodes.runtimes[NODE].last_seen_ms >= registered_ms + 7_000
