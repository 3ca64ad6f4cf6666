"""Answers that hold long lists (``Many``): written a few milliseconds at a time, and others are answered between.

What is written is byte for byte what it would have been in one go, in both forms.  It is sent as it was written, so
that who compresses it does that piece by piece too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from yodel.hadoop_http import xml
from yodel.hadoop_http.many import Many
from yodel.hadoop_http.negotiate import JSON_UTF8, XML, XML_UTF8, answer_typed, representation
from yodel.serving.turns import others_first

GAP = msgspec.Raw(b"\0")
"""Stands in a document for each ``Many``: in JSON's own text this byte is always escaped."""
PIECE_S = 0.003
"""The processor time of a piece; what one more element takes comes on top, or as many as go together."""


async def answer_many(request: Request, value: Mapping[str, Any], *, root: str | None = None) -> Response:
    """Answer as ``negotiate.answer`` does, for a value that holds ``Many``."""
    return in_pieces(*await written_as(representation(request), value, root=root))


async def written_as(form: str, value: Mapping[str, Any], *, root: str | None = None) -> tuple[list[bytes], str]:
    """The value as JSON or XML (``form``), in pieces, and its media type."""
    is_xml = form == XML
    pieces = await written(map(str.encode, xml.parts(value, root)) if is_xml else json_parts(value))
    return pieces, XML_UTF8 if is_xml else JSON_UTF8


def in_pieces(pieces: list[bytes], media_type: str) -> Response:
    """Return an answer that sends the written pieces one at a time."""
    return Pieces(pieces, media_type) if len(pieces) > 1 else answer_typed(pieces[0], media_type)


async def written(parts: Iterator[bytes], processor_s: Callable[[], float] = time.thread_time) -> list[bytes]:
    """All of them, in pieces between which others had a turn.  ``processor_s`` is the thread's processor time."""
    pieces, piece, ends_s = list[bytes](), list[bytes](), processor_s() + PIECE_S
    for part in parts:
        piece.append(part)
        if processor_s() >= ends_s:
            pieces.append(b"".join(piece))
            piece.clear()
            await others_first()
            ends_s = processor_s() + PIECE_S
    if piece:
        pieces.append(b"".join(piece))
    return pieces


def json_parts(value: Any) -> Iterator[bytes]:
    """Its JSON, a few elements of each ``Many`` at a time."""
    if not isinstance(value, Many):
        yield from _filled(*_with_gaps(value))
        return
    before, shown = b"[", value.shown()
    while some := list(islice(shown, value.together)):
        texts, found = _with_gaps(some)
        # Without the brackets, and copied once: most elements have no gap.
        texts[0] = b"".join((before, memoryview(texts[0])[1 : None if found else -1]))
        if found:
            texts[-1] = texts[-1][:-1]
        yield from _filled(texts, found)
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _with_gaps(value: Any) -> tuple[list[bytes], list[Many]]:
    """Return its JSON in the texts around each ``Many`` that takes more than one go, and these."""
    found = list[Many]()

    def left_out(many: Any) -> Any:
        if not isinstance(many, Many):
            raise NotImplementedError
        if len(many.items) <= many.together:
            return list(many.shown())
        found.append(many)
        return GAP

    return msgspec.json.encode(value, enc_hook=left_out).split(bytes(GAP)), found


def _filled(texts: list[bytes], found: list[Many]) -> Iterator[bytes]:
    yield texts[0]
    for many, after in zip(found, texts[1:], strict=True):
        yield from json_parts(many)
        yield after


class Pieces(Response):
    """A body that is there already and is sent a piece at a time."""

    def __init__(self, pieces: list[bytes], media_type: str) -> None:
        self._pieces = pieces
        super().__init__(None, media_type=media_type)
        self.headers["content-length"] = str(sum(map(len, pieces)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await others_first()
        await send({"type": "http.response.body", "body": b""})
