"""Every client script on a real Hadoop and on Yodel: a user must not be able to tell them apart.

``YODEL_CONFORMANCE=full`` (``make conformance``) runs all of them with every Hadoop release and writes
``docs/compatibility.md``; otherwise one release and what takes seconds, and no file is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients.outcome import Scenario, differences
from tests.conformance.clients.registry import chosen, version_of
from tests.conformance.clients.table import Row, merged, read_table, write_table
from tests.conformance.clients.target import Target
from tests.conformance.cluster import ROOT, Cluster
from tests.support.hadoop import Hadoop, hadoop
from tests.support.hadoop_conf import addresses
from tests.support.hadoop_jars import RELEASES
from tests.support.hadoop_yodel import rm_addresses, yodel_cluster

__all__ = ["hadoop", "yodel_cluster"]
FULL = os.environ.get("YODEL_CONFORMANCE") == "full"
CHOSEN = chosen(full=FULL)
TIMEOUT_S = 1200  # both clusters' runs of the longest script on a busy machine


@pytest.fixture(scope="session")
def whole_hadoop(hadoop: Hadoop) -> Hadoop:
    hadoop.start_yarn()
    hadoop.start_history()
    return hadoop


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Row]]:
    """Filled by the tests; written at the end.  A run of some of the scripts renews their rows."""
    seen: list[Row] = []
    yield seen
    path: Path = ROOT / "docs" / "compatibility.md" if FULL else tmp_path_factory.mktemp("table") / "compatibility.md"
    order = [(scenario.client, version_of(scenario, line), scenario.name) for scenario, line in CHOSEN]
    write_table(path, RELEASES["3.5"], merged(read_table(path), seen, order))


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize(
    ("scenario", "line"), [pytest.param(s, line, id=f"{s.id}-{version_of(s, line)}") for s, line in CHOSEN]
)
def test_a_client_sees_the_same(
    scenario: Scenario, line: str, whole_hadoop: Hadoop, yodel_cluster: Cluster, rows: list[Row]
) -> None:
    version = version_of(scenario, line)
    row = {"client": scenario.client, "version": version, "scenario": scenario.name}
    real = scenario.run(
        Target(name="real", line=line, addresses=addresses(whole_hadoop.servers.ports), hadoop=whole_hadoop)
    )
    try:
        found = scenario.run(Target(name="yodl", line=line, addresses=rm_addresses(yodel_cluster), hadoop=whole_hadoop))
    except AssertionError as error:
        rows.append(Row(**row, real=real.summary, yodel=f"failed: {_first_line(error)}"))
        raise
    unequal = differences(real, found)
    answer = f"same: {found.summary}" if not unequal else f"differs: {found.summary}"
    rows.append(Row(**row, real=real.summary, yodel=answer))
    assert not unequal, "real YARN and Yodel differ:\n" + "\n".join(unequal)


def _first_line(error: AssertionError) -> str:
    return (str(error).splitlines() or ["no words"])[0].replace("|", "/")[:200]
