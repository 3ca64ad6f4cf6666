"""Counts what is left to allocate in one decision.  Pure."""

from __future__ import annotations

from yodel.domain.allocation.demands import AllocationLimits, Capacity, Increase
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.resource import NONE, Resource, total_of


class Purse:
    """Free resources of the cluster, and pods that may still be planned.  What is free on nodes that are held is not
    free."""

    def __init__(self, capacity: Capacity, limits: AllocationLimits) -> None:
        self._free = capacity.total - capacity.used - total_of(hold.counted for hold in capacity.holds)
        self._free_on = dict(capacity.free_on)
        self._pods_left = min(limits.per_tick_max, max(0, limits.in_flight_max - capacity.in_flight))

    @property
    def pods_left(self) -> int:
        """Pods that may still be planned, whatever their size."""
        return self._pods_left

    @property
    def free(self) -> Resource:
        return self._free

    def give_back(self, amount: Resource) -> None:
        """So much is not held any more; a negative amount is held again."""
        self._free += amount

    def pay(self, capability: Resource) -> Hurdle:
        """Hurdle.NONE: paid.  Otherwise what is missing, pods or room."""
        if self._pods_left <= 0:
            return Hurdle.PODS
        if not capability.fits_in(self._free):
            return Hurdle.ROOM
        self._free -= capability
        self._pods_left -= 1
        return Hurdle.NONE

    def pay_for_more(self, increase: Increase) -> bool:
        """An increase needs room in the cluster and on its own node; it makes no pod."""
        on_node = self._free_on.get(increase.node_id, NONE)
        if not increase.extra.fits_in(on_node) or not increase.extra.fits_in(self._free):
            return False
        self._free -= increase.extra
        self._free_on[increase.node_id] = on_node - increase.extra
        return True
