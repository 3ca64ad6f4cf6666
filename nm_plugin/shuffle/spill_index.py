"""``file.out.index``: where each reducer's partition lies in a map's ``file.out``, and a bounded memory of such files.

A file is R records of three big-endian int64 (start offset, raw length, length on disk) and the CRC-32 of them as one
more int64 (``SpillRecord``).  The file is written by the job's own user, so that nothing in it is believed: sizes,
signs and the checksum are looked at here, and whether the range lies inside the data by whoever opens the data.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import OrderedDict
from dataclasses import dataclass

from yodel.errors import InvalidValue

RECORD = struct.Struct(">qqq")
CHECKSUM = struct.Struct(">q")
INDEX_BYTES_MAX = 16 << 20
"""About 700,000 reducers."""
ENTRY_OVERHEAD_BYTES = 512
"""The weight of an entry beside its records: key, objects, links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """``IndexRecord``, in bytes."""

    start: int
    raw_length: int
    part_length: int

    @property
    def end(self) -> int:
        return self.start + self.part_length


@dataclass(frozen=True, slots=True)
class SpillIndex:
    """The records of one map; ``parse`` has verified the checksum."""

    records: bytes

    @classmethod
    def parse(cls, content: bytes) -> SpillIndex:
        """Raises InvalidValue: not whole records, or a wrong checksum."""
        records, checksum = content[: -CHECKSUM.size], content[-CHECKSUM.size :]
        if len(checksum) != CHECKSUM.size or len(records) % RECORD.size:
            raise InvalidValue("spill index length", len(content), "24 bytes a reducer and 8")
        if CHECKSUM.unpack(checksum)[0] != zlib.crc32(records):
            raise InvalidValue("spill index", "<checksum>", "the CRC-32 of its records")
        return cls(records)

    def __len__(self) -> int:
        return len(self.records) // RECORD.size

    def partition(self, reduce: int) -> Partition:
        """Raises InvalidValue: a negative number in the record.  Raises IndexError: no such reducer."""
        if not 0 <= reduce < len(self):
            raise IndexError(reduce)
        start, raw_length, part_length = RECORD.unpack_from(self.records, reduce * RECORD.size)
        if min(start, raw_length, part_length) < 0:
            raise InvalidValue("spill index record", (start, raw_length, part_length), "no negative number")
        return Partition(start=start, raw_length=raw_length, part_length=part_length)


class IndexCache:
    """Recently used indexes, at most ``bytes_max`` of them (``mapreduce.tasktracker.indexcache.mb``).

    For any thread.  An index never changes: another attempt of the map has another name.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], SpillIndex] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        return self._bytes

    def get(self, job: str, map_name: str) -> SpillIndex | None:
        with self._lock:
            index = self._entries.get((job, map_name))
            if index is not None:
                self._entries.move_to_end((job, map_name))
            return index

    def put(self, job: str, map_name: str, index: SpillIndex) -> None:
        """One that is larger than the whole cache is not kept."""
        if _weight(index) > self._bytes_max:
            return
        with self._lock:
            self._remove((job, map_name))
            self._entries[job, map_name] = index
            self._bytes += _weight(index)
            while self._bytes > self._bytes_max:
                self._remove(next(iter(self._entries)))

    def forget_job(self, job: str) -> None:
        with self._lock:
            for key in [key for key in self._entries if key[0] == job]:
                self._remove(key)

    def _remove(self, key: tuple[str, str]) -> None:
        index = self._entries.pop(key, None)
        if index is not None:
            self._bytes -= _weight(index)


def _weight(index: SpillIndex) -> int:
    return len(index.records) + ENTRY_OVERHEAD_BYTES
