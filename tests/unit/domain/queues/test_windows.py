"""Windows are in force at some moments, and each says how long that stays so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from yodel.domain.queues import windows
from yodel.domain.queues.crontab import crontab, next_start, zone
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.window import WINDOWS_OF_QUEUE_MAX, Window
from yodel.domain.queues.windows import DAYS_MAX, NO_WINDOWS, Calendar, Phase, phase_of, said_at

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


@pytest.mark.parametrize(
    ("cron", "duration_s", "asked"),
    [
        ("* * * * *", 60, 1),
        ("*/5 * * * *", 300, 1),
        ("0-58 * * * *", 120, 1),
        ("0 */6 * * *", 21_600, 1),
        ("0 0 1-31 * 0-6", 86_400, 1),
        ("* 8-17 * * 1-5", 60, 2),
        ("* 8-17 * * *", 60, 2),
        ("*/2 * * * *", 60, 2),
        ("0 0 * 1-11 *", 86_400, DAYS_MAX + 1),
    ],
)
def test_window_that_opens_again_before_it_closes_is_one_opening(
    cron: str, duration_s: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it opens on a day, the next time is asked for once or twice, and once a day where days touch."""
    calls = list[datetime]()

    def counted(*arguments: object) -> datetime:
        calls.append(found := next_start(*arguments))  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(windows, "next_start", counted)
    window = replace(OFFICE, cron=cron, duration_s=duration_s, zone="UTC")
    assert phase_of(window, at("23T09:00")).is_open
    assert len(calls) <= asked
    calls.clear()
    queues = [
        Queue(path=f"root.q{n}", windows=tuple(replace(window, duration_s=duration_s + n * 20 + k) for k in range(20)))
        for n in range(24)
    ]
    Calendar().in_force(queues, at("23T09:00"))
    assert len(calls) <= asked * 24 * WINDOWS_OF_QUEUE_MAX


@pytest.mark.parametrize("where", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    ("cron", "duration_s"),
    [
        ("* 8-17 * * 1-5", 60),
        ("*/7 0-5,22,23 * * *", 420),
        ("*/7 0-5,22,23 * * *", 60),
        ("0,20,40 1-3 * * *", 1_200),
        ("30 0-4 * * *", 3_600),
        ("5-59/9 * * * *", 540),
        ("0 8,18 * * *", 36_000),
        ("0 0 * * 6,0", 86_400),
        ("* 1-2 * * 0", 90),
    ],
)
def test_openings_are_put_together_as_one_after_the_other_would_be(cron: str, duration_s: int, where: str) -> None:
    """Also on the days on which clocks are changed."""
    window = replace(OFFICE, cron=cron, duration_s=duration_s, zone=where, stop_new_before_s=0)
    duration = timedelta(seconds=duration_s)
    for day in ("2026-10-03T14:31", "2026-10-25T00:10", "2026-11-01T04:59", "2026-11-24T12:01", "2027-03-28T00:00"):
        now = datetime.fromisoformat(f"{day}+00:00")
        for moment in (now + timedelta(minutes=73 * step) for step in range(10)):
            start = next_start(crontab(cron), zone(where), moment - duration)
            found = phase_of(window, round(moment.timestamp() * 1000))
            assert found.is_open == (start <= moment)
            if not found.is_open:
                assert found.begins_ms == start.timestamp() * 1000
                continue
            ends, horizon = start + duration, moment + timedelta(days=DAYS_MAX // 2)
            while ends < horizon and (start := next_start(crontab(cron), zone(where), start)) <= ends:
                ends = start + duration
            told = datetime.fromtimestamp(found.ends_ms / 1000, UTC)
            if ends < horizon and not crontab(cron).is_endless(duration):
                assert told == ends
            else:  # it ends no earlier than is told
                assert moment < told <= max(ends, moment + timedelta(days=DAYS_MAX + 1))
