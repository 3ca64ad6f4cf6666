"""Callers that send nothing, or no end of it, on a connection made of objects and a clock that only this file moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from yodel.hadoop_http.bounded_http import (
    BODY_GRACE_S,
    BODY_PARTS_MAX,
    BODY_S,
    DRAINED_BYTES_MAX,
    HEAD_BYTES_MAX,
    HEAD_S,
    HEADERS_MAX,
    IDLE_S,
    LINGER_BYTES_MAX,
    LINGER_S,
    PIPELINED_MAX,
    STALLED_S,
    BoundedHttp,
)

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(slots=True)
class Timer:
    at_s: float
    action: Callable[[], object]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass(slots=True)
class Clock:
    """Stand in for what a protocol uses of an event loop; tasks are the real one's."""

    now_s: float = 0.0
    timers: list[Timer] = field(default_factory=list)

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Timer:
        self.timers.append(Timer(self.now_s + delay_s, action))
        return self.timers[-1]

    def create_task(self, task: Coroutine[Any, Any, None], **_: object) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(task)

    def waits(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while due := [timer for timer in self.timers if not timer.is_cancelled and timer.at_s <= until_s]:
            first = min(due, key=lambda timer: timer.at_s)
            self.timers.remove(first)
            self.now_s = first.at_s
            first.action()
        self.now_s = until_s


@dataclass(slots=True)
class Wire:
    """A transport.  ``unsent_bytes`` is what its reader has not taken."""

    sent: bytearray = field(default_factory=bytearray)
    unsent_bytes: int = 0
    is_open: bool = True
    is_aborted: bool = False
    is_ended: bool = False

    def get_extra_info(self, _: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def is_closing(self) -> bool:
        return not self.is_open

    def write_eof(self) -> None:
        self.is_ended = True

    def close(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open, self.is_aborted = False, True

    def pause_reading(self) -> None: ...

    resume_reading = pause_reading


class Connection:
    """An answer is given when ``may_answer`` is set; it says 'hello' in two parts, the second after ``may_end``."""

    def __init__(self, *, is_body_read: bool = False) -> None:
        self.clock, self.wire = Clock(), Wire()
        self.may_answer, self.may_end = asyncio.Event(), asyncio.Event()
        self._is_body_read = is_body_read
        self.asked = 0
        self.heard: list[str] = []
        config = Config(self._app, interface="asgi3", ws="none", log_config=None, timeout_keep_alive=30)
        loop = cast(asyncio.AbstractEventLoop, self.clock)
        self.http = BoundedHttp(config, ServerState(), {}, loop)
        self.http.connection_made(cast(asyncio.Transport, self.wire))

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        more = self._is_body_read
        while more:
            message = await receive()
            self.heard.append(message["type"])
            more = message.get("more_body", False)
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hel", "more_body": True})
        await self.may_end.wait()
        await send({"type": "http.response.body", "body": b"lo"})

    async def sends(self, data: bytes) -> None:
        self.http.data_received(data)
        await self.settles()

    async def settles(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def answers(self) -> None:
        self.may_answer.set()
        self.may_end.set()
        await self.settles()

    @property
    def is_open(self) -> bool:
        return self.wire.is_open

    def told(self, status: int, words: str) -> bool:
        """Return whether the last of it was that, and the sending side is ended without the connection being closed."""
        head, _, body = bytes(self.wire.sent).rpartition(b"\r\n\r\n")
        is_told = head.rpartition(b"HTTP/1.1 ")[2].startswith(b"%d " % status) and words.encode() in body
        return is_told and self.wire.is_ended


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
async def test_caller_that_begins_nothing_is_hung_up_on(connection: Connection, sent: bytes) -> None:
    for _ in range(6):
        await connection.sends(sent)
        connection.clock.waits((IDLE_S - 0.1) / 6)
    assert connection.is_open
    connection.clock.waits(0.2)
    assert not connection.is_open


async def test_head_has_its_time_however_busily_it_comes(connection: Connection) -> None:
    connection.clock.waits(IDLE_S - 1)
    for byte in b"GET / HTTP/1.1\r\nX-Long: 12345":
        await connection.sends(bytes([byte]))
        connection.clock.waits(HEAD_S / 30)
    assert connection.is_open
    assert connection.wire.sent == b""
    connection.clock.waits(HEAD_S / 30)
    assert connection.told(408, "http_head_seconds")


async def test_late_head_is_told_why_before_the_connection_closes(connection: Connection) -> None:
    """Counted from the first byte of the head, also when the connection is older or has been used."""
    await connection.sends(REQUEST)
    await connection.answers()
    connection.wire.sent.clear()
    connection.clock.waits(10)
    await connection.sends(b"GET / HTTP/1.1\r\nHost:")
    connection.clock.waits(HEAD_S - 0.1)
    assert connection.wire.sent == b""
    connection.clock.waits(0.2)
    assert connection.told(408, "http_head_seconds")
    assert connection.is_open
    await connection.sends(b" x\r\n\r\n")
    connection.clock.waits(LINGER_S + 0.1)
    assert not connection.is_open
    assert connection.asked == 1


@pytest.mark.parametrize("is_begun", [False, True])
async def test_answer_under_way_is_never_cut(connection: Connection, is_begun: bool) -> None:
    await connection.sends(REQUEST)
    if is_begun:
        connection.may_answer.set()
        await connection.settles()
    connection.clock.waits(100 * IDLE_S)
    assert connection.is_open
    await connection.answers()
    assert bytes(connection.wire.sent).endswith(b"lo\r\n0\r\n\r\n")
    connection.clock.waits(29)
    assert connection.is_open  # kept for another question
    connection.clock.waits(2)
    assert not connection.is_open


async def test_answer_that_has_begun_is_not_cut_for_a_body_that_does_not_come(connection: Connection) -> None:
    await connection.sends(POST)
    connection.may_answer.set()
    await connection.settles()
    connection.clock.waits(100 * IDLE_S)
    assert connection.is_open


async def test_body_has_its_time_however_busily_it_comes() -> None:
    connection = Connection(is_body_read=True)
    connection.clock.waits(IDLE_S - 1)
    await connection.sends(POST)
    for _ in range(64):
        connection.clock.waits(1)
        await connection.sends(b"x")
    assert connection.wire.sent == b""  # who reads it speaks first
    connection.clock.waits(BODY_S + BODY_GRACE_S - 63.9)
    assert connection.told(408, "http_body_seconds")
    await connection.settles()
    assert connection.heard == ["http.request"] * 64 + ["http.disconnect"]
    connection.clock.waits(LINGER_S + 0.1)
    assert not connection.is_open


async def test_body_that_we_do_not_read_is_not_late(connection: Connection) -> None:
    await connection.sends(POST.replace(b"100", b"200000") + b"x" * 100_000)
    connection.clock.waits(100 * IDLE_S)
    assert connection.is_open


async def test_body_that_waits_for_our_word_is_not_late(connection: Connection) -> None:
    await connection.sends(POST.replace(b"Host", b"Expect: 100-continue\r\nHost"))
    connection.clock.waits(100 * IDLE_S)
    assert connection.is_open


async def test_silence_after_an_early_answer_ends_too(connection: Connection) -> None:
    """The next byte ends uvicorn's own wait for another request."""
    await connection.sends(POST)
    await connection.answers()
    await connection.sends(b"x")
    connection.clock.waits(IDLE_S + 1)
    assert not connection.is_open


async def test_head_begun_after_an_answer_ends_too(connection: Connection) -> None:
    await connection.sends(REQUEST)
    await connection.answers()
    await connection.sends(b"GET")
    connection.clock.waits(IDLE_S + 1)
    assert not connection.is_open


async def test_question_behind_another_waits_as_long_as_that_takes(connection: Connection) -> None:
    await connection.sends(REQUEST + POST)
    connection.clock.waits(100 * IDLE_S)
    assert connection.is_open


async def test_rest_of_an_answer_is_left_to_who_takes_it(connection: Connection) -> None:
    connection.wire.unsent_bytes = 1000
    connection.clock.waits(IDLE_S + 1)
    connection.wire.unsent_bytes = 500
    connection.clock.waits(IDLE_S)
    assert connection.is_open
    connection.clock.waits(IDLE_S)
    assert not connection.is_open


async def test_lost_connection_leaves_no_timer(connection: Connection) -> None:
    connection.http.connection_lost(None)
    assert [timer for timer in connection.clock.timers if not timer.is_cancelled] == []


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nX-Long: ",
        pytest.param(CHUNKED + b"1\r\nx\r\n0\r\nX-Long: ", id="trailers"),
        pytest.param(CHUNKED + b"1;", id="chunk extension"),
    ],
)
async def test_no_end_of_headers_is_cut_off(connection: Connection, begun: bytes) -> None:
    await connection.sends(begun)
    for _ in range(HEAD_BYTES_MAX // 4096):
        await connection.sends(b"x" * 4096)
    if not connection.wire.is_ended:
        await connection.sends(b"x")
    assert connection.told(431, "http_head_bytes")
    assert connection.is_open
    await connection.sends(b"x" * LINGER_BYTES_MAX)
    assert connection.is_open
    await connection.sends(b"x")
    assert connection.wire.is_aborted


async def test_long_body_is_no_long_head() -> None:
    connection = Connection(is_body_read=True)
    await connection.sends(CHUNKED)
    for _ in range(100):
        await connection.sends(b"1000\r\n" + b"x" * 4096 + b"\r\n")
    await connection.sends(b"0\r\n\r\n")
    await connection.answers()
    assert bytes(connection.wire.sent).startswith(b"HTTP/1.1 200 OK")
    assert connection.is_open


async def test_reader_who_takes_slowly_is_left_and_one_who_stops_is_not() -> None:
    connection = Connection()
    connection.may_answer.set()
    await connection.sends(REQUEST)
    connection.wire.unsent_bytes = 300_000
    connection.http.pause_writing()
    for _ in range(5):
        connection.clock.waits(STALLED_S - 1)
        connection.wire.unsent_bytes -= 20_000
    assert connection.wire.is_open
    connection.clock.waits(2 * STALLED_S)
    assert connection.wire.is_aborted
    await connection.answers()


async def test_answer_that_broke_off_is_not_under_way_for_ever() -> None:
    connection = Connection()
    connection.may_answer.set()
    await connection.sends(REQUEST)
    connection.wire.unsent_bytes = 1000
    connection.wire.close()
    connection.clock.waits(3 * IDLE_S)
    assert connection.wire.is_aborted
    await connection.answers()


@pytest.mark.parametrize(
    ("head", "limit"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * (HEADERS_MAX + 1) + b"\r\n", "http_headers", id="many"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a:%b\r\n" % (b"x" * 33_000) * 2 + b"\r\n", "http_head_bytes", id="long"),
    ],
)
async def test_whole_head_that_is_too_much_is_not_answered(connection: Connection, head: bytes, limit: str) -> None:
    await connection.sends(head)
    assert connection.told(431, limit)
    assert connection.asked == 0


async def test_as_many_headers_as_are_allowed_are_read(connection: Connection) -> None:
    await connection.sends(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * HEADERS_MAX + b"\r\n")
    await connection.answers()
    assert connection.asked == 1


async def test_body_in_tiny_parts_is_refused_and_its_reader_hears_of_the_end() -> None:
    connection = Connection(is_body_read=True)
    await connection.sends(CHUNKED + b"1\r\nx\r\n" * BODY_PARTS_MAX)
    assert connection.wire.sent == b""
    await connection.sends(b"1\r\nx\r\n")
    assert connection.told(400, "http_body_parts")
    assert connection.heard[-1] == "http.disconnect"


async def test_what_is_no_http_is_told_so_and_what_follows_is_dropped(connection: Connection) -> None:
    await connection.sends(b"\x16\x03\x01 hello")
    assert connection.told(400, "Invalid HTTP request")
    await connection.sends(REQUEST)
    assert connection.asked == 0
    connection.clock.waits(LINGER_S + 0.1)
    assert not connection.is_open


async def test_requests_behind_another_are_bounded_and_the_first_ones_are_answered(connection: Connection) -> None:
    await connection.sends(REQUEST * (PIPELINED_MAX + 3))
    assert connection.wire.sent == b""
    for _ in range(PIPELINED_MAX + 1):
        await connection.answers()
    assert connection.asked == PIPELINED_MAX + 1
    assert connection.wire.sent.count(b"HTTP/1.1 200 ") == PIPELINED_MAX + 1
    assert connection.told(503, "http_pipelined")


async def test_early_answer_arrives_at_who_is_still_sending(connection: Connection) -> None:
    await connection.sends(POST.replace(b"100", b"999999999") + b"x")
    await connection.answers()
    assert connection.is_open
    assert not connection.wire.is_ended
    await connection.sends(b"x" * (DRAINED_BYTES_MAX + 1))
    assert connection.wire.is_ended
    assert connection.is_open
    connection.clock.waits(LINGER_S + 0.1)
    assert not connection.is_open


async def test_last_answer_arrives_at_who_is_still_sending(connection: Connection) -> None:
    """urllib says Connection: close with every request."""
    await connection.sends(POST.replace(b"Host", b"Connection: close\r\nHost"))
    await connection.answers()
    assert connection.wire.is_ended
    assert connection.is_open
    await connection.sends(b"x" * 100)
    connection.clock.waits(LINGER_S + 0.1)
    assert not connection.is_open


async def test_last_answer_to_a_whole_request_ends_the_connection(connection: Connection) -> None:
    await connection.sends(REQUEST.replace(b"Host", b"Connection: close\r\nHost"))
    await connection.answers()
    assert not connection.is_open


async def test_short_rest_of_a_body_keeps_the_connection(connection: Connection) -> None:
    await connection.sends(POST)
    await connection.answers()
    await connection.sends(b"x" * 100 + REQUEST)
    await connection.answers()
    assert connection.asked == 2
    assert not connection.wire.is_ended


async def test_rest_of_a_body_is_not_waited_for(connection: Connection) -> None:
    await connection.sends(POST)
    await connection.answers()
    for _ in range(5):
        connection.clock.waits(LINGER_S / 5 - 0.01)
        await connection.sends(b"x")
    connection.clock.waits(0.1)
    assert connection.wire.is_ended
