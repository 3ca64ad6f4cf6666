"""What a node agent reports of the capacity that its node lends, in a form that can be added up by hand.

For each resource: what was measured, the terms of the formula, and the steps that shaped their sum.  The terms add up
to what the first step begins with, each step begins with what the one before it left, and the last one leaves the loan.
A report in which this is not so cannot be built.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

CPU_MILLI: Final = "cpu_milli"
MEMORY_MIB: Final = "memory_mib"
RESOURCES: Final = (CPU_MILLI, MEMORY_MIB)
"""What may be lent, by its name with its unit."""
APART: Final = "apart"
"""A ResourceManager that says so reads the loan and what is written as two reports; others read them as one."""
OTHERS_PODS: Final = "best-effort-pods-of-others"
"""Pods in the best-effort group that the ResourceManager has not named: they share its quota."""
ENDED_AT_LIMITS: Final = "processes-ended-at-limits"
"""By the kernel, in containers that went on, since the agent started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured amount, such as ``node`` or ``best-effort``, in the unit of the resource it belongs to."""

    name: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One summand of the formula: negative where it takes away.  ``why`` says which figure and factor it is made of."""

    name: str
    amount: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapingStep:
    """One step of shaping, such as ``clamp`` or ``largest-step-up``; kept where it changes nothing, too."""

    name: str
    before: int
    after: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """Holds what a node lends of one resource, with all that led to it.

    Raises ValueError where terms and steps do not add up to ``amount``, or the amount is negative.
    """

    resource: str
    amount: int
    measured: tuple[Figure, ...]
    terms: tuple[Term, ...]
    steps: tuple[ShapingStep, ...]

    def __post_init__(self) -> None:
        if self.resource not in RESOURCES:
            raise ValueError(f"resource: {self.resource!r}, where one of {', '.join(RESOURCES)} is expected")
        if self.amount < 0:
            raise ValueError(f"{self.resource}: amount {self.amount}, where 0 or more is expected")
        left = sum(term.amount for term in self.terms)
        for step in self.steps:
            if step.before != left:
                raise ValueError(f"{self.resource}: step {step.name} begins with {step.before} and not with {left}")
            left = step.after
        if left != self.amount:
            raise ValueError(f"{self.resource}: terms and steps lead to {left} and not to {self.amount}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One file of a batch pod's group, or without a ``container`` of the group of all best-effort pods; -1 is no limit.

    ``decided`` is what is to stand there, ``written`` what the kernel last took, ``read`` what was read after that;
    None where that failed.  ``put_back`` counts how often somebody else had changed it.
    """

    container: str
    file: str
    decided: int
    written: int | None
    read: int | None
    put_back: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """For how much of the last ten seconds some process of online pods waited for a processor, in hundredths of a
    percent.  ``source`` is the group that waited longest."""

    source: str
    some_basis_points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanReport:
    """Holds what a node lends at one instant.

    ``policy_version`` names the policy it computed by, ``source`` where the figures come from (``cgroup v1``,
    ``cgroup v2`` or ``processes``), ``age_ms`` how long ago they were read when the report was sent, by the agent's own
    clock.  ``problems``: files that could not be read, and other things that the reader of the figures should know.
    ``pressure`` is None where the kernel does not tell it.
    """

    policy_version: str
    source: str
    age_ms: int
    loans: tuple[Loan, ...]
    problems: tuple[str, ...] = ()
    pressure: Pressure | None = None

    def __post_init__(self) -> None:
        names = [loan.resource for loan in self.loans]
        if any(one == other for one, other in pairwise(sorted(names))):
            raise ValueError(f"lent amounts: a resource is repeated in {', '.join(names)}")

    def loan_of(self, resource: str) -> Loan | None:
        """Return the loan of a resource, or None where the agent could not tell."""
        return next((loan for loan in self.loans if loan.resource == resource), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """Holds what an agent has written to control groups, with a policy (``policy_version``) or after one.

    ``groups``: how many have values that it wrote and did not undo, None while it has not looked; ``best_effort``: the
    path of the group that they are in, where it knows.  ``bounds``: what batch pods are held to.  ``counts``: what was
    counted beside, such as OTHERS_PODS; what is not known is not among them.  ``problems``: why something cannot be
    undone, or what else the reader should know.
    """

    policy_version: str = ""
    groups: int | None = None
    best_effort: str = ""
    bounds: tuple[Bound, ...] = ()
    counts: tuple[Figure, ...] = ()
    problems: tuple[str, ...] = ()
