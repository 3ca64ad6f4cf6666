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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``yodel`` begins with "same" where nothing differed."""

    client: str
    version: str
    scenario: str
    real: str
    yodel: str


def write_table(path: Path, hadoop_version: str, rows: Iterable[Row]) -> None:
    lines = [f"| {r.client} | {r.version} | {r.scenario} | {r.real} | {r.yodel} |\n" for r in rows]
    path.write_text(HEAD.format(version=hadoop_version) + "".join(lines))
