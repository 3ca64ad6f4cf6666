"""The node agent's emergency at work: each reading of the node's memory is judged, and one container at a time ended.

Only containers on lent capacity are, as PREEMPTED, which is nobody's failure.  The ResourceManager hears of each end,
and of the emergency, with a heartbeat before its time; until the cool-down is over it places nothing new here.  What
arrives all the same may start: while memory runs short it is the first to go again.

It refuses to act without cgroups: there is nothing that tells which containers run on lent capacity.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import structlog

from nm_plugin.capacity.clock import LoopClock
from nm_plugin.capacity.samples import Reading
from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import Files, LostReading
from nm_plugin.cgroups.memory_pressure import full_percent
from nm_plugin.cgroups.plan import limit_bytes
from nm_plugin.cgroups.pod_groups import PodGroups
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.processes import ProcessTable
from nm_plugin.host.users import FileThreads
from nm_plugin.launch.members import ProcessListing
from yodel.domain.colocation.emergency import (
    EmergencyCandidate,
    EmergencyState,
    Memory,
    MemoryEmergency,
    first_to_go,
    is_one_to_end,
    judged,
    with_ended,
)
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus
from yodel.errors import YodelError

TOLD_MAX = 16
"""Containers that were ended for it, of which heartbeats tell."""


class EmergencyWatch:
    """``take`` is called with each reading, from one task.  ``containers`` lists those of the node; ``end`` has one
    killed with an exit status and a text; ``changed``: the ResourceManager should be notified soon."""

    def __init__(
        self,
        mount: Path,
        cgroup_root: str,
        clock: LoopClock,
        threads: FileThreads,
        containers: Callable[[], Iterable[Container]],
        end: Callable[[ContainerId, int, str], Awaitable[None]],
        changed: Callable[[], None],
        proc: Path = Path("/proc"),
    ) -> None:
        self._mount, self._cgroup_root, self._clock, self._threads = mount, cgroup_root, clock, threads
        self._containers, self._end, self._changed, self._proc = containers, end, changed, proc
        self._course = EmergencyState()
        self._ranks: tuple[ContainerId, ...] = ()
        self._files = Files()
        self._groups, self._table = PodGroups(mount, cgroup_root), ProcessTable(proc)
        self._log = structlog.get_logger(__name__)

    def rank(self, container_ids: Sequence[ContainerId]) -> None:
        """Take over the order in which containers would be ended; an empty one changes nothing."""
        if container_ids:
            self._ranks = tuple(container_ids)

    def told(self) -> MemoryEmergency | None:
        """Return the emergency to report with the next heartbeat; None: there is none."""
        return self._course.told(self._clock.now_ms())

    def stop(self) -> None:
        """Nothing is lent any more."""
        self._course = EmergencyState()

    async def take(self, read: Reading | LostReading) -> None:
        """Judge a reading, and end a container if one has to be stopped."""
        memory = await self._memory(read)
        now_ms, before = self._clock.now_ms(), self._course
        self._course = judged(before, memory, now_ms)
        if self._course.is_on is not before.is_on:
            event = "emergency" if self._course.is_on else "emergency_over"
            self._log.warning(event, reason=self._course.reason, now=str(memory))
            self._changed()
        if self._course.is_on:
            alive = [one for one in self._containers() if not one.state.is_complete]
            if is_one_to_end(self._course, now_ms, {one.container_id for one in alive}):
                await self._end_one(alive, now_ms)

    async def _end_one(self, alive: Sequence[Container], now_ms: int) -> None:
        candidates = await self._threads.run(self._candidates, alive)
        chosen = first_to_go(candidates, self._ranks)
        if chosen is None:
            return
        text = f"Container preempted by its node: {self._course.reason}; {_why(chosen, self._ranks)}."
        self._log.warning("container_stopped_in_emergency", container=str(chosen.container_id), reason=text)
        try:
            await self._end(chosen.container_id, ContainerExitStatus.PREEMPTED, text)
        except (YodelError, OSError) as error:  # tried again at the next reading
            self._log.error("container_not_stopped", container=str(chosen.container_id), reason=str(error))
            return
        self._course = with_ended(self._course, chosen.container_id, now_ms, TOLD_MAX)

    def _candidates(self, alive: Sequence[Container]) -> list[EmergencyCandidate]:
        """Return the containers that run on lent capacity.  Ranked ones do, so hiding a pod protects no container."""
        listed = [one for one in alive if one.state is not LifeState.KILLING]
        nameless = [owner for one in listed if not one.pod_uid and (owner := one.owner) is not None]
        processes = ProcessListing(self._table, nameless) if nameless else None
        ranked, found = set(self._ranks), []
        for container in listed:
            pod_uid, owner, doubt_mib = container.pod_uid, container.owner, 0
            if processes is not None and owner is not None and not pod_uid:
                pod_uid, doubt_mib = processes.pod_uid(owner), int(not processes.of(owner).is_whole)
            used_mib = self._groups.lent_mib(pod_uid)
            if used_mib is not None or container.container_id in ranked:
                found.append(_candidate(container, used_mib or 0, doubt_mib))
        return found

    async def _memory(self, read: Reading | LostReading) -> Memory | None:
        if isinstance(read, LostReading):
            return None
        counters = read.counters
        memory = Memory(
            used_mib=counters.memory_mib.node,
            size_mib=counters.memory_mib_size,
            pods_used_mib=counters.memory_mib.pods,
            pods_size_mib=read.memory_mib_for_pods,
        )
        if memory.is_absurd or memory.is_low:
            return memory
        return replace(memory, stall_percent=await self._threads.run(self._stall_percent))

    def _stall_percent(self) -> float | None:
        try:
            return full_percent(find_layout(self._mount, self._cgroup_root), self._files, self._proc)
        except LostReading:
            return None


def _candidate(container: Container, used_mib: int, doubt_mib: int) -> EmergencyCandidate:
    """``doubt_mib``: what it may use unseen."""
    return EmergencyCandidate(
        container_id=container.container_id,
        started_ms=container.creation_ms,
        is_master=container.is_master,
        is_running=container.state is LifeState.RUNNING,
        over_mib=max(doubt_mib, used_mib - (limit_bytes(container.resource.memory_mib) >> 20)),
    )


def _why(chosen: EmergencyCandidate, ranks: Sequence[ContainerId]) -> str:
    if chosen.over_mib:
        return f"it uses {chosen.over_mib} MiB more than its limit"
    if chosen.container_id in ranks:
        return f"it is number {ranks.index(chosen.container_id) + 1} of {len(ranks)} in the order of preemption"
    return "it is the newest"
