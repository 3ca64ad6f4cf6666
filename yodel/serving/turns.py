"""Turns of the loop's thread: who has more for it than one small call waits, and the callers come one after another.

The first call of a read is answered at once, and costs nothing here.  Everything beyond it (the calls behind it in the
same read, coroutines, the pieces of a long list) needs the turn of which there is one each time the loop comes round:
between two of them whatever has arrived meanwhile is read.  A thousand calls of one caller so stand behind one another,
and not before the first call of anybody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar

TURN_S = 0.005
"""The processor time of a turn: a quarter of what the loop may be kept for."""


class Turns:
    """Shared by all ports of a process.  ``processor_s`` is the thread's processor time."""

    def __init__(self, processor_s: Callable[[], float] = time.thread_time) -> None:
        self.processor_s = processor_s
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        """By caller, who comes next first."""
        self._is_taken = False

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self) -> bool:
        """Return True if the turn is free; it is then taken until the loop has come round."""
        if self._is_taken:
            return False
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._pass_on)
        return True

    def later(self, caller: str, act: Callable[[], None]) -> None:
        """``act``, which raises nothing, is called when the caller's turn has come."""
        self._waiting.setdefault(caller, deque()).append(act)
        self.take()

    async def turn(self, caller: str) -> None:
        """Wait for the caller's turn; return at once if it is free."""
        if not self.take():
            await self.next_turn(caller)

    async def next_turn(self, caller: str) -> None:
        """Returns in a later turn than this, after those of others who wait."""
        mine = asyncio.get_running_loop().create_future()
        self.later(caller, lambda: None if mine.done() else mine.set_result(None))
        await mine

    def _pass_on(self) -> None:
        if not self._waiting:
            self._is_taken = False
            return
        caller, acts = next(iter(self._waiting.items()))
        del self._waiting[caller]
        act = acts.popleft()
        if acts:
            self._waiting[caller] = acts  # behind all others
        try:
            act()
        finally:
            asyncio.get_running_loop().call_soon(self._pass_on)


_PLACE: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("place", default=None)


@contextlib.contextmanager
def standing(turns: Turns, caller: str) -> Iterator[None]:
    """Do the task's work for the caller: where others come first, it waits for the caller's turn."""
    token = _PLACE.set(lambda: turns.next_turn(caller))
    try:
        yield
    finally:
        _PLACE.reset(token)


async def others_first() -> None:
    """Between two pieces of long work: whoever else is there comes before this task goes on."""
    place = _PLACE.get()
    await (asyncio.sleep(0) if place is None else place())
