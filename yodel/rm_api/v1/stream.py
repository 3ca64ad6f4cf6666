"""Server-sent events: transitions as they come, to one reader at the pace that it reads.

A reader is a position in the ring and a connection; nothing is queued for it.  It is let go when the ring has turned
past it, when it takes nothing for ``SEND_TIMEOUT_S``, and when the ResourceManager stops; as long as it can still read,
it is told why.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from yodel.domain.application import Application
from yodel.errors import InvalidValue, YodelError
from yodel.rm_api.v1 import shapes
from yodel.services.views.transitions import FellBehind, Transition, TransitionReader, Transitions, TransitionsClosed

HEARTBEAT_S = 15.0
"""Silence that proxies between us and the reader bear, and that tells it we are there."""
SEND_TIMEOUT_S = 30.0
VIEW_FOR_S = 30.0
"""For so long it is believed who may see what: groups and ACLs change under an open stream."""
RETRY_MS = 3_000
BATCH = 100
RENDERED_MAX = 1_000
MEDIA_TYPE = "text/event-stream"

Viewer = Callable[[Application], bool]
Wanted = Callable[[Transition], bool]


class RenderedEvents:
    """Bytes of the newest transitions, made once for all readers."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def of(self, step: Transition) -> bytes:
        found = self._kept.get(step.sequence)
        if found is None:
            event = shapes.event(step, self.epoch)
            found = message(event.kind.value, event.model_dump_json(), event.id)
            self._kept[step.sequence] = found
            if len(self._kept) > RENDERED_MAX:
                self._kept.popitem(last=False)
        return found


class EventStream(Response):
    """The answer that goes on.  ``wanted`` is the caller's filter, ``viewer`` makes the check of what he may see."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        transitions: Transitions,
        reader: TransitionReader,
        rendered: RenderedEvents,
        *,
        wanted: Wanted,
        viewer: Callable[[], Viewer],
        first: bytes = b"",
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._transitions, self._reader, self._rendered = transitions, reader, rendered
        self._wanted, self._viewer, self._first = wanted, viewer, first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                around = (
                    tasks.create_task(_until_gone(receive), name="event stream: reader"),
                    tasks.create_task(self._write(send), name="event stream: writer"),
                )
                await asyncio.wait(around, return_when=asyncio.FIRST_COMPLETED)
                for task in around:
                    task.cancel()
        finally:
            self._transitions.close(self._reader)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with contextlib.aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                try:
                    async with asyncio.timeout(SEND_TIMEOUT_S):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                except TimeoutError:
                    return  # it takes nothing any more: there is nobody to tell
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the stream, until it has to end."""
        loop = asyncio.get_running_loop()
        yield f"retry: {RETRY_MS}\n".encode() + self._here() + self._first
        sent_s = viewed_s = loop.time()
        may_view = self._viewer()
        while True:
            try:
                async with asyncio.timeout_at(sent_s + HEARTBEAT_S):
                    steps = await self._reader.next(BATCH)
            except TimeoutError:
                steps = ()
            except (FellBehind, TransitionsClosed) as error:
                yield farewell(error)
                return
            now_s = loop.time()
            if now_s - viewed_s >= VIEW_FOR_S:
                may_view, viewed_s = self._viewer(), now_s
            body = b"".join(self._rendered.of(step) for step in steps if self._is_shown(step, may_view))
            if body or now_s - sent_s >= HEARTBEAT_S:
                sent_s = now_s
                yield body or b": heartbeat\n" + self._here()

    def _is_shown(self, step: Transition, may_view: Viewer) -> bool:
        return self._wanted(step) and (step.application is None or may_view(step.application))

    def _here(self) -> bytes:
        """Moves the reader's Last-Event-ID on past what was not for it."""
        return f"id: {self._rendered.epoch}-{self._reader.position}\n\n".encode()


def message(kind: str, data: str, event_id: str = "") -> bytes:
    """One event; ``data`` is JSON in one line."""
    return (f"id: {event_id}\n" if event_id else "").encode() + f"event: {kind}\ndata: {data}\n\n".encode()


def gap(reason: str) -> bytes:
    """Return what is told first to who resumes from where nothing is remembered: list again."""
    return message("gap", json.dumps({"reason": reason}))


def farewell(error: YodelError) -> bytes:
    """Return the message that says why the stream ends here."""
    return message("cut", json.dumps({"reason": str(error)}))


def position_in(text: str | None) -> tuple[int, int] | None:
    """Epoch and sequence of a Last-Event-ID; None without one.

    Raises:
        InvalidValue
    """
    if not text:
        return None
    epoch, _, sequence = text.partition("-")
    numbers = [part for part in (epoch, sequence) if part.isascii() and part.isdecimal() and len(part) <= 18]
    if len(numbers) != 2:
        raise InvalidValue("Last-Event-ID", text[:80], "the id of an event of this stream")
    return int(epoch), int(sequence)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
