"""The RPC server: a port, its limits, and the connections on it.

A connection is read, its calls dispatched, and its answers written, each frame whole and in whatever order they come.
Everything has a limit: frames and the time for one, unfinished ones of all together, connections, those from one
address, calls that run, the loop's time for them before others come, bytes not yet taken by the peer, time to
authenticate, time idle.  Back pressure is to stop pulling events and to stop reading; nothing is queued between.  Calls
that run when their connection breaks run on to their end (a half-done submission helps nobody) and their answer is
dropped.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import structlog

from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.framing import FRAME_BYTES_MAX, MIB
from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.hadoop_rpc.server_policy import (
    FRAME_BYTES_BEFORE_OPEN_MAX,
    AuthMethod,
    CallerIdentity,
    ConnectionPolicy,
    KerberosOffer,
    TokenGrant,
    TokenPasswords,
)
from yodel.rpc_io.connection import Connection
from yodel.rpc_io.dispatch import Dispatcher
from yodel.rpc_io.port_figures import PortFigures
from yodel.rpc_io.seats import Seats
from yodel.rpc_io.ticket_owners import TicketOwners
from yodel.rpc_io.unfinished_frames import UnfinishedFrames
from yodel.serving.lingering import LINGER_BYTES_MAX, LINGER_S
from yodel.serving.proxy_users import ProxyUserRules
from yodel.serving.turns import Turns
from yodel.settings.rpc import RpcSettings
from yodel.telemetry.limit import Limit

__all__ = ["ProxyUserRules", "RpcLimits", "RpcServer", "ServerSecurity", "TokenGrant", "rpc_limits"]

SWEEPS_A_TIMEOUT = 4
ACCEPTED_AT_ONCE = 16
TURNED_AWAY_MAX = 64
"""Newcomers without a seat who are told why at one time; more are just closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLimits:
    """The limits of one port.

    ``calls_in_flight_max`` counts running coroutines on all connections; beyond it every call gets a
    RetriableException, which clients retry.  A peer that takes no answer for ``idle_timeout_s`` is cut
    off, and so is a silent one.  ``frame_limit`` is the row that tells of ``frame_bytes_max``.
    """

    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_limit: Limit | None = None
    frame_bytes_before_open_max: int = FRAME_BYTES_BEFORE_OPEN_MAX
    frame_timeout_s: float = 30.0
    connections_max: int = 10_000
    connections_per_address_max: int = 5_000
    calls_in_flight_per_connection_max: int = 100
    calls_in_flight_max: int = 10_000
    write_buffer_bytes_max: int = 4 * MIB
    handshake_timeout_s: float = 20.0
    idle_timeout_s: float = 600.0
    stop_timeout_s: float = 5.0
    linger_s: float = LINGER_S
    linger_bytes_max: int = LINGER_BYTES_MAX
    backlog: int = 1024


