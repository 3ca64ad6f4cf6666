"""Applies the settings of the queues, at a start or by refreshQueues, as one more version of the tree.  Pure."""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain.queues.history import TreeChange, change_between
from yodel.domain.queues.properties import properties_of
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf

SETTINGS = "(settings)"
"""Who changed the tree when no user did."""
_AM_SHARE = 1.0
"""Not of the queues: the same before and after."""


def by_settings(
    conf: SchedulerConf, present: Iterable[Queue], changed: Iterable[Queue], now_ms: int
) -> tuple[SchedulerConf, TreeChange] | None:
    """The next version, and what is kept of the change; None: nothing that clients see is different."""
    before = {queue.path: queue for queue in present}
    after = before | {queue.path: queue for queue in changed}
    change = change_between(
        properties_of(before.values(), _AM_SHARE),
        properties_of(after.values(), _AM_SHARE),
        version=conf.version + 1,
        author=SETTINGS,
        time_ms=now_ms,
        reason="the settings name different queues",
    )
    return (conf.next({}), change) if change.names else None
