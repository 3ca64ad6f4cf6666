"""Finds the container of a process: the one reader for the memory check, kills, notices, measuring and emergencies.

It belongs to the pod whose control group it is in.  The ResourceManager names a container's pod, the kubelet makes the
group, and no process of a container can leave it: by another session, another parent, or another environment.

Where the ResourceManager has named no pod (a container of before an upgrade) or the pod has no group (a kubelet whose
pods are processes), a process is looked at for marks: the container's id and a directory of this agent in its
environment, what has such an ancestor or session, and what was seen in its tree before.  These are words of the user's
own processes, so a look is bounded: so many processes of one user, so many bytes of each, so long for all.  What a look
did not get to is for the caller to doubt (``is_whole``).

Blocks.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nm_plugin.cgroups.layout import pod_uid_in
from nm_plugin.host.processes import Process, ProcessTable
from nm_plugin.host.users import FileThreads
from yodel.domain.ids import ContainerId

LOOKED_AT_MAX = 2_048
"""Processes of one user in a look for marks."""
LOOK_S = 0.1
"""The seconds of a processor for the processes of one user."""
SANDBOX_PROGRAM = "pause"
"""The program with which container runtimes keep a pod's namespaces."""
_IDS = (b"\0CONTAINER_ID=", b"\0YODEL_CONTAINER_ID=")

Seen = frozenset[tuple[int, int]]
"""Pids with their start ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A container as its processes are looked for.

    ``pod_uid`` is what the ResourceManager named, empty: nothing yet.  ``user_uid`` and ``application_dir`` restrict
    marks.  ``claimed_pid`` is its script's number, as the pod's shell has written it.
    """

    container_id: ContainerId
    pod_uid: str = ""
    user_uid: int
    application_dir: Path
    claimed_pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """A container's processes, the oldest first.

    ``is_proved``: by their pod's group, so they are all that there are, but for the first of the pod where that is the
    container runtime's own.  ``is_whole``: the look came to its end.
    """

    processes: tuple[Process, ...] = ()
    is_proved: bool = False
    is_whole: bool = True


