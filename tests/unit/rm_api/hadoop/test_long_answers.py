"""Lists in parts: what is sent is whole and well-formed, whatever becomes of their parts."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence

import pytest
from starlette.types import Message

from yodel.rm_api.hadoop.long_answers import Later, Listing
from yodel.rm_api.hadoop.rendered import RenderedPage

Part = RenderedPage | Later


def kept(body: bytes) -> RenderedPage:
    return RenderedPage((1, 1), body, {}, is_whole=True, is_settled=True)


async def sent(parts: Sequence[Part], *, is_gzip: bool = False, method: str = "GET") -> tuple[dict[str, str], bytes]:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    answer = Listing(b"[", parts, b"]", separator=1, media_type="application/json", is_gzip=is_gzip)
    await answer({"type": "http", "method": method}, receive, send)
    assert [message.get("more_body", False) for message in messages[1:]] == [True] * (len(messages) - 2) + [False]
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return headers, b"".join(message["body"] for message in messages[1:])


MIXED: tuple[tuple[Sequence[Part], bytes], ...] = (
    ((kept(b"1,2,"), kept(b"3,")), b"[1,2,3]"),
    ((kept(b"1,"), lambda: b"2,"), b"[1,2]"),
    ((kept(b"1,"), lambda: b""), b"[1]"),
    ((lambda: b"", lambda: b"2,3,"), b"[2,3]"),
    ((lambda: b"",), b"[]"),
)


@pytest.mark.parametrize(("parts", "expected"), MIXED)
async def test_last_part_ends_without_a_separator(parts: Sequence[Part], expected: bytes) -> None:
    _, body = await sent(parts)
    assert body == expected
    headers, packed = await sent(parts, is_gzip=True)
    assert gzip.decompress(packed) == expected
    assert headers["content-encoding"] == "gzip"


async def test_length_is_told_when_it_is_known() -> None:
    headers, body = await sent([kept(b"1,"), kept(b"2,")])
    assert headers["content-length"] == str(len(body))
    headers, _ = await sent([kept(b"1,"), lambda: b"2,"])
    assert "content-length" not in headers


async def test_head_has_no_body() -> None:
    def never() -> bytes:
        raise AssertionError("nothing is rendered")

    assert (await sent([kept(b"1,"), never], method="HEAD"))[1] == b""


async def test_nothing_is_rendered_for_who_is_gone() -> None:
    rendered = []

    def part() -> bytes:
        rendered.append(1)
        return b"1,"

    async def receive() -> Message:
        await asyncio.sleep(0)
        return {"type": "http.disconnect" if rendered else "http.request"}

    async def send(_: Message) -> None:
        await asyncio.sleep(0)

    answer = Listing(b"[", [part] * 50, b"]", separator=1, media_type="application/json", is_gzip=False)
    await answer({"type": "http", "method": "GET"}, receive, send)
    assert len(rendered) < 5


async def test_readers_share_the_bytes() -> None:
    page = kept(b"1,")
    bodies = []

    async def send(message: Message) -> None:
        bodies.append(message.get("body"))

    for _ in range(2):
        answer = Listing(b"[", [page, page], b"]", separator=1, media_type="application/json", is_gzip=False)
        await answer({"type": "http", "method": "GET"}, send, send)  # type: ignore[arg-type]
    assert [body for body in bodies if body is page.body] == [page.body] * 2
