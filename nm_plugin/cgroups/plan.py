"""Plans the files of a batch pod's group (weight and memory limit) and the quota of the best-effort group.  Pure.

A vcore weighs as much as a best-effort pod does by default, so batch pods share by their requests, and a pod of
somebody else is worth one vcore.  The memory limit is above the container's allocation: the agent's own check, which
explains itself to the user, comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nm_plugin.cgroups.layout import V1, V2, Number

NONE: Final = -1
"""No limit."""
OVERHEAD_LEAST_MIB: Final = 64
OVERHEAD_PERCENT: Final = 10
MIB: Final = 1 << 20
UNLIMITED_BYTES: Final = 1 << 62
"""The value below all that cgroup v1 shows where there is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A file that is written: ``kubelets`` is what the kubelet gives it, ``most`` the largest that the kernel takes."""

    controller: str
    file: str
    kubelets: int
    most: int = UNLIMITED_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """Names the files of one version of cgroups.

    ``quota`` is of the best-effort group, in microseconds of its ``period``; all others are of a pod's.  ``oom_kills``
    counts in the group of the killed process, and ``at_limit`` how often the limit of a group was met.
    """

    weight: Knob
    high: Knob | None
    limit: Knob
    quota: Knob
    period: Number
    no_limit: str
    used: Number
    inactive_file: Number
    oom_kills: Number
    at_limit: Number

    @property
    def of_pods(self) -> tuple[Knob, ...]:
        """Return a pod's files in the order in which they are written."""
        return tuple(knob for knob in (self.weight, self.high, self.limit) if knob is not None)


KNOBS: Final[Mapping[str, Knobs]] = {
    V1.name: Knobs(
        weight=Knob(controller="cpu", file="cpu.shares", kubelets=2, most=262_144),
        high=None,
        limit=Knob(controller="memory", file="memory.limit_in_bytes", kubelets=NONE),
        quota=Knob(controller="cpu", file="cpu.cfs_quota_us", kubelets=NONE),
        period=V1.period,
        no_limit="-1",
        used=V1.memory,
        inactive_file=V1.inactive_file,
        oom_kills=Number(controller="memory", file="memory.oom_control", key="oom_kill"),
        at_limit=Number(controller="memory", file="memory.failcnt"),
    ),
    V2.name: Knobs(
        weight=Knob(controller="", file="cpu.weight", kubelets=1, most=10_000),
        high=Knob(controller="", file="memory.high", kubelets=NONE),
        limit=Knob(controller="", file="memory.max", kubelets=NONE),
        quota=Knob(controller="", file="cpu.max", kubelets=NONE),
        period=V2.period,
        no_limit="max",
        used=V2.memory,
        inactive_file=V2.inactive_file,
        oom_kills=Number(controller="", file="memory.events", key="oom_kill"),
        at_limit=Number(controller="", file="memory.events", key="max"),
    ),
}
POD_FILES: Final = frozenset(knob.file for knobs in KNOBS.values() for knob in knobs.of_pods)
"""All that is ever written in groups of pods; of the best-effort group itself it is the quota."""
QUOTA_LEAST_US: Final = 1000
"""The kernel takes no less."""


def limit_bytes(memory_mib: int) -> int:
    """Return the limit of a container that was granted so much."""
    return (memory_mib + max(OVERHEAD_LEAST_MIB, -(-memory_mib * OVERHEAD_PERCENT // 100))) * MIB


def planned(
    knobs: Knobs, *, memory_mib: int, vcores: int, used_bytes: int, before: Mapping[str, int]
) -> dict[str, int]:
    """Return the value of each file.

    ``before`` is what was decided the last time.  A limit that the pod is already above is come down to: it is a little
    more than what is used, and only falls; until it is there, ``memory.high`` has the kernel press, where there is one.
    """
    weight = min(max(1, vcores) * knobs.weight.kubelets, knobs.weight.most)
    wanted = limit_bytes(memory_mib)
    limit = wanted
    if used_bytes > wanted:
        limit = -(-(used_bytes + OVERHEAD_LEAST_MIB * MIB) // MIB) * MIB
        last = before.get(knobs.limit.file, NONE)
        if used_bytes <= last < limit:
            limit = last
    values = {knobs.weight.file: weight}
    if knobs.high is not None:
        values[knobs.high.file] = wanted if limit > wanted else NONE
    return {**values, knobs.limit.file: limit}


def kubelets(knobs: Knobs) -> dict[str, int]:
    """Return the kubelet's own values, which undo every change."""
    return {knob.file: knob.kubelets for knob in knobs.of_pods}


def quota_us(quota_milli: int, period_us: int) -> int:
    """Return the microseconds of each period."""
    return max(QUOTA_LEAST_US, quota_milli * period_us // 1000)


def as_text(knobs: Knobs, value: int) -> str:
    return knobs.no_limit if value == NONE else str(value)


def as_value(knobs: Knobs, text: str) -> int | None:
    """Return the number that a file shows, None where it is none; ``cpu.max`` shows the period after it."""
    word = next(iter(text.split()), "")
    if word == knobs.no_limit:
        return NONE
    if not word.isascii() or not word.isdecimal() or len(word) > 20:
        return None
    return NONE if int(word) >= UNLIMITED_BYTES else int(word)
