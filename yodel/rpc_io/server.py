"""The RPC server: an ``asyncio.Protocol`` around ``ServerConnection``, without streams.

A connection is read, its calls dispatched, and its answers written, each frame whole and in whatever order they come.
Everything has a limit: frames, connections, calls that run, bytes not yet taken by the peer, time to authenticate,
time idle.  Back pressure is to stop pulling events and to stop reading; nothing is queued between.  Calls that run when
their connection breaks run on to their end (a half-done submission helps nobody) and their answer is dropped.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import structlog

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import FRAME_BYTES_MAX, MIB, fault_frame
from yodel.hadoop_rpc.server_connection import (
    FRAME_BYTES_BEFORE_OPEN_MAX,
    AuthMethod,
    CallReceived,
    ConnectionPolicy,
    Identity,
    Opened,
    Refused,
    ServerConnection,
    TokenGrant,
    TokenPasswords,
)
from yodel.rpc_io.dispatch import Dispatcher, Peer
from yodel.rpc_io.port_figures import PortFigures
from yodel.rpc_io.proxy_users import ProxyUserRules

__all__ = ["ProxyUserRules", "RpcLimits", "RpcServer", "ServerSecurity", "TokenGrant"]

FLUSH_BYTES = 64 * 1024
"""Answers of one read are written together, but not more of them than this at once."""
SWEEPS_A_TIMEOUT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLimits:
    """The limits of one port.

    ``calls_in_flight_max`` counts running coroutines on all connections; beyond it every call gets a
    RetriableException, which clients retry.  A peer that takes no answer for ``idle_timeout_s`` is cut
    off, and so is a silent one.
    """

    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_bytes_before_open_max: int = FRAME_BYTES_BEFORE_OPEN_MAX
    connections_max: int = 10_000
    calls_in_flight_per_connection_max: int = 100
    calls_in_flight_max: int = 10_000
    write_buffer_bytes_max: int = 4 * MIB
    handshake_timeout_s: float = 20.0
    idle_timeout_s: float = 600.0
    stop_timeout_s: float = 5.0
    backlog: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSecurity:
    """Who may come in.  ``token_passwords`` None means that the port knows no tokens."""

    allow_simple: bool
    token_passwords: TokenPasswords | None = None
    proxy_users: ProxyUserRules = field(default_factory=ProxyUserRules)


class RpcServer:
    """One port.  ``nonce`` draws a fresh SASL nonce (16 or more characters of base64) for every connection."""

    def __init__(
        self,
        *,
        name: str,
        dispatcher: Dispatcher,
        security: ServerSecurity,
        limits: RpcLimits | None = None,
        nonce: Callable[[], str],
    ) -> None:
        self.name = name
        self.dispatcher = dispatcher
        self.security = security
        self.limits = limits or RpcLimits()
        self.port = 0
        """Listened on; 0 before ``start``."""
        self.figures = PortFigures()
        self._nonce = nonce
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self.log = structlog.get_logger("yodel.rpc").bind(server=name)

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def connections_by_user(self) -> dict[str, int]:
        """Of those that have said who they are."""
        users = (connection.user for connection in self._connections)
        return dict(Counter(user for user in users if user is not None))

    @property
    def busy(self) -> bool:
        return len(self._tasks) >= self.limits.calls_in_flight_max

    @property
    def calls_in_flight(self) -> int:
        return len(self._tasks)

    async def start(self, host: str, port: int, *, accept: bool = True) -> tuple[str, int]:
        """Listen; port 0 takes a free one.  Returns the address listened on.

        Without ``accept`` connections are made by the kernel and wait, ``backlog`` of them at most, until
        ``accept_connections``: for a server that has an address before it has what it needs to judge a token.

        Raises:
            OSError: the address is taken or not ours.
        """
        loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=self.limits.backlog)
        self._listener = await loop.create_server(
            self._accept, sock=listening, backlog=self.limits.backlog, start_serving=accept
        )
        self._schedule_sweep(loop)
        address = self._listener.sockets[0].getsockname()
        self.port = int(address[1])
        self.log.info("rpc_listening", host=address[0], port=address[1])
        return str(address[0]), int(address[1])

    async def accept_connections(self) -> None:
        """After ``start(accept=False)``: those that wait come in, and everybody after them."""
        if self._listener is not None:
            await self._listener.start_serving()

    async def stop(self) -> None:
        """Stop listening, give running calls ``stop_timeout_s`` to end and be answered, then close everything."""
        if self._listener is None:
            return
        self._listener.close()
        self._listener = None
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in tuple(self._connections):
            connection.finish()
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=self.limits.stop_timeout_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.dispatcher.close()
        if self._connections:  # the last answers are on their way out
            try:
                async with asyncio.timeout(self.limits.stop_timeout_s):
                    await self._empty.wait()
            except TimeoutError:
                for connection in tuple(self._connections):
                    connection.abort()

    def policy(self, remote_host: str) -> ConnectionPolicy:
        """What this port asks of a client at an address."""

        def authorize(identity: Identity) -> None:
            # A token was given out to the real user for this user: that was authorized (Server.authorizeConnection).
            if identity.real_user is not None and identity.auth_method is not AuthMethod.TOKEN:
                self.security.proxy_users.authorize(
                    real_user=identity.real_user, user=identity.user, remote_host=remote_host
                )

        return ConnectionPolicy(
            allow_simple=self.security.allow_simple,
            token_passwords=self.security.token_passwords,
            authorize=authorize,
            frame_bytes_max=self.limits.frame_bytes_max,
            frame_bytes_before_open_max=self.limits.frame_bytes_before_open_max,
        )

    def new_nonce(self) -> str:
        return self._nonce()

    def add(self, connection: _Connection) -> bool:
        """Whether there is room for one more connection."""
        if self._listener is None or len(self._connections) >= self.limits.connections_max:
            self.figures.dropped_connections += 1
            return False
        self._connections.add(connection)
        self._empty.clear()
        return True

    def remove(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def run(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        """Run a call's coroutine."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _accept(self) -> _Connection:
        return _Connection(self)

    def _schedule_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        period_s = min(self.limits.handshake_timeout_s, self.limits.idle_timeout_s) / SWEEPS_A_TIMEOUT
        self._sweep = loop.call_later(period_s, self._sweep_once, loop)

    def _sweep_once(self, loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all connections: a timer each would cost more than the connections."""
        now_s = loop.time()
        for connection in tuple(self._connections):
            connection.close_if_overdue(now_s)
        if self._listener is not None:
            self._schedule_sweep(loop)


class _Connection(asyncio.Protocol):
    """One accepted connection."""

    __slots__ = (
        "_calls",
        "_finishing",
        "_last_s",
        "_loop",
        "_machine",
        "_opened_s",
        "_peer",
        "_reading",
        "_remote",
        "_server",
        "_transport",
        "_writable",
    )

    _transport: asyncio.Transport
    _machine: ServerConnection

    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._peer: Peer | None = None
        self._remote = ("", 0)
        self._calls = 0
        self._reading = self._writable = True
        self._finishing = False
        self._opened_s = self._last_s = self._loop.time()

    @property
    def user(self) -> str | None:
        """None before the connection is open."""
        return self._peer.identity.user if self._peer is not None else None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        peername = self._transport.get_extra_info("peername")
        if not peername or not self._server.add(self):
            self._transport.abort()
            return
        self._remote = (str(peername[0]), int(peername[1]))
        self._transport.set_write_buffer_limits(high=self._server.limits.write_buffer_bytes_max)
        self._machine = ServerConnection(policy=self._server.policy(self._remote[0]), nonce=self._server.new_nonce())

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.remove(self)
        if self._remote[0]:
            self._machine.receive_eof()

    def data_received(self, data: bytes) -> None:
        self._last_s = self._loop.time()
        self._server.figures.received_bytes += len(data)
        self._machine.receive_data(data)
        self._work()

    def pause_writing(self) -> None:
        self._writable = False
        self._set_reading()

    def resume_writing(self) -> None:
        self._writable = True
        self._last_s = self._loop.time()
        self._work()

    # What the server asks of it

    def finish(self) -> None:
        """Read no more; close as soon as the running calls are answered."""
        self._finishing = True
        self._set_reading()
        if not self._calls:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def close_if_overdue(self, now_s: float) -> None:
        """Cut off who has not authenticated in time, and who neither sends nor takes anything."""
        limits = self._server.limits
        late = self._peer is None and now_s - self._opened_s > limits.handshake_timeout_s
        idle = now_s - self._last_s > limits.idle_timeout_s and (not self._calls or not self._writable)
        if late or idle:
            self.abort()

    # Work

    def _work(self) -> None:
        """Pull events while there is room for their answers; write what there is to say."""
        machine, answers, size = self._machine, list[bytes](), 0
        try:
            while self._has_room():
                event = machine.next_event()
                if event is None:
                    break
                if isinstance(event, CallReceived):
                    answer = self._answer(event)
                    if answer is not None:
                        answers.append(answer)
                        size += len(answer)
                        if size >= FLUSH_BYTES:
                            self._write(b"".join(answers))
                            answers.clear()
                            size = 0
                elif isinstance(event, Opened):
                    self._peer = Peer(identity=event.identity, remote_host=self._remote[0], remote_port=self._remote[1])
                    self._server.figures.authorized += 1
                    self._server.figures.token_logins += event.identity.auth_method is AuthMethod.TOKEN
                else:
                    self._refused(event)
        except Exception as error:  # a bug in a security callable: this connection ends, the others live
            self._server.log.error("rpc_connection_failed", remote=self._remote, exception=type(error).__name__)
            self._transport.abort()
            return
        last_words = machine.data_to_send()
        if last_words:
            answers.append(last_words)
        if answers:
            self._write(b"".join(answers))
        if machine.closed:
            self._transport.close()
        else:
            self._set_reading()

    def _write(self, data: bytes) -> None:
        self._server.figures.sent_bytes += len(data)
        self._transport.write(data)

    def _has_room(self) -> bool:
        return (
            self._writable
            and not self._finishing
            and self._calls < self._server.limits.calls_in_flight_per_connection_max
        )

    def _set_reading(self) -> None:
        wanted = self._has_room()
        if wanted is not self._reading and not self._transport.is_closing():
            self._reading = wanted
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _refused(self, event: Refused) -> None:
        fault = event.fault
        self._server.figures.count_refusal(fault)
        self._server.log.warning(
            "rpc_connection_refused",
            remote=self._remote,
            java_class=None if fault is None else fault.java_class,
            code=None if fault is None else fault.code.name,
        )

    def _answer(self, call: CallReceived) -> bytes | None:
        """The answer of a call, or None if it will come later."""
        assert self._peer is not None
        figures, started_s = self._server.figures, self._loop.time()
        figures.received_calls += 1
        if self._server.busy:
            figures.put_off_calls += 1
            busy = RemoteFault(faults.RETRIABLE, "Server is too busy.", code=RpcErrorCode.ERROR_RPC_SERVER)
            return fault_frame(call.call_id, call.client_id, call.retry_count, busy)
        answer = self._server.dispatcher.dispatch(self._peer, call)
        if isinstance(answer, bytes):
            self._count(call, started_s)
            return answer
        self._calls += 1
        self._server.run(self._answer_later(answer, call, started_s), f"rpc-{call.method[:64]}")
        return None

    def _count(self, call: CallReceived, started_s: float) -> None:
        now_s = self._loop.time()
        method = call.method if self._server.dispatcher.has(call.protocol, call.method) else None
        self._server.figures.count_answer(method, now_s - started_s, now_s)

    async def _answer_later(self, answer: Coroutine[Any, Any, bytes], call: CallReceived, started_s: float) -> None:
        try:
            frame = await answer
        finally:
            self._calls -= 1
        self._count(call, started_s)
        if self._transport.is_closing():
            return
        self._last_s = self._loop.time()
        self._write(frame)
        if self._finishing:
            if not self._calls:
                self._transport.close()
        elif not self._reading:
            self._work()
