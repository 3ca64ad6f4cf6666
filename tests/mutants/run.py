"""Tries the faults that are kept: each in a copy of the checkout, by the tests it names, two at a time.

First the tests are run without any fault: those that fail then would find everything.  Every entry has to apply, and
every fault has to be found; the exit status says so.
"""

from __future__ import annotations

import itertools
import os
import queue
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

from tests.mutants.checkout import copies, run
from tests.mutants.mutant import DoesNotApply, Mutant, load

TIMEOUT_S, SOUND_TIMEOUT_S = 180, 900
PASSED, FAILED, INTERRUPTED = 0, 1, 2
_ticks = itertools.count(1)


class Verdict(StrEnum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"
    """The tests could not be run."""


def main(root: Path, folder: Path, names: Sequence[str], *, workers: int, is_trusted: bool = False) -> int:
    """Exit status: 0 when every mutant was killed.  ``names`` are areas, or area/name; none are all."""
    started_s = time.monotonic()
    try:
        mutants = _chosen(load(folder), names)
        for mutant in mutants:
            mutant.applied(root)
            mutant.require_tests(root)
    except DoesNotApply as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with copies(root, workers) as made:
        if not is_trusted and not _is_sound(made[0], mutants, workers):
            print("error: tests fail without any mutant", file=sys.stderr)
            return 2
        verdicts = _tried(mutants, made)
    survivors = [mutant for mutant, verdict in zip(mutants, verdicts, strict=True) if verdict is not Verdict.KILLED]
    for mutant in survivors:
        print(f"\n{mutant}: {mutant.attribute}\n  - {mutant.before}\n  + {mutant.after}\n  {' '.join(mutant.tests)}")
    killed = len(mutants) - len(survivors)
    print(f"\n{len(mutants)} faults: {killed} killed, {len(survivors)} not; {time.monotonic() - started_s:.0f} s")
    return 1 if survivors else 0


def _chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Raises DoesNotApply: a name means none."""
    if strangers := [name for name in names if not any(name in (str(m), m.area) for m in mutants)]:
        raise DoesNotApply(f"no mutant is named {', '.join(strangers)}")
    return [mutant for mutant in mutants if not names or mutant.area in names or str(mutant) in names]


def _is_sound(copy: Path, mutants: Sequence[Mutant], workers: int) -> bool:
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    return _pytest(copy, [*tests, "-n", str(workers), "--dist", "loadfile"], SOUND_TIMEOUT_S) == PASSED


def _tried(mutants: Sequence[Mutant], made: Sequence[Path]) -> list[Verdict]:
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for copy in made:
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

    with ThreadPoolExecutor(len(made)) as workers:
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
    """Raises subprocess.TimeoutExpired."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    log = copy / "pytest.log"
    status = run(command, copy, log, sources=copy, timeout_s=timeout_s)
    if status not in (PASSED, FAILED):
        print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
    return status
