"""Time, so that no logic reads it by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Epoch milliseconds (UTC)."""

    def monotonic_s(self) -> float:
        """Return seconds of the monotonic clock, for durations."""


class Timer(Protocol):
    def cancel(self) -> None:
        """It will not ring; nothing when it has."""


class Timers(Protocol):
    def ring(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Call once that time has passed, from the event loop."""
