"""What each queue is guaranteed and may at most hold, in resources (CapacityScheduler's effective capacities).  Pure.

A percent is of the parent's guarantee, a maximum of the parent's maximum, both rounded down by type
(AbstractParentQueue.updateClusterResourceLegacyMode, AbstractCSQueue.updateEffectiveResources).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.resource import Resource, part_of


@dataclass(frozen=True, slots=True)
class Share:
    """One queue's part.  ``capacity`` and ``maximum_capacity`` are of the whole, 0 to 1."""

    queue: Queue
    capacity: float
    maximum_capacity: float
    guaranteed: Resource
    maximum: Resource
    path: tuple[str, ...]
    """Its own path and those above it, root last."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of users, where they are not 1."""


class Tree:
    """Queues by path, with what they have of ``total``."""

    def __init__(self, queues: Iterable[Queue], total: Resource) -> None:
        self.total = total
        self.shares: dict[str, Share] = {}
        self.below: dict[str, list[str]] = {}
        for queue in sorted(queues, key=lambda queue: queue.path.count(".")):
            self._add(queue, total)

    @classmethod
    def of_one(cls, total: Resource, am_share: float | None = None) -> Tree:
        """One line for all, as if there were one queue."""
        return cls([Queue(path=ROOT, is_leaf=True, user_limit_factor=-1.0, am_share=am_share)], total)

    def _add(self, queue: Queue, total: Resource) -> None:
        above = self.shares.get(queue.parent_path) if queue.parent_path is not None else None
        capacity = queue.capacity_percent / 100.0 * (above.capacity if above is not None else 1.0)
        maximum = queue.maximum_capacity_percent / 100.0 * (above.maximum_capacity if above is not None else 1.0)
        weights = queue.user_weights
        if above is not None:
            self.below.setdefault(above.queue.path, []).append(queue.path)
        self.shares[queue.path] = Share(
            queue,
            capacity,
            maximum,
            part_of(total, capacity),
            part_of(total, maximum),
            (queue.path, *(above.path if above is not None else ())),
            # Passed down the tree, they are mostly the same.
            above.weights if above is not None and above.queue.user_weights == weights else dict(weights),
        )


def dominant(amount: Resource, whole: Resource) -> float:
    """The largest part that an amount is of a whole, over all types (DominantResourceCalculator); infinite where
    something is held of which there is nothing."""
    share = max(_ratio(amount.memory_mib, whole.memory_mib), _ratio(amount.vcores, whole.vcores))
    if amount.extras:
        have = dict(whole.extras)
        share = max(share, *(_ratio(value, have.get(name, 0)) for name, value in amount.extras))
    return share


def _ratio(amount: int, whole: int) -> float:
    if amount <= 0:
        return 0.0
    return amount / whole if whole > 0 else float("inf")
