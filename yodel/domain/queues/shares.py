"""What each queue is guaranteed and may at most hold, in resources (CapacityScheduler's effective capacities).  Pure.

A percent is of the parent's guarantee, a maximum of the parent's maximum, both rounded down by type
(AbstractParentQueue.updateClusterResourceLegacyMode, AbstractCSQueue.updateEffectiveResources).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from yodel.domain.queues.pools import Wholes
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.resource import NONE, Resource, part_of


@dataclass(frozen=True, slots=True)
class Share:
    """One queue's part.  ``capacity`` and ``maximum_capacity`` are of the whole, 0 to 1, and ``whole`` is all there is
    of what its pods draw on; the root's is the sum."""

    queue: Queue
    capacity: float
    maximum_capacity: float
    guaranteed: Resource
    maximum: Resource
    path: tuple[str, ...]
    """Its own path and those above it, last the root, or what stands for it among the queues of one pool."""
    whole: Resource
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of users, where they are not 1."""


class Tree:
    """Queues by path, with what they have of the whole, or of their own pool."""

    def __init__(self, queues: Iterable[Queue], whole: Resource | Wholes) -> None:
        self.total = whole.total if isinstance(whole, Wholes) else whole
        self._wholes = whole if isinstance(whole, Wholes) else None
        self.shares: dict[str, Share] = {}
        self.below: dict[str, list[str]] = {}
        self.tops: dict[str, Share] = {}
        """What stands for the root among the queues of one pool."""
        for queue in sorted(queues, key=lambda queue: queue.path.count(".")):
            self._add(queue)

    @classmethod
    def of_one(cls, total: Resource, am_share: float | None = None) -> Tree:
        """One line for all, as if there were one queue."""
        return cls([Queue(path=ROOT, is_leaf=True, user_limit_factor=-1.0, am_share=am_share)], total)

    def stray(self, path: str) -> Share:
        """Of a leaf that is in no row any more: no guarantee, and what the root may hold of its pool."""
        above = self._above(path)
        queue = Queue(path=path, capacity_percent=0.0, user_limit_factor=-1.0)
        own = (path, *above.path)
        return Share(queue, 0.0, above.maximum_capacity, NONE, above.maximum, own, above.whole)

    def _above(self, path: str) -> Share:
        """The root, or what stands for it."""
        root = self.shares[ROOT]
        if self._wholes is None:
            return root
        name, whole = self._wholes.above(path), self._wholes.of(path)
        if name not in self.tops:
            guaranteed, maximum = part_of(whole, root.capacity), part_of(whole, root.maximum_capacity)
            self.tops[name] = replace(root, guaranteed=guaranteed, maximum=maximum, path=(name,), whole=whole)
        return self.tops[name]

    def _add(self, queue: Queue) -> None:
        above = self.shares.get(queue.parent_path) if queue.parent_path is not None else None
        if above is not None and queue.parent_path == ROOT:
            above = self._above(queue.path)
        whole = above.whole if above is not None else self.total
        capacity = queue.capacity_percent / 100.0 * (above.capacity if above is not None else 1.0)
        maximum = queue.maximum_capacity_percent / 100.0 * (above.maximum_capacity if above is not None else 1.0)
        weights = queue.user_weights
        if above is not None:
            self.below.setdefault(above.queue.path, []).append(queue.path)
        self.shares[queue.path] = Share(
            queue,
            capacity,
            maximum,
            part_of(whole, capacity),
            part_of(whole, maximum),
            (queue.path, *(above.path if above is not None else ())),
            whole,
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
