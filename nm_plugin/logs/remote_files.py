"""The remote log directory's file system: ``file:`` and ``hdfs:``, with what aggregation needs and nothing more.

Used in the worker process only, which is the application owner; everything blocks.  Modes are exact whatever the
umask says.  "Already there" and "already gone" are successes.

Refuses: other schemes.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from nm_plugin.host.hadoop_conf import default_file_system
from nm_plugin.logs.formats.random_file import CorruptLogFile, DescriptorFile, RandomFile
from yodel.errors import InvalidValue

LIST_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """An entry of a remote directory."""

    name: str
    size_bytes: int
    modified_ms: int
    is_directory: bool


class RemoteWriter(Protocol):
    """An open remote file."""

    def write(self, data: bytes, /) -> object: ...

    def close(self) -> None:
        """The content is there for readers after this."""


class RemoteFiles(Protocol):
    """Paths are absolute.  Every method raises OSError or the client library's RuntimeError."""

    def make_dir(self, path: str, mode: int, group: str = "") -> bool:
        """False when it was there; its parent must exist, or with a group is made too."""

    def status(self, path: str) -> RemoteFile | None: ...

    def owner_and_mode(self, path: str) -> tuple[str, int]:
        """Return the name of the owner, and the permissions."""

    def set_mode(self, path: str, mode: int) -> None: ...

    def list(self, path: str) -> list[RemoteFile]: ...

    def create(self, path: str, mode: int) -> RemoteWriter:
        """Empty, whatever was there."""

    def append(self, path: str) -> RemoteWriter: ...

    def rename(self, source: str, target: str) -> None:
        """Replaces the target."""

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it."""

    def open(self, path: str) -> AbstractContextManager[RandomFile]: ...


def remote_files(url: str, config_dir: Path | None) -> tuple[RemoteFiles, str]:
    """The file system and the path in it.  Without a scheme it is the configuration's ``fs.defaultFS``.

    Raises:
        InvalidValue: a scheme that is not served.
    """
    parts = urlsplit(url)
    if not parts.scheme:
        default = urlsplit(default_file_system(config_dir))
        parts = parts._replace(scheme=default.scheme, netloc=default.netloc)
    path = unquote(parts.path).rstrip("/") or "/"
    if parts.scheme == "file":
        return LocalFileSystem(), path
    if parts.scheme in ("hdfs", "viewfs"):
        return HdfsFileSystem(f"{parts.scheme}://{parts.netloc}" if parts.netloc else None), path
    raise InvalidValue("remote_app_log_dir", url, "a file: or hdfs: URL")


class LocalFileSystem:
    """``file:``, for one machine or a shared mount."""

    def make_dir(self, path: str, mode: int, group: str = "") -> bool:
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            return False
        except FileNotFoundError:
            if not group and mode & stat.S_ISVTX == 0:
                raise
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            os.mkdir(path, mode)
        os.chmod(path, mode)
        if group:
            shutil.chown(path, group=group)
        return True

    def status(self, path: str) -> RemoteFile | None:
        try:
            return _local_status(os.path.basename(path), os.lstat(path))
        except FileNotFoundError:
            return None

    def owner_and_mode(self, path: str) -> tuple[str, int]:
        found = os.lstat(path)
        try:
            owner = pwd.getpwuid(found.st_uid).pw_name
        except KeyError:
            owner = str(found.st_uid)
        return owner, stat.S_IMODE(found.st_mode)

    def set_mode(self, path: str, mode: int) -> None:
        if stat.S_IMODE(os.stat(path).st_mode) != mode:
            os.chmod(path, mode)

    def list(self, path: str) -> list[RemoteFile]:
        with os.scandir(path) as entries:
            return [_local_status(e.name, e.stat(follow_symlinks=False)) for e in islice(entries, LIST_MAX)]

    def create(self, path: str, mode: int) -> RemoteWriter:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return _LocalWriter(path, os.O_CREAT | os.O_EXCL, mode)

    def append(self, path: str) -> RemoteWriter:
        return _LocalWriter(path, os.O_APPEND, 0)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.lstat(path).st_mode):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[RandomFile]:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield DescriptorFile(descriptor=descriptor, size_bytes=os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)


class _LocalWriter:
    """Writes a file that is on the disk when closed."""

    def __init__(self, path: str, flags: int, mode: int) -> None:
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, mode), "wb")
        if mode:
            os.fchmod(self._file.fileno(), mode)

    def write(self, data: bytes, /) -> object:
        return self._file.write(data)

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _local_status(name: str, status: os.stat_result) -> RemoteFile:
    return RemoteFile(
        name=name,
        size_bytes=status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
        is_directory=stat.S_ISDIR(status.st_mode),
    )


class HdfsFileSystem:
    """``hdfs:`` through hdfs-native; the caller is the one that the process's environment names."""

    def __init__(self, url: str | None) -> None:
        from hdfs_native import Client, WriteOptions

        self._client: Any = Client(url)
        self._options = WriteOptions

    def make_dir(self, path: str, mode: int, group: str = "") -> bool:
        if self.status(path) is not None:
            return False
        self._client.mkdirs(path, mode, create_parent=bool(group) or bool(mode & stat.S_ISVTX))
        self._client.set_permission(path, mode)
        if group:
            self._client.set_owner(path, group=group)
        return True

    def status(self, path: str) -> RemoteFile | None:
        try:
            return _hdfs_status(self._client.get_file_info(path))
        except FileNotFoundError:
            return None

    def owner_and_mode(self, path: str) -> tuple[str, int]:
        found = self._client.get_file_info(path)
        return str(found.owner), found.permission & 0o7777

    def set_mode(self, path: str, mode: int) -> None:
        if self._client.get_file_info(path).permission & 0o7777 != mode:
            self._client.set_permission(path, mode)

    def list(self, path: str) -> list[RemoteFile]:
        return [_hdfs_status(one) for one in islice(self._client.list_status(path), LIST_MAX)]

    def create(self, path: str, mode: int) -> RemoteWriter:
        options = self._options(permission=mode, overwrite=True, create_parent=False)
        writer: RemoteWriter = self._client.create(path, options)
        self._client.set_permission(path, mode)
        return writer

    def append(self, path: str) -> RemoteWriter:
        try:
            writer: RemoteWriter = self._client.append(path)
        except RuntimeError:
            # An append that a crash left open: the lease is taken from the dead writer, the next try finds it closed.
            self._client.recover_lease(path)
            raise
        return writer

    def rename(self, source: str, target: str) -> None:
        self._client.rename(source, target, overwrite=True)

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._client.delete(path, recursive=True)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[RandomFile]:
        with self._client.read(path) as file:
            yield _HdfsFile(file=file, size_bytes=self._client.get_file_info(path).length)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HdfsFile:
    file: Any
    size_bytes: int

    def read_at(self, offset: int, count: int) -> bytes:
        if not 0 <= offset <= offset + count <= self.size_bytes:
            raise CorruptLogFile(f"it ends before byte {offset + count}")
        data: bytes = self.file.read_range(offset, count) if count else b""
        return data


def _hdfs_status(status: Any) -> RemoteFile:
    return RemoteFile(
        name=urlsplit(status.path).path.rpartition("/")[2] if "://" in status.path else status.path.rpartition("/")[2],
        size_bytes=status.length,
        modified_ms=status.modification_time,
        is_directory=status.isdir,
    )
