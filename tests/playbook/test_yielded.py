"""A node is left to another program: with all that was published there, and until somebody says otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE
from tests.support.lending import CPU, MEMORY, ON, lending_world, lent_node, published, quiet, say
from tests.support.playbook import World
from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.switch import OFF
from yodel.errors import AccessDenied, Refused
from yodel.translator.names import PUBLISHED


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        await say(made, 4)
        for amount in (0, 0, 0, 0, 0, 1000):
            made.statuses.write(NODE.host, {CPU: amount}, "kubectl-edit")
            await quiet(made)
        assert state(made) is CapacityState.YIELDED
        yield made


def state(world: World) -> CapacityState:
    found = world.rm.capacities.of(NODE.host)
    assert found is not None
    return found.state


async def publish_again(world: World, user: str = "admin") -> None:
    await world.run(world.rm.taking_back.publish_again(user, NODE))
    await quiet(world)


async def test_it_is_left_whole_also_to_later_lives(world: World) -> None:
    assert PUBLISHED not in world.statuses.nodes[NODE.host].annotations
    before = len(world.statuses.patches)
    await say(world, 6)
    assert (published(world), world.statuses.patches[before:]) == ((1, 4), [])
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node()
    await say(world, 6)
    assert (published(world), state(world)) == ((1, 4), CapacityState.OTHER)
    assert world.statuses.patches[before:] == [], "half of a node is nobody's"


@pytest.mark.parametrize("lives", [1, 2])
async def test_an_administrator_takes_it_back(world: World, lives: int) -> None:
    if lives == 2:
        await world.restart()
        world.rm.use_colocation(ON)
        await world.register_node()
        await say(world, 4)
    await publish_again(world)
    assert (published(world), state(world)) == ((4, 4), CapacityState.LENDING)
    assert world.statuses.nodes[NODE.host].annotations[PUBLISHED] == f"{CPU},{MEMORY}"
    await say(world, 6)
    assert published(world) == (6, 6)


async def test_who_goes_on_writing_gets_it_again(world: World) -> None:
    await publish_again(world)
    for amount in (0, 0, 0, 0, 0, 1000):
        world.statuses.write(NODE.host, {CPU: amount}, "kubectl-edit")
        await quiet(world)
    assert (state(world), lent_node(world, NODE.host).other) == (CapacityState.YIELDED, "kubectl-edit")


async def test_only_administrators_and_only_where_it_is_left(world: World) -> None:
    with pytest.raises(AccessDenied):
        await publish_again(world, "alice")
    await publish_again(world)
    with pytest.raises(Refused, match="not left to another program"):
        await publish_again(world)
    world.rm.use_colocation(OFF)
    with pytest.raises(Refused, match="Colocation is off"):
        await publish_again(world)
