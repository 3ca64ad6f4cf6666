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

from yodel.rpc_io.rest.bounded_http import BODY_GRACE_S, HEAD_BYTES_MAX, IDLE_S, STALLED_S, BoundedHttp

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
    """What a protocol uses of an event loop; tasks are the real one's."""

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

    def get_extra_info(self, _: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def is_closing(self) -> bool:
        return not self.is_open

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
        config = Config(self._app, interface="asgi3", ws="none", log_config=None, timeout_keep_alive=30)
        loop = cast(asyncio.AbstractEventLoop, self.clock)
        self.http = BoundedHttp(config, ServerState(), {}, loop)
        self.http.connection_made(cast(asyncio.Transport, self.wire))

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        while self._is_body_read and (await receive()).get("more_body"):
            pass
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


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET / HTTP/1.1\r\nHost:"])
async def test_caller_that_says_nothing_more_is_hung_up_on(connection: Connection, sent: bytes) -> None:
    await connection.sends(sent)
    connection.clock.waits(IDLE_S - 0.1)
    assert connection.is_open
    connection.clock.waits(0.2)
    assert not connection.is_open


async def test_each_byte_of_a_head_gives_it_more_time(connection: Connection) -> None:
    for part in (b"GET ", b"/ ", b"HTTP/1.1\r\n"):
        connection.clock.waits(IDLE_S - 1)
        await connection.sends(part)
    assert connection.is_open
    connection.clock.waits(IDLE_S + 1)
    assert not connection.is_open


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


async def test_body_that_arrives_is_not_cut_and_one_that_stops_is() -> None:
    connection = Connection(is_body_read=True)
    await connection.sends(POST)
    for _ in range(99):
        connection.clock.waits(IDLE_S - 1)
        await connection.sends(b"x")
    assert connection.is_open
    connection.clock.waits(IDLE_S + BODY_GRACE_S - 1)
    assert connection.is_open  # who reads it speaks first
    connection.clock.waits(2)
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
    for _ in range(HEAD_BYTES_MAX // 4096 + 2):
        await connection.sends(b"x" * 4096)
    assert not connection.is_open


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
