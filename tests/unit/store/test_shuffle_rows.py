"""Attempts whose rows another release has written keep the settings that were stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import an_attempt
from yodel.domain.shuffle.decision import AddedSetting, ShuffleDecision, Status
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome
from yodel.store.rows import attempt_from, attempt_values

DECISION = ShuffleDecision(
    service="celeborn",
    queue="root.a",
    lines=(AddedSetting("spark.a", "1", "why", "service of root.a"),),
    report=Report(ShuffleOutcome.ADDED, (LeftOut(("spark.a",), Cause(Reason.CAN_FALL_BACK)),)),
)


@pytest.mark.parametrize("report", [{}, {"report": None}, {"report": ["OF_A_LATER_RELEASE", []]}])
def test_what_was_decided_is_there_without_a_report_that_this_release_knows(report: dict[str, Any]) -> None:
    values = attempt_values(an_attempt(1, shuffle=DECISION))
    values["shuffle"] = {name: text for name, text in values["shuffle"].items() if name != "report"} | report
    found = attempt_from(values).shuffle
    assert found == replace(DECISION, report=None)
    assert found.status is Status.DECIDED
    assert found.added == DECISION.lines
