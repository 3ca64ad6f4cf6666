"""Hadoop's TFile: a file of records (key, value) in blocks, with an index at its end.  Pure; streams.

Follows ``org.apache.hadoop.io.file.tfile.TFile``, ``BCFile`` and ``Utils``.  Values are iterables of bytes and go
through part by part, so that neither a value nor a block is ever in memory as a whole.  Keys are unsorted.

Refuses: compression other than ``none`` and ``gz`` (a zlib stream in spite of its name); LZO needs a native codec.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from nm_plugin.logs.formats.random_file import CorruptLogFile, Cursor, RandomFile, tell_inflated

MAGIC = bytes.fromhex("d111d36891b5d7b639df414092bae150")
BLOCK_BYTES_MIN = 262144  # yarn.nodemanager.logaggregation TFile.Writer: 256 * 1024
CHUNK_BYTES = 1 << 20  # tfile.io.chunk.size
KEY_BYTES_MAX = 64 << 10
INDEX_BYTES_MAX = 64 << 20
READ_BYTES = 256 << 10
AFTER_SKIP_BYTES = 1 << 10
COMPRESSIONS = ("none", "gz")
_TRAILER_BYTES = 28
_VERSION = b"\x00\x01\x00\x00"
_META_PREFIX = "data:"
_VALUE_CHUNK_BYTES_MAX = 2**31 - 1


class Sink(Protocol):
    """Takes the bytes of a writer."""

    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Region:
    """Locates a block in the file."""

    offset: int
    stored_bytes: int
    raw_bytes: int

    def encoded(self) -> bytes:
        return vint(self.offset) + vint(self.stored_bytes) + vint(self.raw_bytes)


def vint(value: int) -> bytes:
    """``Utils.writeVLong``, in its shortest form."""
    if -32 <= value <= 127:
        return (value & 0xFF).to_bytes(1, "big")
    for count, base, limit in ((1, -52, 5120), (2, -88, 1 << 20), (3, -112, 1 << 27)):
        if -limit <= value < limit:
            first = (value >> (8 * count)) + base
            return (first & 0xFF).to_bytes(1, "big") + (value & ((1 << (8 * count)) - 1)).to_bytes(count, "big")
    count = next(k for k in range(4, 9) if -(1 << (8 * k - 1)) <= value < 1 << (8 * k - 1))
    return ((count - 129) & 0xFF).to_bytes(1, "big") + value.to_bytes(count, "big", signed=True)


class _Readable(Protocol):
    def read(self, count: int, /) -> bytes: ...


def read_vint(source: _Readable) -> int:
    """``Utils.readVLong``.  Raises CorruptLogFile."""
    first = int.from_bytes(source.read(1), "big", signed=True)
    if first >= -32:
        return first
    for count, base, low in ((1, -52, -72), (2, -88, -104), (3, -112, -120)):
        if first >= low:
            return ((first - base) << (8 * count)) | int.from_bytes(source.read(count), "big")
    if first < -125:
        raise CorruptLogFile(f"a number begins with {first}")
    return int.from_bytes(source.read(first + 129), "big", signed=True)


def vstr(text: str) -> bytes:
    """``Utils.writeString``."""
    data = text.encode("utf-8")
    return vint(len(data)) + data


def _read_vstr(source: _Readable) -> str:
    length = read_vint(source)
    if not 0 <= length <= KEY_BYTES_MAX:
        raise CorruptLogFile(f"a text of {length} bytes")
    return source.read(length).decode("utf-8", "replace")


class TFileWriter:
    """``append`` records, then ``close``; the sink stays open."""

    def __init__(self, sink: Sink, compression: str = "none") -> None:
        if compression not in COMPRESSIONS:
            raise ValueError(f"compression {compression!r}; known are {COMPRESSIONS}")
        self._sink, self._compression = sink, compression
        self._written = 0
        self._records = 0
        self._block: _BlockWriter | None = None
        self._blocks: list[Region] = []
        self._first_key: bytes | None = None
        self._index: list[bytes] = []
        self._put(MAGIC)

    def append(self, key: bytes, value: Iterable[bytes]) -> None:
        """One record; the value's parts may be of any size."""
        if len(key) > KEY_BYTES_MAX:
            raise ValueError(f"a key of {len(key)} bytes")
        if self._block is None:
            self._block = self._new_block()
        block = self._block
        block.write(vint(len(key)) + key)
        pending = b""
        for part in _of_chunk_size(value):
            if pending:
                block.write(vint(-len(pending)) + pending)
            pending = part
        block.write(vint(len(pending)) + pending)
        self._records += 1
        block.records += 1
        block.last_key = key
        if self._first_key is None:
            self._first_key = key
        if block.stored_bytes >= BLOCK_BYTES_MIN:
            self._end_block(block)

    def close(self) -> None:
        """Indexes and trailer."""
        if self._block is not None:
            self._end_block(self._block)
        metas = [
            self._meta("TFile.meta", _VERSION + vint(self._records) + vint(0), "none"),
            self._meta("TFile.index", self._index_content(), self._compression),
            self._meta("BCFile.index", self._blocks_content(), self._compression),
        ]
        offset = self._written
        self._put(vint(len(metas)))
        for name, compression, region in sorted(metas, key=lambda meta: meta[0]):
            self._put(vstr(_META_PREFIX + name) + vstr(compression) + region.encoded())
        self._put(offset.to_bytes(8, "big") + _VERSION + MAGIC)

    def _put(self, data: bytes) -> None:
        self._sink.write(data)
        self._written += len(data)

    def _new_block(self, compression: str = "") -> _BlockWriter:
        return _BlockWriter(self._put, self._written, compression or self._compression)

    def _end_block(self, block: _BlockWriter) -> None:
        self._blocks.append(block.end())
        entry = vint(len(block.last_key)) + block.last_key + vint(block.records)
        self._index.append(vint(len(entry)) + entry)
        self._block = None

    def _meta(self, name: str, content: bytes, compression: str) -> tuple[str, str, Region]:
        block = self._new_block(compression)
        block.write(content)
        return name, compression, block.end()

    def _index_content(self) -> bytes:
        if self._first_key is None:
            return b"\x00"
        first = vint(len(self._first_key)) + self._first_key
        return vint(len(first)) + first + b"".join(self._index)

    def _blocks_content(self) -> bytes:
        regions = b"".join(region.encoded() for region in self._blocks)
        return vstr(self._compression) + vint(len(self._blocks)) + regions


