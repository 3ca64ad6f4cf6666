"""Keeps a fixed set of child processes alive: starts them, restarts those that die, stops them in order.

Children stay in the supervisor's process group, write to a log file each, and are told to end when the supervisor dies
(``PR_SET_PDEATHSIG``), so that nothing is orphaned by a ``kill -9``.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from yodel.errors import Unavailable

RESTART_DELAYS_S = (0.05, 0.2, 1.0, 2.0, 5.0)
STABLE_S = 10.0
"""A child that lived this long starts with the shortest delay again."""
LOG_BYTES_MAX = 64 * 1024 * 1024
LOG_TAIL_BYTES = 4096
LOG_TAIL_LINES = 15
READY_LINE_BYTES = 4096
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
log = structlog.get_logger("yodel.supervisor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One process to keep alive.  With ``tells_readiness`` it gets ``--ready-fd N`` and writes a line there."""

    role: str
    command: Sequence[str]
    log_path: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    tells_readiness: bool = False
    ready_timeout_s: float = 600.0
    stop_timeout_s: float = 10.0


class ChildFailed(Unavailable):
    """A child ended before it was ready (``status`` is its exit status, -N for signal N), or was not ready in time
    (``status`` None).  The message has the end of its log."""

    def __init__(self, child: Child, status: int | None) -> None:
        self.role, self.status = child.role, status
        what = f"was not ready after {child.ready_timeout_s:.0f} s" if status is None else f"ended with status {status}"
        written = _tail(child.log_path)
        told = f"end of {child.log_path}:\n{written}" if written else f"it wrote nothing to {child.log_path}"
        super().__init__(f"{child.role} {what}; {told}")


class Supervised:
    """One child and its present process.  ``start`` it, then ``keep`` it until ``stop``."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int:
        """Return the id of the present process; 0 before the first start."""
        return self._process.pid if self._process is not None else 0

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it, and wait until it says that it is ready if it does say so.

        Raises:
            ChildFailed: it ended, or did not get ready in time and was killed.
        """
        read_fd, write_fd = os.pipe() if self.child.tells_readiness else (-1, -1)
        try:
            await _to_its_end(self._spawn(write_fd))
            if write_fd >= 0:
                os.close(write_fd)
                write_fd = -1
                await self._until_ready(read_fd)
        finally:
            for fd in (read_fd, write_fd):
                if fd >= 0:
                    os.close(fd)

    async def keep(self, restarted: asyncio.Event) -> None:
        """Start it again whenever it ends, until ``stop``; ``restarted`` is set each time it is back."""
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            assert self._process is not None
            since_s = loop.time()
            status = await self._process.wait()
            failures = 0 if loop.time() - since_s > STABLE_S else failures + 1
            delay_s = RESTART_DELAYS_S[min(failures, len(RESTART_DELAYS_S) - 1)]
            # Ctrl-C reaches children and supervisor at the same moment: the pause lets its own signal come first.
            await asyncio.sleep(delay_s)
            if self._stopping:
                return
            log.warning("process ended, restarting it", role=self.child.role, status=status)
            try:
                await self.start()
            except (ChildFailed, OSError) as error:  # its log cannot be opened either on a disk that is full
                log.error("process did not restart", role=self.child.role, reason=str(error).partition("\n")[0])
            else:
                restarted.set()

    async def failed(self) -> ChildFailed:
        """Wait for the end of a child that ought to run, and say what it left in its log."""
        assert self._process is not None
        return ChildFailed(self.child, await self._process.wait())

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when it does not end in time.  It is not started again."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        _signal(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), self.child.stop_timeout_s)  # also in a task that was cancelled
        except TimeoutError:
            log.warning("process does not stop, killing it", role=self.child.role)
            await self._kill(process)

    async def _spawn(self, ready_fd: int) -> None:
        command = [*self.child.command, *(["--ready-fd", str(ready_fd)] if ready_fd >= 0 else [])]
        path = self.child.log_path
        is_long = path.exists() and path.stat().st_size > LOG_BYTES_MAX
        parent = os.getpid()
        with path.open("wb" if is_long else "ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.child.environment},
                pass_fds=(ready_fd,) if ready_fd >= 0 else (),
                preexec_fn=lambda: _die_with(parent),
            )

    async def _until_ready(self, read_fd: int) -> None:
        """The child's line; end of file means that it closed the pipe without a word."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        assert self._process is not None
        loop.add_reader(read_fd, readable.set)
        try:
            async with asyncio.timeout(self.child.ready_timeout_s):
                await readable.wait()
                loop.remove_reader(read_fd)
                if not os.read(read_fd, READY_LINE_BYTES):
                    raise ChildFailed(self.child, await self._process.wait())
        except TimeoutError:
            await self._kill(self._process)
            raise ChildFailed(self.child, None) from None
        finally:
            loop.remove_reader(read_fd)

    async def _kill(self, process: asyncio.subprocess.Process) -> None:
        _signal(process, signal.SIGKILL)
        await process.wait()


async def _to_its_end(spawning: Coroutine[Any, Any, None]) -> None:
    """A cancelled spawn would leave a process that nobody knows: let it end first."""
    task = asyncio.ensure_future(spawning)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _die_with(parent: int) -> None:
    """Runs in the child between fork and exec: system calls only.  The parent may have died in between already."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        return


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            text = file.read(LOG_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])
