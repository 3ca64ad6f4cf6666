"""Ends what takes longer than it may: each part of a measurement has a maximum, and all of it together has one."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

CLEANUP_S = 90.0
"""Seconds for each thing that is put away after a part was ended; what takes longer is given up, too."""


class TookTooLong(RuntimeError):
    """A part did not end in time."""


FAILURES = (AssertionError, LookupError, OSError, RuntimeError, ValueError, subprocess.SubprocessError)
"""Exceptions that end one part of a measurement, which is told, and not the others."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Limits a measurement to ``end_s`` of the monotonic clock.  Only the main thread may use it, for it uses SIGALRM:
    whatever a part waits for (a process, a thread, a cluster) is interrupted."""

    end_s: float

    @contextmanager
    def part(self, what: str, most_s: float) -> Iterator[None]:
        """Limit a part of it to so many seconds.

        Raises:
            TookTooLong: it is not over by then, or nothing is left of the whole time.
        """
        left_s = min(most_s, self.end_s - time.monotonic())
        if left_s <= 0:
            raise TookTooLong(f"{what}: no time is left for it")

        def end(number: int, frame: object) -> None:
            raise TookTooLong(f"{what}: not over after {left_s:.0f} s")

        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, left_s, CLEANUP_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
