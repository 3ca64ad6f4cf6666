"""The retry cache: a repeated at-most-once call gets the first one's reply, or waits for it.

A client whose connection breaks in the middle of a call sends the same (client id, call id) again on a new one.  The
cache owns the tasks of running calls, so they outlive the connection they came on.  Only successes are kept: after a
failure the repeat runs again, as with ``org.apache.hadoop.ipc.RetryCache``.  Bounded in entries, bytes and seconds;
when it is full of running calls, new ones are refused as retriable.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

from yodel.errors import YodelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryCacheLimits:
    """Limits the kept replies.  600 s is HDFS's ``dfs.namenode.retrycache.expirytime.millis``."""

    entries_max: int = 10_000
    reply_bytes_max: int = 32 * 1024 * 1024
    keep_s: float = 600.0


class RetryCacheFull(YodelError):
    """Every entry is a call that still runs."""

    def __init__(self) -> None:
        super().__init__("Server is too busy.")


class CallKey(NamedTuple):
    """A logical call.  The user is part of it: nobody may fetch another's reply by guessing ids."""

    client_id: bytes
    call_id: int
    protocol: str
    method: str
    user: str


class RetryCache:
    """Replies by call, oldest first, and the tasks of calls that run."""

    def __init__(self, limits: RetryCacheLimits, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._replies: OrderedDict[CallKey, tuple[float, bytes]] = OrderedDict()
        self._running: dict[CallKey, asyncio.Task[bytes]] = {}
        self._reply_bytes = 0

    def __len__(self) -> int:
        return len(self._replies) + len(self._running)

    def get(self, key: CallKey) -> bytes | asyncio.Task[bytes] | None:
        """The reply, the running call, or None if the call is new (or long ago)."""
        self._expire()
        stored = self._replies.get(key)
        return self._running.get(key) if stored is None else stored[1]

    def reserve(self) -> None:
        """Make room for one call.

        Raises:
            RetryCacheFull: all entries run.
        """
        if len(self._running) >= self._limits.entries_max:
            raise RetryCacheFull
        while len(self) >= self._limits.entries_max:
            self._drop_oldest()

    def put(self, key: CallKey, reply: bytes) -> None:
        """Keep a reply; the oldest go if there are too many bytes."""
        self._replies[key] = (self._monotonic() + self._limits.keep_s, reply)
        self._reply_bytes += len(reply)
        while self._reply_bytes > self._limits.reply_bytes_max:
            self._drop_oldest()

    def run(self, key: CallKey, call: Coroutine[Any, Any, bytes]) -> asyncio.Task[bytes]:
        """Run a call to its end, whoever still waits, and keep its reply."""
        task = asyncio.get_running_loop().create_task(call, name=f"rpc-once-{key.method}")
        self._running[key] = task
        task.add_done_callback(lambda done: self._done(key, done))
        return task

    async def close(self) -> None:
        """Cancel what runs, and wait for it."""
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, key: CallKey, task: asyncio.Task[bytes]) -> None:
        del self._running[key]
        if not task.cancelled() and task.exception() is None:
            self.put(key, task.result())

    def _expire(self) -> None:
        now_s = self._monotonic()
        while self._replies and next(iter(self._replies.values()))[0] <= now_s:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, reply) = self._replies.popitem(last=False)
        self._reply_bytes -= len(reply)
