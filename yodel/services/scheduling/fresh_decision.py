"""Looks that readers ask for: where the scheduler sleeps because nothing has changed, what it found last is old.

It still holds, for whatever a decision reads wakes it; but who asks why something waits is told of the last second.
However many ask, there is one look a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState

FRESH_MS = 1000
TIMEOUT_S = 0.5
"""A reader gets what there is when the scheduler is busy for longer."""


class FreshDecision:
    """``wake`` has the scheduler look at once, and ``made`` is told of each look."""

    def __init__(self, state: ClusterState, clock: Clock, wake: Callable[[], None]) -> None:
        self._state, self._clock, self._wake = state, clock, wake
        self._next: asyncio.Event | None = None

    @property
    def is_fresh(self) -> bool:
        return self._clock.now_ms() - self._state.reasons.waiting.looked_at_ms <= FRESH_MS

    async def wait(self) -> None:
        """Wait until the last scheduling cycle is at most a second old, or the scheduler was too busy for one."""
        if self.is_fresh:
            return
        self._next = self._next or asyncio.Event()
        self._wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                await self._next.wait()

    def made(self) -> None:
        if self._next is not None:
            self._next.set()
            self._next = None
