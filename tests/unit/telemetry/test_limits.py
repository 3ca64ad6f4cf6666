"""Refusals by a limit are counted always, and logged once a minute for a limit and a caller."""

from __future__ import annotations

from collections import Counter

from structlog.testing import capture_logs

from yodel.telemetry import limits
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import LOG_PERIOD_S, TABLE, Refusals

FRAMES = Limit(name="frames", setting="frame_mib_max", default="1 MiB", what="frames", answer="closed", hadoop="64 MiB")


def test_log_has_one_line_a_minute_and_caller() -> None:
    now_s = 0.0
    refusals = Refusals(lambda: now_s)
    with capture_logs() as lines:
        for caller in ("10.0.0.1", "10.0.0.1", "10.0.0.2"):
            refusals.tell(FRAMES, caller=caller, value=7, maximum=5)
        now_s = LOG_PERIOD_S
        refusals.tell(FRAMES, caller="10.0.0.1", value=8, maximum=5)
    assert [(line["caller"], line["value"]) for line in lines] == [("10.0.0.1", 7), ("10.0.0.2", 7), ("10.0.0.1", 8)]
    assert {(line["limit"], line["maximum"], line["setting"]) for line in lines} == {("frames", 5, "frame_mib_max")}


def test_every_refusal_is_counted() -> None:
    refusals = Refusals(lambda: 0.0)
    for _ in range(3):
        refusals.tell(FRAMES, caller="10.0.0.1", value=7, maximum=5)
    assert refusals._counts == Counter(frames=3)


def test_callers_are_forgotten_oldest_first() -> None:
    refusals = Refusals(lambda: 0.0)
    for number in range(limits.CALLERS_MAX + 5):
        refusals.tell(FRAMES, caller=str(number), value=7, maximum=5)
    assert len(refusals._logged_s) == limits.CALLERS_MAX
    assert ("frames", "0") not in refusals._logged_s


def test_names_are_given_once() -> None:
    names = [limit.name for limit in TABLE]
    assert len(set(names)) == len(names)
