"""Crontabs at random, in zones that change their clocks: next times are those that a look at every minute finds, and a
window is open exactly in the minutes that follow one of its times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from yodel.domain.queues.crontab import crontab, next_start, zone
from yodel.domain.queues.window import Window
from yodel.domain.queues.windows import phase_of

MINUTE = timedelta(minutes=1)
DAYS = 2
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca")
CHANGES = (
    "2026-03-08",
    "2026-03-29",
    "2026-04-05",
    "2026-10-04",
    "2026-10-25",
    "2026-11-01",
    "2027-02-28",
    "2027-02-07",
)
"""Days at which one of the clocks goes on or back, an end of February, and the begin of Ramadan."""


def part(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    pair = st.tuples(number, number).map(sorted)
    steps = st.integers(1, most)
    return st.one_of(
        st.just("*"),
        number.map(str),
        pair.map(lambda two: f"{two[0]}-{two[1]}"),
        steps.map(lambda step: f"*/{step}"),
        st.builds(lambda two, step: f"{two[0]}-{two[1]}/{step}", pair, steps),
        st.lists(number.map(str), min_size=2, max_size=4).map(",".join),
    )


crons = st.builds(
    lambda *fields: " ".join(fields),
    part(0, 59),
    st.one_of(part(0, 23), part(0, 4)),
    st.one_of(st.just("*"), part(1, 28)),
    st.one_of(st.just("*"), part(1, 12)),
    st.one_of(st.just("*"), part(0, 7)),
)


def names(field: str, value: int, first: int, last: int) -> bool:
    """Return whether a field of a crontab names a number: the slow way."""
    for one in field.split(","):
        span, _, step = one.partition("/")
        low, _, high = ("", "", "") if span == "*" else span.partition("-")
        begin = int(low) if low else first
        end = last if span == "*" else int(high or low)
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def is_named(cron: str, wall: datetime) -> bool:
    minute, hour, day, month, weekday = cron.split()
    is_day = names(day, wall.day, 1, 31)
    sunday_first = wall.isoweekday() % 7
    is_weekday = any(names(weekday, number, 0, 7) for number in ({0, 7} if sunday_first == 0 else {sunday_first}))
    both = day.startswith("*") or weekday.startswith("*")
    return (
        names(minute, wall.minute, 0, 59)
        and names(hour, wall.hour, 0, 23)
        and names(month, wall.month, 1, 12)
        and (is_day and is_weekday if both else is_day or is_weekday)
    )


def seen(cron: str, where: ZoneInfo, begin: datetime, end: datetime) -> list[datetime]:
    """Every moment in between, by looking at the clock each minute; what it shows again, it showed already."""
    found = list[datetime]()
    moment = begin - timedelta(days=1)
    latest = (moment - MINUTE).astimezone(where).replace(tzinfo=None)
    while moment <= end:
        wall = moment.astimezone(where).replace(tzinfo=None)
        if wall > latest:
            skipped = (latest + count * MINUTE for count in range(1, int((wall - latest) / MINUTE) + 1))
            if any(is_named(cron, one) for one in skipped) and moment > begin:
                found.append(moment)
            latest = wall
        moment += MINUTE
    return found


moments = st.builds(
    lambda day, minutes: datetime.fromisoformat(day).replace(tzinfo=UTC) + minutes * MINUTE - timedelta(hours=12),
    st.sampled_from(CHANGES),
    st.integers(0, 1440),
)


@settings(max_examples=40, deadline=None)
@given(crons, st.sampled_from(ZONES), moments)
def test_next_times_are_those_that_are_seen_minute_by_minute(cron: str, name: str, begin: datetime) -> None:
    where, end = zone(name), begin + timedelta(days=DAYS)
    found, moment = list[datetime](), begin
    while (moment := next_start(crontab(cron), where, moment)) <= end:
        found.append(moment)
    assert found == seen(cron, where, begin, end)


@settings(max_examples=40, deadline=None)
@given(crons, st.sampled_from(ZONES), moments, st.integers(1, 600), st.integers(0, 180), st.data())
def test_window_is_open_for_its_duration_after_each_time(
    cron: str, name: str, begin: datetime, minutes: int, before: int, data: st.DataObject
) -> None:
    window = Window(
        name="w", cron=cron, zone=name, duration_s=minutes * 60, maximum_percent=0.0, stop_new_before_s=before * 60
    )
    end = begin + timedelta(days=1)
    starts = seen(cron, zone(name), begin - timedelta(minutes=minutes), end + timedelta(minutes=before))
    for _ in range(10):
        now = begin + data.draw(st.integers(0, 86_399)) * timedelta(seconds=1)
        phase = phase_of(window, int(now.timestamp() * 1000))
        is_open = any(start <= now < start + minutes * MINUTE for start in starts)
        assert phase.is_open == is_open
        assert phase.is_near == (not is_open and any(now < start <= now + before * MINUTE for start in starts))
        assert phase.until_ms > now.timestamp() * 1000
        if phase.until_ms / 1000 < end.timestamp():
            then = datetime.fromtimestamp(phase.until_ms / 1000, UTC) - timedelta(seconds=1)
            if then > now:  # nothing changes before that
                last = phase_of(window, int(then.timestamp() * 1000))
                assert (last.is_open, last.is_near) == (phase.is_open, phase.is_near)
