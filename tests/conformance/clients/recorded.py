"""Records keep what a real Hadoop answered to a script, in ``tests/conformance/recorded``, one file a script.

``make conformance`` writes them, and ``make nightly`` asks the real one again.  All other runs compare Yodel with them
and ask nobody: where the script, or what it reaches, is another than the one that was recorded, they fail with the
command that records it anew.

A record is for every machine: ids, times, addresses and paths are masked in it already, and the name of who ran the
script is written as ``root``, whoever that was.
"""

from __future__ import annotations

import getpass
import json
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from tests.conformance.clients.outcome import Outcome

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests" / "conformance" / "recorded"
BYTES_MAX = 64 << 10
"""The most of one file: it is to be read by people."""
RENEW = "make conformance FORM=recorded"
JAVAS_OWN = re.compile(r"at java\.\w+/")
"""A line of a stack inside Java: its number is that of a release of Java, which is another one elsewhere."""
MACHINES = re.compile(r"(?<![\w.])/(?:tmp|var|root|home|usr|work|opt|mnt)/|\b\d{1,3}(?:\.\d{1,3}){3}\b")
"""A path or an address of the machine that wrote it."""


class OutOfDate(AssertionError):
    """A record is not what the real Hadoop answers; says how to renew it."""

    def __init__(self, script: str, why: str) -> None:
        super().__init__(f"{script}: record out of date, run `{RENEW}`: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``source``: the digest of the script that was asked; ``release``: of the Hadoop that answered."""

    script: str
    source: str
    release: str
    client: str
    day: date
    outcome: Outcome = field(default_factory=lambda: Outcome(exit_code=0))

    def written(self, outcome: Outcome, folder: Path = FOLDER) -> Outcome:
        """Return the outcome as a record has it, kept; a record that says the same already stays as it is.

        AssertionError when it is too long, or tells of this machine.
        """
        kept = portable(outcome)
        before = read(self.script, folder)
        if before is not None and replace(before, day=self.day) == replace(self, outcome=kept):
            return kept
        known = {**asdict(self), "day": self.day.isoformat(), "outcome": _written(kept)}
        text = json.dumps(known, indent=1, ensure_ascii=False) + "\n"
        assert len(text.encode()) <= BYTES_MAX, f"{self.script}: {len(text)} characters are too many for a record"
        told = MACHINES.search(text)
        assert not told, f"{self.script}: {told and told[0]!r} in a record: it is not masked"
        folder.mkdir(exist_ok=True)
        path_of(self.script, folder).write_text(text)
        return kept


def path_of(script: str, folder: Path = FOLDER) -> Path:
    return folder / f"{script}.json"


def read(script: str, folder: Path = FOLDER) -> Record | None:
    """None when the script was never recorded.  ValueError or TypeError for a file that is no record."""
    path = path_of(script, folder)
    if not path.exists():
        return None
    known = json.loads(path.read_text())
    outcome = known["outcome"]
    whole = Outcome(**{**outcome, "output": "\n".join(outcome["output"])})
    return Record(**{**known, "day": date.fromisoformat(known["day"]), "outcome": whole})


def portable(outcome: Outcome) -> Outcome:
    """The outcome as a record has it."""
    written = by_root(json.loads(json.dumps(_written(outcome))))
    lines = [line for line in written["output"] if not JAVAS_OWN.match(line)]
    return replace(outcome, **{**written, "output": "\n".join(lines)})


def compared(known: Record | None, now: Record) -> Outcome:
    """Return what Yodel's outcome is to be compared with: the recorded one.

    ``now`` is a record of today without an outcome.  Raises OutOfDate when there is no record, when it is of another
    release, and when the script has changed since.
    """
    if known is None:
        raise OutOfDate(now.script, "there is none")
    if (known.release, known.client) != (now.release, now.client):
        raise OutOfDate(now.script, f"it is of Hadoop {known.release} and a client of {known.client}")
    if known.source != now.source:
        raise OutOfDate(now.script, "the script has changed since")
    return known.outcome


def _written(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as JSON has it: the output as lines."""
    return {**asdict(outcome), "output": outcome.output.splitlines()}


def by_root(value: Any) -> Any:
    """Return a value with another name for who runs the tests, at any depth; names of fields stay."""
    if isinstance(value, dict):
        return {name: by_root(item) for name, item in value.items()}
    if isinstance(value, list):
        return [by_root(item) for item in value]
    return re.sub(rf"\b{re.escape(getpass.getuser())}\b", "root", value) if isinstance(value, str) else value
