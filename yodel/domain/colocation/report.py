"""Holds a node agent's report of its lent capacity, in a form that can be added up by hand.

For each resource it has the measured figures, the terms of the formula, and the steps that shaped their sum.  The terms
add up to the start of the first step, each step starts with the result of the one before it, and the last one results
in the lent amount.  A report that does not add up cannot be built.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

CPU_MILLI: Final = "cpu_milli"
MEMORY_MIB: Final = "memory_mib"
RESOURCES: Final = (CPU_MILLI, MEMORY_MIB)
"""The resources that may be lent, by name with unit."""
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
    """Holds the lent amount of one resource with its derivation.

    Raises ValueError if terms and steps do not add up to ``amount``, or the amount is negative.
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
    """Measures how long some process of online pods waited for a processor, in hundredths of a percent of the last ten
    seconds.  ``source`` is the group that waited longest."""

    source: str
    some_basis_points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanReport:
    """Holds the lent capacity of a node at one instant.

    ``policy_version`` names the policy it computed by, ``source`` where the figures come from (``cgroup v1``, ``cgroup
    v2`` or ``processes``), ``age_ms`` how long ago they were read when the report was sent, by the agent's own clock.
    ``problems``: files that could not be read, and other things that the reader of the figures should know.
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
    """Reports what an agent has written to control groups, with a policy (``policy_version``) or after one.

    ``groups`` counts those with values that it wrote and did not undo, None before it has looked; ``best_effort`` is
    the path of their parent group, if known.  ``bounds`` are the limits of batch pods.  ``counts`` are other counts,
    such as OTHERS_PODS, without unknown ones.  ``problems``: why something cannot be undone, or other information for
    the reader.
    """

    policy_version: str = ""
    groups: int | None = None
    best_effort: str = ""
    bounds: tuple[Bound, ...] = ()
    counts: tuple[Figure, ...] = ()
    problems: tuple[str, ...] = ()
