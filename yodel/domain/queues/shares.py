"""Computes each queue's guarantee and maximum in resources (CapacityScheduler's effective capacities).  Pure.

A percent is of the parent's guarantee, a maximum of the parent's maximum, both rounded down by type
(AbstractParentQueue.updateClusterResourceLegacyMode, AbstractCSQueue.updateEffectiveResources).  If shares are given by
resource, or amounts, percents and weights are mixed, ``amounts`` computes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from yodel.domain.queues.amounts import Unit, amount_of, kinds_of, most_of, resource_of, shared_out, wanted
from yodel.domain.queues.pools import Wholes
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.queues.siblings import is_plain
from yodel.domain.queues.user_weights import NO_WEIGHTS, UserWeights, weights_of
from yodel.domain.queues.windows import NO_WINDOWS, InForce, WindowEffect
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
    weights: UserWeights = NO_WEIGHTS
    """The weights of users, where they are not 1."""
    is_by_resource: bool = False
    """It is no product of percents along the path, so what is below it is counted by resource too."""


class QueueShares:
    """Queues by path, with what they have of the whole, or of their own pool."""

    def __init__(self, queues: Iterable[Queue], whole: Resource | Wholes, windows: InForce = NO_WINDOWS) -> None:
        """``windows`` are those of the queues, at this moment."""
        self.total = whole.total if isinstance(whole, Wholes) else whole
        self._wholes = whole if isinstance(whole, Wholes) else None
        self.shares: dict[str, Share] = {}
        self.below: dict[str, list[str]] = {}
        self.tops: dict[str, Share] = {}
        """The share that stands for the root among the queues of one pool."""
        self.said: dict[str, Queue] = {}
        """Queues whose row here has other percents than were said, as they were."""
        self.windows = windows
        self._guaranteed: dict[str, float] = {}
        """Parts of the whole: less than the capacity where a window leaves less, and below that in proportion."""
        for parent, below in _families(windows.applied(queues)).items():
            for above, siblings in self._by_pool(parent, below):
                if above is None or (is_plain(siblings) and not above.is_by_resource and not _have_maxima(siblings)):
                    for queue in siblings:
                        self._add(queue, above)
                else:
                    self._add_by_resource(siblings, above)

    @classmethod
    def of_one(cls, total: Resource, am_share: float | None = None) -> QueueShares:
        """One line for all, as if there were one queue."""
        return cls([Queue(path=ROOT, is_leaf=True, user_limit_factor=-1.0, am_share=am_share)], total)

    def open_over(self, path: str) -> tuple[str, WindowEffect] | None:
        """The nearest queue with an open window that lowers what a queue may hold: its own path or one above."""
        return self._nearest(path, lambda hold: hold.open is not None)

    def near_over(self, path: str) -> tuple[str, WindowEffect] | None:
        """The nearest queue with a window that begins soon: nothing starts in it, or below."""
        return self._nearest(path, lambda hold: hold.near is not None)

    def _nearest(self, path: str, counts: Callable[[WindowEffect], bool]) -> tuple[str, WindowEffect] | None:
        holds = self.windows.holds
        while holds and path:
            hold = holds.get(path)
            if hold is not None and counts(hold):
                return path, hold
            path = path.rpartition(".")[0]
        return None

    def stray(self, path: str) -> Share:
        """Return the share of a leaf without a row: no guarantee, and the root's maximum in its pool."""
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

    def _by_pool(self, parent: str | None, below: list[Queue]) -> Iterable[tuple[Share | None, list[Queue]]]:
        """Siblings that share out one thing, with what is above them."""
        if parent != ROOT or ROOT not in self.shares:
            return [(self.shares.get(parent) if parent is not None else None, below)]
        found: dict[str, tuple[Share, list[Queue]]] = {}
        for queue in below:
            above = self._above(queue.path)
            found.setdefault(above.path[0], (above, []))[1].append(queue)
        return found.values()

    def _add(self, queue: Queue, above: Share | None) -> None:
        whole = above.whole if above is not None else self.total
        capacity = queue.capacity_percent / 100.0 * (above.capacity if above is not None else 1.0)
        maximum = queue.maximum_capacity_percent / 100.0 * (above.maximum_capacity if above is not None else 1.0)
        part = queue.capacity_percent / 100.0 * (self._guaranteed[above.queue.path] if above is not None else 1.0)
        guaranteed = self._guaranteed[queue.path] = min(part, maximum)
        self._put(queue, above, (capacity, maximum), (part_of(whole, guaranteed), part_of(whole, maximum)))

    def _add_by_resource(self, below: Sequence[Queue], above: Share) -> None:
        """Siblings of which some have a share of each resource, or whose parent has."""
        least: list[dict[str, float]] = [{} for _ in below]
        most: list[dict[str, float]] = [{} for _ in below]
        for kind in kinds_of((above.guaranteed, above.maximum)):
            ceiling = amount_of(above.maximum, kind)
            shared = shared_out(
                amount_of(above.guaranteed, kind),
                [wanted(queue.capacity_amounts, queue.capacity_percent, queue.weight, kind) for queue in below],
            )
            for place, queue in enumerate(below):
                own = wanted(queue.maximum_amounts, 100.0, None, kind)
                # A window says a percent, whatever is said of the queue.
                percent = queue.maximum_capacity_percent, Unit.PERCENT
                most[place][kind] = min(most_of(ceiling, own), most_of(ceiling, percent))
                least[place][kind] = min(shared[place], most[place][kind])
        for queue, minimum, maximum in zip(below, least, most, strict=True):
            part = _part_of_whole(minimum, above.whole)
            capacity = part if part is not None else above.capacity * _nominal(queue, below)
            part = _part_of_whole(maximum, above.whole)
            parts = capacity, above.maximum_capacity if part is None else min(part, above.maximum_capacity)
            row = _derived(queue, parts, above, is_mixed=not is_plain(below))
            if row is not queue:
                self.said[queue.path] = queue
            self._put(row, above, parts, (resource_of(minimum), resource_of(maximum)), is_by_resource=True)

    def _put(
        self,
        queue: Queue,
        above: Share | None,
        parts: tuple[float, float],
        amounts: tuple[Resource, Resource],
        *,
        is_by_resource: bool = False,
    ) -> None:
        if above is not None:
            self.below.setdefault(above.queue.path, []).append(queue.path)
        self.shares[queue.path] = Share(
            queue,
            *parts,
            *amounts,
            (queue.path, *(above.path if above is not None else ())),
            above.whole if above is not None else self.total,
            weights_of(queue.user_weights),
            is_by_resource,
        )


