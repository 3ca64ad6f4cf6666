"""The same calls of the REST API to a real ResourceManager and to Yodel: a script must not be able to tell them apart.

Some hundred calls, happy and unhappy, JSON and XML, go to both in the same order, with one application that runs, one
that finished, one that failed and one that was killed, all submitted by these calls.  What may differ is in
``rest/allowed.py``, with reasons.  ``YODEL_CONFORMANCE=full`` or ``recorded`` (``make conformance``) writes that into
``docs/compatibility.md`` and keeps what the real one answered; otherwise Yodel is compared with what was kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from tests.conformance.clients.recorded import OutOfDate
from tests.conformance.clients.registry import REST_API
from tests.conformance.cluster import ROOT
from tests.conformance.rest import calls_apps, calls_cluster, calls_queues
from tests.conformance.rest.allowed import LINES, Ledger
from tests.conformance.rest.compare import Seen, differences, seen
from tests.conformance.rest.record import RestRecord, compared, portable, read, says_the_same, source
from tests.conformance.rest.section import write_section
from tests.conformance.rest.sides import Side, hadoop_side, yodel_side
from tests.conformance.rest.steps import Call, Step
from tests.support.hadoop import Hadoop
from tests.support.hadoop_jars import RELEASES

ASKS_ALL = os.environ.get("YODEL_CONFORMANCE", "") in ("full", "recorded")
TIMEOUT_S = 600
DISTINCT_MIN = 150
SHOWN_MAX = 200
STEPS: tuple[Step, ...] = (*calls_cluster.steps(), *calls_apps.steps(), *calls_queues.steps())
CALLS = tuple(step for step in STEPS if isinstance(step, Call))


@dataclass(slots=True)
class Run:
    """Count what became of the whole sequence."""

    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0


@pytest.fixture(scope="module")
def run(rig: Hadoop) -> Run:
    """Yodel's answers beside those of the real one, or its recorded ones."""
    done = Run()
    real = _real()
    with yodel_side(rig) as side:
        yodel = _answers(side)
    if [*real] != [*yodel]:
        raise OutOfDate(REST_API, "it is of other calls")
    for call, found in yodel.items():
        done.ledger.enter(differences(call, real[call], found), LINES)
        done.calls += 1
    return done


def _real() -> Mapping[str, Seen]:
    """Raises OutOfDate."""
    now = RestRecord(source=source(), release=RELEASES["3.5"], day=datetime.now(UTC).date(), answers={})
    if not ASKS_ALL:
        return compared(read(), now)
    asked = replace(now, answers=_asked())
    if not says_the_same(read(), asked):
        asked.write()
    return asked.answers


def _asked() -> Mapping[str, Seen]:
    with hadoop_side() as side:
        return _answers(side)


def _answers(side: Side) -> dict[str, Seen]:
    """Return the answers to all steps in their order; the application that runs goes on until the end."""
    found: dict[str, Seen] = {}
    for step in STEPS:
        if isinstance(step, Call):
            found[step.name] = portable(seen(side, side.ask(step)))
        else:
            side.wait(step)
    return found


def test_the_calls_are_many_and_each_has_a_name_of_its_own() -> None:
    assert len({call.request for call in CALLS}) >= DISTINCT_MIN
    assert len({call.name for call in CALLS}) == len(CALLS)
    assert {call.method for call in CALLS} >= {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}


@pytest.mark.timeout(TIMEOUT_S)
def test_answers_differ_only_where_it_is_said_that_they_may(run: Run) -> None:
    assert run.calls == len(CALLS)
    found = [str(difference) for difference in run.ledger.not_allowed]
    assert not found, "\n".join(["real YARN and Yodel differ:", *found[:SHOWN_MAX], f"({len(found)} in all)"])


@pytest.mark.timeout(TIMEOUT_S)
def test_nothing_is_allowed_that_no_call_needs(run: Run) -> None:
    assert run.ledger.unneeded(LINES) == []


@pytest.mark.timeout(TIMEOUT_S)
def test_what_differs_is_written_down(run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = (ROOT if ASKS_ALL else tmp_path_factory.mktemp("section")) / "docs" / "compatibility.md"
    path.parent.mkdir(exist_ok=True)
    write_section(path, version=RELEASES["3.5"], calls=run.calls, ledger=run.ledger)
    text = path.read_text()
    assert all(line.reason in text for line in run.ledger.calls_by_line)
