"""Reads ranges of a file of known size, for the readers of aggregated logs.

Everything read from such a file was written by somebody else: every length is bounded before it is believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from yodel.errors import YodelError

TEXT_BYTES_MAX = 65535  # of a Java UTF string


class CorruptLogFile(YodelError):
    """An aggregated log file that is not what its format demands."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"Corrupt aggregated log file: {what}")


class RandomFile(Protocol):
    """Bytes by their offset."""

    @property
    def size_bytes(self) -> int: ...

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes.  Raises CorruptLogFile when the file is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorFile:
    """An open local file; the size is that at opening."""

    descriptor: int
    size_bytes: int

    def read_at(self, offset: int, count: int) -> bytes:
        parts: list[bytes] = []
        while count > 0:
            data = os.pread(self.descriptor, count, offset)
            if not data:
                raise CorruptLogFile(f"it ends before byte {offset + count}")
            parts.append(data)
            offset, count = offset + len(data), count - len(data)
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class ToldFile:
    """Another file, of which is told how much is read of it, and inflated (``tell_inflated``)."""

    file: RandomFile
    tell: Callable[[int], None]

    @property
    def size_bytes(self) -> int:
        return self.file.size_bytes

    def read_at(self, offset: int, count: int) -> bytes:
        self.tell(count)
        return self.file.read_at(offset, count)


def tell_inflated(file: RandomFile, count: int) -> None:
    """A little that was read may be a thousand times as much, and the work of a while."""
    if isinstance(file, ToldFile):
        file.tell(count)


class Cursor:
    """Reads on through bytes that are in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.position = data, 0

    @property
    def is_at_end(self) -> bool:
        return self.position == len(self._data)

    def read(self, count: int) -> bytes:
        """Exactly ``count`` bytes.  Raises CorruptLogFile."""
        data = self._data[self.position : self.position + count]
        if count < 0 or len(data) != count:
            raise CorruptLogFile("a value runs over its end")
        self.position += count
        return data


def encode_text(text: str) -> bytes:
    """Java's ``DataOutput.writeUTF``: two bytes of length, modified UTF-8.  Raises ValueError when it is too long."""
    data = b"".join(_modified(character) for character in text) if _needs_modification(text) else text.encode("utf-8")
    if len(data) > TEXT_BYTES_MAX:
        raise ValueError(f"text of {len(data)} bytes; a Java UTF string has at most {TEXT_BYTES_MAX}")
    return len(data).to_bytes(2, "big") + data


def decode_text(data: bytes) -> str:
    """The inverse, without the length; what is no text is shown as replacement characters."""
    data = data.replace(b"\xc0\x80", b"\0")
    try:
        units = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _needs_modification(text: str) -> bool:
    return any(c == "\0" or c > "\uffff" or "\ud800" <= c <= "\udfff" for c in text)


def _modified(character: str) -> bytes:
    if character == "\0":
        return b"\xc0\x80"
    if character <= "\uffff":
        return character.encode("utf-8", "surrogatepass")
    code = ord(character) - 0x10000
    return b"".join(
        chr(unit).encode("utf-8", "surrogatepass") for unit in (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
    )
