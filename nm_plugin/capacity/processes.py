"""The counters of a node without cgroups, from one pass over ``/proc``: the machine, and Yodel's own containers in it.

A container is the session of its main process with all descendants.  What an ended process used is in its parent's
``cutime``; when a whole container has ended, in that of the nearest process above it that has not.  What could not be
found again counts as used by others, so that less is lent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.cgroups.counters import ResourceCounters, read_machine
from nm_plugin.cgroups.files import Files, LostReading
from nm_plugin.host.processes import Process, ProcessTable
from yodel.domain.colocation.measured import InstantUse

INIT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerProcesses:
    """A container at one moment; ``ancestors`` of its topmost process, nearest first, without init."""

    start_ticks: int
    ancestors: tuple[int, ...]
    total_ticks: int
    rss_pages: int


class ProcessCounters:
    """``mains`` gives the main processes of the containers that run here; it is asked from the reading thread."""

    source = "processes"

    def __init__(self, mains: Callable[[], Collection[int]], proc: Path = Path("/proc")) -> None:
        self._mains, self._proc, self._table = mains, proc, ProcessTable(proc)
        self._us_per_tick = 1_000_000 // os.sysconf("SC_CLK_TCK")
        self._meminfo = Files()
        self._trees: Mapping[int, ContainerProcesses] = {}
        self._ended_ticks: Mapping[int, int] = {}
        self._containers_ticks = 0

    def read(self) -> ResourceCounters:
        """Raises LostReading."""
        machine = read_machine(self._proc, self._meminfo)
        busy_ticks = self._busy_ticks()
        processes = {process.pid: process for process in self._table.processes()}
        trees = _trees(processes, self._tops(processes))
        self._containers_ticks += _used_ticks(self._trees, trees, self._ended_ticks, processes)
        self._trees = trees
        self._ended_ticks = {pid: processes[pid].ended_ticks for tree in trees.values() for pid in tree.ancestors}
        containers_mib = sum(tree.rss_pages for tree in trees.values()) * self._table.page_bytes >> 20
        node_us, containers_us = (ticks * self._us_per_tick for ticks in (busy_ticks, self._containers_ticks))
        node_mib = machine.memory_used_mib
        return ResourceCounters(
            machine_milli=machine.cpu_milli,
            cpu_milli_size=machine.cpu_milli,
            memory_mib_size=machine.memory_mib,
            cpu_us=InstantUse(node=node_us, pods=node_us, best_effort=containers_us),
            memory_mib=InstantUse(node=node_mib, pods=node_mib, best_effort=containers_mib),
        )

    def _tops(self, processes: Mapping[int, Process]) -> set[int]:
        """The leaders of the mains' sessions, and those of before that have not ended."""
        mains = [processes[pid] for pid in self._mains() if pid in processes]
        tops = {main.session if main.session in processes else main.pid for main in mains}
        return tops | {
            pid
            for pid, tree in self._trees.items()
            if pid in processes and processes[pid].start_ticks == tree.start_ticks
        }

    def _busy_ticks(self) -> int:
        """User, nice, system, interrupts: neither idle, nor waiting for a disk, nor what the hypervisor took."""
        path = self._proc / "stat"
        try:
            with open(path, encoding="ascii") as file:
                words = file.readline().split()
            user, nice, system, _idle, _wait, interrupts, soft_interrupts = (int(word) for word in words[1:8])
        except (OSError, ValueError) as error:
            raise LostReading(f"{path}: {error}") from error
        return user + nice + system + interrupts + soft_interrupts


def _trees(processes: Mapping[int, Process], tops: set[int]) -> dict[int, ContainerProcesses]:
    """Each process belongs to the nearest top above it, or to the top of its session."""
    owners: dict[int, int | None] = {}
    totals = {pid: [0, 0] for pid in tops}
    for process in processes.values():
        top = _owner(process, processes, tops, owners)
        if top is not None:
            totals[top][0] += process.total_ticks
            totals[top][1] += process.rss_pages
    return {
        pid: ContainerProcesses(
            start_ticks=processes[pid].start_ticks,
            ancestors=tuple(_ancestors(processes, pid)),
            total_ticks=ticks,
            rss_pages=rss_pages,
        )
        for pid, (ticks, rss_pages) in totals.items()
    }


def _owner(
    process: Process, processes: Mapping[int, Process], tops: set[int], owners: dict[int, int | None]
) -> int | None:
    way: list[int] = []
    found: int | None = None
    at: Process | None = process
    while at is not None:
        if at.pid in owners:
            found = owners[at.pid]
            break
        owners[at.pid] = None  # pids may be reused while the listing is made: no circle is walked twice
        way.append(at.pid)
        if at.pid in tops or at.session in tops:
            found = at.pid if at.pid in tops else at.session
            break
        at = processes.get(at.parent)
    owners.update(dict.fromkeys(way, found))
    return found


def _ancestors(processes: Mapping[int, Process], pid: int) -> Iterator[int]:
    seen = {INIT, pid}
    while (pid := processes[pid].parent) in processes and pid not in seen:
        seen.add(pid)
        yield pid


def _used_ticks(
    before: Mapping[int, ContainerProcesses],
    now: Mapping[int, ContainerProcesses],
    ended_before: Mapping[int, int],
    processes: Mapping[int, Process],
) -> int:
    """Return the ticks used by containers between two passes, including those that began or ended in between."""
    used, left = 0, dict(before)
    for pid, tree in now.items():
        same = pid in before and before[pid].start_ticks == tree.start_ticks
        used += max(0, tree.total_ticks - (left.pop(pid).total_ticks if same else 0))
    seen_ticks: dict[int, int] = {}
    for tree in left.values():
        heir = next((pid for pid in tree.ancestors if pid in processes), None)
        if heir is not None:
            seen_ticks[heir] = seen_ticks.get(heir, 0) + tree.total_ticks
    return used + sum(
        max(0, processes[heir].ended_ticks - ended_before[heir] - ticks) for heir, ticks in seen_ticks.items()
    )
