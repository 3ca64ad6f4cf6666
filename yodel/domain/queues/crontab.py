"""A crontab(5) expression: which minutes by the clock on the wall it names, and at which moments these are.  Pure.

The next of the days that it names is APScheduler's, of its ``CronTrigger``; the times of a day are the same on all of
them.  It is asked on a wall that knows no zone, for three rules are not its own: weekdays count from Sunday, which is 0
and 7; of a day of the month and a day of the week that both begin without ``*`` either one is enough; and a time that
the clock skips is the moment when the clock goes on, one that it shows twice is the first of both.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.cron import CronTrigger

from yodel.errors import Refused

LENGTH_MAX = 200
FIVE_FIELDS = (
    "five fields (minute, hour, day of the month, month, day of the week), such as '0 8 * * 1-5', or @hourly, @daily, "
    f"@weekly, @monthly or @yearly; at most {LENGTH_MAX} characters"
)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MINUTES_OF_DAY = 1440
DAYS_KEPT_MAX = 40
"""The most days of one expression after each of which it is known which day comes next."""
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
_PART = re.compile(
    r"(?:\*|(?P<first>[0-9]{1,2}|[a-z]{3})(?:-(?P<last>[0-9]{1,2}|[a-z]{3}))?)(?:/(?P<step>[0-9]{1,2}))?"
)


@dataclass(frozen=True, slots=True)
class _Field:
    """Describes one of the five fields: numbers from ``least`` to ``most``, or names, of which the first is
    ``least``."""

    what: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _WEEKDAYS),
)


class Crontab:
    """An expression that was understood.  Every one names some time: 30 February is refused."""

    def __init__(self, text: str) -> None:
        """Raises Refused: it is none."""
        said = _NICKNAMES.get(text.strip().lower(), text).lower().split()
        if len(text) > LENGTH_MAX or len(said) != len(_FIELDS):
            raise _refused(text, FIVE_FIELDS)
        minutes, hours, days, months, weekdays = (
            _numbers(text, field, part) for field, part in zip(_FIELDS, said, strict=True)
        )
        weekdays = {number % 7 for number in weekdays}
        is_either = not said[2].startswith("*") and not said[4].startswith("*")
        is_day = any(min(days) <= _DAYS[month - 1] for month in months)
        if not is_either and not is_day:
            raise _refused(text, "a day that some year has")
        common = {"minute": 0, "hour": 0, "month": _said(months), "second": 0, "timezone": UTC}
        day, weekday = _said(days), _said({(number - 1) % 7 for number in weekdays})
        if is_either:
            # One that never comes is looked for to the end of all years.
            self._triggers = [CronTrigger(day=day, **common)] if is_day else []
            self._triggers.append(CronTrigger(day_of_week=weekday, **common))
        else:
            self._triggers = [CronTrigger(day=day, day_of_week=weekday, **common)]
        self._times = array("H", sorted(60 * hour + minute for hour in hours for minute in minutes))
        self._gap_max = max((late - early for early, late in pairwise(self._times)), default=0)
        """Minutes without a time on a day, between the first and the last."""
        self._is_daily = len(months) == 12 and (len(days) == 31 or is_either) and len(weekdays) == 7
        self._named, self._is_either = (months, days, weekdays), is_either
        self._after: dict[date, date] = {}

    def next_wall(self, after: datetime) -> datetime:
        """The first minute that it names, later than ``after``; both by the clock on the wall, without a zone."""
        day, today = after.date(), self._day(after.date())
        place = bisect_right(self._times, 60 * after.hour + after.minute) if today == day else 0
        if place == len(self._times):
            today, place = self._day(day + DAY), 0
        return datetime.combine(today, time(*divmod(self._times[place], 60)))

    def last_wall(self, start: datetime, gap: timedelta) -> datetime:
        """The last time of the day that is reached from one without a ``gap`` longer than this; both on the wall."""
        times, place, gap_min = (
            self._times,
            bisect_right(self._times, 60 * start.hour + start.minute) - 1,
            gap // MINUTE,
        )
        if place < 0 or times[place] != 60 * start.hour + start.minute:
            return start
        if self._gap_max <= gap_min:
            place = len(times) - 1
        while place + 1 < len(times) and times[place + 1] - times[place] <= gap_min:
            place += 1
        return datetime.combine(start.date(), time(*divmod(times[place], 60)))

    def last_wall_until(self, wall: datetime) -> datetime:
        """The last time of a day that is not later."""
        place = bisect_right(self._times, 60 * wall.hour + wall.minute) - 1
        return datetime.combine(wall.date(), time(*divmod(self._times[place], 60)))

    def is_endless(self, gap: timedelta) -> bool:
        """Return True if consecutive times are never further apart than ``gap``."""
        over_night = MINUTES_OF_DAY - self._times[-1] + self._times[0]
        return self._is_daily and max(self._gap_max, over_night) <= gap // MINUTE

    def _day(self, day: date) -> date:
        """The first day that it names, this one or later."""
        months, days, weekdays = self._named
        of_both = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month in months and (any(of_both) if self._is_either else all(of_both)):
            return day
        found = self._after.get(day)
        if found is None:
            if len(self._after) >= DAYS_KEPT_MAX:
                self._after.clear()
            from_ = datetime.combine(day, time(), UTC)
            moments: list[datetime] = [trigger.get_next_fire_time(None, from_) for trigger in self._triggers]
            found = self._after[day] = min(moments).date()
        return found


@lru_cache(maxsize=2048)
def crontab(text: str) -> Crontab:
    """Raises Refused: it is none."""
    return Crontab(text)


@lru_cache(maxsize=2048)
def zone(name: str) -> ZoneInfo:
    """A time zone by its name in the zone database.  Raises Refused."""
    expected = "a name of the time zone database, such as Europe/Berlin or UTC"
    if _ZONE.fullmatch(name) is None:
        raise Refused(f"Invalid time zone: {name[:80]!r}; expected {expected}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refused(f"Invalid time zone: {name[:80]!r}; expected {expected}") from error


def next_start(cron: Crontab, where: ZoneInfo, after: datetime) -> datetime:
    """The first moment that an expression names there, later than ``after``; both in UTC."""
    wall = after.astimezone(where).replace(tzinfo=None)
    while True:
        wall = cron.next_wall(wall)
        found = _moment(wall, where)
        if found > after:  # where the clock shows an hour again, its times were already
            return found


def last_start(cron: Crontab, where: ZoneInfo, start: datetime, gap: timedelta) -> datetime:
    """The last moment of a start's day that is reached from it without a longer ``gap``, and before the clock there is
    changed; both in UTC."""
    wall = start.astimezone(where).replace(tzinfo=None)
    last = cron.last_wall(wall, gap)
    low, high = 0, (last - wall) // MINUTE
    if _moment(last, where) != start + (last - wall):
        while high - low > 1:
            middle = (low + high) // 2
            if _moment(wall + middle * MINUTE, where) == start + middle * MINUTE:
                low = middle
            else:
                high = middle
        last = cron.last_wall_until(wall + low * MINUTE)
    return start + (last - wall)


def _moment(wall: datetime, where: ZoneInfo) -> datetime:
    """Return the first time at which the clock shows this; if it skips it, the time at which it goes on."""
    later = wall.replace(tzinfo=where, fold=0).astimezone(UTC)
    if later.astimezone(where).replace(tzinfo=None) == wall:
        return later
    earlier = wall.replace(tzinfo=where, fold=1).astimezone(UTC)
    before = earlier.astimezone(where).utcoffset()
    low, high = 0, int((later - earlier) / MINUTE)
    while high - low > 1:
        middle = (low + high) // 2
        if (earlier + middle * MINUTE).astimezone(where).utcoffset() == before:
            low = middle
        else:
            high = middle
    return earlier + high * MINUTE


def _numbers(text: str, field: _Field, said: str) -> set[int]:
    found: set[int] = set()
    for part in said.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _refused(text, f"a {field.what} such as 5, 1-5, */2, 1-5/2 or a list of these, not {part[:20]!r}")
        first, last, step = match["first"], match["last"], match["step"]
        if first is not None and last is None and step is not None:
            raise _refused(text, f"a {field.what} with a step in a range, such as 1-5/2, not {part[:20]!r}")
        low = field.least if first is None else _number(text, field, first)
        high = field.most if first is None else low if last is None else _number(text, field, last)
        if low > high or step in ("0", "00"):
            raise _refused(text, f"a {field.what} from less to more, in steps of at least 1, not {part[:20]!r}")
        found.update(range(low, high + 1, int(step or 1)))
    return found


def _number(text: str, field: _Field, said: str) -> int:
    if said in field.names:
        return field.names.index(said) + field.least
    if not said.isdigit() or not field.least <= int(said) <= field.most:
        names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
        raise _refused(text, f"a {field.what} of {field.least} to {field.most}{names}, not {said!r}")
    return int(said)


def _said(numbers: set[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _refused(text: str, expected: str) -> Refused:
    return Refused(f"Invalid cron: {text[:80]!r}; expected {expected}")
