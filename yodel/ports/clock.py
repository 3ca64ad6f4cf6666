"""Time, so that no logic reads it by itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Epoch milliseconds (UTC)."""

    def monotonic_s(self) -> float:
        """For durations."""
