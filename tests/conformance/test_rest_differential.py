"""The same calls of the REST API to a real ResourceManager and to Yodel: a script must not be able to tell them apart.

Some hundred calls, happy and unhappy, JSON and XML, go to both in the same order, with one application that runs, one
that finished, one that failed and one that was killed, all submitted by these calls.  What may differ is in
``rest/allowed.py``, with reasons.  ``YODEL_CONFORMANCE=full`` (``make conformance``) writes that into
``docs/compatibility.md`` too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pytest

from tests.conformance.cluster import ROOT
from tests.conformance.rest import calls_apps, calls_cluster, calls_queues
from tests.conformance.rest.allowed import LINES, Ledger
from tests.conformance.rest.compare import Difference, differences
from tests.conformance.rest.section import write_section
from tests.conformance.rest.sides import Side, both_sides
from tests.conformance.rest.steps import Call, Step
from tests.support.hadoop_jars import RELEASES

FULL = os.environ.get("YODEL_CONFORMANCE") == "full"
TIMEOUT_S = 400
DISTINCT_MIN = 150
SHOWN_MAX = 200
STEPS: tuple[Step, ...] = (*calls_cluster.steps(), *calls_apps.steps(), *calls_queues.steps())
CALLS = tuple(step for step in STEPS if isinstance(step, Call))


@dataclass(slots=True)
class Run:
    """What became of the whole sequence."""

    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0


@pytest.fixture(scope="module")
def run() -> Run:
    """All steps, each on both sides before the next; the application that runs goes on until the end."""
    done = Run()
    with both_sides() as sides:
        for step in STEPS:
            if isinstance(step, Call):
                done.ledger.enter(_asked(step, sides), LINES)
                done.calls += 1
            else:
                for side in sides:
                    side.wait(step)
    return done


def _asked(call: Call, sides: tuple[Side, Side]) -> list[Difference]:
    real, yodel = (side.ask(call) for side in sides)
    return differences(call.name, sides, (real, yodel))


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
    path = (ROOT if FULL else tmp_path_factory.mktemp("section")) / "docs" / "compatibility.md"
    path.parent.mkdir(exist_ok=True)
    write_section(path, version=RELEASES["3.5"], calls=run.calls, ledger=run.ledger)
    text = path.read_text()
    assert all(line.reason in text for line in run.ledger.calls_by_line)
