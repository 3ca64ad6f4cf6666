"""Tries the faults that are kept: each in a copy of the checkout, by the tests it names, two at a time.

First the tests are run without any fault: those that fail then would find everything, and faults that they are to find
are not tried.  Every entry has to apply, and every fault has to be found; the exit status says so.
"""

from __future__ import annotations

import itertools
import os
import queue
import re
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


def main(root: Path, folder: Path, names: Sequence[str], *, workers: int) -> int:
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
        failing = _failing(made[0], mutants, workers)
        if failing is None:
            print("error: the tests cannot be run without any fault", file=sys.stderr)
            return 2
        tried = [m for m in mutants if not any(_is_part(test, named) for named in m.tests for test in failing)]
        verdicts = _tried(tried, made)
    killed = [mutant for mutant, verdict in zip(tried, verdicts, strict=True) if verdict is Verdict.KILLED]
    survivors = [mutant for mutant in mutants if mutant not in killed]
    for test in failing:
        print(f"\nfails without any fault, so that faults were not tried by it: {test}")
    for mutant in survivors:
        print(f"\n{mutant}: {mutant.attribute}\n  - {mutant.before}\n  + {mutant.after}\n  {' '.join(mutant.tests)}")
    print(f"\n{len(mutants)} faults: {len(killed)} killed, {len(survivors)} not; {time.monotonic() - started_s:.0f} s")
    return 1 if survivors else 0


def _chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Raises DoesNotApply: a name means none."""
    if strangers := [name for name in names if not any(name in (str(m), m.area) for m in mutants)]:
        raise DoesNotApply(f"no mutant is named {', '.join(strangers)}")
    return [mutant for mutant in mutants if not names or mutant.area in names or str(mutant) in names]


def _failing(copy: Path, mutants: Sequence[Mutant], workers: int) -> list[str] | None:
    """Return tests, or files, that fail without any fault; None: it is not known."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    how = ["-n", str(workers), "--dist", "loadfile", "--continue-on-collection-errors"]
    if _pytest(copy, [*tests, *how], SOUND_TIMEOUT_S) not in (PASSED, FAILED):
        return None
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", _log(copy).read_text(), re.MULTILINE)


def _is_part(test: str, named: str) -> bool:
    """Return whether a test is part of what an entry names; or its whole file could not be read."""
    return test in (named, named.partition("::")[0]) or test.startswith((f"{named}/", f"{named}::", f"{named}["))


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
        status = _pytest(copy, [*mutant.tests, "-x", "-n", "0"], TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Verdict.KILLED
    finally:
        _write(path, before)
    if status == PASSED:
        return Verdict.SURVIVED
    return Verdict.KILLED if status in (FAILED, INTERRUPTED) else Verdict.BROKEN


def _write(path: Path, text: str) -> None:
    """Write with a time of its own: bytecode of another text, as long and of the same second, would pass for it."""
    path.write_text(text)
    at_s = 1_000_000_000 + next(_ticks)
    os.utime(path, (at_s, at_s))


def _pytest(copy: Path, arguments: Sequence[str], timeout_s: float) -> int:
    """Raises subprocess.TimeoutExpired."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *arguments]
    status = run(command, copy, _log(copy), sources=copy, timeout_s=timeout_s)
    if status not in (PASSED, FAILED):
        print(_log(copy).read_text(errors="replace")[-2000:], file=sys.stderr)
    return status


def _log(copy: Path) -> Path:
    return copy / "pytest.log"
