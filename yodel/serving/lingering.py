"""The end of a connection whose peer is still sending: our last words first, and the door after them.

Closing a socket while bytes of the peer are unread makes the kernel reset the connection, and a reset throws away what
the peer has not read yet: the reason why it was refused.  So the sending side is ended, and what still comes is read
and dropped, for a bounded time and number of bytes, until the peer ends its side too.
"""

from __future__ import annotations

import asyncio

LINGER_S = 2.0
LINGER_BYTES_MAX = 16 * 1024 * 1024
"""A blocking client reads why only when its whole frame is sent: the largest frame of a port with defaults."""


class Lingering:
    """Ends a transport.  Its protocol hands ``received`` the sizes of what comes, and closes at the peer's end.

    asyncio closes by itself when ``eof_received`` returns None, so a protocol need do nothing for that.
    """

    __slots__ = ("_left_bytes", "_timer", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        *,
        linger_s: float = LINGER_S,
        bytes_max: int = LINGER_BYTES_MAX,
        is_paused: bool = False,
    ) -> None:
        """End the sending side: what was written to the transport before this is sent; nothing can be written after."""
        self._transport = transport
        self._left_bytes = bytes_max
        try:
            transport.write_eof()
        except OSError:  # the peer has left, which the transport does not know yet
            transport.abort()
        if is_paused and not transport.is_closing():
            transport.resume_reading()
        self._timer = asyncio.get_running_loop().call_later(linger_s, self._over)

    def received(self, size: int) -> None:
        self._left_bytes -= size
        if self._left_bytes <= 0:
            self._over()

    def cancel(self) -> None:
        """The connection is lost: there is nothing to end any more."""
        self._timer.cancel()

    def _over(self) -> None:
        self._timer.cancel()
        self._transport.abort()
