"""What best-effort pods are held to while the policy says so, undone after that: weight and memory limit of each of
Yodel's own (``limits``), and the processor time of them all, whoever's they are (``quota``).

Each second all is planned anew, and what does not stand in its file is written: a value that somebody changed is put
back, for a quota without growing to it by steps again, and counted.  What was written is kept in a file before it is,
so that an agent that starts again can take it up or undo it.  The end of the agent changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from nm_plugin.capacity.clock import Clock
from nm_plugin.capacity.own_pods import Owner, is_own
from nm_plugin.capacity.values import Record, Value
from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.plan import NONE, kubelets, limit_bytes, planned, quota_us
from nm_plugin.cgroups.writer import BestEffort
from nm_plugin.container.life import Container, State
from nm_plugin.host.users import Accounts, FileThreads
from nm_plugin.launch.survivors import Marks
from yodel.domain.colocation.report import Bound
from yodel.domain.colocation.suppression import Room, quota_of
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError

INTERVAL_MS = 1000
NOT_MOUNTED = "{} on, and the agent has no best-effort group to write to"
NOT_UNDONE = "{} written in an earlier life, and the agent has no best-effort group any more to undo them in"
ROOT = ""
"""Stands for the best-effort group itself where a container is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A running container as it is bounded."""

    container_id: ContainerId
    owner: Owner
    memory_mib: int
    vcores: int
    is_master: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the ResourceManager said last of best-effort pods."""

    limits: bool
    quota: bool

    @property
    def is_nothing(self) -> bool:
        return not self.limits and not self.quota


@dataclass(slots=True, kw_only=True)
class _Pod:
    """What is known of a pod whose group is proved to be Yodel's."""

    name: str
    is_master: bool
    memory_mib: int
    oom_kills: int
    at_limit: int
    values: dict[str, Value] = field(default_factory=dict)


async def running_batch(containers: Iterable[Container], accounts: Accounts) -> list[Batch]:
    """Return the containers that run, each with its user; one whose user is gone is left out."""
    running = [one for one in containers if one.state is State.RUNNING and one.local_dir]
    uids: dict[str, int] = {}
    for name in {container.user for container in running}:
        with contextlib.suppress(YodelError):
            uids[name] = (await accounts.lookup(name)).uid
    return [
        Batch(
            container_id=container.container_id,
            owner=Owner(
                marks=Marks(container.container_id, Path(container.local_dir).parent), user_uid=uids[container.user]
            ),
            memory_mib=container.resource.memory_mib,
            vcores=container.resource.vcores,
            is_master=container.is_master,
        )
        for container in running
        if container.user in uids
    ]


