"""Which look-behinds Java takes: those in which its compiler sees a longest match (``Pattern.TreeInfo``).

Java adds up lengths in 32 bits, so ``(?<=a*)`` has a maximum for it and ``(?<=(?:ab)*)`` has none.
"""

from __future__ import annotations

from yodel.domain.java_patterns.tree import Atomic, Back, Chars, Choice, Edge, Group, Look, Node, Repeat, Sequence

_MOST = 2**31 - 1


def has_maximum(node: Node) -> bool:
    return _studied(node, 0) is not None


def _studied(node: Node, before: int) -> int | None:
    """Return the length so far with this node added, as Java computes it; None once it sees no maximum."""
    match node:
        case Chars():
            return _int(before + 1)
        case Edge() | Look():
            return before
        case Back():
            return None
        case Group(item) | Atomic(item):
            return _studied(item, before)
        case Sequence(items):
            return _sequence(items, before)
        case Choice(options):
            return _branch(options, before)
        case Repeat():
            return _repeat(node, before)


def _sequence(items: tuple[Node, ...], before: int) -> int | None:
    """What comes behind a branch is added up from 0 and added to the rest at the end."""
    done, length = 0, before
    for item in items:
        found = _studied(item, length)
        if found is None:
            return None
        length = found
        if _is_branch(item):
            done, length = _int(done + length), 0
    return _int(done + length)


def _branch(options: tuple[Node, ...], before: int) -> int | None:
    lengths = [_studied(option, 0) for option in options]
    if None in lengths:
        return None
    return _int(before + max(length for length in lengths if length is not None))


def _repeat(node: Repeat, before: int) -> int | None:
    item, most = node.item, _MOST if node.most is None else node.most
    if isinstance(item, Chars) and node.most is None and not node.greed:
        return _int(before + _MOST)
    if (node.least, most) == (0, 1):
        return _studied(item, before)
    if isinstance(item, Group) and node.greed != "+" and not _is_deterministic(item):
        return None
    inner = _studied(item, 0)
    if inner is None:
        return None
    found = _int(inner * most + before)
    return None if found < before else found


def _is_branch(node: Node) -> bool:
    if isinstance(node, Group):
        return _is_branch(node.item)
    if isinstance(node, Repeat):
        return isinstance(node.item, Group) and (node.least, node.most) == (0, 1) and node.greed != "+"
    return isinstance(node, Choice)


def _is_deterministic(node: Node) -> bool:
    match node:
        case Choice():
            return False
        case Sequence(items):
            return all(map(_is_deterministic, items))
        case Group(item):
            return _is_deterministic(item)
        case Repeat(item, least, most):
            return least == most and _is_deterministic(item)
        case _:
            return True


def _int(number: int) -> int:
    """The number as Java's ``int`` has it."""
    return (number + 2**31) % 2**32 - 2**31
