"""Reading container logs for others: names, sizes and ranges of plain files in one log directory.

The directory belongs to a user, so everything is done with that user's rights, opens nothing but regular files, follows
no link and takes no name with a slash.  Functions block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.host.users import OsUser, acting_as

FILES_MAX = 1000
CHUNK_BYTES = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One log; the time in seconds since the epoch."""

    name: str
    size_bytes: int
    modified_s: float


def list_logs(user: OsUser, directories: tuple[Path, ...]) -> tuple[LogFile, ...]:
    """Regular files of the directories, at most FILES_MAX."""
    found: list[LogFile] = []
    with acting_as(user):
        for directory in directories:
            try:
                names = sorted(os.listdir(directory))
            except OSError:
                continue
            for name in names[: FILES_MAX - len(found)]:
                status = os.lstat(directory / name)
                if stat.S_ISREG(status.st_mode):
                    found.append(LogFile(name=name, size_bytes=status.st_size, modified_s=status.st_mtime))
    return tuple(found)


def open_log(user: OsUser, directories: tuple[Path, ...], name: str) -> tuple[int, LogFile] | None:
    """A descriptor for reading, and what it is; None when there is no such log."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        return None
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with acting_as(user):
        for directory in directories:
            try:
                descriptor = os.open(directory / name, flags)
            except OSError:
                continue
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                return descriptor, LogFile(name=name, size_bytes=status.st_size, modified_s=status.st_mtime)
            os.close(descriptor)
    return None


def chunks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The reads (offset, count) that cover ``start`` to ``end``."""
    while start < end:
        count = min(CHUNK_BYTES, end - start)
        yield start, count
        start += count


def page_range(size_bytes: int, start: int, end: int) -> tuple[int, int]:
    """``ContainerLogsPage``: negative offsets count from the end; clipped to the file."""
    first = size_bytes + start if start < 0 else start
    last = size_bytes + end if end < 0 else end
    first = min(max(first, 0), size_bytes)
    return first, max(first, min(last, size_bytes))


def size_range(size_bytes: int, size: int | None) -> tuple[int, int]:
    """``size`` of the REST call: negative is the last bytes, positive the first, absent everything."""
    if size is None:
        return 0, size_bytes
    if size < 0:
        return max(0, size_bytes + size), size_bytes
    return 0, min(size, size_bytes)
