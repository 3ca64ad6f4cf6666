"""Long lists, of a request or of an answer, gone through a piece at a time: other callers are answered between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from yodel.serving.turns import others_first

T = TypeVar("T")
PIECE = 500
"""Elements that are read in one go: five milliseconds."""
REPORTS_PIECE = 50
"""Reports of applications or nodes that are made in one go: five milliseconds."""
CONTAINERS_PIECE = 100
"""Containers of one call that a node looks at in one go: four milliseconds where each has a token."""


async def taking_turns(elements: Iterable[T], piece: int) -> AsyncIterator[T]:
    """Each, as it is; somebody else has a turn behind so many."""
    for number, element in enumerate(elements, start=1):
        yield element
        if number % piece == 0:
            await others_first()


async def in_pieces(read: Callable[[Any], T], messages: Sequence[Any], piece: int = PIECE) -> list[T]:
    """Return the result of ``read`` for each message.  Raises as it does."""
    found = list[T]()
    for start in range(0, len(messages), piece):
        found += map(read, messages[start : start + piece])
        await others_first()
    return found
