"""Unpacking archives that strangers made: zip, jar and tar, into one directory and nowhere else.

Follows ``FSDownload.unpack``: by lower-case suffix ``.jar``, ``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``; any other
suffix is stored as a plain file.  A PATTERN jar keeps the jar itself inside the directory, with the matching entries
unpacked beside it (MapReduce's ``job.jar/job.jar``).

Refuses, before writing the entry: absolute names, ``..``, links whose target leaves the directory, devices and FIFOs,
more entries or bytes than allowed, an expansion ratio that only a bomb has, and headers that would fill the agent's
memory.  A regular file is never written through a link that the archive itself made.  All functions block: call them in
a file thread *with the owner's rights*, which is what keeps a mistake here from mattering.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from nm_plugin.localization.name_patterns import matching
from yodel.errors import YodelError

COPY_CHUNK_BYTES = 1 << 20
RATIO_FLOOR_BYTES = 64 << 20  # below this size any ratio is harmless
LINK_TARGET_MAX = 4096
TAR_HEADER_BYTES_MAX = 2 << 20  # tarfile reads a header of any size at once; above COPY_CHUNK_BYTES
ZIP_DIRECTORY_BYTES_MAX = 128 << 20  # zipfile reads the list of entries at once
GZIP_MAGIC = b"\x1f\x8b"


class UnsafeArchive(YodelError):
    """The archive would write where it must not, or too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds for one archive."""

    entries_max: int
    bytes_max: int
    ratio_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Permissions of what is unpacked: 0755/0644 for everybody's cache, 0700/0600 for a user's."""

    directory: int
    file: int
    executable: int


PUBLIC_MODES = Modes(directory=0o755, file=0o644, executable=0o755)
PRIVATE_MODES = Modes(directory=0o700, file=0o600, executable=0o700)


def is_archive_name(name: str) -> bool:
    """True when the suffix is one that is unpacked."""
    return name.lower().endswith((".zip", ".jar", ".tar", ".tar.gz", ".tgz"))


def unpack(source: Path, name: str, target: Path, limits: Limits, modes: Modes, pattern: str = "") -> int:
    """Unpack ``source`` (whose real file name is ``name``) into the new directory ``target``; the bytes written.

    ``pattern`` restricts a jar to entries that match it wholly (Java's ``Matcher.matches``).

    Raises:
        UnsafeArchive: as the module says.
        OSError, zipfile.BadZipFile, tarfile.TarError, EOFError: unreadable archive or full disk.
    """
    target.mkdir(mode=0o700)
    writer = _Writer(target, limits, modes, source.stat().st_size)
    lower = name.lower()
    if lower.endswith((".zip", ".jar")):
        _unzip(source, writer, pattern if lower.endswith(".jar") else "")
    else:
        _untar(source, writer)
    if pattern and lower.endswith(".jar"):
        shutil.copyfile(source, writer.place(name))
        os.chmod(target / name, modes.file)
        writer.written_bytes += source.stat().st_size
    writer.finish()
    return writer.written_bytes


class _Writer:
    """Writes entries below one root, counting."""

    def __init__(self, root: Path, limits: Limits, modes: Modes, packed_bytes: int) -> None:
        self._root, self._limits, self._modes = root, limits, modes
        self._bytes_max = limits.bytes_max
        if packed_bytes * limits.ratio_max < limits.bytes_max:
            self._bytes_max = max(RATIO_FLOOR_BYTES, packed_bytes * limits.ratio_max)
            self._bytes_max = min(self._bytes_max, limits.bytes_max)
        self._entries = 0
        self._directories: list[Path] = [root]
        self.written_bytes = 0

    def count(self) -> None:
        self._entries += 1
        if self._entries > self._limits.entries_max:
            raise UnsafeArchive(f"Archive has more than {self._limits.entries_max} entries")

    def place(self, name: str) -> Path:
        """The path of an entry, with real directories (no links) above it."""
        parts = _parts(name)
        current = self._root
        for part in parts[:-1]:
            current = current / part
            self._directory(current, name)
        return current / parts[-1]

    def directory(self, name: str) -> None:
        if not _parts(name, empty_ok=True):
            return
        self._directory(self.place(name), name)

    def _directory(self, path: Path, name: str) -> None:
        try:
            path.mkdir(mode=0o700)
            self._directories.append(path)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise UnsafeArchive(f"Archive entry {name!r} goes through a link or a file") from None

    def file(self, name: str, content: IO[bytes], executable: bool) -> None:
        path = self.place(name)
        self._make_room(path, name)
        mode = self._modes.executable if executable else self._modes.file
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
            while chunk := content.read(COPY_CHUNK_BYTES):
                self.written_bytes += len(chunk)
                if self.written_bytes > self._bytes_max:
                    raise UnsafeArchive(f"Archive content exceeds {self._bytes_max} bytes")
                out.write(chunk)
            os.fchmod(out.fileno(), mode)

    def symlink(self, name: str, link_target: str) -> None:
        parts = _parts(name)
        if not link_target or len(link_target) > LINK_TARGET_MAX or os.path.isabs(link_target):
            raise UnsafeArchive(f"Archive link {name!r} has a target outside: {link_target[:200]!r}")
        # Normalising by text is only right because directories above entries are never links (see _directory) and
        # because a link whose path climbs through another link is refused by the next test.
        joined = os.path.normpath(os.path.join(*parts[:-1], link_target))
        if joined == ".." or joined.startswith("../"):
            raise UnsafeArchive(f"Archive link {name!r} has a target outside: {link_target[:200]!r}")
        path = self.place(name)
        self._make_room(path, name)
        if ".." in link_target.split("/") and not self._climbs_plainly(path.parent, link_target):
            raise UnsafeArchive(f"Archive link {name!r} climbs through a link")
        os.symlink(link_target, path)

    def hardlink(self, name: str, target_name: str) -> None:
        source = self._root.joinpath(*_parts(target_name))
        self._real_file(source, name)
        path = self.place(name)
        self._make_room(path, name)
        os.link(source, path, follow_symlinks=False)

    def finish(self) -> None:
        """Directories get their mode last, so that read-only ones could be filled."""
        for directory in reversed(self._directories):
            os.chmod(directory, self._modes.directory)

    def _make_room(self, path: Path, name: str) -> None:
        """A later entry replaces an earlier one, as unjar and tar do; never a directory."""
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(mode):
            raise UnsafeArchive(f"Archive entry {name!r} replaces a directory")
        path.unlink()

    def _real_file(self, path: Path, name: str) -> None:
        for parent in path.parents:
            if parent == self._root:
                break
            if not stat.S_ISDIR(os.lstat(parent).st_mode):
                raise UnsafeArchive(f"Archive entry {name!r} goes through a link")
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise UnsafeArchive(f"Archive hard link {name!r} does not point to a file")

    def _climbs_plainly(self, directory: Path, link_target: str) -> bool:
        """Every existing directory on the way of a target with ``..`` is a real one, so text and disk agree."""
        current = directory
        for part in link_target.split("/"):
            current = current.parent if part == ".." else current / part
            try:
                if stat.S_ISLNK(os.lstat(current).st_mode):
                    return False
            except FileNotFoundError:
                # What does not exist yet could become a link later: only a plain rest without ".." is allowed.
                rest = link_target.split("/")
                return ".." not in rest[rest.index(part) :] if part != ".." else False
        return True


