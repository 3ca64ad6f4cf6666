"""HTTP without a socket, as a dialogue."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from nm_plugin.shuffle.conversation import HEAD_BYTES_MAX, Conversation
from nm_plugin.shuffle.fetch import HttpRefusal, too_many_connections
from tests.support.shuffle import Ask, attempt

ASK = Ask(port=13562, maps=[attempt(0)])


def test_bytes_one_by_one_are_a_fetch() -> None:
    conversation = Conversation()
    data = ASK.data()
    for position in range(len(data) - 1):
        conversation.receive(data[position : position + 1])
        assert conversation.next_fetch() is None
    conversation.receive(data[-1:])
    fetch = conversation.next_fetch()
    assert fetch is not None
    assert (fetch.target, fetch.maps) == (ASK.target, (attempt(0),))


def test_answer_that_closes_is_hadoops() -> None:
    conversation = Conversation()
    conversation.receive(ASK.data())
    conversation.next_fetch()
    assert conversation.accept("aGFzaA==", 52, None) == (
        b"HTTP/1.1 200 OK\r\nReplyHash: aGFzaA==\r\nname: mapreduce\r\nversion: 1.0.0\r\n"
        b"Connection: close\r\ncontent-length: 52\r\n\r\n"
    )
    conversation.body_sent(52)
    assert not conversation.is_open


def test_answer_that_stays_is_hadoops_and_another_request_may_follow() -> None:
    conversation = Conversation()
    conversation.receive(ASK.data() + ASK.but(reduce=1).data())
    for reduce in (0, 1):
        fetch = conversation.next_fetch()
        assert fetch is not None
        assert fetch.reduce == reduce
        assert conversation.accept("aGFzaA==", 0, 5) == (
            b"HTTP/1.1 200 OK\r\nReplyHash: aGFzaA==\r\nname: mapreduce\r\nversion: 1.0.0\r\n"
            b"Connection: Keep-Alive\r\nKeep-Alive: timeout=5\r\ncontent-length: 0\r\n\r\n"
        )
        conversation.body_sent(0)
        assert conversation.is_open
    assert conversation.next_fetch() is None


def test_reader_that_wants_to_close_is_not_kept() -> None:
    conversation = Conversation()
    conversation.receive(ASK.but(headers=(("Connection", "close"),)).data())
    conversation.next_fetch()
    assert b"close\r\n" in conversation.accept("", 10, 5)
    conversation.body_sent(10)
    assert not conversation.is_open


def test_refusal_is_plain_text_and_the_end() -> None:
    conversation = Conversation()
    conversation.receive(ASK.but(method="POST").data())
    with pytest.raises(HttpRefusal) as caught:
        conversation.next_fetch()
    assert conversation.refuse(caught.value) == (
        b"HTTP/1.1 405 Method Not Allowed\r\ncontent-type: text/plain; charset=UTF-8\r\nname: mapreduce\r\n"
        b"version: 1.0.0\r\ncontent-length: 0\r\nConnection: close\r\n\r\n"
    )
    assert not conversation.is_open


def test_text_of_a_refusal_is_its_body() -> None:
    conversation = Conversation()
    conversation.receive(ASK.data())
    conversation.next_fetch()
    answer = conversation.refuse(HttpRefusal(HTTPStatus.INTERNAL_SERVER_ERROR, "Could not find it"))
    assert answer.endswith(b"content-length: 17\r\nConnection: close\r\n\r\nCould not find it")


def test_crowd_is_told_before_it_asked() -> None:
    answer = Conversation().refuse(too_many_connections())
    assert answer.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert b"\r\nRetry-After: 1000\r\n" in answer


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /x HTTP/1.1\r\nno header\r\n\r\n",
        b"GET /" + b"x" * HEAD_BYTES_MAX + b" HTTP/1.1",
        b"GET /x HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * HEAD_BYTES_MAX,
    ],
)
def test_what_is_no_request_is_400(data: bytes) -> None:
    conversation = Conversation()
    conversation.receive(data)
    with pytest.raises(HttpRefusal) as caught:
        conversation.next_fetch()
    assert conversation.refuse(caught.value).startswith(b"HTTP/1.1 400 ")


def test_request_with_a_body_is_refused() -> None:
    conversation = Conversation()
    conversation.receive(ASK.but(headers=(("Content-Length", "5"),)).data() + b"12345")
    with pytest.raises(HttpRefusal, match="413"):
        conversation.next_fetch()


def test_reader_that_leaves_is_no_request() -> None:
    conversation = Conversation()
    assert conversation.next_fetch() is None
    conversation.receive(b"")
    with pytest.raises(EOFError):
        conversation.next_fetch()


def test_reader_that_leaves_inside_its_request_is_refused() -> None:
    conversation = Conversation()
    conversation.receive(b"GET /mapOut")
    assert conversation.next_fetch() is None
    conversation.receive(b"")
    with pytest.raises(HttpRefusal, match="400"):
        conversation.next_fetch()
