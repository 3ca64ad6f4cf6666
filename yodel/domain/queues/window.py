"""A row of a window, as it is kept with its queue."""

from __future__ import annotations

from dataclasses import dataclass

STAGES_DEFAULT = 4
STAGES_MAX = 100
DURATION_S_MIN = 60
DURATION_S_MAX = 31 * 86_400
STOP_NEW_BEFORE_S_MAX = 86_400
WINDOWS_OF_QUEUE_MAX = 20
WINDOWS_MAX = 500
"""The most windows of all queues: what they do is found again at the edges of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Defines a schedule on which a queue has a lower maximum."""

    name: str
    cron: str
    """When it opens: five fields of crontab(5), by the clock of ``zone``."""
    zone: str = "UTC"
    duration_s: int
    maximum_percent: float
    """The queue's maximum-capacity meanwhile, where that is less than its own."""
    stop_new_before_s: int = 0
    """So long before it opens no container of the queue starts any more."""
    stages: int = STAGES_DEFAULT
    """In so many parts, one after the other, is given back what the queue holds above it; 0: nothing is asked back."""
