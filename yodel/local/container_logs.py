"""Container output on disk in the CRI form (``<time> stdout F <line>``), two files of bounded size, and its readers.

The container writes into a FIFO that it holds open for reading too, so it survives a restart of this process: while
nobody reads, a full pipe makes it wait (and what it wrote last is lost when it ends before anybody reads).  Writers and
followers are in one process; a follower is woken by the writer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from yodel.local.statuses import bad_request
from yodel.local.times import from_text

LOG_BYTES_MAX = 10 * 1024 * 1024  # the kubelet's containerLogMaxSize; one older file of the same size is kept
LINE_BYTES_MAX = 16 * 1024  # containerd's: longer lines are cut into parts marked P
READ_BYTES = 64 * 1024
TAIL_LINES_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Holds the options of ``kubectl logs``."""

    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None


def parse_log_options(query: Mapping[str, str], at: datetime) -> LogOptions:
    """Raises ApiError (400)."""
    try:
        since = from_text(query["sinceTime"]) if query.get("sinceTime") else None
        if query.get("sinceSeconds"):
            since = at - timedelta(seconds=int(query["sinceSeconds"]))
        tail = min(int(query["tailLines"]), TAIL_LINES_MAX) if query.get("tailLines") else None
        limit = int(query["limitBytes"]) if query.get("limitBytes") else None
    except (ValueError, OverflowError) as error:
        raise bad_request(f"invalid log options: {error}") from error
    if (tail is not None and tail < 0) or (limit is not None and limit < 1):
        raise bad_request("invalid log options: tailLines and limitBytes must not be negative")
    return LogOptions(
        follow=query.get("follow") in ("true", "1"),
        timestamps=query.get("timestamps") in ("true", "1"),
        tail_lines=tail,
        limit_bytes=limit,
        since=since,
    )


class LogWriter:
    """Moves one container's FIFO into its log file, on the event loop.  ``close`` drains what is left."""

    def __init__(
        self, fifo: Path | int, path: Path, now: Callable[[], datetime], *, bytes_max: int = LOG_BYTES_MAX
    ) -> None:
        """``fifo`` is its path, or its reading end, which is closed with the writer."""
        self._path, self._now, self._bytes_max = path, now, bytes_max
        self._rest = b""
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size
        self._followers: set[asyncio.Event] = set()
        self.closed = False
        self._fifo = fifo if isinstance(fifo, int) else os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fifo, self._on_readable)

    def close(self) -> None:
        if self.closed:
            return
        self._loop.remove_reader(self._fifo)
        while self._read():
            pass
        if self._rest:
            self._write([self._rest], whole=True)
        os.close(self._fifo)
        os.close(self._file)
        self.closed = True
        self._wake()

    @contextlib.contextmanager
    def followed(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever the log grew or was closed."""
        event = asyncio.Event()
        self._followers.add(event)
        try:
            yield event
        finally:
            self._followers.discard(event)

    def _on_readable(self) -> None:
        if not self._read():
            # Every writer is gone: an end of file stays readable for ever.  ``close`` comes with the process's end.
            self._loop.remove_reader(self._fifo)

    def _read(self) -> bool:
        try:
            data = os.read(self._fifo, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines:
            self._write(lines, whole=True)
        while len(self._rest) >= LINE_BYTES_MAX:
            self._write([self._rest[:LINE_BYTES_MAX]], whole=False)
            self._rest = self._rest[LINE_BYTES_MAX:]
        return True

    def _write(self, lines: list[bytes], *, whole: bool) -> None:
        head = self._now().strftime("%Y-%m-%dT%H:%M:%S.%f000Z stdout ").encode()
        mark = head + (b"F " if whole else b"P ")
        text = b"".join(mark + line + b"\n" for line in lines)
        if self._size + len(text) > self._bytes_max and self._size > 0:
            self._rotate()
        self._size += os.write(self._file, text)
        self._wake()

    def _rotate(self) -> None:
        os.close(self._file)
        self._path.replace(older(self._path))
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = 0

    def _wake(self) -> None:
        for event in self._followers:
            event.set()


def older(path: Path) -> Path:
    return path.with_name(path.name + ".1")


async def read_log(path: Path, options: LogOptions, writer: LogWriter | None) -> AsyncIterator[bytes]:
    """The log so far, and with ``follow`` what comes until the writer closes."""
    budget = _LogBudget(options.limit_bytes)
    current = _open(path)
    try:
        for piece in _history(path, current, options):
            yield budget.take(piece)
            if budget.is_spent:
                return
        if not options.follow or writer is None:
            return
        with writer.followed() as grown:
            while not budget.is_spent:
                closed = writer.closed
                lines = _lines(current) if current is not None else iter(())
                if text := b"".join(_shown(line, options) for line in lines):
                    yield budget.take(text)
                elif (fresh := _rotated(path, current)) is not None:
                    if current is not None:
                        current.close()
                    current = fresh
                elif closed:
                    return
                else:
                    await grown.wait()
                    grown.clear()
    finally:
        if current is not None:
            current.close()


class _LogBudget:
    def __init__(self, limit_bytes: int | None) -> None:
        self._left = limit_bytes

    def take(self, text: bytes) -> bytes:
        if self._left is None:
            return text
        taken = text[: self._left]
        self._left -= len(taken)
        return taken

    @property
    def is_spent(self) -> bool:
        return self._left == 0


def _open(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _rotated(path: Path, current: BinaryIO | None) -> BinaryIO | None:
    """The new file, when the one being read is not the log any more."""
    fresh = _open(path)
    if fresh is None or current is None:
        return fresh
    if os.fstat(fresh.fileno()).st_ino != os.fstat(current.fileno()).st_ino:
        return fresh
    fresh.close()
    return None


def _history(path: Path, current: BinaryIO | None, options: LogOptions) -> Iterator[bytes]:
    """Pieces of at most about ``READ_BYTES``; with a tail only the last lines are remembered."""
    lines: Iterator[bytes] = (line for line in _all_lines(path, current) if _is_wanted(line, options))
    if options.tail_lines is not None:
        lines = iter(deque(lines, maxlen=options.tail_lines))
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(_shown(line, options))
        size += len(piece[-1])
        if size >= READ_BYTES:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)


def _all_lines(path: Path, current: BinaryIO | None) -> Iterator[bytes]:
    previous = _open(older(path))
    if previous is not None:
        with previous:
            yield from _lines(previous)
    if current is not None:
        yield from _lines(current)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline():
        yield line


def _is_wanted(line: bytes, options: LogOptions) -> bool:
    if options.since is None:
        return True
    return _time(line) >= options.since


def _time(line: bytes) -> datetime:
    try:
        return from_text(line.split(b" ", 1)[0].decode("ascii"))
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)


def _shown(line: bytes, options: LogOptions) -> bytes:
    """Return a line without the CRI head, or with its time only; a part (P) joins the next one."""
    moment, _, rest = line.partition(b" ")
    _stream, _, rest = rest.partition(b" ")
    mark, _, text = rest.partition(b" ")
    if mark == b"P":
        text = text[:-1]
    return moment + b" " + text if options.timestamps else text
