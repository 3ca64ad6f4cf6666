"""Crontab expressions: what is one, when it is next, and what the clock does to it twice a year."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from yodel.domain.queues.crontab import LENGTH_MAX, crontab, next_start, zone
from yodel.errors import Refused


def starts(cron: str, where: str, after: str, count: int = 1) -> list[str]:
    """The next moments, in UTC."""
    moment, found = datetime.fromisoformat(after).astimezone(UTC), []
    for _ in range(count):
        moment = next_start(crontab(cron), zone(where), moment)
        found.append(moment.strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 8 * * *", "2026-11-24 08:00"),
        ("30 23 * * *", "2026-11-23 23:30"),
        ("*/20 * * * *", "2026-11-23 22:20"),
        ("5-59/25 * * * *", "2026-11-23 22:05"),
        ("0 0 * * 0", "2026-11-29 00:00"),
        ("0 0 * * 7", "2026-11-29 00:00"),
        ("0 0 * * sun", "2026-11-29 00:00"),
        ("0 0 * * 1", "2026-11-30 00:00"),
        ("0 0 * * Fri-Sat", "2026-11-27 00:00"),
        ("0 0 * * 5-7", "2026-11-27 00:00"),
        ("0 0 * * */6", "2026-11-28 00:00"),
        ("0 0 1 Jan,dec *", "2026-12-01 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        # Both restricted: either is enough.
        ("0 0 25 * 5", "2026-11-25 00:00"),
        ("0 0 30 * 5", "2026-11-27 00:00"),
        ("0 0 31 2 3", "2027-02-03 00:00"),
        # One of them begins with a star: both hold.
        ("0 0 */10 * 1", "2026-12-21 00:00"),
        ("@daily", "2026-11-24 00:00"),
        ("@Weekly", "2026-11-29 00:00"),
        ("@yearly", "2027-01-01 00:00"),
    ],
)
def test_next_time(cron: str, expected: str) -> None:
    assert starts(cron, "UTC", "2026-11-23T22:00:00+00:00") == [expected]


def test_next_time_is_later_than_the_moment_that_is_asked_about() -> None:
    assert starts("0 22 * * *", "UTC", "2026-11-23T22:00:00+00:00") == ["2026-11-24 22:00"]
    assert starts("0 22 * * *", "UTC", "2026-11-23T21:59:59.999+00:00") == ["2026-11-23 22:00"]


@pytest.mark.parametrize(
    ("where", "cron", "after", "expected"),
    [
        # At 2:00 the clock goes on at 3:00.
        ("Europe/Berlin", "30 2 * * *", "2027-03-27T12:00+01:00", ["2027-03-28 01:00", "2027-03-29 00:30"]),
        ("Europe/Berlin", "*/20 2 * * *", "2027-03-28T00:00+01:00", ["2027-03-28 01:00", "2027-03-29 00:00"]),
        ("America/New_York", "30 2 * * *", "2027-03-14T00:00-05:00", ["2027-03-14 07:00", "2027-03-15 06:30"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-04T00:00+10:30", ["2026-10-03 15:30", "2026-10-04 15:15"]),
        # At 3:00 it is 2:00 again.
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T00:00+02:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        ("Europe/Berlin", "0 * * * *", "2026-10-25T01:30+02:00", ["2026-10-25 00:00", "2026-10-25 02:00"]),
        ("America/New_York", "30 1 * * *", "2026-11-01T00:00-04:00", ["2026-11-01 05:30", "2026-11-02 06:30"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2027-04-04T00:00+11:00", ["2027-04-03 14:45", "2027-04-04 15:15"]),
        # A day that was skipped whole.
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-29T00:00-10:00", ["2011-12-30 10:00", "2012-12-29 22:00"]),
    ],
)
def test_skipped_hour_begins_at_its_end_and_doubled_one_once(
    where: str, cron: str, after: str, expected: list[str]
) -> None:
    assert starts(cron, where, after, 2) == expected


def test_asked_within_the_second_of_two_equal_hours() -> None:
    assert starts("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00+00:00") == ["2026-10-26 01:30"]


@pytest.mark.parametrize(
    ("cron", "text"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("@reboot", "five fields"),
        ("* " * LENGTH_MAX, "five fields"),
        ("60 * * * *", "minute of 0 to 59"),
        ("* 24 * * *", "hour of 0 to 23"),
        ("* * 0 * *", "day of the month of 1 to 31"),
        ("* * * 13 *", "month of 1 to 12 or jan to dec"),
        ("* * * foo *", "month of 1 to 12 or jan to dec, not 'foo'"),
        ("* * * * 8", "day of the week of 0 to 7 or sun to sat"),
        ("5-1 * * * *", "from less to more"),
        ("*/0 * * * *", "steps of at least 1"),
        ("5/2 * * * *", "a step in a range"),
        ("1,,2 * * * *", "a minute such as 5, 1-5"),
        ("-1 * * * *", "a minute such as 5, 1-5"),
        ("? * * * *", "a minute such as 5, 1-5"),
        ("0 0 31 feb *", "a day that some year has"),
        ("0 0 31 4,6 *", "a day that some year has"),
        ("٣ * * * *", "a minute such as 5, 1-5"),
    ],
)
def test_what_is_none_is_refused_with_what_is_expected(cron: str, text: str) -> None:
    with pytest.raises(Refused, match="Invalid cron") as raised:
        crontab(cron)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "name", ["", "Mars", "../etc/passwd", "/etc/localtime", "localtime", "right/UTC", "America", "A" * 300]
)
def test_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="Invalid time zone"):
        zone(name)
