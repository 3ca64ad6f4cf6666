"""The RPC client: concurrent calls to one peer over one connection, SIMPLE or with a token or a ticket.

Connects on the first call and again after a close; retries nothing (its callers decide what is worth repeating).  A
timed-out call's late answer is dropped.  Follows ``org.apache.hadoop.ipc.Client`` in what it sends.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from typing import TypeVar, cast

from google.protobuf.message import Message

from yodel.errors import Unavailable
from yodel.hadoop_rpc.client_connection import Answered, ClientConnection, ClientIdentity, ConnectionReady, Failed
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.framing import MIB, MalformedFrame, parse
from yodel.hadoop_rpc.gssapi import Ticket
from yodel.hadoop_rpc.writable import WireToken

M = TypeVar("M", bound=Message)

CALLS_IN_FLIGHT_MAX = 1000
WRITE_BUFFER_BYTES_MAX = 64 * MIB
CALL_ID_MASK = 0x7FFFFFFF
CNONCE_BYTES = 30


class RpcClient:
    """Calls one protocol of one peer as one user.  ``client_id`` is 16 random bytes drawn by the owner."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        protocol: str,
        user: str,
        token: WireToken | None = None,
        ticket: Ticket | None = None,
        real_user: str | None = None,
        connect_timeout_s: float = 10,
        call_timeout_s: float = 60,
        client_id: bytes,
    ) -> None:
        self._host, self._port = host, port
        self._identity = ClientIdentity(
            client_id=client_id, protocol=protocol, user=user, real_user=real_user, token=token, ticket=ticket
        )
        self._connect_timeout_s = connect_timeout_s
        self._call_timeout_s = call_timeout_s
        self._connecting = asyncio.Lock()
        self._link: _Link | None = None
        self._call_id = -1
        self._in_flight = 0

    async def call(self, method: str, request: Message, response_type: type[M]) -> M:
        """Call a method and wait for its answer.

        Raises:
            RemoteFault: the server answered an error, or refused the connection.
            Unavailable: no connection, no answer in time, a broken connection, or too many calls at once.
        """
        if self._in_flight >= CALLS_IN_FLIGHT_MAX:
            raise Unavailable(f"{self._where}: {CALLS_IN_FLIGHT_MAX} calls are in flight")
        self._in_flight += 1
        try:
            link = self._link
            if link is None or not link.usable:
                link = await self._connected()
            async with asyncio.timeout(self._call_timeout_s):
                body = await link.call(self._next_call_id(), method, request.SerializeToString())
        except TimeoutError:
            raise Unavailable(f"{self._where}: {method} was not answered in {self._call_timeout_s:g} s") from None
        finally:
            self._in_flight -= 1
        try:
            return parse(response_type, body)
        except MalformedFrame as error:
            raise Unavailable(f"{self._where}: the answer of {method} is unreadable") from error

    async def close(self) -> None:
        """Close the connection; calls still waiting fail with Unavailable."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
            await link.wait_closed()

    @property
    def _where(self) -> str:
        return f"{self._host}:{self._port}"

    def _next_call_id(self) -> int:
        self._call_id = (self._call_id + 1) & CALL_ID_MASK
        return self._call_id

    async def _connected(self) -> _Link:
        async with self._connecting:
            if self._link is not None and self._link.usable:
                return self._link
            self._link = None
            cnonce = base64.b64encode(secrets.token_bytes(CNONCE_BYTES)).decode()
            machine = ClientConnection(identity=self._identity, cnonce=cnonce)
            link: _Link | None = None
            try:
                async with asyncio.timeout(self._connect_timeout_s):
                    loop = asyncio.get_running_loop()
                    _, link = await loop.create_connection(lambda: _Link(machine, self._where), self._host, self._port)
                    await link.opened
            except (TimeoutError, OSError) as error:
                raise Unavailable(f"{self._where}: no connection: {error or 'timed out'}") from error
            finally:
                if link is not None and not link.usable:
                    link.close()
            self._link = link
            return link


class _Link(asyncio.Protocol):
    """One connection and the calls that wait on it."""

    _transport: asyncio.Transport

    def __init__(self, machine: ClientConnection, where: str) -> None:
        self._machine, self._where = machine, where
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    @property
    def usable(self) -> bool:
        return self._machine.open and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._transport.write(self._machine.connect())
        if self._machine.open:
            self.opened.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._machine.receive_data(data)
        while (event := self._machine.next_event()) is not None:
            match event:
                case Answered():
                    self._answered(event)
                case ConnectionReady():
                    self._transport.write(self._machine.data_to_send())
                    if not self.opened.done():
                        self.opened.set_result(None)
                case Failed():
                    self._fail(event.fault)
                    self._transport.close()
        words = self._machine.data_to_send()
        if words:
            self._transport.write(words)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(Unavailable(f"{self._where}: the connection was closed"))
        if not self._closed.done():
            self._closed.set_result(None)

    async def call(self, call_id: int, method: str, body: bytes) -> bytes:
        """Send a request and wait for its answer's bytes."""
        if self._transport.get_write_buffer_size() > WRITE_BUFFER_BYTES_MAX:
            raise Unavailable(f"{self._where}: the peer does not read")
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = answer
        try:
            self._transport.write(self._machine.call(call_id=call_id, method=method, body=body))
            return await answer
        finally:
            self._waiting.pop(call_id, None)

    def close(self) -> None:
        self._transport.close()

    async def wait_closed(self) -> None:
        """The transport closes on its own; a peer that takes nothing is not waited for."""
        _, late = await asyncio.wait((self._closed,), timeout=1)
        if late:
            self._transport.abort()

    def _answered(self, event: Answered) -> None:
        waiting = self._waiting.get(event.call_id)
        if waiting is None or waiting.done():
            return  # its caller gave up
        if event.fault is None:
            waiting.set_result(event.body)
        else:
            waiting.set_exception(event.fault)

    def _fail(self, error: RemoteFault | Unavailable) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
        if not self.opened.done():
            self.opened.set_exception(error)
            self.opened.exception()  # seen: whoever opened this link may have given up
