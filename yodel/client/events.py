"""Following the event stream: lines to messages (pure), and a stream that survives being cut."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from yodel.client.api import ApiRefused, JsonObject, RmClient
from yodel.errors import Unavailable

TRIES_MAX = 10
"""Connections in a row that brought nothing, not even the heartbeat of a quiet cluster, before it is given up."""
HEARTBEAT_PREFIX = ":"
"""The prefix of a comment: the server sends one when it has had nothing to say for a while."""
PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 15.0
DATA_LENGTH_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a stream.  ``kind`` ``opened`` is ours: a connection stands."""

    kind: str
    data: JsonObject


@dataclass(slots=True)
class EventParser:
    """Server-sent events as the HTML standard reads them, without byte order marks.  ``last_id`` is to resume from."""

    last_id: str = ""
    _kind: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, line: str) -> Message | None:
        """A line without its end; the message that it completes."""
        if not line:
            return self._completed()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "event":
            self._kind = value
        elif name == "data" and sum(map(len, self._data)) + len(value) <= DATA_LENGTH_MAX:
            self._data.append(value)
        return None

    def _completed(self) -> Message | None:
        kind, text = self._kind or "message", "\n".join(self._data)
        self._kind, self._data = "", []
        if not text:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            return None
        return Message(kind=kind, data=found) if isinstance(found, dict) else None


async def follow(client: RmClient, application: str | None, kinds: Sequence[str]) -> AsyncGenerator[Message, None]:
    """Messages without end; after a cut it goes on where it was.

    Raises:
        ApiRefused: the server does not want to.
        Unavailable: it does not come back.
    """
    parser = EventParser()
    failures = 0
    while True:
        headers = {"Last-Event-ID": parser.last_id} if parser.last_id else {}
        try:
            async with client.stream("/events/stream", {"kind": kinds, "application": application}, headers) as lines:
                yield Message(kind="opened", data={})
                async for line in lines:
                    if line.startswith(HEARTBEAT_PREFIX):
                        failures = 0
                    if (message := parser.feed(line)) is not None:
                        failures = 0
                        yield message
            reason = "the stream ended"
        except (ApiRefused, Unavailable) as error:
            if isinstance(error, ApiRefused) and error.status != 503:
                raise
            reason = str(error)
        failures += 1
        if failures >= TRIES_MAX:
            raise Unavailable(f"the event stream was cut {failures} times in a row: {reason}")
        await asyncio.sleep(min(PAUSE_MAX_S, PAUSE_FIRST_S * 2 ** (failures - 1)))


async def until_over(client: RmClient, application: str) -> AsyncGenerator[Message, None]:
    """Messages of one application until it has ended; the last one is ``over`` and holds all of it.

    Raises:
        ApiRefused, Unavailable.
    """
    async with contextlib.aclosing(follow(client, application, ())) as messages:
        async for message in messages:
            if message.kind not in ("opened", "gap"):
                yield message
            if message.kind in ("opened", "gap", "application"):
                found = await client.get(f"/applications/{application}")
                if found["state"] in ("FINISHED", "FAILED", "KILLED"):
                    yield Message(kind="over", data=found)
                    return
