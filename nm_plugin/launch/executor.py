"""A Spark executor is told that its container will be stopped: its JVM gets the signal on which it decommissions.

In a container there is more than the JVM: shells, and workers in Python, that would die of such a signal.  So it goes
to no process group, but to a process that

- belongs to the container (``nm_plugin.launch.members``) and to its user,
- has the executor's main class for a whole argument: the shell that started it has it as a part of one,
- catches that signal, as the kernel says.  A JVM does so from when Spark asks it to, and not before: one that is still
  starting is told later, and what does not catch the signal is never ended by it.

Sent by pidfd, opened before the process is looked at: the number cannot come to mean another one.  Functions block.
"""

from __future__ import annotations

import signal

from nm_plugin.host.processes import ProcessTable
from nm_plugin.launch.members import LOOKED_AT_MAX, Owner, ProcessListing

MAIN = b"org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"


def tell(table: ProcessTable, owner: Owner, name: str) -> int:
    """Send signal ``name`` (without ``SIG``) to the container's executor; its pid, 0 when there is none that hears."""
    listed = ProcessListing(table, [owner]).of(owner).processes[:LOOKED_AT_MAX]
    executors = {one.pid: one for one in listed if MAIN in table.command_line(one.pid).split(b"\0")}
    number = signal.Signals[f"SIG{name}"]
    for one in executors.values():
        # What an executor starts is its likeness for a moment, until it has become another program.
        if one.parent not in executors and table.send(one, number, lambda pid: _hears(table, pid, owner, number)):
            return one.pid
    return 0


def _hears(table: ProcessTable, pid: int, owner: Owner, number: signal.Signals) -> bool:
    """It catches the signal (``SigCgt``), and all its identities are the user's."""
    status = table.status(pid)
    is_the_users = set(status.get("Uid", "").split()) == {str(owner.user_uid)}
    return is_the_users and bool(int(status.get("SigCgt", "0"), 16) >> (number - 1) & 1)
