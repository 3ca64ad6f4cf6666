"""A node's cgroup files made by hand: both versions, both drivers, at any root of the kubelet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.layout import BEST_EFFORT, DRIVERS, PODS, V1, V2, Version, levels

MIB = 1 << 20
_FILES = {
    V1.name: {
        "cpu": ("cpuacct", "cpuacct.usage", "{cpu_ns}\n"),
        "memory": ("memory", "memory.usage_in_bytes", "{memory}\n"),
        "stat": ("memory", "memory.stat", "cache 1\ninactive_file 7\ntotal_cache 9\ntotal_inactive_file {inactive}\n"),
    },
    V2.name: {
        "cpu": ("", "cpu.stat", "usage_usec {cpu_us}\nuser_usec 1\nsystem_usec 2\n"),
        "memory": ("", "memory.current", "{memory}\n"),
        "stat": ("", "memory.stat", "anon 5\ninactive_anon 3\ninactive_file {inactive}\n"),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupTree:
    """``mount`` and ``proc`` are what a reader is given; the machine has 16 GiB, 12 of them available."""

    mount: Path
    proc: Path
    version: Version
    driver: str
    cgroup_root: str = "/"

    def make(self) -> CgroupTree:
        self.proc.mkdir(exist_ok=True)
        (self.proc / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemFree: 1 kB\nMemAvailable: {12 << 20} kB\n")
        if self.version is V2:
            self.write("", PurePosixPath(), "cgroup.controllers", "cpuset cpu memory\n")
        for names in ((), PODS, BEST_EFFORT):
            self.use(names, cpu_us=0, memory_mib=0)
        return self

    def use(self, names: tuple[str, ...], *, cpu_us: int, memory_mib: int, inactive_mib: int = 0) -> None:
        """Set the counters of a group: () is the kubelet's root."""
        words = {
            "cpu_us": cpu_us,
            "cpu_ns": cpu_us * 1000,
            "memory": (memory_mib + inactive_mib) * MIB,
            "inactive": inactive_mib * MIB,
        }
        for controller, name, text in _FILES[self.version.name].values():
            self.write(controller, self.group(names), name, text.format(**words))

    def group(self, names: tuple[str, ...] = ()) -> PurePosixPath:
        return DRIVERS[self.driver]((*levels(self.cgroup_root), *names))

    def write(self, controller: str, group: PurePosixPath, name: str, text: str) -> None:
        path = self.mount / controller / group / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if controller == "cpuacct" and not (self.mount / "cpuacct" / "cpuacct.usage").exists():
            (self.mount / "cpuacct" / "cpuacct.usage").write_text("0\n")  # the hierarchy's root is always there
