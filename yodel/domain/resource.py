"""Resource: what a container or a node has, and its algebra.

Follows ``org.apache.hadoop.yarn.api.records.Resource`` and ``Resources``.  Memory is in MiB (YARN's "MB"), cores in
vcores; further countable types travel by name.  Kubernetes quantities are the translator's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from yodel.errors import InvalidValue

MEMORY = "memory-mb"
VCORES = "vcores"

Extras = tuple[tuple[str, int], ...]
"""Further countable types as sorted (name, amount) pairs."""
EXTRA_AMOUNT_MAX = 2**31 - 1
"""The most of one such type in one container, so that the sum over all that may be asked for fits in an int64."""


@dataclass(frozen=True, slots=True)
class Resource:
    """An amount: may be negative as the result of a subtraction, never as a container's capability.

    What arithmetic gives has no extras of zero, so that sums of the same things are equal on whatever way they came to
    be.  What was given keeps its zeros: they are the caller's to see again.
    """

    memory_mib: int
    vcores: int
    extras: Extras = ()

    def __add__(self, other: Resource) -> Resource:
        extras = _merged(self, other, 1) if self.extras or other.extras else ()
        return Resource(self.memory_mib + other.memory_mib, self.vcores + other.vcores, extras)

    def __sub__(self, other: Resource) -> Resource:
        extras = _merged(self, other, -1) if self.extras or other.extras else ()
        return Resource(self.memory_mib - other.memory_mib, self.vcores - other.vcores, extras)

    def __mul__(self, count: int) -> Resource:
        extras = tuple((name, value * count) for name, value in self.extras if value * count)
        return Resource(self.memory_mib * count, self.vcores * count, extras)

    def fits_in(self, other: Resource) -> bool:
        """True when every amount of self is at most other's (Resources.fitsIn)."""
        if self.memory_mib > other.memory_mib or self.vcores > other.vcores:
            return False
        if not self.extras:
            return True
        have = dict(other.extras)
        return all(value <= have.get(name, 0) for name, value in self.extras)

    def at_least_zero(self) -> Resource:
        """Negative amounts become zero (Resources.componentwiseMax with none)."""
        extras = tuple((name, value) for name, value in self.extras if value > 0)
        return Resource(max(0, self.memory_mib), max(0, self.vcores), extras)

    @property
    def is_any_positive(self) -> bool:
        """Return True if there is a positive amount of any type."""
        return self.memory_mib > 0 or self.vcores > 0 or any(value > 0 for _, value in self.extras)

    @property
    def with_units(self) -> str:
        """Return the text for people outside of Hadoop's own texts, such as ``1 GiB, 2 vcores``; never rounded."""
        vcores = f"{self.vcores} vcore{'s' * (self.vcores != 1)}"
        return ", ".join(
            [memory_with_unit(self.memory_mib), vcores, *(f"{value} {name}" for name, value in self.extras)]
        )

    def __str__(self) -> str:
        """Return Hadoop's text (Resource.toString)."""
        extras = "".join(f", {name}: {value}" for name, value in self.extras)
        return f"<memory:{self.memory_mib}, vCores:{self.vcores}{extras}>"


NONE = Resource(0, 0)


