"""How many bytes of request bodies are held at once, over all callers: each may send a large one, and may be slow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from yodel.errors import Unavailable

HELD_BYTES_MAX = 128 * 1024 * 1024
"""Eight of the largest bodies there are; real ones have some tens of KiB."""


class BodyRoom:
    """Shared by all requests of one web side."""

    def __init__(self, bytes_max: int = HELD_BYTES_MAX) -> None:
        self._free = bytes_max

    @contextlib.contextmanager
    def reading(self) -> Iterator[Callable[[int], None]]:
        """For one body: call it with the bytes of each part before keeping them; all are given back at the end.

        The call raises Unavailable when there is no room.
        """
        held = 0

        def hold(size_bytes: int) -> None:
            nonlocal held
            if size_bytes > self._free:
                raise Unavailable("Too many large requests are being read; try again")
            self._free -= size_bytes
            held += size_bytes

        try:
            yield hold
        finally:
            self._free += held
