"""What windows do at a moment, and how long that stays so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import inf

import pytest

from yodel.domain.queues.queue import Queue
from yodel.domain.queues.window import Window
from yodel.domain.queues.windows import NO_WINDOWS, Calendar, Phase, phase_of, said_at

OFFICE = Window(
    name="office",
    cron="0 8 * * 1-5",
    zone="Europe/Berlin",
    duration_s=36_000,
    maximum_percent=40.0,
    stop_new_before_s=600,
)


def at(text: str) -> int:
    """A moment of November 2026 in Berlin; the 23rd is a Monday."""
    return int(datetime.fromisoformat(f"2026-11-{text}+01:00").timestamp() * 1000)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("23T07:00", Phase(until_ms=at("23T07:50"), begins_ms=at("23T08:00"))),
        ("23T07:50", Phase(until_ms=at("23T08:00"), is_near=True, begins_ms=at("23T08:00"))),
        ("23T08:00", Phase(until_ms=at("23T18:00"), is_open=True, ends_ms=at("23T18:00"))),
        ("23T17:59:59.999", Phase(until_ms=at("23T18:00"), is_open=True, ends_ms=at("23T18:00"))),
        ("23T18:00", Phase(until_ms=at("24T07:50"), begins_ms=at("24T08:00"))),
        ("27T18:00", Phase(until_ms=at("30T07:50"), begins_ms=at("30T08:00"))),
    ],
)
def test_phase(moment: str, expected: Phase) -> None:
    assert phase_of(OFFICE, at(moment)) == expected


def test_openings_that_touch_are_one_and_nothing_is_near_in_between() -> None:
    window = replace(OFFICE, cron="0 8,18 * * 1", stop_new_before_s=3600)
    assert phase_of(window, at("23T17:30")) == Phase(until_ms=at("24T04:00"), is_open=True, ends_ms=at("24T04:00"))


def test_window_that_never_closes_is_open_and_looked_at_again() -> None:
    window = replace(OFFICE, cron="* * * * *", duration_s=60)
    phase = phase_of(window, at("23T08:00"))
    assert phase.is_open
    assert at("23T08:30") < phase.until_ms < inf


def test_lowest_maximum_wins_and_never_more_than_the_queues_own() -> None:
    lower = replace(OFFICE, name="lower", cron="0 9 * * *", duration_s=3600, maximum_percent=10.0)
    above = replace(OFFICE, name="above", maximum_percent=90.0)
    queue = Queue(path="root.a", maximum_capacity_percent=60.0, windows=(OFFICE, lower, above))

    def maximum(moment: str) -> float:
        return Calendar().in_force([queue], at(moment)).applied([queue])[0].maximum_capacity_percent

    assert [maximum(moment) for moment in ("23T08:30", "23T09:30", "23T10:00", "23T18:00")] == [40.0, 10.0, 40.0, 60.0]
    only_above = replace(queue, windows=(above,))
    assert Calendar().in_force([only_above], at("23T09:00")).applied([only_above]) == [only_above]


def test_of_equal_windows_the_one_that_lasts_is_named_and_of_near_ones_the_first() -> None:
    longer = replace(OFFICE, name="longer", duration_s=40_000)
    sooner = replace(OFFICE, name="sooner", cron="55 7 * * *", maximum_percent=50.0)
    queue = Queue(path="root.a", windows=(OFFICE, longer, sooner))
    held = Calendar().in_force([queue], at("23T09:00")).holds["root.a"]
    assert held.open == longer
    assert held.ends == "2026-11-23T19:06+01:00"
    assert held.near is None
    held = Calendar().in_force([queue], at("23T07:51")).holds["root.a"]
    assert held.near == sooner
    assert held.begins == "2026-11-23T07:55+01:00"
    assert held.open is None


def test_it_is_in_force_from_then_to_the_next_edge_of_any() -> None:
    queues = [
        Queue(path="root.a", windows=(OFFICE,)),
        Queue(path="root.b", windows=(replace(OFFICE, cron="0 10 * * *"),)),
    ]
    found = Calendar().in_force(queues, at("23T08:30"))
    assert (found.from_ms, found.until_ms) == (at("23T08:30"), at("23T09:50"))
    assert [found.is_of(at(moment)) for moment in ("23T08:29", "23T08:30", "23T09:49", "23T09:50")] == [0, 1, 1, 0]
    assert Calendar().in_force([Queue(path="root.a")], at("23T08:30")) is NO_WINDOWS
    assert NO_WINDOWS.is_of(0)


def test_moment_for_people() -> None:
    assert said_at(at("23T18:00"), "America/New_York") == "2026-11-23T12:00-05:00"
