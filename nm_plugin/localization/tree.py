"""A directory tree made of a stranger's names: below one directory descriptor, and nowhere else.

Every name is a single component, opened relative to the descriptor of the directory that it is in; a directory is made
and then opened without following links, a file is created exclusively.  A later entry replaces an earlier file or link,
as unjar and tar do, by taking the name away first; a directory is never replaced, so what a descriptor was opened for
stays where it is.

A link may name anything, as tar makes it (a Python environment names the interpreter it was made with): the danger is
in following it, and nothing here does.  Whoever opens something of the tree later must not either, unless with the
rights of whom the tree is for (decision 0053 has the list).

Refuses: ``..`` in names, entries whose way goes through a link or a file, hard links to anything but files of the tree,
more directories than allowed and deeper ones than DEPTH_MAX.  A ``/`` before a name is passed over, as tar does.
Functions block, and work with the rights in force.
"""

from __future__ import annotations

import errno
import os
import stat

from yodel.errors import YodelError

DEPTH_MAX = 128
"""Directories above an entry: each is a descriptor held open."""
NAME_BYTES_MAX = 4096
LINK_TARGET_MAX = 4095
"""Bytes; the kernel's own, PATH_MAX without its end."""
DIRECTORY_MODE, FILE_MODE = 0o700, 0o500
_SHOWN = 200
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeArchive(YodelError):
    """The archive would write where it must not, or too much; ``limit`` is a name of the table of limits, or empty."""

    def __init__(self, text: str, limit: str = "", value: int = 0, maximum: int = 0) -> None:
        self.limit, self.value, self.maximum = limit, value, maximum
        super().__init__(f"{text} ({limit}_max)" if limit else text)


class Tree:
    """``close`` it when it is whole.  The root's descriptor stays its owner's."""

    def __init__(self, root: int, directories_max: int) -> None:
        self._root, self._directories_max = root, directories_max
        self._directories = 0
        self._way: list[tuple[str, int]] = []
        """From the root to the directory that was used last: entries of one directory mostly follow each other."""

    def close(self) -> None:
        self._leave(0)

    def file(self, name: str) -> int:
        """A new file's descriptor, open for writing here and nowhere else."""
        parts = parts_of(name)
        directory = self._enter(parts[:-1], name)
        _make_room(directory, parts[-1], name)
        return os.open(parts[-1], _NEW_FILE, FILE_MODE, dir_fd=directory)

    def directory(self, name: str) -> None:
        self._enter(parts_of(name, empty_ok=True), name)

    def symlink(self, name: str, target: str) -> None:
        """Whatever ``target`` is, and whether it is there."""
        parts = parts_of(name)
        _check_target(name, target)
        directory = self._enter(parts[:-1], name)
        _make_room(directory, parts[-1], name)
        os.symlink(target, parts[-1], dir_fd=directory)

    def hardlink(self, name: str, target_name: str) -> None:
        """To a file that an earlier entry made."""
        parts, target = parts_of(name), parts_of(target_name)
        no_file = UnsafeArchive(f"Archive hard link {name[:_SHOWN]!r} does not point to a file")
        try:
            source = os.dup(self._enter(target[:-1], name, make=False))
        except FileNotFoundError:
            raise no_file from None
        try:
            if not stat.S_ISREG(_mode(source, target[-1])):
                raise no_file
            directory = self._enter(parts[:-1], name)
            _make_room(directory, parts[-1], name)
            os.link(target[-1], parts[-1], src_dir_fd=source, dst_dir_fd=directory, follow_symlinks=False)
        finally:
            os.close(source)

    def _enter(self, parts: list[str], name: str, make: bool = True) -> int:
        """The descriptor of a directory, good until the next call."""
        common = 0
        while common < min(len(parts), len(self._way)) and parts[common] == self._way[common][0]:
            common += 1
        self._leave(common)
        for part in parts[common:]:
            self._way.append((part, self._step(part, name, make)))
        return self._here

    def _leave(self, depth: int) -> None:
        while len(self._way) > depth:
            os.close(self._way.pop()[1])

    @property
    def _here(self) -> int:
        return self._way[-1][1] if self._way else self._root

    def _step(self, part: str, name: str, make: bool) -> int:
        if make:
            self._make(part)
        try:
            return os.open(part, _OPEN_DIRECTORY, dir_fd=self._here)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} goes through a link or a file") from None
            raise

    def _make(self, part: str) -> None:
        try:
            os.mkdir(part, DIRECTORY_MODE, dir_fd=self._here)
        except FileExistsError:
            return
        self._directories += 1
        if self._directories > self._directories_max:
            raise UnsafeArchive(f"Archive has more than {self._directories_max} directories")


def parts_of(name: str, empty_ok: bool = False) -> list[str]:
    """The components of an entry's name, without a ``/`` before it.  Raises UnsafeArchive."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if "\0" in name or ".." in parts or (not parts and not empty_ok):
        raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} would be outside of the target directory")
    if len(parts) > DEPTH_MAX or len(name) > NAME_BYTES_MAX:
        raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} is deeper than {DEPTH_MAX} directories or too long")
    return parts


def _check_target(name: str, target: str) -> None:
    if not target or "\0" in target or len(os.fsencode(target)) > LINK_TARGET_MAX:
        raise UnsafeArchive(f"Archive link {name[:_SHOWN]!r} has no target, an overlong one, or one with a NUL")


def _mode(directory: int, name: str) -> int:
    """0 when there is nothing."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _make_room(directory: int, last: str, name: str) -> None:
    mode = _mode(directory, last)
    if stat.S_ISDIR(mode):
        raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} replaces a directory")
    if mode:
        os.unlink(last, dir_fd=directory)
