"""Computes the wait after the n-th failure in a row: exponential, capped, jittered.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yodel.errors import InvalidValue

Random = Callable[[], float]
"""A number in [0, 1), as ``random.random``."""

_DOUBLINGS_MAX = 32  # beyond it every sensible cap is long reached, and floats stay far from overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Doubles from ``initial_s`` up to ``cap_s``; the wait is between half of that and all of it."""

    initial_s: float
    cap_s: float

    def __post_init__(self) -> None:
        if not 0 < self.initial_s <= self.cap_s:
            raise InvalidValue("back-off", (self.initial_s, self.cap_s), "0 < initial <= cap, in seconds")

    def delay_s(self, failures: int, random: Random) -> float:
        """Seconds to wait after ``failures`` (at least 1) failures in a row."""
        full_s = min(self.cap_s, self.initial_s * 2.0 ** min(failures - 1, _DOUBLINGS_MAX))
        return full_s * (0.5 + random() / 2)
