"""The agent keeps a program running next to itself: an auxiliary service which is not written in Python.

It is started again whenever it ends (with a growing pause), and ended and started again when its port stops answering.
Its output goes to one file of bounded size.  It ends with the agent; what an agent that was killed left behind is ended
by the next one, found by the pid file and the process's start time.

Refuses: to start while somebody else answers on the port.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.host.atomic_file import write_atomically

PROBE_INTERVAL_S = 5.0
PROBE_TIMEOUT_S = 3.0
STARTING_INTERVAL_S = 0.2
FAILURES_MAX = 3
PAUSE_MIN_S, PAUSE_MAX_S = 1.0, 60.0
STEADY_S = 60.0
"""Who ran so long starts again after the least pause."""
LOG_BYTES_MAX = 32 << 20
PID_FILE_BYTES_MAX = 1000
LEFT_OVER_WAIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUser:
    """Holds the user whose rights the process gets; only root can give rights other than its own."""

    uid: int
    gid: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideProgram:
    """Describes a program to run: command, log file, and the address on which it answers."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    log_file: Path
    pid_file: Path
    port: int
    user: ProcessUser | None = None
    host: str = "127.0.0.1"
    start_s: float = 60.0
    stop_s: float = 5.0


class SideProcess:
    """``run`` until cancelled."""

    def __init__(self, program: SideProgram) -> None:
        self._program = program
        self._trouble = "has not been started"
        self._well = asyncio.Event()
        self._log = structlog.get_logger(__name__)

    @property
    def trouble(self) -> str:
        """Empty while the port answers."""
        return "" if self._well.is_set() else self._trouble

    async def wait_until_well(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                await self._well.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Keep it running."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(_end_left_over, self._program.pid_file)
        pause_s = PAUSE_MIN_S
        while True:
            began = loop.time()
            try:
                self._trouble = await self._run_once()
            except OSError as error:
                self._trouble = f"cannot be started: {error.strerror}"
            self._log.warning("side_process", name=self._program.name, trouble=self._trouble, pause_s=pause_s)
            if loop.time() - began >= STEADY_S:
                pause_s = PAUSE_MIN_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    async def _run_once(self) -> str:
        """Until it ends or has to be ended; why.  Raises OSError."""
        if await self._answers():
            return f"port {self._program.port} is used by another process"
        process = await self._spawn()
        self._trouble = "is starting"
        try:
            write_atomically(self._program.pid_file, {"pid": process.pid, "started": _start_ticks(process.pid)})
            self._log.info("side_process_started", name=self._program.name, pid=process.pid)
            return await self._watch(process)
        finally:
            self._well.clear()
            await self._end(process)
            self._program.pid_file.unlink(missing_ok=True)

    async def _spawn(self) -> asyncio.subprocess.Process:
        program, user = self._program, self._program.user
        log = _open_log(program.log_file)
        try:
            return await asyncio.create_subprocess_exec(
                *program.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=program.directory,
                env=dict(program.environment),
                start_new_session=True,
                umask=0o077,
                user=None if user is None else user.uid,
                group=None if user is None else user.gid,
                extra_groups=None if user is None else list(user.groups),
            )
        finally:
            os.close(log)

    async def _watch(self, process: asyncio.subprocess.Process) -> str:
        loop = asyncio.get_running_loop()
        deadline, failures = loop.time() + self._program.start_s, 0
        while True:
            interval_s = PROBE_INTERVAL_S if self._well.is_set() else STARTING_INTERVAL_S
            try:
                async with asyncio.timeout(interval_s):
                    return f"ended with status {await process.wait()}"
            except TimeoutError:
                _bound_log(self._program.log_file)
            if await self._answers():
                failures = 0
                self._well.set()
                continue
            failures += 1
            if self._well.is_set() and failures >= FAILURES_MAX:
                return f"port {self._program.port} stopped answering"
            if not self._well.is_set() and loop.time() > deadline:
                return f"port {self._program.port} did not answer within {self._program.start_s:g} s"

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                _, writer = await asyncio.open_connection(self._program.host, self._program.port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(TimeoutError):
                # Python 3.11.2 raises no TimeoutError from asyncio.timeout in a task that was cancelled before.
                await asyncio.wait_for(process.wait(), self._program.stop_s)
                return


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _bound_log(path: Path) -> None:
    """The process appends, so that it goes on at the new end."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > LOG_BYTES_MAX:
            os.truncate(path, 0)


def _start_ticks(pid: int) -> int:
    """Return the start of a process in clock ticks since boot (``/proc/<pid>/stat`` field 22); 0: it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _end_left_over(pid_file: Path) -> None:
    """Blocks until it is gone, at most LEFT_OVER_WAIT_S."""
    try:
        with pid_file.open("rb") as file:
            content = json.loads(file.read(PID_FILE_BYTES_MAX))
        pid, started = int(content["pid"]), int(content["started"])
        descriptor = os.pidfd_open(pid)
    except (OSError, ValueError, KeyError, TypeError):
        return
    try:
        if started and _start_ticks(pid) == started:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            _wait_readable(descriptor, LEFT_OVER_WAIT_S)
    except OSError:
        pass  # gone meanwhile
    finally:
        os.close(descriptor)


def _wait_readable(pidfd: int, timeout_s: float) -> None:
    """A pidfd is readable once its process has ended."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.poll(timeout_s * 1000)
