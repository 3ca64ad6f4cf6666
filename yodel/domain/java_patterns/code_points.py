"""Sets of code points: sorted ranges that do not touch, both ends included.

A class of Java's (unions, intersections, properties, either case) becomes one such set, so Python's matcher needs to
know of nothing but ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

LAST = 0x10FFFF

CodePoints = tuple[tuple[int, int], ...]
EVERYTHING: CodePoints = ((0, LAST),)
NOTHING: CodePoints = ()


def of(*parts: int | tuple[int, int]) -> CodePoints:
    """Return the set of these code points and ranges."""
    return _joined((part, part) if isinstance(part, int) else part for part in parts)


def of_text(text: str) -> CodePoints:
    return of(*map(ord, text))


def union(*sets: CodePoints) -> CodePoints:
    return _joined(part for one in sets for part in one)


def complement(one: CodePoints) -> CodePoints:
    found, start = [], 0
    for low, high in one:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        found.append((start, LAST))
    return tuple(found)


def intersection(one: CodePoints, other: CodePoints) -> CodePoints:
    return complement(union(complement(one), complement(other)))


def difference(one: CodePoints, other: CodePoints) -> CodePoints:
    return intersection(one, complement(other))


def where(applies: Callable[[int], bool]) -> CodePoints:
    """Return the set of all code points that ``applies`` is true of."""
    return of(*filter(applies, range(LAST + 1)))


def read_ranges(text: str) -> CodePoints:
    """Return the set that is written as ``41-5a 61``."""
    ends = (part.partition("-") for part in text.split())
    return of(*((int(low, 16), int(high or low, 16)) for low, _, high in ends))


def _joined(parts: Iterable[tuple[int, int]]) -> CodePoints:
    found: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)
