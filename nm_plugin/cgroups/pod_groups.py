"""Reads what pods use of memory, in their groups, which are found by the uids that the ResourceManager named.

What the processes of a pod hold is their own memory and files in memory: files that they read are the kernel's, which
takes them back.  What a pod makes short is all but files that were read once, as for the kubelet.  Blocks.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.detect import Layout, find_layout
from nm_plugin.cgroups.files import FILE_BYTES_MAX, LostReading, number_in
from nm_plugin.cgroups.layout import BEST_EFFORT, BURSTABLE, DRIVERS, POD_UID, PODS, Number, levels

CLASSES = (BEST_EFFORT, BURSTABLE, PODS)
"""Where the kubelet has the pods of each of its classes."""


class PodGroups:
    """Below ``mount``; None: nothing is seen of any group."""

    def __init__(self, mount: Path | None, cgroup_root: str) -> None:
        self._mount, self._cgroup_root = mount, cgroup_root
        self._layout: Layout | None = None

    def is_of_another_class(self, pod_uid: str) -> bool:
        """Return True if the pod's group exists outside the best-effort class."""
        return self._group(pod_uid, CLASSES[1:]) is not None

    def held_bytes(self, pod_uid: str) -> int | None:
        """Return the bytes that the kernel charges to a pod's processes; None if that cannot be read."""
        group = self._group(pod_uid, CLASSES)
        if group is None:
            return None
        try:
            return sum(_numbers(*group, group[0].version.held))
        except (OSError, LostReading):
            return None

    def lent_mib(self, pod_uid: str) -> int | None:
        """Return the working set of a pod that runs on lent capacity, 0 where it cannot be read; None: it does not."""
        group = self._group(pod_uid, (BEST_EFFORT,))
        if group is None:
            return None
        version = group[0].version
        try:
            used, read_once = _numbers(*group, (version.memory, version.inactive_file))
        except (OSError, LostReading):
            return 0  # who cannot be shown to use too much goes by his rank
        return max(0, used - read_once) >> 20

    def _group(self, pod_uid: str, classes: tuple[tuple[str, ...], ...]) -> tuple[Layout, PurePosixPath] | None:
        layout = self._found_layout() if POD_UID.fullmatch(pod_uid) else None
        if layout is None:
            return None
        for names in classes:
            group = DRIVERS[layout.driver]((*levels(self._cgroup_root), *names, f"pod{pod_uid}"))
            if layout.path(group, layout.version.memory).exists():
                return layout, group
        return None

    def _found_layout(self) -> Layout | None:
        """The kubelet's own group goes only with its configuration."""
        layout = self._layout
        if layout is not None and layout.path(layout.best_effort, layout.version.memory).exists():
            return layout
        try:
            self._layout = find_layout(self._mount, self._cgroup_root) if self._mount is not None else None
        except LostReading:
            self._layout = None
        return self._layout


def _numbers(layout: Layout, group: PurePosixPath, numbers: tuple[Number, ...]) -> list[int]:
    """Each file is read once.  Raises OSError, LostReading."""
    contents: dict[Path, str] = {}
    for path in {layout.path(group, number) for number in numbers}:
        with path.open("rb", buffering=0) as file:
            contents[path] = (file.read(FILE_BYTES_MAX) or b"").decode("utf-8", errors="replace")
    paths = [layout.path(group, number) for number in numbers]
    return [
        number_in(str(path), contents[path], number.key, number.word)
        for path, number in zip(paths, numbers, strict=True)
    ]
