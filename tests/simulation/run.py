"""Storm after storm until something is found: ``make simulate``, or ``python -m tests.simulation.run --seconds 3600``.

A storm of a kind is made by its seed alone.  A seed that breaks a law is kept, see ``tests/support/seeds.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import structlog

from tests.simulation import laws
from tests.simulation.actions import (
    BindingStorm,
    BusyStorm,
    ColocationStorm,
    LendingStorm,
    MixedStorm,
    ShrinkingStorm,
    Storm,
    WindowStorm,
    come_to_rest,
    rage,
)
from tests.simulation.handover import PairStorm
from tests.simulation.pair import RATES, PairCluster
from tests.simulation.world import (
    BUSY_OPTIONS,
    JOBS,
    LENDING_OPTIONS,
    MIXED_OPTIONS,
    NODES,
    OPTIONS,
    WINDOW_OPTIONS,
    BoundCluster,
    ColocationCluster,
    LendingCluster,
    MixedCluster,
    WindowCluster,
)
from tests.support import seeds
from tests.support.actors import Cluster, Job
from tests.support.rm_options import SMALL

SIZES_SETTLE_ROUNDS = 6
PAIR_JOBS = 3
SHRINKS = 10
SKEWS_MS = (0, 0, -900, 900, -90_000, 90_000)
"""The skews of a process's wall clock."""
ERRORS_ONLY = 50
SPOKEN_EVERY_S = 10.0


