"""Finds and opens the outputs of maps: ``<local dir>/usercache/<user>/appcache/<application>/output/<map>/file.out``.

All below ``usercache/<user>`` belongs to the user, who may put anything there.  So a path is walked one folder at a
time without following links, with the user's own file system rights, and what is found at its end must be a regular
file of that user (``SecureIOUtils`` checks the owner for the same reason; here always, not only with Kerberos).  A
range that does not lie inside the data is refused before anything of it is promised to the reducer.

Functions block: they are for the shuffle's threads.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.host.users import OsUser, acting_as, path_name
from nm_plugin.shuffle.fetch import shuffle_header
from nm_plugin.shuffle.spill_index import INDEX_BYTES_MAX, IndexCache, Partition, SpillIndex
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue, YodelError

KEPT_MAX = 20  # what Hadoop's reducers ask for at once
AHEAD_BYTES_MAX = 256 << 10
DATA_FILE, INDEX_FILE = "file.out", "file.out.index"


class MapOutputUnreadable(YodelError):
    """The bytes are not available; the text goes to the reducer as the body of a 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFiles:
    """Locates the outputs of one job, and names the user who must own them."""

    application_id: ApplicationId
    job: str
    user: OsUser

    @property
    def folder(self) -> tuple[str, ...]:
        return ("usercache", path_name(self.user.name), "appcache", str(self.application_id), "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One map's share of an answer: the header, then ``partition`` of the data in ``local_dir``."""

    map_name: str
    header: bytes
    partition: Partition
    local_dir: Path

    @property
    def length(self) -> int:
        return len(self.header) + self.partition.part_length


class MapOutputs:
    """The outputs of one job for one answer: its folder is walked to once on each disk and held until ``close``.

    The data of the first maps stays open from ``locate`` to ``open``, if nobody calls ``release`` in between.  For one
    thread at a time.
    """

    def __init__(self, files: JobFiles, local_dirs: Sequence[Path], cache: IndexCache) -> None:
        self._files, self._local_dirs, self._cache = files, tuple(local_dirs), cache
        self._folders: dict[Path, int] = {}
        self._kept: dict[str, int] = {}

    def release(self) -> None:
        """A reader is slow: do without descriptors that can be opened again."""
        while self._kept:
            os.close(self._kept.popitem()[1])

    def close(self) -> None:
        self.release()
        while self._folders:
            os.close(self._folders.popitem()[1])

    def locate(self, map_names: Sequence[str], reduce: int) -> list[Piece]:
        """All of them, in this order.  Raises MapOutputUnreadable."""
        with acting_as(self._files.user):
            return [self._piece(name, reduce) for name in map_names]

    def open(self, piece: Piece) -> int:
        """A descriptor of the data, for the caller to close.  Raises MapOutputUnreadable."""
        kept = self._kept.pop(piece.map_name, None)
        if kept is not None:
            return kept
        with acting_as(self._files.user):
            descriptor, size = self._open((piece.local_dir,), piece.map_name, DATA_FILE)[1:]
        if piece.partition.end > size:
            os.close(descriptor)
            raise MapOutputUnreadable(f"{piece.map_name}: {DATA_FILE} became shorter")
        return descriptor

    def _piece(self, map_name: str, reduce: int) -> Piece:
        index = self._cache.get(self._files.job, map_name)
        if index is None:
            index = self._read_index(map_name)
            self._cache.put(self._files.job, map_name, index)
        try:
            partition = index.partition(reduce)
        except IndexError:
            # IndexCache.getIndexInformation's words, its two spaces included.
            raise MapOutputUnreadable(
                f"Invalid request  Map Id = {map_name} Reducer = {reduce} Index Info Length = {len(index)}"
            ) from None
        except InvalidValue as error:
            raise MapOutputUnreadable(f"Error Reading IndexFile: {error}") from error
        local_dir, descriptor, size = self._open(self._local_dirs, map_name, DATA_FILE)
        if partition.end > size:
            os.close(descriptor)
            raise MapOutputUnreadable(
                f"{map_name}: partition {reduce} ends at {partition.end}, {DATA_FILE} has {size} bytes"
            )
        self._keep(map_name, descriptor, partition)
        header = shuffle_header(map_name, partition.part_length, partition.raw_length, reduce)
        return Piece(map_name=map_name, header=header, partition=partition, local_dir=local_dir)

    def _keep(self, map_name: str, descriptor: int, partition: Partition) -> None:
        """The disk may begin to read while the other maps are looked for."""
        if len(self._kept) >= KEPT_MAX or map_name in self._kept:
            os.close(descriptor)
            return
        self._kept[map_name] = descriptor
        with contextlib.suppress(OSError):  # advice only
            os.posix_fadvise(
                descriptor, partition.start, min(partition.part_length, AHEAD_BYTES_MAX), os.POSIX_FADV_WILLNEED
            )

    def _read_index(self, map_name: str) -> SpillIndex:
        _, descriptor, size = self._open(self._local_dirs, map_name, INDEX_FILE)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if size > INDEX_BYTES_MAX:
                raise MapOutputUnreadable(f"Error Reading IndexFile: {size} bytes, more than {INDEX_BYTES_MAX}")
            content = _read_all(file.fileno(), size)
        try:
            return SpillIndex.parse(content)
        except InvalidValue as error:
            raise MapOutputUnreadable(f"Error Reading IndexFile: {error}") from error

    def _open(self, local_dirs: Sequence[Path], map_name: str, file_name: str) -> tuple[Path, int, int]:
        """Local dir, descriptor and size."""
        trouble: OSError | None = None
        for local_dir in local_dirs:
            try:
                descriptor, size = open_owned(self._folder(local_dir), map_name, file_name, self._files.user)
            except FileNotFoundError:
                continue
            except OSError as error:
                trouble = trouble or error  # a broken disk does not hide what lies on another
                continue
            return local_dir, descriptor, size
        place = "/".join((*self._files.folder, map_name, file_name))
        if trouble is not None:
            raise MapOutputUnreadable(f"{place}: {trouble.strerror}") from trouble
        # LocalDirAllocator's words.
        raise MapOutputUnreadable(f"Could not find {place} in any of the configured local directories")

    def _folder(self, local_dir: Path) -> int:
        """Raises OSError."""
        descriptor = self._folders.get(local_dir)
        if descriptor is None:
            descriptor = self._folders[local_dir] = open_folder(local_dir, self._files.folder)
        return descriptor


def open_folder(root: Path, parts: Sequence[str]) -> int:
    """Descriptor of a folder below ``root``; no link on the way is followed.  Raises OSError; for a link ENOTDIR."""
    directory = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        try:
            child = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        finally:
            os.close(directory)
        directory = child
    return directory


def open_owned(folder: int, map_name: str, file_name: str, owner: OsUser) -> tuple[int, int]:
    """Descriptor and size of a regular file of ``owner``.  Raises OSError; for a link ELOOP or ENOTDIR."""
    directory = os.open(map_name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        # O_NONBLOCK: a FIFO in the place of a file must not hold the thread.
        descriptor = os.open(file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    finally:
        os.close(directory)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != owner.uid:
        os.close(descriptor)
        # SecureIOUtils.checkStat's words.
        text = f"Owner '{status.st_uid}' for path did not match expected owner '{owner.name}'"
        raise PermissionError(errno.EPERM, text if stat.S_ISREG(status.st_mode) else "Not a regular file")
    return descriptor, status.st_size


def _read_all(descriptor: int, size: int) -> bytes:
    """Read at most ``size`` bytes; a file that shrinks meanwhile fails its checksum."""
    content = b""
    while len(content) < size and (chunk := os.read(descriptor, size - len(content))):
        content += chunk
    return content