def memory_with_unit(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib and mib % 1024 == 0 else f"{mib} MiB"


def _merged(left: Resource, right: Resource, sign: int) -> Extras:
    ours, theirs = dict(left.extras), dict(right.extras)
    found = ((name, ours.get(name, 0) + sign * theirs.get(name, 0)) for name in sorted({*ours, *theirs}))
    return tuple((name, value) for name, value in found if value)


def rounded_up(ask: Resource, minimum: Resource, most: Resource | None = None) -> Resource:
    """Round memory and vcores up to multiples of the minimum allocation (DefaultResourceCalculator.normalize).

    What is not over ``most`` stays so: the largest node's memory need not be a multiple.

    Raises:
        InvalidValue: the minimum is not positive.
    """
    if minimum.memory_mib <= 0 or minimum.vcores <= 0:
        raise InvalidValue("minimum allocation", str(minimum), "positive memory and vcores")

    memory_mib, vcores = _up(ask.memory_mib, minimum.memory_mib), _up(ask.vcores, minimum.vcores)
    if most is not None:
        memory_mib = min(memory_mib, max(most.memory_mib, ask.memory_mib))
        vcores = min(vcores, max(most.vcores, ask.vcores))
    # What is round already is the same value: decisions compare thousands of them with those of the last one.
    is_round = memory_mib == ask.memory_mib and vcores == ask.vcores
    return ask if is_round else Resource(memory_mib, vcores, ask.extras)


def _up(value: int, step: int) -> int:
    """Return the nearest multiple of the step that is not less than the value, at least one step."""
    return max(step, -(-value // step) * step)


def part_of(whole: Resource, share: float) -> Resource:
    """A part of 0 to 1 of every amount, rounded down (Resources.multiply).

    Of what comes out a hair below a whole number by floating point, the whole number counts.
    """
    extras = tuple((name, int(value * share + 1e-6)) for name, value in whole.extras) if whole.extras else ()
    return Resource(int(whole.memory_mib * share + 1e-6), int(whole.vcores * share + 1e-6), extras)


def part_up_of(whole: Resource, share: float) -> Resource:
    """Return ``part_of`` rounded up (Resources.multiplyAndNormalizeUp with a step of one)."""
    extras = tuple((name, ceil(value * share - 1e-6)) for name, value in whole.extras) if whole.extras else ()
    return Resource(ceil(whole.memory_mib * share - 1e-6), ceil(whole.vcores * share - 1e-6), extras)


def rounded_down(amount: Resource, minimum: Resource) -> Resource:
    """Round down to multiples of the minimum allocation (Resources.roundDown); further types stay."""
    return Resource(
        amount.memory_mib // minimum.memory_mib * minimum.memory_mib,
        amount.vcores // minimum.vcores * minimum.vcores,
        amount.extras,
    )


def times_in(size: Resource, room: Resource) -> int:
    """Return how many times the size fits into a room; 0 for an empty size."""
    have = dict(room.extras)
    pairs = [(size.memory_mib, room.memory_mib), (size.vcores, room.vcores)]
    pairs += [(value, have.get(name, 0)) for name, value in size.extras]
    return max(0, min((left // one for one, left in pairs if one > 0), default=0))


def total_of(amounts: Iterable[Resource]) -> Resource:
    """Their sum, without one for each step."""
    memory_mib, vcores, extras = 0, 0, NONE
    for amount in amounts:
        memory_mib += amount.memory_mib
        vcores += amount.vcores
        if amount.extras:
            extras += Resource(0, 0, amount.extras)
    return Resource(memory_mib, vcores, extras.extras)


def smaller(one: Resource, other: Resource) -> Resource:
    """Return the smaller amount by type (Resources.componentwiseMin); a type that one of them lacks is nothing."""
    if not one.extras and not other.extras:
        return Resource(min(one.memory_mib, other.memory_mib), min(one.vcores, other.vcores))
    ours, theirs = dict(one.extras), dict(other.extras)
    extras = tuple((name, min(ours.get(name, 0), theirs.get(name, 0))) for name in sorted({*ours, *theirs}))
    return Resource(min(one.memory_mib, other.memory_mib), min(one.vcores, other.vcores), extras)


def larger(one: Resource, other: Resource) -> Resource:
    """Return the larger amount by type (Resources.componentwiseMax)."""
    if not one.extras and not other.extras:
        return Resource(max(one.memory_mib, other.memory_mib), max(one.vcores, other.vcores))
    ours, theirs = dict(one.extras), dict(other.extras)
    extras = tuple((name, max(ours.get(name, 0), theirs.get(name, 0))) for name in sorted({*ours, *theirs}))
    return Resource(max(one.memory_mib, other.memory_mib), max(one.vcores, other.vcores), extras)
