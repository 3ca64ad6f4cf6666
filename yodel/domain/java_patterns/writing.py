"""A pattern's tree as a text for Python's ``re``, written without any flag.

Sets are written out as ranges and both cases, so nothing depends on what Python's own escapes mean.  A look-behind of
several lengths, which Python lacks, is written as one for each way that it can match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice, product

from yodel.domain.java_patterns.code_points import EVERYTHING, NOTHING, CodePoints
from yodel.domain.java_patterns.tree import (
    Atomic,
    Back,
    Chars,
    Choice,
    Edge,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    longest,
    shortest,
)

WAYS_MAX = 256
"""Ways that one look-behind can match; each is a copy of it in what Python compiles."""
NODES_MAX = 5_000
"""Of one pattern, copies counted: look-behinds within each other multiply their ways."""
COPIES_MAX = 8
"""Times that something of several lengths may be repeated at least in a look-behind: the ways multiply."""


class CannotBeWritten(Exception):
    """Says what there is that Python's ``re`` cannot express."""


class Writer:
    """``captures``: something refers to a group, so groups keep their numbers.  ``sets`` writes a set."""

    def __init__(self, *, captures: bool, sets: Callable[[Chars], str]) -> None:
        self._captures, self._sets, self._left = captures, sets, NODES_MAX

    def text(self, node: Node) -> str:
        """Return an expression that can stand beside others as it is.  Raises CannotBeWritten."""
        self._left -= 1
        if self._left < 0:
            raise CannotBeWritten("look-behinds that may match in too many ways together")
        match node:
            case Chars():
                return self._sets(node)
            case Edge(is_end):
                return r"\Z" if is_end else r"\A"
            case Sequence(items):
                return "".join(map(self.text, items))
            case Back(0):
                return "(?!)"
            case Choice(options):
                return f"(?:{'|'.join(map(self.text, options))})"
            case Group(item, number):
                return f"({'?:' if number is None or not self._captures else ''}{self.text(item)})"
            case Atomic(item):
                return f"(?>{self.text(item)})"
            case Repeat():
                return self._repeat(node)
            case Back(number, ignores_case):
                return f"(?{ignores_case}:\\{number})"
            case Look():
                return self._look(node)

    def _repeat(self, node: Repeat) -> str:
        item = self.text(node.item)
        if not isinstance(node.item, Chars):
            item = f"(?:{item})"
        most = "" if node.most is None else node.most
        return f"{item}{{{node.least},{most}}}{node.greed}"

    def _look(self, node: Look) -> str:
        if not node.is_behind:
            return f"(?{'!' if node.is_negated else '='}{self.text(node.item)})"
        ways = [self.text(way) for way in _ways(node.item)]
        if len(ways) > 1 and self._captures and _has_capture(node.item):
            raise CannotBeWritten("a look-behind of several lengths that captures")
        if node.is_negated:
            return "".join(f"(?<!{way})" for way in ways)
        return f"(?:{'|'.join(f'(?<={way})' for way in ways)})"


def _ways(node: Node) -> list[Node]:
    """Return the ways to match, each of one length: their order does not matter to a look-behind."""
    if longest(node) == shortest(node):
        return [node]
    match node:
        case Sequence(items):
            return _all_ways(items)
        case Choice(options):
            return _few(way for option in options for way in _ways(option))
        case Group(item):
            return _ways(item)
        case Repeat(item, least, int(most), "" | "?"):
            counts = range(least, min(most, least + WAYS_MAX) + 1)
            if longest(item) == shortest(item):
                return _few(Repeat(item, count, count, "") for count in counts)
            if least <= COPIES_MAX:
                return _few(way for count in counts for way in _all_ways((item,) * count))
    raise CannotBeWritten("a look-behind that may match many lengths")


def _all_ways(items: tuple[Node, ...]) -> list[Node]:
    return _few(Sequence(way) for way in product(*map(_ways, items)))


def _few(ways: Iterable[Node]) -> list[Node]:
    found = list(islice(ways, WAYS_MAX + 1))
    if len(found) > WAYS_MAX:
        raise CannotBeWritten(f"a look-behind that may match in more than {WAYS_MAX} ways")
    return found


def _has_capture(node: Node) -> bool:
    match node:
        case Group(item, number):
            return number is not None or _has_capture(item)
        case Atomic(item) | Repeat(item) | Look(item):
            return _has_capture(item)
        case Sequence(parts) | Choice(parts):
            return any(map(_has_capture, parts))
        case _:
            return False


def written_set(members: CodePoints) -> str:
    """Return the set as a class of Python's."""
    if members == NOTHING:
        return "(?!)"
    if members == EVERYTHING:
        return "(?s:.)"
    if len(members) == 1 and members[0][0] == members[0][1]:
        return _escaped(members[0][0])
    parts = (_escaped(low) + (f"-{_escaped(high)}" if high > low else "") for low, high in members)
    return f"[{''.join(parts)}]"


def _escaped(number: int) -> str:
    text = chr(number)
    if text.isascii() and text.isalnum():
        return text
    return f"\\x{number:02x}" if number < 0x100 else f"\\U{number:08x}"
