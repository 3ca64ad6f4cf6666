"""Wakes those who decide when a window of a queue begins or is over.

What counts is looked up by whoever decides (``Quotas.windows``); here it is only seen to that somebody does, at the
moment itself.  One task, asleep until the next edge; it looks at the clock twice a minute all the same: clocks jump.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

import structlog

from yodel.domain.queues.windows import NO_WINDOWS, WindowEffect
from yodel.ports.clock import Clock
from yodel.services.writer.engine import Engine
from yodel.services.writer.quotas import Quotas

LOOK_S = 30.0
EDGE_S = 0.001
"""A timer may ring a little early."""
log = structlog.get_logger("yodel.windows")


class WindowEdges:
    """One task."""

    def __init__(self, engine: Engine, clock: Clock, quotas: Quotas, wake_scheduler: Callable[[], None]) -> None:
        self._engine, self._clock, self._quotas, self._wake = engine, clock, quotas, wake_scheduler
        self._seen, self._seen_version = NO_WINDOWS, 0
        self._queues = engine.state.change_counters.queues
        self._changed = asyncio.Event()

    def published(self) -> None:
        """Rows were committed.  Never waits."""
        if self._queues != self._engine.state.change_counters.queues:
            self._queues = self._engine.state.change_counters.queues
            self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.look()):
                    await self._changed.wait()

    def look(self) -> float:
        """Notify about windows that opened or closed; return the seconds until the next check."""
        before, now = self._seen, self._quotas.windows
        version = self._quotas.windows_version
        if version != self._seen_version:  # maybe there and back: somebody decided by what was in between
            self._seen, self._seen_version = now, version
            self._tell(before.holds, now.holds)
        return min(LOOK_S, max(EDGE_S, (now.until_ms - self._clock.now_ms()) / 1000.0))

    def _tell(self, before: Mapping[str, WindowEffect], now: Mapping[str, WindowEffect]) -> None:
        change_counters = self._engine.state.change_counters
        change_counters.decision_input_changed()
        change_counters.changed()
        self._wake()
        for path in sorted({*before, *now}):
            was, is_ = before.get(path, WindowEffect()), now.get(path, WindowEffect())
            if was.open != is_.open:
                log.info(
                    "maximum capacity set by window",
                    queue=path,
                    window=is_.open.name if is_.open else "",
                    until=is_.ends,
                )
            if is_.near is not None and was.near != is_.near:
                log.info("window begins soon, nothing new starts", queue=path, window=is_.near.name, at=is_.begins)