def _parts(name: str, empty_ok: bool = False) -> list[str]:
    if name.startswith("/") or "\0" in name:
        raise UnsafeArchive(f"Archive entry {name[:200]!r} would be outside of the target directory")
    parts = [p for p in name.split("/") if p not in ("", ".")]
    if ".." in parts or (not parts and not empty_ok):
        raise UnsafeArchive(f"Archive entry {name[:200]!r} would be outside of the target directory")
    return parts


class _Bounded:
    """A file that gives no more at once than ``most_bytes``: what archives' headers say of their size is claims."""

    def __init__(self, file: BinaryIO, most_bytes: int) -> None:
        self._file, self._most_bytes = file, most_bytes
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._most_bytes:
            raise UnsafeArchive(f"Archive has a header of {size} bytes, at most {self._most_bytes} are read")
        return self._file.read(self._most_bytes if size < 0 else size)


def _unzip(source: Path, writer: _Writer, pattern: str) -> None:
    with source.open("rb") as file, zipfile.ZipFile(cast(BinaryIO, _Bounded(file, ZIP_DIRECTORY_BYTES_MAX))) as archive:
        entries = archive.infolist()
        for _ in entries:
            writer.count()
        accepted = matching(pattern, [info.filename for info in entries]) if pattern else None
        for info in entries:
            if accepted is None or info.filename in accepted:
                _unzip_entry(archive, info, writer)


def _unzip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, writer: _Writer) -> None:
    mode = info.external_attr >> 16
    if info.is_dir():
        writer.directory(info.filename)
    elif stat.S_ISLNK(mode):
        if info.file_size > LINK_TARGET_MAX:
            raise UnsafeArchive(f"Archive link {info.filename!r} has an overlong target")
        writer.symlink(info.filename, os.fsdecode(archive.read(info)))
    elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
        with archive.open(info) as content:
            writer.file(info.filename, content, bool(mode & 0o111))
    else:
        raise UnsafeArchive(f"Archive entry {info.filename!r} is a device, a FIFO or a socket")


def _untar(source: Path, writer: _Writer) -> None:
    with source.open("rb") as packed:
        is_packed = packed.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        packed.seek(0)
        content = cast(BinaryIO, gzip.GzipFile(fileobj=packed)) if is_packed else packed
        bounded = cast(BinaryIO, _Bounded(content, TAR_HEADER_BYTES_MAX))
        with tarfile.open(fileobj=bounded, mode="r:") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # it would keep all that it has read
                writer.count()
                _untar_member(archive, member, writer)


def _untar_member(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: _Writer) -> None:
    if member.isdir():
        writer.directory(member.name)
    elif member.issym():
        writer.symlink(member.name, member.linkname)
    elif member.islnk():
        writer.hardlink(member.name, member.linkname)
    elif member.isfile():
        content = archive.extractfile(member)
        if content is None:
            raise UnsafeArchive(f"Archive entry {member.name!r} has no content")
        with content:
            writer.file(member.name, content, bool(member.mode & 0o111))
    else:
        raise UnsafeArchive(f"Archive entry {member.name!r} is a device, a FIFO or a socket")
