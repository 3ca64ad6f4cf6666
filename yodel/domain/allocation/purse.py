"""What is left to give in one decision, whoever asks.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.allocation.demands import AllocationLimits, Capacity, Increase
from yodel.domain.allocation.holds import HELD_PART, Hold, Wait
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.ledger import Ledger
from yodel.domain.resource import NONE, Resource, part_of


class Purse:
    """Free resources of the cluster, and pods that may still be planned."""

    def __init__(self, capacity: Capacity, limits: AllocationLimits) -> None:
        self._total, self._free = capacity.total, capacity.total - capacity.used
        self._left = self._free
        self._held, self._held_max = NONE, part_of(capacity.total, 1.0 / HELD_PART)
        self._free_on = dict(capacity.free_on)
        self._pods_left = min(limits.per_tick_max, max(0, limits.in_flight_max - capacity.in_flight))

    @property
    def pods_left(self) -> int:
        """Pods that may still be planned, whatever their size."""
        return self._pods_left

    @property
    def free(self) -> Resource:
        return self._free

    @property
    def left(self) -> Resource:
        """What is free and not set aside."""
        return self._left

    def set_aside(self, capability: Resource) -> bool:
        """Hold room for one container from all who are served later, whether or not it is there yet.  False: too much
        is held already, or there never is so much."""
        held = self._held + capability
        most = self._held_max if self._held != NONE else self._total
        if not held.fits_in(most):
            return False
        self._held = held
        self._left -= capability
        return True

    def pay(self, capability: Resource) -> Hurdle:
        """Hurdle.NONE: paid.  Otherwise what is missing, pods or room."""
        if self._pods_left <= 0:
            return Hurdle.PODS
        if not capability.fits_in(self._left):
            return Hurdle.ROOM
        self._free -= capability
        self._left -= capability
        self._pods_left -= 1
        return Hurdle.NONE

    def pay_for_more(self, increase: Increase) -> bool:
        """An increase needs room in the cluster and on its own node; it makes no pod."""
        on_node = self._free_on.get(increase.node_id, NONE)
        if not increase.extra.fits_in(on_node) or not increase.extra.fits_in(self._left):
            return False
        self._free -= increase.extra
        self._left -= increase.extra
        self._free_on[increase.node_id] = on_node - increase.extra
        return True


class Holding:
    """For whom room is held in one decision, of those that it could be held for."""

    def __init__(self, holds: Mapping[Wait, Hold], purse: Purse, ledger: Ledger) -> None:
        self._holds, self._purse, self._ledger = holds, purse, ledger
        self._handled: set[Wait] = set()
        self._unheld: set[Wait] = set()
        """Something starts of them, or room would not help."""

    def is_for(self, wait: Wait) -> bool:
        return wait in self._holds

    @property
    def held(self) -> tuple[Hold, ...]:
        """Those whose turn did not come stand behind all for whom there was room."""
        return tuple(hold for wait, hold in self._holds.items() if wait not in self._unheld)

    def take_turn(self, wait: Wait, *, is_needed: bool) -> None:
        """A wish had its turn; room that it waits for and that is missing is set aside."""
        hold = self._holds.get(wait)
        if hold is None or wait in self._handled:
            return
        self._handled.add(wait)
        is_short = is_needed and not hold.size.fits_in(self._purse.left)
        is_let = is_short and self._ledger.lets(hold.queue, hold.user, hold.size, is_am=hold.key is None)
        if not is_let or not self._purse.set_aside(hold.size):
            self._unheld.add(wait)