class Bounds:
    """``writable`` is where the best-effort group of ``mount`` may be written; None: nowhere, and nothing ever is.

    ``running`` lists the containers that run.  ``run`` undoes; as long as anything is to be held, ``hold`` does that
    after each reading, so that a quota follows what was just measured.
    """

    def __init__(
        self,
        writable: Path | None,
        mount: Path,
        cgroup_root: str,
        state_dir: Path,
        clock: Clock,
        threads: FileThreads,
        running: Callable[[], Awaitable[Iterable[Batch]]],
    ) -> None:
        self._writable, self._mount, self._cgroup_root = writable, mount, cgroup_root
        self._clock, self._threads, self._running = clock, threads, running
        self._state_dir = state_dir
        self._said: Said | None = None
        self._uids: dict[ContainerId, str] = {}
        self._pods: dict[ContainerId, _Pod] = {}
        self._quota: Value | None = None
        self._period_us = 0
        self._record: Record | None = None
        self._groups: BestEffort | None = None
        self._best_effort = ""
        self._looked: tuple[Said, int] | None = None
        self._problem = ""
        self._log = structlog.get_logger(__name__)

    def obey(
        self, limits: bool, uids: Mapping[ContainerId, str], known: Iterable[ContainerId], *, quota: bool = False
    ) -> None:
        """Take what an answer of the ResourceManager said: what is to be held, and pods not named before.

        Each is named once, often before its container runs: it is kept for as long as the container is ``known``.
        """
        self._said = Said(limits=limits, quota=quota)
        told = {} if self._said.is_nothing else {**self._uids, **uids}
        self._uids = {one: told[one] for one in known if one in told} if told else {}

    def shown(self) -> tuple[Bound, ...]:
        """Return what is bounded now; of the best-effort group first."""
        quota, groups = self._quota, self._groups
        root = (quota.bound(ROOT, groups.knobs.quota.file),) if quota is not None and groups is not None else ()
        return root + tuple(
            value.bound(str(container_id), file)
            for container_id, pod in self._pods.copy().items()
            for file, value in pod.values.copy().items()
        )

    def quota_milli(self) -> int | None:
        """Return the quota that stands there now; None where there is none."""
        read = self._quota.read if self._quota is not None else None
        return None if read is None or read == NONE else read * 1000 // self._period_us

    def problem(self) -> str:
        return self._problem

    def written_groups(self) -> int | None:
        """Return how many groups have what was written; None before the word that holds now was acted upon."""
        looked = self._looked
        return looked[1] if looked is not None and looked[0] == self._said else None

    def best_effort(self) -> str:
        """Return the path of the group that they are in, below the mount; empty where it was not looked for."""
        return self._best_effort

    async def killed_at_limit(self, container_id: ContainerId) -> str:
        """Say that the kernel ended a process of the container at its limit; empty: not as far as is known."""
        return await self._threads.run(self._killed, container_id)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            is_nothing = self._said is not None and self._said.is_nothing
            if is_nothing and (not self._is_undone() or self.written_groups() is None):
                await self._threads.run(self.look, ())
            await self._clock.sleep(INTERVAL_MS)

    async def hold(self, room: Room | None) -> None:
        """A second has passed; ``room`` is what was measured of the processors in the last ones, None: nothing."""
        if self._said is not None and not self._said.is_nothing:
            await self._threads.run(self.look, await self._running(), room)

    def look(self, running: Iterable[Batch], room: Room | None = None) -> None:
        """One second's work.  Blocks."""
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
                if self._groups is None:
                    layout = find_layout(self._mount, self._cgroup_root)
                    self._groups, self._best_effort = BestEffort(self._writable, layout), str(layout.best_effort)
                self._look(self._groups, record, said, running, room)
        except (OSError, LostReading) as error:
            problem = f"limits: {error}"
            self._let_go()
        if self._record is not None:
            self._looked = (said, self._record.written.groups)
        if problem and problem != self._problem:
            self._log.warning("limits_not_held", reason=problem)
        self._problem = problem

    def _look(
        self, groups: BestEffort, record: Record, said: Said, running: Iterable[Batch], room: Room | None
    ) -> None:
        """Raises OSError, LostReading."""
        batches = {batch.container_id: batch for batch in running}
        self._pods = {} if said.is_nothing else self._own(groups, batches)
        if said.limits:
            self._hold_pods(groups, record, batches)
        else:
            self._undo_pods(groups, record)
        if said.quota:
            self._hold_quota(groups, record, room)
        else:
            self._undo_quota(groups, record)
        if said.is_nothing and record.written.is_nothing:
            self._let_go()
            self._log.info("limits_undone")

    def _is_undone(self) -> bool:
        return self._record is not None and self._record.written.is_nothing

    def _let_go(self) -> None:
        if self._groups is not None:
            self._groups.close()
            self._groups = None

    def _own(self, groups: BestEffort, batches: Mapping[ContainerId, Batch]) -> dict[ContainerId, _Pod]:
        uids = {one: uid for one, uid in self._uids.items() if one in batches}
        pods = {one: pod for one, pod in self._pods.items() if one in batches and groups.has(pod.name)}
        for container_id in uids.keys() - pods.keys():
            found = self._found(groups, batches[container_id], uids[container_id])
            if found is not None:
                pods[container_id] = found
        return pods

    def _found(self, groups: BestEffort, batch: Batch, uid: str) -> _Pod | None:
        name = groups.name(uid, self._cgroup_root)
        if name is None or not groups.has(name) or not is_own(groups, name, batch.owner):
            return None
        try:
            return _Pod(
                name=name,
                is_master=batch.is_master,
                memory_mib=batch.memory_mib,
                oom_kills=groups.total(name, groups.knobs.oom_kills),
                at_limit=groups.number(name, groups.knobs.at_limit),
            )
        except (OSError, LostReading):
            return None

    def _hold_pods(self, groups: BestEffort, record: Record, batches: Mapping[ContainerId, Batch]) -> None:
        there = frozenset(name for name in record.written.pods if groups.has(name))
        record.pods(there | {pod.name for pod in self._pods.values()})
        for container_id, pod in self._pods.items():
            try:
                self._bound(groups, batches[container_id], pod)
            except (OSError, LostReading) as error:
                self._log.info("pod_not_bounded", container=str(container_id), reason=str(error))

    def _bound(self, groups: BestEffort, batch: Batch, pod: _Pod) -> None:
        knobs = groups.knobs
        used = groups.number(pod.name, knobs.used)
        if used > limit_bytes(batch.memory_mib):  # what was read once from files may be a part of it
            used -= groups.number(pod.name, knobs.inactive_file)
        pod.memory_mib = batch.memory_mib
        before = {file: value.decided for file, value in pod.values.items()}
        decided = planned(
            knobs, memory_mib=batch.memory_mib, vcores=batch.vcores, used_bytes=max(0, used), before=before
        )
        for knob in knobs.of_pods:
            amount = decided[knob.file]
            value = pod.values.setdefault(knob.file, Value(decided=amount))
            if value.hold(amount, partial(groups.read, pod.name, knob), partial(groups.write, pod.name, knob)):
                self._log.info("limit_put_back", pod=pod.name, file=knob.file, value=amount)

    def _hold_quota(self, groups: BestEffort, record: Record, room: Room | None) -> None:
        milli = last = record.written.quota_milli
        if room is not None:
            milli = quota_of(room, masters=sum(pod.is_master for pod in self._pods.values()), last=last)
        if milli is None:
            return  # nothing is measured yet, and nothing was decided in an earlier life
        record.quota_milli(milli)
        self._period_us = groups.period_us()
        amount = quota_us(milli, self._period_us)
        value = self._quota = self._quota or Value(decided=amount)
        if value.hold(amount, groups.read_quota, groups.write_quota):
            self._log.info("quota_put_back", value=amount)

    def _undo_pods(self, groups: BestEffort, record: Record) -> None:
        """What cannot be undone now is tried again, and stays in the file until then.  Raises OSError: of the last."""
        left: set[str] = set()
        failed: OSError | None = None
        for name in record.written.pods:
            try:
                if groups.has(name) and not _is_undone(groups, name):
                    left.add(name)
            except OSError as error:
                left, failed = left | {name}, error
        record.pods(frozenset(left))
        for pod in self._pods.values():
            pod.values.clear()
        if failed is not None:
            raise failed

    def _undo_quota(self, groups: BestEffort, record: Record) -> None:
        self._quota = None
        if record.written.quota_milli is not None:
            groups.write_quota(NONE)
            if groups.read_quota() == NONE:
                record.quota_milli(None)

    def _killed(self, container_id: ContainerId) -> str:
        pod, groups = self._pods.get(container_id), self._groups
        if pod is None or groups is None:
            return ""
        try:
            kills = groups.total(pod.name, groups.knobs.oom_kills) - pod.oom_kills
            met = groups.number(pod.name, groups.knobs.at_limit) - pod.at_limit
        except (OSError, LostReading):
            return ""
        if kills <= 0 or met <= 0:
            return ""
        return (
            f"Container [containerID={container_id}] is running beyond the 'PHYSICAL' memory limit. "
            f"{pod.memory_mib} MB were granted, and the kernel has ended a process at the limit of "
            f"{limit_bytes(pod.memory_mib) >> 20} MB. Killing container.\n"
        )


def _not_mounted(said: Said, record: Record) -> str:
    if not said.is_nothing:
        return NOT_MOUNTED.format("limits are" if said.limits else "a quota is")
    if record.written.is_nothing:
        return ""
    return NOT_UNDONE.format("limits were" if record.written.pods else "quotas were")


def _is_undone(groups: BestEffort, name: str) -> bool:
    values = kubelets(groups.knobs)
    for knob in groups.knobs.of_pods:
        if groups.read(name, knob) != values[knob.file]:
            groups.write(name, knob, values[knob.file])
    return all(groups.read(name, knob) == values[knob.file] for knob in groups.knobs.of_pods)
