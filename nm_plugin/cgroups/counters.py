"""The counters of a node at one instant: CPU and memory of the kubelet's root, of its pods and of best-effort pods.

Memory is the working set, what is used less the files that were read once: page cache can be lent.  Of the machine as a
whole, where the kubelet's root is the root of all groups, it is what the kernel does not count as available.

A file that is missing, torn or absurd loses this one reading.  Blocks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.detect import Layout, LostReading, find_layout, mounted_version
from nm_plugin.cgroups.layout import Number
from yodel.domain.colocation.measured import Use

FILE_BYTES_MAX = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """``cpu_us`` counts since some moment of the past; ``memory_mib`` is what is used now.

    ``machine_milli`` and ``machine_mib`` are of the machine, ``cpu_milli_size`` and ``memory_mib_size`` of the node,
    which may be only a part of it.
    """

    machine_milli: int
    machine_mib: int
    cpu_milli_size: int
    memory_mib_size: int
    cpu_us: Use
    memory_mib: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the machine has and uses, of ``/proc/meminfo`` and the processors that are online."""

    cpu_milli: int
    memory_mib: int
    memory_used_mib: int


class CgroupCounters:
    """Reads below ``mount``; the layout is looked for again after each lost reading.  ``source`` is for reports."""

    def __init__(self, mount: Path, cgroup_root: str, proc: Path = Path("/proc")) -> None:
        self._mount, self._cgroup_root, self._proc = mount, cgroup_root, proc
        self._layout: Layout | None = None
        version = mounted_version(mount)
        self.source = version.name if version is not None else "cgroup"

    def read(self) -> Counters:
        """Raises LostReading."""
        layout = self._layout or find_layout(self._mount, self._cgroup_root)
        self._layout = None
        counters = self._read(layout)
        self._layout, self.source = layout, layout.version.name
        return counters

    def _read(self, layout: Layout) -> Counters:
        groups = (layout.root, layout.pods, layout.best_effort)
        node_cpu, pods_cpu, best_effort_cpu = (self._cpu_us(layout, group) for group in groups)
        machine = read_machine(self._proc)
        node = machine.memory_used_mib if layout.is_machine else self._memory_mib(layout, layout.root)
        pods, best_effort = (self._memory_mib(layout, group) for group in groups[1:])
        for name, amount in (("node", node), ("pods", pods), ("best-effort pods", best_effort)):
            if amount > 2 * machine.memory_mib:
                raise LostReading(f"memory of {name}: {amount} MiB on a machine of {machine.memory_mib} MiB")
        return Counters(
            machine_milli=machine.cpu_milli,
            machine_mib=machine.memory_mib,
            cpu_milli_size=min([machine.cpu_milli, *_cpu_limits_milli(layout)]),
            memory_mib_size=min([machine.memory_mib, *_memory_limits_mib(layout)]),
            cpu_us=Use(node=node_cpu, pods=pods_cpu, best_effort=best_effort_cpu),
            memory_mib=Use(node=node, pods=pods, best_effort=best_effort),
        )

    def _cpu_us(self, layout: Layout, group: PurePosixPath) -> int:
        return _needed(layout, group, layout.version.cpu) // layout.version.cpu_per_us

    def _memory_mib(self, layout: Layout, group: PurePosixPath) -> int:
        used = _needed(layout, group, layout.version.memory)
        return max(0, used - _needed(layout, group, layout.version.inactive_file)) >> 20


def read_machine(proc: Path) -> Machine:
    """Raises LostReading: ``meminfo`` is not as expected."""
    path = proc / "meminfo"
    try:
        total_kib, available_kib = (_number(path, _content(path), key, 0) for key in ("MemTotal:", "MemAvailable:"))
    except OSError as error:
        raise LostReading(f"{path}: {error.strerror}") from error
    if total_kib <= 0 or available_kib > total_kib:
        raise LostReading(f"{path}: {available_kib} KiB available of {total_kib}")
    return Machine(
        cpu_milli=(os.cpu_count() or 1) * 1000,
        memory_mib=total_kib >> 10,
        memory_used_mib=(total_kib - available_kib) >> 10,
    )


def _cpu_limits_milli(layout: Layout) -> list[int]:
    """Of the root's cpuset and of its quota; none where it has neither."""
    version, limits = layout.version, []
    cpus = _word(layout, version.cpus)
    if cpus is not None:
        limits.append(_processors(layout.path(layout.root, version.cpus), cpus) * 1000)
    quota, period = _limit(layout, version.quota), _limit(layout, version.period)
    if quota is not None and period is not None:
        if quota <= 0 or period <= 0:
            raise LostReading(f"{layout.path(layout.root, version.quota)}: {quota} us in {period} us")
        limits.append(quota * 1000 // period)
    return limits


def _memory_limits_mib(layout: Layout) -> list[int]:
    limit = _limit(layout, layout.version.memory_limit)
    return [] if limit is None else [limit >> 20]


def _limit(layout: Layout, number: Number) -> int | None:
    word = _word(layout, number)
    if word is None or word in layout.version.unlimited:
        return None
    return _whole(layout.path(layout.root, number), word)


def _word(layout: Layout, number: Number) -> str | None:
    """A word of a file of the root's size; None where the group has no such file or it is empty: then it sets none."""
    path = layout.path(layout.root, number)
    try:
        words = _content(path).split()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LostReading(f"{path}: {error.strerror}") from error
    return words[number.word] if number.word < len(words) else None


def _needed(layout: Layout, group: PurePosixPath, number: Number) -> int:
    path = layout.path(group, number)
    try:
        content = _content(path)
    except OSError as error:
        raise LostReading(f"{path}: {error.strerror}") from error
    return _number(path, content, number.key, number.word)


def _content(path: Path) -> str:
    with open(path, "rb", buffering=0) as file:
        return (file.read(FILE_BYTES_MAX) or b"").decode("utf-8", errors="replace")


def _number(path: Path, content: str, key: str, word: int) -> int:
    if not key:
        words = content.split()
        return _whole(path, words[word] if word < len(words) else "")
    for line in content.splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return _whole(path, (value.split() or [""])[0])
    raise LostReading(f"{path}: no line {key}")


def _whole(path: Path, word: str) -> int:
    """A counter is never negative."""
    if not word.isascii() or not word.isdigit() or len(word) > 20:
        raise LostReading(f"{path}: {word[:40]!r} is no number")
    return int(word)


def _processors(path: Path, cpus: str) -> int:
    """How many a list such as ``0-3,8`` names."""
    count = 0
    for part in cpus.split(","):
        first, dash, last = part.partition("-")
        lowest = _whole(path, first)
        highest = _whole(path, last) if dash else lowest
        count += highest - lowest + 1
        if highest < lowest:
            raise LostReading(f"{path}: {cpus[:40]!r} is no list of processors")
    return count
