"""Whom room is held for, from one round to the next.  Pure.

Of the wishes that have waited too long for nothing but room, one of each leaf, of the leaves that have least of their
guarantee.  Whether room is really set aside for one of them is found at its turn (``purse.Holding``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from math import inf
from typing import Protocol

from yodel.domain.allocation.demands import Demand, Looked
from yodel.domain.allocation.holds import HELD_MAX, Hold, Moment, Wait, Waits
from yodel.domain.allocation.turns import is_wanted
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.queues.ledger import Ledger, Standing
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import Resource

CHOICE_MAX = 4 * HELD_MAX
"""Leaves that are looked at for those whom room is held for."""


class Leaf(Protocol):
    """Who wants something in a leaf queue."""

    @property
    def pool(self) -> PoolName: ...

    @property
    def demands(self) -> Mapping[ApplicationAttemptId, Demand]: ...


class Held:
    """``choose`` when a round begins; ``looked`` and ``came_to_be`` are told what it found."""

    def __init__(self) -> None:
        self.holds: Mapping[PoolName, Mapping[Wait, Hold]] = {}
        """By pool, whom room could be held for, as it was chosen last."""
        self._waits, self._moment = Waits(), Moment()
        self._unheld: dict[PoolName, Collection[Wait]] = {}
        """Of these those for whom the last round held none."""

    @property
    def due_s(self) -> float:
        """When the next wish has waited so long; infinite: none waits."""
        return self._waits.next_s

    def kept(self, pool: PoolName) -> list[Hold]:
        """Those whom room is held for as far as is known before the round."""
        unheld = self._unheld.get(pool, ())
        return [hold for wait, hold in self.holds.get(pool, {}).items() if wait not in unheld]

    def choose(
        self, moment: Moment, leaves: Mapping[str, Leaf], ledger: Ledger, standing: Callable[[str], Standing]
    ) -> None:
        self._moment = moment
        due: dict[PoolName, list[tuple[Standing, str]]] = {}
        for path in self._waits.due(moment):
            due.setdefault(leaves[path].pool, []).append((standing(path), path))
        found = {pool: self._of_pool(paths, leaves, ledger) for pool, paths in due.items()}
        self.holds = {pool: holds for pool, holds in found.items() if holds}

    def _of_pool(
        self, paths: Sequence[tuple[Standing, str]], leaves: Mapping[str, Leaf], ledger: Ledger
    ) -> dict[Wait, Hold]:
        found: dict[Wait, Hold] = {}
        for _, path in nsmallest(CHOICE_MAX, paths):
            in_order = islice(self._waits.due_of(path, self._moment), HELD_MAX)
            choice = (_hold(path, wait, size, leaves[path], ledger) for wait, size in in_order)
            hold = next((hold for hold in choice if hold is not None), None)
            if hold is not None:
                found[hold.wait] = hold
            if len(found) == HELD_MAX:
                break
        return found

    def looked(self, path: str, looked: Looked, served: Collection[Wait], ledger: Ledger) -> None:
        """A round went through a leaf, and ``served`` so many of all; what limits keep does not wait for room."""
        if self._moment.hold_after_s == inf:
            return
        least = self._moment.minimum
        large = {one for one in looked.short.values() if not one.size.fits_in(least)}
        let = {one for one in large if ledger.lets(path, one.user, one.size, is_am=one.is_am)}
        short = {wait: one.size for wait, one in looked.short.items() if one in let}
        self._waits.looked(path, short, served, self._moment.now_s)

    def served(self, path: str, served: Collection[Wait]) -> None:
        """A round looked at nothing of a leaf but those whom room is held for."""
        self._waits.served(path, served)

    def forget(self, path: str) -> None:
        self._waits.forget(path)

    def came_to_be(self, pool: PoolName, held: Collection[Hold], kept: Collection[Hold]) -> bool:
        """For these a round did hold room.  False: for some of ``kept`` it did not, though others slept for them."""
        self._unheld[pool] = self.holds.get(pool, {}).keys() - {hold.wait for hold in held}
        return not any(hold.wait in self._unheld[pool] for hold in kept)


def _hold(path: str, wait: Wait, size: Resource, leaf: Leaf, ledger: Ledger) -> Hold | None:
    """None: it is not wanted any more, or under way, or a limit is in the way by now."""
    attempt_id, key = wait
    demand = leaf.demands.get(attempt_id)
    if demand is None or not is_wanted(demand, key):
        return None
    if not ledger.lets(path, demand.user, size, is_am=key is None):
        return None
    return Hold(attempt_id, key, path, demand.user, size)