def _families(queues: Iterable[Queue]) -> dict[str | None, list[Queue]]:
    """Queues by the path of their parent, parents first."""
    found: dict[str | None, list[Queue]] = {}
    for queue in sorted(queues, key=lambda queue: queue.path.count(".")):
        found.setdefault(queue.parent_path, []).append(queue)
    return found


def _have_maxima(queues: Iterable[Queue]) -> bool:
    return any(queue.maximum_amounts for queue in queues)


def _part_of_whole(amounts: Mapping[str, float], whole: Resource) -> float | None:
    """The largest part over all types, 0 to 1; None: there is nothing of any."""
    parts = [min(1.0, amounts[kind] / size) for kind in amounts if (size := amount_of(whole, kind)) > 0]
    return max(parts) if parts else None


def _nominal(queue: Queue, below: Sequence[Queue]) -> float:
    """Return the part of its parent while there is nothing to share.  A queue with amounts has all of it, or it would
    take no application before the first node joins."""
    if queue.capacity_amounts:
        return 1.0 if any(part.value for part in queue.capacity_amounts) else 0.0
    if queue.weight is None:
        return queue.capacity_percent / 100.0
    return queue.weight / (sum(other.weight or 0.0 for other in below) or 1.0)


def _derived(queue: Queue, parts: tuple[float, float], above: Share, *, is_mixed: bool) -> Queue:
    """Return the queue with the percents that its amounts come to now, as the CapacityScheduler shows them."""
    capacity, maximum = parts
    if is_mixed:
        queue = replace(queue, capacity_percent=100.0 * capacity / above.capacity if above.capacity else 0.0)
    if queue.maximum_amounts:
        percent = 100.0 * maximum / above.maximum_capacity if above.maximum_capacity else 0.0
        queue = replace(queue, maximum_capacity_percent=percent)
    return queue


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
