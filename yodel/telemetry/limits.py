"""The table of limits on what callers may send, and the one way to tell of a refusal by one of them.

A refusal names the limit, the value and the setting; it is counted for ``/prom`` and written to the log at most once a
minute for a limit and a caller.  ``scripts/limits.py`` writes the table to ``docs/compatibility.md``.
Counts are of the process, as the log is.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

LOG_PERIOD_S = 60.0
CALLERS_MAX = 10_000
"""Callers whose last line in the log is remembered; the one not heard of for longest is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit, for the code, for ``/prom`` and for the reader of the documents.

    ``name`` is the label in ``/prom``; ``setting`` is named as in docs/configuration.md, or None where it is fixed;
    ``default`` is for readers, with its unit; ``answer`` is what the caller gets; ``hadoop`` what a real Hadoop does.
    """

    name: str
    setting: str | None
    default: str
    what: str
    answer: str
    hadoop: str


TABLE: tuple[Limit, ...] = ()
"""In the order of the documents."""


class Refusals:
    """Counts refusals by limit.  ``now_s`` is a monotonic clock."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._counts: Counter[str] = Counter()
        self._logged_s: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._log = structlog.get_logger("yodel.limits")

    def tell(self, limit: Limit, *, caller: str, value: int, maximum: int) -> None:
        """``caller`` is an address, or a user and an address, whatever is known.  Numbers are in the limit's unit."""
        self._counts[limit.name] += 1
        now_s, key = self._now_s(), (limit.name, caller)
        last_s = self._logged_s.get(key)
        if last_s is not None and now_s - last_s < LOG_PERIOD_S:
            return
        self._logged_s[key] = now_s
        self._logged_s.move_to_end(key)
        if len(self._logged_s) > CALLERS_MAX:
            self._logged_s.popitem(last=False)
        self._log.warning(
            "refused_by_limit", limit=limit.name, caller=caller, value=value, maximum=maximum, setting=limit.setting
        )

    def counts(self) -> dict[str, int]:
        """By limit, of all limits in the table, since the process started."""
        return {limit.name: self._counts[limit.name] for limit in TABLE}


REFUSALS = Refusals()
"""Of this process."""
