"""The ResourceManager's web port: bounded callers, answers that are kept, a graceful stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette

from yodel.errors import Unavailable
from yodel.hadoop_http.bounded_http import BoundedHttp
from yodel.hadoop_http.connections import ConnectionLimits, Connections
from yodel.hadoop_http.serving import BACKLOG, HttpServer, ServerOptions
from yodel.rm_api.door.replay import Replay, asked_in, may_be_kept
from yodel.telemetry.limits import HTTP_CONNECTIONS, HTTP_CONNECTIONS_PER_ADDRESS

LIMITS = ConnectionLimits(
    connections_max=2_000, per_address_max=500, of_all=HTTP_CONNECTIONS, of_address=HTTP_CONNECTIONS_PER_ADDRESS
)
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5


class ReplayingHttp(BoundedHttp):
    """A head whose answer is kept (``replay``) is not parsed at all."""

    _head = b""

    def __init__(self, *arguments: Any, replay: Replay | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._replay = replay

    def data_received(self, data: bytes) -> None:
        is_next = not self._is_begun and not self._is_deaf and not self._is_lingering
        if self._replay is not None and is_next and self._is_answered_again(data, self._replay):
            return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._head:
            asked_in(self.scope, self._head, self.server_state.default_headers)

    def _is_answered_again(self, data: bytes, replay: Replay) -> bool:
        """Return True if the data was a whole request and its kept answer was sent; nothing else was in progress."""
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


class RestServer:
    """A started server; ``stop`` waits for answers under way, for at most STOP_TIMEOUT_S."""

    def __init__(self, server: HttpServer, task: asyncio.Task[None]) -> None:
        self._server, self._task = server, task

    async def stop(self) -> None:
        """Stop listening, finish, close.  Calling it twice is harmless."""
        self._server.should_exit = True
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S + 5):
                await self._task
        except TimeoutError:
            self._task.cancel()


async def serve(app: Starlette, host: str, port: int, limits: ConnectionLimits = LIMITS) -> tuple[RestServer, int]:
    """Listen and serve until ``stop``; answers the server and the port it is bound to.

    Raises:
        OSError: the address is taken.
        Unavailable: it did not start.
    """
    proxy, door = getattr(app.state, "proxy", None), getattr(app.state, "door", None)
    further = proxy.origins.proxied_port if proxy is not None else None
    listening = _listening(host, [port] if further is None else [port, further])
    bound_port, *others = (int(each.getsockname()[1]) for each in listening)
    if proxy is not None:
        proxy.origins.bound_to(bound_port, *others)
    replay = door.replay if door is not None else None
    http = partial(ReplayingHttp, replay=replay, connections=Connections(limits))
    options = ServerOptions(protocol=http, stop_timeout_s=STOP_TIMEOUT_S, has_lifespan=True)
    server = HttpServer(app, options)
    task = asyncio.create_task(server.serve(sockets=listening), name="rest")
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            await server.until_started(task)
        if task.done():
            raise Unavailable("the REST server ended while it started")
    except BaseException:
        task.cancel()
        for each in listening:
            each.close()
        raise
    return RestServer(server, task), bound_port


def _listening(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """All of them, or none.  Raises OSError."""
    found: list[socket.socket] = []
    with contextlib.ExitStack() as made:
        for port in ports:
            listening = socket.create_server((host, port), backlog=BACKLOG, family=_family(host))
            made.callback(listening.close)
            # asyncio does this itself only for sockets made with an explicit protocol number; accepted ones inherit it.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found.append(listening)
        made.pop_all()
    return found


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
