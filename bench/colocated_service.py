"""Judges what a service feels of batch work on its node; on a cluster that is up, alone on the machine.

    python -m bench.colocated_service [--rounds 3] [--seconds 60]

Conditions of ``tests/e2e/colocated.py``, each in every round, in an order that rotates: alone with a spinner of the
idle class (A'), beside a ``native`` pod of equal weight (B), beside Yodel's batch pod with nothing written (C), with
limits and quota (D).  Runs are compared with A' of the same round.  A run is void where the machine was busy before
it, the rate was missed, or a request took another amount of processor time than in A' (a virtual processor has several
speeds).  All is void where the service's answer changes, or repeats of A' differ by more than 15 %.  Raw latencies stay
in the folder that is printed.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from bench.machine import print_machine
from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import Figures, ServiceNode
from tests.e2e.kube_cluster import KubeCluster
from tests.rigs.kubernetes import cores, rig

BUSY = 0.20
RATE_OFF = 0.01
SPEED_OFF = 0.10
REPEATS_OFF = 0.15
P99_MOST = 1.25
"""P99 beside batch work is at most so many times that of A' in the same round."""
RESAMPLES = 200
CONDITIONS = ("A'", "B", "C", "D")
QUEUES = {"B": "root.native", "C": "root.default", "D": "root.default"}
ON = ("colocation", "on", "--preset", "koordinator", "--dialect", "koordinator", "cpu.share-percent=85", "window-s=3")


def void_run(run: Figures, alone: Figures, *, seconds: int, rate: int, busy: float) -> list[str]:
    """Return why a run proves nothing; empty: it does."""
    found = []
    if busy > BUSY:
        found.append(f"the machine was busy before it: processes waited in {busy:.0%} of the time")
    due, asked = seconds * rate, len(run.latencies)
    if abs(asked - due) > RATE_OFF * due + 3 * math.sqrt(due):  # the schedule is a Poisson process
        found.append(f"the rate was missed: {asked} requests of {due}")
    speed = run.cpu_ms_a_request / alone.cpu_ms_a_request
    if abs(speed - 1) > SPEED_OFF:
        found.append(f"a request took {speed:.2f} times the processor time that it took alone")
    return found


def void_all(alone: Sequence[Figures]) -> list[str]:
    p99 = [one.percentile(99) for one in alone]
    if max(p99) / min(p99) - 1 > REPEATS_OFF:
        return [f"A' itself differs between rounds: P99 {min(p99):.1f} to {max(p99):.1f} ms"]
    return []


def interval(latencies: Sequence[float], percent: float, seed: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of a percentile, by bootstrap."""
    draw, size = random.Random(seed), len(latencies)
    rank = min(size - 1, int(size * percent / 100))
    found = sorted(sorted(draw.choices(latencies, k=size))[rank] for _ in range(RESAMPLES))
    return found[int(0.025 * RESAMPLES)], found[int(0.975 * RESAMPLES)]


def verdict(rounds: Sequence[Mapping[str, Figures]], void: Mapping[tuple[int, str], Sequence[str]]) -> list[str]:
    """Compare what is left."""
    lines = void_all([one["A'"] for one in rounds])
    if lines:
        return [f"void: {line}" for line in lines]
    ratios: dict[str, list[float]] = {}
    for number, one in enumerate(rounds):
        for name in CONDITIONS[1:]:
            if (number, name) not in void and (number, "A'") not in void:
                ratios.setdefault(name, []).append(one[name].percentile(99) / one["A'"].percentile(99))
    for name in CONDITIONS[1:]:
        if name not in ratios:
            lines.append(f"{name}: void, no run is left")
            continue
        middle = statistics.median(ratios[name])
        judged = "" if name == "B" else " holds" if middle <= P99_MOST else " does not hold"
        limit = "" if name == "B" else f"; at most {P99_MOST}:{judged}"
        lines.append(f"{name}: P99 {middle:.2f} times that of A', {len(ratios[name])} rounds{limit}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    state = rig.read_state()
    if state is None or not rig.is_up():
        raise SystemExit("there is no cluster: make cluster")
    cluster, folder = KubeCluster(state), Path(tempfile.mkdtemp(prefix="yodel-bench-"))
    before = cluster.yodel("queue", "export")
    rounds: list[dict[str, Figures]] = []
    void: dict[tuple[int, str], list[str]] = {}
    try:
        with (
            colocated.service_on(cluster, folder) as node,
            cores.apart(rig.HOME, int(node.name.removeprefix("node")), cpus="1", others="0"),
        ):
            node.asked("warm", 5, colocated.RATE)
            answer = node.answer()
            for number in range(arguments.rounds):
                found, busy = _round(node, number, arguments.seconds)
                rounds.append(found)
                if node.answer() != answer:
                    raise SystemExit(f"void: the service answered {node.answer()!r} and not {answer!r}")
                for name, run in found.items():
                    reasons = void_run(
                        run, found["A'"], seconds=arguments.seconds, rate=colocated.RATE, busy=busy[name]
                    )
                    if reasons:
                        void[number, name] = reasons
                    low, high = interval(run.latencies, 99)
                    print(run.line(f"{number + 1} {name}"), f"P99 {low:.1f} to {high:.1f}", *reasons, flush=True)
    finally:
        cluster.yodel("queue", "import", "/dev/stdin", given=before)
    print("\n".join(verdict(rounds, void)))
    print(f"latencies are in {folder}")


def _round(node: ServiceNode, number: int, seconds: int) -> tuple[dict[str, Figures], dict[str, float]]:
    found: dict[str, Figures] = {}
    busy: dict[str, float] = {}
    turn = number % len(CONDITIONS)
    for name in (*CONDITIONS[turn:], *CONDITIONS[:turn]):
        busy[name] = _waiting()
        if name == "D":
            node.cluster.yodel(*ON, "limits=true", "quota=true")
        beside = node.batch(QUEUES[name]) if name in QUEUES else nullcontext()
        with colocated.idle_spinner() if name == "A'" else nullcontext(), beside as batch:
            if name == "D":
                wait_for("a quota", lambda: node.quota_us() > 0)
            found[name] = node.measure(f"{number}-{name.rstrip(chr(39))}", seconds, batch)
        if name == "D":
            node.cluster.yodel("colocation", "off", "--wait", "60")
    return found, busy


def _waiting() -> float:
    """Return the percent of the last ten seconds in which some process of the machine waited for a processor."""
    text = Path("/proc/pressure/cpu").read_text()
    match = re.search(r"some avg10=([\d.]+)", text)
    assert match is not None, text
    return float(match[1]) / 100


if __name__ == "__main__":
    print_machine()
    main()
