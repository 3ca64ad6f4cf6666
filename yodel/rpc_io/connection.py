"""One accepted connection of an RPC port: an ``asyncio.Protocol`` around ``ServerConnection``.

Who is refused, and whose last answer was just written, is let go by ``Lingering``: the words arrive before the end.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode, unauthorized
from yodel.hadoop_rpc.framing import MIB, fault_frame
from yodel.hadoop_rpc.gssapi import Negotiated
from yodel.hadoop_rpc.server_connection import (
    CallReceived,
    Opened,
    PeerRefused,
    ServerConnection,
    TicketReceived,
    illegal_principal,
)
from yodel.hadoop_rpc.server_policy import AuthMethod
from yodel.rpc_io.dispatch import CallContext
from yodel.rpc_io.seats import IDLE_BEFORE_OPEN_S, IDLE_S
from yodel.serving.lingering import Lingering
from yodel.serving.sites import site_of
from yodel.serving.turns import TURN_S, standing
from yodel.telemetry.limits import REFUSALS, RPC_FRAME_BEFORE_OPEN, RPC_FRAME_TIME, RPC_UNFINISHED_FRAMES

if TYPE_CHECKING:
    from yodel.rpc_io.server import RpcServer

FLUSH_BYTES = 64 * 1024
"""Answers of one read are written together, but not more of them than this at once."""


class Connection(asyncio.Protocol):
    """A peer from its first byte to its last."""

    __slots__ = (
        "_calls",
        "_context",
        "_finishing",
        "_frame_since_s",
        "_frames",
        "_is_judged",
        "_is_waiting",
        "_last_s",
        "_lingering",
        "_loop",
        "_machine",
        "_opened_s",
        "_reading",
        "_remote",
        "_server",
        "_transport",
        "_writable",
        "address",
    )

    _transport: asyncio.Transport
    _machine: ServerConnection

    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._context: CallContext | None = None
        self._remote = ("", 0)
        self.address = ""
        self._calls = 0
        self._reading = self._writable = True
        self._finishing = self._is_waiting = False
        self._is_judged = False
        """The machine waits for the verdict on a ticket."""
        self._lingering: Lingering | None = None
        self._opened_s = self._last_s = self._loop.time()
        self._frame_since_s: float | None = None
        """When the frame began that is not whole yet; None when there is none."""
        self._frames = 0

    @property
    def user(self) -> str | None:
        """None before the connection is open."""
        return self._context.user if self._context is not None else None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        peername = self._transport.get_extra_info("peername")
        if not peername or not self._server.is_listening:
            self._transport.abort()
            return
        self._remote = (str(peername[0]), int(peername[1]))
        self.address = site_of(self._remote[0])
        limits = self._server.limits
        self._transport.set_write_buffer_limits(high=limits.write_buffer_bytes_max)
        self._machine = ServerConnection(policy=self._server.policy(self._remote[0]), nonce=self._server.new_nonce())
        no_seat = self._server.add(self)
        if no_seat is None:
            return
        if self._server.may_be_turned_away(self):
            self.refuse(no_seat)
        else:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.remove(self)
        self._server.dispatcher.closed(*self._remote)
        if self._lingering is not None:
            self._lingering.cancel()
        if self._remote[0]:
            self._machine.receive_eof()

    def data_received(self, data: bytes) -> None:
        if self._lingering is not None:
            self._lingering.received(len(data))
            return
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
        if self._lingering is None:
            self._work()

    # What the server asks of it

    def finish(self) -> None:
        """Read no more; close as soon as the running calls are answered."""
        self._finishing = True
        self._set_reading()
        if not self._calls:
            self._let_go()

    def abort(self) -> None:
        self._transport.abort()

    def refuse(self, fault: RemoteFault) -> None:
        """Send the reason, and close.  The caller has logged it."""
        self._machine.refuse(fault)
        self._say_and_let_go()

    def close_if_overdue(self, now_s: float) -> None:
        """Cut off who has not authenticated in time, who neither sends nor takes anything, and who never ends a frame.

        The silent are closed without a word, as in Hadoop: there is no call whose answer that could be.
        """
        limits = self._server.limits
        late = self._context is None and now_s - self._opened_s > limits.handshake_timeout_s
        idle = now_s - self._last_s > limits.idle_timeout_s and (not self._calls or not self._writable)
        since_s = self._frame_since_s
        if since_s is not None and now_s - since_s > limits.frame_timeout_s and self._has_room():
            self._refuse_slow_frame(now_s - since_s)
        elif late or idle:
            self.abort()

    # What is asked of it where there is too little for all (Sitter, Holder)

    def idle_order(self, now_s: float) -> tuple[bool, float] | None:
        is_open, idle_s = self._context is not None, now_s - self._last_s
        if self._calls or idle_s < (IDLE_S if is_open else IDLE_BEFORE_OPEN_S):
            return None
        return is_open, self._last_s

    def give_way(self) -> None:
        self._server.figures.dropped_connections += 1
        self.abort()

    def drop_frame(self, held_bytes: int, bytes_max: int) -> None:
        limit = RPC_UNFINISHED_FRAMES
        REFUSALS.tell(limit, caller=self.address, value=held_bytes, maximum=bytes_max)
        text = (
            f"unfinished frames of all connections together are {held_bytes} bytes, at most {bytes_max // MIB} MiB "
            f"(setting {limit.setting})"
        )
        self.refuse(_come_again(text))

    # Work

    def _work(self, *, has_turn: bool = False) -> None:
        """Pull events while there is room for their answers; write what there is to say.

        The first is free, so that a heartbeat asks nobody; for more of them the connection needs the turn.
        """
        machine, size = self._machine, 0
        answers: list[bytes] = []
        turns, turn_ends_s = self._server.turns, math.inf
        if has_turn:
            turn_ends_s = turns.processor_s() + TURN_S
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
                    self._context = CallContext.of(event.identity, *self._remote)
                    self._server.figures.authorized += 1
                    self._server.figures.token_logins += event.identity.auth_method is AuthMethod.TOKEN
                elif isinstance(event, TicketReceived):
                    self._is_judged = True
                    self._set_reading()
                    self._server.run(self._judge(event.token), "rpc-ticket")
                elif isinstance(event, PeerRefused):
                    self._refused(event)
                if not machine.buffer:
                    break
                if not has_turn and turns.take():
                    has_turn, turn_ends_s = True, turns.processor_s() + TURN_S
                if not has_turn or turns.processor_s() >= turn_ends_s:
                    self._is_waiting = True
                    self._set_reading()
                    turns.later(self._caller, self._have_turn)
        except Exception as error:  # a bug in a security callable: this connection ends, the others live
            self._server.log.error("rpc_connection_failed", remote=self._remote, exception=type(error).__name__)
            self._transport.abort()
            return
        if answers:
            self._write(b"".join(answers))
        if machine.closed:
            self._say_and_let_go()
            return
        last_words = machine.data_to_send()
        if last_words:
            self._write(last_words)
        if not self._reading:
            self._set_reading()
        if machine.buffer or self._frame_since_s is not None:
            self._keep_watch_of_frame()

    def _have_turn(self) -> None:
        self._is_waiting = False
        if self._lingering is None and not self._transport.is_closing():
            self._last_s = self._loop.time()
            self._work(has_turn=True)

    def _keep_watch_of_frame(self) -> None:
        """Watch the bytes that are left after the work, which begin a frame."""
        size, frames = len(self._machine.buffer), self._machine.frames
        if not size:
            self._frame_since_s = None
            self._server.unfinished.release(self)
            return
        if self._frame_since_s is None or frames != self._frames:
            self._frame_since_s, self._frames = self._loop.time(), frames
        self._server.unfinished.hold(self, size)

    def _write(self, data: bytes) -> None:
        self._server.figures.sent_bytes += len(data)
        self._transport.write(data)

    def _say_and_let_go(self) -> None:
        words = self._machine.data_to_send()
        if words:
            self._write(words)
        self._server.unfinished.release(self)
        self._frame_since_s = None
        self._let_go()

    def _let_go(self) -> None:
        if self._lingering is None and not self._transport.is_closing():
            limits = self._server.limits
            self._lingering = Lingering(
                self._transport,
                linger_s=limits.linger_s,
                bytes_max=limits.linger_bytes_max,
                is_paused=not self._reading,
            )

    def _has_room(self) -> bool:
        return (
            self._writable
            and not self._finishing
            and not self._is_waiting
            and not self._is_judged
            and self._calls < self._server.limits.calls_in_flight_per_connection_max
        )

    def _set_reading(self) -> None:
        wanted = self._has_room()
        if wanted is not self._reading and self._lingering is None and not self._transport.is_closing():
            self._reading = wanted
            if wanted:
                if self._frame_since_s is not None:  # it was us who did not read on
                    self._frame_since_s = self._loop.time()
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    async def _judge(self, token: bytes) -> None:
        """Have a ticket judged, and tell the machine the verdict: each in its turn, as a flood brings many at once."""
        acceptor, turns, fault = self._server.security.acceptor, self._server.turns, None
        assert acceptor is not None
        await turns.turn(self.address)
        if self._transport.is_closing():
            return
        found = Negotiated()
        try:
            found = await acceptor.accept(token)
        except AccessDenied as error:
            fault = unauthorized(faults.SASL, f"GSS initiate failed [Caused by {error}]")
        except InvalidValue as error:
            fault = illegal_principal(error)
        except Unavailable as error:
            fault = _come_again(str(error))
        await turns.turn(self.address)
        self._is_judged = False
        if self._lingering is not None or self._transport.is_closing():
            return
        if fault is not None:
            self._refused(PeerRefused(fault))
            self.refuse(fault)
            return
        self._machine.ticket_accepted(found)
        self._last_s = self._loop.time()
        self._work()

    def _refuse_slow_frame(self, took_s: float) -> None:
        limit, timeout_s = RPC_FRAME_TIME, self._server.limits.frame_timeout_s
        REFUSALS.tell(limit, caller=self._caller, value=round(took_s), maximum=round(timeout_s))
        text = f"a frame is not complete after {took_s:.0f} s, at most {timeout_s:g} s (setting {limit.setting})"
        self.refuse(_come_again(text))

    def _refused(self, event: PeerRefused) -> None:
        fault, error = event.fault, event.too_large
        self._server.figures.count_refusal(fault)
        limit = self._server.limits.frame_limit if event.was_open else RPC_FRAME_BEFORE_OPEN
        if error is not None and limit is not None:
            REFUSALS.tell(limit, caller=self._caller, value=error.length_bytes, maximum=error.limit_bytes)
            return
        self._server.log.warning(
            "rpc_connection_refused",
            remote=self._remote,
            java_class=None if fault is None else fault.java_class,
            code=None if fault is None else fault.code.name,
        )

    @property
    def _caller(self) -> str:
        return self.address if self.user is None else f"{self.user}@{self.address}"

    def _answer(self, call: CallReceived) -> bytes | None:
        """The answer of a call, or None if it will come later."""
        assert self._context is not None
        figures = self._server.figures
        figures.received_calls += 1
        if self._server.busy:
            figures.put_off_calls += 1
            busy = RemoteFault(faults.RETRIABLE, "Server is too busy.", code=RpcErrorCode.ERROR_RPC_SERVER)
            return fault_frame(call.call_id, call.client_id, call.retry_count, busy)
        answer = self._server.dispatcher.dispatch(self._context, call)
        if isinstance(answer, bytes):
            self._count(call, self._last_s)
            return answer
        self._calls += 1
        self._set_reading()
        self._server.run(self._answer_later(answer, call, self._last_s), f"rpc-{call.target.method[:64]}")
        return None

    def _count(self, call: CallReceived, started_s: float) -> None:
        now_s = self._loop.time()
        method = call.target.method if self._server.dispatcher.has(call.target) else None
        self._server.figures.count_answer(method, now_s - started_s, now_s)

    async def _answer_later(self, answer: Coroutine[Any, Any, bytes], call: CallReceived, started_s: float) -> None:
        turns, caller = self._server.turns, self._caller
        try:
            with standing(turns, caller):
                await turns.turn(caller)
                frame = await answer
        finally:
            self._calls -= 1
        self._count(call, started_s)
        if self._lingering is not None or self._transport.is_closing():
            return
        self._last_s = self._loop.time()
        self._write(frame)
        if self._finishing:
            if not self._calls:
                self._let_go()
        elif not self._reading:
            self._work()


def _come_again(text: str) -> RemoteFault:
    return RemoteFault(faults.RETRIABLE, text, code=RpcErrorCode.FATAL_UNKNOWN, fatal=True)
