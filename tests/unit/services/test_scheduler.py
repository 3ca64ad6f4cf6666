from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from math import nan

from structlog.testing import capture_logs

from tests.support.playbook import World, ask
from tests.support.rm_options import LIMITS, SMALL, Options
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerState, ContainerType
from yodel.errors import Unavailable
from yodel.services.scheduling.misfits import Misfits
from yodel.services.scheduling.placement_inputs import PlacementInputs
from yodel.services.scheduling.scheduler import Scheduler


async def test_plan_becomes_a_row_with_its_attempts_facts(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(user="bob", am_asked_capability=Resource(1500, 1))
    assert await world.run(world.rm.scheduler.tick()) is False

    (am,) = world.rm.state.live_containers()
    assert (am.type, am.user, am.queue) == (ContainerType.APPLICATION_MASTER, "bob", "root.default")
    assert (am.capability, am.asked_capability, am.priority) == (Resource(2048, 1), Resource(1500, 1), 0)
    assert (am.id.application_id, am.id.sequence, am.state) == (application_id, 1, ContainerState.PLANNED)
    assert world.disk.containers == {am.id: am}


async def test_second_tick_plans_nothing_new(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(3))
    for _ in range(3):
        await world.run(world.rm.scheduler.tick())
    assert len(world.live_tasks()) == 3


async def test_tick_that_was_cut_short_asks_for_another() -> None:
    limits = AllocationLimits(minimum=SMALL, maximum=LIMITS.maximum, per_tick_max=2)
    async with World(Options(allocation=limits)) as world:
        am = await world.running_am()
        await am.beat(ask(5))
        cut_short = [await world.run(world.rm.scheduler.tick()) for _ in range(3)]
        assert cut_short == [True, True, False]
        assert len(world.live_tasks()) == 5


async def test_plan_writes_containers_and_not_their_attempt(world: World) -> None:
    am = await world.running_am()
    before = world.disk.attempts[am.attempt_id]
    await am.beat(ask(3))
    await world.settle()
    assert world.disk.attempts[am.attempt_id] is before
    assert sorted(i.sequence for i in world.disk.containers) == [1, 2, 3, 4]


async def test_attempt_that_ended_while_the_plan_waited_gets_nothing(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(3))
    kill = asyncio.create_task(world.rm.submission.kill(am.application_id, "alice"))
    await asyncio.sleep(0)
    await world.run(world.rm.scheduler.tick())
    await kill
    assert not list(world.rm.state.live_containers())


async def test_loop_ticks_when_woken_and_survives_a_store_that_is_away(world: World) -> None:
    rm = world.rm
    inputs, misfits = PlacementInputs(rm.state), Misfits(rm.state, world.clock)
    scheduler = Scheduler(rm.engine, LIMITS, world.clock, inputs, misfits, rm.quotas, asyncio.Event(), rm.node_managers)
    await world.register_node()
    await world.submit()
    loop = asyncio.create_task(scheduler.run())
    await asyncio.sleep(0)
    assert not list(world.rm.state.live_containers())  # nobody woke it

    scheduler.wake()
    async with asyncio.timeout(60):
        while not list(world.rm.state.live_containers()):  # noqa: ASYNC110 — the writer is another task
            await asyncio.sleep(0)
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop


async def test_loop_outlives_a_bug_in_a_decision(world: World) -> None:
    """Heartbeats and all that runs would end with it.  No configuration can say such a weight."""
    rm = world.rm
    inputs, misfits = PlacementInputs(rm.state), Misfits(rm.state, world.clock)
    scheduler = Scheduler(rm.engine, LIMITS, world.clock, inputs, misfits, rm.quotas, asyncio.Event(), rm.node_managers)
    await world.register_node()
    await world.submit()
    rm.state.publish([replace(rm.state.queues["root.default"], user_weights=(("alice", nan),))])
    loop = asyncio.create_task(scheduler.run())
    with capture_logs() as logs:
        scheduler.wake()
        await asyncio.sleep(0.05)
    assert not loop.done()
    assert [line["event"] for line in logs if line["log_level"] == "error"] == [
        "scheduling cycle failed unexpectedly, will retry"
    ]
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop


async def test_tick_whose_commit_failed_raises_and_leaves_nothing_in_flight(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    world.commit_errors.append(Unavailable("away"))
    with suppress(Unavailable):
        await world.run(world.rm.scheduler.tick())
    assert world.live_tasks() == []
    assert world.rm.state.masters.runtimes[am.attempt_id].wishes.in_flight == {}
    await world.run(world.rm.scheduler.tick())
    assert [container.id.sequence for container in world.live_tasks()] == [3], "a number is not given again"
