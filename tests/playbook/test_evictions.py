"""An administrator leaves a node less than its agent reports: for how long that counts, whoever leads."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.lending import ON, lending_world, lent_node, limit_of, published, quiet, say
from tests.support.playbook import World, running
from yodel.domain.colocation.switch import OFF
from yodel.domain.lent_limit import LentLimit
from yodel.errors import AccessDenied, Refused
from yodel.translator.publishing import LentAmounts

LEFT = LentAmounts(cpu_milli=3_000, memory_mib=3_072)
LIMIT = LentLimit(cpu_milli=3_000, memory_mib=3_072)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        await say(made, 9)
        yield made


async def evict(world: World) -> None:
    await world.run(world.rm.taking_back.evict("admin", NODE, LEFT, is_dry_run=False))
    await quiet(world)


async def go_on(world: World, seconds: int) -> None:
    for _ in range(seconds):
        await say(world, 9)


async def test_an_order_outlives_the_resource_manager(world: World) -> None:
    am = await world.running_am(queue="batch")
    tasks = await am.obtain(5)
    await evict(world)
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node(containers=[running(one) for one in (*tasks, am.container.id)])
    world.relist()
    await go_on(world, 35)
    live = [one for one in tasks if world.container(one).is_live]
    assert (limit_of(world, NODE.host), len(live)) == (LIMIT, 2), "the others went after their notice"
    await go_on(world, 65)
    assert (limit_of(world, NODE.host), published(world)) == (None, (9, 9)), "it fits, and a minute is over"


async def test_the_minute_begins_when_what_is_used_fits(world: World) -> None:
    await evict(world)
    assert published(world) == (3, 3)
    await go_on(world, 55)
    assert limit_of(world, NODE.host) == LIMIT
    await go_on(world, 10)
    assert (limit_of(world, NODE.host), published(world)) == (None, (9, 9))


async def test_a_silent_agent_ends_no_order(world: World) -> None:
    await evict(world)
    await world.pass_time(181)
    for _ in range(70):
        await world.pass_time(1)
    assert limit_of(world, NODE.host) == LIMIT


async def test_an_order_is_withdrawn_by_administrators(world: World) -> None:
    await evict(world)
    with pytest.raises(AccessDenied):
        await world.run(world.rm.taking_back.withdraw("alice", NODE))
    await world.run(world.rm.taking_back.withdraw("admin", NODE))
    await quiet(world)
    assert (limit_of(world, NODE.host), published(world)) == (None, (9, 9))
    with pytest.raises(Refused, match="no eviction in progress"):
        await world.run(world.rm.taking_back.withdraw("admin", NODE))


async def test_off_ends_an_order(world: World) -> None:
    await evict(world)
    world.rm.use_colocation(OFF)
    await quiet(world)
    await quiet(world)
    assert limit_of(world, NODE.host) is None
    world.rm.use_colocation(ON)
    await say(world, 9)
    assert published(world) == (9, 9)


async def test_a_node_that_kubernetes_does_not_know_keeps_no_order(world: World) -> None:
    await evict(world)
    assert lent_node(world, NODE.host).lent == LEFT
    world.rm.facts.nodes_listed([])
    await quiet(world)
    await quiet(world)
    assert limit_of(world, NODE.host) is None
