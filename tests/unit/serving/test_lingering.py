"""A connection whose peer has left ends without an error."""

from __future__ import annotations

import asyncio
from typing import cast

from yodel.serving.lingering import Lingering


class Left:
    """Stands in for a transport whose peer has gone without its knowledge."""

    is_aborted = False

    def write_eof(self) -> None:
        raise OSError(107, "Transport endpoint is not connected")

    def resume_reading(self) -> None:
        raise AssertionError("nothing is left to read")

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


async def test_peer_that_has_left_is_let_go_without_an_error() -> None:
    transport = Left()
    lingering = Lingering(cast(asyncio.Transport, transport), is_paused=True)
    assert transport.is_aborted
    lingering.cancel()
