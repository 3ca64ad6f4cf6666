"""Holds best-effort pods to bounds while the policy says so, and undoes them after that: weight and memory limit of
each of Yodel's own (``limits``), and the processor time of them all, whoever's they are (``quota``).

Each second all is planned again, and what does not stand in its file is written: a value that somebody changed is put
back, for a quota without growing to it by steps again, and counted.  What was written is kept in a file before it is,
so that an agent that starts again can take it up or undo it.  The end of the agent changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from nm_plugin.capacity.clock import LoopClock
from nm_plugin.capacity.kills import Kills
from nm_plugin.capacity.root_quota import RootQuota
from nm_plugin.capacity.running import Batch
from nm_plugin.capacity.values import Record, Value
from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.plan import kubelets, limit_bytes, planned
from nm_plugin.cgroups.pod_groups import PodGroups
from nm_plugin.cgroups.writer import BestEffort
from nm_plugin.container.at_limit import NOTHING, AtLimit
from nm_plugin.host.users import FileThreads
from yodel.domain.colocation.report import ENDED_AT_LIMITS, OTHERS_PODS, Bound, Figure
from yodel.domain.colocation.suppression import CpuHeadroom
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError

INTERVAL_MS = 1000
NOT_MOUNTED = "{} on, but the agent has no best-effort cgroup to write {} to"
NOT_UNDONE = "{} written before the agent restarted, but it has no best-effort cgroup any more in which to remove them"


STALE = "the best-effort cgroup was created again, and the mounted one no longer exists"
UNSEEN_LOOKS = 3
STALE_LOOKS_MAX = 3
"""A heartbeat tells the problem before the agent ends."""


class StaleMount(YodelError):
    """Only a new start of the agent's container mounts the group that is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPodOrders:
    """Holds the last orders of the ResourceManager for best-effort pods."""

    limits: bool
    quota: bool

    @property
    def is_nothing(self) -> bool:
        return not self.limits and not self.quota


@dataclass(slots=True, kw_only=True)
class _BoundPod:
    """Holds the state of a pod whose group was found by the uid that the ResourceManager named."""

    name: str
    is_master: bool
    memory_mib: int
    kills: Kills
    values: dict[str, Value] = field(default_factory=dict)
    rests_at: tuple[tuple[int, int], list[int | None]] | None = None
    """The size granted (MiB, vcores) and the values to stay in its files for good; None: its limit still comes down."""