def rpc_limits(settings: RpcSettings, frame_mib_max: int, frame_limit: Limit) -> RpcLimits:
    return RpcLimits(
        frame_bytes_max=frame_mib_max * MIB,
        frame_limit=frame_limit,
        frame_timeout_s=settings.frame_timeout_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSecurity:
    """Configures who is admitted.  ``token_passwords`` None means that the port knows no tokens; ``kerberos`` None that
    it takes no tickets, which ``acceptor`` judges.  ``owners`` None admits the owner of any good ticket."""

    allow_simple: bool
    token_passwords: TokenPasswords | None = None
    kerberos: KerberosOffer | None = None
    acceptor: Acceptor | None = None
    owners: TicketOwners | None = None
    proxy_users: ProxyUserRules = field(default_factory=ProxyUserRules)


class RpcServer:
    """One port.  ``nonce`` draws a fresh SASL nonce (16 or more characters of base64) for every connection.

    ``unfinished`` and ``turns`` are shared by all ports of a process.
    """

    def __init__(
        self,
        *,
        name: str,
        dispatcher: Dispatcher,
        security: ServerSecurity,
        limits: RpcLimits | None = None,
        nonce: Callable[[], str],
        unfinished: UnfinishedFrames | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.name = name
        self.dispatcher = dispatcher
        self.security = security
        self.limits = limits or RpcLimits()
        self.port = 0
        """Listened on; 0 before ``start``."""
        self.figures = PortFigures()
        self.unfinished = unfinished or UnfinishedFrames()
        self.turns = turns or Turns()
        self._nonce = nonce
        self._seats: Seats[Connection] = Seats(
            seats_max=self.limits.connections_max, per_address_max=self.limits.connections_per_address_max
        )
        self._turned_away: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._listening: socket.socket | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self.log = structlog.get_logger("yodel.rpc").bind(server=name)

    @property
    def connection_count(self) -> int:
        return len(self._seats)

    @property
    def is_listening(self) -> bool:
        return self._listener is not None

    def connections_by_user(self) -> dict[str, int]:
        """Count the connections of known users, by user."""
        users = (connection.user for connection in self._seats)
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
        self._listening = listening
        self._listener = await loop.create_server(
            self._accept, sock=listening, backlog=ACCEPTED_AT_ONCE, start_serving=accept
        )
        self._let_wait()
        self._schedule_sweep(loop)
        address = self._listener.sockets[0].getsockname()
        self.port = int(address[1])
        self.log.info("rpc_listening", host=address[0], port=address[1])
        return str(address[0]), int(address[1])

    async def accept_connections(self) -> None:
        """After ``start(accept=False)``: those that wait come in, and everybody after them."""
        if self._listener is not None:
            await self._listener.start_serving()
            self._let_wait()

    def _let_wait(self) -> None:
        """asyncio takes one number for what waits in the kernel and for what it accepts in one turn.  The first may be
        large.  The second may not: without a descriptor left it fails so many times a second, each with a traceback."""
        if self._listening is not None:
            self._listening.listen(self.limits.backlog)

    async def stop(self) -> None:
        """Stop listening, give running calls ``stop_timeout_s`` to end and be answered, then close everything."""
        if self._listener is None:
            return
        self._listener.close()
        self._listener = self._listening = None
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in self._everybody():
            connection.finish()
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=self.limits.stop_timeout_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.dispatcher.close()
        if self._are_any_left:  # the last answers are on their way out
            try:
                await asyncio.wait_for(self._empty.wait(), self.limits.stop_timeout_s)  # also in a cancelled task
            except TimeoutError:
                for connection in self._everybody():
                    connection.abort()

    def policy(self, remote_host: str) -> ConnectionPolicy:
        """Return the port's requirements for a client at an address."""

        def authorize(identity: CallerIdentity) -> None:
            if self.security.owners is not None and identity.auth_method is AuthMethod.KERBEROS:
                self.security.owners.authorize(identity.principal)
            # A token was given out to the real user for this user: that was authorized (Server.authorizeConnection).
            if identity.real_user is not None and identity.auth_method is not AuthMethod.TOKEN:
                self.security.proxy_users.authorize(
                    real_user=identity.real_user, user=identity.user, remote_host=remote_host
                )

        return ConnectionPolicy(
            allow_simple=self.security.allow_simple,
            token_passwords=self.security.token_passwords,
            kerberos=self.security.kerberos,
            authorize=authorize,
            frame_bytes_max=self.limits.frame_bytes_max,
            frame_bytes_before_open_max=self.limits.frame_bytes_before_open_max,
            frame_setting=None if self.limits.frame_limit is None else self.limits.frame_limit.setting,
        )

    def new_nonce(self) -> str:
        return self._nonce()

    def add(self, connection: Connection) -> RemoteFault | None:
        """Return why there is no room for one more connection, or None."""
        no_seat = self._seats.take(connection, asyncio.get_running_loop().time())
        self.figures.dropped_connections += no_seat is not None
        if no_seat is None:
            self._empty.clear()
        return no_seat

    def may_be_turned_away(self, connection: Connection) -> bool:
        """Return True if a connection over the limit may stay until it has the reason."""
        if len(self._turned_away) >= TURNED_AWAY_MAX:
            return False
        self._turned_away.add(connection)
        self._empty.clear()
        return True

    def remove(self, connection: Connection) -> None:
        self.unfinished.release(connection)
        self._seats.leave(connection)
        self._turned_away.discard(connection)
        if not self._are_any_left:
            self._empty.set()

    def run(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        """Run a call's coroutine."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _are_any_left(self) -> bool:
        return bool(self._seats) or bool(self._turned_away)

    def _everybody(self) -> list[Connection]:
        return [*self._seats, *self._turned_away]

    def _accept(self) -> Connection:
        return Connection(self)

    def _schedule_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        limits = self.limits
        shortest_s = min(limits.handshake_timeout_s, limits.idle_timeout_s, limits.frame_timeout_s)
        period_s = shortest_s / SWEEPS_A_TIMEOUT
        self._sweep = loop.call_later(period_s, self._sweep_once, loop)

    def _sweep_once(self, loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all connections: a timer each would cost more than the connections."""
        now_s = loop.time()
        for connection in self._seats:
            connection.close_if_overdue(now_s)
        if self._listener is not None:
            self._schedule_sweep(loop)
