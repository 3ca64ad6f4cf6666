"""The weight and the memory limit of Yodel's own batch pods, held while the policy says so, and undone after that.

Each second every pod is planned anew, and what does not stand in its file is written: a value that somebody changed is
put back and counted.  Which pods were written is kept in a file before they are, so that an agent that starts again can
undo what its last life did.  The end of the agent changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from nm_plugin.capacity.clock import Clock
from nm_plugin.capacity.own_pods import Owner, is_own
from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.plan import Knob, kubelets, limit_bytes, planned
from nm_plugin.cgroups.writer import BestEffort
from nm_plugin.container.life import Container, State
from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically
from nm_plugin.host.users import Accounts, FileThreads
from nm_plugin.launch.survivors import Marks
from yodel.domain.colocation.report import Bound
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError

INTERVAL_MS = 1000
FILE_NAME = "limits.json"
NOT_MOUNTED = "limits are on, and the agent has no best-effort group to write them to"

NOT_UNDONE = "limits were written in an earlier life, and the agent has no best-effort group any more to undo them in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A running container as it is bounded."""

    container_id: ContainerId
    owner: Owner
    memory_mib: int
    vcores: int


@dataclass(slots=True, kw_only=True)
class _Pod:
    """What is known of a pod whose group is proved to be Yodel's."""

    name: str
    memory_mib: int
    oom_kills: int
    at_limit: int
    decided: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    read: dict[str, int | None] = field(default_factory=dict)
    put_back: dict[str, int] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)


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
        )
        for container in running
        if container.user in uids
    ]