class _BlockWriter:
    """One compression stream."""

    def __init__(self, put: _Put, offset: int, compression: str) -> None:
        self._put, self._offset = put, offset
        self._deflate = zlib.compressobj() if compression == "gz" else None
        self.stored_bytes = self._raw_bytes = 0
        self.records = 0
        self.last_key = b""

    def write(self, data: bytes) -> None:
        self._raw_bytes += len(data)
        self._store(data if self._deflate is None else self._deflate.compress(data))

    def end(self) -> Region:
        if self._deflate is not None:
            self._store(self._deflate.flush())
        return Region(self._offset, self.stored_bytes, self._raw_bytes)

    def _store(self, data: bytes) -> None:
        if data:
            self.stored_bytes += len(data)
            self._put(data)


class _Put(Protocol):
    def __call__(self, data: bytes, /) -> None: ...


def _of_chunk_size(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in parts of CHUNK_BYTES; the last one is shorter, none is empty."""
    pending = bytearray()
    for part in parts:
        pending += part
        while len(pending) >= CHUNK_BYTES:
            yield bytes(pending[:CHUNK_BYTES])
            del pending[:CHUNK_BYTES]
    if pending:
        yield bytes(pending)


class TFileReader:
    """Reads from the start to the end; raises CorruptLogFile wherever the file is not a TFile."""

    def __init__(self, file: RandomFile) -> None:
        self._file = file
        metas = self._meta_index()
        blocks = Cursor(self._meta_block(metas, "BCFile.index"))
        self._compression = _known(_read_vstr(blocks))
        self._blocks = [_read_region(blocks) for _ in range(_count(read_vint(blocks)))]
        index = Cursor(self._meta_block(metas, "TFile.index"))
        index.read(_bounded(read_vint(index)))  # the first key
        self._records = [_read_index_entry(index) for _ in self._blocks]

    def records(self) -> Iterator[tuple[bytes, TFileValue]]:
        """Keys and values in order; a value may be read until the next record is asked for."""
        for region, count in zip(self._blocks, self._records, strict=True):
            block = _BlockReader(self._file, region, self._compression)
            for number in range(count):
                key = block.read(_bounded(read_vint(block)))
                value = TFileValue(block)
                yield key, value
                if number < count - 1:
                    value.skip()

    def _meta_index(self) -> dict[str, tuple[str, Region]]:
        size = self._file.size_bytes
        if size < len(MAGIC) + _TRAILER_BYTES or self._file.read_at(0, len(MAGIC)) != MAGIC:
            raise CorruptLogFile("it does not begin as a TFile")
        trailer = self._file.read_at(size - _TRAILER_BYTES, _TRAILER_BYTES)
        if trailer[12:] != MAGIC or trailer[8:10] != _VERSION[:2]:
            raise CorruptLogFile("it does not end as a TFile")
        offset = int.from_bytes(trailer[:8], "big")
        length = size - _TRAILER_BYTES - offset
        if not 0 < length <= INDEX_BYTES_MAX:
            raise CorruptLogFile(f"its index has {length} bytes")
        cursor = Cursor(self._file.read_at(offset, length))
        metas = {}
        for _ in range(_count(read_vint(cursor))):
            name, compression = _read_vstr(cursor), _read_vstr(cursor)
            metas[name.removeprefix(_META_PREFIX)] = (_known(compression), _read_region(cursor))
        return metas

    def _meta_block(self, metas: dict[str, tuple[str, Region]], name: str) -> bytes:
        if name not in metas:
            raise CorruptLogFile(f"it has no {name}")
        compression, region = metas[name]
        if region.raw_bytes > INDEX_BYTES_MAX:
            raise CorruptLogFile(f"its {name} has {region.raw_bytes} bytes")
        return _BlockReader(self._file, region, compression).read(region.raw_bytes)


class TFileValue:
    """A record's value; ``read`` gives what is asked for, or less at its end."""

    def __init__(self, block: _BlockReader) -> None:
        self._block = block
        self._left = 0
        self._is_last = False

    def read(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count > 0 and self._fill():
            data = self._block.read(min(count, self._left))
            self._left -= len(data)
            count -= len(data)
            parts.append(data)
        return b"".join(parts)

    def read_exactly(self, count: int) -> bytes:
        """Raises CorruptLogFile at the end."""
        data = self.read(count)
        if len(data) != count:
            raise CorruptLogFile("a record ends too early")
        return data

    def skip(self, count: int = 2**63 - 1) -> None:
        """So many bytes on, or to the value's end.  What is stored as it is is passed over unread."""
        while count > 0 and self._fill():
            passed = min(count, self._left)
            self._block.skip(passed)
            self._left -= passed
            count -= passed

    def _fill(self) -> bool:
        while self._left == 0:
            if self._is_last:
                return False
            length = read_vint(self._block)
            self._is_last, self._left = length >= 0, abs(length)
            if self._left > _VALUE_CHUNK_BYTES_MAX:
                raise CorruptLogFile(f"a chunk of {self._left} bytes")
        return True


class _BlockReader:
    """A block's raw bytes; keeps little of them in memory.

    After a skip little is read at first, as what comes next may be no more than the length of what is skipped then.
    """

    def __init__(self, file: RandomFile, region: Region, compression: str) -> None:
        self._file, self._offset = file, region.offset
        self._end = region.offset + region.stored_bytes
        self._inflate = zlib.decompressobj() if compression == "gz" else None
        self._buffer = b""
        self._position = 0
        self._read_bytes = READ_BYTES

    def skip(self, count: int) -> None:
        """Raises CorruptLogFile."""
        while count > (left := len(self._buffer) - self._position):
            count -= left
            self._buffer, self._position = b"", 0
            if self._inflate is None:
                if count > self._end - self._offset:
                    raise CorruptLogFile("a block ends too early")
                self._offset, self._read_bytes = self._offset + count, AFTER_SKIP_BYTES
                return
            self._buffer = self._next()
        self._position += count

    def read(self, count: int) -> bytes:
        """Exactly; raises CorruptLogFile."""
        parts: list[bytes] = []
        while count > 0:
            if self._position == len(self._buffer):
                self._buffer, self._position = self._next(), 0
            data = self._buffer[self._position : self._position + count]
            self._position += len(data)
            count -= len(data)
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _next(self) -> bytes:
        while True:
            if self._inflate is not None and self._inflate.unconsumed_tail:
                data = self._decompress(self._inflate.unconsumed_tail)
            else:
                count = min(self._read_bytes, self._end - self._offset)
                if count <= 0:
                    raise CorruptLogFile("a block ends too early")
                self._read_bytes = min(2 * self._read_bytes, READ_BYTES)
                stored = self._file.read_at(self._offset, count)
                self._offset += count
                data = stored if self._inflate is None else self._decompress(stored)
            if data:
                return data

    def _decompress(self, stored: bytes) -> bytes:
        assert self._inflate is not None
        try:
            data = self._inflate.decompress(stored, READ_BYTES)
        except zlib.error as error:
            raise CorruptLogFile(f"a block cannot be decompressed: {error}") from error
        tell_inflated(self._file, len(data))
        return data


def _read_region(cursor: Cursor) -> Region:
    region = Region(read_vint(cursor), read_vint(cursor), read_vint(cursor))
    if min(region.offset, region.stored_bytes, region.raw_bytes) < 0:
        raise CorruptLogFile("a block of negative size")
    return region


def _read_index_entry(index: Cursor) -> int:
    """The number of records in the block."""
    entry = Cursor(index.read(_bounded(read_vint(index))))
    entry.read(_bounded(read_vint(entry)))
    return _count(read_vint(entry))


def _known(compression: str) -> str:
    if compression not in COMPRESSIONS:
        raise CorruptLogFile(f"compression {compression[:50]!r} is not known")
    return compression


def _bounded(length: int) -> int:
    if not 0 <= length <= KEY_BYTES_MAX + 16:
        raise CorruptLogFile(f"a key of {length} bytes")
    return length


def _count(number: int) -> int:
    if not 0 <= number <= INDEX_BYTES_MAX:
        raise CorruptLogFile(f"{number} entries")
    return number
