"""Reads the machine's processes from ``/proc``, each file to a limit, and sends signals to them.

A number may come to mean another process at any time: what is signalled is held by a pidfd and compared with what was
read before.  Blocks.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROCESSES_MAX = 100_000
FILE_BYTES_MAX = 1 << 14
KERNEL_THREAD = 0x200000
ENVIRON_BYTES_MAX = 1 << 16
COMMAND_LINE_BYTES_MAX = 1 << 17


@dataclass(slots=True)
class Process:
    """A line of ``/proc/<pid>/stat``; ticks of CPU: its own, and of its children that have ended.

    ``speaks_for_it`` is the folder below ``/proc`` of a thread that lives: of another than the first, where that alone
    has ended, and the process looks as if it had.
    """

    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    flags: int
    user_ticks: int
    system_ticks: int
    ended_ticks: int
    start_ticks: int
    vmem_bytes: int
    rss_pages: int
    speaks_for_it: str = ""

    @property
    def total_ticks(self) -> int:
        return self.user_ticks + self.system_ticks + self.ended_ticks

    @property
    def is_kernels(self) -> bool:
        """A thread of the kernel's own (``PF_KTHREAD``); without memory is what is on its way out, too."""
        return bool(self.flags & KERNEL_THREAD)

    @property
    def has_ended(self) -> bool:
        """Its parent has not asked for its exit status yet."""
        return self.state in "ZX"


class ProcessTable:
    """Reads the process table; of a process that has ended every value is empty."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self.proc = proc
        self.tick_ms = 1000 // os.sysconf("SC_CLK_TCK")
        self.page_bytes = os.sysconf("SC_PAGE_SIZE")

    def processes(self) -> Iterator[Process]:
        """Yield all that there are, kernel threads included."""
        names = [name for name in os.listdir(self.proc) if name.isdigit()]
        for name in names[:PROCESSES_MAX]:
            process = self.process(name)
            if process is not None:
                yield process

    def process(self, pid: int | str) -> Process | None:
        found, threads = self._parsed(str(pid))
        if found is not None and found.has_ended and threads > 1:
            self._revive(found)
        return found

    def _parsed(self, folder: str) -> tuple[Process | None, int]:
        """Return the process with its number of threads."""
        line = self._read(folder, "stat", FILE_BYTES_MAX)
        opened, closed = line.find(b"("), line.rfind(b")")
        words = line[closed + 2 :].split()
        try:
            found = Process(
                pid=int(line[:opened]),
                name=line[opened + 1 : closed].decode("utf-8", errors="replace"),
                state=words[0].decode("ascii"),
                parent=int(words[1]),
                group=int(words[2]),
                session=int(words[3]),
                flags=int(words[6]),
                user_ticks=int(words[11]),
                system_ticks=int(words[12]),
                ended_ticks=int(words[13]) + int(words[14]),
                start_ticks=int(words[19]),
                vmem_bytes=int(words[20]),
                rss_pages=int(words[21]),
                speaks_for_it=folder,
            )
        except (ValueError, IndexError):
            return None, 0
        return found, int(words[17])

    def _revive(self, process: Process) -> None:
        """Its first thread has ended, and another lives: what belongs to all of them is read of that."""
        try:
            threads = [name for name in os.listdir(f"{self.proc}/{process.pid}/task") if name != str(process.pid)]
        except OSError:
            return
        for name in threads[:1]:
            living, _ = self._parsed(f"{process.pid}/task/{name}")
            if living is not None and not living.has_ended:
                process.state, process.speaks_for_it = living.state, living.speaks_for_it
                process.vmem_bytes, process.rss_pages = living.vmem_bytes, living.rss_pages

    def user_uid(self, pid: int) -> int | None:
        """Return the user id of a process; None: it has ended."""
        try:
            uid = os.stat(f"{self.proc}/{pid}").st_uid
        except OSError:
            return None
        if uid:
            return uid
        words = self.status(pid).get("Uid", "").split()  # the folder is root's too where nobody may look inside
        return int(words[0]) if words and words[0].isdigit() else None

    def status(self, pid: int) -> Mapping[str, str]:
        text = self._read(pid, "status", FILE_BYTES_MAX).decode("utf-8", errors="replace")
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)

    def inner_pid(self, pid: int) -> int:
        """Return its number in its own pid namespace, 0 for one that has ended."""
        numbers = self.status(pid).get("NSpid", "").split()
        return int(numbers[-1]) if numbers and numbers[-1].isdigit() else 0

    def groups(self, process: Process) -> str:
        """Return its control groups, one a line: hierarchy, controllers, path."""
        return self._read(process.speaks_for_it, "cgroup", FILE_BYTES_MAX).decode("utf-8", errors="replace")

    def environ(self, process: Process) -> bytes:
        """Return the first ENVIRON_BYTES_MAX, ``NAME=value`` between NULs."""
        return b"\0" + self._read(process.speaks_for_it, "environ", ENVIRON_BYTES_MAX) + b"\0"

    def program(self, pid: int) -> str:
        try:
            return os.path.basename(os.readlink(f"{self.proc}/{pid}/exe"))
        except OSError:
            return ""

    def command_line(self, pid: int) -> bytes:
        return self._read(pid, "cmdline", COMMAND_LINE_BYTES_MAX)

    def send(self, process: Process, number: signal.Signals, is_one: Callable[[int], bool] = lambda _: True) -> bool:
        """Return False where it has ended, may not be signalled, or is none of those that ``is_one`` asks for."""
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            return False
        try:
            now = self.process(process.pid)
            if now is None or now.start_ticks != process.start_ticks or not is_one(process.pid):
                return False
            signal.pidfd_send_signal(descriptor, number)
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _read(self, pid: int | str, file: str, most: int) -> bytes:
        """The kernel gives all that was asked for in one piece."""
        try:
            with open(f"{self.proc}/{pid}/{file}", "rb", buffering=0) as opened:
                return opened.read(most) or b""
        except OSError:
            return b""
