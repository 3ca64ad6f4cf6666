"""Where the kubelet keeps its groups and which files count what, as tables: cgroup v1 and v2.  Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from yodel.domain.colocation.groups import BEST_EFFORT as BEST_EFFORT
from yodel.domain.colocation.groups import DRIVERS as DRIVERS

PODS: Final = ("kubepods",)
BURSTABLE: Final = ("kubepods", "burstable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Where a number stands: ``key`` is the word before it, where a file has a number on each line.

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
    ``unlimited``: words that say that there is no limit.
    """

    name: str
    mark: str
    cpu: Number
    cpu_per_us: int
    memory: Number
    inactive_file: Number
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
    cpus=Number(controller="cpuset", file="cpuset.cpus"),
    quota=Number(controller="cpu", file="cpu.cfs_quota_us"),
    period=Number(controller="cpu", file="cpu.cfs_period_us"),
    memory_limit=Number(controller="memory", file="memory.limit_in_bytes"),
    unlimited=("-1",),
)
VERSIONS: Final = (V2, V1)


def levels(cgroup_root: str) -> tuple[str, ...]:
    """Return the names that the kubelet's option ``--cgroup-root`` is made of; none of ``/``."""
    return tuple(name for name in cgroup_root.split("/") if name)
