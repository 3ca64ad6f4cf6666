"""Keeps a fixed set of child processes alive: starts them, restarts those that die, stops them in order.

Children stay in the supervisor's process group, write to a log file each, and are told to end when the supervisor dies
(``PR_SET_PDEATHSIG``), so that nothing is orphaned by a ``kill -9``.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

RESTART_DELAYS_S = (0.05, 0.2, 1.0, 2.0, 5.0)
STABLE_S = 10.0
"""A child that lived this long starts with the shortest delay again."""
LOG_BYTES_MAX = 64 * 1024 * 1024
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
    stop_timeout_s: float = 15.0


class ChildFailed(Exception):
    """A child ended before it was ready."""

    def __init__(self, child: Child, status: int) -> None:
        self.child, self.status = child, status
        lines = child.log_path.read_text(errors="replace").splitlines()[-15:] if child.log_path.exists() else []
        super().__init__(f"{child.role} ended with status {status}; end of {child.log_path}:\n" + "\n".join(lines))


class Supervised:
    """One child and its present process."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int:
        """Of the present process; 0 before the first start."""
        return self._process.pid if self._process is not None else 0

    async def start(self, ready_timeout_s: float = 60.0) -> None:
        """Start it, and wait until it says that it is ready if it does say so.

        Raises:
            ChildFailed: it ended, or did not get ready in time.
        """
        read_fd, write_fd = os.pipe() if self.child.tells_readiness else (-1, -1)
        try:
            await self._spawn(write_fd)
            if write_fd >= 0:
                os.close(write_fd)
                write_fd = -1
                await self._until_ready(read_fd, ready_timeout_s)
        finally:
            for fd in (read_fd, write_fd):
                if fd >= 0:
                    os.close(fd)

    async def keep(self, restarted: asyncio.Event) -> None:
        """Start it again whenever it ends, until ``stop``; ``restarted`` is set each time."""
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            assert self._process is not None
            since_s = loop.time()
            status = await self._process.wait()
            if self._stopping:
                return
            failures = 0 if loop.time() - since_s > STABLE_S else failures + 1
            delay_s = RESTART_DELAYS_S[min(failures, len(RESTART_DELAYS_S) - 1)]
            log.warning("process ended, starting it again", role=self.child.role, status=status, delay_s=delay_s)
            await asyncio.sleep(delay_s)
            if self._was_told_to_stop():
                return
            try:
                await self.start()
            except ChildFailed as error:
                log.error("process did not come back", role=self.child.role, status=error.status)
            restarted.set()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when it does not end in time."""
        self._stopping = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(self.child.stop_timeout_s):
                await process.wait()
        except TimeoutError:
            log.warning("process does not stop, killing it", role=self.child.role)
            _signal(process, signal.SIGKILL)
            await process.wait()

    def _was_told_to_stop(self) -> bool:
        return self._stopping

    async def _spawn(self, ready_fd: int) -> None:
        command = [*self.child.command, *(["--ready-fd", str(ready_fd)] if ready_fd >= 0 else [])]
        path = self.child.log_path
        is_long = path.exists() and path.stat().st_size > LOG_BYTES_MAX
        with path.open("wb" if is_long else "ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.child.environment},
                pass_fds=(ready_fd,) if ready_fd >= 0 else (),
                preexec_fn=_die_with_parent,
            )

    async def _until_ready(self, read_fd: int, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        said: asyncio.Future[bytes] = loop.create_future()

        def readable() -> None:
            loop.remove_reader(read_fd)
            if not said.done():
                said.set_result(os.read(read_fd, 4096))

        loop.add_reader(read_fd, readable)
        try:
            async with asyncio.timeout(timeout_s):
                if not await said:  # end of file: it closed the pipe without a word
                    assert self._process is not None
                    raise ChildFailed(self.child, await self._process.wait())
        except TimeoutError as error:
            raise ChildFailed(self.child, -1) from error
        finally:
            loop.remove_reader(read_fd)


def _die_with_parent() -> None:
    """Runs in the child between fork and exec: only async-signal-safe work."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        return
