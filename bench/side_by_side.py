"""Measures this ResourceManager and the real one in turns, within one run, and prints one table.

    python -m bench.side_by_side                                  # at most eighteen minutes
    python -m bench.side_by_side --only submissions               # one part
    python -m bench.side_by_side --pairs 9 --seconds 5 --times 4  # all of them, for longer
    python -m bench.side_by_side --only beats --beside DIRECTORY  # another checkout of Yodel instead of the real one

Each part starts a fresh pair and ends after its limit at the latest.  The real one keeps its state in leveldb, has all
compilers and is warm before the first figure.  One measurement of each makes a pair, which of them begins changes from
pair to pair, and a ratio is that of a pair: it stands when the machine's speed changes between pairs.  Figures are
medians, of ratios with the least and the greatest.  Processor time is that of the ResourceManager's process.  *One
core* means that both ResourceManagers are held to the first core and the client to the last.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench import heartbeats, submissions
from bench.cluster import KEPT_MORE, Cluster, hadoop_cluster, local_cluster
from bench.heartbeats import Beating, Figures
from bench.latency import grants_s
from bench.machine import print_machine

CONNECTIONS = (1, 8, 32)
MANY = (128, 500)
"""Told with one pair."""
ASKING = 8
WARM_UP_S = 15.0
GRANTS = 25
Measure = Callable[[Cluster], Awaitable[Figures]]


@dataclass(slots=True)
class Sides:
    """The two that are compared; ``ours`` is the second column."""

    theirs: Cluster
    ours: Cluster
    masters: dict[str, list[Beating]] = field(default_factory=dict)

    @property
    def both(self) -> tuple[Cluster, Cluster]:
        return self.theirs, self.ours

    async def row(self, name: str, pairs: int, measure: Measure) -> None:
        """Print what ``pairs`` pairs give."""
        found: dict[str, list[Figures]] = {side.name: [] for side in self.both}
        for number in range(pairs):
            for side in self.both if number % 2 else reversed(self.both):
                found[side.name].append(await measure(side))
        print_row(name, found[self.theirs.name], found[self.ours.name])

    async def warm(self, count: int, seconds: float) -> None:
        """Register so many ApplicationMasters with each, and let some of them beat until its code is compiled."""
        for side in self.both:
            self.masters[side.name] = await heartbeats.masters(side, count)
            await heartbeats.measure(side, self.masters[side.name][:32], seconds)

    @contextlib.contextmanager
    def on_one_core(self) -> Iterator[None]:
        cores = sorted(os.sched_getaffinity(0))
        me = Cluster("client", {"pids": {"rm": os.getpid()}})
        for side, some in ((self.theirs, cores[:1]), (self.ours, cores[:1]), (me, cores[-1:])):
            side.hold_to(some)
        try:
            yield
        finally:
            for side in (*self.both, me):
                side.hold_to(cores)


def print_row(name: str, theirs: Sequence[Figures], ours: Sequence[Figures]) -> None:
    cells = [name]
    for key, form in (("per_s", "{:,.0f}"), ("cpu_us", "{:,.1f}"), ("p99_ms", "{:.1f}")):
        before, after = [getattr(one, key) for one in theirs], [getattr(one, key) for one in ours]
        if not all(before) or not all(after):
            cells += ["–"] * 3
            continue
        ratios = sorted(b / a for a, b in zip(before, after, strict=True))
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        cells += [form.format(statistics.median(before)), form.format(statistics.median(after)), spread]
    grants = [statistics.median(one.grants_per_s for one in side) for side in (theirs, ours)]
    if any(grants):
        cells[0] += f" (granted: {grants[0]:,.0f} and {grants[1]:,.0f} /s)"
    print(f"| {' | '.join(cells)} |", flush=True)


def print_head(sides: Sides) -> None:
    theirs, ours = sides.theirs.name, sides.ours.name
    names = ["", *(f"{what} {who}" for what in ("/s", "CPU µs", "p99 ms") for who in (theirs, ours, "ratio"))]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


async def beats(sides: Sides, arguments: argparse.Namespace) -> None:
    await sides.warm(max(MANY), arguments.warm_up)
    pairs, seconds = arguments.pairs, arguments.seconds

    async def rows(form: str) -> None:
        for count in (*CONNECTIONS, *MANY):

            async def measure(side: Cluster, count: int = count) -> Figures:
                return await heartbeats.measure(side, sides.masters[side.name][:count], seconds)

            await sides.row(form.format(count), pairs if count in CONNECTIONS else 1, measure)

    await rows("empty heartbeats, connections: {}")
    with sides.on_one_core():
        await rows("… one core, {}")


async def asks(sides: Sides, arguments: argparse.Namespace) -> None:
    await sides.warm(ASKING, arguments.warm_up)
    pairs, seconds = arguments.pairs, arguments.seconds

    async def measure(side: Cluster) -> Figures:
        return await heartbeats.measure(side, sides.masters[side.name][:ASKING], seconds, is_asking=True)

    await sides.row(f"heartbeats that ask and release, {ASKING} connections", pairs, measure)
    with sides.on_one_core():
        await sides.row(f"… one core, {ASKING}", pairs, measure)


async def submit(sides: Sides, arguments: argparse.Namespace) -> None:
    pairs, seconds, kept = arguments.pairs, arguments.seconds, arguments.kept
    for side in sides.both:
        await submissions.keep(side, kept)
    name = f"stored submissions, {heartbeats.SUBMITTERS} connections, {kept:,} ended applications kept"
    await sides.row(name, pairs, lambda side: submissions.measure(side, seconds))
    with sides.on_one_core():
        await sides.row("… one core", pairs, lambda side: submissions.measure(side, seconds))


async def grants(sides: Sides, arguments: argparse.Namespace) -> None:
    """Print how long one container takes while nothing else happens; the real one grants when a node has beaten."""
    if not sides.masters:
        await sides.warm(ASKING, arguments.warm_up)
    cells = []
    for side in sides.both:
        found = sorted(await grants_s(side, GRANTS))
        cells.append(f"{statistics.median(found) * 1e3:.1f} (at most {found[-1] * 1e3:.1f})")
    print(f"| ask to grant when idle, p50 of {GRANTS}, ms: {cells[0]} and {cells[1]} |{' |' * 9}", flush=True)


async def without_pods(sides: Sides, arguments: argparse.Namespace) -> None:
    """Print what a NodeManager's containers cost on both sides: nothing is started until an ApplicationMaster does."""
    await asks(sides, arguments)
    await grants(sides, arguments)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the table: rows of both, or a program of its own; ``limit_s`` includes the start of both."""

    limit_s: float
    rows: Callable[[Sides, argparse.Namespace], Awaitable[None]] | None = None
    program: Sequence[str] = ()
    has_node_manager: bool = False
    """Ours has a NodeManager too, and no pods."""


PARTS: dict[str, Part] = {
    "beats": Part(limit_s=240, rows=beats),
    "asks": Part(limit_s=120, rows=asks),
    "submissions": Part(limit_s=180, rows=submit),
    "grants": Part(limit_s=90, rows=grants),
    "node-managers": Part(limit_s=180, rows=without_pods, has_node_manager=True),
    "rounds": Part(limit_s=60, program=("bench.rounds",)),
    "scale": Part(limit_s=120, program=("bench.scale",)),
    "queues": Part(limit_s=90, program=("bench.queue_calls", "--changes", "25")),
}


async def within(limit_s: float, sides: Sides, part: Part, arguments: argparse.Namespace) -> None:
    """Print the rows of one part.

    Raises:
        TimeoutError: The limit has passed; rows that were printed until then stand.
    """
    assert part.rows is not None
    try:
        async with asyncio.timeout(limit_s):
            await part.rows(sides, arguments)
    finally:
        for one in (one for masters in sides.masters.values() for one in masters):
            one.transport.abort()


def measure_part(part: Part, arguments: argparse.Namespace) -> None:
    """Raises TimeoutError or subprocess.TimeoutExpired when the part's limit has passed."""
    limit_s, begin_s, kept = part.limit_s * arguments.times, time.monotonic(), arguments.kept + KEPT_MORE
    if part.program:
        subprocess.run([sys.executable, "-m", *part.program], check=True, timeout=limit_s)
        return
    beside = arguments.beside

    def local(checkout: Path | None) -> contextlib.AbstractContextManager[Cluster]:
        is_on = part.has_node_manager
        return local_cluster("--nodes", "1", checkout=checkout, completed_max=kept, has_node_manager=is_on)

    with local(beside) if beside else hadoop_cluster(kept) as theirs, local(None) as ours:
        sides = Sides(theirs, ours)
        print_head(sides)
        uvloop.run(within(limit_s - (time.monotonic() - begin_s), sides, part, arguments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--times", type=float, default=1.0, help="what the limits are multiplied by")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one measurement")
    parser.add_argument("--warm-up", type=float, default=WARM_UP_S, help="seconds")
    parser.add_argument("--kept", type=int, default=10_000, help="ended applications, before submissions are measured")
    parser.add_argument("--beside", type=Path, help="a checkout with its .venv, in place of the real ResourceManager")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing that was started stays
    for name in arguments.only:
        begin_s, ended = time.monotonic(), ""
        print(f"\n{name}:", flush=True)
        try:
            measure_part(PARTS[name], arguments)
        except (TimeoutError, subprocess.TimeoutExpired):
            ended = ", ended by its limit"
        print(f"{name}: {time.monotonic() - begin_s:.0f} s{ended}; load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    print_machine()
    main()
