"""Attack after attack, with the neighbours beside each, and a table of what held."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.cluster import local_cluster
from tests.attacks import areas
from tests.attacks.attack import ATTACKS, Attack, Target, Works
from tests.attacks.neighbours import summary

LONG_TURNS = re.compile(rb"^yodel_loop_turns_over_20_ms_total ([0-9.e+]+)$", re.MULTILINE)
LIMIT_S = 2.0
"""The longest that a neighbour waits.  Far from what is good: attackers and cluster share the machine."""
ATTACK_S = 120.0
QUIET_S = 2.0


class Neighbours:
    """Their process."""

    def __init__(self, target: Target) -> None:
        command = [sys.executable, "-m", "tests.attacks.neighbours", target.to_json()]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        if self._read() != "up\n":
            raise RuntimeError("the neighbours did not start")

    def window(self) -> dict[str, list[float | str]]:
        """Return what the neighbours measured since this was last asked."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: dict[str, list[float | str]] = json.loads(self._read())
        return found

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 when every attack held and no neighbour suffered."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=areas.__doc__)
    parser.add_argument("names", nargs="*", help=f"areas or attacks; all without any: {', '.join(ATTACKS)}")
    parser.add_argument("--ready", type=Path, metavar="FILE", help="a cluster that runs: its ready.json")
    parser.add_argument("--rig", action="store_true", help="the real Kubernetes of make cluster")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="the longest that a neighbour may wait")
    given = parser.parse_args(arguments)
    wanted = [
        one for one in ATTACKS.values() if not given.names or {one.name, one.name.partition("/")[0]} & {*given.names}
    ]
    if not wanted:
        parser.error(f"expected some of {', '.join(ATTACKS)}")
    with _target(given.ready, given.rig) as target, contextlib.closing(_Closing(target)) as beside:
        failed = [one.name for one in wanted if not _tried(one, target, beside.neighbours, given.limit_s)]
    print(
        f"\n{len(wanted)} attacks: {len(wanted) - len(failed)} held" + (f"; not: {', '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


class _Closing:
    def __init__(self, target: Target) -> None:
        self.neighbours = Neighbours(target)

    def close(self) -> None:
        self.neighbours.end()


@contextlib.contextmanager
def _target(ready: Path | None, is_rig: bool) -> Iterator[Target]:
    if is_rig:
        from tests.attacks.on_rig import rig_target

        with rig_target() as target:
            yield target
    elif ready is not None:
        yield Target.of_ready(json.loads(ready.read_text()))
    else:
        with local_cluster() as cluster:
            yield replace(Target.of_ready(cluster.ready), is_here=True)


def _tried(one: Attack, target: Target, neighbours: Neighbours, limit_s: float) -> bool:
    """Return whether the cluster held and nobody suffered."""
    neighbours.window()
    before, turns_before = target.resident_mib(), asyncio.run(_long_turns(target))
    verdict, text = asyncio.run(_carried_out(one, target))
    after, turns = target.resident_mib(), asyncio.run(_long_turns(target))
    times, suffered = summary(neighbours.window(), limit_s)
    memory = f"; RM {before:.0f} to {after:.0f} MiB" if before is not None and after is not None else ""
    memory += f", {turns - turns_before:.0f} turns of its loop over 20 ms"
    print(f"{verdict:<6} {one.name}: {text}{memory}\n       neighbours, ms middle/longest: {times}", flush=True)
    for line in suffered:
        print(f"       SUFFERED {line}", flush=True)
    return verdict == "held" and not suffered


async def _long_turns(target: Target) -> float:
    """Return how many turns of the ResourceManager's loop took more than 20 ms of processor time since it started."""
    _, said = await target.http("GET", "/prom")
    found = LONG_TURNS.search(said)
    return float(found[1]) if found else 0.0


async def _carried_out(one: Attack, target: Target) -> tuple[str, str]:
    try:
        async with asyncio.timeout(ATTACK_S):
            found = "held", await one.act(target)
    except Works as error:
        found = "works", str(error)
    except TimeoutError:
        found = "works", f"nothing ended it within {ATTACK_S:.0f} s"
    await asyncio.sleep(QUIET_S)  # the neighbours' window lasts a little longer than the attack
    return found
