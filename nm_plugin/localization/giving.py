"""A tree that a reserved uid made is given to the user it is for, following no link.

From the top down and by descriptors: once a directory belongs to the taker, nobody else can put things in it, and what
is in it is looked at as it was opened.  What the reserved uid does not own, such as a hard link to a file of somebody
else, is left alone and refused.

Functions block.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from nm_plugin.localization.tree import DEPTH_MAX, DIRECTORY_MODE, FILE_MODE, UnsafeArchive


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Holds the modes of all localized files, whatever they were at the source: read and execute, no write."""

    directory: int
    file: int


PUBLIC = Modes(directory=0o755, file=0o555)
"""Those of Hadoop's public cache (FSDownload's PUBLIC_FILE_PERMS, PUBLIC_DIR_PERMS)."""
PRIVATE = Modes(directory=DIRECTORY_MODE, file=FILE_MODE)
"""FSDownload's PRIVATE_FILE_PERMS, PRIVATE_DIR_PERMS."""
_GIVEN = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO})
"""Beside links.  To open one of these changes nothing, and does not wait."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(kw_only=True)
class Gift:
    """``from_uid`` made it, ``uid`` and ``gid`` get it."""

    from_uid: int
    uid: int
    gid: int
    modes: Modes
    entries_max: int
    _entries: int = 0
    _given: set[tuple[int, int]] = field(default_factory=set)
    """Files with several names that have been given by one of them."""

    def give(self, directory: int, depth: int = 0) -> None:
        """The directory and all below it.

        Raises:
            UnsafeArchive: there is something other than files, directories, links and FIFOs of ``from_uid``, or too
                much.
        """
        self._check(os.fstat(directory), ".")
        self._take(directory, self.modes.directory)
        for name in os.listdir(directory):
            self._entries += 1
            if self._entries > self.entries_max or depth > DEPTH_MAX:
                raise UnsafeArchive("The unpacked archive has more entries than allowed, or deeper ones")
            self._give_entry(directory, name, depth)

    def _give_entry(self, directory: int, name: str, depth: int) -> None:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            if self._is_to_give(status, name):
                os.chown(name, self.uid, self.gid, dir_fd=directory, follow_symlinks=False)
            return
        if stat.S_IFMT(status.st_mode) not in _GIVEN:
            raise _other_kind(name)
        entry = os.open(name, _OPEN, dir_fd=directory)
        try:
            status = os.fstat(entry)
            if stat.S_ISDIR(status.st_mode):
                self.give(entry, depth + 1)
            else:
                self._give_file(entry, status, name)
        finally:
            os.close(entry)

    def _give_file(self, file: int, status: os.stat_result, name: str) -> None:
        if stat.S_IFMT(status.st_mode) not in _GIVEN:
            raise _other_kind(name)
        if self._is_to_give(status, name):
            self._take(file, self.modes.file)

    def _is_to_give(self, status: os.stat_result, name: str) -> bool:
        """False when it has been given by another of its names."""
        identity = (status.st_dev, status.st_ino)
        if identity in self._given:
            return False
        self._check(status, name)
        if status.st_nlink > 1:
            self._given.add(identity)
        return True

    def _check(self, status: os.stat_result, name: str) -> None:
        if status.st_uid != self.from_uid:
            raise UnsafeArchive(f"The unpacked archive has {name!r}, which belongs to another user")

    def _take(self, descriptor: int, mode: int) -> None:
        if self.uid != self.from_uid:
            os.fchown(descriptor, self.uid, self.gid)
        os.fchmod(descriptor, mode)


def _other_kind(name: str) -> UnsafeArchive:
    return UnsafeArchive(f"The unpacked archive has {name!r}, which is not a file, directory, link or FIFO")
