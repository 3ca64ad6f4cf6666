"""``docs/compatibility.md``: what a run of ``make conformance`` saw, written by the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HEAD = """# Compatibility

Written by `make conformance`, which runs every script of `tests/conformance/clients` against a real Hadoop {version}
(ResourceManager, NodeManager, HDFS, JobHistoryServer) and against Yodel, and compares what the user sees: exit code,
final status, counters, the command's output with ids, times and addresses masked. *Same* says that nothing differed.

| Client | Version | Scenario | Real YARN | Yodel |
|---|---|---|---|---|
"""

SECTION = "<!-- written by tests/conformance/test_rest_differential.py -->"
"""Begins the other part of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``yodel`` begins with "same" where nothing differed."""

    client: str
    version: str
    scenario: str
    real: str
    yodel: str


def read_table(path: Path) -> list[Row]:
    """The rows of a table written before; none when there is no file."""
    lines = _parts(path.read_text())[0].splitlines() if path.exists() else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [
        Row(client=client, version=version, scenario=scenario, real=real, yodel=yodel)
        for client, version, scenario, real, yodel in cells[1:]
    ]


def merged(before: Iterable[Row], seen: Iterable[Row], order: Iterable[tuple[str, str, str]]) -> list[Row]:
    """What was seen now, and what was seen before of all else, in the order of (client, version, scenario)."""
    known = {(row.client, row.version, row.scenario): row for row in (*before, *seen)}
    return [known[key] for key in order if key in known]


def write_table(path: Path, hadoop_version: str, rows: Iterable[Row]) -> None:
    """The other part of the file stays as it is."""
    lines = [f"| {r.client} | {r.version} | {r.scenario} | {r.real} | {r.yodel} |\n" for r in rows]
    section = _parts(path.read_text())[1] if path.exists() else ""
    path.write_text(replaced_section(HEAD.format(version=hadoop_version) + "".join(lines), section))


def replaced_section(text: str, section: str) -> str:
    """The file with another section, which begins with ``SECTION``, or with none."""
    table = _parts(text)[0].rstrip("\n")
    return "\n\n".join(part for part in (table, section.rstrip("\n")) if part) + "\n"


def _parts(text: str) -> tuple[str, str]:
    """The table, and the section behind it."""
    table, mark, section = text.partition(SECTION)
    return table, mark + section
