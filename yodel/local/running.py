"""Finds this user's running ``yodel local`` clusters by their processes, so that nothing stale counts."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil

READY_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningLocal:
    """``rest_url`` is the web address of its ResourceManager."""

    directory: Path
    rest_url: str


def running_locals() -> list[RunningLocal]:
    """Return the ready clusters of this user, by directory."""
    found: dict[Path, RunningLocal] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError, ValueError, LookupError, TypeError):
            if process.uids().real != os.getuid():
                continue
            directory = directory_of(process.cmdline())
            if directory is not None:
                found[directory] = RunningLocal(directory=directory, rest_url=_rest_url(directory / "ready.json"))
    return [found[directory] for directory in sorted(found)]


def directory_of(command: Sequence[str]) -> Path | None:
    """Return the directory of a ResourceManager with the command line ``python -m yodel serve … --config
    DIR/rm/rm.toml``.  Pure."""
    if tuple(command[1:4]) != ("-m", "yodel", "serve"):
        return None
    for option, value in pairwise(command[4:]):
        path = Path(value)
        if option == "--config" and path.is_absolute() and path.parts[-2:] == ("rm", "rm.toml"):
            return path.parent.parent
    return None


def _rest_url(ready: Path) -> str:
    """Raises OSError, ValueError, LookupError: it is not ready, or not ours."""
    with ready.open("rb") as file:
        if os.fstat(file.fileno()).st_uid != os.getuid():
            raise PermissionError(f"{ready} belongs to another process")
        content = json.loads(file.read(READY_BYTES_MAX))
    return str(content["rest_url"])
