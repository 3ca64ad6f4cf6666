"""Tries mutants: each in a copy of the checkout, by the tests it names, two at a time.

First the tests are run without any fault: whoever fails then would find everything.  What is asked of a run: that every
entry applies, and that no mutant survives; the exit status says so.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from tests.mutants.mutant import HERE, ROOT, DoesNotApply, Mutant, load

COPIED = ("yodel", "nm_plugin", "tests", "scripts", "bench", "migrations", "examples", "docs", "deploy", "docker")
COPIED_FILES = ("pyproject.toml", "README.md", "Makefile", ".importlinter", "requirements.lock")
PARALLEL = 2
TIMEOUT_S, SOUND_TIMEOUT_S = 180, 900
PASSED, FAILED, INTERRUPTED = 0, 1, 2
_ticks = itertools.count(1)


class Verdict(StrEnum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"
    """The tests could not be run."""


def main(arguments: Sequence[str], root: Path = ROOT, folder: Path = HERE) -> int:
    """Exit status: 0 when every mutant was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="areas, or area/name; all without any")
    parser.add_argument("--parallel", type=int, default=PARALLEL, metavar="N")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a fault first")
    given = parser.parse_args(arguments)
    started_s = time.monotonic()
    try:
        mutants = _chosen(load(folder), given.names)
        for mutant in mutants:
            mutant.applied(root)
            mutant.require_tests(root)
    except DoesNotApply as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with _copies(root, given.parallel) as copies:
        if not given.trust and not _is_sound(copies[0], mutants, given.parallel):
            print("error: tests fail without any mutant", file=sys.stderr)
            return 2
        verdicts = _tried(mutants, copies)
    survivors = [mutant for mutant, verdict in zip(mutants, verdicts, strict=True) if verdict is not Verdict.KILLED]
    for mutant in survivors:
        print(f"\n{mutant}: {mutant.attribute}\n  - {mutant.before}\n  + {mutant.after}\n  {' '.join(mutant.tests)}")
    killed = len(mutants) - len(survivors)
    print(f"\n{len(mutants)} mutants: {killed} killed, {len(survivors)} not; {time.monotonic() - started_s:.0f} s")
    return 1 if survivors else 0


def _chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Raises DoesNotApply: a name means none."""
    if strangers := [name for name in names if not any(name in (str(m), m.area) for m in mutants)]:
        raise DoesNotApply(f"no mutant is named {', '.join(strangers)}")
    return [mutant for mutant in mutants if not names or mutant.area in names or str(mutant) in names]


@contextmanager
def _copies(root: Path, count: int) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory(prefix="yodel-mutants-") as scratch:
        copies = [Path(scratch) / str(number) for number in range(max(1, count))]
        for copy in copies:
            copy.mkdir()
            for name in COPIED:
                if (root / name).is_dir():
                    shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns(".*"))
            for name in COPIED_FILES:
                if (root / name).is_file():
                    shutil.copy2(root / name, copy / name)
            if (root / ".venv").exists():
                (copy / ".venv").symlink_to((root / ".venv").resolve())
        yield copies


def _is_sound(copy: Path, mutants: Sequence[Mutant], parallel: int) -> bool:
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    return _pytest(copy, [*tests, "-n", str(parallel), "--dist", "loadfile"], SOUND_TIMEOUT_S) == PASSED


def _tried(mutants: Sequence[Mutant], copies: Sequence[Path]) -> list[Verdict]:
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def attempt(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            started_s = time.monotonic()
            verdict = _verdict(mutant, copy)
            print(f"{verdict:<8} {mutant} ({time.monotonic() - started_s:.1f} s)", flush=True)
            return verdict
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as workers:
        return list(workers.map(attempt, mutants))


def _verdict(mutant: Mutant, copy: Path) -> Verdict:
    """A mutant that hangs, or that cannot be imported, is found."""
    path, before = mutant.path(copy), mutant.path(copy).read_text()
    _write(path, mutant.applied(copy))
    try:
        status = _pytest(copy, [*mutant.tests, "-n", "0"], TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Verdict.KILLED
    finally:
        _write(path, before)
    if status == PASSED:
        return Verdict.SURVIVED
    return Verdict.KILLED if status in (FAILED, INTERRUPTED) else Verdict.BROKEN


def _write(path: Path, text: str) -> None:
    """With a time of its own: bytecode of another text, as long and of the same second, would count as its own."""
    path.write_text(text)
    at_s = 1_000_000_000 + next(_ticks)
    os.utime(path, (at_s, at_s))


def _pytest(copy: Path, arguments: Sequence[str], timeout_s: float) -> int:
    """Raises subprocess.TimeoutExpired; all that was started is ended."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(copy), "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / ".hypothesis")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    log = copy / "pytest.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            status = process.wait(timeout_s)
        finally:
            _end_group(process)
    if status not in (PASSED, FAILED):
        print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
    return status


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Of a session of its own: what a faulty program left behind goes with it."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    process.wait(10)
