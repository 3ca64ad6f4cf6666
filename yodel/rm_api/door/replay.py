"""Answers that are given again: the same question, byte for byte, while nothing has changed, gets the same bytes.

Dashboards and exporters ask the same thing again and again.  A route says that its answer depends on nothing but what
the versions count (``again``); then the server keeps it by the request's whole head, so that another user, form, host
or compression is another question, and looks there before it reads the head.  What is kept is good for as long as the
versions stand still and the Date header is right, that is for a second at most; so nobody's access outlives a second
either.  Questions that come with proofs other than a cookie of ours, and answers that set one, are never kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.rm_api.door.caller import caller_in

QUESTION_BYTES_MAX = 4096
ANSWER_BYTES_MAX = 256 * 1024
"""The bytes that one connection is written in one go, whether it reads or not."""
ANSWERS_MAX = 512
KEPT_BYTES_MAX = 16 * 1024 * 1024
"""The most bytes of all answers, as if they shared nothing; when full it starts again."""
OK = 200
_ASKED = "yodel.asked"
_HEAD_END = b"\r\n\r\n"
_UNKEPT_REQUEST = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"range"})
_UNKEPT_ANSWER = frozenset({b"set-cookie", b"www-authenticate", b"connection", b"transfer-encoding"})

Versions = tuple[int, ...]
"""Versions; equal ones mean that nothing has changed."""
Headers = Sequence[tuple[bytes, bytes]]
Parts = tuple[bytes | memoryview, ...]
"""An answer from its first line to its end; lists share theirs (``listing``)."""


@dataclass(slots=True)
class PendingAnswer:
    """A request that is being answered.  ``defaults`` are the server's own headers, another object every second."""

    head: bytes
    defaults: Headers
    versions: Versions | None = None
    """Set by the route."""
    at_ms: int | None = None
    """For an answer that is right in this millisecond only."""


@dataclass(frozen=True, slots=True)
class _KeptAnswer:
    answer: Parts
    versions: Versions
    defaults: Headers
    at_ms: int | None


class Replay:
    """Keeps answers; ``versions`` returns the present versions, ``now_ms`` the time that answers contain."""

    def __init__(self, versions: Callable[[], Versions], now_ms: Callable[[], int]) -> None:
        self.versions, self.now_ms = versions, now_ms
        self._kept: dict[bytes, _KeptAnswer] = {}
        self._bytes = 0

    def answer(self, head: bytes, defaults: Headers) -> Parts | None:
        """The whole answer to this very head, if it is still right."""
        kept = self._kept.get(head)
        if kept is None or kept.defaults is not defaults or kept.versions != self.versions():
            return None
        if kept.at_ms is not None and kept.at_ms != self.now_ms():
            return None
        return kept.answer

    def keep(self, asked: PendingAnswer, answer: Parts) -> None:
        size = sum(map(len, answer))
        if asked.versions is None or size > ANSWER_BYTES_MAX:
            return
        if len(self._kept) >= ANSWERS_MAX or self._bytes + size > KEPT_BYTES_MAX:
            self._kept.clear()
            self._bytes = 0
        self._kept[asked.head] = _KeptAnswer(answer, asked.versions, asked.defaults, asked.at_ms)
        self._bytes += size


def may_be_kept(head: bytes) -> bool:
    """Return True for one whole request of a kind that is kept; its headers are checked later."""
    return (
        len(head) <= QUESTION_BYTES_MAX
        and head.startswith(b"GET ")
        and head.find(_HEAD_END) == len(head) - len(_HEAD_END)
    )


def asked_in(scope: Any, head: bytes, defaults: Headers) -> None:
    """Note the request in its scope, if it is of a kind that is kept."""
    if scope["http_version"] != "1.1":
        return
    for name, value in scope["headers"]:
        if name in _UNKEPT_REQUEST or (name == b"connection" and value.lower() != b"keep-alive"):
            return
    scope[_ASKED] = PendingAnswer(head, defaults)


def again(request: Request, replay: Replay, *, is_timed: bool = False) -> None:
    """Called by a route before it looks at anything: the answer depends on nothing that ``replay`` does not count, and
    on the time only if ``is_timed``.

    Who came by a token, a proof or in another's name may lose that at any time, so for them it does nothing.
    """
    asked = request.scope.get(_ASKED)
    caller = caller_in(request.scope)
    if asked is None or caller.headers or caller.is_by_token or caller.real_user is not None:
        return
    asked.versions = replay.versions()
    asked.at_ms = replay.now_ms() if is_timed else None


class Recording:
    """The outermost shell: keeps whole answers to questions whose route said ``again``."""

    def __init__(self, app: ASGIApp, replay: Replay) -> None:
        self._app, self._replay = app, replay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked: PendingAnswer | None = scope.get(_ASKED)
        if asked is None:
            await self._app(scope, receive, send)
            return
        parts: list[bytes | memoryview] = []

        async def send_and_keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                if asked.versions is not None and (head := _head_of(message, asked.defaults)):
                    parts.append(head)
            elif parts:
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    self._replay.keep(asked, tuple(part for part in parts if part))
            await send(message)

        await self._app(scope, receive, send_and_keep)


def _head_of(message: Message, defaults: Headers) -> bytes:
    """Return the head as the server writes it; empty if the answer is not kept: it is too long, or its length is
    unknown."""
    headers = [*defaults, *message.get("headers", ())]
    named = {name.lower(): value for name, value in headers}
    if message["status"] != OK or not _UNKEPT_ANSWER.isdisjoint(named):
        return b""
    if int(named.get(b"content-length", ANSWER_BYTES_MAX)) >= ANSWER_BYTES_MAX:
        return b""
    lines = [b"HTTP/1.1 200 OK\r\n"]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    return b"".join((*lines, b"\r\n"))
