"""Room is held for who waits for it long: what small containers leave is not given to other small ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook.test_why import ROOT, B, full, names, only, options, why
from tests.support.playbook import Am, World, ask, complete
from tests.support.rm_options import LIMITS, SMALL, Options
from yodel.domain.ids import ContainerId
from yodel.domain.queues.queue import Enforcement, Queue
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerState
from yodel.domain.waiting_words import What

A = Queue(path="root.a", capacity_percent=50.0, user_limit_factor=-1.0)
HOLD_S = 30.0
LARGE = SMALL * 4


def with_holds(after_s: float = HOLD_S, **changes: object) -> Options:
    return replace(options(A, B), allocation=replace(LIMITS, hold_after_s=after_s), **changes)  # type: ignore[arg-type]


def tasks(world: World, am: Am) -> list[ContainerId]:
    """Those that run, in the order they began."""
    live = [c for c in world.live_tasks() if c.id.application_id == am.application_id]
    return [c.id for c in live if c.state is not ContainerState.PLANNED]


async def end_one(world: World, am: Am) -> None:
    """A task ends, and who was given its room has it."""
    await world.beat(complete(tasks(world, am)[0]))
    await am.beat()
    await world.settle()
    await world.bind_and_settle()


def large_ones(world: World) -> int:
    return sum(container.capability == LARGE for container in world.live_tasks())


async def waiting_large(world: World) -> tuple[Am, Am]:
    """A full cluster: one application wants more small ones, and another that is served first a large one."""
    other = await world.running_am(queue="a")
    busy = await full(world, 15, "b")
    await busy.beat(ask(50))
    await other.beat(ask(1, capability=LARGE))
    await world.settle()
    return other, busy


async def test_small_ones_fill_what_is_free_until_the_bound_and_not_after_it() -> None:
    async with World(with_holds()) as world:
        _, busy = await waiting_large(world)
        for _ in range(6):
            await end_one(world, busy)
            assert len(tasks(world, busy)) == 14
        await world.pass_time(HOLD_S)
        for left in (13, 12, 11):
            await end_one(world, busy)
            assert (len(tasks(world, busy)), large_ones(world)) == (left, 0)
        await end_one(world, busy)
        assert (len(tasks(world, busy)), large_ones(world)) == (10, 1)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 10


async def test_both_are_told_for_whom_room_is_held() -> None:
    async with World(with_holds()) as world:
        other, busy = await waiting_large(world)
        assert names(only(why(world, other.application_id))) == [What.POOL_FULL]
        await world.pass_time(HOLD_S)
        assert names(only(why(world, other.application_id))) == [What.POOL_FULL, What.HELD]
        assert names(only(why(world, busy.application_id))) == [What.POOL_FULL]
        await end_one(world, busy)
        own, kept = only(why(world, other.application_id)).chain[1], only(why(world, busy.application_id)).chain[0]
        assert own.text == "Room is held for it: <memory:1024, vCores:1> of <memory:4096, vCores:4> is free."
        assert kept.what is What.HELD
        assert kept.text == (
            f"Room is held for {other.application_id} (priority 1, <memory:4096, vCores:4>) of queue root.a, which has "
            "waited long and is served before."
        )


async def test_what_is_held_is_given_back_when_nobody_wants_it_any_more() -> None:
    async with World(with_holds()) as world:
        other, busy = await waiting_large(world)
        await world.pass_time(HOLD_S)
        await end_one(world, busy)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 12
        await other.beat(ask(0, capability=LARGE))
        await world.settle()
        await world.bind_and_settle()
        assert len(tasks(world, busy)) == 14


async def test_master_is_held_room_for_too() -> None:
    async with World(with_holds()) as world:
        busy = await full(world, 16, "b")
        await busy.beat(ask(50))
        waiting = await world.submit(queue="a", am_capability=Resource(2048, 1), am_asked_capability=Resource(2048, 1))
        await world.settle()
        await world.pass_time(HOLD_S)
        assert names(only(why(world, waiting))) == [What.POOL_FULL, What.HELD]
        await end_one(world, busy)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 13
        assert names(only(why(world, busy.application_id))) == [What.POOL_FULL]
        assert world.application(waiting).current_attempt_id in world.rm.state.masters.runtimes


async def test_each_container_that_starts_begins_the_patience_anew() -> None:
    async with World(with_holds()) as world:
        other, busy = await waiting_large(world)
        await other.beat(ask(2, capability=LARGE))
        await world.pass_time(HOLD_S)
        for _ in range(4):
            await end_one(world, busy)
        assert (large_ones(world), len(tasks(world, busy))) == (1, 10)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 10
        await world.pass_time(HOLD_S)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 9


@pytest.mark.parametrize("after_s", [float("inf"), 10_000.0])
async def test_before_the_bound_nothing_is_held(after_s: float) -> None:
    async with World(with_holds(after_s)) as world:
        other, busy = await waiting_large(world)
        await world.pass_time(HOLD_S)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 14
        assert names(only(why(world, other.application_id))) == [What.POOL_FULL]


async def test_patience_goes_on_when_something_else_is_asked_for_too() -> None:
    async with World(with_holds()) as world:
        other, busy = await waiting_large(world)
        await world.pass_time(HOLD_S - 1)
        await other.beat(ask(1, priority=2, capability=SMALL * 2))
        await world.pass_time(1)
        await end_one(world, busy)
        assert len(tasks(world, busy)) == 13


async def test_bound_that_passes_while_limits_are_only_observed_wakes_nobody() -> None:
    async with World(with_holds()) as world:
        await waiting_large(world)

        def observe(tx: object) -> None:
            tx.queues.rows.append(replace(ROOT, enforcement=Enforcement.OBSERVE))  # type: ignore[attr-defined]

        await world.run(world.rm.engine.do(observe))
        await world.settle()
        await world.pass_time(HOLD_S + 1)
        await world.run(world.rm.scheduler.tick())
        assert world.rm.scheduler.again_in_s > 0
