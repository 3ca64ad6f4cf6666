from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import World, ask
from yodel.domain.effects import (
    ExpectAttempt,
    ForgetAttempt,
    Grant,
    LaunchAm,
    NodeChanged,
    Planned,
    Reconcile,
    ReportCompleted,
    Withdraw,
)
from yodel.domain.ids import ApplicationAttemptId


async def test_lists_of_an_attempt_that_is_gone_are_nobodys(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.rm.performer.perform(ForgetAttempt(am.attempt_id))
    world.rm.performer.perform(Grant(container_id))
    world.rm.performer.perform(ReportCompleted(container_id))
    assert world.rm.state.masters.runtimes == {}


async def test_attempt_is_expected(world: World) -> None:
    am = await world.running_am()
    attempt_id = ApplicationAttemptId(am.application_id, 2)
    world.rm.performer.perform(ExpectAttempt(attempt_id))
    assert not world.rm.state.masters.runtimes[attempt_id].dialogue.is_registered


async def test_slow_things_are_queued(world: World) -> None:
    am = await world.running_am()
    world.rm.performer.perform(Reconcile(am.container.id))
    world.rm.performer.perform(LaunchAm(am.attempt_id))
    assert am.container.id in world.rm.reconciles
    assert am.attempt_id in world.rm.launches


async def test_container_that_ended_in_the_batch_that_planned_it_is_not_under_way(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    in_flight = world.rm.state.masters.runtimes[am.attempt_id].wishes.in_flight
    world.rm.performer.perform(Planned(container_id))
    assert {i for ids in in_flight.values() for i in ids} == {container_id}
    await am.beat(releases=[container_id])
    assert not world.container(container_id).is_live
    world.rm.performer.perform(Planned(container_id))
    assert not in_flight


async def test_end_takes_a_container_out_of_what_is_under_way(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    runtime = world.rm.state.masters.runtimes[am.attempt_id]
    (container_id,) = runtime.outbox.granted
    world.pods.remove(world.pods.created[-1])
    await world.step()
    await world.step()
    assert container_id not in runtime.outbox.granted
    assert container_id not in {i for ids in runtime.wishes.in_flight.values() for i in ids}


async def test_grant_that_is_withdrawn_stays_under_way(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    runtime = world.rm.state.masters.runtimes[am.attempt_id]
    (container_id,) = runtime.outbox.granted
    for _ in range(2):
        world.rm.performer.perform(Withdraw(container_id))
    assert runtime.outbox.granted == []
    assert container_id in {i for ids in runtime.wishes.in_flight.values() for i in ids}


async def test_nodes_that_changed_are_told_to_registered_ams(world: World) -> None:
    am = await world.running_am()
    await am.beat()
    await world.submit()
    await world.settle()
    world.rm.performer.perform(NodeChanged(NODE))
    told = {
        runtime.attempt_id: runtime.outbox.take_changed_nodes() for runtime in world.rm.state.masters.runtimes.values()
    }
    assert told.pop(am.attempt_id) == [NODE]
    assert [*told.values()] == [[]]
