"""uvicorn's fast HTTP protocol with bounds on what a caller may keep of the server without asking for anything.

uvicorn reads a head for as long as it comes, keeps what nobody takes, and waits for ever for a first request.  This one
hangs up.  An answer under way is never cut while its reader takes it.  A refusal arrives even at who is still sending:
the sending side is ended, what comes is dropped for a moment, and only then the connection is closed.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from yodel.hadoop_http.connections import Connections, Full
from yodel.serving.sites import site_of
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import (
    HTTP_BODY_PARTS,
    HTTP_BODY_SECONDS,
    HTTP_HEAD_BYTES,
    HTTP_HEAD_SECONDS,
    HTTP_HEADERS,
    HTTP_PIPELINED,
    REFUSALS,
)

HEAD_BYTES_MAX = 64 * 1024
"""Request line and headers together; Jetty allows 64 KiB in Hadoop (hadoop.http.max.request.header.size)."""
HEADERS_MAX = 256
"""Each is looked at several times; browsers and proxies send some tens."""
HEAD_S = 30.0
"""From the first byte of a head to its end, however busily it comes."""
BODY_S = 60.0
"""From the end of a head to the end of its body, and for each silence in it."""
BODY_GRACE_S = 5.0
"""Who reads a body has the same deadline and says first that it did not arrive."""
BODY_PARTS_MAX = 8_192
"""Chunks, each of which is a call; the largest body passed on, in chunks of 4 KiB as Java sends them, has half."""
PIPELINED_MAX = 64
"""Requests behind the one that is answered: reading stops at the first, but what is read at once may have thousands."""
STALLED_S = 60.0
"""A reader that takes nothing for so long is hung up on: what was made for it waits in memory."""
IDLE_S = 60.0
"""A caller who has not begun a request for so long is hung up on (hadoop.http.idle_timeout.ms)."""
LINGER_S = 5.0
"""How long a caller who is still sending has to read why he is hung up on."""
LINGER_BYTES_MAX = 32 * 1024 * 1024
"""The most bytes that are read and dropped meanwhile: twice the largest body."""
DRAINED_BYTES_MAX = 256 * 1024
"""The most bytes left of a body answered before it was whole; a shorter one is read past and its connection kept."""


class HeadRefused(Exception):
    """Raised inside the parser to stop it."""


class BoundedHttp(HttpToolsProtocol):
    """One connection.  ``connections`` is the port's table."""

    _is_begun = False
    """Some of a request has come, and not all of it."""
    _is_in_body = False
    _is_lingering = False
    """The last answer is sent; what still comes is dropped."""
    _is_deaf = False
    """As soon as the answer under way has ended, no more is heard."""
    _is_held = False
    """It has a place in the table."""
    _is_told_no = False
    """It has one of the places of those who are told that there is none."""
    _unused_bytes = 0
    """Since the request, its head or a part of its body ended: a head, or what stands between and behind chunks."""
    _head_bytes = 0
    _parts = 0
    _dropped_bytes = 0
    _last_words = b""
    """The words that are said behind the answer under way."""
    _unsent_bytes = 0
    """As of the last look."""
    _paused_bytes = 0
    """Unsent when writing was paused, or at the last look at the reader since."""
    _heard_s = 0.0
    _begun_s = 0.0
    """When the head under way began, or its body; when nothing is, the end of the last answer."""
    _refusal: tuple[int, Limit, int, int] | None = None
    """The reason for which the parser was stopped: status, limit, value, maximum."""
    _look_s = 0.0
    _idle: asyncio.TimerHandle | None = None
    _hang_up: asyncio.TimerHandle | None = None
    _site = ""

    def __init__(self, *arguments: Any, connections: Connections | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._table = connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard_s = self._begun_s = self.loop.time()
        self._look_in(IDLE_S)
        self._site = site_of(self.client[0]) if self.client is not None else ""
        if self._table is None:
            return
        try:
            self._table.admit(self, self._site)
            self._is_held = True
        except Full as error:
            self._turn_away(error.limit, error.maximum)

    def data_received(self, data: bytes) -> None:
        if self._is_lingering or self._is_deaf:
            self._drop(data)
            return
        self._heard_s = self.loop.time()
        self._unused_bytes += len(data)
        super().data_received(data)
        if self._is_closing():
            return
        if self._unused_bytes > HEAD_BYTES_MAX and not self._is_deaf:
            self._refuse(431, HTTP_HEAD_BYTES, self._unused_bytes, HEAD_BYTES_MAX)
        elif self._is_begun:
            self._look_in(self._patience_end_s() - self._heard_s)

    # What the parser tells

    def on_message_begin(self) -> None:
        self._is_begun, self._begun_s, self._head_bytes, self._parts = True, self.loop.time(), 0, 0
        super().on_message_begin()
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop_parser(503, HTTP_PIPELINED, len(self.pipeline) + 1, PIPELINED_MAX)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > HEAD_BYTES_MAX:
            self._stop_parser(431, HTTP_HEAD_BYTES, self._head_bytes, HEAD_BYTES_MAX)
        if len(self.headers) > HEADERS_MAX:
            self._stop_parser(431, HTTP_HEADERS, len(self.headers), HEADERS_MAX)

    def on_headers_complete(self) -> None:
        self._is_in_body, self._unused_bytes, self._begun_s = True, 0, self.loop.time()
        super().on_headers_complete()
        self.cycle.transport = cast(asyncio.Transport, _OfCycle(self))
        if self._table is not None and self._is_held:
            self._table.is_asking(self, self._site)

    def on_chunk_header(self) -> None:
        self._parts += 1
        if self._parts > BODY_PARTS_MAX:
            self._stop_parser(400, HTTP_BODY_PARTS, self._parts, BODY_PARTS_MAX)

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
            if self._dropped_bytes > DRAINED_BYTES_MAX:
                self.hang_up()
        elif self._table is not None and self._is_held:
            self._table.is_sending(self, self._site)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_begun, self._is_in_body, self._unused_bytes, self._dropped_bytes = False, False, 0, 0
        self._begun_s = self.loop.time()
        if self._table is not None and self._is_held:
            self._table.is_answered(self, self._site)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that uvicorn's parser rejected."""
        if self._refusal is not None:
            self._refuse(*self._refusal)
        else:
            self._say_no(400, msg)

    # Answers

    def on_response_complete(self) -> None:
        self._heard_s = self._begun_s = self.loop.time()
        if self._table is not None and self._is_held and not self.pipeline:
            self._table.asks_nothing(self, self._site)
        if self._is_lingering or (self._is_deaf and not self.pipeline):
            self.server_state.total_requests += 1
            if self._last_words and not self._is_closing():
                self.transport.write(self._last_words)
            self.hang_up()
            return
        super().on_response_complete()
        if self._is_in_body:  # what is left of it is read past, for a moment
            self._unset_keepalive_if_required()
            self._look_in(LINGER_S)

    def shutdown(self) -> None:
        if self._is_lingering:
            self.transport.close()
        else:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        """End the connection such that what was sent arrives, whatever the other side is still sending."""
        if self._is_closing():
            return
        if not self._is_begun and not self._is_deaf and not self.pipeline:
            self.transport.close()
            return
        self._is_lingering = True
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        self.transport.write_eof()
        self._dropped_bytes = 0
        self._begun_s = self.loop.time()
        self._look_in(LINGER_S)

    def make_room(self, limit: Limit, maximum: int) -> None:
        """Evictable: somebody else needs the place."""
        self._leave()
        if self._is_lingering or self.transport.is_closing():
            self.transport.abort()
        elif self._is_begun:
            self._turn_away(limit, maximum)
        else:
            self.transport.close()

    def _turn_away(self, limit: Limit, maximum: int) -> None:
        if self._table is None or not self._table.has_room_to_refuse():
            self.transport.abort()
            return
        self._is_told_no = self._is_begun = True
        self._say_no(503, _text(limit, maximum + 1, maximum), ((b"retry-after", b"1"),))

    def _stop_parser(self, status: int, limit: Limit, value: int, maximum: int) -> None:
        self._refusal = (status, limit, value, maximum)
        raise HeadRefused

    def _refuse(self, status: int, limit: Limit, value: int, maximum: int) -> None:
        REFUSALS.tell(limit, caller=self._site, value=value, maximum=maximum)
        self._say_no(status, _text(limit, value, maximum))

    def _say_no(self, status: int, text: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        """The last answer of this connection, behind those that are under way."""
        cycle, words = self.cycle, self._words(status, text, headers)
        is_in_body, self._is_begun = self._is_in_body, True  # it may have more to say
        if cycle is not None and not cycle.response_complete:
            if cycle.response_started or self.pipeline or not is_in_body:
                self._is_deaf, self._last_words = True, words
                return
            cycle.disconnected = True  # whoever reads its body
            cycle.message_event.set()
        self.transport.write(words)
        self.hang_up()

    def _words(self, status: int, text: str, headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
        body = text.encode("ascii", "replace")
        told = (
            *self.server_state.default_headers,
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *headers,
        )
        head = b"".join(b"%b: %b\r\n" % (name, value) for name, value in told)
        return STATUS_LINE[HTTPStatus(status)] + head + b"\r\n" + body

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes += len(data)
        if self._dropped_bytes > LINGER_BYTES_MAX:
            self.transport.abort()

    # Deadlines

    def pause_writing(self) -> None:
        self._paused_bytes = self.transport.get_write_buffer_size()
        self._hang_up = self.loop.call_later(STALLED_S, self._look_at_reader)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._keep()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep()
        self._leave()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        super().connection_lost(exc)

    def _leave(self) -> None:
        if self._table is not None and self._is_held:
            self._is_held = False
            self._table.left(self, self._site)
        if self._table is not None and self._is_told_no:
            self._is_told_no = False
            self._table.refused_left()

    def _keep(self) -> None:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None

    def _look_in(self, seconds: float) -> None:
        """One timer for a connection, at the earliest of its deadlines; what comes in mostly only notes the time."""
        at_s = self.loop.time() + seconds
        if self._idle is not None:
            if self._look_s <= at_s:
                return
            self._idle.cancel()
        self._look_s = at_s
        self._idle = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """An answer that is still being taken goes on."""
        self._idle = None
        now_s = self.loop.time()
        if self._is_answering():
            self._heard_s = self._begun_s = now_s
        left_s = self._patience_end_s() - now_s
        if left_s > 0:
            self._look_in(left_s)
            return
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes not in (0, self._unsent_bytes):
            self._unsent_bytes = unsent_bytes
            self._look_in(IDLE_S)
            return
        self._end_patience()

    def _end_patience(self) -> None:
        is_head = self._is_begun and not self._is_in_body and not self._is_lingering
        if is_head and not self.transport.is_closing():
            self._refuse(408, HTTP_HEAD_SECONDS, int(HEAD_S), int(HEAD_S))
        elif self._is_in_body and not self._is_closing() and self.transport.get_write_buffer_size() == 0:
            if not self.cycle.response_complete:
                self._refuse(408, HTTP_BODY_SECONDS, int(BODY_S), int(BODY_S))
            else:
                self.hang_up()
        else:
            self.transport.abort()

    def _look_at_reader(self) -> None:
        """Close a connection whose reader takes nothing.  One that reads may do so slowly: what waits for it is
        bounded."""
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes >= self._paused_bytes:
            self.transport.abort()
            return
        self._paused_bytes = unsent_bytes
        self._hang_up = self.loop.call_later(STALLED_S, self._look_at_reader)

    def _is_closing(self) -> bool:
        return self._is_lingering or self.transport.is_closing()

    def _is_answering(self) -> bool:
        """Return True if the caller has nothing to send: a request is complete or being answered, or we do not read its
        body."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self._is_closing():
            return False
        is_ours = cycle.response_started or cycle.waiting_for_100_continue or self.flow.read_paused
        return is_ours or bool(self.pipeline) or not self._is_in_body

    def _patience_end_s(self) -> float:
        """Until when the caller, whose turn it is, may take."""
        if self._is_lingering:
            return self._begun_s + LINGER_S
        if not self._is_begun:
            return self._begun_s + IDLE_S
        if not self._is_in_body:
            return self._begun_s + HEAD_S
        if self.cycle is None or self.cycle.response_complete:
            return self._begun_s + LINGER_S
        return self._begun_s + BODY_S + BODY_GRACE_S


class _OfCycle:
    """A connection as the answering of one request sees it: its end is a polite one."""

    __slots__ = ("_http",)

    def __init__(self, http: BoundedHttp) -> None:
        self._http = http

    def write(self, data: bytes) -> None:
        if not self._http.transport.is_closing():
            self._http.transport.write(data)

    def is_closing(self) -> bool:
        return self._http._is_closing()

    def close(self) -> None:
        self._http.hang_up()


def _text(limit: Limit, value: int, maximum: int) -> str:
    setting = f"setting {limit.setting}" if limit.setting else "fixed"
    return f"Refused by the limit {limit.name}: {value}, where at most {maximum} are allowed ({setting})"