class Bounds:
    """``writable`` is where the best-effort group of ``mount`` may be written; None: nowhere, and nothing ever is.

    ``running`` lists the containers that run.
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
        self._file = state_dir / FILE_NAME
        self._is_on: bool | None = None
        self._uids: dict[ContainerId, str] = {}
        self._pods: dict[ContainerId, _Pod] = {}
        self._recorded: set[str] | None = None
        self._groups: BestEffort | None = None
        self._best_effort = ""
        self._looked: tuple[bool, int] | None = None
        self._problem = ""
        self._log = structlog.get_logger(__name__)

    def obey(self, is_on: bool, uids: Mapping[ContainerId, str], known: Iterable[ContainerId]) -> None:
        """Take what an answer of the ResourceManager said: whether there are limits, and pods not named before.

        Each is named once, often before its container runs: it is kept for as long as the container is ``known``.
        """
        self._is_on = is_on
        told = {**self._uids, **uids} if is_on else {}
        self._uids = {one: told[one] for one in known if one in told} if told else {}

    def shown(self) -> tuple[Bound, ...]:
        """Return what is bounded now."""
        return tuple(
            Bound(
                container=str(container_id),
                file=file,
                decided=value,
                written=pod.written.get(file),
                read=pod.read.get(file),
                put_back=pod.put_back.get(file, 0),
                why=pod.why.get(file, ""),
            )
            for container_id, pod in self._pods.copy().items()
            for file, value in pod.decided.copy().items()
        )

    def problem(self) -> str:
        return self._problem

    def written_groups(self) -> int | None:
        """Return how many groups have what was written; None before the word that holds now was acted upon."""
        looked = self._looked
        return looked[1] if looked is not None and looked[0] == self._is_on else None

    def best_effort(self) -> str:
        """Return the path of the group that they are in, below the mount; empty where it was not looked for."""
        return self._best_effort

    async def killed_at_limit(self, container_id: ContainerId) -> str:
        """Say that the kernel ended a process of the container at its limit; empty: not as far as is known."""
        return await self._threads.run(self._killed, container_id)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if self._is_on or (self._is_on is False and (self._recorded != set() or self.written_groups() is None)):
                await self._threads.run(self.look, await self._running() if self._is_on else ())
            await self._clock.sleep(INTERVAL_MS)

    def look(self, running: Iterable[Batch]) -> None:
        """One second's work.  Blocks."""
        is_on = self._is_on
        if is_on is None:
            return  # nobody has said yet whether there are limits: what stands there stays
        problem = ""
        try:
            if self._recorded is None:
                self._recorded = read_or_drop(self._file, lambda said: {str(one) for one in said["pods"]}) or set()
            if self._writable is None:
                problem = NOT_MOUNTED if is_on else NOT_UNDONE if self._recorded else ""
            elif is_on or self._recorded:
                if self._groups is None:
                    layout = find_layout(self._mount, self._cgroup_root)
                    self._groups, self._best_effort = BestEffort(self._writable, layout), str(layout.best_effort)
                if is_on:
                    self._hold(self._groups, running)
                else:
                    self._undo(self._groups)
        except (OSError, LostReading) as error:
            problem = f"limits: {error}"
            self._let_go()
        if self._recorded is not None:
            self._looked = (is_on, len(self._recorded))
        if problem and problem != self._problem:
            self._log.warning("limits_not_held", reason=problem)
        self._problem = problem

    def _let_go(self) -> None:
        if self._groups is not None:
            self._groups.close()
            self._groups = None

    def _hold(self, groups: BestEffort, running: Iterable[Batch]) -> None:
        batches = {batch.container_id: batch for batch in running}
        uids = {one: uid for one, uid in self._uids.items() if one in batches}
        pods = {one: pod for one, pod in self._pods.items() if one in batches and groups.has(pod.name)}
        for container_id in uids.keys() - pods.keys():
            found = self._found(groups, batches[container_id], uids[container_id])
            if found is not None:
                pods[container_id] = found
        self._record({pod.name for pod in pods.values()} | {name for name in self._recorded or () if groups.has(name)})
        self._pods = pods
        for container_id, pod in pods.items():
            try:
                self._bound(groups, batches[container_id], pod)
            except (OSError, LostReading) as error:
                self._log.info("pod_not_bounded", container=str(container_id), reason=str(error))

    def _found(self, groups: BestEffort, batch: Batch, uid: str) -> _Pod | None:
        name = groups.name(uid, self._cgroup_root)
        if name is None or not groups.has(name) or not is_own(groups, name, batch.owner):
            return None
        try:
            return _Pod(
                name=name,
                memory_mib=batch.memory_mib,
                oom_kills=groups.total(name, groups.knobs.oom_kills),
                at_limit=groups.number(name, groups.knobs.at_limit),
            )
        except (OSError, LostReading):
            return None

    def _bound(self, groups: BestEffort, batch: Batch, pod: _Pod) -> None:
        knobs = groups.knobs
        used = groups.number(pod.name, knobs.used)
        if used > limit_bytes(batch.memory_mib):  # what was read once from files may be a part of it
            used -= groups.number(pod.name, knobs.inactive_file)
        pod.memory_mib = batch.memory_mib
        decided = planned(
            knobs, memory_mib=batch.memory_mib, vcores=batch.vcores, used_bytes=max(0, used), before=pod.decided
        )
        for knob in knobs.all:
            value, before = decided[knob.file], pod.decided.get(knob.file)
            pod.decided[knob.file] = value
            self._set(groups, pod, knob, value, is_drift=before == value and pod.written.get(knob.file) == value)

    def _set(self, groups: BestEffort, pod: _Pod, knob: Knob, value: int, *, is_drift: bool) -> None:
        """Write what does not stand there, and read back."""
        pod.read[knob.file] = groups.read(pod.name, knob)
        if pod.read[knob.file] == value:
            pod.written[knob.file] = value
            pod.why[knob.file] = ""
            return
        try:
            groups.write(pod.name, knob, value)
            pod.written[knob.file] = value
            pod.why[knob.file] = ""
        except OSError as error:
            pod.why[knob.file] = f"not written: {error.strerror}"
        pod.read[knob.file] = groups.read(pod.name, knob)
        if is_drift:
            pod.put_back[knob.file] = pod.put_back.get(knob.file, 0) + 1
            self._log.info("limit_put_back", pod=pod.name, file=knob.file, value=value)

    def _undo(self, groups: BestEffort) -> None:
        """What cannot be undone now is tried again, and stays in the file until then.  Raises OSError: of the last."""
        left: set[str] = set()
        failed: OSError | None = None
        for name in self._recorded or ():
            try:
                if groups.has(name) and not self._is_undone(groups, name):
                    left.add(name)
            except OSError as error:
                left, failed = left | {name}, error
        self._record(left)
        self._pods = {}
        if failed is not None:
            raise failed
        if not left:
            self._let_go()
            self._log.info("limits_undone")

    @staticmethod
    def _is_undone(groups: BestEffort, name: str) -> bool:
        values = kubelets(groups.knobs)
        for knob in groups.knobs.all:
            if groups.read(name, knob) != values[knob.file]:
                groups.write(name, knob, values[knob.file])
        return all(groups.read(name, knob) == values[knob.file] for knob in groups.knobs.all)

    def _record(self, names: set[str]) -> None:
        if names == self._recorded:
            return
        if names:
            write_atomically(self._file, {"format": FORMAT, "pods": sorted(names)})
        else:
            self._file.unlink(missing_ok=True)
        self._recorded = names

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
