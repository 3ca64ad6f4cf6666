"""The log files of a container on this node, found and read for an upload.

The directories belong to a user: whoever calls has that user's rights.  Even so nothing below a log directory of the
agent's is followed: a link could lead to what the user's pod cannot see but the node can.  Functions block.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from nm_plugin.logs.formats.random_file import TEXT_BYTES_MAX
from yodel.domain.java_patterns import NotTranslated, to_python

FILES_MAX = 10_000  # of one container
READ_BYTES = 256 << 10
PADDING = b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Patterns of a LogAggregationContext, translated from Java's (``selected_by``).

    A name is kept when ``include`` is found in it and ``exclude`` is not; an absent one decides nothing.
    """

    include: re.Pattern[str] | None = None
    exclude: re.Pattern[str] | None = None
    warning: str = ""
    """Why all names are included, when that is not what the pattern says."""

    def keeps(self, name: str) -> bool:
        if self.include is not None and self.include.search(name) is None:
            return False
        return self.exclude is None or self.exclude.search(name) is None


def selected_by(include: str, exclude: str) -> Selection:
    """Return what these patterns select; an include pattern that cannot be translated selects all.

    Raises:
        RefusedByJava: a pattern that is none.  The ResourceManager refuses it at submission, and
        NotTranslated, re.error: an exclude pattern that it should have refused.
    """
    excluded, warning = _compiled(exclude), ""
    try:
        included = _compiled(include)
    except (NotTranslated, re.error, RecursionError, OverflowError) as error:
        included, warning = None, f"All logs are included: {error}"
    return Selection(include=included, exclude=excluded, warning=warning)


def _compiled(pattern: str) -> re.Pattern[str] | None:
    return re.compile(to_python(pattern)) if pattern else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLog:
    """A regular file as it was when it was found."""

    log_dir: str
    application: str
    container: str
    name: str
    size_bytes: int
    modified_ms: int


def find(log_dirs: tuple[str, ...], application: str, container: str, selection: Selection) -> list[LocalLog]:
    """The container's logs on all disks, sorted by directory and name, at most FILES_MAX."""
    found: list[LocalLog] = []
    for log_dir in sorted(log_dirs):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            directory = _open_directory(log_dir, application, container, stack)
            for name in sorted(os.listdir(directory)):
                log = _local_log(directory, log_dir, application, container, name)
                if log is not None and selection.keeps(name):
                    found.append(log)
    return found[:FILES_MAX]


def _local_log(directory: int, log_dir: str, application: str, container: str, name: str) -> LocalLog | None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) or len(os.fsencode(name)) > TEXT_BYTES_MAX:
        return None
    return LocalLog(
        log_dir=log_dir,
        application=application,
        container=container,
        name=name,
        size_bytes=status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
    )


@contextlib.contextmanager
def opened(log: LocalLog) -> Iterator[tuple[int, int, int]]:
    """Descriptor, size in bytes and time of modification in ms, fixed now.  Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.ExitStack() as stack:
        directory = _open_directory(log.log_dir, log.application, log.container, stack)
        descriptor = os.open(log.name, flags, dir_fd=directory)
        stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(log.name)
        yield descriptor, status.st_size, status.st_mtime_ns // 1_000_000


def padded(descriptor: int, size_bytes: int) -> Iterator[bytes]:
    """Exactly ``size_bytes`` bytes: what is written later is left out, and what was cut off is made up by newlines."""
    offset = 0
    while offset < size_bytes:
        count = min(READ_BYTES, size_bytes - offset)
        data = os.pread(descriptor, count, offset) or PADDING * count
        offset += len(data)
        yield data


def remove(log_dirs: tuple[str, ...], application: str, container: str, name: str) -> None:
    """A log that was uploaded; already gone is success."""
    for log_dir in log_dirs:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            os.unlink(name, dir_fd=_open_directory(log_dir, application, container, stack))


def _open_directory(log_dir: str, application: str, container: str, stack: contextlib.ExitStack) -> int:
    """``log_dir`` is the agent's; below it no link is followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    directory = os.open(log_dir, flags)
    stack.callback(os.close, directory)
    for name in (application, container):
        directory = os.open(name, flags | os.O_NOFOLLOW, dir_fd=directory)
        stack.callback(os.close, directory)
    return directory
