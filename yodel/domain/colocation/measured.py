"""Holds the measurements of one resource of a node, as the formula needs them.

One second of a node is a ``InstantUse``: three counters read at one instant.  What online pods use is the difference of
two of them, so that a pod which began or ended between two readings cannot appear in one and be missing in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RECENT_S: Final = 10
"""How far back a shrink looks, whatever the window: a burst of a second keeps its room for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantUse:
    """Holds the use at one instant: of the whole node, of all pods, and of best-effort pods among them."""

    node: int
    pods: int
    best_effort: int

    @property
    def online(self) -> int:
        """Return the use of pods other than best-effort ones."""
        return max(0, self.pods - self.best_effort)

    @property
    def system(self) -> int:
        """Return the use outside of pods."""
        return max(0, self.node - self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageWindow:
    """One resource over the policy's window: ``uses`` oldest first, ``recent`` the last RECENT_S of them.

    ``capacity`` is the node's size now, ``kubelet_reserved`` what the kubelet keeps of it from pods; None: it is not
    known.  Both sequences have at least one use.
    """

    capacity: int
    uses: Sequence[InstantUse]
    recent: Sequence[InstantUse]
    kubelet_reserved: int | None = None

    @property
    def mean_online(self) -> int:
        return _mean([use.online for use in self.uses])

    @property
    def mean_system(self) -> int:
        return _mean([use.system for use in self.uses])


def _mean(amounts: Sequence[int]) -> int:
    """Rounded up, so that what is lent is rounded down."""
    return -(-sum(amounts) // len(amounts))
