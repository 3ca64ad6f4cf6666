"""The machine's own clock, and timers of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()


class LoopTimers:
    """Implements yodel.ports.clock.Timers on the running event loop."""

    def ring(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay_s, callback)
