from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.playbook import World, ask
from tests.support.rm_options import Options
from yodel.services.keys.masters import MasterKeys, RollingSettings

ROLLING = RollingSettings(nm_interval_s=1000, container_interval_s=100_000, activation_delay_s=90)


def drawn() -> Callable[[int], bytes]:
    numbers = itertools.count(1)
    return lambda count: bytes([next(numbers)]) * count


def rolling(world: World) -> MasterKeys:
    rm = world.rm
    return MasterKeys(rm.engine, rm.tokens, world.clock, drawn(), ROLLING)


async def two_rounds(world: World, keys: MasterKeys) -> None:
    for seconds in (1000, 90):
        world.clock.advance(seconds)
        await world.run(keys.look())


async def test_new_key_is_told_before_it_signs(world: World) -> None:
    keys, tokens = rolling(world), world.rm.tokens
    old = tokens.current("nm")
    world.clock.advance(1000)
    await keys.look()
    new = keys.key_for("nm", old.key_id)
    assert new is not None
    assert (tokens.current("nm"), new == old) == (old, False)
    assert keys.key_for("nm", new.key_id) is None
    assert keys.key_for("container", tokens.current("container").key_id) is None

    world.clock.advance(89)
    await keys.look()
    assert tokens.current("nm") == old
    world.clock.advance(1)
    await keys.look()
    assert tokens.current("nm") == new


async def test_agent_that_missed_the_key_in_use_gets_it_before_the_next(world: World) -> None:
    keys = rolling(world)
    current = world.rm.tokens.current("nm")
    assert keys.key_for("nm", 12345) == keys.key_for("nm", None) == current
    world.clock.advance(1000)
    await keys.look()
    assert keys.key_for("nm", 12345) == current


async def test_application_masters_get_new_tokens_for_nodes_they_know(world: World) -> None:
    am = await world.running_am()
    await am.obtain(1)
    await two_rounds(world, rolling(world))
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    ((node_id, _),) = (await am.beat()).nm_tokens
    assert node_id == NODE


@pytest.mark.parametrize("is_in_use", [False, True])
async def test_restart_goes_on_with_the_keys_there_are(is_in_use: bool) -> None:
    async with World(Options(rolling=ROLLING)) as world:
        keys = rolling(world)
        old = world.rm.tokens.current("nm")
        world.clock.advance(1000)
        await keys.look()
        new = keys.key_for("nm", old.key_id)
        if is_in_use:
            world.clock.advance(90)
            await keys.look()
        await world.restart()
        assert world.rm.tokens.current("nm") == (new if is_in_use else old)
        assert world.rm.master_keys.key_for("nm", old.key_id) == new


@pytest.mark.parametrize("step", range(4))
async def test_crash_between_any_two_steps_leaves_one_key_that_signs_and_at_most_one_that_will(step: int) -> None:
    async with World(Options(rolling=ROLLING)) as world:
        keys = rolling(world)
        world.crash_at_step = len(world.steps) + step
        with pytest.raises(Crash):
            await two_rounds(world, keys)
        world.crash_at_step = None
        kept = [purpose for purpose, _ in world.disk.master_keys if purpose.startswith("nm")]
        assert kept in (["nm"], ["nm", "nm.next"])
        await world.restart()
        current = world.rm.tokens.current("nm")
        pending = world.rm.master_keys.key_for("nm", current.key_id)
        assert (pending is None) == (kept == ["nm"])
