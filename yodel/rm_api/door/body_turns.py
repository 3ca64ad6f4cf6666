"""Large bodies are worked through a few at a time; who waits has a turn after the other callers.

Each is read in short turns of the loop.  Eighty of them side by side have all their turns one behind the other, and
whoever else has to come to the loop a few times waits as often for all eighty.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from yodel.errors import Unavailable
from yodel.telemetry.further_limits import REST_BODY_WAIT
from yodel.telemetry.limits import REFUSALS

AT_ONCE = 2
"""So that a long one does not hold up all others, and two turns are the most that a small request waits for."""
WAIT_S = 60.0
"""As long as a body may take to arrive."""


class BodyTurns:
    """Shared by all requests of one web side."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._free = at_once
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By caller, who comes next first."""

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    @contextlib.asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for the turn of one body of that caller.

        Raises:
            Unavailable: it took too long until there was one.
        """
        await self._gain(caller)
        try:
            yield
        finally:
            self._pass_on()

    async def _gain(self, caller: str) -> None:
        if self._free:
            self._free -= 1
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(mine)
        try:
            async with asyncio.timeout(WAIT_S):
                await mine
        except BaseException as error:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # it came, and nobody is there any more
            else:
                self._forget(caller, mine)
            if isinstance(error, TimeoutError):
                waited_s = round(WAIT_S)
                REFUSALS.tell(REST_BODY_WAIT, caller=caller, value=waited_s, maximum=waited_s)
                words = f"{REST_BODY_WAIT.words(waited_s, waited_s)}; try again"
                raise Unavailable(f"Too many large requests are being processed: {words}") from error
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            caller, futures = next(iter(self._waiting.items()))
            del self._waiting[caller]
            first = futures.popleft()
            if futures:
                self._waiting[caller] = futures  # behind all others
            if not first.done():
                first.set_result(None)
                return
        self._free += 1

    def _forget(self, caller: str, future: asyncio.Future[None]) -> None:
        futures = self._waiting.get(caller, deque())
        with contextlib.suppress(ValueError):
            futures.remove(future)
        if not futures:
            self._waiting.pop(caller, None)
