"""Schedules downloads: a limited number at a time, of which no user may take those reserved for others.

Slow sources of one user thus leave downloads to everybody else.  Of the waiting users the one with the fewest is next,
and whoever was served last waits longest.  A resource that several users need is charged to one of them, the first that
can have it.
"""

from __future__ import annotations

import asyncio
from collections import Counter


class LocalizationTurns:
    """``size`` at a time.  For the event loop's thread."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, dict[LocalizationTurn, None]] = {}
        """In their order, those who are next first."""

    def turn(self) -> LocalizationTurn:
        return LocalizationTurn(self)

    def ask(self, user: str, turn: LocalizationTurn) -> None:
        """Queue ``turn`` for a user."""
        self._waiting.setdefault(user, {})[turn] = None
        self._grant()

    def leave(self, user: str, turn: LocalizationTurn) -> None:
        """It is waited for no longer."""
        queue = self._waiting.get(user, {})
        queue.pop(turn, None)
        if not queue:
            self._waiting.pop(user, None)

    def release(self, user: str) -> None:
        """A turn that went on the user's account has ended."""
        self._free += 1
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
        self._grant()

    def _grant(self) -> None:
        while able := [user for user in self._waiting if self._held[user] < self._free]:
            user = min(able, key=self._held.__getitem__)
            self._held[user] += 1
            self._free -= 1
            queue = self._waiting.pop(user)
            self._waiting[user] = queue  # behind all others
            next(iter(queue)).grant(user)


class LocalizationTurn:
    """``end`` it in any case; that may be repeated."""

    def __init__(self, turns: LocalizationTurns) -> None:
        self._turns = turns
        self._users: set[str] = set()
        self._granted: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._has_ended = False

    def ask(self, user: str) -> None:
        """This user wants it, maybe among others."""
        if user not in self._users and not self._granted.done():
            self._users.add(user)
            self._turns.ask(user, self)

    async def come(self) -> None:
        """Wait until it is its turn."""
        await asyncio.shield(self._granted)

    def grant(self, user: str) -> None:
        """It goes on this user's account."""
        self._granted.set_result(user)
        self._leave()

    def end(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        if self._granted.done():
            self._turns.release(self._granted.result())
        else:
            self._granted.cancel()
            self._leave()

    def _leave(self) -> None:
        for user in self._users:
            self._turns.leave(user, self)
