"""Resource: what a container or a node has, and its algebra.

Follows ``org.apache.hadoop.yarn.api.records.Resource`` and ``Resources``.  Memory is in MiB (YARN's "MB"), cores in
vcores; further countable types travel by name.  Kubernetes quantities are the translator's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from yodel.errors import InvalidValue

MEMORY = "memory-mb"
VCORES = "vcores"
_NO_EXTRAS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Resource:
    """An amount: may be negative as the result of a subtraction, never as a container's capability."""

    memory_mib: int
    vcores: int
    extras: Mapping[str, int] = field(default=_NO_EXTRAS)

    def __hash__(self) -> int:
        return hash((self.memory_mib, self.vcores, tuple(sorted(self.extras.items()))))

    def __add__(self, other: Resource) -> Resource:
        return Resource(self.memory_mib + other.memory_mib, self.vcores + other.vcores, _merge(self, other, 1))

    def __sub__(self, other: Resource) -> Resource:
        return Resource(self.memory_mib - other.memory_mib, self.vcores - other.vcores, _merge(self, other, -1))

    def __mul__(self, count: int) -> Resource:
        extras = {name: value * count for name, value in self.extras.items()}
        return Resource(
            self.memory_mib * count, self.vcores * count, MappingProxyType(extras) if extras else _NO_EXTRAS
        )

    def fits_in(self, other: Resource) -> bool:
        """True when every amount of self is at most other's (Resources.fitsIn)."""
        if self.memory_mib > other.memory_mib or self.vcores > other.vcores:
            return False
        return all(value <= other.extras.get(name, 0) for name, value in self.extras.items())

    def at_least_zero(self) -> Resource:
        """Negative amounts become zero (Resources.componentwiseMax with none)."""
        extras = {name: max(0, value) for name, value in self.extras.items()}
        return Resource(
            max(0, self.memory_mib), max(0, self.vcores), MappingProxyType(extras) if extras else _NO_EXTRAS
        )

    def __str__(self) -> str:
        extras = "".join(f", {name}: {value}" for name, value in sorted(self.extras.items()))
        return f"<memory:{self.memory_mib}, vCores:{self.vcores}{extras}>"


NONE = Resource(0, 0)


def _merge(left: Resource, right: Resource, sign: int) -> Mapping[str, int]:
    if not left.extras and not right.extras:
        return _NO_EXTRAS
    names = {*left.extras, *right.extras}
    return MappingProxyType({n: left.extras.get(n, 0) + sign * right.extras.get(n, 0) for n in names})


def rounded_up(ask: Resource, minimum: Resource) -> Resource:
    """Round memory and vcores up to multiples of the minimum allocation (DefaultResourceCalculator.normalize).

    Raises:
        InvalidValue: the minimum is not positive.
    """
    if minimum.memory_mib <= 0 or minimum.vcores <= 0:
        raise InvalidValue("minimum allocation", str(minimum), "positive memory and vcores")

    def up(value: int, step: int) -> int:
        return max(step, -(-value // step) * step)

    return Resource(up(ask.memory_mib, minimum.memory_mib), up(ask.vcores, minimum.vcores), ask.extras)
