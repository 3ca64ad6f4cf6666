"""Holds the processor time of all best-effort pods together, in the file of their group.

What was decided is kept before it is written, and is what the next life of the agent begins with.  Blocks.
"""

from __future__ import annotations

import structlog

from nm_plugin.capacity.values import Record, Value
from nm_plugin.cgroups.plan import NONE, quota_us
from nm_plugin.cgroups.writer import ROOT, BestEffort
from yodel.domain.colocation.report import Bound
from yodel.domain.colocation.suppression import CpuHeadroom, quota_of


class RootQuota:
    """Holds the quota of the best-effort group; all methods raise OSError if the group is gone."""

    def __init__(self) -> None:
        self._value: Value | None = None
        self._period_us = 0
        self._log = structlog.get_logger(__name__)

    def shown(self) -> tuple[Bound, ...]:
        return () if self._value is None else (self._value.bound,)

    def read_milli(self) -> int | None:
        """Return the quota that stands there now; None where there is none."""
        read = self._value.bound.read if self._value is not None else None
        return None if read is None or read == NONE else read * 1000 // self._period_us

    def hold(self, groups: BestEffort, record: Record, headroom: CpuHeadroom | None, masters: int) -> None:
        """Decide by ``headroom`` and write; without it the last decision stays.  Raises LostReading."""
        milli = last = record.written.quota_milli
        if headroom is not None:
            milli = quota_of(headroom, masters=masters, last=last)
            if milli != last:
                self._tell(headroom, milli, last)
        if milli is None:
            return  # nothing is measured yet, and nothing was decided in an earlier life
        record.quota_milli(milli)
        self._period_us = groups.period_us()
        amount, found = quota_us(milli, self._period_us), groups.read_quota()
        if self._value is None:
            self._value = Value(ROOT, groups.knobs.quota.file, amount)
        if self._value.hold(amount, found, groups.write_quota, groups.read_quota):
            self._log.info("quota_restored", value=amount)

    def undo(self, groups: BestEffort, record: Record) -> None:
        """It stays in the record until it is undone."""
        self.forget()
        if record.written.quota_milli is not None:
            groups.write_quota(NONE)
            if groups.read_quota() == NONE:
                record.quota_milli(None)

    def forget(self) -> None:
        """Forget the written value: the group is gone, or the quota was removed."""
        self._value = None

    def _tell(self, headroom: CpuHeadroom, milli: int, last: int | None) -> None:
        """A spike of online pods is told, and not each step that follows."""
        is_spike = last is None or last - milli >= headroom.capacity * headroom.numbers.step_up_percent // 100
        log = self._log.info if is_spike else self._log.debug
        log(
            "quota_decided", quota_milli=milli, last_milli=last, online_milli=max(use.online for use in headroom.recent)
        )
