"""A wish that a round leaves asleep wakes when what was in its way is not there after all."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.playbook.test_why import A, C, P, full, options
from tests.support.playbook import World, ask
from tests.support.rm_options import SMALL
from yodel.domain.ids import NodeId
from yodel.errors import Unavailable
from yodel.services.scheduling import scheduler


async def test_what_a_refused_commit_would_have_taken_is_given_to_another() -> None:
    """The other has no room beside it; it sleeps until what is held of their parent changes, and nothing does."""
    async with World(options(P, A, replace(C, maximum_capacity_percent=100.0))) as world:
        large = await full(world, 7, "root.p.c")
        small = await full(world, 1, "root.p.a")
        await large.beat(ask(1, capability=SMALL * 4))
        await small.beat(ask(1))
        world.commit_errors.append(Unavailable("the database is away"))
        with pytest.raises(Unavailable):
            await world.run(world.rm.scheduler.tick())
        await small.beat(ask(0))
        await world.settle()
        assert [container.capability for container in world.live_tasks() if container.priority == 1][-1] == SMALL * 4


async def test_many_wishes_are_read_in_pieces_and_others_are_answered_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "READ_AT_ONCE", 1)
    async with World() as world:
        for _ in range(3):
            await world.submit()
        for application in list(world.rm.state.applications.values()):
            world.rm.state.change_counters.requests_changed(application.id)
        tick = asyncio.create_task(world.rm.scheduler.tick())
        seen = []
        while not tick.done():
            await asyncio.sleep(0)
            seen.append(len(world.rm.scheduler.changed_applications))
        assert seen[:3] == [2, 1, 0]
        await world.settle()
        assert len(world.rm.scheduler.kept_demands) == 3


async def test_what_is_wished_for_while_others_are_read_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "READ_AT_ONCE", 1)
    async with World() as world:
        am = await world.running_am()
        for _ in range(3):
            await world.submit()
        tick = asyncio.create_task(world.rm.scheduler.tick())
        await asyncio.sleep(0)
        await am.beat(ask(5))
        await world.run(_until(tick))
        await world.settle()
        assert len(world.live_tasks()) == 5


async def test_others_have_their_turn_while_nodes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async with World() as world:
        for number in range(3):
            await world.register_node(NodeId(f"node-{number}", 1))
        await world.settle()
        turns = []
        for at_once in (1000, 1):
            monkeypatch.setattr(scheduler, "NODES_AT_ONCE", at_once)
            world.rm.state.change_counters.node_changed()
            tick = asyncio.create_task(world.rm.scheduler.tick())
            turns.append(0)
            while not tick.done():
                await asyncio.sleep(0)
                turns[-1] += 1
        assert turns[1] - turns[0] == 3


async def _until(task: asyncio.Task[bool]) -> None:
    await task
