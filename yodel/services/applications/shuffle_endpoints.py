"""Looks every ten seconds whether the endpoints of shuffle services that queues name are there.

What is known counts where an ApplicationMaster is about to be launched; a submission never waits for it.  An endpoint
that was not looked at before is tried a second time at once: so a new leader knows what the one before it knew before
it serves anybody, and what a queue has just been told is known soon.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from yodel.domain.shuffle.words import endpoints_of
from yodel.ports.endpoints import Endpoints
from yodel.services.writer.endpoint_book import Endpoint, Presence
from yodel.services.writer.state import ClusterState

LOOK_S = 10.0
BEGIN_S = 3.0
AT_ONCE = 32
"""Connections; each takes a second at most."""
log = structlog.get_logger("yodel.shuffle")


class ShuffleEndpoints:
    """One task, and a look before the ResourceManager serves."""

    def __init__(self, state: ClusterState, endpoints: Endpoints) -> None:
        self._state, self._endpoints = state, endpoints
        self._queues = -1
        self._named: frozenset[Endpoint] = frozenset()
        self._changed = asyncio.Event()

    def published(self) -> None:
        """Rows were committed.  Never waits."""
        if self._queues != self._state.change_counters.queues:
            self._changed.set()

    async def begin(self) -> None:
        """Before anybody is served; those that many others keep waiting are looked at later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_S):
                await self.look()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._changed.wait()
            only_new = self._changed.is_set()
            self._changed.clear()  # before the look: what is published during it is looked at next
            await self.look(only_new=only_new)

    async def look(self, *, only_new: bool = False) -> None:
        """Look at all endpoints that queues name, or at those alone that nothing is known of."""
        slots = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(
            *(
                self._look(endpoint, slots)
                for endpoint in self._all()
                if not only_new or self._state.endpoints.presence(endpoint) is Presence.UNKNOWN
            )
        )

    def _all(self) -> frozenset[Endpoint]:
        if self._queues != self._state.change_counters.queues:
            self._queues = self._state.change_counters.queues
            rows = (queue.shuffle for queue in self._state.queues.values() if queue.shuffle)
            self._named = frozenset(endpoint for words in rows for endpoint in endpoints_of(words))
            self._state.endpoints.forget_others(self._named)
        return self._named

    async def _look(self, endpoint: Endpoint, slots: asyncio.Semaphore) -> None:
        host, port = endpoint
        async with slots:
            is_new = self._state.endpoints.presence(endpoint) is Presence.UNKNOWN
            has_answered = await self._endpoints.answers(host, port)
            self._tell(endpoint, has_answered)
            if is_new and not has_answered:
                self._tell(endpoint, await self._endpoints.answers(host, port))

    def _tell(self, endpoint: Endpoint, has_answered: bool) -> None:
        if endpoint in self._named and self._state.endpoints.tell(endpoint, has_answered=has_answered):
            host, port = endpoint
            presence = self._state.endpoints.presence(endpoint)
            log.info("endpoint of remote shuffle", endpoint=f"{host}:{port}", presence=presence.value)
