"""Measures how long the event loop's thread works in one piece, in processor time: other callers wait meanwhile.

A timer fires every few milliseconds.  Between when it was due and when it fires the thread did nothing but the turn
that made it late, so the processor time since the last fire, less the time until it was due, is a turn's for sure.  The
result is a little too small, by a timer's period at most, but never mistakes a busy machine or many short turns for a
long one, and costs the calls themselves nothing.  What arrived at once on many connections is one turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PERIOD_S = 0.005
LONG_S = 0.020


class LoopTurns:
    """``run`` as a task of its own, until cancelled.  ``processor_s`` is the thread's processor time."""

    def __init__(self, processor_s: Callable[[], float] = time.thread_time) -> None:
        self._processor_s = processor_s
        self._before_s = 0.0
        self.long_count = 0
        """Turns of more than ``LONG_S`` since the start."""
        self.longest_s = 0.0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def fire() -> None:
            nonlocal timer
            self.fired()
            timer = loop.call_later(PERIOD_S, fire)

        self._before_s = self._processor_s()
        fire()
        try:
            await loop.create_future()
        finally:
            assert timer is not None
            timer.cancel()

    def fired(self) -> None:
        """The timer did, at least one period after the last time."""
        now_s = self._processor_s()
        turn_s, self._before_s = now_s - self._before_s - PERIOD_S, now_s
        if turn_s > self.longest_s:
            self.longest_s = turn_s
        self.long_count += turn_s > LONG_S

    def gauges(self) -> dict[str, float]:
        return {"loop_turns_over_20_ms_total": self.long_count, "loop_turn_longest_seconds": self.longest_s}
