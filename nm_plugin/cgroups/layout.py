"""Tabulates where the kubelet keeps its groups and which files count what, in cgroup v1 and v2.  Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from yodel.domain.colocation.groups import BEST_EFFORT as BEST_EFFORT
from yodel.domain.colocation.groups import DRIVERS as DRIVERS

PODS: Final = ("kubepods",)
BURSTABLE: Final = ("kubepods", "burstable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Locates a number: ``key`` is the word before it, if the file has a number on each line.

    ``word`` counts the words of a file that has several on one line.  ``controller`` is the hierarchy of cgroup v1.
    """

    controller: str
    file: str
    key: str = ""
    word: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The files of one version of cgroups.

    ``mark``: what stands in the mount of this version only.  ``cpu_per_us``: units of the CPU counter in a microsecond.
    ``held``: memory of processes, and files in memory.  ``unlimited``: words that say that there is no limit.
    """

    name: str
    mark: str
    cpu: Number
    cpu_per_us: int
    memory: Number
    inactive_file: Number
    held: tuple[Number, ...]
    cpus: Number
    quota: Number
    period: Number
    memory_limit: Number
    unlimited: tuple[str, ...]


V2: Final = Version(
    name="cgroup v2",
    mark="cgroup.controllers",
    cpu=Number(controller="", file="cpu.stat", key="usage_usec"),
    cpu_per_us=1,
    memory=Number(controller="", file="memory.current"),
    inactive_file=Number(controller="", file="memory.stat", key="inactive_file"),
    held=tuple(Number(controller="", file="memory.stat", key=key) for key in ("anon", "shmem")),
    cpus=Number(controller="", file="cpuset.cpus.effective"),
    quota=Number(controller="", file="cpu.max", word=0),
    period=Number(controller="", file="cpu.max", word=1),
    memory_limit=Number(controller="", file="memory.max"),
    unlimited=("max",),
)
V1: Final = Version(
    name="cgroup v1",
    mark="cpuacct/cpuacct.usage",
    cpu=Number(controller="cpuacct", file="cpuacct.usage"),
    cpu_per_us=1000,
    memory=Number(controller="memory", file="memory.usage_in_bytes"),
    inactive_file=Number(controller="memory", file="memory.stat", key="total_inactive_file"),
    held=tuple(Number(controller="memory", file="memory.stat", key=key) for key in ("total_rss", "total_shmem")),
    cpus=Number(controller="cpuset", file="cpuset.cpus"),
    quota=Number(controller="cpu", file="cpu.cfs_quota_us"),
    period=Number(controller="cpu", file="cpu.cfs_period_us"),
    memory_limit=Number(controller="memory", file="memory.limit_in_bytes"),
    unlimited=("-1",),
)
VERSIONS: Final = (V2, V1)


POD_UID: Final = re.compile(r"[0-9a-f][0-9a-f-]{0,62}")
_POD = re.compile(r"/(?:[^/\n]*-)?pod([0-9a-f][0-9a-f_-]{0,62})(?:\.slice)?(?=/|$)", re.MULTILINE)


def pod_uid_in(groups: str) -> str:
    """Return the uid of the pod that a process is in, by its ``/proc/PID/cgroup``; empty: it is in none.

    The outermost counts: who may make groups in their own pod, which takes privileges, names nobody else's with them.
    """
    found = _POD.search(groups)
    return found[1].replace("_", "-") if found is not None else ""


def levels(cgroup_root: str) -> tuple[str, ...]:
    """Return the names that the kubelet's option ``--cgroup-root`` is made of; none of ``/``."""
    return tuple(name for name in cgroup_root.split("/") if name)
