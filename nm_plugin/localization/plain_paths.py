"""Opening a path that a stranger named without ever following a magic link of the proc file system.

``/proc/<pid>/fd/3``, ``cwd`` and ``root`` are no names: they lead to an open file past all directories above it, and a
thread of the agent may follow the agent's own whatever rights it has taken on.  So the kernel follows no link here.
Each component is opened relative to the directory before it without following links, as ``openat2`` would with
``RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS``, but on every kernel.  An ordinary link (``/opt/spark``) is read, and
its text is walked in the same manner; nothing of a proc file system is entered, read or opened at all.

Functions block, and work with the rights in force.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections import deque
from dataclasses import dataclass

LINKS_MAX = 40  # the kernel's own
COMPONENTS_MAX = 4096
PROC_SUPER_MAGIC = 0x9FA0  # linux/magic.h
_STATFS_BYTES = 512  # larger than the structure is anywhere
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CONTENT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OTHERS_MAY_PASS = 0o001
_LIBC = ctypes.CDLL(None, use_errno=True)


class InProc(OSError):
    """The path leads into a proc file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPath:
    """``all_may_pass``: every directory on the way lets everybody through."""

    descriptor: int
    all_may_pass: bool


def open_plainly(path: str, base: int | None = None) -> OpenedPath:
    """A file or directory, open for reading; relative paths begin in the directory that is open as ``base``.

    Raises:
        InProc: only a magic link would lead on.
        OSError: ELOOP for links without end; else as ``open``.
    """
    walk = _Walk(path, base)
    try:
        while True:
            descriptor = walk.step()
            if descriptor is not None:
                return OpenedPath(descriptor=descriptor, all_may_pass=walk.all_may_pass)
    finally:
        walk.close()


class _Walk:
    """Holds the position of one walk, and the components that are left."""

    def __init__(self, path: str, base: int | None) -> None:
        self._path, self._links, self._steps = path, 0, 0
        self._todo = deque(_components(path))
        self.all_may_pass = True
        absolute = base is None or path.startswith("/")
        self._here = os.open("/", _DIRECTORY) if absolute else os.open(".", _DIRECTORY, dir_fd=base)
        self._arrive()

    def close(self) -> None:
        os.close(self._here)

    def step(self) -> int | None:
        """One component; a descriptor at the end."""
        self._steps += 1
        if self._steps > COMPONENTS_MAX:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)
        name = self._todo.popleft() if self._todo else "."
        last = not self._todo
        try:
            opened = os.open(name, _CONTENT if last else _DIRECTORY, dir_fd=self._here)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            self._follow(name, error)
            return None
        if last:
            return self._checked(opened)
        os.close(self._here)
        self._here = opened
        self._arrive()
        return None

    def _follow(self, name: str, error: OSError) -> None:
        """Continue with the text of a link, if the name is one."""
        try:
            target = os.readlink(name, dir_fd=self._here)
        except OSError:
            raise error from None
        self._links += 1
        if self._links > LINKS_MAX:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)
        self._todo.extendleft(reversed(_components(target)))
        if target.startswith("/"):
            os.close(self._here)
            self._here = os.open("/", _DIRECTORY)
            self._arrive()

    def _arrive(self) -> None:
        self._refuse_proc(self._here)
        if not os.fstat(self._here).st_mode & _OTHERS_MAY_PASS:
            self.all_may_pass = False

    def _checked(self, opened: int) -> int:
        try:
            self._refuse_proc(opened)
        except BaseException:
            os.close(opened)
            raise
        return opened

    def _refuse_proc(self, descriptor: int) -> None:
        if _is_proc(descriptor):
            raise InProc(errno.ELOOP, "is in a proc file system, whose links lead anywhere", self._path)


def _components(path: str) -> list[str]:
    """Return the parts with each ``.``, and one for a ``/`` at the end, before which a directory must stand."""
    parts = [part for part in path.split("/") if part]
    return [*parts, "."] if parts and path.endswith("/") else parts


def _is_proc(descriptor: int) -> bool:
    """``fstatfs``: its first field, a machine word nearly everywhere, says what kind of file system it is."""
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    if _LIBC.fstatfs(ctypes.c_int(descriptor), buffer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return ctypes.c_uint.from_buffer(buffer).value == PROC_SUPER_MAGIC
