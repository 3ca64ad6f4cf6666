"""``docs/compatibility.md``: what a run of ``make conformance`` saw, written by the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HEAD = """# Compatibility

In ten lines:

1. **Unchanged:** Spark, MapReduce, Tez, Flink, distributed shell, `yarn`, `mapred`: no difference in the first table.
2. **Unchanged:** REST scripts of `/ws/v1`, except for the lines of the [last table](#the-rest-api).
3. **Unchanged:** exit codes, final status, counters and printed output. An unchanged `yarn logs` reads the logs.
4. **Unchanged:** properties of `capacity-scheduler.xml`, except [some](coming-from-yarn.md#capacity-schedulerxml).
5. **Differs:** a container is a pod, and by default [Kubernetes chooses its node](kubernetes.md#who-chooses-the-node).
6. **Differs:** callers without a name may read over HTTP, but not write, unless `http_static_user_may_write` is set.
7. **Differs:** what callers send has [limits](#limits); a refusal names the limit and its setting.
8. **Differs:** `yarn schedulerconf` refuses a queue property that would have no effect, where Hadoop stores it.
9. **Missing:** half of Kerberos, shares of queues by node label, automatically created queues, federation.
10. **Missing:** node attributes, resource profiles, reservations, the FairScheduler, opportunistic containers.

## Clients

Written by `make conformance`, which runs every script of `tests/conformance/clients` against a real Hadoop {version}
(ResourceManager, NodeManager, HDFS, JobHistoryServer) and against Yodel, and compares what the user sees: exit code,
final status, counters, the command's output with ids, times and addresses masked. *Same* means no difference.

| Client | Version | Scenario | Real YARN | Yodel |
|---|---|---|---|---|
"""

SECTION = "<!-- written by tests/conformance/test_rest_differential.py -->"
"""Begins the last part of the file."""
LIMITS = "<!-- written by scripts/limits.py -->"
"""Begins the part between the table and the last one, where there is one."""


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
    """Return what was seen now, and before of all else, in the order of (client, version, scenario)."""
    known = {(row.client, row.version, row.scenario): row for row in (*before, *seen)}
    return [known[key] for key in order if key in known]


def write_table(path: Path, hadoop_version: str, rows: Iterable[Row]) -> None:
    """The other parts of the file stay as they are."""
    lines = [f"| {r.client} | {r.version} | {r.scenario} | {r.real} | {r.yodel} |\n" for r in rows]
    rest = _parts(path.read_text())[1:] if path.exists() else ()
    path.write_text(_joined(HEAD.format(version=hadoop_version) + "".join(lines), *rest))


def replaced_section(text: str, section: str) -> str:
    """The file with another last part, which begins with ``SECTION``, or with none."""
    return _joined(*_parts(text)[:2], section)


def _parts(text: str) -> tuple[str, str, str]:
    """The table, the limits, and the section behind them."""
    before, mark, section = text.partition(SECTION)
    table, limits_mark, limits = before.partition(LIMITS)
    return table, limits_mark + limits, mark + section


def _joined(*parts: str) -> str:
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"
