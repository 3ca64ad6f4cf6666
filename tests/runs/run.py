"""Runs parts of the tests side by side, asks once more what failed, and says how it ended.

    python -m tests.runs test
    python -m tests.runs e2e,clients+quick,slow alone

Words go one after the other, and so do runs that a comma joins.  What a plus joins goes side by side: ``quick`` and
then ``slow``, both beside ``e2e``.  All but the first give way to it where there is too little processor time.

What pytest prints goes to ``.runs/quick-slow/PART.log``.  Here a line a minute says how far each part is, and a line
says who failed as soon as it did.  At the end come all failures with their texts, the slowest tests, the parts' sums,
and the ports that a part has to speak on with the test that did; then what was unsteady, and one last line, ``N
passed, N failed``.  The exit status is 0 when nothing failed, 1 when something did, 2 when it could not begin.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.runs.outcome import AGAIN_MAX, Outcome, Verdict, judged, outcome_of, read, spoken, to_ask_again
from tests.runs.parts import HERE, ROOT, Part, load

PROGRESS_EVERY_S = 60.0
LOOK_EVERY_S = 0.5
SILENCE_MAX_S = 2400.0
"""Twice the time that the longest test is given: nothing that is well says nothing for so long."""
STOP_TIMEOUT_S = 90.0
"""For fixtures to take down what they brought up."""
LOG_TAIL_BYTES = 8000
SLOWEST = 25
GIVING_WAY = 5
"""In ``nice``'s numbers."""
BESIDE, AFTER = "+", ","


