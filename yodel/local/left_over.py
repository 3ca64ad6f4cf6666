"""Ends programs and containers that an earlier ``yodel local`` on the same directory left behind.

Ours are recognized by their properties, not by remembered process ids, which may belong to somebody else by now: a
program by the configuration file on its command line, a container by the mark of its pod in its environment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import psutil

from yodel.local import processes

STOP_TIMEOUT_S = 10.0
"""The small Kubernetes needs a moment to end its pods."""
KILL_TIMEOUT_S = 5.0
MODULES = ("yodel", "nm_plugin")


async def end_left_over(directory: Path) -> int:
    """End all of it and return how many programs there were.  The caller holds the directory's lock."""
    programs = await asyncio.to_thread(programs_of, directory)
    if programs:
        await asyncio.to_thread(_end, programs)
    pods = directory / "kube" / "pods"
    uids = frozenset(entry.name for entry in pods.iterdir()) if pods.is_dir() else frozenset()
    if uids:
        await processes.kill_left_over(uids)
    return len(programs)


def programs_of(directory: Path) -> list[psutil.Process]:
    """The programs that run on configuration files of ``directory``."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if is_program_of(directory, process.cmdline()):
                found.append(process)
    return found


def is_program_of(directory: Path, command: Sequence[str]) -> bool:
    """Return True for a command line ``python -m MODULE … --config FILE-BELOW-DIRECTORY …``.  Pure."""
    if len(command) < 5 or command[1] != "-m" or command[2] not in MODULES:
        return False
    pairs = pairwise(command[3:])
    return any(option == "--config" and Path(value).is_relative_to(directory) for option, value in pairs)


def _end(programs: list[psutil.Process]) -> None:
    for process in programs:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(programs, timeout=STOP_TIMEOUT_S)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=KILL_TIMEOUT_S)
