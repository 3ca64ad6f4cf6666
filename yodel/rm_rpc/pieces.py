"""Long lists, of a request or of an answer, gone through a piece at a time: other callers are answered between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
PIECE = 500
"""Elements that are read in one go: five milliseconds."""
REPORTS_PIECE = 50
"""Reports of applications or nodes that are made in one go: five milliseconds."""


async def in_pieces(read: Callable[[Any], T], messages: Sequence[Any], piece: int = PIECE) -> list[T]:
    """What ``read`` makes of each.  Raises as it does."""
    found = list[T]()
    for start in range(0, len(messages), piece):
        found += map(read, messages[start : start + piece])
        await asyncio.sleep(0)
    return found
