"""Reads how long online pods wait for a processor, from the kernel's ``cpu.pressure``.

It is the largest value of the kubelet's burstable group and of each guaranteed pod.  On nodes with cgroup v1 it is in
the hierarchy mounted as ``unified`` next to the controllers, which container runtimes join although it has none.  If
there is no such file, nothing is known, and that is no problem.  A pod that its own quota throttles waits too.  Blocks.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.detect import Layout, find_layout
from nm_plugin.cgroups.files import FILE_BYTES_MAX, LostReading
from nm_plugin.cgroups.layout import BURSTABLE, DRIVERS, PODS, V2, levels
from yodel.domain.colocation.report import Pressure

FILE = "cpu.pressure"
UNIFIED = "unified"
PODS_MAX = 256
"""Guaranteed pods that are looked at: more than a kubelet runs."""


class OnlinePressure:
    """Reads below ``mount``."""

    def __init__(self, mount: Path, cgroup_root: str) -> None:
        self._mount, self._cgroup_root = mount, cgroup_root

    def read(self) -> Pressure | None:
        try:
            layout = find_layout(self._mount, self._cgroup_root)
        except LostReading:
            return None
        hierarchy = self._mount if layout.version is V2 else self._mount / UNIFIED
        found = [
            Pressure(source=str(group), some_basis_points=points)
            for group in self._groups(hierarchy, layout)
            if (points := _some(hierarchy / group / FILE)) is not None
        ]
        return max(found, key=lambda one: one.some_basis_points, default=None)

    def _groups(self, hierarchy: Path, layout: Layout) -> list[PurePosixPath]:
        spell = DRIVERS[layout.driver]
        pod = spell((*levels(self._cgroup_root), *PODS, "pod")).name.removesuffix(".slice")
        try:
            with os.scandir(hierarchy / layout.pods) as entries:
                names = sorted(one.name for one in entries if one.name.startswith(pod))
        except OSError:
            names = []
        burstable = spell((*levels(self._cgroup_root), *BURSTABLE))
        return [burstable, *(layout.pods / name for name in names[:PODS_MAX])]


def _some(path: Path) -> int | None:
    """The share of the last ten seconds in which some process waited, in hundredths of a percent."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            words = os.pread(descriptor, FILE_BYTES_MAX, 0).decode("utf-8", errors="replace").split()
        finally:
            os.close(descriptor)
    except OSError:
        return None
    if len(words) < 2 or words[0] != "some" or not words[1].startswith("avg10="):
        return None
    whole, dot, part = words[1].removeprefix("avg10=").partition(".")
    is_number = dot and whole.isdecimal() and part.isdecimal() and len(whole) <= 3 and len(part) == 2
    return int(whole + part) if is_number and words[1].isascii() else None
