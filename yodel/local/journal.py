"""The cluster's memory on disk: an append-only log of puts and removals, one JSON line each, compacted when it grows.

One writer, the event loop's thread: a line is in the kernel before the change is answered, so that a killed process
loses nothing that it answered.  Lines are not flushed to the platter one by one; after a power cut the last moments may
be missing, which is why every start leaves a gap in the version counter (versions never repeat).  A torn last line is
dropped.  Refused: a data directory that another process has open.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from yodel.errors import Unavailable
from yodel.local.statuses import Json

COMPACT_AT_LEAST_BYTES = 16 * 1024 * 1024
COMPACT_FACTOR = 4
VERSION_GAP = 1000
Key = tuple[str, str, str]
"""(resource, namespace or "", name)."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """Holds the recovered live objects, and a version that is higher than any that was ever given out."""

    objects: dict[Key, Json]
    version: int


class Journal:
    """Open one per data directory; ``recover`` first, then ``put`` and ``remove``."""

    def __init__(self, path: Path) -> None:
        """Raises yodel.errors.Unavailable when another process holds the file."""
        self._path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise Unavailable(f"the data directory {path.parent} is in use by another process") from error
        self._file = -1
        self._size = 0
        self._compacted_size = 0

    def recover(self) -> Recovered:
        """Read everything, compact, and open for appending."""
        objects: dict[Key, Json] = {}
        version = 0
        for line in self._lines():
            version = max(version, int(line["v"]))
            if "k" not in line:
                continue
            resource, namespace, name = line["k"]
            if "o" in line:
                objects[resource, namespace, name] = line["o"]
            else:
                objects.pop((resource, namespace, name), None)
        version += VERSION_GAP
        self._rewrite(version, ((key, msgspec.json.encode(item)) for key, item in objects.items()))
        return Recovered(objects, version)

    def put(self, version: int, key: Key, encoded: bytes) -> None:
        """``encoded`` is the object as JSON."""
        self._append(_line(version, key, encoded))

    def remove(self, version: int, key: Key) -> None:
        self._append(_line(version, key, None))

    @property
    def wants_compaction(self) -> bool:
        return self._size > max(COMPACT_AT_LEAST_BYTES, COMPACT_FACTOR * self._compacted_size)

    def compact(self, version: int, objects: Iterable[tuple[Key, bytes]]) -> None:
        """Replace the log by the live objects, atomically."""
        self._rewrite(version, objects)

    def close(self) -> None:
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1

    def _lines(self) -> Iterable[Json]:
        if not self._path.exists():
            return
        with self._path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # torn by a crash: it was never answered
                yield msgspec.json.decode(line, type=dict)

    def _append(self, line: bytes) -> None:
        written = os.write(self._file, line)
        if written != len(line):  # a full disk: undo the torn piece, so that later lines stay readable
            os.ftruncate(self._file, self._size)
            raise Unavailable(f"cannot write {self._path}: only {written} of {len(line)} bytes were taken")
        self._size += written

    def _rewrite(self, version: int, objects: Iterable[tuple[Key, bytes]]) -> None:
        temporary = self._path.with_suffix(".new")
        with open(temporary, "wb", opener=_private) as out:
            out.write(_line(version, None, None))
            for key, encoded in objects:
                out.write(_line(version, key, encoded))
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(self._path)
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._size = self._compacted_size = os.fstat(self._file).st_size


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _line(version: int, key: Key | None, encoded: bytes | None) -> bytes:
    head = b'{"v":%d' % version
    if key is not None:
        head += b',"k":' + msgspec.json.encode(key)
    if encoded is not None:
        head += b',"o":' + encoded
    return head + b"}\n"
