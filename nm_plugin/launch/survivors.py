"""Killing what a container left running: processes that moved to a session of their own or ignored every word.

A script's end says nothing of its children: a daemon that forked twice and called ``setsid`` is neither in its process
group nor below it.  Three traces lead to such a process: the container's id and directory in its environment (several
agents may share a machine), an ancestor or a session leader that has them, and having been seen in the container's tree
when its memory was measured.  A process that has shaken off all three ends with its pod: in a real pod because the
kernel ends a pid namespace with its first process, in the embedded one because the shim adopts orphans and kills them.

Kills by pidfd, after making sure that the number still means the same process.  Functions block.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from yodel.domain.ids import ContainerId

ENVIRON_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Marks:
    """What the environment of a container's process has: its id, and its application's directory in ``LOCAL_DIRS``."""

    container_id: ContainerId
    application_dir: Path

    def are_in(self, environ: bytes) -> bool:
        """``environ`` as the kernel shows it: ``NAME=value`` ended by NULs."""
        variables = dict(entry.partition(b"=")[::2] for entry in environ.split(b"\0"))
        directories = variables.get(b"LOCAL_DIRS", b"").split(b",")
        named = variables.get(b"CONTAINER_ID") == str(self.container_id).encode()
        return named and os.fsencode(self.application_dir) in directories


@dataclass(frozen=True, slots=True)
class Entry:
    """One process; ``marked`` when its environment names the container and a directory of this agent."""

    pid: int
    parent: int
    session: int
    start_ticks: int
    marked: bool


def kill_survivors(marks: Marks, uid: int | None, seen: frozenset[tuple[int, int]], proc: Path = Path("/proc")) -> int:
    """SIGKILL all that is left of a container; how many processes there were.  Repeat until it is none.

    ``uid`` restricts the search to one user's processes (None: everybody's); ``seen`` are pids with their start ticks.
    """
    entries = list(entries_of(marks, uid, proc))
    found = members(entries, seen)
    return sum(_kill(entry, proc) for entry in entries if entry.pid in found)


def members(entries: Iterable[Entry], seen: frozenset[tuple[int, int]]) -> set[int]:
    """Pids that belong to the container: marked or seen before, their sessions and all below them.  Pure."""
    listed = tuple(entries)
    found = {e.pid for e in listed if e.marked or (e.pid, e.start_ticks) in seen}
    leaders = {e.pid for e in listed if e.pid in found and e.session == e.pid}
    found |= {e.pid for e in listed if e.session in leaders}
    grew = bool(found)
    while grew:
        below = {e.pid for e in listed if e.parent in found} - found
        found |= below
        grew = bool(below)
    return found - {os.getpid()}


def is_still(entry: Entry, proc: Path) -> bool:
    """Its number means the process that was listed.  Raises OSError: it has ended."""
    text = (proc / str(entry.pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return int(text[text.rindex(")") + 2 :].split()[19]) == entry.start_ticks


def entries_of(marks: Marks, uid: int | None, proc: Path) -> Iterable[Entry]:
    """One user's processes (None: everybody's), those of the container marked."""
    for name in os.listdir(proc):
        if name.isdigit():
            entry = _entry(proc / name, uid, marks)
            if entry is not None:
                yield entry


def _entry(directory: Path, uid: int | None, marks: Marks) -> Entry | None:
    """None for what has ended, zombies and other users' processes."""
    try:
        if uid is not None and directory.stat().st_uid not in (uid, 0):
            return None  # 0: the kernel shows undumpable processes as root's
        text = (directory / "stat").read_text(encoding="utf-8", errors="replace")
        fields = text[text.rindex(")") + 2 :].split()
        if fields[0] in "ZX":
            return None
        return Entry(int(directory.name), int(fields[1]), int(fields[3]), int(fields[19]), _is_marked(directory, marks))
    except (OSError, ValueError, IndexError):
        return None


def _is_marked(directory: Path, marks: Marks) -> bool:
    try:
        with (directory / "environ").open("rb") as file:
            return marks.are_in(file.read(ENVIRON_BYTES_MAX))
    except OSError:
        return False


def _kill(entry: Entry, proc: Path) -> bool:
    try:
        descriptor = os.pidfd_open(entry.pid)
    except OSError:
        return False
    try:
        if not is_still(entry, proc):
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except (OSError, ValueError, IndexError):
        return False
    finally:
        os.close(descriptor)
    return False
