"""Following: lines to messages, and a stream that is cut and found again.  Pauses are the loop's and cost nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2
import pytest

from yodel.client.api import ApiRefused, RmClient
from yodel.client.events import TRIES_MAX, EventParser, Message, follow, until_over
from yodel.errors import Unavailable

pytestmark = pytest.mark.looptime
APP = "application_1_0001"


def event(number: int, kind: str = "application") -> str:
    return f'id: 0-{number}\nevent: {kind}\ndata: {{"n": {number}}}\n\n'


@dataclass
class Server:
    """Answers one stream after another; then refuses.  ``states`` are told to those who ask for the application."""

    streams: list[str | int]
    states: Iterator[str] = field(default_factory=lambda: iter(()))
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if not request.url.path.endswith("/stream"):
            return httpx2.Response(200, json={"state": next(self.states)})
        self.asked.append(request.headers.get("last-event-id", ""))
        if not self.streams:
            raise httpx2.ConnectError("gone", request=request)
        stream = self.streams.pop(0)
        if isinstance(stream, int):
            problem = {"detail": "no", "hint": None}
            return httpx2.Response(stream, json=problem, headers={"content-type": "application/problem+json"})
        return httpx2.Response(200, text=stream)

    def client(self) -> RmClient:
        return RmClient("http://rm", "alice", httpx2.MockTransport(self))


async def collected(server: Server) -> list[str]:
    """Kinds and numbers, until it is given up."""
    found: list[str] = []
    with contextlib.suppress(Unavailable):
        async for message in follow(server.client(), None, ()):
            is_plain = message.kind == "application"
            found += [str(message.data["n"]) if is_plain else message.kind]
    return found


def test_lines_become_messages_as_the_standard_says() -> None:
    parser = EventParser()
    lines = [
        "retry: 3000",
        "id: 0-1",
        "",
        ": comment",
        "event: node",
        'data: {"a":',
        "data:1}",
        "id: 0-2",
        "",
        "data: x",
        "",
    ]
    messages = [message for line in lines if (message := parser.feed(line)) is not None]
    assert messages == [Message(kind="node", data={"a": 1})]
    assert parser.last_id == "0-2"


def test_message_without_a_kind_and_unknown_fields() -> None:
    parser = EventParser()
    assert [parser.feed(line) for line in ("nonsense", "id: a\0b", "data: {}", "")][-1] == Message(
        kind="message", data={}
    )
    assert parser.last_id == ""
    assert parser.feed("data: []") is None
    assert parser.feed("") is None


async def test_stream_that_is_cut_goes_on_where_it_was() -> None:
    server = Server([event(1) + event(2), event(3)])
    assert (await collected(server))[:5] == ["opened", "1", "2", "opened", "3"]
    assert server.asked[:3] == ["", "0-2", "0-3"]


async def test_it_is_given_up_after_so_many_tries_with_longer_and_longer_pauses() -> None:
    server = Server([503, event(1)])
    before_s = asyncio.get_running_loop().time()
    assert await collected(server) == ["opened", "1"]
    assert len(server.asked) == TRIES_MAX + 1
    assert asyncio.get_running_loop().time() - before_s == pytest.approx(1 + 1 + 2 + 4 + 8 + 15 * 5)


async def test_quiet_cluster_behind_a_proxy_that_cuts_is_followed_on() -> None:
    quiet = "retry: 3000\nid: 0-7\n\n: heartbeat\nid: 0-7\n\n"
    server = Server([quiet] * (TRIES_MAX + 2) + [event(8)])
    assert (await collected(server))[-1] == "8"


async def test_connections_that_end_before_a_heartbeat_bring_nothing() -> None:
    server = Server(["retry: 3000\nid: 0-7\n\n"] * (TRIES_MAX + 2))
    assert await collected(server) == ["opened"] * TRIES_MAX


async def test_refusal_is_no_cut() -> None:
    server = Server([400])
    with pytest.raises(ApiRefused):
        await anext(follow(server.client(), None, ()))
    assert len(server.asked) == 1


async def test_application_is_followed_to_its_end() -> None:
    server = Server([event(1, "container") + event(2), event(3)], iter(["RUNNING", "RUNNING", "RUNNING", "FINISHED"]))
    found = [message.kind async for message in until_over(server.client(), APP)]
    assert found == ["container", "application", "application", "over"]


async def test_application_that_has_ended_is_told_at_once() -> None:
    server = Server([event(1)], iter(["KILLED"]))
    assert [message.data async for message in until_over(server.client(), APP)] == [{"state": "KILLED"}]


async def test_gap_is_looked_behind() -> None:
    server = Server([event(1, "gap")], iter(["RUNNING", "FAILED"]))
    assert [message.kind async for message in until_over(server.client(), APP)] == ["over"]
