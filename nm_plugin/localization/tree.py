"""A directory tree made of a stranger's names: below one directory descriptor, and nowhere else.

Every name is a single component, opened relative to the descriptor of the directory that it is in; a directory is made
and then opened without following links, a file is created exclusively.  A later entry replaces an earlier file, link or
empty directory, as tar does, by taking the name away first; a directory with something in it is never replaced, so what
a descriptor was opened for stays where it is.

A link may name anything, as tar makes it (a Python environment names the interpreter it was made with): the danger is
in following it.  The kernel follows none here.  Where an entry's way goes through a link (``lib -> usr/lib``, then
``lib/f``), its text is walked like a name, from the directory that the link is in: ``..`` goes back to a descriptor
that is held, and never above the root.  Whoever opens something of the tree later must follow none either, unless with
the rights of whom the tree is for (decision 0053 has the list).

Refuses: ``..`` in names of a tar, ways that lead out of the tree, through an absolute link, through a file or nowhere,
hard links to anything but files, FIFOs and links of the tree, more directories than allowed and deeper ones than
DEPTH_MAX.  A ``/`` before a name is passed over, as tar does.  Functions block, and work with the rights in force.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterable

from yodel.errors import YodelError

DEPTH_MAX = 128
"""Directories above an entry: each is a descriptor held open."""
LINKS_MAX = 40  # the kernel's own
STEPS_MAX = 4 * DEPTH_MAX
"""Components on the way to one entry, those of links' texts among them."""
NAME_BYTES_MAX = 4096
LINK_TARGET_MAX = 4095
"""Bytes; the kernel's own, PATH_MAX without its end."""
DIRECTORY_MODE, FILE_MODE = 0o700, 0o500
_MAY_HAVE_TWO_NAMES = frozenset({stat.S_IFREG, stat.S_IFLNK, stat.S_IFIFO})
_SHOWN = 200
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeArchive(YodelError):
    """The archive would write where it must not, or too much; ``limit`` is a name of the table of limits, or empty."""

    def __init__(self, text: str, limit: str = "", value: int = 0, maximum: int = 0) -> None:
        self.limit, self.value, self.maximum = limit, value, maximum
        super().__init__(f"{text} ({limit}_max)" if limit else text)


