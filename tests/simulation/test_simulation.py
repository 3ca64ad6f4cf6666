"""Many ApplicationMasters on fake Kubernetes and fake time, with faults between any two steps, from a seed.

``world`` has who takes part, ``actions`` what happens to them, ``laws`` what must hold.  A failing seed is a complete
report: put it into ``KEPT_SEEDS`` or ``KEPT_BUSY_SEEDS`` with the bug's name and mend the bug.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation import laws
from tests.simulation.actions import BindingStorm, BusyStorm, Storm, come_to_rest, rage
from tests.simulation.world import BUSY_OPTIONS, JOBS, NODES, OPTIONS, BoundCluster
from tests.support.actors import Cluster, Job

SEEDS = range(12)
BUSY_SEEDS = range(8)
BINDING_SEEDS = range(8)
KEPT_SEEDS = {1133: "a container that could not be given back at a restart was granted on top of its replacement"}
KEPT_BUSY_SEEDS: dict[int, str] = {}
SIZES_SETTLE_ROUNDS = 6


@pytest.mark.parametrize("seed", [*SEEDS, *KEPT_SEEDS])
async def test_nothing_is_lost_or_done_twice_in_a_storm(seed: int) -> None:
    async with Cluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, OPTIONS) as cluster:
        storm = Storm(cluster, seed)
        await rage(storm)
        storm.calm()
        await come_to_rest(cluster, storm)


@pytest.mark.parametrize("seed", BINDING_SEEDS)
async def test_nodes_are_chosen_in_a_storm(seed: int) -> None:
    options = replace(OPTIONS, is_binding=True)
    async with BoundCluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, options) as cluster:
        storm = BindingStorm(cluster, seed)
        await rage(storm)
        assert cluster.refused, "a storm without refusals shows nothing"
        storm.calm()
        await come_to_rest(cluster, storm)


@pytest.mark.parametrize("seed", [*BUSY_SEEDS, *KEPT_BUSY_SEEDS])
async def test_minds_may_change_in_a_storm(seed: int) -> None:
    jobs = [Job(tasks=1 + n % 4, keeps_containers=n % 2 == 1) for n in range(JOBS)]
    async with Cluster(jobs, NODES, BUSY_OPTIONS) as cluster:
        storm = BusyStorm(cluster, seed)
        await rage(storm)
        await storm.calm_down()

        def sizes(number: int) -> None:
            if number > SIZES_SETTLE_ROUNDS:
                laws.check_sizes(cluster)

        await come_to_rest(cluster, storm, sizes)
