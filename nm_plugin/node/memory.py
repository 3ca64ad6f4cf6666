"""The memory of containers: kill what is over its limit.

Follows ``ContainersMonitorImpl``: a container is over the limit when it uses more than twice the limit, or when what it
already used at the last sample is more than it (a fork briefly doubles a JVM's memory).  What it uses is what the
kernel charges to its pod's group, as ``CGroupsV2ResourceCalculator`` has it, with files in memory; where groups are not
seen it is the sum over the pod's processes, as ``ProcfsBasedProcessTree`` has it.  The kernel's own limit of the pod is
the other, harder line; this one explains itself to the user.

A container whose processes are known by their marks only, and that has more of them than can be looked at, is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nm_plugin.cgroups.pod_groups import PodGroups
from nm_plugin.container.life import Container
from nm_plugin.host.processes import Process, ProcessTable
from nm_plugin.launch.members import Members, Owner, ProcessListing, Seen
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus

DUMP_COMMAND_BYTES_MAX = 4096
DUMP_PROCESSES_MAX = 100
NOT_MEASURED = (
    "Container [containerID={}] has processes that cannot be measured: its user has too many processes on this node, "
    "and no pod was found for them. Killing container.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChecks:
    """Configures the checks; ``ratio`` is yarn.nodemanager.vmem-pmem-ratio."""

    pmem_check: bool
    vmem_check: bool
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySample:
    """A container's processes at one moment; ``held_bytes`` is what the kernel charges to their group, None: not known.

    ``is_whole``: there were no more of them than could be looked at.
    """

    processes: tuple[Process, ...]
    page_bytes: int
    held_bytes: int | None = None
    is_whole: bool = True

    @property
    def pmem_bytes(self) -> int:
        if self.held_bytes is not None:
            return self.held_bytes
        return sum(p.rss_pages for p in self.processes) * self.page_bytes

    @property
    def vmem_bytes(self) -> int:
        return sum(p.vmem_bytes for p in self.processes)

    def aged(self, earlier: MemorySample | None) -> MemorySample:
        """Return the part of this sample that an earlier one had too."""
        known = earlier.seen if earlier is not None else frozenset()
        held = self.held_bytes
        if held is not None:
            held = min(held, earlier.pmem_bytes) if earlier is not None else 0
        aged = tuple(p for p in self.processes if (p.pid, p.start_ticks) in known)
        return MemorySample(processes=aged, page_bytes=self.page_bytes, held_bytes=held)

    @property
    def seen(self) -> Seen:
        return frozenset((p.pid, p.start_ticks) for p in self.processes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """A container that has to go."""

    container_id: ContainerId
    exit_status: int
    text: str


class Found(NamedTuple):
    """Says why a container is over: ``kind`` of memory, bytes over the limit."""

    kind: str
    over_bytes: int


def over_limit(
    container: Container, now: MemorySample, earlier: MemorySample | None, limits: MemoryChecks
) -> Found | None:
    """The verdict on one container.  Pure."""
    pmem_limit = container.resource.memory_mib << 20
    vmem_limit = int(pmem_limit * limits.ratio)
    aged = now.aged(earlier)
    checks = (
        (limits.vmem_check, "VIRTUAL", now.vmem_bytes, aged.vmem_bytes, vmem_limit),
        (limits.pmem_check, "PHYSICAL", now.pmem_bytes, aged.pmem_bytes, pmem_limit),
    )
    for enabled, kind, used, used_by_aged, limit in checks:
        if enabled and limit > 0 and (used > 2 * limit or used_by_aged > limit):
            return Found(kind, used - limit)
    return None


def binary_prefix(value: int) -> str:
    """``StringUtils.TraditionalBinaryPrefix.long2String(value, "", 1)``: ``1.5 G``, ``512 M``."""
    for shift, letter in ((60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if abs(value) >= 1 << shift:
            scaled = value / (1 << shift)
            return f"{int(scaled)} {letter}" if scaled == int(scaled) else f"{scaled:.1f} {letter}"
    return str(value)


class MemoryMonitor:
    """Remembers the last sample of each container.  ``sample`` blocks."""

    def __init__(self, table: ProcessTable, groups: PodGroups, limits: MemoryChecks) -> None:
        self._table, self._groups, self._limits = table, groups, limits
        self._samples: dict[ContainerId, MemorySample] = {}
        self._sampled_ms = 0
        self._cores = 0.0

    def sample(self, running: Iterable[Container], now_ms: int) -> list[Excess]:
        """Look at the running containers; those to be killed.

        ``now_ms`` is of any clock that only goes forward.
        """
        listed = [(container, owner) for container in running if (owner := container.owner) is not None]
        processes = ProcessListing(self._table, [owner for _, owner in listed])
        before, found = self._samples, list[Excess]()
        samples: dict[ContainerId, MemorySample] = {}
        for container, owner in listed:
            earlier = before.get(container.container_id)
            sample = self._sample(processes.of(owner, self.seen(container.container_id)), owner)
            if sample is None:
                continue
            samples[container.container_id] = sample
            excess = self._excess(container, sample, earlier)
            if excess is not None:
                found.append(excess)
        self._cores = self._cores_between(before, samples, now_ms - self._sampled_ms)
        self._samples, self._sampled_ms = samples, now_ms
        return found

    @property
    def cores(self) -> float:
        """Return the processors used by all containers between the last two samples."""
        return self._cores

    def seen(self, container_id: ContainerId) -> Seen:
        """Return a container's processes at the last sample: some may have left its tree since."""
        sample = self._samples.get(container_id)
        return sample.seen if sample is not None else frozenset()

    def mains(self) -> list[int]:
        """Return the first process of each container at the last sample.  May be called from any thread."""
        return [sample.processes[0].pid for sample in self._samples.values() if sample.processes]

    def totals_bytes(self) -> tuple[int, int]:
        """Physical and virtual memory of all containers at the last sample."""
        return (
            sum(s.pmem_bytes for s in self._samples.values()),
            sum(s.vmem_bytes for s in self._samples.values()),
        )

    def _sample(self, members: Members, owner: Owner) -> MemorySample | None:
        """None: there is nothing of it."""
        held = self._groups.held_bytes(owner.pod_uid)
        if not members.processes and members.is_whole and held is None:
            return None
        return MemorySample(
            processes=members.processes,
            page_bytes=self._table.page_bytes,
            held_bytes=held,
            is_whole=members.is_whole,
        )

    def _excess(self, container: Container, now: MemorySample, earlier: MemorySample | None) -> Excess | None:
        is_unseen = earlier is not None and not now.is_whole and not earlier.is_whole
        if self._limits.pmem_check and now.held_bytes is None and is_unseen:
            return Excess(
                container_id=container.container_id,
                exit_status=ContainerExitStatus.KILLED_EXCEEDED_PMEM,
                text=NOT_MEASURED.format(container.container_id),
            )
        over = over_limit(container, now, earlier, self._limits)
        if over is None:
            return None
        status = (
            ContainerExitStatus.KILLED_EXCEEDED_VMEM
            if over.kind == "VIRTUAL"
            else ContainerExitStatus.KILLED_EXCEEDED_PMEM
        )
        pmem_limit = container.resource.memory_mib << 20
        vmem_limit = int(pmem_limit * self._limits.ratio)
        head = (
            f"Container [pid={self._pid(container, now)},containerID={container.container_id}] is running "
            f"{over.over_bytes}B beyond the '{over.kind}' memory limit. Current usage: "
            f"{binary_prefix(now.pmem_bytes)}B of {binary_prefix(pmem_limit)}B physical memory used; "
            f"{binary_prefix(now.vmem_bytes)}B of {binary_prefix(vmem_limit)}B virtual memory used. "
            "Killing container.\n"
        )
        text = f"{head}Dump of the process-tree for {container.container_id} :\n{self._dump(now)}"
        return Excess(container_id=container.container_id, exit_status=status, text=text)

    def _pid(self, container: Container, sample: MemorySample) -> int:
        """Return the pid of the script as seen on the node; of the first process if it is not found."""
        shown = [p.pid for p in sample.processes[:DUMP_PROCESSES_MAX]]
        return next((pid for pid in shown if self._table.inner_pid(pid) == container.pid), shown[0] if shown else 0)

    def _dump(self, sample: MemorySample) -> str:
        """``ProcfsBasedProcessTree.getProcessTreeDump``."""
        lines = [
            "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) "
            "RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n"
        ]
        tick_ms = self._table.tick_ms
        for p in sample.processes[:DUMP_PROCESSES_MAX]:
            words = self._table.command_line(p.pid)[:DUMP_COMMAND_BYTES_MAX].replace(b"\0", b" ")
            lines.append(
                f"\t|- {p.pid} {p.parent} {p.group} {p.session} ({p.name}) {p.user_ticks * tick_ms} "
                f"{p.system_ticks * tick_ms} {p.vmem_bytes} {p.rss_pages} "
                f"{words.decode('utf-8', errors='replace') or 'N/A'}\n"
            )
        return "".join(lines)

    def _cores_between(
        self, before: Mapping[ContainerId, MemorySample], now: Mapping[ContainerId, MemorySample], elapsed_ms: int
    ) -> float:
        """Only processes of both samples count: one that came or went would look like a leap."""
        ticks = 0
        for container_id, sample in now.items():
            earlier = before.get(container_id)
            if earlier is not None:
                known = {(p.pid, p.start_ticks): p.user_ticks + p.system_ticks for p in earlier.processes}
                aged = sample.aged(earlier).processes
                ticks += sum(p.user_ticks + p.system_ticks - known[p.pid, p.start_ticks] for p in aged)
        return max(0.0, ticks * self._table.tick_ms / elapsed_ms) if elapsed_ms > 0 else 0.0
