"""Runs the measuring loop, and decides which reports go with which heartbeat.

Loan, quota and emergency follow each reading, and none waits for another: the loan is computed at once, the others are
at work in tasks and threads of their own.

Nothing is read without a policy, and nothing said but how many groups still have what was written to them, once.  The
loan and what is written are two reports.  Each goes when what it says has changed, and with a policy again when
REPEAT_MS have passed, so that the ResourceManager can tell an agent that measures from one that does not; only a new
amount asks for a heartbeat before its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from nm_plugin.capacity.bounds import Bounds
from nm_plugin.capacity.clock import LoopClock
from nm_plugin.capacity.emergency import EmergencyWatch
from nm_plugin.capacity.follower import Follower
from nm_plugin.capacity.samples import Reading
from nm_plugin.capacity.ticks import AgentMaximum, Measurements, headroom_of, report_of, tick
from nm_plugin.cgroups.counters import ResourceCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.host.users import FileThreads
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.report import CPU_MILLI, Bound, Figure, Loan, LoanReport, Pressure, WrittenReport
from yodel.domain.colocation.suppression import CpuHeadroom
from yodel.domain.ids import ContainerId

INTERVAL_MS = 1000
REPEAT_MS = 10_000
PRESSURE_INTERVAL_MS = 5000
"""The kernel says what was in the last ten seconds, and again each two."""


class Source(Protocol):
    """Reads the counters, from cgroups or from processes."""

    source: str

    def read(self) -> ResourceCounters:
        """Blocks.  Raises LostReading."""


Report = LoanReport | WrittenReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Holds the reports of the next heartbeat; None: nothing has changed."""

    loan: LoanReport | None = None
    written: WrittenReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """Holds the reports that the ResourceManager has received, each with its time in ms."""

    loan: tuple[LoanReport, int] | None = None
    written: tuple[WrittenReport, int] | None = None


