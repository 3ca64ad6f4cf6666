"""Every client script on a real Hadoop and on Yodel: a user must not be able to tell them apart.

``YODEL_CONFORMANCE=full`` (``make conformance``) runs all of them with every Hadoop release on both, and writes
``docs/compatibility.md`` and, of the scripts that take seconds, what the real one answered; ``recorded``
(``make conformance FORM=recorded``) does so with no others.  Without it Yodel is compared with those records and no
file is touched; a script that has changed since fails.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conformance.clients import recorded
from tests.conformance.clients.outcome import Outcome, Scenario, differences
from tests.conformance.clients.recorded import Record
from tests.conformance.clients.registry import chosen, version_of
from tests.conformance.clients.source import digest
from tests.conformance.clients.table import Row, merged, read_table, write_table
from tests.conformance.clients.target import Target
from tests.conformance.cluster import ROOT
from tests.conformance.spark_submit import spark_venv
from tests.support.hadoop import Hadoop, running_hadoop
from tests.support.hadoop_conf import addresses
from tests.support.hadoop_jars import RELEASES, jars
from tests.support.hadoop_yodel import rm_addresses, running_yodel
from tests.support.ports import free_port
from tests.support.spark_shuffle import agent_settings, public_spark_jars

FORM = os.environ.get("YODEL_CONFORMANCE", "")
FULL = FORM == "full"
ASKS_ALL = FORM in ("full", "recorded")
CHOSEN = chosen(full=FULL)
RECORDED = chosen(full=False)
CHANGEABLE = {"yarn.scheduler.configuration.store.class": "memory"}
TIMEOUT_S = 1200  # both clusters' runs of the longest script on a busy machine


@pytest.fixture(scope="module")
def hadoop(request: pytest.FixtureRequest) -> Iterator[Hadoop]:
    """Its ResourceManager and its node start with the first script that asks them.

    In the full form its node has Spark's shuffle service.
    """
    if FULL:
        with running_hadoop(spark_shuffle_jars=_spark_shuffle_jars()) as started:
            started.start_history()
            yield started
    else:
        shared: Hadoop = request.getfixturevalue("rig")
        yield shared
        shared.stop_yarn()


def _spark_shuffle_jars() -> str:
    """YarnShuffleService as published has nothing of what it is made of; PySpark brings that."""
    pyspark = next(spark_venv("3.5.x").glob("lib/python3*/site-packages/pyspark/jars"))
    return f"{jars('spark-shuffle')}/*:{pyspark}/*"


@pytest.fixture(scope="module")
def targets(hadoop: Hadoop) -> Iterator[tuple[Callable[[str], Target], Callable[[str], Target]]]:
    """The real cluster and Yodel as a client of some release sees them."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        settings = agent_settings(stack.enter_context(public_spark_jars("4.x")), port) if FULL else None
        cluster = stack.enter_context(running_yodel(hadoop, settings=settings))
        real = {"addresses": addresses(hadoop.servers.ports), "spark_shuffle_port": hadoop.servers.ports.spark_shuffle}
        yodel = {"addresses": rm_addresses(cluster), "spark_shuffle_port": port}

        def real_target(line: str) -> Target:
            hadoop.start_yarn()
            return Target(name="real", line=line, hadoop=hadoop, **real)

        yield real_target, lambda line: Target(name="yodl", line=line, hadoop=hadoop, **yodel)


@pytest.fixture(scope="module")
def changeable(hadoop: Hadoop) -> Iterator[Callable[[str], Target]]:
    """A real cluster whose queues its clients may change, with the JobHistoryServer of the other one."""
    with running_hadoop(more={"yarn-site.xml": CHANGEABLE}) as second:
        second.start_yarn()
        yield lambda line: Target(name="free", line=line, hadoop=hadoop, addresses=addresses(second.servers.ports))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Row]]:
    """Filled by the tests; written at the end.  A run of some of the scripts renews their rows."""
    seen: list[Row] = []
    yield seen
    folder: Path = ROOT / "docs" if ASKS_ALL else tmp_path_factory.mktemp("table")
    path = folder / "compatibility.md"
    order = [(scenario.client, version_of(scenario, line), scenario.name) for scenario, line in chosen(full=True)]
    write_table(path, RELEASES["3.5"], merged(read_table(path), seen, order))


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize(
    ("scenario", "line"), [pytest.param(s, line, id=f"{s.id}-{version_of(s, line)}") for s, line in CHOSEN]
)
def test_a_client_sees_the_same(
    scenario: Scenario,
    line: str,
    targets: tuple[Callable[[str], Target], Callable[[str], Target]],
    rows: list[Row],
    request: pytest.FixtureRequest,
) -> None:
    version = version_of(scenario, line)
    row = {"client": scenario.client, "version": version, "scenario": scenario.name}
    hadoops, yodels = targets

    def ask() -> Outcome:
        asked = request.getfixturevalue("changeable") if scenario.takes_queue_changes else hadoops
        return scenario.run(asked(line))

    real = _real(scenario, line, ask)
    try:
        found = recorded.portable(scenario.run(yodels(line)))
    except AssertionError as error:
        rows.append(Row(**row, real=real.summary, yodel=f"failed: {_first_line(error)}"))
        raise
    unequal = differences(real, found)
    answer = f"same: {found.summary}" if not unequal else f"differs: {found.summary}"
    rows.append(Row(**row, real=real.summary, yodel=answer))
    assert not unequal, "real YARN and Yodel differ:\n" + "\n".join(unequal)


def _real(scenario: Scenario, line: str, ask: Callable[[], Outcome]) -> Outcome:
    """Return what the real one answers, from its record or from itself.  Raises OutOfDate."""
    if (scenario, line) not in RECORDED:
        return recorded.portable(ask())
    now = Record(
        script=scenario.id,
        source=digest(scenario.run),
        release=RELEASES["3.5"],
        client=version_of(scenario, line),
        day=datetime.now(UTC).date(),
    )
    if ASKS_ALL:
        return now.written(ask())
    return recorded.compared(recorded.read(now.script), now)


def _first_line(error: AssertionError) -> str:
    return (str(error).splitlines() or ["no words"])[0].replace("|", "/")[:200]
