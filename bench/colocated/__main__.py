"""Shows what lent capacity gains and what a service feels of it, on the rig, alone on the machine (`make colocation`).

    python -m bench.colocated [--minutes 55] [--kinds Spark,terasort,memory] [--fresh]

Every round measures the conditions of ``runs.py`` in another order, next to one kind of batch; then come seconds of the
offline job against its quota, and a day in minutes.  After each part the table, the charts and the verdicts are written
into the folder that keeps the measurement, and at the end into the documentation, if nothing is missing or void.  A
measurement that was ended goes on with the parts that are missing.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.colocated import batches, day, page
from bench.colocated.limits import FAILURES, TimeLimit
from bench.colocated.measuring import Measuring, folder_of
from bench.colocated.runs import CURVE, DAY, Kept, Plan, plan_for, round_name
from bench.machine import processors
from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import OTHER_CORE, OWN_CORE, ServiceNode
from tests.e2e.kube_cluster import KubeCluster, upload_spark
from tests.rigs.kubernetes import cores, rig

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".runs" / "colocation"
NODES = 3
PASSES = 2
VALUES = {
    "resourceManager.settings.milli_per_vcore": (batches.MILLI_PER_VCORE, 1000),
    "resourceManager.settings.maximum_allocation_vcores": (batches.VCORES, 8),
    "nodeAgent.vcores": (2 * batches.VCORES, 8),
}
"""The release has these values while it is measured, and afterwards."""


class Progress:
    """Prints lines with the time that is left, by what the plan expects."""

    def __init__(self, expected_s: float) -> None:
        self._began_s, self._end_s = time.monotonic(), time.monotonic() + expected_s

    def __call__(self, line: str) -> None:
        now_s = time.monotonic()
        left_s = max(0.0, self._end_s - now_s)
        print(f"{(now_s - self._began_s) / 60:5.1f} min, about {left_s / 60:4.1f} left  {line}", flush=True)


@contextmanager
def a_cluster(say: Progress) -> Iterator[KubeCluster]:
    """Bring the rig up if it is not, with the vcores of this measurement; it is left as it was found."""
    was_up = rig.is_up()
    if not was_up:
        rig.down(say)
    try:
        state = rig.up(None, nodes=NODES, bare=False, say=say, put_files=lambda beside: upload_spark(beside.hdfs))
        assert state is not None
        cluster = KubeCluster(state)
        _set_vcores(cluster, 0, say)
        try:
            yield cluster
        finally:
            if was_up:
                _set_vcores(cluster, 1, say)
    finally:
        if not was_up:
            rig.down(say)


def _set_vcores(cluster: KubeCluster, which: int, say: Progress) -> None:
    say(f"the release gets {', '.join(f'{name}={values[which]}' for name, values in VALUES.items())}")
    cluster.upgrade(*(f"{name}={values[which]}" for name, values in VALUES.items()))
    namespace = ("--namespace", cluster.container_namespace)
    cluster.kubectl("rollout", "status", "daemonset/yodel-node-agent", *namespace, "--timeout=90s")
    wait_for("all node agents", cluster.is_whole)


def measure(kept: Kept, plan: Plan, say: Progress) -> None:
    """Measure what is missing, if anything is.  A part that fails is told, and tried once more after the others."""
    if not kept.results().missing(plan):
        return
    with a_cluster(say) as cluster:
        os.sched_setaffinity(0, {OTHER_CORE})  # with all clients that are started from here on
        limit, before = TimeLimit(time.monotonic() + plan.most_s), cluster.yodel("queue", "export")
        try:
            with colocated.service_on(cluster, folder_of(kept.folder)) as node, _apart(node):
                with limit.part("the first requests", plan.run_most_s("Spark")):
                    node.asked("warm", 5, colocated.RATE)
                    answer = node.answer()
                    if "terasort" in plan.kinds:
                        batches.terasort_rows(cluster)
                measuring = Measuring(node=node, plan=plan, say=say, answer=answer, limit=limit)
                for _ in range(PASSES):
                    measure_parts(kept, measuring, _parts(measuring, kept))
        finally:
            cluster.yodel("queue", "import", "/dev/stdin", given=before)


def measure_parts(kept: Kept, measuring: Measuring, parts: Mapping[str, Callable[[], None]]) -> None:
    """Measure the parts that are missing; one that fails does not end the others."""
    for name in kept.results().missing(measuring.plan):
        try:
            parts[name]()
        except FAILURES as error:
            measuring.say(f"{name} FAILED: {str(error)[-500:]}")
            measuring.clear()
        else:
            page.keep_report(kept, measuring.plan)


def _parts(measuring: Measuring, kept: Kept) -> dict[str, Callable[[], None]]:
    node, plan, say, limit = measuring.node, measuring.plan, measuring.say, measuring.limit

    def a_round(number: int) -> None:
        kept.keep_round(number, measuring.round(number))

    return {
        **{round_name(number): partial(a_round, number) for number in range(len(plan.kinds))},
        CURVE: lambda: kept.keep_curve(measuring.curve()),
        DAY: lambda: kept.keep_day(day.a_day(node, plan, say, limit)),
    }


def _apart(node: ServiceNode) -> AbstractContextManager[None]:
    return cores.apart(rig.HOME, int(node.name.removeprefix("node")), cpus=str(OWN_CORE), others=str(OTHER_CORE))


def _plan(arguments: argparse.Namespace) -> Plan:
    kinds = tuple(arguments.kinds.split(","))
    if unknown := [kind for kind in kinds if kind not in batches.KINDS]:
        raise SystemExit(f"--kinds: {unknown[0]!r}: expected some of {', '.join(batches.KINDS)}")
    if not arguments.short:
        return plan_for(arguments.minutes, kinds)
    return Plan(kinds=kinds, seconds=6, spike_s=3, bare_s=3, curve_rounds=1, day_s=48, containers=30, quiet_s=3)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.colocated", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=55, help="how long all of it may take")
    parser.add_argument("--kinds", default=",".join(batches.KINDS), help="batch of each round, in turn")
    parser.add_argument("--fresh", action="store_true", help="begin a new measurement")
    parser.add_argument("--short", action="store_true", help="windows of seconds: a rehearsal, which proves nothing")
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder that keeps the measurement")
    parser.add_argument("--write", type=Path, default=ROOT, help="checkout whose pages are written; none with --short")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        plan = _plan(arguments)
        kept = Kept(arguments.kept)
        goes_on = kept.begin(plan, fresh=arguments.fresh)
    except ValueError as error:
        raise SystemExit(f"bench.colocated: {error}") from None
    say = Progress(plan.expected_s)
    say(f"{plan.seconds} s a window; {'goes on in' if goes_on else 'kept in'} {kept.folder}")
    kept.keep_machine(f"{processors()}, Linux {platform.release()}", datetime.now(UTC).date().isoformat())
    measure(kept, plan, say)
    print("\n".join(page.keep_report(kept, plan)))
    if not page.write(kept, plan, None if arguments.short else arguments.write, say):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
