"""A record keeps what a real ResourceManager answered to the calls, in ``tests/conformance/recorded/rest-api.json``.

A line a call, in the order in which they were sent; ``as`` names an earlier call with the same headers, or the same
body.  What is measured, and times, are written as 0 or 1.  As with the other scripts (``clients/recorded.py``) it is
``make conformance`` that asks the real one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from tests.conformance.clients.recorded import FOLDER, MACHINES, ROOT, OutOfDate, by_root, path_of
from tests.conformance.clients.registry import REST_API
from tests.conformance.clients.source import RIG
from tests.conformance.rest.allowed import LINES, Allowed
from tests.conformance.rest.compare import Seen, differences, settled

BYTES_MAX = 600 << 10
BY_CHANCE = (
    Allowed(
        what="what the scheduler did last",
        calls=r"GET /ws/v1/cluster/scheduler.*",
        place=r"body\.scheduler\.schedulerInfo\.health\..*",
        hadoop="one placement",
        yodel="another, or none for a while",
        reason="it depends on when it is asked",
    ),
    *(replace(line, yodel_shows="") for line in LINES if line.is_chance),
)
"""Where two runs of one and the same Hadoop differ."""
AS = "as"
LONG = 20
"""Characters that naming another call has to save."""
SOURCES = ("calls_apps.py", "calls_cluster.py", "calls_queues.py", "compare.py", "master.py", "sides.py", "steps.py")
"""The files that the answers depend on, beside the rig's configuration; which of them Yodel may not give is apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRecord:
    """``answers`` by the call's name."""

    source: str
    release: str
    day: date
    answers: Mapping[str, Seen]

    def write(self, folder: Path = FOLDER) -> None:
        """AssertionError when it is longer than it may be, or tells of this machine."""
        head = {"script": REST_API, "source": self.source, "release": self.release, "day": self.day.isoformat()}
        lines = [json.dumps(line, ensure_ascii=False) for line in _shared(self.answers)]
        text = json.dumps(head)[:-1] + ', "answers": [\n' + ",\n".join(lines) + "\n]}\n"
        assert len(text.encode()) <= BYTES_MAX, f"{len(text)} characters are too many for a record"
        told = [line[:80] for line in lines if MACHINES.search(line)]
        assert not told, f"a path or an address of this machine in a record: {told[:40]}"
        path_of(REST_API, folder).write_text(text)


def read(folder: Path = FOLDER) -> RestRecord | None:
    """None when the calls were never recorded."""
    path = path_of(REST_API, folder)
    if not path.exists():
        return None
    known = json.loads(path.read_text())
    lines = {line["call"]: line for line in known["answers"]}
    answers = {
        call: Seen(status=line["status"], headers=_of(lines, line, "headers"), body=_of(lines, line, "body"))
        for call, line in lines.items()
    }
    return RestRecord(
        source=known["source"], release=known["release"], day=date.fromisoformat(known["day"]), answers=answers
    )


def _shared(answers: Mapping[str, Seen]) -> Iterator[dict[str, object]]:
    """The lines: what is long and was there before is only named."""
    known: dict[str, str] = {}
    for call, seen in answers.items():
        line: dict[str, object] = {"call": call, "status": seen.status}
        for part, value in (("headers", seen.headers), ("body", seen.body)):
            text = f"{part} {json.dumps(value)}"
            line[part] = {AS: known[text]} if text in known else value
            if len(text) > len(call) + len(AS) + LONG:
                known.setdefault(text, call)
        yield line


def _of(lines: Mapping[str, Mapping[str, Any]], line: Mapping[str, Any], part: str) -> Any:
    value = line[part]
    return lines[value[AS]][part] if isinstance(value, dict) and [*value] == [AS] else value


def source() -> str:
    """SHA-256 of what the answers depend on, in hexadecimal."""
    paths = [*(Path(__file__).parent / name for name in SOURCES), ROOT / RIG]
    return hashlib.sha256("\n\n".join(path.read_text() for path in paths).encode()).hexdigest()


def portable(seen: Seen) -> Seen:
    """Return an answer as a record has it."""
    known = by_root(asdict(seen))
    return Seen(**{**known, "body": settled(known["body"])})


def compared(known: RestRecord | None, now: RestRecord) -> Mapping[str, Seen]:
    """Return what Yodel's answers are to be compared with: the recorded ones.

    ``now`` is a record of today without answers.  Raises OutOfDate when there is no record, when it is of another
    release, and when the calls have changed since.
    """
    if known is None:
        raise OutOfDate(REST_API, "there is none")
    if known.release != now.release:
        raise OutOfDate(REST_API, f"it is of Hadoop {known.release}")
    if known.source != now.source:
        raise OutOfDate(REST_API, "the calls have changed since")
    return known.answers


def says_the_same(known: RestRecord | None, new: RestRecord, by_chance: Sequence[Allowed] = BY_CHANCE) -> bool:
    """Return whether a record need not be written anew.

    ``by_chance`` says what may differ between two runs of one and the same Hadoop.
    """
    if known is None or (known.source, known.release) != (new.source, new.release):
        return False
    if [*known.answers] != [*new.answers]:
        return False
    found = [one for call, seen in new.answers.items() for one in differences(call, seen, known.answers[call])]
    return all(any(line.fits(one) for line in by_chance) for one in found)
