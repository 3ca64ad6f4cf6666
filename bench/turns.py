"""Measures how long a loop is kept from everybody else, in processor time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Turns:
    """The longest turn of the loop since one asked last, in seconds of the thread."""

    def __init__(self) -> None:
        self._longest_s = 0.0

    def install(self) -> None:
        run: Callable[[asyncio.Handle], None] = asyncio.Handle._run  # type: ignore[attr-defined]

        def measured(handle: asyncio.Handle) -> None:
            began_s = time.thread_time()
            run(handle)
            self._longest_s = max(self._longest_s, time.thread_time() - began_s)

        asyncio.Handle._run = measured  # type: ignore[attr-defined]

    def longest_s(self) -> float:
        found, self._longest_s = self._longest_s, 0.0
        return found
