"""Long lists of a request, read a piece at a time: other callers are answered between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
PIECE = 500
"""Elements that are read in one go: five milliseconds."""


async def in_pieces(read: Callable[[Any], T], messages: Sequence[Any]) -> list[T]:
    """What ``read`` makes of each.  Raises as it does."""
    found = list[T]()
    for start in range(0, len(messages), PIECE):
        found += map(read, messages[start : start + PIECE])
        await asyncio.sleep(0)
    return found
