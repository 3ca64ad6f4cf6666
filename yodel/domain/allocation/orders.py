"""One wish as a decision works on it, and what is under way that nobody wants any more.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from yodel.domain.allocation.demands import Demand, Misfit, TakeBack
from yodel.domain.allocation.locality import Spots
from yodel.domain.ask_book import Wish
from yodel.domain.container import Placement
from yodel.domain.resource import Resource
from yodel.domain.waiting import Hindrance


@dataclass(slots=True)
class PlanRequest:
    """Describes containers to plan for one wish."""

    demand: Demand
    wish: Wish
    capability: Resource
    count: int
    planned: int = 0
    allowed: int = 0
    """The number that limits allowed of the last turn."""
    own: Hindrance | None = None
    """The hindrance in its way, whatever room there is."""
    is_in_pieces: bool = False
    """There is room, but not on one node."""

    @property
    def left(self) -> int:
        return self.count - self.planned

    @property
    def placement(self) -> Placement:
        placement, avoid = self.wish.placement, self.demand.avoid
        return replace(placement, avoid=avoid) if avoid else placement

    def misfit(self, spots: Spots) -> Misfit:
        return Misfit(
            attempt_id=self.demand.attempt_id,
            key=self.wish.key,
            count=self.count,
            capability=self.capability,
            reason=spots.why_none,
            is_constraint=spots.is_constraint,
        )


def is_anywhere(demand: Demand, wish: Wish) -> bool:
    """Return True if any node that its label admits will do."""
    placement = wish.placement
    return wish.request is None and not (placement.hosts or placement.racks or placement.nodes or demand.avoid)


def alike(demand: Demand, wish: Wish) -> tuple[str, str, Resource, str]:
    """Return the key of wishes that limits treat alike."""
    return demand.queue, demand.user, wish.key.capability, wish.placement.node_label


def take_backs(demands: Iterable[Demand]) -> list[TakeBack]:
    """Return the containers in progress that are not requested any more."""
    found = []
    for demand in demands:
        wanted = {wish.key: wish.number for wish in demand.wishes}
        for key, count in demand.in_flight.items():
            excess = count - wanted.get(key, 0)
            if excess > 0:
                found.append(TakeBack(attempt_id=demand.attempt_id, key=key, count=excess))
    return found