class Lender:
    """Run ``run`` in a task; ``changed`` is called when the ResourceManager should be notified soon."""

    def __init__(
        self,
        source: Source,
        most: AgentMaximum,
        clock: LoopClock,
        threads: FileThreads,
        changed: Callable[[], None],
        bounds: Bounds | None = None,
        emergency: EmergencyWatch | None = None,
        pressure: Callable[[], Pressure | None] = lambda: None,
    ) -> None:
        """``bounds`` is told what the policy says of batch pods, ``emergency`` what was read, None where that is not to
        be known; ``pressure`` is of online pods, and may block."""
        self._bounds, self._emergency, self._read_pressure = bounds, emergency, pressure
        self._pressure: Pressure | None = None
        self._source, self._maximum, self._clock, self._threads, self._changed = source, most, clock, threads, changed
        self._readings: Follower[Reading | LostReading] | None = None if emergency is None else Follower(emergency.take)
        self._headrooms: Follower[CpuHeadroom | None] | None = None if bounds is None else Follower(bounds.hold)
        self._policy: Policy | None = None
        self._allocatable: Mapping[str, int] = {}
        self._has_policy = asyncio.Event()
        self._report: LoanReport | None = None
        self._report_ms = 0
        self._told = _Told()
        self.is_apart = False
        self._log = structlog.get_logger(__name__)

    @property
    def policy_version(self) -> str:
        """Return the version of the policy that is obeyed; empty where there is none."""
        return self._policy.version if self._policy is not None else ""

    def obey(self, policy: Policy | None) -> None:
        """Measure by this policy from now on; None: stop."""
        if policy == self._policy:
            return
        self._policy = policy
        if policy is None:
            self._report = None
            self._has_policy.clear()
            for follower in self._followers():
                follower.drop()
            if self._emergency is not None:
                self._emergency.stop()
            self._log.info("colocation_off")
        else:
            self._has_policy.set()
            self._log.info("colocation_policy", version=policy.version, preset=policy.preset)

    def answered(self) -> None:
        """An answer was obeyed: what the policy says of batch pods holds now."""
        if self._bounds is not None:
            policy = self._policy
            self._bounds.obey(limits=policy is not None and policy.limits, quota=policy is not None and policy.quota)

    def hear_allocatable(self, amounts: Mapping[str, int]) -> None:
        """Take over the allocatable amounts that the kubelet leaves to pods; empty ones change nothing."""
        if amounts:
            self._allocatable = amounts

    def rank(self, container_ids: Sequence[ContainerId]) -> None:
        """Take over the order for an emergency, if emergencies are handled here."""
        if self._emergency is not None:
            self._emergency.rank(container_ids)

    def emergency(self) -> MemoryEmergency | None:
        """Return the emergency that each heartbeat reports; None: there is none."""
        return self._emergency.told() if self._emergency is not None else None

    def due(self) -> Due:
        """Return the reports for the next heartbeat; empty if the ResourceManager has them."""
        found, now_ms = self._reports(), self._clock.now_ms()
        loan = found.loan if self._is_due(found.loan, self._told.loan, now_ms) else None
        written = found.written if self._is_due(found.written, self._told.written, now_ms) else None
        if not self.is_apart and (loan or written):  # it reads both from one message
            loan, written = found.loan, found.written
        return Due(loan=replace(loan, age_ms=now_ms - self._report_ms) if loan is not None else None, written=written)

    def told(self, due: Due) -> None:
        """The ResourceManager has it."""
        now_ms, before = self._clock.now_ms(), self._told
        self._told = _Told(
            loan=(due.loan, now_ms) if due.loan is not None else before.loan,
            written=(due.written, now_ms) if due.written is not None else before.written,
        )

    def registered(self, *, is_apart: bool) -> None:
        """Forget what was reported: a ResourceManager that this node has just registered with has no report.
        ``is_apart``: it reads two reports instead of one."""
        self._told, self.is_apart = _Told(), is_apart

    def _is_due(self, report: Report | None, told: tuple[Report, int] | None, now_ms: int) -> bool:
        if report is None:
            return False
        if told is None or _says(report) != _says(told[0]):
            return True
        return bool(report.policy_version) and now_ms - told[1] >= REPEAT_MS

    async def run(self) -> None:
        """Until cancelled.  Raises a group with what a follower raised."""
        async with asyncio.TaskGroup() as group:
            for follower in self._followers():
                group.create_task(follower.run())
            while True:
                await self._has_policy.wait()
                await self._measure()

    def _followers(self) -> list[Follower[Any]]:
        return [follower for follower in (self._readings, self._headrooms) if follower is not None]

    async def _measure(self) -> None:
        """Measure as long as there is a policy."""
        next_ms = pressure_ms = self._clock.now_ms()
        state = Measurements(started_ms=next_ms)
        while (policy := self._policy) is not None:
            read = await self._threads.run(self._read)
            now_ms = self._clock.now_ms()
            was_lost = state.lost
            if self._readings is not None:
                self._readings.offer(read)
            state, loans = tick(state, read, now_ms, policy, self._maximum)
            if state.lost and not was_lost:
                self._log.warning("reading_lost", reason=state.lost)
            if loans is not None and self._policy is policy:
                self._take(report_of(state, loans, self._source.source, policy), now_ms)
            if self._headrooms is not None:
                self._headrooms.offer(headroom_of(state, now_ms, policy, self._maximum))
            if now_ms >= pressure_ms:
                self._pressure = await self._threads.run(self._read_pressure)
                pressure_ms = now_ms + PRESSURE_INTERVAL_MS
            next_ms = max(next_ms + INTERVAL_MS, now_ms)
            await self._clock.sleep(next_ms - now_ms)

    def _reports(self) -> Due:
        loan, bounds = self._report, self._bounds
        if loan is not None:
            loan = replace(loan, pressure=self._pressure)
        if bounds is None:
            return Due(loan=loan)
        groups, problem = bounds.written_groups(), tuple(filter(None, (bounds.problem(),)))
        if loan is None and (self._policy is not None or groups is None):
            return Due()
        if loan is None:
            return Due(written=WrittenReport(groups=groups, best_effort=bounds.best_effort(), problems=problem))
        written = WrittenReport(
            policy_version=loan.policy_version,
            groups=groups,
            best_effort=bounds.best_effort(),
            bounds=bounds.shown(),
            counts=bounds.counts(),
            problems=problem,
        )
        return Due(loan=replace(loan, loans=_with_quota(loan.loans, bounds.quota_milli())), written=written)

    def _take(self, report: LoanReport, now_ms: int) -> None:
        before, self._report, self._report_ms = self._report, report, now_ms
        if before is None or _amounts(before) != _amounts(report):
            self._changed()

    def _read(self) -> Reading | LostReading:
        """Read the counters.  Runs in its own thread, because a pass over all processes takes a while."""
        try:
            at_ms = self._clock.now_ms()
            return Reading(at_ms=at_ms, counters=self._source.read(), allocatable=self._allocatable)
        except LostReading as error:
            return error
        except OSError as error:
            return LostReading(str(error))


def _says(report: Report) -> tuple[object, ...]:
    """Return the parts of a report whose change is worth a message; of problems only whether there is one, because
    their texts may contain counters."""
    if isinstance(report, LoanReport):
        return report.policy_version, report.source, bool(report.problems), _amounts(report)
    bounds = tuple(one if one.container else _quota_says(one) for one in report.bounds)
    return report.policy_version, bool(report.problems), bounds, report.groups, report.best_effort


def _with_quota(loans: tuple[Loan, ...], quota_milli: int | None) -> tuple[Loan, ...]:
    """The quota of best-effort pods is told beside what they use."""
    if quota_milli is None:
        return loans
    quota = Figure(name="quota", amount=quota_milli)
    return tuple(
        replace(loan, measured=(*loan.measured, quota)) if loan.resource == CPU_MILLI else loan for loan in loans
    )


def _quota_says(quota: Bound) -> tuple[object, ...]:
    """A quota that stands as it was decided may change each second, and that is no news by itself."""
    return quota.file, quota.decided == quota.written == quota.read, quota.put_back, quota.why


def _amounts(report: LoanReport) -> dict[str, int]:
    return {loan.resource: loan.amount for loan in report.loans}
