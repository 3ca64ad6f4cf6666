"""A token bucket in front of pod creation, so that a large ask does not trip the API server's own flow control.

It reserves instead of refusing: each caller is told how long to wait and its turn is already counted, so waiters keep
their order.  The clock is handed in; the caller does the waiting.
"""

from __future__ import annotations

from collections.abc import Callable

from yodel.errors import InvalidValue

Clock = Callable[[], float]
"""Monotonic seconds."""


class TokenBucket:
    """``per_second`` turns a second on average, ``burst`` at once after a quiet time."""

    def __init__(self, *, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise InvalidValue("create limit", (per_second, burst), "a positive rate and a burst of at least 1")
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._tokens = float(burst)
        self._counted_at_s = clock()

    def reserve(self, longest_wait_s: float) -> float | None:
        """Seconds to wait for the turn just taken; None, and no turn taken, when it would be over the longest wait."""
        self._refill()
        wait_s = max(0.0, (1.0 - self._tokens) / self._per_second)
        if wait_s > longest_wait_s:
            return None
        self._tokens -= 1.0
        return wait_s

    def _refill(self) -> None:
        now_s = self._clock()
        self._tokens = min(float(self._burst), self._tokens + (now_s - self._counted_at_s) * self._per_second)
        self._counted_at_s = now_s
