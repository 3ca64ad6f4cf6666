"""Character classes: ``[a-z&&[^bc]]`` is a union of parts, or several that are intersected, possibly negated."""

from __future__ import annotations

from yodel.domain.java_patterns import code_points as points
from yodel.domain.java_patterns import escapes
from yodel.domain.java_patterns.cases import of_ascii, same_as_range, same_letter
from yodel.domain.java_patterns.code_points import of
from yodel.domain.java_patterns.properties import Property
from yodel.domain.java_patterns.source import END, Source

NESTED_MAX = 50
"""Groups or classes within each other: reading, writing and Python's compiler go down with them."""


def single(number: int, flags: frozenset[str]) -> Property:
    """Return this character, in either case when the flags say so."""
    if "i" not in flags:
        return lambda: of(number)
    if "u" in flags:
        return lambda: same_letter(number)
    return lambda: of_ascii(of(number))


def read_class(source: Source, depth: int = 0) -> Property:
    """Return the set of a class whose ``[`` has been read.

    Raises:
        RefusedByJava: it is not closed, a range goes backwards, or what Java says of what is in it.
        NotTranslated: it is nested too deeply, or ``&&`` has nothing behind it.
    """
    is_negated = source.peek_raw() == "^"
    if is_negated:
        source.take_raw()
    members = _members(source, depth)
    source.take()
    return escapes.complemented(members) if is_negated else members


def _members(source: Source, depth: int) -> Property:
    """What stands before the closing bracket, from left to right; ``&&`` takes away from what is there by then."""
    if depth > NESTED_MAX:
        raise source.not_translated(f"more than {NESTED_MAX} classes within each other")
    parts: list[Property] = []
    while (here := source.peek()) != "]" or not parts:
        if here == END:
            raise source.refused("Unclosed character class")
        if here == "[":
            source.take()
            parts.append(read_class(source, depth + 1))
        elif here == "&" and source.peek_raw(1) == "&":
            source.position += 2
            right = _behind_and(source, depth)
            if right is None and parts:
                raise source.not_translated("&& with nothing behind it")
            if right is None:
                raise source.refused("Bad class syntax")
            if source.peek() == "&" and source.peek_raw(1) != "&":
                raise source.not_translated("a single & behind &&, where Java adds what it took away")
            parts = [_both(_any_of(parts), right) if parts else right]
        else:
            parts.append(_range(source))
    return _any_of(parts)


def _behind_and(source: Source, depth: int) -> Property | None:
    """Classes in brackets up to the next ``&``, or else everything up to the closing bracket."""
    parts: list[Property] = []
    while (here := source.peek()) not in ("]", "&"):
        if here == "[":
            source.take()
            parts.append(read_class(source, depth + 1))
        else:
            parts.append(_members(source, depth + 1))
    return _any_of(parts) if parts else None


def _any_of(parts: list[Property]) -> Property:
    several = tuple(parts)
    return lambda: points.union(*(part() for part in several))


def _both(one: Property, other: Property) -> Property:
    return lambda: points.intersection(one(), other())


def _range(source: Source) -> Property:
    """One character, an escape, or a range."""
    first = _member(source)
    if not isinstance(first, int):
        return first
    if source.peek() != "-" or source.peek_raw(1) in ("[", "]", END):
        return single(first, source.flags)
    source.take()
    last = _member(source, is_end=True)
    if not isinstance(last, int) or last < first:
        raise source.refused("Illegal character range")
    low, high, flags = first, last, source.flags
    if "i" not in flags:
        return lambda: of((low, high))
    if "u" in flags:
        return lambda: same_as_range(low, high)
    return lambda: of_ascii(of((low, high)))


def _member(source: Source, is_end: bool = False) -> int | Property:
    here = source.take()
    if here == END:
        raise source.refused("Unclosed character class")
    if here != "\\":
        return ord(here)
    letter = source.take_raw()
    if letter in ("p", "P") and not is_end:
        return escapes.family(source, letter)
    if letter == "v" and (is_end or source.peek_raw() == "-"):
        return 0xB  # as an end of a range it is one character
    found = escapes.shorthand(letter, source.flags)
    if found is not None:
        return found
    number = escapes.character(source, letter)
    if number is None:
        raise source.refused("Illegal/unsupported escape sequence")
    return number
