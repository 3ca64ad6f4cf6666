"""Sockets of the shuffle: accepts, converses, transfers.

Limits: ``connections_max`` at once (what comes above is answered 429, what comes above TURNED_AWAY_MAX of those is just
closed), HEAD_S for a request to arrive, the keep-alive time between two, STALL_S without the reader taking a byte.
Sockets are used bare, because ``sendfile`` needs them and asyncio's transports cannot wait in a thread.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from nm_plugin.host.users import FileThreads
from nm_plugin.shuffle.conversation import Conversation
from nm_plugin.shuffle.fetch import FetchRequest, HttpRefusal, too_many_connections
from nm_plugin.shuffle.map_output import MapOutputs, MapOutputUnreadable
from nm_plugin.shuffle.transfer import Transfer, TransferEnd
from yodel.errors import YodelError
from yodel.serving.lingering import LINGER_BYTES_MAX, LINGER_S
from yodel.telemetry.further_limits import SHUFFLE_CONNECTIONS
from yodel.telemetry.limits import REFUSALS

BACKLOG = 128  # mapreduce.shuffle.listen.queue.size
HEAD_S = 30.0
STALL_S = 180.0  # Hadoop has none; mapreduce.reduce.shuffle.read.timeout is how long a reducer waits for us
TURNED_AWAY_MAX = 64
RECEIVE_BYTES = 16 << 10
ACCEPT_PAUSE_S = 0.1
SMALL_BYTES = 1 << 20
DESCRIPTORS_PER_CONNECTION = 4  # socket, file, and the job's folder on one disk or two
DESCRIPTORS_OF_OTHERS = 200


class BrokenTransfer(YodelError):
    """A file is gone or became shorter when its length had been promised already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer:
    """Holds the answer to an accepted fetch; its receiver closes ``outputs``."""

    reply_hash: str
    outputs: MapOutputs
    maps: tuple[str, ...]
    reduce: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleLimits:
    """``keep_alive_s`` and ``keep_alive_always`` are mapreduce.shuffle.connection-keep-alive.timeout and .enable."""

    connections_max: int
    keep_alive_s: int
    keep_alive_always: bool
    stall_s: float = STALL_S
    head_s: float = HEAD_S


