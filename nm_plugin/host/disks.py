"""Decides which of the node's disks are good; full or broken ones are left out until they recover.

Follows ``LocalDirsHandlerService``, ``DirectoryCollection`` and ``BasicDiskValidator``: every directory is tried by
making and removing a directory in it, and measured; the node is healthy while a minimal share of its local dirs and of
its log dirs is good.  Texts are Hadoop's, because users find them in ``yarn node -status`` and in diagnostics.

Refuses: nothing; a directory that cannot be looked at is an errored one.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Protocol

from nm_plugin.host.directories import Directories

TRIED_DIR_NAME = ".yodel-disk-check"


class DiskVerdict(Enum):
    """DirectoryCollection's three lists."""

    GOOD = "GOOD"
    FULL = "FULL"
    ERRORED = "ERRORED"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLimits:
    """``yarn.nodemanager.disk-health-checker.*``; ``min_healthy`` is a share of all dirs, 0 to 1."""

    enabled: bool = True
    max_utilization_percent: float = 90.0
    low_watermark_percent: float = 90.0
    """A full disk is good again when it is used no more than this."""
    min_free_mib: int = 0
    min_healthy: float = 0.25


class DiskUsage(Protocol):
    """Holds the result of ``shutil.disk_usage``, in bytes; ``free`` is available to ordinary users."""

    @property
    def total(self) -> int: ...

    @property
    def free(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DirState:
    """One directory at the last look."""

    path: Path
    verdict: DiskVerdict = DiskVerdict.GOOD
    message: str = ""
    usage: DiskUsage | None = field(default=None, compare=False)


def judge(path: Path, usage: DiskUsage, before: DirState, limits: DiskLimits) -> DirState:
    """Judge a disk by its space alone.  Pure."""
    used_percent = 100.0 - 100.0 * usage.free / usage.total if usage.total else 100.0
    was_full = before.verdict is DiskVerdict.FULL
    threshold = min(limits.low_watermark_percent, limits.max_utilization_percent)
    threshold = threshold if was_full else limits.max_utilization_percent
    if used_percent > threshold or used_percent >= 100.0:
        return DirState(path=path, verdict=DiskVerdict.FULL, message=f"used space above threshold of {threshold}%")
    if usage.free >> 20 < limits.min_free_mib:
        text = f"free space below limit of {limits.min_free_mib}MB"
        return DirState(path=path, verdict=DiskVerdict.FULL, message=text)
    return DirState(path=path)


def report_of(local: Iterable[DirState], log: Iterable[DirState]) -> str:
    """``LocalDirsHandlerService.getDisksHealthReport(false)``: empty when every directory is good.  Pure."""
    text = ""
    for name, listed, end in (("local-dirs", tuple(local), ";"), ("log-dirs", tuple(log), "")):
        for verdict, words in (
            (DiskVerdict.ERRORED, "have errors:"),
            (DiskVerdict.FULL, "usable space is below configured utilization percentage/no more usable space"),
        ):
            found = [state for state in listed if state.verdict is verdict]
            if found:
                details = " , ".join(f"{state.path} : {state.message}" for state in found)
                gap = " " if verdict is DiskVerdict.ERRORED else ""
                mark = end if verdict is DiskVerdict.FULL else ""
                text += f"{len(found)}/{len(listed)} {name} {words}{gap} [ {details} ] {mark}"
    return text


class Disks:
    """The node's directories and what the last ``check`` found.  ``check`` blocks: call it in a file thread."""

    def __init__(
        self,
        directories: Directories,
        limits: DiskLimits,
        usage_of: Callable[[Path], DiskUsage] = shutil.disk_usage,
    ) -> None:
        self._limits, self._usage_of = limits, usage_of
        self._local = tuple(DirState(path=path) for path in directories.local_dirs)
        self._log = tuple(DirState(path=path) for path in directories.log_dirs)

    def check(self) -> bool:
        """Look at every directory; True when something changed."""
        if not self._limits.enabled:
            return False
        before = self._local, self._log
        self._local = tuple(self._checked(state) for state in self._local)
        self._log = tuple(self._checked(state) for state in self._log)
        return before != (self._local, self._log)

    @property
    def good(self) -> Directories:
        """Return the good directories; all of them if none is good (nothing is launched then)."""
        local, log = _paths(self._local, DiskVerdict.GOOD), _paths(self._log, DiskVerdict.GOOD)
        return Directories(
            local_dirs=local or tuple(s.path for s in self._local), log_dirs=log or tuple(s.path for s in self._log)
        )

    @property
    def errored(self) -> frozenset[Path]:
        """Directories that can no longer be read: what is cached there is lost."""
        return frozenset(_paths((*self._local, *self._log), DiskVerdict.ERRORED))

    @property
    def bad_local_dirs(self) -> int:
        return len(self._local) - len(_paths(self._local, DiskVerdict.GOOD))

    @property
    def bad_log_dirs(self) -> int:
        return len(self._log) - len(_paths(self._log, DiskVerdict.GOOD))

    @property
    def good_local_dirs_percent(self) -> int:
        """Return the used percent of the good local directories together."""
        return _used_percent(self._local)

    @property
    def good_log_dirs_percent(self) -> int:
        return _used_percent(self._log)

    @property
    def is_healthy(self) -> bool:
        """``areDisksHealthy``: enough of both kinds."""
        return not self._limits.enabled or all(
            len(_paths(states, DiskVerdict.GOOD)) / len(states) >= self._limits.min_healthy
            and _paths(states, DiskVerdict.GOOD)
            for states in (self._local, self._log)
        )

    @property
    def report(self) -> str:
        return report_of(self._local, self._log)

    def _checked(self, before: DirState) -> DirState:
        try:
            before.path.mkdir(parents=True, exist_ok=True)
            tried = before.path / TRIED_DIR_NAME
            tried.mkdir(mode=0o700, exist_ok=True)
            tried.rmdir()
            os.listdir(before.path)
            usage = self._usage_of(before.path)
            return replace(judge(before.path, usage, before, self._limits), usage=usage)
        except OSError as error:
            # ENOSPC for a directory of no bytes means that not one inode is left: full, and nothing is broken.
            if error.errno == errno.ENOSPC:
                return DirState(path=before.path, verdict=DiskVerdict.FULL, message=str(error.strerror))
            text = f"Cannot create directory : {before.path}, error {error.strerror}"
            return DirState(path=before.path, verdict=DiskVerdict.ERRORED, message=text)


def _used_percent(states: Iterable[DirState]) -> int:
    """``DirectoryCollection.setGoodDirsDiskUtilizationPercentage``: 0 before they were looked at."""
    usages = [state.usage for state in states if state.verdict is DiskVerdict.GOOD and state.usage is not None]
    total, free = sum(usage.total for usage in usages), sum(usage.free for usage in usages)
    return 100 * (total - free) // total if total else 0


def _paths(states: Iterable[DirState], verdict: DiskVerdict) -> tuple[Path, ...]:
    return tuple(state.path for state in states if state.verdict is verdict)
