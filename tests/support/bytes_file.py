"""A log file that is in memory."""

from __future__ import annotations

from dataclasses import dataclass

from nm_plugin.logs.formats.random_file import CorruptLogFile


@dataclass(frozen=True, slots=True)
class BytesFile:
    """A file that is in memory already."""

    content: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.content)

    def read_at(self, offset: int, count: int) -> bytes:
        data = self.content[offset : offset + count] if offset >= 0 else b""
        if len(data) != count:
            raise CorruptLogFile(f"it ends before byte {offset + count}")
        return data
