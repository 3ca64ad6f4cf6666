"""Telling a Spark executor that its container is to go: its JVM gets the signal on which it decommissions.

In a container there is more than the JVM: shells, and workers in Python, that would die of such a signal.  So it goes
to no process group, but to a process that

- belongs to the container (its id and directory in the environment, or an ancestor that has them) and to its user,
- has the executor's main class for a whole argument: the shell that started it has it as a part of one,
- catches that signal, as the kernel says.  A JVM does so from when Spark asks it to, and not before: one that is still
  starting is told later, and what does not catch the signal is never ended by it.

Sent by pidfd, opened before the process is looked at: the number cannot come to mean another one.  Functions block.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from nm_plugin.launch.survivors import Entry, Marks, entries_of, is_still, members

MAIN = b"org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
COMMAND_LINE_BYTES_MAX = 1 << 17


def tell(marks: Marks, uid: int, name: str, proc: Path = Path("/proc")) -> int:
    """Send signal ``name`` (without ``SIG``) to the container's executor; its pid, 0 when there is none that hears."""
    listed = list(entries_of(marks, uid, proc))
    found = members(listed, frozenset())
    executors = {entry.pid: entry for entry in listed if entry.pid in found and _is_executor(proc / str(entry.pid))}
    number = signal.Signals[f"SIG{name}"]
    for entry in executors.values():
        # What an executor starts is its likeness for a moment, until it has become another program.
        if entry.parent not in executors and _send(entry, uid, number, proc):
            return entry.pid
    return 0


def _send(entry: Entry, uid: int, number: signal.Signals, proc: Path) -> bool:
    try:
        descriptor = os.pidfd_open(entry.pid)
    except OSError:
        return False
    try:
        if not _hears(proc / str(entry.pid), uid, number) or not is_still(entry, proc):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_executor(directory: Path) -> bool:
    try:
        with (directory / "cmdline").open("rb") as file:
            return MAIN in file.read(COMMAND_LINE_BYTES_MAX).split(b"\0")
    except OSError:
        return False


def _hears(directory: Path, uid: int, number: signal.Signals) -> bool:
    """It catches the signal (``SigCgt``), and all its identities are the user's."""
    status = (directory / "status").read_text(encoding="utf-8", errors="replace")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    is_the_users = set(fields.get("Uid", "").split()) == {str(uid)}
    return is_the_users and bool(int(fields.get("SigCgt", "0"), 16) >> (number - 1) & 1)
