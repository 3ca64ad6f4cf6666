"""The memory of containers: sample the process trees, kill what is over its limit.

Follows ``ContainersMonitorImpl`` and ``ProcfsBasedProcessTree``: a tree is over the limit when it uses more than twice
the limit, or when the processes that were already there at the last sample use more than it (a fork briefly doubles a
JVM's memory).  Numbers come from ``/proc`` (``psutil`` would open five files a process; one is enough), under a root
that tests replace.  The kernel's own limit of the pod is the other, harder line; this one explains itself to the user.

A pid in a container's record is the shell's claim, numbered inside the pod: it is looked up among processes that carry
the container's id in their environment (or, in the node's own pid namespace, belong to the container's user).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.container.life import Container
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus

COMMAND_LINE_BYTES_MAX = 4096
ENVIRON_BYTES_MAX = 1 << 20
DUMP_PROCESSES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One line of ``/proc/<pid>/stat``; times in milliseconds."""

    pid: int
    parent: int
    group: int
    session: int
    name: str
    user_ms: int
    system_ms: int
    vmem_bytes: int
    rss_pages: int
    start_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which checks are on; ``ratio`` is yarn.nodemanager.vmem-pmem-ratio."""

    pmem_check: bool
    vmem_check: bool
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A container's tree at one moment."""

    processes: tuple[Process, ...]
    page_bytes: int

    @property
    def pmem_bytes(self) -> int:
        return sum(p.rss_pages for p in self.processes) * self.page_bytes

    @property
    def vmem_bytes(self) -> int:
        return sum(p.vmem_bytes for p in self.processes)

    @property
    def cpu_ms(self) -> int:
        return sum(p.user_ms + p.system_ms for p in self.processes)

    def of_those_in(self, earlier: Sample | None) -> Sample:
        """Only the processes that an earlier sample had too."""
        known = {(p.pid, p.start_ticks) for p in earlier.processes} if earlier else set()
        aged = tuple(p for p in self.processes if (p.pid, p.start_ticks) in known)
        return Sample(processes=aged, page_bytes=self.page_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A container that has to go."""

    container_id: ContainerId
    exit_status: int
    text: str


def over_limit(
    container: Container,
    pid: int,
    now: Sample,
    earlier: Sample | None,
    limits: Limits,
    command_lines: Mapping[int, str],
) -> Excess | None:
    """The verdict on one container.  Pure."""
    pmem_limit = container.resource.memory_mib << 20
    vmem_limit = int(pmem_limit * limits.ratio)
    aged = now.of_those_in(earlier)
    checks = (
        (limits.vmem_check, "VIRTUAL", now.vmem_bytes, aged.vmem_bytes, vmem_limit),
        (limits.pmem_check, "PHYSICAL", now.pmem_bytes, aged.pmem_bytes, pmem_limit),
    )
    for enabled, kind, used, used_by_aged, limit in checks:
        if not enabled or limit <= 0 or not (used > 2 * limit or used_by_aged > limit):
            continue
        status = (
            ContainerExitStatus.KILLED_EXCEEDED_VMEM if kind == "VIRTUAL" else ContainerExitStatus.KILLED_EXCEEDED_PMEM
        )
        head = (
            f"Container [pid={pid},containerID={container.container_id}] is running {used - limit}B beyond the "
            f"'{kind}' memory limit. Current usage: {binary_prefix(now.pmem_bytes)}B of {binary_prefix(pmem_limit)}B "
            f"physical memory used; {binary_prefix(now.vmem_bytes)}B of {binary_prefix(vmem_limit)}B virtual memory "
            "used. Killing container.\n"
        )
        text = f"{head}Dump of the process-tree for {container.container_id} :\n{dump(now, command_lines)}"
        return Excess(container_id=container.container_id, exit_status=status, text=text)
    return None


def dump(sample: Sample, command_lines: Mapping[int, str]) -> str:
    """``ProcfsBasedProcessTree.getProcessTreeDump``."""
    lines = [
        "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) "
        "RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n"
    ]
    for p in sample.processes[:DUMP_PROCESSES_MAX]:
        full = command_lines.get(p.pid, "N/A")
        lines.append(
            f"\t|- {p.pid} {p.parent} {p.group} {p.session} ({p.name}) {p.user_ms} {p.system_ms} {p.vmem_bytes} "
            f"{p.rss_pages} {full}\n"
        )
    return "".join(lines)


def binary_prefix(value: int) -> str:
    """``StringUtils.TraditionalBinaryPrefix.long2String(value, "", 1)``: ``1.5 G``, ``512 M``."""
    for shift, letter in ((60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if abs(value) >= 1 << shift:
            scaled = value / (1 << shift)
            return f"{int(scaled)} {letter}" if scaled == int(scaled) else f"{scaled:.1f} {letter}"
    return str(value)


def tree_of(root: int, processes: Iterable[Process]) -> tuple[Process, ...]:
    """The session of ``root`` and all descendants, ``root`` first."""
    listed = sorted(processes, key=lambda p: p.start_ticks)
    members = {p.pid for p in listed if p.pid == root or p.session == root}
    grew = True
    while grew:
        children = {p.pid for p in listed if p.parent in members} - members
        members |= children
        grew = bool(children)
    return tuple(sorted((p for p in listed if p.pid in members), key=lambda p: (p.pid != root, p.start_ticks)))


class ProcessTable:
    """Reads ``/proc``.  Blocks: use in a file thread."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._tick_ms = 1000 // os.sysconf("SC_CLK_TCK")
        self.page_bytes = os.sysconf("SC_PAGE_SIZE")

    def processes(self) -> list[Process]:
        found = []
        for name in os.listdir(self._proc):
            if name.isdigit():
                try:
                    text = (self._proc / name / "stat").read_text(encoding="utf-8", errors="replace")
                    found.append(self._parse(text))
                except (OSError, ValueError, IndexError):
                    continue  # it has ended meanwhile
        return found

    def host_pid(self, claimed_pid: int, container_id: ContainerId, uid: int | None) -> int | None:
        """The process of the node that the pod's shell calls ``claimed_pid``.

        ``uid`` restricts the search to the user's processes; None in single-user mode.
        """
        marker = f"CONTAINER_ID={container_id}".encode()
        for name in os.listdir(self._proc):
            if not name.isdigit():
                continue
            directory = self._proc / name
            try:
                status = (directory / "status").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            numbers = fields.get("NSpid", name).split()
            if numbers[-1] != str(claimed_pid):
                continue
            if uid is not None and fields.get("Uid", "").split()[:1] != [str(uid)]:
                continue
            if self._environ_has(directory, marker):
                return int(name)
        return None

    def _environ_has(self, directory: Path, marker: bytes) -> bool:
        try:
            with (directory / "environ").open("rb") as file:
                entries = file.read(ENVIRON_BYTES_MAX).split(b"\0")
        except OSError:
            return False
        return any(entry in (marker, b"YODEL_" + marker) for entry in entries)

    def command_lines(self, pids: Iterable[int]) -> dict[int, str]:
        result = {}
        for pid in pids:
            try:
                with (self._proc / str(pid) / "cmdline").open("rb") as file:
                    content = file.read(COMMAND_LINE_BYTES_MAX)
            except OSError:
                continue
            result[pid] = content.replace(b"\0", b" ").decode("utf-8", errors="replace")
        return result

    def _parse(self, text: str) -> Process:
        opened, closed = text.index("("), text.rindex(")")
        rest = text[closed + 2 :].split()
        return Process(
            pid=int(text[:opened]),
            parent=int(rest[1]),
            group=int(rest[2]),
            session=int(rest[3]),
            name=text[opened + 1 : closed],
            user_ms=int(rest[11]) * self._tick_ms,
            system_ms=int(rest[12]) * self._tick_ms,
            start_ticks=int(rest[19]),
            vmem_bytes=int(rest[20]),
            rss_pages=int(rest[21]),
        )


class MemoryMonitor:
    """Remembers the last sample of each container.  ``sample`` blocks."""

    def __init__(self, table: ProcessTable, limits: Limits) -> None:
        self._table, self._limits = table, limits
        self._samples: dict[ContainerId, Sample] = {}
        self._pids: dict[ContainerId, int] = {}
        self._sampled_ms = 0
        self._cores = 0.0

    def sample(self, running: Iterable[tuple[Container, int | None]], now_ms: int) -> list[Excess]:
        """Look at the running containers (each with its user's uid, or None); those to be killed.

        ``now_ms`` is of any clock that only goes forward.
        """
        listed = list(running)
        processes = self._table.processes()
        samples: dict[ContainerId, Sample] = {}
        found: list[Excess] = []
        for container, uid in listed:
            pid = self._pid(container, uid)
            if pid is None:
                continue
            tree = tree_of(pid, processes)
            sample = samples[container.container_id] = Sample(processes=tree, page_bytes=self._table.page_bytes)
            earlier = self._samples.get(container.container_id)
            excess = over_limit(container, pid, sample, earlier, self._limits, {})
            if excess is not None:
                lines = self._table.command_lines([p.pid for p in tree[:DUMP_PROCESSES_MAX]])
                excess = over_limit(container, pid, sample, earlier, self._limits, lines)
                assert excess is not None
                found.append(excess)
        self._cores = _cores(self._samples, samples, now_ms - self._sampled_ms)
        self._samples, self._sampled_ms = samples, now_ms
        self._pids = {c.container_id: p for c, _ in listed if (p := self._pids.get(c.container_id)) is not None}
        return found

    @property
    def cores(self) -> float:
        """What all containers used of the processors between the last two samples."""
        return self._cores

    def seen(self, container_id: ContainerId) -> frozenset[tuple[int, int]]:
        """Pids and start ticks of a container's tree at the last sample: some may have left the tree since."""
        sample = self._samples.get(container_id)
        return frozenset((p.pid, p.start_ticks) for p in sample.processes) if sample is not None else frozenset()

    def totals_bytes(self) -> tuple[int, int]:
        """Physical and virtual memory of all containers at the last sample."""
        return (
            sum(s.pmem_bytes for s in self._samples.values()),
            sum(s.vmem_bytes for s in self._samples.values()),
        )

    def _pid(self, container: Container, uid: int | None) -> int | None:
        known = self._pids.get(container.container_id)
        if known is None and container.pid is not None:
            known = self._table.host_pid(container.pid, container.container_id, uid)
            if known is not None:
                self._pids[container.container_id] = known
        return known


def _cores(before: Mapping[ContainerId, Sample], now: Mapping[ContainerId, Sample], elapsed_ms: int) -> float:
    """Only processes of both samples count: one that came or went would look like a leap."""
    used_ms = 0
    for container_id, sample in now.items():
        earlier = before.get(container_id)
        if earlier is not None:
            known = {(p.pid, p.start_ticks): p.user_ms + p.system_ms for p in earlier.processes}
            aged = sample.of_those_in(earlier).processes
            used_ms += sum(p.user_ms + p.system_ms - known[(p.pid, p.start_ticks)] for p in aged)
    return max(0.0, used_ms / elapsed_ms) if elapsed_ms > 0 else 0.0
