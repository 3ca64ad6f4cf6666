"""Requests at a bounded pace: what one client may ask of an API server that serves others too.

Two rules.  A token bucket over all calls (client-go's QPS and burst); creations have a smaller one of their own in the
driver.  And when the server says 429 with a time (its priority and fairness), every call waits for that time, not only
the one that was told: the queue that was full is the same for all.  Watches are not counted: they are opened rarely and
each has its own back-off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from yodel.domain.backoff import Random
from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, ApiStatus, KubeApi
from yodel.kube.limiter import Clock, TokenBucket

TOO_MANY_REQUESTS = 429
JITTER = 0.25
"""Part of a told time that is added at random: those who were turned away together do not come back together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceLimits:
    """``per_second`` calls on average, ``burst`` at once after a quiet time.  A call that would have to wait longer
    than its own deadline is Unavailable at once."""

    per_second: float = 400.0
    burst: int = 800


class PacedKube:
    """Implements yodel.kube.api.KubeApi over another."""

    def __init__(self, api: KubeApi, limits: PaceLimits, *, clock: Clock, random: Random) -> None:
        self._api, self._clock, self._random = api, clock, random
        self._bucket = TokenBucket(per_second=limits.per_second, burst=limits.burst, clock=clock)
        self._not_before_s = float("-inf")
        self.turned_away = 0
        """How often the server said 429."""
        self.waited_s = 0.0
        """Seconds that calls have waited for their turn, in all."""

    async def call(self, request: ApiRequest) -> bytes:
        """See KubeApi.call; Unavailable too when the turn would come too late."""
        await self._turn(request)
        try:
            return await self._api.call(request)
        except ApiStatus as status:
            self._heed(status)
            raise

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._api.stream(request)

    async def _turn(self, request: ApiRequest) -> None:
        pause_s = max(0.0, self._not_before_s - self._clock())
        wait_s = self._bucket.reserve(request.timeout_s - pause_s)
        if wait_s is None:
            raise Unavailable(f"{request.method} {request.path}: too many requests are queued")
        delay_s = max(wait_s, pause_s)
        if delay_s > 0:
            self.waited_s += delay_s
            await asyncio.sleep(delay_s)

    def _heed(self, status: ApiStatus) -> None:
        if status.code != TOO_MANY_REQUESTS:
            return
        self.turned_away += 1
        told_s = status.retry_after_s or 0.0
        self._not_before_s = max(self._not_before_s, self._clock() + told_s * (1 + JITTER * self._random()))
