"""Handing a launch script to the shell that waits in a container's pod.

The pod's main process is a shell, running as the container's user, that waits in one directory ``H`` of the node:

    H/go       FIFO  agent → shell: the launch script's absolute path, the container's log directory; one line each
    H/pid      file  shell → agent: the session leader, once the script runs (as numbered inside the pod)
    H/signal   FIFO  agent → shell: signal names, one a line, delivered to the script's process group
    H/exit     file  shell → agent: the script's exit status, 128+n for signal n; renamed into place
    H/again    file  agent → shell: while it is there, the shell outlives the script and waits for the next ``go``;
                     it does so once the agent has renamed ``exit`` to ``exit.N``, N the number of the new run

``H`` belongs to the user, so everything read from it is a small bounded read of a regular file, never through a link,
and is treated as a claim: it can only change what this container reports about itself.

``ParkedPods`` watches all directories with one inotify descriptor; a slow sweep covers what inotify cannot see (other
file systems, a shell that was killed and left no ``exit``).  A shell is taken for dead when nobody has had
``H/signal`` open for reading for GONE_AFTER_S.

Refuses: to signal processes by number; pids in ``H`` are the user's claims.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import select
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.host.directories import make_user_dir, read_bounded, remove_tree
from nm_plugin.host.users import FileThreads, OsUser, acting_as
from yodel.domain.ids import ContainerId, dns_name
from yodel.errors import YodelError

SWEEP_INTERVAL_S = 0.5
FIRST_SWEEPS_S = 0.02  # while a script has just been handed over
GONE_AFTER_S = 2.0
EMPTY_AGE_S = 3600.0  # pods wait for their ApplicationMaster for ten minutes
LISTEN_TRIES = 50
LISTEN_POLL_S = 0.02
STARTING_WAIT_S = 10.0  # between a shell's reading of the lines and its ``pid``
NUMBER_BYTES_MAX = 16
IN_CREATE, IN_CLOSE_WRITE, IN_MOVED_TO = 0x100, 0x8, 0x80
INOTIFY_BUFFER_BYTES = 64 << 10
_EVENT_HEADER_BYTES = 16


class HandOverFailed(YodelError):
    """The pod did not take its script."""


class ShellGone(YodelError):
    """Nobody listens in the pod any more."""


@dataclass(slots=True, kw_only=True)
class _Watched:
    directory: Path
    user: OsUser
    pid: asyncio.Future[int]
    exit_status: asyncio.Future[int]
    go: int | None = None
    signal: int | None = None
    deaf_since_s: float | None = None


class ParkedPods:
    """All pods of this node that the agent launches into.  Run ``watch`` in a task; everything else is on the loop."""

    def __init__(self, handover_dir: Path, threads: FileThreads, signals: FileThreads, background: FileThreads) -> None:
        """``signals`` do nothing but what a script is ended by, ``background`` what nobody waits for."""
        self._root, self._threads, self._signals, self._background = handover_dir, threads, signals, background
        self._watched: dict[ContainerId, _Watched] = {}
        self._notify: _Inotify | None = None
        self._hurry = asyncio.Event()
        self._log = structlog.get_logger(__name__)

    def directory(self, container_id: ContainerId) -> Path:
        return self._root / dns_name(container_id)

    def knows(self, container_id: ContainerId) -> bool:
        """True between ``prepare`` and ``forget``."""
        return container_id in self._watched

    async def prepare(self, container_id: ContainerId, user: OsUser, *, keep: bool = False) -> None:
        """Make the directory and the FIFOs, and begin to watch.  The pod may be there already, waiting for ``go``.

        With ``keep`` the pod is to wait for more when its script has ended; see ``again``.

        Raises:
            OSError: the hand-over file system refuses.
        """
        if container_id in self._watched:
            return
        directory = self.directory(container_id)
        await self._threads.run(_make_directory, directory, user, keep)
        loop = asyncio.get_running_loop()
        self._watched[container_id] = _Watched(
            directory=directory, user=user, pid=loop.create_future(), exit_status=loop.create_future()
        )
        if self._notify is not None:
            self._notify.add(directory, lambda: self._look(container_id))
        self._look(container_id)

    async def keep(self, container_id: ContainerId) -> None:
        """The pod is to outlive the script that runs now.  Raises OSError."""
        watched = self._watched[container_id]
        await self._threads.run_as(watched.user, _touch, watched.directory / "again")

    async def keep_no_more(self, container_id: ContainerId) -> None:
        """The pod is to end with the script that runs now.  The user may have made anything of the name."""
        watched = self._watched[container_id]
        with contextlib.suppress(OSError):
            await self._signals.run_as(watched.user, os.unlink, watched.directory / "again")

    async def again(self, container_id: ContainerId, run: int) -> None:
        """The script has ended: make the pod ready for run number ``run``.  Repeatable.

        Raises:
            OSError: the hand-over file system refuses.
        """
        watched = self._watched[container_id]
        await self._threads.run_as(watched.user, _put_aside, watched.directory, run)
        self._close_go(watched)
        if watched.signal is not None:
            os.close(watched.signal)
            watched.signal = None
        loop = asyncio.get_running_loop()
        watched.pid, watched.exit_status = loop.create_future(), loop.create_future()
        watched.deaf_since_s = None
        self._look(container_id)

    async def hand_over(self, container_id: ContainerId, script: Path, log_dir: Path, deadline_s: float) -> int:
        """Give the script to the shell and wait until it runs; its pid as the shell sees it.

        Repeatable: when the script already runs, nothing is written.

        Raises:
            HandOverFailed: the deadline passed, or a path has a line end.
            OSError: the FIFO cannot be written.
        """
        watched = self._watched[container_id]
        lines = f"{script}\n{log_dir}\n"
        if lines.count("\n") != 2 or len(lines) > select.PIPE_BUF:
            raise HandOverFailed("The paths of script and logs do not fit into two lines")
        if not watched.pid.done() and not watched.exit_status.done():
            watched.go = await self._threads.run_as(watched.user, _open_fifo, watched.directory / "go", os.O_RDWR)
            os.write(watched.go, lines.encode())
        self._hurry.set()
        # When this wait is cancelled the FIFO stays open: ``withdraw`` then finds out whether the shell was faster.
        ends = {watched.pid, watched.exit_status}
        done, _ = await asyncio.wait(ends, timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED)
        if not done and await self.withdraw(container_id):
            raise HandOverFailed(f"The pod did not start within {deadline_s:.0f} s")
        pid = await self.started(container_id, STARTING_WAIT_S)
        self._close_go(watched)
        if pid is None and not watched.exit_status.done():
            raise HandOverFailed("The pod received its launch script and did not start it")
        return pid or 0

    async def exit_status(self, container_id: ContainerId) -> int:
        """Wait for the end.

        Raises:
            ShellGone: the shell disappeared and left no status.
        """
        return await asyncio.shield(self._watched[container_id].exit_status)

    async def withdraw(self, container_id: ContainerId) -> bool:
        """Take the script back; True when the shell certainly did not get it (and never will)."""
        watched = self._watched[container_id]
        if watched.pid.done() or watched.exit_status.done():
            return False
        taken_back = True
        if watched.go is not None:
            taken_back = _drain(watched.go)
            self._close_go(watched)
        with contextlib.suppress(FileNotFoundError):
            await self._signals.run_as(watched.user, os.unlink, watched.directory / "go")
        return taken_back

    async def started(self, container_id: ContainerId, wait_s: float) -> int | None:
        """The pid, waiting at most ``wait_s`` for it."""
        pid = self._watched[container_id].pid
        self._hurry.set()
        await asyncio.wait({pid}, timeout=wait_s)
        return pid.result() if pid.done() else None

    async def signal(self, container_id: ContainerId, name: str) -> bool:
        """Ask the shell to send a signal (``TERM``, ``KILL``, ``QUIT``, …); False when nobody listens.

        A shell writes ``pid`` a moment before it listens: it is given LISTEN_TRIES looks.
        """
        watched = self._watched[container_id]
        for _ in range(LISTEN_TRIES):
            if watched.exit_status.done() or await self._listen(watched):
                break
            await asyncio.sleep(LISTEN_POLL_S)
        if watched.signal is None:
            return False
        try:
            os.write(watched.signal, f"{name}\n".encode())
        except (BrokenPipeError, BlockingIOError):
            return False
        return True

    async def forget(self, container_id: ContainerId) -> None:
        """Stop watching and remove the directory."""
        watched = self._watched.pop(container_id, None)
        directory = self.directory(container_id)
        if watched is not None:
            self._close(watched)
        if self._notify is not None:
            self._notify.remove(directory)
        await self._background.run(remove_tree, directory)

    async def sweep_away(self, name_prefix: str) -> None:
        """Remove directories of pods that nobody watches (a pod may have come after its container's end)."""
        watched = {w.directory.name for w in self._watched.values()}
        for directory in await self._background.run(_directories, self._root):
            if directory.name.startswith(name_prefix) and directory.name not in watched:
                await self._background.run(remove_tree, directory)

    async def sweep_empty(self) -> None:
        """Remove what a kubelet made for pods that came after their container's end, and nobody used for long."""
        await self._background.run(_remove_empty, self._root, time.time() - EMPTY_AGE_S)

    async def watch(self) -> None:
        """Until cancelled: inotify events and the sweep."""
        self._notify = _Inotify.open()
        if self._notify is None:
            self._log.warning("inotify_unavailable", sweep_s=SWEEP_INTERVAL_S)
        try:
            for container_id, watched in self._watched.items():
                if self._notify is not None:
                    self._notify.add(watched.directory, lambda c=container_id: self._look(c))  # type: ignore[misc]
            while True:
                await self._sweep()
                waiting = any(w.go is not None for w in self._watched.values())
                fast = waiting and self._notify is None
                self._hurry.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(FIRST_SWEEPS_S if fast else SWEEP_INTERVAL_S):
                        await self._hurry.wait()
        finally:
            if self._notify is not None:
                self._notify.close()
            self._notify = None
            for watched in self._watched.values():
                self._close(watched)

    async def _sweep(self) -> None:
        for container_id, watched in list(self._watched.items()):
            if watched.exit_status.done():
                continue
            self._look(container_id)
            if watched.pid.done() and not watched.exit_status.done():
                await self._check_listener(container_id, watched)

    async def _check_listener(self, container_id: ContainerId, watched: _Watched) -> None:
        if await self._listen(watched):
            watched.deaf_since_s = None
            return
        # By the clock and not by sweeps, which come in bursts while scripts are handed over: a shell that has just
        # begun, or just ended, is deaf for a moment.
        now_s = asyncio.get_running_loop().time()
        if watched.deaf_since_s is None:
            watched.deaf_since_s = now_s
        if now_s - watched.deaf_since_s >= GONE_AFTER_S:
            self._look(container_id)
            if not watched.exit_status.done():
                watched.exit_status.set_exception(ShellGone("The pod's shell is gone and left no exit status"))
                watched.exit_status.exception()  # looked at: nobody may be waiting any more

    async def _listen(self, watched: _Watched) -> bool:
        """Hold ``H/signal`` open for writing as long as somebody reads it."""
        if watched.signal is not None:
            if not _reader_is_gone(watched.signal):
                return True
            os.close(watched.signal)
            watched.signal = None
        try:
            opened = await self._signals.run_as(watched.user, _open_fifo, watched.directory / "signal", os.O_WRONLY)
        except OSError:
            return False
        self._keep(watched, opened)
        return True

    def _keep(self, watched: _Watched, opened: int) -> None:
        """Unless another caller was faster."""
        if watched.signal is not None:
            os.close(opened)
        else:
            watched.signal = opened

    def _look(self, container_id: ContainerId) -> None:
        """Read ``pid`` and ``exit``: two tiny files in memory, cheaper than a thread's round trip."""
        watched = self._watched.get(container_id)
        if watched is None:
            return
        if not watched.pid.done():
            pid = _number(watched.directory / "pid")
            if pid is not None and pid > 1:
                watched.pid.set_result(pid)
        if not watched.exit_status.done():
            status = _number(watched.directory / "exit")
            if status is not None:
                watched.exit_status.set_result(status & 0xFF)

    def _close_go(self, watched: _Watched) -> None:
        if watched.go is not None:
            os.close(watched.go)
            watched.go = None

    def _close(self, watched: _Watched) -> None:
        self._close_go(watched)
        if watched.signal is not None:
            os.close(watched.signal)
            watched.signal = None
        for future in (watched.pid, watched.exit_status):
            if not future.done():
                future.cancel()


def _directories(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.is_dir()]


def _remove_empty(root: Path, before_s: float) -> None:
    """A directory that an agent watches is never empty, one that a pod waits in is young."""
    for directory in _directories(root) if root.is_dir() else ():
        with contextlib.suppress(OSError):  # it is not empty, or gone
            if directory.stat().st_mtime < before_s:
                directory.rmdir()


def _touch(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def _put_aside(directory: Path, run: int) -> None:
    """The files of the run before: their names must be free, and ``exit`` is what the shell looks at, so it goes last.

    An ``exit.N`` that is there already says that this was done, and that ``pid`` and ``exit`` are of run N itself.
    """
    if (directory / f"exit.{run}").exists():
        return
    (directory / "pid").unlink(missing_ok=True)
    (directory / "exit").rename(directory / f"exit.{run}")


def _make_directory(directory: Path, user: OsUser, keep: bool) -> None:
    make_user_dir(directory, user)
    os.chmod(directory, 0o700)
    with acting_as(user):
        for name in ("signal", "go"):
            path = directory / name
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path, 0o600)
            if not stat.S_ISFIFO(os.lstat(path).st_mode):
                raise OSError(errno.EINVAL, "is not a FIFO", str(path))
        if keep:
            _touch(directory / "again")


def _open_fifo(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a FIFO", str(path))
    return descriptor


def _drain(descriptor: int) -> bool:
    """True when everything that was written came back: both lines are still there."""
    try:
        return os.read(descriptor, select.PIPE_BUF).count(b"\n") == 2
    except BlockingIOError:
        return False


def _reader_is_gone(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _number(path: Path) -> int | None:
    """A decimal number in a small file, or None."""
    text = read_bounded(path, NUMBER_BYTES_MAX).strip()
    return int(text) if text.isdigit() and len(text) < 11 else None


class _Inotify:
    """The three system calls, and a reader on the loop."""

    def __init__(self, descriptor: int, libc: ctypes.CDLL) -> None:
        self._descriptor, self._libc = descriptor, libc
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._numbers: dict[Path, int] = {}
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    @classmethod
    def open(cls) -> _Inotify | None:
        """None where inotify is missing or exhausted: the sweep alone is then quick enough."""
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        return cls(descriptor, libc) if descriptor >= 0 else None

    def add(self, directory: Path, callback: Callable[[], None]) -> None:
        mask = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO
        number = int(self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), ctypes.c_uint32(mask)))
        if number >= 0:
            self._callbacks[number] = callback
            self._numbers[directory] = number

    def remove(self, directory: Path) -> None:
        number = self._numbers.pop(directory, None)
        if number is not None:
            self._callbacks.pop(number, None)
            self._libc.inotify_rm_watch(self._descriptor, number)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, INOTIFY_BUFFER_BYTES)
        except BlockingIOError:
            return
        numbers: dict[int, None] = {}
        offset = 0
        while offset + _EVENT_HEADER_BYTES <= len(data):
            numbers[int.from_bytes(data[offset : offset + 4], "little", signed=True)] = None
            offset += _EVENT_HEADER_BYTES + int.from_bytes(data[offset + 12 : offset + 16], "little")
        for number in numbers:
            callback = self._callbacks.get(number)
            if callback is not None:
                callback()
