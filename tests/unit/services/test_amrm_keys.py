from __future__ import annotations

import pytest

from tests.support.playbook import World
from yodel.errors import Unavailable
from yodel.services.keys.amrm import AmrmKeys

DAY_S = 86_400.0


def keys(world: World) -> AmrmKeys:
    return AmrmKeys(world.rm.engine, world.rm.tokens, world.clock, lambda count: b"n" * count)


async def test_key_is_changed_once_a_day_and_the_one_before_stays_good(world: World) -> None:
    am = await world.running_am()
    first = world.rm.tokens.amrm_token(am.attempt_id)
    rolling = keys(world)
    await world.run(rolling.look())
    assert world.rm.tokens.amrm_token(am.attempt_id) == first

    world.clock.advance(DAY_S)
    await world.run(rolling.look())
    await world.run(rolling.look())
    second = world.rm.tokens.amrm_token(am.attempt_id)
    assert second != first
    for token in (first, second):
        assert world.rm.tokens.amrm_password(token.identifier) == (am.attempt_id, token.password)

    world.clock.advance(DAY_S)
    await world.run(rolling.look())
    assert world.rm.tokens.amrm_password(first.identifier) is None
    assert world.rm.tokens.amrm_password(second.identifier) is not None


async def test_both_keys_are_on_disk_and_no_third(world: World) -> None:
    am = await world.running_am()
    rolling = keys(world)
    for _ in range(3):
        world.clock.advance(DAY_S)
        await world.run(rolling.look())
    before, now = world.rm.tokens.outdated_by("amrm")[0], world.rm.tokens.amrm_token(am.attempt_id)
    await world.restart()

    assert world.rm.tokens.amrm_token(am.attempt_id) == now
    assert world.rm.tokens.outdated_by("amrm") == [before]


async def test_key_that_could_not_be_stored_signs_nothing(world: World) -> None:
    am = await world.running_am()
    token = world.rm.tokens.amrm_token(am.attempt_id)
    rolling = keys(world)
    world.clock.advance(DAY_S)
    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await world.run(rolling.look())
    assert world.rm.tokens.amrm_token(am.attempt_id) == token
