"""Characters that Java takes for the same when case does not matter: of ASCII only, or with the flag u of Unicode.

Java compares by ``Character.toUpperCase`` and ``toLowerCase``, each of which makes one character of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from yodel.domain.java_patterns import code_points as points
from yodel.domain.java_patterns.code_points import CodePoints, intersection, of, union

_UPPER, _LOWER = of((0x41, 0x5A)), of((0x61, 0x7A))
_STEP = 0x20


def of_ascii(members: CodePoints) -> CodePoints:
    """Return the set with the other case of each of its letters of ASCII."""
    to_lower = ((low + _STEP, high + _STEP) for low, high in intersection(members, _UPPER))
    to_upper = ((low - _STEP, high - _STEP) for low, high in intersection(members, _LOWER))
    return union(members, of(*to_lower, *to_upper))


def same_letter(number: int) -> CodePoints:
    """Return this character and those that are equal to it but for the case (``Pattern.single``)."""
    folded = _folded(number)
    return of(number, folded, *_by_folded().get(folded, ()))


def same_as_range(low: int, high: int) -> CodePoints:
    """Return the range and each character of which one case is in it (``Pattern.CIRangeU``)."""
    others = (
        number
        for folded, numbers in _by_folded().items()
        for number in numbers
        if low <= _upper(number) <= high or low <= folded <= high
    )
    return union(of((low, high)), of(*others))


def _upper(number: int) -> int:
    text = chr(number)
    one = next((upper for upper in (text.upper(), text.title()) if len(upper) == 1), text)
    return ord(one)


def _lower(number: int) -> int:
    return ord(chr(number).lower()[0])


def _folded(number: int) -> int:
    return _lower(_upper(number))


@lru_cache(maxsize=1)
def _by_folded() -> Mapping[int, tuple[int, ...]]:
    """All characters that have a case, by what they become."""
    found: dict[int, list[int]] = {}
    for number in range(points.LAST + 1):
        text = chr(number)
        if text.lower() != text or text.upper() != text:
            found.setdefault(_folded(number), []).append(number)
    return {folded: tuple(numbers) for folded, numbers in found.items()}
