"""``hdfs:`` and ``viewfs:``: read with the submitting user's name and delegation tokens.

The HDFS client takes user name and tokens from the process's environment, so downloads have processes of their own
(``hdfs_readers``), under the user's uid: one user's tokens never sit in a process that reads for another.  They speak a
small protocol over pipes: a JSON message with what was found, then the bytes.

Refuses: files that changed, and PUBLIC files that are not readable by all.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nm_plugin.host.directories import remove_tree
from nm_plugin.host.users import FileThreads, acting_as
from nm_plugin.localization.fetch import (
    DownloadRequest,
    FetchFailed,
    NotFetchable,
    check_public,
    check_unchanged,
    create_directory,
    create_file,
    now_ms,
    too_large,
    write_all,
)
from nm_plugin.localization.hdfs_readers import HEADER_BYTES_MAX, HdfsReaders
from nm_plugin.localization.plan import SourceUrl
from yodel.errors import YodelError
from yodel.telemetry.further_limits import DIRECTORY_ENTRIES

CHUNK_BYTES_MAX = 1 << 20
ENTRIES_MAX = 100_000
ERROR_BYTES_MAX = 4096
RETRY_INTERVAL_S = 1.0


class _Passing(YodelError):
    """Reports a failure of the file system that may be temporary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsFiles:
    """Needs the ``hdfs-native`` package; ``config_dir`` holds core-site.xml and hdfs-site.xml.

    ``answer_timeout_s`` is for the first answer, since the client library asks a NameNode that is away again and again,
    and for all that a NameNode answers while it starts.
    """

    threads: FileThreads
    config_dir: Path | None
    answer_timeout_s: float = 180.0
    _readers: HdfsReaders = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_readers", HdfsReaders(self.threads, self.config_dir))

    async def fetch(self, request: DownloadRequest) -> int:
        """Raises FetchFailed."""
        give_up_at_s = time.monotonic() + self.answer_timeout_s
        while True:
            try:
                return await self._try(request)
            except _Passing as error:
                if time.monotonic() + RETRY_INTERVAL_S > give_up_at_s:
                    raise FetchFailed(str(error)) from error
                await self.threads.run(_forget, request)
                await asyncio.sleep(RETRY_INTERVAL_S)

    async def _try(self, request: DownloadRequest) -> int:
        """Raises FetchFailed, _Passing."""
        output = await self.threads.run(create_file, request.destination, request.owner, request.must_be_public)
        try:
            reader = await self._readers.take(request.reader, request.credentials)
            try:
                reader.ask(str(request.url), "public" if request.must_be_public else "private", output)
                received = await self._receive(reader.stdout, request, output)
            except (asyncio.IncompleteReadError, BrokenPipeError, ValueError, KeyError) as error:
                await reader.close()
                raise FetchFailed(f"{request.url}: the reader process ended early") from error
            except BaseException:
                await reader.close()
                raise
            self._readers.give_back(reader)
            return received
        finally:
            os.close(output)

    async def close(self) -> None:
        """End the processes that wait for more."""
        await self._readers.close()

    async def _receive(self, stream: asyncio.StreamReader, request: DownloadRequest, output: int) -> int:
        head = await self._first_answer(stream, request)
        if not request.is_by_content:
            check_unchanged(request.url, request.timestamp_ms, int(head["modification_ms"]), now_ms())
        if request.must_be_public:
            check_public(request.url, bool(head["public"]))
        if head["directory"]:
            await self.threads.run(_forget, request)
            return await self._receive_tree(stream, request)
        length = int((await _entry(stream, request.url))["length"])
        if length > request.bytes_max:
            raise NotFetchable(f"Resource is larger than {request.bytes_max} bytes")
        # The reader writes the file itself: through this process and its event loop it would come at a third the speed.
        if not (await _entry(stream, request.url)).get("end"):
            raise ValueError("not the end")
        return length

    async def _receive_tree(self, stream: asyncio.StreamReader, request: DownloadRequest) -> int:
        written = 0
        await self.threads.run(_make_directory, request.destination, request)
        for _ in range(ENTRIES_MAX):
            entry = await _entry(stream, request.url)
            if entry.get("end"):
                return written
            target = _inside(request.destination, str(entry["name"]))
            if entry["directory"]:
                await self.threads.run(_make_directory, target, request)
                continue
            await self.threads.run(_make_directory, target.parent, request)
            written += int(entry["length"])
            if written > request.bytes_max:
                raise NotFetchable(f"Resource is larger than {request.bytes_max} bytes")
            await self._store(stream, target, int(entry["length"]), request)
        raise too_large(DIRECTORY_ENTRIES, ENTRIES_MAX + 1, ENTRIES_MAX, request.owner)

    async def _first_answer(self, stream: asyncio.StreamReader, request: DownloadRequest) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self.answer_timeout_s):
                return await _entry(stream, request.url)
        except TimeoutError as error:
            raise FetchFailed(f"{request.url}: no answer within {self.answer_timeout_s:.0f} s") from error

    async def _store(self, stream: asyncio.StreamReader, target: Path, length: int, request: DownloadRequest) -> None:
        output = await self.threads.run(create_file, target, request.owner, request.must_be_public)
        try:
            while length > 0:
                chunk = await _chunk(stream, length, request.url)
                length -= len(chunk)
                await self.threads.run(write_all, output, chunk)
        finally:
            os.close(output)


async def _entry(stream: asyncio.StreamReader, url: SourceUrl) -> dict[str, Any]:
    """Raises FetchFailed when the reader tells an error."""
    size = await _size(stream)
    if size > HEADER_BYTES_MAX:
        raise ValueError("header too long")
    content = json.loads(await stream.readexactly(size))
    if not isinstance(content, dict):
        raise ValueError("header is no object")
    if "error" in content:
        text = str(content["error"])[:ERROR_BYTES_MAX]
        failure = _Passing if content.get("again") else FetchFailed
        raise failure(text if str(url) in text else f"{url}: {text}")
    return content


async def _chunk(stream: asyncio.StreamReader, bytes_max: int, url: SourceUrl) -> bytes:
    """Some of a file; raises FetchFailed when the reader has no more and tells why."""
    size = await _size(stream)
    if size > min(bytes_max, CHUNK_BYTES_MAX):
        raise ValueError("chunk too long")
    if size == 0:
        await _entry(stream, url)
        raise ValueError("file too short")
    return await stream.readexactly(size)


async def _size(stream: asyncio.StreamReader) -> int:
    size: int = struct.unpack(">I", await stream.readexactly(4))[0]
    return size


def _inside(root: Path, name: str) -> Path:
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or "" in parts:
        raise FetchFailed(f"{name[:200]!r} is outside of the directory")
    return root / name


def _make_directory(path: Path, request: DownloadRequest) -> None:
    """Make it with those between it and the destination: listings of some NameNodes name files only."""
    with acting_as(request.owner):
        missing = [p for p in (path, *path.parents) if p.is_relative_to(request.destination) and not p.exists()]
    for directory in reversed(missing):
        create_directory(directory, request.owner, request.must_be_public)


def _forget(request: DownloadRequest) -> None:
    """Remove what is at the destination, with its owner's rights."""
    with acting_as(request.owner):
        remove_tree(request.destination)
