"""Room that is held for who waits for it long: nobody who is served later gets it.  Pure.

A large container would wait for ever where small ones fill whatever becomes free.  So who has waited for room longer
than a bound is not passed over any more: when its turn comes and it does not fit, what it wants is set aside of the
room that is left for those after it, until it fits.  Who is served before it goes on as before; so room is held by the
order of the queues, and for a queue above its guarantee nothing is held from one below its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple, TypeAlias

from yodel.domain.ask_book import AskKey
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.resource import NONE, Resource

HELD_MAX = 8
"""Wishes of one pool that room is held for at once, one of a leaf: each is looked at in every round."""
HELD_PART = 4
"""Room is held for a second wish while all that is held is no more than one part of so many of the pool."""
Wait: TypeAlias = tuple[ApplicationAttemptId, AskKey | None]
"""A wish, or (None) the attempt's ApplicationMaster."""


class Hold(NamedTuple):
    """Whom room is held for: one container of ``size``, rounded as it will be taken."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    queue: str
    user: str
    size: Resource

    @property
    def wait(self) -> Wait:
        return self.attempt_id, self.key


class Moment(NamedTuple):
    """When something is decided, and after how long a wait room is held (infinite: never).  For what is not larger than
    the ``minimum`` it need not be: nothing smaller comes first."""

    now_s: float = 0.0
    hold_after_s: float = inf
    minimum: Resource = NONE


class _Since(NamedTuple):
    at_s: float
    size: Resource


class Waits:
    """Since when the wishes of each leaf wait for nothing but room, and which leaves have one that waits too long.

    Each container that starts begins the patience of its wish anew.
    """

    def __init__(self) -> None:
        self._since: dict[str, dict[Wait, _Since]] = {}
        self._oldest_s: dict[str, float] = {}
        self._next: list[tuple[float, str]] = []
        """Oldest waits of leaves; those that are no more are passed over."""
        self._due: dict[str, None] = {}
        self._after_s = inf

    def looked(self, path: str, short: Mapping[Wait, Resource], served: Collection[Wait], now_s: float) -> None:
        """What of a leaf waits for room, in the order it is served, with its sizes; of ``served`` something starts."""
        before, now = self._since.get(path, {}), dict[Wait, _Since]()
        for wait, size in short.items():
            old = before.get(wait)
            now[wait] = old if old is not None and wait not in served else _Since(now_s, size)
        self._since[path] = now
        self._date(path)

    def served(self, path: str, waits: Iterable[Wait]) -> None:
        """Something of these starts; of the others nothing is known."""
        kept = self._since.get(path, {})
        for wait in waits:
            kept.pop(wait, None)
        self._date(path)

    def forget(self, path: str) -> None:
        self._since.pop(path, None)
        self._date(path)

    def due(self, moment: Moment) -> Collection[str]:
        """Leaves with a wish that waits longer than the bound."""
        if moment.hold_after_s != self._after_s:
            self._after_s = moment.hold_after_s
            self._due.clear()
            self._next = [(since_s, path) for path, since_s in self._oldest_s.items()]
            heapify(self._next)
        while self._next and self._next[0][0] + self._after_s <= moment.now_s:
            since_s, path = heappop(self._next)
            if self._oldest_s.get(path) == since_s:
                self._due[path] = None
        return self._due

    def due_of(self, path: str, moment: Moment) -> Iterator[tuple[Wait, Resource]]:
        """Those of a leaf that wait longer than the bound, in the order they are served."""
        for wait, since in self._since.get(path, {}).items():
            if since.at_s + moment.hold_after_s <= moment.now_s:
                yield wait, since.size

    @property
    def next_s(self) -> float:
        """When the next bound passes; infinite: nothing waits."""
        while self._next and self._oldest_s.get(self._next[0][1]) != self._next[0][0]:
            heappop(self._next)
        return self._next[0][0] + self._after_s if self._next else inf

    def _date(self, path: str) -> None:
        oldest_s = min((since.at_s for since in self._since.get(path, {}).values()), default=None)
        if oldest_s is None:
            self._since.pop(path, None)
        if oldest_s == self._oldest_s.get(path):
            return
        self._due.pop(path, None)
        if oldest_s is None:
            del self._oldest_s[path]
        else:
            self._oldest_s[path] = oldest_s
            heappush(self._next, (oldest_s, path))
