"""Shares of queues that are said by resource, ``[memory=10240,vcores=12]`` or ``[memory=50%,vcores=2w]``, and what
siblings of all kinds come to of what their parent has.  Pure.

Of each resource absolute amounts are served first, scaled down together where the parent has less; percents are of what
these leave, and weights share the rest (QueueCapacityConfigParser, ResourceCalculationDriver).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from yodel.domain.resource import MEMORY, VCORES, Resource
from yodel.errors import Refused

WEIGHT_MAX = 10_000.0
MEMORY_MIB_MAX = 2**50
COUNT_MAX = 2**31 - 1
KINDS_MAX = 20
"""Resources named of one queue."""
_MIB: Mapping[str, int] = {"": 1, "Mi": 1, "Gi": 2**10, "Ti": 2**20, "Pi": 2**30}
_ENTRY = re.compile(r"([A-Za-z0-9][A-Za-z0-9._/-]{0,127})=(\d{1,16}(?:\.\d{1,16})?)(%|[A-Za-z]*)", re.ASCII)


class Unit(StrEnum):
    """Lists the units of a resource: an amount (MiB, vcores, pieces), a percent, or a weight."""

    ABSOLUTE = ""
    PERCENT = "%"
    WEIGHT = "w"


class Part(NamedTuple):
    """Holds the value of one resource."""

    name: str
    value: float
    unit: Unit


Amounts = tuple[Part, ...]
"""Memory, cores, then further types by name; none: one number is said for all resources."""
Wanted = tuple[float, Unit]
NOTHING: Wanted = (0.0, Unit.ABSOLUTE)


def is_by_resource(text: str) -> bool:
    """It is no plain number."""
    return text.startswith("[")


def said_in(name: str, text: str) -> Amounts:
    """The amounts of a property.

    Raises:
        Refused: malformed; an unknown unit, a resource twice, a value out of bounds.
    """
    inner = "".join(text.split())
    entries = inner.removeprefix("[").removesuffix("]").split(",")
    if not inner.endswith("]") or len(entries) > KINDS_MAX:
        raise _refused(name, text, "amounts such as [memory=10240,vcores=12]")
    found: dict[str, Part] = {}
    for entry in entries:
        matched = _ENTRY.fullmatch(entry)
        if matched is None:
            raise _refused(
                name, text, "amounts such as [memory=10240,vcores=12], each a number that may end with % or w"
            )
        kind = MEMORY if matched[1] in ("memory", MEMORY) else matched[1]
        if kind in found:
            raise _refused(name, text, f"{kind} once")
        found[kind] = _part(name, text, kind, float(matched[2]), matched[3])
    return tuple(sorted(found.values(), key=_order))


def text_of(amounts: Amounts) -> str:
    """Return the amounts as a property's text."""
    return f"[{','.join(f'{_name(part.name)}={_number(part.value)}{part.unit}' for part in amounts)}]"


def absolute(amounts: Amounts) -> Resource:
    """Return the resources that are given as amounts."""
    found = {part.name: int(part.value) for part in amounts if part.unit is Unit.ABSOLUTE}
    extras = tuple((kind, value) for kind, value in sorted(found.items()) if kind not in (MEMORY, VCORES))
    return Resource(found.get(MEMORY, 0), found.get(VCORES, 0), extras)


def wanted(amounts: Amounts, percent: float, weight: float | None, kind: str) -> Wanted:
    """Return value and unit for one resource: by its name, or the number for all."""
    if amounts:
        return next(((part.value, part.unit) for part in amounts if part.name == kind), NOTHING)
    return (percent, Unit.PERCENT) if weight is None else (weight, Unit.WEIGHT)


def shared_out(total: float, siblings: Sequence[Wanted]) -> list[float]:
    """Return the part of ``total`` for each sibling; together no more than that."""
    sums = dict.fromkeys(Unit, 0.0)
    for value, unit in siblings:
        sums[unit] += value
    scale = min(1.0, total / sums[Unit.ABSOLUTE]) if sums[Unit.ABSOLUTE] > 0 else 1.0
    after_absolute = max(0.0, total - scale * sums[Unit.ABSOLUTE])
    percent = after_absolute / max(100.0, sums[Unit.PERCENT])
    rest = max(0.0, after_absolute - percent * sums[Unit.PERCENT])
    of_one = {
        Unit.ABSOLUTE: scale,
        Unit.PERCENT: percent,
        Unit.WEIGHT: rest / sums[Unit.WEIGHT] if sums[Unit.WEIGHT] > 0 else 0.0,
    }
    return [value * of_one[unit] for value, unit in siblings]


def most_of(parent: int, one: Wanted) -> float:
    """A maximum of one resource under a parent's; nothing said is all of it."""
    value, unit = one
    if unit is Unit.PERCENT:
        return parent * value / 100.0
    return min(value, float(parent)) if value > 0 else float(parent)


def kinds_of(resources: Iterable[Resource]) -> list[str]:
    return [MEMORY, VCORES, *sorted({name for one in resources for name, _ in one.extras})]


def amount_of(resource: Resource, kind: str) -> int:
    if kind == MEMORY:
        return resource.memory_mib
    return resource.vcores if kind == VCORES else dict(resource.extras).get(kind, 0)


def resource_of(amounts: Mapping[str, float]) -> Resource:
    """Rounded down; what comes out a hair below a whole number counts as it."""
    whole = {kind: int(value + 1e-6) for kind, value in amounts.items()}
    extras = tuple((kind, value) for kind, value in sorted(whole.items()) if kind not in (MEMORY, VCORES))
    return Resource(whole[MEMORY], whole[VCORES], extras)


def _part(name: str, text: str, kind: str, value: float, suffix: str) -> Part:
    if suffix in (Unit.PERCENT, Unit.WEIGHT):
        unit, most = Unit(suffix), 100.0 if suffix == Unit.PERCENT else WEIGHT_MAX
        if value > most:
            raise _refused(name, text, f"{_name(kind)} of at most {most:g}{suffix}")
        return Part(kind, value, unit)
    factor = _MIB.get(suffix) if kind == MEMORY else 1 if not suffix else None
    if factor is None:
        units = ", ".join(unit for unit in _MIB if unit)
        raise _refused(name, text, f"{_name(kind)} in {units}" if kind == MEMORY else f"{kind} without a unit")
    most_amount = MEMORY_MIB_MAX if kind == MEMORY else COUNT_MAX
    value *= factor
    if value != int(value) or value > most_amount:
        raise _refused(name, text, f"a whole amount of {_name(kind)}, at most {most_amount}")
    return Part(kind, value, Unit.ABSOLUTE)


def _order(part: Part) -> tuple[int, str]:
    return {MEMORY: 0, VCORES: 1}.get(part.name, 2), part.name


def _name(kind: str) -> str:
    return "memory" if kind == MEMORY else kind


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name}: {value[:200]!r}; expected {expected}")
