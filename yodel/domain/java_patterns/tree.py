"""What a pattern is made of, once it is read: a dozen kinds of nodes that Java and Python understand alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from yodel.domain.java_patterns.code_points import CodePoints
from yodel.errors import InvalidValue, YodelError

Greed = Literal["", "?", "+"]
"""Greedy, lazy, possessive."""


class RefusedByJava(InvalidValue):
    """``Pattern.compile`` throws for this text."""

    def __init__(self, pattern: str, reason: str, index: int) -> None:
        self.reason, self.index = reason, index
        super().__init__(
            "regular expression", pattern[:200], f"one that java.util.regex compiles: {reason} near index {index}"
        )


class NotTranslated(YodelError):
    """Java takes this pattern, and Python's ``re`` has no way to say the same."""

    def __init__(self, pattern: str, what: str) -> None:
        self.what = what
        super().__init__(f"Regular expression {pattern[:200]!r} cannot be matched here: {what}")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    members: Callable[[], CodePoints]


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end of the text."""

    is_end: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of these that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``most`` is None when there is no end."""

    item: Node
    least: int
    most: int | None
    greed: Greed


@dataclass(frozen=True, slots=True)
class Group:
    """``number`` is None when nothing is captured."""

    item: Node
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Atomic:
    """Once it has matched it is not tried another way."""

    item: Node


@dataclass(frozen=True, slots=True)
class Look:
    """What is before or behind this place, taking nothing of it."""

    item: Node
    is_behind: bool
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Back:
    """What a group matched last; number 0 is a group that is not there, and matches nothing.

    ``ignores_case`` is ``""``, ``"ai"`` (of ASCII) or ``"i"``.
    """

    number: int
    ignores_case: str


Node = Chars | Edge | Sequence | Choice | Repeat | Group | Atomic | Look | Back

EMPTY = Sequence(())
NEVER = Back(0, "")


def longest(node: Node) -> int | None:
    """Return how many characters the node may take, None without a maximum that is known beforehand."""
    match node:
        case Chars():
            return 1
        case Edge() | Look():
            return 0
        case Back():
            return None
        case Group(item) | Atomic(item):
            return longest(item)
        case Repeat(item, _, most):
            inner = longest(item)
            return None if most is None or inner is None else inner * most
        case Sequence(items):
            found = [longest(item) for item in items]
            return None if None in found else sum(filter(None, found))
        case Choice(options):
            found = [longest(option) for option in options]
            return None if None in found else max((size for size in found if size is not None), default=0)


def shortest(node: Node) -> int:
    """Return how many characters the node takes at least."""
    match node:
        case Chars():
            return 1
        case Edge() | Look() | Back():
            return 0
        case Group(item) | Atomic(item):
            return shortest(item)
        case Repeat(item, least):
            return shortest(item) * least
        case Sequence(items):
            return sum(map(shortest, items))
        case Choice(options):
            return min(map(shortest, options), default=0)