class BrokenLaw(Exception):
    """A storm found something."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        super().__init__(f"see it again: python -m tests.simulation.run --kind {kind} --seed {seed}")


async def outlasted(cluster: Cluster, storm: Storm, look: Callable[[int], None] = lambda _: None) -> int:
    """Live through a storm until all is at rest.  Returns the number of actions."""
    await rage(storm)
    storm.calm()
    await come_to_rest(cluster, storm, look)
    return storm.taken


async def storm(seed: int) -> int:
    """Everybody is as stubborn as the original.  Returns the number of actions."""
    async with Cluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, OPTIONS) as cluster:
        storm = Storm(cluster, seed)
        return await outlasted(cluster, storm)


async def binding(seed: int) -> int:
    """The ResourceManager chooses the nodes."""
    options = replace(OPTIONS, is_binding=True)
    async with BoundCluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, options) as cluster:
        storm = BindingStorm(cluster, seed)
        taken = await outlasted(cluster, storm)
        assert cluster.refused, "a storm without refusals shows nothing"
        return taken


async def lending(seed: int) -> int:
    """One of two queues draws on what nodes lend, which comes and goes; room is held for large containers."""
    jobs = [Job(1 + n % 4, SMALL * 2 ** (n % 3), queue="batch" if n % 4 else "default") for n in range(JOBS)]
    async with LendingCluster(jobs, NODES, LENDING_OPTIONS) as cluster:
        storm = LendingStorm(cluster, seed)
        return await outlasted(cluster, storm)


async def mixed(seed: int) -> int:
    """A NodeManager and nodes of pods share a pool."""
    async with MixedCluster([Job(tasks=n % 4) for n in range(JOBS)], NODES, MIXED_OPTIONS) as cluster:
        storm = MixedStorm(cluster, seed)
        taken = await outlasted(cluster, storm)
        assert all(cluster.ran[kind] for kind in (False, True)), "a storm without both kinds shows nothing"
        return taken


async def colocation(seed: int) -> int:
    """Run a storm in which agents measure what one of two queues draws on, and the ResourceManager publishes it."""
    jobs = [Job(1 + n % 4, SMALL, queue="batch" if n % 4 else "default") for n in range(JOBS)]
    async with ColocationCluster(jobs, NODES, LENDING_OPTIONS) as cluster:
        storm = ColocationStorm(cluster, seed)
        taken = await outlasted(cluster, storm, lambda _: laws.check_published(cluster))
        assert cluster.statuses.patches, "a storm without a patch shows nothing"
        return taken


async def shrinking(seed: int) -> int:
    """Loans shrink below what is held there: in a storm, and ten times with nothing else amiss."""
    jobs = [Job(4 + n, SMALL, queue="batch") for n in range(JOBS)]
    async with ColocationCluster(jobs, NODES, LENDING_OPTIONS) as cluster:
        storm = ShrinkingStorm(cluster, seed)
        await rage(storm)
        storm.calm()
        cluster.relist()
        times = [one for _ in range(SHRINKS) if (one := await storm.shrink()) is not None]
        assert len(times) >= SHRINKS // 2, "a storm in which little shrinks shows nothing"
        assert cluster.noticed, "a storm without a notice shows nothing"
        storm.let_end()
        await come_to_rest(cluster, storm, lambda _: laws.check_published(cluster))
        return storm.taken


async def windows(seed: int) -> int:
    """One of two queues may hold less in every other minute."""
    jobs = [Job(2 + n % 3, queue="night" if n % 3 else "default") for n in range(JOBS)]
    async with WindowCluster(jobs, NODES, WINDOW_OPTIONS) as cluster:
        storm = WindowStorm(cluster, seed)
        await rage(storm)
        storm.calm()
        calm_s = cluster.clock.monotonic_s()

        def look(_: int) -> None:
            laws.check_window_is_kept(cluster, cluster.clock.monotonic_s() - calm_s)

        await come_to_rest(cluster, storm, look)
        return storm.taken


async def busy(seed: int) -> int:
    """People and ApplicationMasters change their minds."""
    jobs = [Job(tasks=1 + n % 4, keeps_containers=n % 2 == 1) for n in range(JOBS)]
    async with Cluster(jobs, NODES, BUSY_OPTIONS) as cluster:
        storm = BusyStorm(cluster, seed)
        await rage(storm)
        await storm.calm_down()

        def sizes(number: int) -> None:
            if number > SIZES_SETTLE_ROUNDS:
                laws.check_sizes(cluster)

        await come_to_rest(cluster, storm, sizes)
        return storm.taken


async def pair(seed: int) -> int:
    """Two ResourceManagers, and one store."""
    jobs = [Job(tasks=1 + n % 3, keeps_containers=n % 2 == 1) for n in range(PAIR_JOBS)]
    draws = random.Random(seed)

    def skew() -> tuple[float, int]:
        return draws.uniform(*RATES), draws.choice(SKEWS_MS)

    async with PairCluster(jobs, NODES, BUSY_OPTIONS, skew) as cluster:
        storm = PairStorm(cluster, seed)
        await rage(storm)
        await storm.led()
        await storm.calm_down()
        await storm.led()
        await come_to_rest(cluster, storm)
        return storm.taken


KINDS: dict[str, Callable[[int], Awaitable[int]]] = {
    "storm": storm,
    "binding": binding,
    "colocation": colocation,
    "busy": busy,
    "lending": lending,
    "mixed": mixed,
    "pair": pair,
    "shrinking": shrinking,
    "windows": windows,
}


def storms(first: int, cpu_s: float = math.inf) -> Iterator[tuple[str, int, int]]:
    """Storms of all kinds from a seed on, until so much processor time is used: (kind, seed, actions) of each.

    Raises:
        BrokenLaw: from what the storm raised.
    """
    began_s = time.process_time()
    for seed, kind in ((seed, kind) for seed in itertools.count(first) for kind in KINDS):
        if time.process_time() - began_s >= cpu_s:
            return
        yield kind, seed, one(kind, seed)


def one(kind: str, seed: int) -> int:
    """A single storm; see ``storms``."""
    quiet = structlog.make_filtering_bound_logger(ERRORS_ONLY)
    before = structlog.get_config()
    structlog.configure(wrapper_class=quiet)
    try:
        return asyncio.run(KINDS[kind](seed))  # type: ignore[arg-type]
    except Exception as error:
        raise BrokenLaw(kind, seed) from error
    finally:
        structlog.configure(**before)


def main() -> int:
    parser = argparse.ArgumentParser(description="Storms until one breaks a law, or until the time is up.")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of processor time; default: until ended")
    parser.add_argument("--seed", type=int, default=None, help="the first one; default: by the clock")
    parser.add_argument("--kind", choices=[*KINDS], default=None, help="with --seed: this one storm alone")
    told = parser.parse_args()
    if told.kind is not None and told.seed is not None:
        print(f"{told.kind} {told.seed}: {one(told.kind, told.seed)} actions, every law held")
        return 0
    first = int(time.time()) if told.seed is None else told.seed
    actions, count, spoke_s = 0, 0, time.monotonic()
    try:
        for _, seed, taken in storms(first, told.seconds):
            actions, count = actions + taken, count + 1
            if time.monotonic() - spoke_s >= SPOKEN_EVERY_S:
                spoke_s = time.monotonic()
                print(f"{count} storms, {actions} actions, at seed {seed}", flush=True)
    except KeyboardInterrupt:
        pass
    except BrokenLaw as broken:
        seeds.keep(broken.kind, broken.seed, f"{broken.__cause__!r}".splitlines()[0][:200])
        print(f"after {count} storms: the seed is kept in {seeds.KEPT}", file=sys.stderr)
        raise
    print(f"{count} storms, {actions} actions, every law held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
