"""A port for Kubernetes' probes alone: whoever fills the web port makes nobody believe that the process is dead.

It answers two paths and knows nothing else.  It runs on the process's own loop, as a process whose loop stands still is
not alive.  Connections have one question and DEADLINE_S for it, and the oldest goes where there are more than
CONNECTIONS_MAX: nothing here waits for anything, so there is always room for the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

LIVE, READY = "/health/live", "/health/ready"
"""The web port answers them too, where none of its own is set."""
CONNECTIONS_MAX = 64
DEADLINE_S = 5.0
HEAD_BYTES_MAX = 8 * 1024
BACKLOG = 64


class ProbePort:
    """``not_ready`` is why nothing should be sent here yet; empty when it should."""

    def __init__(self, not_ready: Callable[[], str]) -> None:
        self._not_ready = not_ready
        self._asking: dict[_Asking, None] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int | None) -> int | None:
        """Listen; the port listened on.  None is no port at all.  Raises OSError where it is taken."""
        if port is None:
            return None
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Asking(self), host, port, backlog=BACKLOG)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Calling it twice is harmless."""
        if self._server is not None:
            self._server.close()
            for asking in tuple(self._asking):
                asking.end()
            await self._server.wait_closed()

    def answer(self, path: str) -> tuple[str, str]:
        """Status with its words, and a text."""
        if path == LIVE:
            return "200 OK", "OK"
        if path == READY:
            reason = self._not_ready()
            return ("503 Service Unavailable", reason) if reason else ("200 OK", "OK")
        return "404 Not Found", f"expected {LIVE} or {READY}"

    def came(self, asking: _Asking) -> None:
        if len(self._asking) >= CONNECTIONS_MAX:
            next(iter(self._asking)).end()
        self._asking[asking] = None

    def went(self, asking: _Asking) -> None:
        self._asking.pop(asking, None)


class _Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, port: ProbePort) -> None:
        self._port = port
        self._head = b""
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._deadline = asyncio.get_running_loop().call_later(DEADLINE_S, self.end)
        self._port.came(self)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._head += data
        if b"\r\n\r\n" not in self._head and len(self._head) <= HEAD_BYTES_MAX:
            return
        words = self._head.partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or words[0] not in (b"GET", b"HEAD"):
            status, text = "400 Bad Request", "expected GET"
        else:
            status, text = self._port.answer(words[1].partition(b"?")[0].decode("ascii", "replace"))
        body = text.encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        self._transport.write(f"{head}connection: close\r\n\r\n".encode() + (b"" if words[0] == b"HEAD" else body))
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._port.went(self)
        if self._deadline is not None:
            self._deadline.cancel()

    def end(self) -> None:
        self._port.went(self)
        if self._transport is not None:
            self._transport.abort()
