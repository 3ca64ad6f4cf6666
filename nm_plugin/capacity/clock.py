"""The time that the loop of measuring goes by, so that it can be played without waiting."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class LoopClock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds of a clock that only goes forward.  May be called from any thread."""

    async def sleep(self, duration_ms: int) -> None: ...


class MonotonicClock:
    """The machine's own."""

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    async def sleep(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)
