"""Work in a thread that must not be left alone with what it works on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TypeVar

from nm_plugin.shuffle.map_output import MapOutputUnreadable

T = TypeVar("T")


async def to_its_end(work: Awaitable[T]) -> T:
    """Cancellation waits for the thread: descriptors must not be closed, and their numbers reused, under it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, MapOutputUnreadable):
            await task
        raise
