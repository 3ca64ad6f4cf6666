"""Counts operations and their durations, as Hadoop's MutableRate shows them."""

from __future__ import annotations

PERIOD_S = 10.0
"""Hadoop's metrics are looked at every ten seconds (``*.period`` of hadoop-metrics2.properties)."""


class Rate:
    """The count is of all time, the mean of the last period in which there was any.  Times are of a monotonic clock."""

    __slots__ = ("_before", "_count", "_mean_s", "_since_s", "_sum_s", "total")

    def __init__(self) -> None:
        self.total = 0
        self._count, self._sum_s, self._since_s = 0, 0.0, float("-inf")
        self._before = 0
        """How many there were in the period before this one."""
        self._mean_s: float | None = None

    def add(self, took_s: float, now_s: float) -> None:
        if now_s - self._since_s >= PERIOD_S:
            self._turn(now_s)
        self.total += 1
        self._count += 1
        self._sum_s += took_s

    def mean_ms(self, now_s: float) -> float:
        """0 when there was none yet.  The first period is told while it lasts."""
        self._turn(now_s)
        if self._mean_s is None:
            return 1000.0 * self._sum_s / self._count if self._count else 0.0
        return 1000.0 * self._mean_s

    def per_second(self, now_s: float) -> float:
        """Over the last whole period."""
        self._turn(now_s)
        return self._before / PERIOD_S

    def _turn(self, now_s: float) -> None:
        past_s = now_s - self._since_s
        if past_s < PERIOD_S:
            return
        if self._count:
            self._mean_s = self._sum_s / self._count
        self._before = self._count if past_s < 2 * PERIOD_S else 0
        self._count, self._sum_s, self._since_s = 0, 0.0, now_s
