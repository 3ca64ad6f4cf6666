"""Judges whether a node's memory runs short: when that begins and ends, who goes first, what the agent tells.  Pure.

An emergency is the node agent's own: it cannot wait for an answer.  It begins with the second of two readings over a
mark, memory that is used or time that is lost to waiting for memory, and lasts until a reading below the lower mark.  A
reading that was lost says nothing: it ends nobody, and ends no emergency.

Used is judged of the node, and of what the kubelet lets all pods use together where it has set that a limit: it evicts
pods there too, however much of the node is free.

Stalls count only where memory is used up to the lower mark.  A pod that works at its own limit stalls all the same, and
no other pod's end would give it more.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from yodel.domain.ids import ContainerId

HIGH_PERCENT = 90
LOW_PERCENT = 85
STALL_PERCENT = 10.0
ABSURD_PERCENT = 110
"""The most of a node's memory that is believed: more cannot be used."""
READINGS = 2
APART_MS = 4_000
"""From one container that is ended to the next: what the first one frees has to be seen."""
STALLS_FOR_MS = 10_000
"""The mean of stalls is of so long: until then it tells of what was before."""
GOING_MS = 30_000
"""Nobody else is ended while the last one is on its way out, unless it takes longer."""
COOL_DOWN_MS = 60_000
"""Nothing new starts on the node for so long after its emergency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEmergency:
    """Holds an agent's report with each heartbeat, from the beginning of an emergency to the end of its cool-down.

    ``reason`` is the measured cause; nothing new may start on the node for ``cool_down_s`` seconds; ``containers`` are
    the last that were ended for it.
    """

    reason: str
    cool_down_s: int
    containers: tuple[ContainerId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One reading: what is used of the node's memory without files that were read once, and the percent of the last ten
    seconds in which all that ran waited for memory (None: not known).  ``pods_size_mib`` is what all pods together may
    use, of which they use ``pods_used_mib``; None: they have no limit of their own."""

    used_mib: int
    size_mib: int
    stall_percent: float | None = None
    pods_used_mib: int = 0
    pods_size_mib: int | None = None

    @property
    def is_absurd(self) -> bool:
        return not 0 <= self.used_mib * 100 <= self.size_mib * ABSURD_PERCENT or self.size_mib <= 0

    @property
    def is_high(self) -> bool:
        return any(used * 100 >= size * HIGH_PERCENT for _, used, size in self._shares)

    @property
    def is_low(self) -> bool:
        return all(used * 100 <= size * LOW_PERCENT for _, used, size in self._shares)

    @property
    def is_stalled(self) -> bool:
        return self.stall_percent is not None and self.stall_percent > STALL_PERCENT and not self.is_low

    @property
    def _shares(self) -> list[tuple[str, int, int]]:
        """Return name, used MiB and size in MiB of the node's memory, and of the pods' if it is limited."""
        node = ("node", self.used_mib, self.size_mib)
        return [node] if not self.pods_size_mib else [node, ("kubepods", self.pods_used_mib, self.pods_size_mib)]

    def __str__(self) -> str:
        """Return the text for the memory of which most is used."""
        whose, mib, size_mib = max(self._shares, key=lambda share: share[1] / share[2])
        used = f"{whose} memory {mib / 1024:.1f} GiB of {size_mib / 1024:.1f} GiB ({mib * 100 // size_mib} %)"
        return used if not self.is_stalled else f"{used}, stalled {self.stall_percent:.0f} % of the time"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyState:
    """Carries the state of an emergency from one reading to the next.

    ``over`` counts readings in a row; ``is_full``: the cause is used memory; ``until_ms``: the end of the cool-down, as
    things are; ``ended_ms``: when a container was last ended for it; ``ended``: the last ones.
    """

    over: int = 0
    is_on: bool = False
    is_full: bool = False
    reason: str = ""
    until_ms: int | None = None
    ended_ms: int | None = None
    ended: tuple[ContainerId, ...] = ()

    def told(self, now_ms: int) -> MemoryEmergency | None:
        """Return the report for the next heartbeat; None: there is nothing to report."""
        if self.until_ms is None or now_ms >= self.until_ms:
            return None
        left_s = math.ceil((self.until_ms - now_ms) / 1000)
        return MemoryEmergency(reason=self.reason, cool_down_s=left_s, containers=self.ended)


def judged(state: EmergencyState, memory: Memory | None, now_ms: int) -> EmergencyState:
    """Take a reading in; None: it was lost."""
    if state.until_ms is not None and now_ms >= state.until_ms:
        state = EmergencyState()
    if memory is None or memory.is_absurd:
        return replace(state, over=0)
    is_full = memory.is_high or (state.is_on and state.is_full and not memory.is_low)
    is_over = is_full or memory.is_stalled
    over = state.over + 1 if is_over else 0
    if not is_over or not (state.is_on or over >= READINGS):
        return replace(state, over=over, is_on=False, is_full=False)
    return replace(state, over=over, is_on=True, is_full=is_full, reason=str(memory), until_ms=now_ms + COOL_DOWN_MS)


def is_one_to_end(state: EmergencyState, now_ms: int, living: Container[ContainerId] = ()) -> bool:
    """Return True if a container must be ended after the last reading; ``living`` have not ended yet."""
    if not state.is_on or not state.over:
        return False
    if state.ended_ms is None:
        return True
    apart_ms = APART_MS if state.is_full else STALLS_FOR_MS
    if state.ended[-1] in living:
        apart_ms = GOING_MS
    return now_ms - state.ended_ms >= apart_ms


def with_ended(state: EmergencyState, container_id: ContainerId, now_ms: int, kept: int) -> EmergencyState:
    """A container was ended for it; the last ``kept`` are told."""
    return replace(state, ended_ms=now_ms, ended=(*state.ended, container_id)[-kept:])


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyCandidate:
    """A container on lent capacity.  ``over_mib``: what it uses beyond what a container of its size may."""

    container_id: ContainerId
    started_ms: int
    is_master: bool = False
    is_running: bool = True
    over_mib: int = 0


def first_to_go(candidates: Iterable[EmergencyCandidate], ranks: Sequence[ContainerId]) -> EmergencyCandidate | None:
    """Return the container to end; None: there is none.

    Who uses more than it was granted goes before who does not, be it an ApplicationMaster, and whatever the ranks: one
    container must not be able to have others ended.  Of the others ApplicationMasters go last, and what does not run
    yet uses little.  Then as ``ranks`` say; who has none is newer than those who have, and goes before them, newest
    first.
    """
    places: Mapping[ContainerId, int] = {container_id: place for place, container_id in enumerate(ranks)}

    def turn(one: EmergencyCandidate) -> tuple[int, bool, bool, int, int, int, int]:
        newest = (-one.started_ms, -one.container_id.application_id.sequence, -one.container_id.number)
        return -one.over_mib, one.is_master, not one.is_running, places.get(one.container_id, -1), *newest

    return min(candidates, key=turn, default=None)
