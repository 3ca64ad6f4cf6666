"""The logs of a node's containers in one TFile, as ``LogAggregationTFileController`` writes and reads them.

Records: VERSION, APPLICATION_ACL, APPLICATION_OWNER, then one for each container with its logs one after the other,
each with name and length.  A length is written before the bytes, so exactly that many must follow: ``padded`` (see
``local_logs``) gives them even if the file shrinks meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nm_plugin.logs.formats.random_file import CorruptLogFile, RandomFile, decode_text, encode_text
from nm_plugin.logs.formats.tfile import READ_BYTES, Sink, TFileReader, TFileValue, TFileWriter

VERSION_KEY, ACL_KEY, OWNER_KEY = "VERSION", "APPLICATION_ACL", "APPLICATION_OWNER"
RESERVED_KEYS = frozenset({VERSION_KEY, ACL_KEY, OWNER_KEY})
LENGTH_DIGITS_MAX = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """One log to write; ``content`` yields exactly ``size_bytes`` bytes."""

    name: str
    size_bytes: int
    content: Iterable[bytes]


class AggregatedTFileWriter:
    """Head at construction, ``append`` for each container, then ``close``."""

    def __init__(self, sink: Sink, *, owner: str, acls: Mapping[str, str], compression: str = "none") -> None:
        self._file = TFileWriter(sink, compression)
        self._record(VERSION_KEY, [(1).to_bytes(4, "big")])
        self._record(ACL_KEY, [encode_text(kind) + encode_text(text) for kind, text in acls.items()])
        self._record(OWNER_KEY, [encode_text(owner)])

    def append(self, container: str, logs: Iterable[LogPart]) -> None:
        """All logs of a container at once: readers stop at its first record."""
        self._record(container, _entries(logs))

    def close(self) -> None:
        self._file.close()

    def _record(self, key: str, value: Iterable[bytes]) -> None:
        self._file.append(encode_text(key), value)


def _entries(logs: Iterable[LogPart]) -> Iterator[bytes]:
    for log in logs:
        yield encode_text(log.name) + encode_text(str(log.size_bytes))
        yield from log.content


class AggregatedLog:
    """One log while it is read: from the iterator that gave it, before the next is asked for."""

    def __init__(self, container: str, name: str, size_bytes: int, value: TFileValue) -> None:
        self.container, self.name, self.size_bytes = container, name, size_bytes
        self._value, self._left = value, size_bytes

    def read(self) -> bytes:
        """The next part, empty at the end."""
        data = self._value.read_exactly(min(READ_BYTES, self._left))
        self._left -= len(data)
        return data

    def between(self, start: int, end: int) -> Iterator[bytes]:
        """A part of a log of which nothing was read."""
        self.skip(start)
        while self._left > self.size_bytes - end:
            data = self._value.read_exactly(min(READ_BYTES, self._left - (self.size_bytes - end)))
            self._left -= len(data)
            yield data

    def skip(self, count: int | None = None) -> None:
        """So many bytes on, or to its end."""
        passed = self._left if count is None else min(count, self._left)
        self._value.skip(passed)
        self._left -= passed


@dataclass(frozen=True, slots=True, kw_only=True)
class TFileHead:
    """Holds the owner and ACLs that the web pages check before they show a file."""

    owner: str
    acls: Mapping[str, str]


def head(file: RandomFile) -> TFileHead:
    """Raises CorruptLogFile."""
    owner, acls = "", {}
    for key, value in TFileReader(file).records():
        name = _key(key)
        if name == OWNER_KEY:
            owner = _text(value)
        elif name == ACL_KEY:
            acls = dict(_pairs(value))
        elif name not in RESERVED_KEYS:
            break
    return TFileHead(owner=owner, acls=acls)


def logs(file: RandomFile, container: str | None = None) -> Iterator[AggregatedLog]:
    """The logs of a container, or of all.  Raises CorruptLogFile."""
    for key, value in TFileReader(file).records():
        name = _key(key)
        if name in RESERVED_KEYS or (container is not None and name != container):
            continue
        while (log := _next_log(name, value)) is not None:
            yield log
            log.skip()
        if container is not None:
            return


def _next_log(container: str, value: TFileValue) -> AggregatedLog | None:
    name = _text_or_end(value)
    if name is None:
        return None
    digits = _text(value)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= LENGTH_DIGITS_MAX):
        raise CorruptLogFile(f"{name[:100]!r} has the length {digits[:30]!r}")
    return AggregatedLog(container, name, int(digits), value)


def _key(key: bytes) -> str:
    if int.from_bytes(key[:2], "big") != len(key) - 2:
        raise CorruptLogFile("a key is no text")
    return decode_text(key[2:])


def _text(value: TFileValue) -> str:
    text = _text_or_end(value)
    if text is None:
        raise CorruptLogFile("a record ends too early")
    return text


def _text_or_end(value: TFileValue) -> str | None:
    length = value.read(2)
    if not length:
        return None
    if len(length) == 1:
        raise CorruptLogFile("a record ends too early")
    return decode_text(value.read_exactly(int.from_bytes(length, "big")))


def _pairs(value: TFileValue) -> Iterator[tuple[str, str]]:
    while (kind := _text_or_end(value)) is not None:
        yield kind, _text(value)
