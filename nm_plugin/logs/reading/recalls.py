"""The agent's side of reading aggregated logs back for its web port: whose, by whom, and how many at once.

Reading is done by worker processes that are the owner (``search``), never by the agent itself, and by others than
those that upload: readers cannot hold up an upload.  A few may read at once, each for a bounded time; who would wait
too long for a turn, or behind too many, is told to come back.

Refuses: owners that the node does not know.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.logs.jobs import Recall
from nm_plugin.logs.layout import RemoteLayout, node_file_name
from nm_plugin.logs.reading.search import FORBIDDEN, FOUND
from nm_plugin.logs.viewers import Viewer
from nm_plugin.logs.worker_pool import JobFailed, Workers
from yodel.domain.ids import ContainerId, NodeId
from yodel.errors import Unavailable, YodelError
from yodel.hadoop_http.errors import forbidden, not_found

READERS_MAX = 4
WAITING_MAX = 32
"""Callers without their first word; more would crowd out those who ask for something else."""
FIRST_WORD_S = 90.0
"""A turn to read, and the search through the files."""
READ_S = 600.0
"""A whole log; a caller that reads more slowly is cut off."""
CROWDED = "Too many readers of aggregated logs on this node; try again in a moment"
LONG_MAX = 2**63 - 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Names a container, its owner, the viewer, and the node that ran it if that is known."""

    container_id: ContainerId
    owner: str
    viewer: Viewer
    node_id: NodeId


class Recalls:
    """``workers`` are these readers' own."""

    def __init__(self, layout: RemoteLayout, users: UserDatabase, threads: FileThreads, workers: Workers) -> None:
        self._layout, self._users, self._threads, self._workers = layout, users, threads, workers
        self._waiting = 0
        self._log = structlog.get_logger(__name__)

    async def listed(self, asked: Recalled) -> list[dict[str, Any]]:
        """Per file: ``{"file", "logs": [[name, size in bytes, ms]]}``.

        Raises:
            RestError: there is nothing, or it is not for the viewer.
            Unavailable: it cannot be read now.
        """
        user = await self._user(asked)
        done = await self._first(asked, lambda: self._workers.run(self._job(asked), user))
        _require_found(done, asked)
        return list(done["files"])

    async def text(self, asked: Recalled, name: str, size_bytes: int = LONG_MAX) -> AsyncGenerator[bytes, None]:
        """A log of every upload that has it, as ``yarn logs`` prints it; it has begun and must be closed.

        Raises:
            RestError: there is nothing, or it is not for the viewer.
            Unavailable: it cannot be read now.
        """
        user = await self._user(asked)
        answers = self._workers.stream(self._job(asked, name, size_bytes), user)
        first = await self._first(asked, lambda: anext(answers))
        if not isinstance(first, bytes):
            await answers.aclose()
            _require_found(first["done"], asked)
        parts = self._parts(first, answers, asked)
        await anext(parts)
        return parts

    async def _parts(
        self, first: bytes, answers: AsyncGenerator[Any, None], asked: Recalled
    ) -> AsyncGenerator[bytes, None]:
        """Nothing at first: begun, it closes what it reads from whatever happens."""
        async with contextlib.aclosing(answers):
            yield b""
            yield first
            try:
                async for answer in answers:
                    if isinstance(answer, bytes):
                        yield answer
            except JobFailed as error:
                # The head is sent: an error's status is out of reach.
                self._log.warning("recall_aborted", container=str(asked.container_id), reason=str(error)[:300])

    async def _user(self, asked: Recalled) -> OsUser:
        try:
            return await self._threads.run(self._users.lookup, asked.owner)
        except YodelError as error:
            raise _nothing(asked) from error

    async def _first(self, asked: Recalled, answer: Callable[[], Awaitable[T]]) -> T:
        if self._waiting >= WAITING_MAX:
            raise Unavailable(CROWDED)
        self._waiting += 1
        try:
            async with asyncio.timeout(FIRST_WORD_S):
                return await answer()
        except TimeoutError as error:
            raise Unavailable(CROWDED) from error
        except JobFailed as error:
            self._log.info("not_recalled", container=str(asked.container_id), reason=str(error)[:300])
            raise Unavailable(f"The aggregated logs of {asked.container_id} cannot be read now") from error
        finally:
            self._waiting -= 1

    def _job(self, asked: Recalled, name: str = "", size_bytes: int = 0) -> Recall:
        application_id = asked.container_id.application_id
        return Recall(
            root=self._layout.root,
            directories=self._layout.application_parts(asked.owner, application_id),
            owner=asked.owner,
            application=str(application_id),
            container=str(asked.container_id),
            format=self._layout.format,
            viewer=asked.viewer,
            node_file=node_file_name(asked.node_id),
            file_name=name,
            size_bytes=size_bytes,
        )


class RecalledText(StreamingResponse):
    """Ends after READ_S, and the reading with it; also when the caller went away."""

    def __init__(self, parts: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(parts, media_type=media_type)
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with contextlib.suppress(TimeoutError):  # the server ends an answer that is not whole with its connection
                async with asyncio.timeout(READ_S):
                    await super().__call__(scope, receive, send)
        finally:
            await self._parts.aclose()


def _require_found(done: Any, asked: Recalled) -> None:
    """Raises RestError."""
    if done["outcome"] == FORBIDDEN:
        text = f"User [{asked.viewer.name}] is not authorized to view the logs for application "
        raise forbidden(text + str(asked.container_id.application_id))
    if done["outcome"] != FOUND:
        raise _nothing(asked)


def _nothing(asked: Recalled) -> YodelError:
    return not_found(f"Can not find any aggregated log of {asked.owner[:80]}'s container {asked.container_id}")
