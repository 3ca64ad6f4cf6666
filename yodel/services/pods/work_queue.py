"""A keyed work queue: what has to be looked at, not what happened.

A key is worked on by one worker at a time, so no two act on one pod; different keys run in parallel.  Adding a key that
already waits changes nothing; adding one that is being worked on means one more round afterwards, because the worker
may have read the old state.  Keys are taken in order, but those that ``goes_first`` names before all others: a thousand
new wishes must not keep what is half done waiting.  A round that fails for an outside reason is repeated after a
back-off of that key's own; an addition does not shorten it, else events would defeat it.  Follows client-go's
rate-limited workqueue.

It refuses to keep events (the handler reads the present state), to grow without bound, and to swallow bugs: only
Unavailable and a missed deadline are repeated, anything else ends ``run``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from itertools import count
from typing import Generic, TypeVar

import structlog

from yodel.domain.backoff import Backoff, Random
from yodel.errors import InvalidValue, Unavailable
from yodel.ports.clock import Timer, Timers

_log = structlog.get_logger(__name__)
Key = TypeVar("Key", bound=Hashable)

Handle = Callable[[Key], Awaitable[float | None]]
"""One round for a key.  Returns the seconds after which the key wants another round unasked, or None."""


class _KeyState(Enum):
    QUEUED = auto()
    RUNNING = auto()
    RUNNING_AGAIN = auto()  # was added during its round
    DELAYED = auto()  # its handler asked for a later round
    BACKING_OFF = auto()  # its last round failed


_ON_ADD: dict[_KeyState | None, _KeyState] = {
    None: _KeyState.QUEUED,
    _KeyState.QUEUED: _KeyState.QUEUED,
    _KeyState.RUNNING: _KeyState.RUNNING_AGAIN,
    _KeyState.RUNNING_AGAIN: _KeyState.RUNNING_AGAIN,
    _KeyState.DELAYED: _KeyState.QUEUED,
    _KeyState.BACKING_OFF: _KeyState.BACKING_OFF,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """``keys_max`` counts every key in the queue in whatever state; after ``attempts_max`` failures in a row a key is
    dropped and counted: whoever scans the whole truth periodically brings it back."""

    workers: int = 48
    keys_max: int = 200_000
    attempts_max: int = 20
    round_timeout_s: float = 120.0
    backoff: Backoff = field(default_factory=lambda: Backoff(initial_s=0.2, cap_s=60.0))

    def __post_init__(self) -> None:
        if min(self.workers, self.keys_max, self.attempts_max) < 1:
            raise InvalidValue("queue limits", self, "at least one worker, key and attempt")


class WorkQueue(Generic[Key]):
    """Queues keys for workers of one event loop; ``run`` owns the workers."""

    def __init__(
        self,
        handle: Handle[Key],
        random: Random,
        timers: Timers,
        limits: QueueLimits | None = None,
        goes_first: Callable[[Key], bool] = lambda _: False,
    ) -> None:
        """``goes_first`` is asked when a key gets its place, and not again while it waits there."""
        self._handle, self._random, self._timers = handle, random, timers
        self._limits = limits or QueueLimits()
        self._goes_first, self._places = goes_first, count()
        self._states: dict[Key, _KeyState] = {}
        self._ready: asyncio.PriorityQueue[tuple[bool, int, Key]] = asyncio.PriorityQueue()
        """Bounded by keys_max: a key is in it at most once."""
        self._later: dict[Key, Timer] = {}
        self._failures: dict[Key, int] = {}
        self.given_up = 0
        self.turned_away = 0

    def __len__(self) -> int:
        """Keys in the queue, in whatever state."""
        return len(self._states)

    def __contains__(self, key: object) -> bool:
        """Return True if the key is queued, waiting or being worked on."""
        return key in self._states

    def add(self, key: Key) -> bool:
        """Ask for a round.  False, and counted, when the queue is full; a periodic scan has to bring the key back."""
        before = self._states.get(key)
        if before is None and len(self._states) >= self._limits.keys_max:
            self.turned_away += 1
            return False
        after = _ON_ADD[before]
        if after is _KeyState.QUEUED and before is not _KeyState.QUEUED:
            self._enqueue(key)
        self._states[key] = after
        return True

    async def run(self) -> None:
        """Work until cancelled.

        Raises: (in a group) what a handler raised that was neither Unavailable nor TimeoutError.
        """
        try:
            async with asyncio.TaskGroup() as workers:
                for number in range(self._limits.workers):
                    workers.create_task(self._work(), name=f"work-queue-{number}")
        finally:
            for timer in self._later.values():
                timer.cancel()

    @property
    def is_ready(self) -> bool:
        """A round is due now."""
        return not self._ready.empty()

    async def round(self) -> None:
        """Work on the next key that is due; waits for one.  Raises what ``run`` does."""
        _, _, key = await self._ready.get()
        self._states[key] = _KeyState.RUNNING
        try:
            async with asyncio.timeout(self._limits.round_timeout_s):
                again_after_s = await self._handle(key)
        except (Unavailable, TimeoutError) as error:
            self._failed(key, error)
        else:
            self._succeeded(key, again_after_s)

    async def _work(self) -> None:
        while True:
            await self.round()
            # A handler that found nothing to do never waited: without this, ten thousand of them would be one piece.
            await asyncio.sleep(0)

    def _succeeded(self, key: Key, again_after_s: float | None) -> None:
        self._failures.pop(key, None)
        if self._states[key] is _KeyState.RUNNING_AGAIN:
            self._enqueue(key)
        elif again_after_s is not None:
            self._enqueue_later(key, _KeyState.DELAYED, again_after_s)
        else:
            del self._states[key]

    def _failed(self, key: Key, error: Exception) -> None:
        failures = self._failures.get(key, 0) + 1
        _log.warning("round_failed", key=str(key), failures=failures, error=str(error))
        if failures >= self._limits.attempts_max:
            self.given_up += 1
            self._failures.pop(key, None)
            del self._states[key]
            return
        self._failures[key] = failures
        self._enqueue_later(key, _KeyState.BACKING_OFF, self._limits.backoff.delay_s(failures, self._random))

    def _enqueue_later(self, key: Key, state: _KeyState, delay_s: float) -> None:
        self._states[key] = state
        self._later[key] = self._timers.ring(delay_s, partial(self._enqueue, key))

    def _enqueue(self, key: Key) -> None:
        timer = self._later.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._states[key] = _KeyState.QUEUED
        self._ready.put_nowait((not self._goes_first(key), next(self._places), key))