class ShuffleServer:
    """``listen``, then ``run`` until cancelled; ``answer`` decides each fetch (raising HttpRefusal).

    Files are looked for, and small answers are sent, by the one thread of ``lookers``: this work is many short system
    calls, and threads that compete for the interpreter between them get less done together than one alone.  Whatever
    they and ``senders`` have begun is to come to its end, also when its connection is given up.
    """

    def __init__(
        self,
        limits: ShuffleLimits,
        lookers: FileThreads,
        senders: FileThreads,
        answer: Callable[[FetchRequest, int], Awaitable[FetchAnswer]],
    ) -> None:
        self._limits, self._lookers, self._senders, self._answer = limits, lookers, senders, answer
        self._listener: socket.socket | None = None
        self._connections = self._turned_away = 0
        self.sent_bytes = 0
        self._log = structlog.get_logger(__name__)

    @property
    def connections(self) -> int:
        return self._connections

    @property
    def port(self) -> int:
        assert self._listener is not None
        return int(self._listener.getsockname()[1])

    def listen(self, host: str, port: int) -> int:
        """Bind; the port.  Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        self._listener.setblocking(False)
        return self.port

    def close(self) -> None:
        """No more connections; ``run``'s cancellation ends the others."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def run(self) -> None:
        """Accept and serve."""
        listener, loop = self._listener, asyncio.get_running_loop()
        assert listener is not None
        connections_max = self._affordable()
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    sock, peer = await loop.sock_accept(listener)
                except OSError as error:
                    # Out of descriptors or memory, or a peer that left in between: the node goes on.
                    self._log.warning("shuffle_accept_failed", reason=error.strerror)
                    await asyncio.sleep(ACCEPT_PAUSE_S)
                    continue
                sock.setblocking(False)
                if self._connections >= connections_max:
                    held = self._connections + 1
                    REFUSALS.tell(SHUFFLE_CONNECTIONS, caller=peer[0], value=held, maximum=connections_max)
                if self._connections < connections_max:
                    self._connections += 1
                    group.create_task(self._serve(sock), name="shuffle-connection")
                elif self._turned_away < TURNED_AWAY_MAX:
                    self._turned_away += 1
                    group.create_task(self._turn_away(sock), name="shuffle-turned-away")
                else:
                    sock.close()

    def _affordable(self) -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        affordable = max(1, (soft - DESCRIPTORS_OF_OTHERS) // DESCRIPTORS_PER_CONNECTION)
        if soft != resource.RLIM_INFINITY and affordable < self._limits.connections_max:
            self._log.warning("shuffle_connections_limited", connections=affordable, open_files=soft)
            return affordable
        return self._limits.connections_max

    async def _serve(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._converse(sock)
        except (OSError, EOFError, TimeoutError):
            pass  # the reader left, or was too slow: it asks again if it still wants to
        except Exception as error:
            # The boundary of one connection: a bug must cost this reader, not the node agent.
            self._log.error("shuffle_connection_failed", reason=f"{type(error).__name__}: {error}")
        finally:
            sock.close()
            self._connections -= 1

    async def _converse(self, sock: socket.socket) -> None:
        conversation = Conversation()
        wait_s = self._limits.head_s
        while True:
            try:
                fetch = await self._next_fetch(sock, conversation, wait_s)
                await self._reply(sock, conversation, fetch)
            except HttpRefusal as refusal:
                await self._refuse(sock, conversation.refuse(refusal))
                return
            except BrokenTransfer as error:
                # Too late for a status: the reader sees a connection that ends early (ShuffleChannelHandler.sendMap).
                self._log.warning("shuffle_fetch_broken", job=fetch.job, reduce=fetch.reduce, reason=str(error))
                return
            except MapOutputUnreadable as error:
                self._log.info("shuffle_fetch_failed", job=fetch.job, reduce=fetch.reduce, reason=str(error))
                failure = HttpRefusal(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
                await self._refuse(sock, conversation.refuse(failure))
                return
            if not conversation.is_open:
                await _let_go(sock)
                return
            wait_s = self._limits.keep_alive_s

    async def _next_fetch(self, sock: socket.socket, conversation: Conversation, wait_s: float) -> FetchRequest:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(wait_s):
            while (fetch := conversation.next_fetch()) is None:
                conversation.receive(await loop.sock_recv(sock, RECEIVE_BYTES))
        return fetch

    async def _reply(self, sock: socket.socket, conversation: Conversation, fetch: FetchRequest) -> None:
        """Raises HttpRefusal or MapOutputUnreadable: nothing has been sent."""
        answer = await self._answer(fetch, self.port)
        try:
            transfer, turn = await self._lookers.run(self._begin, sock, conversation, fetch, answer)
            await self._finish(sock, fetch, transfer, turn, answer)
        finally:
            answer.outputs.close()
        conversation.body_sent(transfer.body_bytes)

    def _begin(
        self, sock: socket.socket, conversation: Conversation, fetch: FetchRequest, answer: FetchAnswer
    ) -> tuple[Transfer, TransferEnd]:
        """Find the files and, if the answer is small, send it at once.  Runs in a thread."""
        pieces = answer.outputs.locate(answer.maps, answer.reduce)
        length = sum(piece.length for piece in pieces)
        keep_alive = fetch.keep_alive or self._limits.keep_alive_always
        head = conversation.accept(answer.reply_hash, length, self._limits.keep_alive_s if keep_alive else None)
        transfer = Transfer(sock, head, pieces, answer.outputs.open)
        if length > SMALL_BYTES:
            answer.outputs.release()
            return transfer, TransferEnd.MORE
        try:
            return transfer, transfer.turn()
        except MapOutputUnreadable as error:
            transfer.close()
            raise BrokenTransfer(str(error)) from error
        except BaseException:
            transfer.close()
            raise

    async def _finish(
        self, sock: socket.socket, fetch: FetchRequest, transfer: Transfer, turn: TransferEnd, answer: FetchAnswer
    ) -> None:
        try:
            while turn is not TransferEnd.DONE:
                if turn is TransferEnd.BLOCKED:
                    answer.outputs.release()
                    await _writable(sock, self._limits.stall_s)
                turn = await self._senders.run(transfer.turn)
        except MapOutputUnreadable as error:
            raise BrokenTransfer(str(error)) from error
        finally:
            transfer.close()
            self.sent_bytes += transfer.sent_bytes

    async def _refuse(self, sock: socket.socket, answer: bytes) -> None:
        async with asyncio.timeout(LINGER_S):
            await asyncio.get_running_loop().sock_sendall(sock, answer)
        await _let_go(sock)

    async def _turn_away(self, sock: socket.socket) -> None:
        try:
            await self._refuse(sock, Conversation().refuse(too_many_connections()))
        except (OSError, TimeoutError):
            pass
        finally:
            sock.close()
            self._turned_away -= 1


async def _let_go(sock: socket.socket) -> None:
    """Closing with unread bytes would reset the connection and lose the answer: read them for a moment.

    Raises TimeoutError, OSError.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(LINGER_S):
        sock.shutdown(socket.SHUT_WR)
        read = 0
        while read < LINGER_BYTES_MAX and (data := await loop.sock_recv(sock, RECEIVE_BYTES)):
            read += len(data)


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def _writable(sock: socket.socket, timeout_s: float) -> None:
    """Raises TimeoutError: the reader took nothing for so long."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    number = sock.fileno()
    if number < 0:
        raise OSError(errno.EBADF, "closed")
    loop.add_writer(number, _resolve, ready)
    try:
        async with asyncio.timeout(timeout_s):
            await ready
    finally:
        loop.remove_writer(number)
