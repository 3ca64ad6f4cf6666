"""Counts the processes of a container that the kernel ended at its pod's memory limit; some go on after that.

Nothing is ended before the pod's limit is met, so a counter of that is read each second, and what was ended only for a
while after it has moved.  What was ended belongs to the end of the container when that follows within a few seconds.
Blocks.
"""

from __future__ import annotations

import contextlib

from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.writer import BestEffort

LOOKS = 3
"""A container of which the script was ended is known to have ended within a second or two."""


class Kills:
    """Counts the OOM kills of one pod since its group was proved; ``count`` is their total."""

    def __init__(self, groups: BestEffort, pod: str) -> None:
        """Raises OSError, LostReading."""
        self._pod = pod
        self._met = groups.number(pod, groups.knobs.at_limit)
        self._total = groups.total(pod, groups.knobs.oom_kills)
        self._looks = self.count = 0
        self._until = -1
        self._fresh: dict[int, int] = {}

    def look(self, groups: BestEffort) -> int:
        """A second has passed and the container runs; return how many ended processes it has survived by that.

        Raises OSError, LostReading: the group is gone.
        """
        self._looks += 1
        self._take(groups)
        return self._fresh.pop(self._looks - LOOKS, 0)

    def has_just_killed(self, groups: BestEffort) -> bool:
        with contextlib.suppress(OSError, LostReading):  # what was seen before counts
            self._take(groups)
        return bool(self._fresh)

    def _take(self, groups: BestEffort) -> None:
        met = groups.number(self._pod, groups.knobs.at_limit)
        if met != self._met:
            self._met, self._until = met, self._looks + LOOKS
        if self._looks > self._until:
            return
        total = groups.total(self._pod, groups.knobs.oom_kills)
        new = max(0, total - self._total)  # less: a group in the pod has gone with what it had counted
        self._total = total
        if new:
            self._fresh[self._looks] = self._fresh.get(self._looks, 0) + new
            self.count += new
