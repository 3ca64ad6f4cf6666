"""A long list as an answer: parts that are rendered already and shared, parts that are rendered when their turn comes.

A reader who is slow holds one part and references to others.  gzip is made of parts as well: each is compressed once,
however many read it.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from yodel.rm_api.hadoop.rendered import RenderedPage, deflate_part

Later = Callable[[], bytes]
"""Renders its part; nothing may have become of it."""
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_DEFLATE_END = b"\x03\0"


class Listing(Response):
    """``separator`` is the length of what ends each part and is left out of the last one."""

    def __init__(
        self,
        head: bytes,
        parts: Sequence[RenderedPage | Later],
        tail: bytes,
        *,
        separator: int,
        media_type: str,
        is_gzip: bool,
    ) -> None:
        self._head, self._parts, self._tail = head, parts, tail
        self._separator, self._is_gzip = separator, is_gzip
        self._gone: asyncio.Task[None] | None = None
        super().__init__(None, media_type=media_type)
        del self.headers["content-length"]
        self.headers["vary"] = "Accept-Encoding"
        if is_gzip:
            self.headers["content-encoding"] = "gzip"
        elif not self._is_work:
            length = sum(len(part.body) for part in parts if isinstance(part, RenderedPage))
            self.headers["content-length"] = str(len(head) + length - separator + len(tail))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            self._gone = asyncio.create_task(_until_gone(receive)) if self._is_work else None
            try:
                await (self._compressed(send) if self._is_gzip else self._plain(send))
            finally:
                if self._gone is not None:
                    self._gone.cancel()
        await send({"type": "http.response.body", "body": b""})

    @property
    def _is_work(self) -> bool:
        """Return True if something is left to be rendered, which happens only for a reader."""
        return not all(isinstance(part, RenderedPage) for part in self._parts)

    async def _plain(self, send: Send) -> None:
        await _send(send, self._head)
        async for body, _ in self._shown():
            await _send(send, body)
        await _send(send, self._tail)

    async def _compressed(self, send: Send) -> None:
        checksum, length = zlib.crc32(self._head), len(self._head)
        await _send(send, _GZIP_HEAD + deflate_part(self._head))
        async for body, page in self._shown():
            checksum, length = zlib.crc32(body, checksum), length + len(body)
            await _send(send, page.deflated(len(body)) if page is not None else deflate_part(body))
            await asyncio.sleep(0)  # what is small waits for no reader
        checksum, length = zlib.crc32(self._tail, checksum), length + len(self._tail)
        await _send(send, deflate_part(self._tail) + _DEFLATE_END + struct.pack("<LL", checksum, length & 0xFFFFFFFF))

    async def _shown(self) -> AsyncIterator[tuple[bytes | memoryview, RenderedPage | None]]:
        """Bodies with the pages they are of; only when there is no other after it is it known which is the last."""
        last: tuple[bytes, RenderedPage | None] = b"", None
        for part in self._parts:
            if isinstance(part, RenderedPage):
                body, page = part.body, part
            else:
                await asyncio.sleep(0)  # who renders a long list does not hold up every other
                if self._gone is not None and self._gone.done():
                    return
                body, page = part(), None
            if body:
                if last[0]:
                    yield last
                last = body, page
        if last[0]:
            yield memoryview(last[0])[: len(last[0]) - self._separator], last[1]


async def _send(send: Send, body: bytes | memoryview) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
