"""Unpacking archives that strangers made: zip, jar and tar, into one directory and nowhere else.

Follows ``FSDownload.unpack``: by lower-case suffix ``.jar``, ``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``; any other
suffix is stored as a plain file.  A PATTERN jar keeps the jar itself inside the directory, with the matching entries
unpacked beside it (MapReduce's ``job.jar/job.jar``).  A tar's entries become what GNU tar
makes of them, which ``FSDownload`` calls: FIFOs too, and files where a type is unknown.  In a zip, whatever is neither
link nor directory is a file.

Refuses, before writing the entry: whatever ``tree`` refuses, a tar's devices, more entries or bytes than allowed, an
expansion ratio that only a bomb has, and headers that would fill the memory.  All functions block, and run in a process
that has no more rights than the archive's owner (``unpacker``), which is what keeps a mistake here from mattering.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zipfile
from dataclasses import dataclass
from typing import IO, BinaryIO, cast

from nm_plugin.host.name_patterns import matching
from nm_plugin.localization.tree import LINK_TARGET_MAX, DirectoryTree, UnsafeArchive
from nm_plugin.localization.zip_list import check_entries

COPY_CHUNK_BYTES = 1 << 20
RATIO_FLOOR_BYTES = 64 << 20  # below this size any ratio is harmless
TAR_HEADER_BYTES_MAX = 2 << 20  # tarfile reads a header of any size at once; above COPY_CHUNK_BYTES
ZIP_DIRECTORY_BYTES_MAX = 128 << 20  # zipfile reads the list of entries at once
GZIP_MAGIC = b"\x1f\x8b"
# By tar.h; Python's library does not know those of GNU tar
TAR_LISTED_DIRECTORY, TAR_LABEL = b"D", b"V"
TAR_REFUSED = frozenset({b"3", b"4", b"M"})  # devices, and the rest of a file that begins on another volume


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """Upper bounds for one archive."""

    entries_max: int
    bytes_max: int
    ratio_max: int


def is_archive_name(name: str) -> bool:
    """True when the suffix is one that is unpacked."""
    return name.lower().endswith((".zip", ".jar", ".tar", ".tar.gz", ".tgz"))


def unpack(source: BinaryIO, name: str, target: int, limits: ArchiveLimits, pattern: str = "") -> int:
    """Unpack ``source`` (whose real file name is ``name``) into the empty directory that is open as ``target``.

    ``pattern`` restricts a jar to the entries that match it, unless it is empty.  What comes to be is its owner's alone
    (``tree``'s modes).
    Returns the bytes written.

    Raises:
        UnsafeArchive: as the module says.
        InvalidValue, PatternTooHard: of the pattern.
        Exception: whatever the libraries raise for unreadable archives, and OSError for a full disk.
    """
    lower = name.lower()
    tree = DirectoryTree(target, limits.entries_max, is_tar=not lower.endswith((".zip", ".jar")))
    writer = _Writer(tree, limits, os.fstat(source.fileno()).st_size)
    try:
        if not writer.tree.is_tar:
            _unzip(source, writer, pattern if lower.endswith(".jar") else "")
        else:
            _untar(source, writer)
        if pattern and lower.endswith(".jar"):
            source.seek(0)
            writer.file(name, source)
    finally:
        writer.tree.close()
    return writer.written_bytes


class _Writer:
    """Writes entries into one tree, counting."""

    def __init__(self, tree: DirectoryTree, limits: ArchiveLimits, packed_bytes: int) -> None:
        self.tree = tree
        self.entries_max = limits.entries_max
        self._bytes_max = limits.bytes_max
        if packed_bytes * limits.ratio_max < limits.bytes_max:
            self._bytes_max = max(RATIO_FLOOR_BYTES, packed_bytes * limits.ratio_max)
            self._bytes_max = min(self._bytes_max, limits.bytes_max)
        self._entries = 0
        self.written_bytes = 0

    def count(self) -> None:
        self._entries += 1
        if self._entries > self.entries_max:
            raise UnsafeArchive(
                f"Archive has more than {self.entries_max} entries", "archive_entries", self._entries, self.entries_max
            )

    def file(self, name: str, content: IO[bytes]) -> None:
        with os.fdopen(self.tree.file(name), "wb") as out:
            while chunk := content.read(COPY_CHUNK_BYTES):
                self.written_bytes += len(chunk)
                if self.written_bytes > self._bytes_max:
                    raise UnsafeArchive(
                        f"Archive content exceeds {self._bytes_max} bytes",
                        "archive_bytes",
                        self.written_bytes,
                        self._bytes_max,
                    )
                out.write(chunk)


class _Bounded:
    """A file that gives no more at once than ``most_bytes``: what archives' headers say of their size is claims."""

    def __init__(self, file: BinaryIO, most_bytes: int) -> None:
        self._file, self._most_bytes = file, most_bytes
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._most_bytes:
            raise UnsafeArchive(f"Archive has a header of {size} bytes, at most {self._most_bytes} are read")
        return self._file.read(self._most_bytes if size < 0 else size)


def _unzip(source: BinaryIO, writer: _Writer, pattern: str) -> None:
    check_entries(source, writer.entries_max)
    with zipfile.ZipFile(cast(BinaryIO, _Bounded(source, ZIP_DIRECTORY_BYTES_MAX))) as archive:
        entries = archive.infolist()
        for _ in entries:
            writer.count()
        accepted = matching(pattern, [info.filename for info in entries]) if pattern else None
        for info in entries:
            if accepted is None or info.filename in accepted:
                _unzip_entry(archive, info, writer)


def _unzip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, writer: _Writer) -> None:
    mode = info.external_attr >> 16
    if info.filename.endswith("/"):  # its own is_dir() fails where there is no name
        writer.tree.directory(info.filename)
    elif stat.S_ISLNK(mode):
        if info.file_size > LINK_TARGET_MAX:
            raise UnsafeArchive(f"Archive link {info.filename!r} has an overlong target")
        writer.tree.symlink(info.filename, os.fsdecode(archive.read(info)))
    else:
        with archive.open(info) as content:
            writer.file(info.filename, content)


def _untar(source: BinaryIO, writer: _Writer) -> None:
    is_packed = source.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    source.seek(0)
    content = cast(BinaryIO, gzip.GzipFile(fileobj=source)) if is_packed else source
    bounded = cast(BinaryIO, _Bounded(content, TAR_HEADER_BYTES_MAX))
    with tarfile.open(fileobj=bounded, mode="r:") as archive:
        while (member := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # it would keep all that it has read
            writer.count()
            _untar_member(archive, member, writer)


def _untar_member(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: _Writer) -> None:
    is_file = member.isreg() or member.type not in tarfile.SUPPORTED_TYPES
    if member.type in TAR_REFUSED:
        raise UnsafeArchive(f"Archive entry {member.name!r} is a device, or a part of a file")
    if member.type == TAR_LABEL:
        return
    if member.isdir() or member.type == TAR_LISTED_DIRECTORY or (is_file and member.name.endswith("/")):
        writer.tree.directory(member.name)
    elif member.issym():
        writer.tree.symlink(member.name, member.linkname)
    elif member.islnk():
        writer.tree.hardlink(member.name, member.linkname)
    elif member.isfifo():
        writer.tree.fifo(member.name)
    else:
        content = archive.extractfile(member)
        if content is None:
            raise UnsafeArchive(f"Archive entry {member.name!r} has no content")
        with content:
            writer.file(member.name, content)
