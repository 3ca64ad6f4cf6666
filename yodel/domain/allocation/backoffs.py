"""Wishes whose pods Kubernetes found no node for are tried again after a while that grows.  Pure.

A wish is known by what Kubernetes decided on: the application, the size and the placement; so another attempt, or the
same ask made again, waits as long.  A node, a label or a queue that changes ends all waits: something else is possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from yodel.domain.backoff import Backoff
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource

DELAYS = Backoff(initial_s=5.0, cap_s=300.0)
BACKOFFS_MAX = 10_000
"""Wishes that are remembered; of more, those that failed last."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Describes containers for which Kubernetes found no node."""

    application_id: ApplicationId
    size: Resource
    placement: Placement

    @classmethod
    def of(cls, application_id: ApplicationId, size: Resource, placement: Placement) -> Tried:
        """Nodes that the ResourceManager named are its own choice."""
        plain = replace(placement, nodes=(), rules=()) if placement.nodes or placement.rules else placement
        return cls(application_id, size, plain)


@dataclass(frozen=True, slots=True)
class FailureStreak:
    """Counts failures in a row, with the last one, the end of the wait (both in seconds of the monotonic clock), and
    its text."""

    count: int
    at_s: float
    until_s: float
    said: str


class Backoffs:
    def __init__(self) -> None:
        self._failed: dict[Tried, FailureStreak] = {}
        self._basis: object = None

    def failed(self, tried: Tried, now_s: float, said: str = "") -> None:
        """Its pods were taken back; those of one look count as one failure."""
        before = self._failed.pop(tried, None)
        if before is not None and before.at_s == now_s:
            self._failed[tried] = before
            return
        count = before.count + 1 if before is not None else 1
        while len(self._failed) >= BACKOFFS_MAX:
            del self._failed[next(iter(self._failed))]
        self._failed[tried] = FailureStreak(count, now_s, now_s + DELAYS.delay_s(count, lambda: 1.0), said)

    def placed(self, tried: Tried) -> None:
        """One of its pods found a node."""
        self._failed.pop(tried, None)

    @property
    def is_any(self) -> bool:
        return bool(self._failed)

    def look(self, basis: object) -> None:
        """``basis`` is what Kubernetes decides by, as far as it is known; once it changes, nothing is waited for."""
        if basis != self._basis:
            self._basis = basis
            self._failed.clear()

    def waits(self, tried: Tried, now_s: float) -> FailureStreak | None:
        """None: it may be tried."""
        found = self._failed.get(tried) if self._failed else None
        return found if found is not None and found.until_s > now_s else None

    def next_s(self, now_s: float) -> float:
        """Return when the next wish may be retried, in seconds of the monotonic clock; infinity: none waits."""
        return min((one.until_s for one in self._failed.values() if one.until_s > now_s), default=inf)
