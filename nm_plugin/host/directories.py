"""The agent's directory tree, and the few file operations that are safe in directories of users.

Layout and modes follow Hadoop (``ContainerLocalizer``, ``ContainerExecutor``), L a local dir, G a log dir:

    L/filecache/N/…                       0755  everybody's resources, the agent's
    L/usercache/U/                        0710  the user's, group the agent's: no other user gets further
    L/usercache/U/filecache/N/…           0710  the user's resources
    L/usercache/U/appcache/A/             0710  LOCAL_DIRS of an application
    L/usercache/U/appcache/A/filecache/N  0710
    L/usercache/U/appcache/A/C/           0710  work directory (PWD) with ``tmp``
    G/A/C/                                0710  container logs, the user's

Whatever lies below a directory of a user is made, written, read and removed with that user's rights
(``FileThreads.run_as``).  Functions block.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.host.users import OsUser, acting_as, path_name
from yodel.domain.ids import ApplicationId, ContainerId

USER_DIR_MODE = 0o710
PUBLIC_DIR_MODE = 0o755
REMOVE_DEPTH_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Directories:
    """Paths of everything; makes nothing itself."""

    local_dirs: tuple[Path, ...]
    log_dirs: tuple[Path, ...]

    def user_dir(self, local_dir: Path, user: str) -> Path:
        return local_dir / "usercache" / path_name(user)

    def application_dir(self, local_dir: Path, user: str, application: ApplicationId) -> Path:
        return self.user_dir(local_dir, user) / "appcache" / str(application)

    def work_dir(self, local_dir: Path, user: str, container: ContainerId) -> Path:
        return self.application_dir(local_dir, user, container.application_id) / str(container)

    def application_log_dir(self, log_dir: Path, application: ApplicationId) -> Path:
        return log_dir / str(application)

    def container_log_dir(self, log_dir: Path, container: ContainerId) -> Path:
        return log_dir / str(container.application_id) / str(container)

    def picked(self, container: ContainerId) -> tuple[Path, Path]:
        """The local and the log dir of a container: round robin over the disks."""
        index = container.sequence
        return self.local_dirs[index % len(self.local_dirs)], self.log_dirs[index % len(self.log_dirs)]


def make_roots(directories: Directories) -> None:
    """Make at start what belongs to the agent."""
    for local_dir in directories.local_dirs:
        for path in (local_dir, local_dir / "filecache", local_dir / "usercache"):
            path.mkdir(parents=True, exist_ok=True)
            os.chmod(path, PUBLIC_DIR_MODE)
    for log_dir in directories.log_dirs:
        log_dir.mkdir(parents=True, exist_ok=True)
        os.chmod(log_dir, PUBLIC_DIR_MODE)


def make_application_dirs(directories: Directories, user: OsUser, application: ApplicationId) -> None:
    """Make them on every disk, for LOCAL_DIRS and LOG_DIRS name them all."""
    for local_dir in directories.local_dirs:
        make_user_dir(directories.user_dir(local_dir, user.name), user)
        path = directories.application_dir(local_dir, user.name, application)
        with acting_as(user):
            for directory in (path.parent, path, path / "filecache"):
                make_dir(directory)
    for log_dir in directories.log_dirs:
        make_user_dir(directories.application_log_dir(log_dir, application), user)


def make_container_dirs(directories: Directories, user: OsUser, container: ContainerId) -> tuple[Path, Path]:
    """The work directory (with ``tmp``) and the log directory, made on the picked disks; logs on all."""
    local_dir, log_dir = directories.picked(container)
    work_dir = directories.work_dir(local_dir, user.name, container)
    with acting_as(user):
        make_dir(work_dir)
        make_dir(work_dir / "tmp")
        for directory in directories.log_dirs:
            make_dir(directories.container_log_dir(directory, container))
    return work_dir, directories.container_log_dir(log_dir, container)


def make_user_dir(path: Path, user: OsUser) -> None:
    """A directory of the user's in a directory of the agent's: no race, because only the agent can write the parent."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise
    if os.geteuid() == 0:
        os.chown(path, user.uid, os.getegid(), follow_symlinks=False)
    os.chmod(path, USER_DIR_MODE)


def make_dir(path: Path, mode: int = USER_DIR_MODE) -> None:
    """Make a directory with the rights in force."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        os.chmod(path, mode)


def write_new_file(path: Path, content: bytes, mode: int) -> None:
    """Create or replace a file as a whole; never writes through a link."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)


def read_bounded(path: Path, bytes_max: int, from_end: bool = False) -> bytes:
    """Return at most ``bytes_max`` bytes of a regular file, the last ones with ``from_end``; empty when it is away.

    Refuses (as empty) links, FIFOs and devices: the file's owner is a user who may have put anything there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if from_end:
            file.seek(max(0, status.st_size - bytes_max))
        return file.read(bytes_max)


def remove_tree(path: Path) -> None:
    """Remove a tree without following links; already gone is success.

    Opens directories relative to their parents, makes its own unreadable ones readable, and moves what is nested too
    deep up to the root of the tree, so that depth costs neither stack nor descriptors.  Raises OSError.
    """
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not _is_dir(path.name, parent):
            try:
                os.unlink(path.name, dir_fd=parent)
            except FileNotFoundError:
                return
            return
        root = _open_dir(path.name, parent)
        try:
            while not _empty(root, root, 0):
                pass
        finally:
            os.close(root)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path.name, dir_fd=parent)
    finally:
        os.close(parent)


def _is_dir(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
    except FileNotFoundError:
        return False


def _open_dir(name: str, parent: int) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        descriptor = os.open(name, flags, dir_fd=parent)
    if os.fstat(descriptor).st_mode & 0o700 != 0o700:
        os.fchmod(descriptor, 0o700)
    return descriptor


def _empty(directory: int, root: int, depth: int) -> bool:
    """True when the directory is empty now; False when something was moved up and another round is needed."""
    complete = True
    with os.scandir(directory) as entries:
        listed = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries]
    for name, is_dir in listed:
        with contextlib.suppress(FileNotFoundError):  # somebody else removes it too
            complete = _remove_entry(name, is_dir, directory, root, depth) and complete
    return complete


def _remove_entry(name: str, is_dir: bool, directory: int, root: int, depth: int) -> bool:
    if not is_dir:
        os.unlink(name, dir_fd=directory)
        return True
    if depth >= REMOVE_DEPTH_MAX:
        os.rename(name, f".deep-{os.urandom(8).hex()}", src_dir_fd=directory, dst_dir_fd=root)
        return False
    child = _open_dir(name, directory)
    try:
        complete = _empty(child, root, depth + 1)
    finally:
        os.close(child)
    os.rmdir(name, dir_fd=directory)
    return complete
