"""The part of ``docs/compatibility.md`` that a full run of the differential test writes."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.clients.table import SECTION, replaced_section
from tests.conformance.rest.allowed import LINES, Ledger

HEAD = f"""{SECTION}
## The REST API

Written by `make conformance` too: {{calls}} calls of `tests/conformance/rest`, one after the other to a real Hadoop
{{version}} ResourceManager and to Yodel, with the same jobs in the same states. Status, headers and bodies are equal
(ids, times, hosts and measures aside) except for these lines, which are all of `tests/conformance/rest/allowed.py`; the
number counts the calls that needed each.

| What | Calls | Hadoop {{version}} | Yodel | Why |
|---|---|---|---|---|
"""


def write_section(path: Path, *, version: str, calls: int, ledger: Ledger) -> None:
    """The rest of the file stays as it is."""
    rows = [
        f"| {line.what} | {len(ledger.calls_by_line[line])} | {line.hadoop} | {line.yodel} | {line.reason} |\n"
        for line in LINES
        if line in ledger.calls_by_line
    ]
    before = path.read_text() if path.exists() else ""
    path.write_text(replaced_section(before, HEAD.format(version=version, calls=calls) + "".join(rows)))
