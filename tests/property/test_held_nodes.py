"""The laws of held nodes and claims, over two sizes, tasks that end and start meanwhile, and both ways of placing."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.playbook import World, ask
from tests.support.two_sizes import DEFAULTS, GIB, TwoSizes, options
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.ids import NodeId
from yodel.domain.preemption.rules import PreemptionRules

STEPS_S = 3
"""A round, a pod that is placed, a heartbeat that takes it: a second each."""


@pytest.mark.parametrize("is_binding", [False, True])
@given(
    seed=st.integers(0, 10**6),
    nodes=st.integers(1, 3),
    size=st.integers(2, 7),
    life_s=st.integers(2, 60),
    gives_back=st.booleans(),
)
@settings(max_examples=15)
async def test_wish_within_the_guarantee_is_granted_in_time_and_no_more_is_ended_than_it_needs(
    is_binding: bool, seed: int, nodes: int, size: int, life_s: int, gives_back: bool
) -> None:
    rules = DEFAULTS if gives_back else PreemptionRules()
    bound_s = STEPS_S + (min(life_s, rules.max_wait_before_kill_s) if gives_back else life_s)
    async with World(options(rules, is_binding=is_binding)) as world:
        ids = [NodeId(f"node-{number}", 8041) for number in range(nodes)]
        cluster = TwoSizes(world, life_s=life_s, nodes=ids, lives=Random(seed))
        await cluster.begin()
        await cluster.large.beat(ask(1, capability=GIB * size))
        asked_s = cluster.now_s
        while not cluster.granted:
            assert cluster.now_s - asked_s <= bound_s, "it is not granted in time"
            await cluster.second()
            for hold in world.rm.state.holds.all:
                now_s = world.clock.monotonic_s()
                assert now_s - max(hold.freed_s, hold.planned_s) <= HoldRules().longest_s + 1
        assert cluster.killed <= size + 1
