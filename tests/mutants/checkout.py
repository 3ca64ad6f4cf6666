"""A copy of the checkout in which sources may be changed: whatever ends a run, the work tree stays as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SOURCES = ("yodel", "nm_plugin")

MADE = shutil.ignore_patterns(".git", ".venv", ".runs", ".*_cache", ".hypothesis", "__pycache__", "dist")


@contextmanager
def copies(root: Path, count: int) -> Iterator[list[Path]]:
    """So many, with the checkout's ``.venv``."""
    with tempfile.TemporaryDirectory(prefix="yodel-mutants-") as scratch:
        made = [Path(scratch) / str(number) for number in range(count)]
        for copy in made:
            shutil.copytree(root, copy, symlinks=True, ignore=MADE)
            if (root / ".venv").exists():
                (copy / ".venv").symlink_to((root / ".venv").resolve())
        yield made


def run(command: Sequence[str | Path], copy: Path, log: Path, *, sources: Path, timeout_s: float) -> int:
    """Exit status.  Raises subprocess.TimeoutExpired; all that was started is ended."""
    environment = {**os.environ, "PYTHONPATH": str(sources), "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / ".hypothesis")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            return process.wait(timeout_s)
        finally:
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its session: what a faulty program left behind goes with it."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    process.wait(10)