class Bounds:
    """``writable`` is where the best-effort group of ``mount`` may be written; None: nowhere, and nothing ever is.

    ``containers`` lists those of the node.  ``run`` undoes; as long as anything is to be held, ``hold`` does that
    after each reading, so that a quota follows what was just measured.
    """

    def __init__(
        self,
        writable: Path | None,
        mount: Path,
        cgroup_root: str,
        state_dir: Path,
        clock: LoopClock,
        threads: FileThreads,
        containers: Callable[[], Collection[Batch]],
    ) -> None:
        self._writable, self._mount, self._cgroup_root = writable, mount, cgroup_root
        self._clock, self._threads, self._containers = clock, threads, containers
        self._state_dir = state_dir
        self._said: BatchPodOrders | None = None
        self._pods: dict[ContainerId, _BoundPod] = {}
        self._all_groups = PodGroups(mount, cgroup_root)
        self._elsewhere: dict[ContainerId, str] = {}
        """Running containers whose pods are not best-effort ones."""
        self._unseen: dict[ContainerId, int] = {}
        """Running containers of which no group is to be seen, and at how many looks in a row."""
        self._named: frozenset[str] = frozenset()
        """Groups that are there of pods that the ResourceManager has ever named; their containers may have ended."""
        self._quota = RootQuota()
        self._quota_milli: int | None = None
        self._shown: tuple[Bound, ...] = ()
        self._counts: tuple[Figure, ...] = ()
        self._ended_at_limits = 0
        self._record: Record | None = None
        self._groups: BestEffort | None = None
        self._best_effort = ""
        self._looked: tuple[BatchPodOrders, int] | None = None
        self._was_current = False
        self._stale_looks = 0
        self._problem = ""
        self._log = structlog.get_logger(__name__)

    def obey(self, *, limits: bool = False, quota: bool = False) -> None:
        """Take over the orders of an answer of the ResourceManager."""
        self._said = BatchPodOrders(limits=limits, quota=quota)

    def shown(self) -> tuple[Bound, ...]:
        """Return the limits in force, those of the best-effort group first."""
        return self._shown

    def quota_milli(self) -> int | None:
        """Return the quota that stands there now; None where there is none."""
        return self._quota_milli

    def problem(self) -> str:
        return self._problem

    def written_groups(self) -> int | None:
        """Return the number of groups with written values; None until the current orders were carried out."""
        looked = self._looked
        return looked[1] if looked is not None and looked[0] == self._said else None

    def best_effort(self) -> str:
        """Return the path of the group that they are in, below the mount; empty where it was not looked for."""
        return self._best_effort

    def counts(self) -> tuple[Figure, ...]:
        return self._counts

    async def at_limit(self, container_id: ContainerId) -> AtLimit:
        """Return what the kernel did at the memory limit of a container whose script has just ended."""
        return await self._threads.run(self._at_limit, container_id) if container_id in self._pods else NOTHING

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            is_nothing = self._said is not None and self._said.is_nothing
            if is_nothing and (not self._is_undone() or self.written_groups() is None):
                await self._threads.run(self.look, ())
            await self._clock.sleep(INTERVAL_MS)

    async def hold(self, headroom: CpuHeadroom | None) -> None:
        """Enforce the limits, once a second.  ``headroom`` is the measured use of the processors; None: it is
        unknown."""
        if self._said is not None and not self._said.is_nothing:
            await self._threads.run(self.look, self._containers(), headroom)

    def look(self, containers: Collection[Batch], headroom: CpuHeadroom | None = None) -> None:
        """One second's work.  Blocks.

        Raises StaleMount: what could be written in this life of the agent is gone for good.
        """
        said = self._said
        if said is None:
            return  # nobody has said yet what is to be held: what stands there stays
        problem = ""
        try:
            if self._record is None:
                self._record = Record(self._state_dir)
            record = self._record
            if self._writable is None:
                problem = _not_mounted(said, record)
            elif not said.is_nothing or not record.written.is_nothing:
                groups = self._current(self._writable)
                if groups is None:
                    problem = STALE
                else:
                    self._look(groups, record, said, containers, headroom)
                    problem = self._unbounded() if said.limits else ""
        except (OSError, LostReading) as error:
            problem = f"limits: {error}"
            self._let_go()
        if self._record is not None:
            self._looked = (said, self._record.written.groups)
            problem = problem or (self._record.problem and f"limits: {self._record.problem}")
        if problem and problem != self._problem:
            self._log.warning("limits_not_enforced", reason=problem)
        self._problem = problem
        if self._stale_looks >= STALE_LOOKS_MAX and self._was_current:
            raise StaleMount(STALE)

    def _current(self, writable: Path) -> BestEffort | None:
        """Return the best-effort group that the kubelet uses now, None where another one is mounted to be written.

        Raises OSError, LostReading.
        """
        if self._groups is not None and self._groups.is_stale():
            self._let_go()
        if self._groups is None:
            layout = find_layout(self._mount, self._cgroup_root)
            self._groups, self._best_effort = BestEffort(writable, layout), str(layout.best_effort)
            if self._groups.is_stale():
                self._let_go()
                self._stale_looks += 1
                return None
        self._was_current, self._stale_looks = True, 0
        return self._groups

    def _look(
        self,
        groups: BestEffort,
        record: Record,
        said: BatchPodOrders,
        listed: Collection[Batch],
        headroom: CpuHeadroom | None,
    ) -> None:
        """Raises OSError, LostReading."""
        batches = {batch.container_id: batch for batch in listed if batch.is_running}
        self._pods = {} if said.is_nothing else self._own(groups, batches)
        if said.quota:  # first: it protects all others from all of them
            self._quota.hold(groups, record, headroom, sum(pod.is_master for pod in self._pods.values()))
        else:
            self._quota.undo(groups, record)
        if said.limits:
            self._hold_pods(groups, record, batches)
        else:
            self._undo_pods(groups, record)
        self._show(groups, [batch.pod_uid for batch in listed])
        if said.is_nothing and record.written.is_nothing:
            self._let_go()
            self._log.info("limits_removed")

    def _show(self, groups: BestEffort, uids: Iterable[str]) -> None:
        own, there = self._pods.values(), groups.pods()
        self._named = there & (self._named | {groups.name(uid, self._cgroup_root) for uid in uids})
        self._quota_milli = self._quota.read_milli()
        self._shown = (*self._quota.shown(), *(value.bound for pod in own for value in pod.values.values()))
        self._counts = (
            Figure(name=OTHERS_PODS, amount=len(there - self._named)),
            Figure(name=ENDED_AT_LIMITS, amount=self._ended_at_limits),
        )

    def _unbounded(self) -> str:
        """A container that has just begun is no problem yet."""
        unseen = sorted(str(one) for one, looks in self._unseen.items() if looks >= UNSEEN_LOOKS)
        if not unseen:
            return ""
        more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
        return f"limits: {unseen[0]}{more} run without limits: no pod cgroup was found for them"

    def _is_undone(self) -> bool:
        return self._record is not None and self._record.written.is_nothing

    def _let_go(self) -> None:
        """The groups that are opened next are looked for again."""
        if self._groups is not None:
            self._groups.close()
        self._groups, self._pods = None, {}
        self._quota.forget()
        self._quota_milli, self._shown, self._counts = None, (), ()

    def _own(self, groups: BestEffort, batches: Mapping[ContainerId, Batch]) -> dict[ContainerId, _BoundPod]:
        pods = {one: pod for one, pod in self._pods.items() if one in batches and self._is_there(groups, pod)}
        for container_id, pod in self._pods.items():
            if container_id not in pods:
                groups.forget(pod.name)
        elsewhere, self._elsewhere, unseen, self._unseen = self._elsewhere, {}, self._unseen, {}
        for container_id, batch in batches.items():
            if container_id in pods:
                continue
            if elsewhere.get(container_id) == batch.pod_uid:
                self._elsewhere[container_id] = batch.pod_uid
            elif (found := self._found(groups, batch)) is not None:
                pods[container_id] = found
            elif self._all_groups.is_of_another_class(batch.pod_uid):
                self._elsewhere[container_id] = batch.pod_uid
            else:
                self._unseen[container_id] = unseen.get(container_id, 0) + 1
        return pods

    def _is_there(self, groups: BestEffort, pod: _BoundPod) -> bool:
        """Its group is the one that was found: it is read through what was opened then."""
        try:
            self._ended_at_limits += pod.kills.look(groups)
        except (OSError, LostReading):
            return False
        return True

    def _found(self, groups: BestEffort, batch: Batch) -> _BoundPod | None:
        """Find the pod's group by the uid alone: what runs in a pod has no say in whether it is bounded."""
        name = groups.name(batch.pod_uid, self._cgroup_root)
        if name is None or not groups.has(name):
            return None
        try:
            return _BoundPod(
                name=name,
                is_master=batch.is_master,
                memory_mib=batch.memory_mib,
                kills=Kills(groups, name),
            )
        except (OSError, LostReading):
            return None

    def _hold_pods(self, groups: BestEffort, record: Record, batches: Mapping[ContainerId, Batch]) -> None:
        own = frozenset(pod.name for pod in self._pods.values())
        record.pods(own | {name for name in record.written.pods - own if groups.has(name)})
        gone: list[ContainerId] = []
        for container_id, pod in self._pods.items():
            try:
                self._bound(groups, batches[container_id], pod)
            except (OSError, LostReading) as error:
                self._log.info("pod_not_limited", container=str(container_id), reason=str(error))
                gone.append(container_id)
        for container_id in gone:  # a group that comes in its place is looked for again
            groups.forget(self._pods.pop(container_id).name)

    def _bound(self, groups: BestEffort, batch: Batch, pod: _BoundPod) -> None:
        knobs = groups.knobs
        grant = batch.memory_mib, batch.vcores
        found = [groups.read(pod.name, knob) for knob in groups.of_pods]
        if pod.rests_at == (grant, found):
            return  # its limit stands, so what it uses cannot be above that
        before = {file: value.bound.decided for file, value in pod.values.items()}
        decided = self._planned(groups, batch, pod, before)
        is_final = decided[knobs.limit.file] == limit_bytes(batch.memory_mib)
        pod.rests_at = (grant, [decided[knob.file] for knob in groups.of_pods]) if is_final else None
        pod.memory_mib = batch.memory_mib
        for knob, now in zip(groups.of_pods, found, strict=True):
            amount = decided[knob.file]
            value = pod.values.get(knob.file)
            if value is None:
                value = pod.values[knob.file] = Value(str(batch.container_id), knob.file, amount)
            write, read = partial(groups.write, pod.name, knob), partial(groups.read, pod.name, knob)
            if value.hold(amount, now, write, read):
                self._log.info("limit_restored", pod=pod.name, file=knob.file, value=amount)

    @staticmethod
    def _planned(groups: BestEffort, batch: Batch, pod: _BoundPod, before: Mapping[str, int]) -> dict[str, int]:
        used = groups.number(pod.name, groups.knobs.used)
        if used > limit_bytes(batch.memory_mib):  # what was read once from files may be a part of it
            used -= groups.number(pod.name, groups.knobs.inactive_file)
        return planned(
            groups.knobs, memory_mib=batch.memory_mib, vcores=batch.vcores, used_bytes=max(0, used), before=before
        )

    def _undo_pods(self, groups: BestEffort, record: Record) -> None:
        """Undo what was written to the pods.  A failure stays in the file and is retried; the last one is raised as
        OSError."""
        left: set[str] = set()
        failed: OSError | None = None
        for name in record.written.pods:
            try:
                if groups.has(name) and not _is_undone(groups, name):
                    left.add(name)
            except OSError as error:
                left, failed = left | {name}, error
            groups.forget(name)
        record.pods(frozenset(left))
        for pod in self._pods.values():
            pod.values.clear()
        if failed is not None:
            raise failed

    def _at_limit(self, container_id: ContainerId) -> AtLimit:
        pod, groups = self._pods.get(container_id), self._groups
        if pod is None:
            return NOTHING
        has_just_killed = groups is not None and pod.kills.has_just_killed(groups)
        limit_mib, count = limit_bytes(pod.memory_mib) >> 20, pod.kills.count
        ended = (
            f"Container [containerID={container_id}] is running beyond the 'PHYSICAL' memory limit. "
            f"{pod.memory_mib} MB were granted, and the kernel has ended a process at the limit of "
            f"{limit_mib} MB. Killing container.\n"
        )
        told = (
            f"The kernel has ended {count} of the container's processes at the memory limit of {limit_mib} MB; "
            f"{pod.memory_mib} MB were granted.\n"
        )
        return AtLimit(ended=ended if has_just_killed else "", told=told if count else "")


def _not_mounted(said: BatchPodOrders, record: Record) -> str:
    if not said.is_nothing:
        return NOT_MOUNTED.format(*(("limits are", "them") if said.limits else ("a quota is", "it")))
    if record.written.is_nothing:
        return ""
    return NOT_UNDONE.format("limits were" if record.written.pods else "quotas were")


def _is_undone(groups: BestEffort, name: str) -> bool:
    values = kubelets(groups.knobs)
    for knob in groups.of_pods:
        if groups.read(name, knob) != values[knob.file]:
            groups.write(name, knob, values[knob.file])
    return all(groups.read(name, knob) == values[knob.file] for knob in groups.of_pods)
