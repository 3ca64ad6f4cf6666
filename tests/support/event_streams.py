"""A reader of an answer that does not end: the ASGI application driven by hand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Message

from tests.support.rest_world import RestWorld


@dataclass(slots=True)
class Opened:
    """``next`` waits for the next part of the body; None was the end."""

    messages: asyncio.Queue[Message]
    headers: Mapping[str, str]

    async def next(self) -> str:
        message = await self.messages.get()
        return str(message["body"].decode())


@contextlib.asynccontextmanager
async def opened(world: RestWorld, path: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[Opened]:
    messages: asyncio.Queue[Message] = asyncio.Queue(1_000)
    is_gone = asyncio.Event()

    async def receive() -> Message:
        await is_gone.wait()
        return {"type": "http.disconnect"}

    bare, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": bare,
        "raw_path": bare.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("rm-host", 8088),
    }
    answering = asyncio.create_task(world.app(scope, receive, messages.put))
    start = await messages.get()
    try:
        yield Opened(messages, Headers(raw=start["headers"]))
    finally:
        is_gone.set()
        await answering
