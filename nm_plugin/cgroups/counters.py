"""The counters of a node at one instant: CPU and memory of the kubelet's root, of its pods and of best-effort pods.

Memory is the working set, what is used less the files that were read once: page cache can be lent.  Of the machine as a
whole, where the kubelet's root is the root of all groups, it is what the kernel does not count as available.

A file that is missing, torn or absurd loses this one reading.  Files stay open from one reading to the next: opening is
most of the cost, and the kernel answers for a group that is gone with an error.  Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.detect import Layout, find_layout, mounted_version
from nm_plugin.cgroups.files import Files, LostReading, number_in, whole
from nm_plugin.cgroups.layout import Number
from yodel.domain.colocation.measured import InstantUse


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCounters:
    """``cpu_us`` counts since some moment of the past; ``memory_mib`` is what is used now.

    ``machine_milli`` is of the machine, ``cpu_milli_size`` and ``memory_mib_size`` of the node, which may be a part.
    ``cpu_milli_pods`` and ``memory_mib_pods`` are what all pods together may use; None: they have no limit of that.
    """

    machine_milli: int
    cpu_milli_size: int
    memory_mib_size: int
    cpu_us: InstantUse
    memory_mib: InstantUse
    cpu_milli_pods: int | None = None
    memory_mib_pods: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Holds the machine's size and use, from ``/proc/meminfo`` and the online processors."""

    cpu_milli: int
    memory_mib: int
    memory_used_mib: int


class CgroupCounters:
    """Reads below ``mount``; the layout is looked for again after each lost reading.  ``source`` is for reports."""

    def __init__(self, mount: Path, cgroup_root: str, proc: Path = Path("/proc")) -> None:
        self._mount, self._cgroup_root, self._proc = mount, cgroup_root, proc
        self._groups: ControlGroups | None = None
        self._meminfo = Files()
        version = mounted_version(mount)
        self.source = version.name if version is not None else "cgroup"

    def read(self) -> ResourceCounters:
        """Raises LostReading."""
        try:
            if self._groups is None:
                self._groups = ControlGroups(find_layout(self._mount, self._cgroup_root))
            self.source = self._groups.layout.version.name
            return self._groups.counters(lambda: read_machine(self._proc, self._meminfo))
        except LostReading:
            if self._groups is not None:
                self._groups.close()
                self._groups = None
            raise


class ControlGroups:
    """The groups of one layout with their files; ``close`` lets go of them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._files = Files()
        self._paths: dict[tuple[PurePosixPath, Number], str] = {}

    def counters(self, read_machine: Callable[[], Machine]) -> ResourceCounters:
        """Raises LostReading."""
        layout = self.layout
        groups = (layout.root, layout.pods, layout.best_effort)
        node_cpu, pods_cpu, best_effort_cpu = (self._cpu_us(group) for group in groups)
        machine = read_machine()
        node = machine.memory_used_mib if layout.is_machine else self._memory_mib(layout.root)
        pods, best_effort = (self._memory_mib(group) for group in groups[1:])
        for name, amount in (("node", node), ("pods", pods), ("best-effort pods", best_effort)):
            if amount > 2 * machine.memory_mib:
                raise LostReading(f"memory of {name}: {amount} MiB on a machine of {machine.memory_mib} MiB")
        pods_cpu_limits, pods_memory_limits = self._cpu_limits_milli(layout.pods), self._memory_limits_mib(layout.pods)
        return ResourceCounters(
            machine_milli=machine.cpu_milli,
            cpu_milli_size=min([machine.cpu_milli, *self._cpu_limits_milli(layout.root)]),
            memory_mib_size=min([machine.memory_mib, *self._memory_limits_mib(layout.root)]),
            cpu_us=InstantUse(node=node_cpu, pods=pods_cpu, best_effort=best_effort_cpu),
            memory_mib=InstantUse(node=node, pods=pods, best_effort=best_effort),
            # A cpuset of all processors is there without anybody's having set it; a limit of memory is the kubelet's.
            cpu_milli_pods=min((one for one in pods_cpu_limits if one < machine.cpu_milli), default=None),
            memory_mib_pods=min((one for one in pods_memory_limits if one <= machine.memory_mib), default=None),
        )

    def close(self) -> None:
        self._files.close()

    def _cpu_us(self, group: PurePosixPath) -> int:
        return self._needed(group, self.layout.version.cpu) // self.layout.version.cpu_per_us

    def _memory_mib(self, group: PurePosixPath) -> int:
        version = self.layout.version
        return max(0, self._needed(group, version.memory) - self._needed(group, version.inactive_file)) >> 20

    def _cpu_limits_milli(self, group: PurePosixPath) -> list[int]:
        """Return the limits of the group's cpuset and quota, in thousandths of a core; empty if it has neither."""
        version, limits = self.layout.version, []
        cpus = self._word(group, version.cpus)
        if cpus is not None:
            limits.append(_processors(self._path(group, version.cpus), cpus) * 1000)
        quota, period = self._limit(group, version.quota), self._limit(group, version.period)
        if quota is not None and period is not None:
            if quota <= 0 or period <= 0:
                raise LostReading(f"{self._path(group, version.quota)}: {quota} us in {period} us")
            limits.append(quota * 1000 // period)
        return limits

    def _memory_limits_mib(self, group: PurePosixPath) -> list[int]:
        limit = self._limit(group, self.layout.version.memory_limit)
        return [] if limit is None else [limit >> 20]

    def _limit(self, group: PurePosixPath, number: Number) -> int | None:
        word = self._word(group, number)
        if word is None or word in self.layout.version.unlimited:
            return None
        return whole(self._path(group, number), word)

    def _word(self, group: PurePosixPath, number: Number) -> str | None:
        """A word of a file of a group's size; None where the group has none or an empty one: then it sets no limit."""
        try:
            words = self._files.content(self._path(group, number)).split()
        except FileNotFoundError:
            return None
        return words[number.word] if number.word < len(words) else None

    def _needed(self, group: PurePosixPath, number: Number) -> int:
        path = self._path(group, number)
        try:
            return number_in(path, self._files.content(path), number.key, number.word)
        except FileNotFoundError as error:
            raise LostReading(f"{path}: {error.strerror}") from error

    def _path(self, group: PurePosixPath, number: Number) -> str:
        path = self._paths.get((group, number))
        if path is None:
            path = self._paths[group, number] = str(self.layout.path(group, number))
        return path


def read_machine(proc: Path, files: Files) -> Machine:
    """Raises LostReading: ``meminfo`` is not as expected."""
    path = f"{proc}/meminfo"
    try:
        content = files.content(path)
    except FileNotFoundError as error:
        raise LostReading(f"{path}: {error.strerror}") from error
    total_kib, available_kib = (number_in(path, content, key) for key in ("MemTotal:", "MemAvailable:"))
    if total_kib <= 0 or available_kib > total_kib:
        raise LostReading(f"{path}: {available_kib} KiB available of {total_kib}")
    return Machine(
        cpu_milli=(os.cpu_count() or 1) * 1000,
        memory_mib=total_kib >> 10,
        memory_used_mib=(total_kib - available_kib) >> 10,
    )


def _processors(path: str, cpus: str) -> int:
    """Return the number of processors in a list such as ``0-3,8``."""
    count = 0
    for part in cpus.split(","):
        first, dash, last = part.partition("-")
        lowest = whole(path, first)
        highest = whole(path, last) if dash else lowest
        count += highest - lowest + 1
        if highest < lowest:
            raise LostReading(f"{path}: {cpus[:40]!r} is not a list of processors")
    return count
