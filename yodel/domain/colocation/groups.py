"""Names the kubelet's group of best-effort pods, by its ``--cgroup-root`` and its cgroup driver alone.

Follows the kubelet's ``cm`` package: the systemd driver spells each level with all levels above it and ends it in
``.slice``; a dash inside a name becomes an underscore.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

BEST_EFFORT: Final = ("kubepods", "besteffort")
LENGTH_MAX: Final = 1_000
_LEVEL = re.compile(r"[A-Za-z0-9_.-]+")


def _cgroupfs(names: Sequence[str]) -> PurePosixPath:
    return PurePosixPath(*names)


def _systemd(names: Sequence[str]) -> PurePosixPath:
    spelled = [name.replace("-", "_") for name in names]
    return PurePosixPath(*("-".join(spelled[: depth + 1]) + ".slice" for depth in range(len(spelled))))


DRIVERS: Final[Mapping[str, Callable[[Sequence[str]], PurePosixPath]]] = {"cgroupfs": _cgroupfs, "systemd": _systemd}
"""How each cgroup driver of the kubelet spells a group that is named level by level."""


def best_effort_group(text: str) -> str:
    """Return the path that a driver makes of the root that a text names; empty where it is no such path.

    It is the best-effort group of some root and no other group, and may stand in a line of a shell as it is.
    """
    if len(text) > LENGTH_MAX:
        return ""
    parts = text.split("/")
    for driver, names in (("cgroupfs", parts), ("systemd", parts[-1].removesuffix(".slice").split("-"))):
        root = names[: -len(BEST_EFFORT)]
        path = str(DRIVERS[driver]((*root, *BEST_EFFORT)))
        if path == text and all(_LEVEL.fullmatch(name) and set(name) != {"."} for name in root):
            return path
    return ""
