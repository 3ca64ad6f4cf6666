"""Records what this process opens, as the interpreter itself audits it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_lists: list[list[tuple[str, int]]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _lists or event != "open":
        return
    name, _, flags = arguments
    if isinstance(name, str | bytes | os.PathLike) and isinstance(flags, int):  # a number is open already
        for found in _lists:
            found.append((os.fsdecode(name), flags))


sys.addaudithook(_hook)


@contextlib.contextmanager
def opened_files() -> Iterator[list[tuple[str, int]]]:
    """Record names as they were given, and flags, of all that any thread opens in the block."""
    found: list[tuple[str, int]] = []
    _lists.append(found)
    try:
        yield found
    finally:
        _lists.remove(found)


def written(opened: list[tuple[str, int]]) -> list[str]:
    """Return the names of what was opened for writing."""
    return [name for name, flags in opened if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)]


def descriptors_along(path: Path) -> list[str]:
    """Return what the process holds open of a path, of what is below it and of the folders above it.

    All descriptors of the process would be another number whenever a thread of another test, or the garbage collector,
    opens or closes one meanwhile.
    """
    targets: list[str] = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own is closed by now
            targets.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    path = path.resolve()
    named = [Path(target.removesuffix(" (deleted)")) for target in targets if target.startswith("/")]
    return sorted(str(one) for one in named if one.is_relative_to(path) or path.is_relative_to(one))
