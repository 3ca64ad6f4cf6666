"""One second of measuring as a pure step: state, reading and policy in, state and report out.

There is no loan before the node was watched for as long as a shrink looks back, or an agent that has just started would
lend what a burst is about to need.  After that a reading that is lost costs nothing but itself; when all of the last
seconds were lost, the report says so and has no loan: an unknown figure is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nm_plugin.capacity.samples import Reading, Sample, kept, sample_of
from nm_plugin.cgroups.files import LostReading
from yodel.domain.colocation.measured import RECENT_S, InstantUse, UsageWindow
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, RESOURCES, Loan, LoanReport
from yodel.domain.colocation.shaping import Before, is_climbing, loan_of, numbers_of
from yodel.domain.colocation.suppression import CpuHeadroom


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMaximum:
    """Holds the agent's own maximum to lend, independent of the policy; None: no maximum."""

    cpu_milli: int | None = None
    memory_mib: int | None = None

    def of(self, resource: str) -> int | None:
        return {CPU_MILLI: self.cpu_milli, MEMORY_MIB: self.memory_mib}[resource]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """All that is remembered from one second to the next."""

    started_ms: int
    reading: Reading | None = None
    samples: tuple[Sample, ...] = ()
    loans: Mapping[str, Loan] = field(default_factory=dict)
    lost_ms: int = 0
    lost: str = ""


def tick(
    state: Measurements, read: Reading | LostReading, now_ms: int, policy: Policy, most: AgentMaximum
) -> tuple[Measurements, tuple[Loan, ...] | None]:
    """Take one reading in; return also what the node lends now, None as long as it was not watched long enough."""
    state = _taken(state, read, now_ms, policy.shaping.window_s)
    recent_s = min(policy.shaping.window_s, RECENT_S)
    if now_ms - state.started_ms < recent_s * 1000:
        return state, None
    recent = kept(state.samples, now_ms - recent_s * 1000)
    if not recent:
        return state, ()
    loans = {resource: _loan(resource, state, recent, policy, most) for resource in RESOURCES}
    return replace(state, loans=loans), tuple(loans.values())


def headroom_of(state: Measurements, now_ms: int, policy: Policy, most: AgentMaximum) -> CpuHeadroom | None:
    """Return the headroom that determines the quota of processor time; None if all recent readings were lost."""
    recent_s = min(policy.shaping.window_s, RECENT_S)
    recent = kept(state.samples, now_ms - recent_s * 1000)
    if not recent:
        return None
    return CpuHeadroom(
        numbers=numbers_of(policy, CPU_MILLI),
        capacity=recent[-1].cpu_milli_size,
        recent=[sample.cpu_milli for sample in recent],
        agent_most=most.cpu_milli,
        is_watched=now_ms - state.started_ms >= recent_s * 1000,
    )


def report_of(state: Measurements, loans: tuple[Loan, ...], source: str, policy: Policy) -> LoanReport:
    """Return the report of a tick, as if it were sent at once."""
    return LoanReport(
        policy_version=policy.version,
        source=source,
        age_ms=0,
        loans=loans,
        problems=(f"a reading was lost: {state.lost}",) if state.lost else (),
    )


def _taken(state: Measurements, read: Reading | LostReading, now_ms: int, window_s: int) -> Measurements:
    samples = kept(state.samples, now_ms - window_s * 1000)
    lost = state.lost if now_ms - state.lost_ms < RECENT_S * 1000 else ""
    state = replace(state, samples=samples, lost=lost)
    if isinstance(read, LostReading):
        return replace(state, lost_ms=now_ms, lost=str(read))
    before, state = state.reading, replace(state, reading=read)
    if before is None:
        return state
    try:
        return replace(state, samples=(*samples, sample_of(before, read)))
    except LostReading as error:
        return replace(state, lost_ms=now_ms, lost=str(error))


def _loan(resource: str, state: Measurements, recent: tuple[Sample, ...], policy: Policy, most: AgentMaximum) -> Loan:
    last = state.loans.get(resource)
    before = Before(
        last=None if last is None else last.amount,
        climbing=last is not None and is_climbing(last),
        agent_most=most.of(resource),
    )
    now = recent[-1]
    capacity, kubelet_reserved = {
        CPU_MILLI: (now.cpu_milli_size, now.cpu_milli_reserved),
        MEMORY_MIB: (now.memory_mib_size, now.memory_mib_reserved),
    }[resource]
    window = UsageWindow(
        capacity=capacity,
        kubelet_reserved=kubelet_reserved,
        uses=[_use(resource, sample) for sample in state.samples],
        recent=[_use(resource, sample) for sample in recent],
    )
    return loan_of(resource, numbers_of(policy, resource), window, before)


def _use(resource: str, sample: Sample) -> InstantUse:
    return sample.cpu_milli if resource == CPU_MILLI else sample.memory_mib
