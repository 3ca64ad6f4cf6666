"""Keeps the applications of one leaf queue that request something, and the result of the last look at them.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.domain.allocation.demands import Demand, Looked
from yodel.domain.allocation.orders import is_anywhere
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.domain.resource import Resource


@dataclass(slots=True)
class Sleep:
    """Until one of these changes: what is held of the queues ``paths``, that the pool has room for one of ``sizes``,
    that ApplicationMasters may hold more of the leaf than ``masters``."""

    paths: set[str] = field(default_factory=set)
    sizes: set[Resource] = field(default_factory=set)
    masters: Resource | None = None


@dataclass(slots=True)
class Leaf:
    """Holds the requests of one leaf queue of a pool."""

    pool: PoolName = NATIVE
    demands: dict[ApplicationAttemptId, Demand] = field(default_factory=dict)
    """Applications that have something to be served."""
    particular: dict[ApplicationAttemptId, Demand] = field(default_factory=dict)
    """Applications of these that request larger containers or wait for a host or rack."""
    is_told: bool = False
    """True if the last look's words of it still hold."""
    uniform: set[ApplicationAttemptId] = field(default_factory=set)
    """Applications whose requests are all alike."""
    settled: set[ApplicationAttemptId] = field(default_factory=set)
    """Applications of ``uniform`` that still wait as the last look that reached them told."""
    sleep: Sleep | None = None

    def put(self, attempt_id: ApplicationAttemptId, demand: Demand | None) -> bool:
        """Set or remove (None) a demand; False if there was none to remove.  What was found no longer holds."""
        old = self.demands.get(attempt_id)
        if demand is not None:
            self.demands[attempt_id] = demand
        elif self.demands.pop(attempt_id, None) is None:
            return False
        if demand is not None and (demand.increases or demand.waited_s):
            self.particular[attempt_id] = demand
        else:
            self.particular.pop(attempt_id, None)
        if demand is None or old is None or not wants_the_same(old, demand):
            self.settled.discard(attempt_id)
            (self.uniform.add if demand is not None and are_alike(demand) else self.uniform.discard)(attempt_id)
        self.is_told = False
        return True

    def found(self, looked: Looked) -> None:
        """Take over how a look ended."""
        self.is_told = not (looked.has_changed or looked.planned)
        if self.is_told:
            self.settled |= self.uniform
        else:
            self.settled &= looked.as_told

    def unsettle(self, attempt_id: ApplicationAttemptId) -> None:
        """Tell again of an application: what was told of it counts a plan that may not be written."""
        self.settled.discard(attempt_id)
        self.is_told = False

    def forget(self, pool: PoolName, *, is_size_same: bool) -> None:
        """Forget all findings, but for the requests that wait if their sizes are the same; the queue may be in another
        pool."""
        self.pool, self.is_told, self.sleep = pool, False, None
        if not is_size_same:
            self.settled.clear()


def are_alike(demand: Demand) -> bool:
    """Return True if limits treat all pending requests of an application alike, and its ApplicationMaster runs."""
    wishes = demand.wishes
    if demand.am_capability is not None or not wishes or not is_anywhere(demand, wishes[0]):
        return False
    found = [(wish.key.capability, wish.placement, wish.request) for wish in wishes]
    return found.count(found[0]) == len(found)


def wants_the_same(one: Demand, other: Demand) -> bool:
    """Return True if both describe the same pending requests of the same user, whatever is used already."""
    return (one.user, one.am_capability, one.in_flight, one.most, one.avoid, one.wishes) == (
        other.user,
        other.am_capability,
        other.in_flight,
        other.most,
        other.avoid,
        other.wishes,
    )
