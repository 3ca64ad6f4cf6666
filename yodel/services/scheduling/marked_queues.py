"""Removes queues that are marked to go (decision 0089) when the last application has left them.

The marks are in the queues' rows, so whoever leads finds them, after a restart too.  One task; it looks when an
application ends or a queue changes while something is marked, and again later where that did not do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from yodel.domain.application import Application
from yodel.domain.queues.removal import mark_of
from yodel.errors import Refused, Unavailable
from yodel.ports.store import Row
from yodel.services.writer.engine import Engine

LOOK_AGAIN_S = 30.0
log = structlog.get_logger("yodel.scheduler_conf")


class MarkedQueues:
    """One task.  ``remove_empty`` raises Refused and Unavailable."""

    def __init__(self, engine: Engine, remove_empty: Callable[[], Awaitable[None]]) -> None:
        self._engine, self._remove_empty = engine, remove_empty
        self._queues = -1
        """As of which change of the queues it is known whether some are marked."""
        self._are_some = False
        self._wanted = asyncio.Event()

    def published(self, rows: Sequence[Row]) -> None:
        """Rows were committed.  Never waits."""
        if self._queues != self._engine.state.change_counters.queues or (
            self._are_some and any(isinstance(row, Application) and row.state.is_final for row in rows)
        ):
            self._wanted.set()

    async def run(self) -> None:
        while True:
            self._wanted.clear()
            await self.look()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S if self._are_some else None):
                    await self._wanted.wait()

    async def look(self) -> None:
        """Removes what may go now."""
        state = self._engine.state
        if self._queues != state.change_counters.queues:
            self._queues = state.change_counters.queues
            self._are_some = any(mark_of(queue) is not None for queue in state.queues.values())
        if not self._are_some:
            return
        try:
            await self._remove_empty()
        except (Refused, Unavailable) as error:
            log.warning("marked queues not removed, will retry", error=str(error))