class ProcessListing:
    """All processes at one moment.  ``owners`` are those that will be asked for."""

    def __init__(
        self, table: ProcessTable, owners: Iterable[Owner], clock_s: Callable[[], float] = time.thread_time
    ) -> None:
        self._table, self._owners, self._clock_s = table, tuple(owners), clock_s
        self._hurried: set[int] = set()
        """Users of whom not all was looked at."""
        self._processes = {one.pid: one for one in table.processes() if not one.is_kernels}
        pods = {pid: pod_uid_in(table.groups(process)) for pid, process in self._processes.items()}
        own = pods.get(os.getpid())  # all may run in one pod: in that of somebody who tries ``yodel local`` there
        self._pods: dict[int, str] = {pid: uid if uid != own else "" for pid, uid in pods.items()}

    def of(self, owner: Owner, seen: Seen = frozenset()) -> Members:
        """Return the owner's processes; those of ``seen`` were its own before."""
        in_pod, still = self._by_pod.get(owner.pod_uid), {pid for pid, start in seen if self._is_still(pid, start)}
        if in_pod:  # and what has left its group, on its way out
            leaving = still - {one.pid for one in in_pod}
            processes = _oldest_first([*in_pod, *(self._processes[pid] for pid in leaving)])
            is_sandbox = self._table.program(processes[0].pid) == SANDBOX_PROGRAM
            return Members(processes=processes[1:] if is_sandbox else processes, is_proved=True)
        found = self._marked.get(owner.container_id, set()) | still
        return Members(
            processes=_oldest_first(self._processes[pid] for pid in self._with_their_own(found)),
            is_whole=owner.user_uid not in self._hurried,
        )

    def pod_uid(self, owner: Owner) -> str:
        """Return the named one; of a container without a name the pod of its processes, as far as marks tell."""
        if owner.pod_uid:
            return owner.pod_uid
        return next((uid for one in self.of(owner).processes if (uid := self._pods[one.pid])), "")

    @cached_property
    def _by_pod(self) -> Mapping[str, list[Process]]:
        found: dict[str, list[Process]] = {one.pod_uid: [] for one in self._owners if one.pod_uid}
        for pid, uid in self._pods.items():
            if uid in found and not self._processes[pid].has_ended:
                found[uid].append(self._processes[pid])
        return found

    @cached_property
    def _marked(self) -> Mapping[ContainerId, set[int]]:
        """Processes that name their container."""
        doubtful = [one for one in self._owners if not self._by_pod.get(one.pod_uid)]
        found: dict[ContainerId, set[int]] = {one.container_id: set() for one in doubtful}
        for user_uid in {one.user_uid for one in doubtful}:
            owners = {str(one.container_id).encode(): one for one in doubtful if one.user_uid == user_uid}
            candidates = self._candidates(user_uid, owners.values())
            until_s = self._clock_s() + LOOK_S
            for number, process in enumerate(candidates):
                if number >= LOOKED_AT_MAX or self._clock_s() >= until_s:
                    self._hurried.add(user_uid)
                    break
                owner = self._named_by(process, owners)
                if owner is not None:
                    found[owner.container_id].add(process.pid)
        return found

    def _candidates(self, user_uid: int, owners: Iterable[Owner]) -> list[Process]:
        """The user's processes, the oldest first, for what a container begins with is older than what it forks.

        Not in a pod, where the ResourceManager has named the pods of all of them: then it is none of these.
        """
        are_named = all(one.pod_uid for one in owners)
        return [
            one
            for one in _oldest_first(self._processes.values())
            if not one.has_ended
            and not (are_named and self._pods[one.pid])
            and self._table.user_uid(one.pid) == user_uid
        ]

    def _named_by(self, process: Process, owners: Mapping[bytes, Owner]) -> Owner | None:
        """Return whom its id and directory name; by its id alone only the script that the pod's shell has claimed."""
        environ = self._table.environ(process)
        own, shells = (_value(environ, name) for name in _IDS)
        owner = owners.get(own)
        if owner is not None and os.fsencode(owner.application_dir) in _value(environ, b"\0LOCAL_DIRS=").split(b","):
            return owner
        owner = owner or owners.get(shells)
        is_script = owner is not None and owner.claimed_pid == self._table.inner_pid(process.pid)
        return owner if is_script else None

    def _with_their_own(self, found: set[int]) -> set[int]:
        """Return the processes with their sessions and all below them."""
        listed = self._processes
        leaders = {pid for pid in found if listed[pid].session == pid}
        found = found | {one.pid for one in listed.values() if one.session in leaders}
        left = list(found)
        while left:
            for pid in self._children.get(left.pop(), ()):
                if pid not in found:
                    found.add(pid)
                    left.append(pid)
        return {pid for pid in found if not listed[pid].has_ended} - {os.getpid()}

    @cached_property
    def _children(self) -> Mapping[int, list[int]]:
        children: dict[int, list[int]] = {}
        for one in self._processes.values():
            children.setdefault(one.parent, []).append(one.pid)
        return children

    def _is_still(self, pid: int, start_ticks: int) -> bool:
        one = self._processes.get(pid)
        return one is not None and one.start_ticks == start_ticks and not one.has_ended


def _oldest_first(processes: Iterable[Process]) -> tuple[Process, ...]:
    return tuple(sorted(processes, key=lambda one: (one.start_ticks, one.pid)))


def _value(environ: bytes, name: bytes) -> bytes:
    """Return the value of a variable without parsing the others; empty if it is not set."""
    start = environ.find(name)
    if start < 0:
        return b""
    start += len(name)
    return environ[start : environ.find(b"\0", start)]


class ProcessWatch:
    """Listings for those that wait until something has ended: one pass over all processes serves all who ask."""

    def __init__(self, threads: FileThreads, table: ProcessTable) -> None:
        self._threads, self.table = threads, table
        self._asking: dict[ContainerId, Owner] = {}
        self._begun = 0
        self._last: ProcessListing | None = None
        self._alone = asyncio.Lock()

    async def of(self, owner: Owner, seen: Seen = frozenset()) -> Members:
        """Return the owner's processes, from a listing that began after the call."""
        asked_at = self._begun
        self._asking[owner.container_id] = owner
        async with self._alone:
            if self._begun == asked_at or self._last is None:
                owners, self._asking, self._last = {**self._asking, owner.container_id: owner}, {}, None
                self._begun += 1
                self._last = await self._threads.run(ProcessListing, self.table, owners.values())
            listing = self._last
        return await self._threads.run(listing.of, owner, seen)

    async def kill(self, processes: Iterable[Process]) -> int:
        """Send SIGKILL, in this order; return how many there were.

        The oldest first: with the first process of a pid namespace the kernel ends all in it, whatever they fork.
        """
        return await self._threads.run(lambda: sum(self.table.send(one, signal.SIGKILL) for one in processes))