class Running:
    """One pytest process of a part.  ``name`` names its files."""

    def __init__(self, name: str, arguments: Sequence[str], folder: Path, root: Path, *, gives_way: bool) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._record = folder / f"{name}.jsonl"
        self._started_s = time.monotonic()
        self._heard_s = self._started_s
        self._events: list[dict[str, Any]] = []
        self._read_bytes, self._rest = 0, ""
        self._told: set[str] = set()
        self.took_s = 0.0
        self._is_interrupted = False
        # A process that is started for this one ends in order when this one is killed.
        command = ["nice", "-n", str(GIVING_WAY)] if gives_way else []
        command += ["setpriv", "--pdeathsig", "INT", sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
        command += ["-p", "tests.runs.record", "--record", str(self._record), *arguments]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def has_ended(self) -> bool:
        """And ``look`` has said so."""
        return self.took_s > 0

    @property
    def status(self) -> int | None:
        return self._process.poll()

    def outcome(self) -> Outcome:
        status = self._process.wait()
        self._read()
        return outcome_of(self.name, self._events, status)

    def look(self) -> Iterator[str]:
        """Yield what there is to say since the last look: who failed, and the end.  Ends a process that has hung."""
        now_s = time.monotonic()
        status = self.status  # before the record, which is whole when the process has ended
        if self._read():
            self._heard_s = now_s
        for event in self._events:
            if event.get("outcome") == "failed" and event["id"] not in self._told:
                self._told.add(event["id"])
                yield f"lane {self.name}: FAILED {event['id']}"
        if status is not None and not self.has_ended:
            self.took_s = now_s - self._started_s
            yield f"{self.progress()}, ended with status {status}"
        elif status is None and now_s - self._heard_s > SILENCE_MAX_S:
            yield f"lane {self.name}: said nothing for {SILENCE_MAX_S:.0f} s, and is ended"
            self.stop()

    def progress(self) -> str:
        """``lane hadoop: 34 of 62, 310 s``."""
        total = sum(len(event["ids"]) for event in self._events if event["event"] == "collected")
        done = len({event["id"] for event in self._events if event.get("when") == "teardown"})
        return f"lane {self.name}: {done} of {total}, {time.monotonic() - self._started_s:.0f} s"

    def interrupt(self) -> None:
        """Interrupt it, if it runs, as Ctrl-C does, once: a second time would end what takes things down."""
        if not self._is_interrupted:
            self._is_interrupted = True
            self._process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Stop it, if it runs, in order, and after a while with all of its process group."""
        if self.status is not None:
            return
        self.interrupt()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def log_tail(self) -> str:
        return self.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def _read(self) -> bool:
        """Read on and return whether the record has grown."""
        if not self._record.exists():
            return False
        with self._record.open("rb") as record:
            record.seek(self._read_bytes)
            more = record.read()
        self._read_bytes += len(more)
        events, self._rest = read(self._rest + more.decode("ascii"))
        self._events += events
        return bool(more)


def main(
    arguments: Sequence[str],
    parts: Path = HERE / "parts.toml",
    root: Path = ROOT,
) -> int:
    """Run what the arguments name and return the exit status."""
    runs = load(parts, root)
    parser = argparse.ArgumentParser(prog="python -m tests.runs", description=__doc__)
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help=f"{', '.join(runs)}, or several, joined by {BESIDE} and {AFTER}"
    )
    asked = parser.parse_args(arguments)
    words = [[row.split(AFTER) for row in word.split(BESIDE)] for word in asked.runs]
    names = [name for rows in words for row in rows for name in row]
    if unknown := [name for name in names if name not in runs]:
        parser.error(f"no run is named {', '.join(unknown)}; there are {', '.join(runs)}")
    if len({*names}) < len(names):
        parser.error("a run is named twice")
    if isinstance(sys.stdout, io.TextIOWrapper):  # what failed tests print may be of any kind
        sys.stdout.reconfigure(errors="backslashreplace")
    with _folder(root / ".runs" / "-".join(asked.runs)) as folder:
        rows = [[[runs[name].parts for name in row] for row in rows] for rows in words]
        return _run(rows, folder, root)


Rows = Sequence[Sequence[Sequence[Part]]]
"""Parts that go side by side: rows of what goes one after the other, of parts that go side by side."""


def _run(words: Sequence[Rows], folder: Path, root: Path) -> int:
    started_s = time.monotonic()
    first: dict[str, tuple[Running, Outcome]] = {}
    again: dict[str, tuple[Running, Outcome]] = {}
    with _ended_in_order():
        for rows in words:
            given = [[{part.name: part.arguments for part in parts} for parts in row] for row in rows]
            first.update(_side_by_side(given, folder, root))
        for name, (_, outcome) in first.items():
            if asked := to_ask_again(outcome):
                say(f"lane {name}: {len(asked)} asked again")
                (ended,) = _side_by_side([[{f"{name}-again": asked}]], folder, root).values()
                again[name] = ended
    verdicts = [judged(outcome, again[name][1] if name in again else None) for name, (_, outcome) in first.items()]
    all_ended = {**first, **{f"{name}-again": ended for name, ended in again.items()}}
    for line in _told(verdicts, all_ended):
        print(line)
    parts = [part for rows in words for row in rows for parts in row for part in parts]
    silent = 0
    for port, test in spoken(parts, [outcome for _, outcome in all_ended.values()]):
        silent += not test
        print(f"port {port:<6} {test or 'FAILED: no test spoke on it'}")
    failed = sum(len(verdict.failed) + len(verdict.faults) for verdict in verdicts) + silent
    print(f"{time.monotonic() - started_s:.0f} s in all")
    for verdict in verdicts:
        for test in verdict.unsteady:
            print(f"unsteady: {test}")
    print(f"{sum(verdict.passed for verdict in verdicts)} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def say(line: str) -> None:
    print(line, flush=True)


def _side_by_side(
    rows: Sequence[Sequence[Mapping[str, Sequence[str]]]], folder: Path, root: Path
) -> dict[str, tuple[Running, Outcome]]:
    """Until all have ended: arguments of pytest by name, of which those of a row go one after the other."""
    waiting = [[*row] for row in rows]
    under_way: list[list[Running]] = [[] for _ in rows]
    begun: list[Running] = []
    pause = threading.Event()
    try:
        progress_at_s = time.monotonic() + PROGRESS_EVERY_S
        while True:
            for line in (line for one in begun for line in one.look()):
                say(line)
            for number, row in enumerate(waiting):
                if row and all(one.has_ended for one in under_way[number]):
                    under_way[number] = []
                    for place, (name, given) in enumerate(row.pop(0).items()):
                        begun.append(Running(name, given, folder, root, gives_way=number + place > 0))
                        under_way[number].append(begun[-1])
                        say(f"lane {name}: {begun[-1].log.relative_to(root)}")
            going = [one for one in begun if not one.has_ended]
            if not going:
                break
            if time.monotonic() >= progress_at_s:
                progress_at_s += PROGRESS_EVERY_S
                for one in going:
                    say(one.progress())
            pause.wait(LOOK_EVERY_S)
    finally:
        for one in begun:
            one.interrupt()
        for one in begun:
            one.stop()
    return {one.name: (one, one.outcome()) for one in begun}


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Empty.  SystemExit when another process has it: each would take the other's records for its own."""
    path.parent.mkdir(exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"error: {path.name}: the same run is going on in this checkout", file=sys.stderr)
            raise SystemExit(2) from None
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        yield path


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A request to end is answered as Ctrl-C is."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _told(verdicts: Sequence[Verdict], ended: Mapping[str, tuple[Running, Outcome]]) -> Iterator[str]:
    """All that a reader needs who has nothing but this output."""
    yield from _slowest(outcome for _, outcome in ended.values())
    for verdict in verdicts:
        for test, text in verdict.failed.items():
            yield f"\n=== {verdict.part}: {test}\n{text}"
        for fault in verdict.faults:
            yield f"\n=== {verdict.part}: {fault}"
        if verdict.faults:
            logs = [ended[name][0] for name in (verdict.part, f"{verdict.part}-again") if name in ended]
            yield f"--- the end of {logs[-1].log.name}\n{logs[-1].log_tail()}"
        elif len(verdict.failed) > AGAIN_MAX:
            yield f"--- {len(verdict.failed)} of {verdict.part} failed, more than {AGAIN_MAX}: none was asked again"
    for verdict in verdicts:
        for test, text in verdict.unsteady.items():
            yield f"\n=== {verdict.part}: unsteady, failed at first and then passed: {test}\n{text}"
    yield "\n=== how it ended"
    for verdict in verdicts:
        yield from (f"FAILED: {test}" for test in verdict.failed)
        yield from (f"FAILED: {verdict.part}: {fault.splitlines()[0]}" for fault in verdict.faults)
    for verdict in verdicts:
        yield (
            f"lane {verdict.part:<8} {verdict.passed} passed, {len(verdict.failed)} failed, {verdict.skipped} skipped, "
            f"{len(verdict.unsteady)} unsteady, {len(verdict.faults)} faults, {ended[verdict.part][0].took_s:.0f} s"
        )


def _slowest(outcomes: Iterable[Outcome]) -> Iterator[str]:
    seconds = [(took_s, test) for outcome in outcomes for test, took_s in outcome.seconds.items()]
    yield f"\n=== the slowest {SLOWEST}, in s"
    yield from (f"{took_s:7.1f} {test}" for took_s, test in sorted(seconds, reverse=True)[:SLOWEST])
