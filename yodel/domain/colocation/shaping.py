"""Shapes the sum of the terms into the lent amount, in steps with input, result and reason.

The terms use the mean of the window.  ``down-at-once`` then cuts to the least that any of the last seconds left, so
lent capacity grows by the mean and shrinks by the maximum of use, and stays where it is as long as the burst is in the
window: if growth and shrinking were judged separately, fluctuating use would change it each second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yodel.domain.colocation.estimate import estimate, terms
from yodel.domain.colocation.measured import UsageWindow
from yodel.domain.colocation.policy import Formula, Policy, Shaping
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, Figure, Loan, ShapingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The numbers of a policy that are of one resource."""

    formula: Formula
    step_up_percent: int
    dead_band_percent: int
    dead_band: int
    round_to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Holds the inputs of a step besides the amount: the last lent amount, None at first, and the maximum.

    ``climbing``: the last amount was limited by the largest step.  ``agent_most`` is the agent's own setting, for nodes
    that share a machine; None: there is none.
    """

    last: int | None = None
    climbing: bool = False
    agent_most: int | None = None


def numbers_of(policy: Policy, resource: str) -> Numbers:
    shaping: Shaping = policy.shaping
    amounts = {
        CPU_MILLI: (policy.cpu, shaping.dead_band_cpu_milli, shaping.round_cpu_milli),
        MEMORY_MIB: (policy.memory, shaping.dead_band_memory_mib, shaping.round_memory_mib),
    }
    formula, dead_band, round_to = amounts[resource]
    return Numbers(
        formula=formula,
        step_up_percent=shaping.step_up_percent,
        dead_band_percent=shaping.dead_band_percent,
        dead_band=dead_band,
        round_to=round_to,
    )


def loan_of(resource: str, numbers: Numbers, window: UsageWindow, before: Before) -> Loan:
    """Return the lent amount of the resource, with its derivation."""
    online, system, kept = window.mean_online, window.mean_system, window.kubelet_reserved
    summands = terms(numbers.formula, capacity=window.capacity, online=online, system=system, kubelet_reserved=kept)
    amount = sum(term.amount for term in summands)
    steps: list[ShapingStep] = []
    for name, step in _STEPS:
        found = step(numbers, window, before, amount)
        if found is not None:
            steps.append(ShapingStep(name=name, before=amount, after=found[0], why=found[1]))
            amount = found[0]
    now = window.uses[-1]
    return Loan(
        resource=resource,
        amount=amount,
        measured=(
            Figure(name="capacity", amount=window.capacity),
            Figure(name="node", amount=now.node),
            Figure(name="pods", amount=now.pods),
            Figure(name="best-effort", amount=now.best_effort),
            Figure(name="mean-online", amount=online),
            Figure(name="mean-system", amount=system),
            *([] if kept is None else [Figure(name="kubelet-reserved", amount=kept)]),
        ),
        terms=summands,
        steps=tuple(steps),
    )


Found = tuple[int, str] | None
"""The amount that a step leaves, and why; None where the step is not part of this loan."""


def is_climbing(loan: Loan) -> bool:
    """Return True if there was more to lend than the largest step up allowed."""
    return any(step.name == _LARGEST_STEP_UP and step.after < step.before for step in loan.steps)


def _down_at_once(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    """The least that any of the last seconds left."""
    formula, capacity, kept, recent = numbers.formula, window.capacity, window.kubelet_reserved, window.recent
    least, online = min(
        (estimate(formula, capacity=capacity, online=use.online, system=use.system, kubelet_reserved=kept), use.online)
        for use in recent
    )
    if least < amount:
        return least, f"lowest of the last {len(recent)} readings, when online pods used {online}"
    return amount, f"none of the last {len(recent)} readings is lower"


def _clamp(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    most = _most(numbers, window)
    return max(0, min(amount, most)), f"0 to {most}, {numbers.formula.most_percent} % of the node"


def _agent_most(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    if before.agent_most is None:
        return None
    return min(amount, before.agent_most), f"this node agent's own maximum is {before.agent_most}"


def _largest_step_up(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    """Return a step of at least what the last step rounds to, or a small node would never grow."""
    if before.last is None:
        return amount, "first value"
    step = max(numbers.round_to, window.capacity * numbers.step_up_percent // 100)
    return min(amount, before.last + step), f"at most {step} above the current {before.last}"


def _dead_band(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    """Refuses to hold a loan above what may be lent at most, and what would keep the rest of a band lent for ever."""
    if before.last is None:
        return amount, "first value"
    if amount == 0:
        return amount, "a change to 0 is applied at once"
    percent = 0 if before.climbing and amount > before.last else numbers.dead_band_percent
    band = max(numbers.dead_band, window.capacity * percent // 100)
    if abs(amount - before.last) >= band:
        return amount, f"changes by {band} or more are applied (current value {before.last})"
    if before.last > min(most for most in (_most(numbers, window), before.agent_most) if most is not None):
        return amount, f"the current {before.last} is above the maximum: decrease applied at once"
    return before.last, f"changes by less than {band} are not applied (current value {before.last})"


def _round_down(numbers: Numbers, window: UsageWindow, before: Before, amount: int) -> Found:
    return amount - amount % numbers.round_to, f"rounded down to a multiple of {numbers.round_to}"


def _most(numbers: Numbers, window: UsageWindow) -> int:
    return window.capacity * numbers.formula.most_percent // 100


_LARGEST_STEP_UP = "largest-step-up"
_STEPS: tuple[tuple[str, Callable[[Numbers, UsageWindow, Before, int], Found]], ...] = (
    ("down-at-once", _down_at_once),
    ("clamp", _clamp),
    ("agent-most", _agent_most),
    (_LARGEST_STEP_UP, _largest_step_up),
    ("dead-band", _dead_band),
    ("round", _round_down),
)
