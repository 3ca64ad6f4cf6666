"""Counts the entries of a zip before its list is read.

``zipfile`` makes an object of every entry of the central directory at once, and does not look at the count in the end
record.  Here that count is read first, and then the list is stepped through, holding one header at a time: what the end
record says is only a claim.  The end record is found as ``zipfile`` finds it.
"""

from __future__ import annotations

import os
import struct
import zipfile
from typing import BinaryIO

from nm_plugin.localization.tree import UnsafeArchive

_END, _END_SIGNATURE = struct.Struct("<4s4H2LH"), b"PK\x05\x06"
_END64, _END64_SIGNATURE = struct.Struct("<4sQ2H2L4Q"), b"PK\x06\x06"
_LOCATOR_BYTES, _LOCATOR_SIGNATURE = 20, b"PK\x06\x07"
_HEADER, _HEADER_SIGNATURE = struct.Struct("<4s24x3H12x"), b"PK\x01\x02"
_COMMENT_BYTES_MAX = 0xFFFF


def check_entries(file: BinaryIO, entries_max: int) -> None:
    """Leaves the file's position anywhere.

    Raises:
        UnsafeArchive: more entries than allowed, by the end record or in the list.
        zipfile.BadZipFile: it is no zip.
    """
    end, entries, list_bytes = _end_record(file)
    if entries > entries_max:
        text = f"Archive has {entries} entries, more than {entries_max} entries are not unpacked"
        raise UnsafeArchive(text, "archive_entries", entries, entries_max)
    if list_bytes > end:
        raise zipfile.BadZipFile("Bad size of the central directory")
    position, counted = end - list_bytes, 0
    while position < end:
        file.seek(position)
        header = file.read(_HEADER.size)
        if len(header) != _HEADER.size or not header.startswith(_HEADER_SIGNATURE):
            raise zipfile.BadZipFile("Bad magic number for central directory")
        counted += 1
        if counted > entries_max:
            text = f"Archive has more than {entries_max} entries"
            raise UnsafeArchive(text, "archive_entries", counted, entries_max)
        position += _HEADER.size + sum(_HEADER.unpack(header)[1:])


def _end_record(file: BinaryIO) -> tuple[int, int, int]:
    """Return the list's offset, its claimed number of entries, and its size in bytes."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - _END.size - _COMMENT_BYTES_MAX)
    file.seek(start)
    tail = file.read(size - start)
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != _END_SIGNATURE or tail[-2:] != b"\0\0":
        at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise zipfile.BadZipFile("File is not a zip file")
    _, _, _, _, entries, list_bytes, _, _ = _END.unpack_from(tail, at)
    return _end_record_64(file, start + at) or (start + at, entries, list_bytes)


def _end_record_64(file: BinaryIO, end: int) -> tuple[int, int, int] | None:
    """None when there is no such record, which has its place before the end record."""
    begin = end - _LOCATOR_BYTES - _END64.size
    if begin < 0:
        return None
    file.seek(begin)
    both = file.read(_END64.size + _LOCATOR_BYTES)
    if both[_END64.size : _END64.size + 4] != _LOCATOR_SIGNATURE or both[:4] != _END64_SIGNATURE:
        return None
    fields = _END64.unpack_from(both)
    return begin, fields[7], fields[8]
