"""Windows: times at which a queue may hold less.  Whether one is open is a function of the moment, and of nothing else.
Pure.

A window opens at each time that its crontab names and stays open for its duration; openings that touch or overlap are
one.  Whatever the clock does, or a restart, what counts is what the moment says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import inf

from yodel.domain.queues.crontab import crontab, last_start, next_start, zone
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.window import WINDOWS_MAX, Window

DAYS_MAX = 14
"""The most days of one window whose openings are put together to tell when it ends: some never do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Describes a window from a moment until ``until_ms``: open, until ``ends_ms`` or longer; or closed until
    ``begins_ms``, and if it ``is_near`` nothing new starts before that."""

    until_ms: float
    is_open: bool = False
    is_near: bool = False
    begins_ms: int = 0
    ends_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEffect:
    """Holds the effect of windows on one queue: the open one with the lowest maximum, and the closed one that keeps new
    containers from starting and begins first, each with its end or beginning in epoch ms."""

    open: Window | None = None
    ends_ms: int = 0
    near: Window | None = None
    begins_ms: int = 0

    @property
    def begins(self) -> str:
        """Return the time at which ``near`` opens, as text."""
        return "" if self.near is None else said_at(self.begins_ms, self.near.zone)

    @property
    def ends(self) -> str:
        """Return the time at which ``open`` closes, as text."""
        return "" if self.open is None else said_at(self.ends_ms, self.open.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """Holds the effects of the windows of all queues, by path, from one moment until another."""

    from_ms: float = -inf
    until_ms: float = inf
    holds: Mapping[str, WindowEffect]

    def is_of(self, now_ms: int) -> bool:
        return self.from_ms <= now_ms < self.until_ms

    def applied(self, queues: Iterable[Queue]) -> list[Queue]:
        """The queues as they are meanwhile: a maximum is the lowest of its own and those of open windows."""
        return [self._applied(queue) for queue in queues] if self.holds else list(queues)

    def _applied(self, queue: Queue) -> Queue:
        hold = self.holds.get(queue.path)
        if hold is None or hold.open is None:
            return queue
        return replace(queue, maximum_capacity_percent=hold.open.maximum_percent)


NO_WINDOWS = InForce(holds={})


class Calendar:
    """Computes the effects of windows, and caches each window's phase until it ends."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int, int], tuple[int, Phase]] = {}
        """By all that a phase comes from: windows of many queues often begin together."""

    def in_force(self, queues: Iterable[Queue], now_ms: int) -> InForce:
        """Return the effects of these queues' windows at a moment, and until when they last."""
        until_ms, holds, has_any = inf, dict[str, WindowEffect](), False
        if len(self._known) > 2 * WINDOWS_MAX:  # of windows that are no more
            self._known.clear()
        for queue in queues:
            phases = self.phases(queue, now_ms)
            if not phases:
                continue
            has_any = True
            until_ms = min(until_ms, *(phase.until_ms for _, phase in phases))
            hold = _hold(phases, queue.maximum_capacity_percent)
            if hold != WindowEffect():
                holds[queue.path] = hold
        return InForce(from_ms=now_ms, until_ms=until_ms, holds=holds) if has_any else NO_WINDOWS

    def phases(self, queue: Queue, now_ms: int) -> list[tuple[Window, Phase]]:
        return [(window, self._phase(window, now_ms)) for window in queue.windows]

    def _phase(self, window: Window, now_ms: int) -> Phase:
        times = window.cron, window.zone, window.duration_s, window.stop_new_before_s
        found = self._known.get(times)
        if found is None or not found[0] <= now_ms < found[1].until_ms:
            found = self._known[times] = now_ms, phase_of(window, now_ms)
        return found[1]


def _hold(phases: Iterable[tuple[Window, Phase]], maximum_percent: float) -> WindowEffect:
    """``maximum_percent`` is the queue's own: a window that leaves more changes nothing while it is open."""
    found = WindowEffect()
    for window, phase in phases:
        is_lower = window.maximum_percent < maximum_percent
        if phase.is_open and is_lower and (found.open is None or _binds_more(window, phase, found)):
            found = replace(found, open=window, ends_ms=phase.ends_ms)
        if phase.is_near and (found.near is None or phase.begins_ms < found.begins_ms):
            found = replace(found, near=window, begins_ms=phase.begins_ms)
    return found


def _binds_more(window: Window, phase: Phase, than: WindowEffect) -> bool:
    """Return True if a window limits more; of two with the same maximum, the one that lasts longer."""
    assert than.open is not None
    return (window.maximum_percent, -phase.ends_ms) < (than.open.maximum_percent, -than.ends_ms)


def phase_of(window: Window, now_ms: int) -> Phase:
    cron, where = crontab(window.cron), zone(window.zone)
    duration, before_ms = timedelta(seconds=window.duration_s), window.stop_new_before_s * 1000
    duration_ms = window.duration_s * 1000

    def start_after(moment_ms: int) -> int:
        return _ms(next_start(cron, where, _utc(moment_ms)))

    def last_of_day(start_ms: int) -> int:
        return _ms(last_start(cron, where, _utc(start_ms), duration))

    start_ms = start_after(now_ms - duration_ms)
    if start_ms > now_ms:
        is_near = start_ms - before_ms <= now_ms
        until_ms = start_ms if is_near else start_ms - before_ms
        return Phase(until_ms=until_ms, is_near=is_near and before_ms > 0, begins_ms=start_ms)
    last_ms = last_of_day(start_ms)
    ends_ms = last_ms + duration_ms
    for _ in range(0 if cron.is_endless(duration) else DAYS_MAX):
        start_ms = start_after(last_ms)
        if start_ms > ends_ms:
            break
        last_ms = last_of_day(start_ms)
        ends_ms = last_ms + duration_ms
    return Phase(until_ms=ends_ms, is_open=True, ends_ms=ends_ms)


def said_at(moment_ms: int, zone_name: str) -> str:
    """A moment for people, by the clock of a zone and with its offset: ``2026-11-24T18:00+01:00``."""
    return _utc(moment_ms).astimezone(zone(zone_name)).isoformat(timespec="minutes")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _utc(moment_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=moment_ms)


def _ms(moment: datetime) -> int:
    return int((moment - _EPOCH) / timedelta(milliseconds=1))
