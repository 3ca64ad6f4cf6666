"""Limits the bytes of request bodies held at once, over all callers: each may send a large one, and may be slow.

The beginning of every body has its own limit: a few large bodies that never end take nothing from the small ones, which
nearly all real ones are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from yodel.errors import Unavailable
from yodel.telemetry.further_limits import REST_BODIES_HELD
from yodel.telemetry.limits import REFUSALS

HELD_BYTES_MAX = 128 * 1024 * 1024
"""Eight of the largest bodies there are; real ones have some tens of KiB."""
SMALL_BYTES = 64 * 1024
"""The bytes of each body in the room that is for beginnings."""
SMALL_HELD_BYTES_MAX = 1024 * SMALL_BYTES


class BodyRoom:
    """Shared by all requests of one web side."""

    def __init__(self, bytes_max: int = HELD_BYTES_MAX, small_bytes_max: int = SMALL_HELD_BYTES_MAX) -> None:
        self._bytes_max, self._free, self._small_free = bytes_max, bytes_max, small_bytes_max

    @contextlib.contextmanager
    def reading(self, caller: str = "") -> Iterator[Callable[[int], None]]:
        """Count one body of that caller: call the result with a part's bytes before keeping it; all are released in the
        end.

        The call raises Unavailable when there is no room.
        """
        held = small_held = 0

        def hold(size_bytes: int) -> None:
            nonlocal held, small_held
            small = min(size_bytes, SMALL_BYTES - small_held, self._small_free)
            if size_bytes - small > self._free:
                held_bytes = self._bytes_max - self._free + size_bytes - small
                REFUSALS.tell(REST_BODIES_HELD, caller=caller, value=held_bytes, maximum=self._bytes_max)
                words = REST_BODIES_HELD.words(held_bytes, self._bytes_max)
                raise Unavailable(f"Too many large requests are being read: {words}; try again")
            self._free -= size_bytes - small
            self._small_free -= small
            held += size_bytes - small
            small_held += small

        try:
            yield hold
        finally:
            self._free += held
            self._small_free += small_held
