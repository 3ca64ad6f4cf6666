"""The log files of a container on this node, found and read for an upload.

The directories belong to a user: whoever calls has that user's rights.  Even so nothing below a log directory of the
agent's is followed: a link could lead to what the user's pod cannot see but the node can.  Functions block.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nm_plugin.host.name_patterns import PatternTooHard, matching
from nm_plugin.logs.formats.random_file import TEXT_BYTES_MAX
from yodel.errors import InvalidValue, YodelError

FILES_MAX = 10_000  # of one container, and chosen
READ_BYTES = 256 << 10
PADDING = b"\n"


class NothingChosen(YodelError):
    """It cannot be told which logs are to be published, and never will be."""


def chosen(include: str, exclude: str, names: Iterable[str]) -> tuple[frozenset[str], str]:
    """Return the logs that the patterns of a LogAggregationContext choose, and a warning when others are among them.

    A name is chosen when ``include`` is found in it and ``exclude`` is not; an empty pattern decides nothing.  The
    ResourceManager refuses at submission what is not supported, so what remains is what takes too long: an include
    pattern then includes all.

    Raises:
        NothingChosen: it is not known what the exclude pattern excludes.
    """
    listed, warning = frozenset(names), ""
    try:
        excluded = matching(exclude, listed, "log exclude pattern", searches=True) if exclude else frozenset[str]()
    except (InvalidValue, PatternTooHard) as error:
        raise NothingChosen(str(error)) from error
    try:
        included = matching(include, listed, "log include pattern", searches=True) if include else listed
    except (InvalidValue, PatternTooHard) as error:
        included, warning = listed, f"All logs are included: {error}"
    return included - excluded, warning


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLog:
    """A regular file as it was when it was found."""

    log_dir: str
    application: str
    container: str
    name: str
    size_bytes: int
    modified_ms: int


def find(log_dirs: tuple[str, ...], application: str, container: str) -> list[LocalLog]:
    """The container's logs on all disks, sorted by directory and name."""
    found: list[LocalLog] = []
    for log_dir in sorted(log_dirs):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            directory = _open_directory(log_dir, application, container, stack)
            for name in sorted(os.listdir(directory)):
                log = _local_log(directory, log_dir, application, container, name)
                if log is not None:
                    found.append(log)
    return found


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
