"""uvicorn inside our own loop: no signal handlers of its own, no access log, bounded heads, a graceful stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from yodel.errors import Unavailable
from yodel.rm_api.replay import Replay, asked_in, may_be_kept

HEAD_BYTES_MAX = 64 * 1024
"""Request line and headers together; Jetty allows 64 KiB in Hadoop (hadoop.http.max.request.header.size)."""
CONNECTIONS_MAX = 2_000
STALLED_S = 60.0
"""A reader that takes nothing for so long is hung up on: what was made for it waits in memory."""
BACKLOG = 512
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5
KEEP_ALIVE_S = 30


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's fast parser keeps reading a head for as long as it comes, and keeps what nobody takes: this one hangs
    up.  A head whose answer is kept (``replay``) is not parsed at all."""

    _head_bytes = 0
    _is_in_head = True
    _hang_up: asyncio.TimerHandle | None = None
    _head = b""

    def __init__(self, *arguments: Any, replay: Replay | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._replay = replay

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            if self._head_bytes == 0 and self._replay is not None and self._is_answered_again(data, self._replay):
                return
            self._head_bytes += len(data)
            if self._head_bytes - len(data) > HEAD_BYTES_MAX:
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()
        if self._head:
            asked_in(self.scope, self._head, self.server_state.default_headers)

    def _is_answered_again(self, data: bytes, replay: Replay) -> bool:
        """Whether that was a whole request, and its answer is sent: nothing of this connection was under way."""
        self._head = b""
        if not may_be_kept(data) or (self.cycle is not None and not self.cycle.response_complete) or self.pipeline:
            return False
        answer = replay.answer(data, self.server_state.default_headers)
        if answer is None or self.flow.write_paused or self.transport.is_closing():
            self._head = data
            return False
        self.transport.writelines(answer)
        self.on_response_complete()
        return True

    def pause_writing(self) -> None:
        self._hang_up = self.loop.call_later(STALLED_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._keep()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep()
        super().connection_lost(exc)

    def _keep(self) -> None:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None

    def on_message_complete(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_complete()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process's owner."""
        yield


class RestServer:
    """A started server; ``stop`` waits for answers under way, for at most STOP_TIMEOUT_S."""

    def __init__(self, server: _Server, task: asyncio.Task[None]) -> None:
        self._server, self._task = server, task

    async def stop(self) -> None:
        """Stop listening, finish, close.  Calling it twice is harmless."""
        self._server.should_exit = True
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S + 5):
                await self._task
        except TimeoutError:
            self._task.cancel()


async def serve(app: Starlette, host: str, port: int) -> tuple[RestServer, int]:
    """Listen and serve until ``stop``; answers the server and the port it is bound to.

    Raises:
        OSError: the address is taken.
        Unavailable: it did not start.
    """
    listening = socket.create_server((host, port), backlog=BACKLOG, family=_family(host))
    # asyncio does this itself only for sockets made with an explicit protocol number; accepted ones inherit it.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound_port = int(listening.getsockname()[1])
    api = getattr(app.state, "api", None)
    if api is not None:
        api.bound_to(bound_port)
    http = partial(BoundedHttp, replay=api.replay if api is not None else None)
    config = uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], http),
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=STOP_TIMEOUT_S,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]), name="rest")
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while not server.started:
                if task.done():
                    raise Unavailable("the REST server ended while it started")
                await asyncio.sleep(0.005)
    except BaseException:
        task.cancel()
        listening.close()
        raise
    return RestServer(server, task), bound_port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
