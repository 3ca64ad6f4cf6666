"""Measures the conditions of a round, on a running cluster whose service has a core of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from bench.colocated import batches, quiet
from bench.colocated.limits import FAILURES, TimeLimit
from bench.colocated.runs import (
    ALONE,
    CONDITIONS,
    CURVE,
    LENT,
    NATIVE,
    POLICIES,
    QUOTAS,
    SPIKE_FACTOR,
    CurvePoint,
    Plan,
    Run,
    Window,
    order,
    window,
)
from bench.colocated.verdicts import differs, disturbed, is_own
from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import PERIOD_US, RATE, ServiceNode
from tests.rigs.kubernetes.node import CGROUPS
from tests.rigs.kubernetes.readiness import Say

QUEUES = {name: "root.native" if name == NATIVE else "root.default" for name in CONDITIONS if name != ALONE}
ON = ("colocation", "on", "--preset", "koordinator", "--dialect", "koordinator", "window-s=3")
BOUNDED = ("limits=true", "quota=true")
TRIES_MAX = 2
CLEAR_S = 180.0
CURVE_WARM_ROUNDS = 10
"""The first point would be slower than the others by what the compiler of the JVM still does."""


@dataclass(slots=True, kw_only=True)
class Measuring:
    """``say`` prints a line of progress; ``answer`` is the service's, which must stay; ``limit`` ends what hangs."""

    node: ServiceNode
    plan: Plan
    say: Say
    answer: str
    limit: TimeLimit

    def round(self, number: int) -> dict[str, Run]:
        """Measure all conditions of a round, and repeat disturbed ones."""
        found = {name: self._tried(number, name) for name in order(number)}
        off = self._disturbed(found)
        if len(off) > len(found) / 2:
            found[ALONE] = self._again(number, ALONE, found[ALONE], "most other runs differ from it")
            off = self._disturbed(found)
        is_effect = False
        for name in off:
            earlier, alone = found[name], found[ALONE]
            if not is_effect or differs(earlier.core_ms, alone.core_ms):
                found[name] = self._again(number, name, earlier, disturbed(earlier, alone))
                is_effect = is_effect or is_own(found[name], earlier, alone)
            found[name] = _settled(found[name], alone, is_effect=is_effect)
        return found

    def _disturbed(self, found: Mapping[str, Run]) -> dict[str, str]:
        alone = found[ALONE]
        return {name: reason for name, run in found.items() if (reason := disturbed(run, alone))}

    def _again(self, number: int, name: str, earlier: Run, reason: str) -> Run:
        self.say(f"round {number + 1} {name} is repeated: {reason}")
        return replace(self._tried(number, name), notes=(*earlier.notes, f"repeated: {reason}"))

    def _tried(self, number: int, name: str) -> Run:
        """Run once more what fails, and tell it."""
        for left in reversed(range(TRIES_MAX)):
            try:
                with self.limit.part(name, self.plan.run_most_s(self.plan.kinds[number])):
                    return self._run(number, name)
            except FAILURES as error:
                self.say(f"round {number + 1} {name} failed: {str(error)[-500:]}")
                self.clear()
                if not left:
                    raise
        raise AssertionError

    def clear(self) -> None:
        """End what a run left that failed: batch that goes on, and limits."""
        cluster = self.node.cluster
        try:
            with self.limit.part("what is left", CLEAR_S):
                running = (cluster.rest("/apps?states=ACCEPTED,RUNNING")["apps"] or {}).get("app", ())
                for one in running:
                    self.node.end(one["id"])
                cluster.yodel("colocation", "off", "--now", "--wait", "60")
        except FAILURES as error:
            self.say(f"something may be left: {str(error)[-500:]}")

    def _run(self, number: int, name: str) -> Run:
        busy, core_ms, kind = quiet.wait_until_quiet(self.plan.quiet_s), quiet.core_ms(), self.plan.kinds[number]
        queue = QUEUES.get(name)
        beside = batches.batch(kind, self.node, queue) if queue else nullcontext()
        bare = None
        with beside as batch, self._policy(name):
            with colocated.idle_spinner():
                measured = self._window(number, name, self.plan.seconds, RATE, batch)
                spike = self._window(number, f"{name}-spike", self.plan.spike_s, SPIKE_FACTOR * RATE, batch)
            if number == 0:
                bare = self._window(number, f"{name}-bare", self.plan.bare_s, RATE, batch)
            failures = tuple(batch.failures(self.node.cluster)) if batch is not None else ()
        if self.node.answer() != self.answer:
            raise RuntimeError(f"the service answered {self.node.answer()!r} and not {self.answer!r}")
        run = Run(
            round=number,
            condition=name,
            kind=kind if queue else "",
            window=measured,
            spike=spike,
            bare=bare,
            core_ms=core_ms,
            busy=busy,
            failures=failures,
        )
        self.say(line(run))
        return run

    @contextmanager
    def _policy(self, name: str) -> Iterator[None]:
        """Bound the batch as a condition asks, as long as this lasts."""
        if name not in POLICIES:
            if self.node.quota_us() > 0:
                raise RuntimeError("a quota of the condition before is left")
            yield
            return
        self.node.cluster.yodel(*ON, *POLICIES[name], *BOUNDED)
        try:
            wait_for("a quota", lambda: self.node.quota_us() > 0)
            yield
        finally:
            self.node.cluster.yodel("colocation", "off", "--wait", "60")

    def _window(self, number: int, name: str, seconds: int, rate: int, batch: batches.Running | None) -> Window:
        for log in self.node.folder.glob(f"{number}-{name}.*"):
            log.unlink()  # of a run that is repeated
        rounds = batch.rounds if batch is not None else list[float]
        return window(self.node.measure(f"{number}-{name}", seconds, rounds, rate), rate)

    def curve(self) -> list[CurvePoint]:
        """Measure seconds of the offline job next to the service, under quotas that are written by hand."""
        with self.limit.part(CURVE, self.plan.curve_most_s):
            return self._curve()

    def _curve(self) -> list[CurvePoint]:
        quiet.wait_until_quiet(self.plan.quiet_s)
        found, path = [], CGROUPS / "cpu" / self.node.best_effort / "cpu.cfs_quota_us"
        with ExitStack() as stack:
            stack.enter_context(colocated.idle_spinner())
            batch = stack.enter_context(batches.batch("Spark", self.node, QUEUES[LENT]))
            stack.callback(path.write_text, "-1")
            wait_for("a warm JVM", lambda: len(batch.rounds()) >= CURVE_WARM_ROUNDS)
            for percent in QUOTAS:
                path.write_text("-1" if percent is None else str(percent * PERIOD_US // 100))
                found.append(self._point(percent, batch))
                self.say(f"curve {percent or 'no quota'}: {found[-1].job_s:.2f} s, P99 {found[-1].p99_ms:.1f} ms")
        return found

    def _point(self, percent: int | None, batch: batches.Running) -> CurvePoint:
        """Ask the service until enough rounds have ended, the one that had begun before left out."""
        before, began = len(batch.rounds()), time.monotonic()
        latencies: list[float] = []
        used, part = self.node.cpu_s(self.node.root), 0
        while len(batch.rounds()) < before + 1 + self.plan.curve_rounds:
            latencies += self.node.asked(f"curve-{percent}-{part}", 3, RATE)
            part += 1
        seconds = time.monotonic() - began
        rounds = batch.rounds()[before + 1 :]
        return CurvePoint(
            quota_percent=percent,
            job_s=sum(rounds) / len(rounds),
            p99_ms=sorted(latencies)[int(len(latencies) * 0.99)],
            node_cores=(self.node.cpu_s(self.node.root) - used) / seconds,
        )


def _settled(run: Run, alone: Run, *, is_effect: bool) -> Run:
    """Return a run that was repeated, or is next to batch whose effect a repetition has shown, with what it is."""
    reason = disturbed(run, alone)
    if not reason:
        return run
    if is_effect and not differs(run.core_ms, alone.core_ms):
        return replace(run, notes=(*run.notes, f"{reason}: the batch's own effect, as a repetition next to it showed"))
    return replace(run, disturbed=reason)


def line(run: Run) -> str:
    """Return a run in a line of progress."""
    one, job = run.window, "-" if run.window.job_s is None else f"{run.window.job_s:.2f} s"
    return (
        f"round {run.round + 1} {run.condition:4} {run.kind or 'alone':8} P50 {one.p50_ms:.1f} P99 {one.p99_ms:.1f} "
        f"({one.p99_low_ms:.1f} to {one.p99_high_ms:.1f}) P99.9 {one.p999_ms:.1f} ms, node {one.node_cores:.2f}, "
        f"waits {one.pressure:.1%}, batch {job}, {one.cpu_ms_a_request:.2f} ms a request, core {run.core_ms:.1f} ms, "
        f"spike P99 {run.spike.p99_ms:.1f} ms, busy before {run.busy:.0%}"
    )


def folder_of(kept: Path) -> Path:
    """Return where raw latencies stay."""
    return kept / "latencies"