class DirectoryTree:
    """``close`` it when it is whole.  The root's descriptor stays its owner's.

    ``is_tar``: ``..`` in a name is refused, and a directory takes the place of what is no directory; in a zip the one
    is walked, and the other stays.
    """

    def __init__(self, root: int, directories_max: int, *, is_tar: bool = True) -> None:
        self._root, self._directories_max, self.is_tar = root, directories_max, is_tar
        self._directories = 0
        self._way: list[tuple[str, int]] = []
        """From the root to the directory that was used last: entries of one directory mostly follow each other."""

    def close(self) -> None:
        self._leave(0)

    def file(self, name: str) -> int:
        """A new file's descriptor, open for writing here and nowhere else."""
        directory, last = self._room_for(name)
        return os.open(last, _NEW_FILE, FILE_MODE, dir_fd=directory)

    def fifo(self, name: str) -> None:
        directory, last = self._room_for(name)
        os.mkfifo(last, FILE_MODE, dir_fd=directory)

    def directory(self, name: str) -> None:
        parts = self._parts_of(name, empty_ok=True)
        if not parts or parts[-1] == "..":
            self._enter(parts, name)
            return
        directory = self._enter(parts[:-1], name)
        mode = _mode(directory, parts[-1])
        if mode and not stat.S_ISDIR(mode):
            if not self.is_tar:
                return
            os.unlink(parts[-1], dir_fd=directory)
        self._enter([*(part for part, _ in self._way), parts[-1]], name)

    def symlink(self, name: str, target: str) -> None:
        """Whatever ``target`` is, and whether it is there."""
        _check_target(name, target)
        directory, last = self._room_for(name)
        os.symlink(target, last, dir_fd=directory)

    def hardlink(self, name: str, target_name: str) -> None:
        """Link to an earlier entry; a link with ``..`` may lead no further up than from its own place."""
        parts, target = self._parts_of(name), self._parts_of(target_name)
        source = os.dup(self._enter(target[:-1], name, make=False))
        try:
            depth, found = len(self._way), _status(source, target[-1])
            if found is None or stat.S_IFMT(found.st_mode) not in _MAY_HAVE_TWO_NAMES:
                raise UnsafeArchive(f"Archive hard link {name[:_SHOWN]!r} does not point to a file")
            climbs = _climbs(os.readlink(target[-1], dir_fd=source)) if stat.S_ISLNK(found.st_mode) else 0
            directory, last = self._enter(parts[:-1], name), parts[-1]
            if len(self._way) < climbs <= depth:
                raise UnsafeArchive(f"Archive hard link {name[:_SHOWN]!r} makes a link lead out of the target")
            there = _status(directory, last)
            if there is not None and os.path.samestat(there, found):
                return
            _make_room(directory, last, name)
            os.link(target[-1], last, src_dir_fd=source, dst_dir_fd=directory, follow_symlinks=False)
        finally:
            os.close(source)

    def _parts_of(self, name: str, empty_ok: bool = False) -> list[str]:
        return parts_of(name, empty_ok=empty_ok, climbing_ok=not self.is_tar)

    def _room_for(self, name: str) -> tuple[int, str]:
        """The directory of a new entry, good until the next call, and its own name, which nothing has any more."""
        *above, last = self._parts_of(name)
        if last == "..":
            raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} replaces a directory")
        directory = self._enter(above, name)
        _make_room(directory, last, name)
        return directory, last

    def _enter(self, parts: Iterable[str], name: str, make: bool = True) -> int:
        """The descriptor of a directory, good until the next call; what is missing of ``parts`` is made.

        What is missing of a link's text is not.
        """
        todo = deque((part, make) for part in parts)
        depth = links = steps = 0
        while todo:
            part, may_make = todo.popleft()
            steps += 1
            if part == "..":
                depth -= 1
            elif depth < len(self._way) and self._way[depth][0] == part:
                depth += 1
            else:
                self._leave(depth)
                target = self._step(part, name, may_make)
                if target is None:
                    depth += 1
                else:
                    links += 1
                    todo.extendleft((said, False) for said in reversed(_walkable(target, name)))
            if depth < 0 or links > LINKS_MAX or steps + len(todo) > STEPS_MAX:
                raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} leads out of the target directory, or too far")
        self._leave(depth)
        return self._here

    def _leave(self, depth: int) -> None:
        while len(self._way) > depth:
            os.close(self._way.pop()[1])

    @property
    def _here(self) -> int:
        return self._way[-1][1] if self._way else self._root

    def _step(self, part: str, name: str, make: bool) -> str | None:
        """Into a directory of the one that was entered last; where a link is, its text instead."""
        if len(self._way) >= DEPTH_MAX:
            raise _too_deep(name)
        if make:
            self._make(part)
        try:
            self._way.append((part, os.open(part, _OPEN_DIRECTORY, dir_fd=self._here)))
            return None
        except FileNotFoundError:
            raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} leads through {part!r}, which is not there") from None
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
        try:
            return os.readlink(part, dir_fd=self._here)
        except OSError:
            raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} goes through a file") from None

    def _make(self, part: str) -> None:
        try:
            os.mkdir(part, DIRECTORY_MODE, dir_fd=self._here)
        except FileExistsError:
            return
        self._directories += 1
        if self._directories > self._directories_max:
            raise UnsafeArchive(f"Archive has more than {self._directories_max} directories")


def parts_of(name: str, *, empty_ok: bool = False, climbing_ok: bool = False) -> list[str]:
    """The components of an entry's name, without a ``/`` before it.  Raises UnsafeArchive."""
    parts = _components(name)
    if "\0" in name or (".." in parts and not climbing_ok) or (not parts and not empty_ok):
        raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} would be outside of the target directory")
    if len(parts) > DEPTH_MAX or len(name) > NAME_BYTES_MAX:
        raise _too_deep(name)
    return parts


def _components(text: str) -> list[str]:
    return [part for part in text.split("/") if part not in ("", ".")]


def _too_deep(name: str) -> UnsafeArchive:
    return UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} is deeper than {DEPTH_MAX} directories or too long")


def _walkable(target: str, name: str) -> list[str]:
    """The components of a link's text."""
    if target.startswith("/"):
        raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} goes through an absolute link")
    return _components(target)


def _climbs(target: str) -> int:
    """Return how many levels a link's text leads above its own directory; 0 for an absolute one, which means the same
    everywhere."""
    depth = lowest = 0
    for part in [] if target.startswith("/") else _components(target):
        depth += -1 if part == ".." else 1
        lowest = min(lowest, depth)
    return -lowest


def _check_target(name: str, target: str) -> None:
    if not target or "\0" in target or len(os.fsencode(target)) > LINK_TARGET_MAX:
        raise UnsafeArchive(f"Archive link {name[:_SHOWN]!r} has no target, an overlong one, or one with a NUL")


def _status(directory: int, name: str) -> os.stat_result | None:
    """None when there is nothing."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _mode(directory: int, name: str) -> int:
    status = _status(directory, name)
    return status.st_mode if status is not None else 0


def _make_room(directory: int, last: str, name: str) -> None:
    mode = _mode(directory, last)
    if stat.S_ISDIR(mode):
        try:
            os.rmdir(last, dir_fd=directory)
        except OSError:
            raise UnsafeArchive(f"Archive entry {name[:_SHOWN]!r} replaces a directory") from None
    elif mode:
        os.unlink(last, dir_fd=directory)
