"""The only place that writes to cgroups: the quota of the kubelet's best-effort group, and a few files of its pods.

Everything is opened relative to a descriptor of that group, one name at a time, and no link is followed: what is
written cannot be anywhere else.  A value goes with a single ``write``, for the kernel takes each as a value of its own,
and is read back: what was asked for and what stands there are told apart.

What is read of a pod each second stays open from one reading to the next, as opening is most of the cost; the kernel
answers for a group that is gone with an error.  Blocks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from nm_plugin.cgroups.detect import Layout
from nm_plugin.cgroups.files import FILE_BYTES_MAX, LostReading, number_in
from nm_plugin.cgroups.layout import BEST_EFFORT, DRIVERS, POD_UID, Number, levels
from nm_plugin.cgroups.plan import KNOBS, POD_FILES, Knob, as_text, as_value

GROUPS_MAX = 64
"""Groups below one pod's: a container each, and what its runtime adds."""
READ_BYTES_MAX = 8192
"""The most that is read of a file that stays open: the longest is ``memory.stat``, of 2 KB."""
ROOT = ""
"""The best-effort group itself, among the names of pods."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,255}")


class BestEffort:
    """The best-effort group of a layout; ``mount`` is where it may be written, at the same path as in the layout's own.

    Raises OSError where a group is gone or the kernel refuses, in all its methods.
    """

    def __init__(self, mount: Path, layout: Layout) -> None:
        self.knobs, self._driver = KNOBS[layout.version.name], layout.driver
        self.of_pods = self.knobs.of_pods
        self._roots: dict[str, int] = {}
        self._files: dict[str, dict[str, int]] = {}
        self._opened: dict[str, os.stat_result] = {}
        try:
            for controller in {knob.controller: None for knob in (self.knobs.weight, self.knobs.limit)}:
                root = self._roots[controller] = os.open(mount / controller / layout.best_effort, _FOLDER)
                self._opened[str(layout.mount / controller / layout.best_effort)] = os.fstat(root)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        for pod in [*self._files]:
            self.forget(pod)
        for descriptor in self._roots.values():
            os.close(descriptor)
        self._roots.clear()

    def is_stale(self) -> bool:
        """The layout's own mount shows another group: it was recreated, and this one is gone."""
        return not all(os.path.samestat(os.stat(path), opened) for path, opened in self._opened.items())

    def name(self, pod_uid: str, cgroup_root: str) -> str | None:
        """Return the name of a pod's group; None if this is not a uid."""
        if not POD_UID.fullmatch(pod_uid):
            return None
        return DRIVERS[self._driver]((*levels(cgroup_root), *BEST_EFFORT, f"pod{pod_uid}")).name

    def forget(self, pod: str) -> None:
        """Let go of its files."""
        for descriptor in self._files.pop(pod, {}).values():
            os.close(descriptor)

    def has(self, pod: str) -> bool:
        """It has a group in each hierarchy."""
        for controller in self._roots:
            try:
                os.close(self._folder(controller, pod))
            except OSError:
                return False
        return True

    def write(self, pod: str, knob: Knob, value: int) -> None:
        if knob.file not in POD_FILES:
            raise PermissionError(f"{knob.file} is not written")
        self._write((pod,), knob, value)

    def read(self, pod: str, knob: Knob) -> int | None:
        """Return the current value; None: it is not a number."""
        return as_value(self.knobs, self._now(knob.controller, pod, knob.file))

    def write_quota(self, value_us: int) -> None:
        """Write the quota of the best-effort group, in microseconds of ``period_us``."""
        self._write((), self.knobs.quota, value_us)

    def read_quota(self) -> int | None:
        knob = self.knobs.quota
        return as_value(self.knobs, self._now(knob.controller, ROOT, knob.file))

    def period_us(self) -> int:
        """Raises LostReading."""
        number = self.knobs.period
        return number_in(number.file, self._now(number.controller, ROOT, number.file), number.key, number.word)

    def number(self, pod: str, number: Number) -> int:
        """Return a counter of the pod's own group.  Raises LostReading."""
        return number_in(number.file, self._now(number.controller, pod, number.file), number.key, number.word)

    def total(self, pod: str, number: Number) -> int:
        """Return the sum of a counter over the groups of its containers, which the kernel does not add up."""
        total = 0
        for group in self._groups(number.controller, pod):
            try:
                content = self._content(number.controller, group, number.file)
                total += number_in(number.file, content, number.key, number.word)
            except (FileNotFoundError, LostReading):
                continue  # it has ended meanwhile
        return total

    def pods(self) -> frozenset[str]:
        """Return the names of the groups in the best-effort group."""
        with os.scandir(next(iter(self._roots.values()))) as entries:
            return frozenset(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def _write(self, group: tuple[str, ...], knob: Knob, value: int) -> None:
        folder = self._folder(knob.controller, *group)
        try:
            file = os.open(knob.file, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.write(file, as_text(self.knobs, value).encode())
            finally:
                os.close(file)
        finally:
            os.close(folder)

    def _groups(self, controller: str, pod: str) -> Iterator[tuple[str, ...]]:
        """Yield the groups of the pod's containers, then the pod's own."""
        folder = self._folder(controller, pod)
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        finally:
            os.close(folder)
        yield (pod,)
        for name in sorted(names)[:GROUPS_MAX]:
            yield pod, name

    def _now(self, controller: str, pod: str, name: str) -> str:
        """Return the content of a file of a pod's group, or of the ROOT."""
        files = self._files.setdefault(pod, {})
        try:
            descriptor = files.get(name)
            if descriptor is None:
                descriptor = files[name] = self._file(controller, () if pod == ROOT else (pod,), name)
            return os.pread(descriptor, READ_BYTES_MAX, 0).decode("utf-8", errors="replace")
        except OSError:
            self.forget(pod)
            raise

    def _content(self, controller: str, group: tuple[str, ...], name: str) -> str:
        file = self._file(controller, group, name)
        try:
            return os.pread(file, FILE_BYTES_MAX, 0).decode("utf-8", errors="replace")
        finally:
            os.close(file)

    def _file(self, controller: str, group: tuple[str, ...], name: str) -> int:
        folder = self._folder(controller, *group)
        try:
            return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)

    def _folder(self, controller: str, *names: str) -> int:
        """Open a group, one name at a time."""
        at = os.dup(self._roots[controller])
        for name in names:
            above = at
            try:
                if not _NAME.fullmatch(name) or name in (".", ".."):
                    raise FileNotFoundError(f"{name[:80]!r} names no group")
                at = os.open(name, _FOLDER, dir_fd=above)
            finally:
                os.close(above)
        return at
