"""What a round leaves asleep wakes when what was in its way is not there after all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook.test_why import A, C, P, full, options
from tests.support.playbook import World, ask
from tests.support.rm_options import SMALL
from yodel.errors import Unavailable


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
