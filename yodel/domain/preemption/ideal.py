"""Computes the ideal share of each queue from its guarantee, usage and requests.  Pure.

As AbstractPreemptableResourceCalculator: from the root down, each queue keeps its usage within its guarantee; what is
left goes to those that request more, in the proportion of their guarantees, and to queues without a guarantee last.  A
queue does not grow above its guarantee at the cost of another: there on leaves, here on every level, or whole branches
without a guarantee would take the same containers from each other for ever.  Types are filled one by one, to one level
for all siblings, where the CapacityScheduler iterates until nothing is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import ROOT
from yodel.domain.queues.shares import Share
from yodel.domain.resource import MEMORY, NONE, VCORES, Resource, larger, smaller

Amounts = Mapping[str, int]
"""By resource type."""


@dataclass(slots=True, kw_only=True)
class Branch:
    """A queue of one round.  ``pending`` is what may still start there by the limits of users and of the queue.
    ``without_node`` is held for limits, but by nothing that runs: it is no part of what is ``used``."""

    path: str
    guaranteed: Resource
    maximum: Resource
    used: Resource
    without_node: Resource = NONE
    pending: Resource = NONE
    is_kept: bool = False
    """disable_preemption: what it holds above its guarantee stays."""
    priority: int = 0
    """Where priorities of queues count: the highest keeps first what is above the guarantees."""
    below: list[Branch] = field(default_factory=list)
    ideal: Resource = NONE

    def all(self) -> Iterator[Branch]:
        """Itself and all below, parents first."""
        yield self
        for branch in self.below:
            yield from branch.all()

    @property
    def excess(self) -> Resource:
        """Return the usage above the ideal.  The guarantee, as far as it is used or requested, is never reclaimed."""
        protected = larger(self.ideal, smaller(smaller(self.used + self.pending, self.guaranteed), self.maximum))
        return (self.used + self.without_node - protected).at_least_zero()

    @property
    def lack(self) -> Resource:
        """Return the amount missing to the ideal."""
        return (self.ideal - self.used).at_least_zero()


def trees_of(
    ledger: UsageLedger,
    used: Set[str],
    pending: Mapping[str, Resource],
    without_node: Mapping[str, Resource] = MappingProxyType({}),
) -> dict[str, Branch]:
    """The queues of a ledger, by what stands at the top: the root, or for each pool what stands for it.  ``used`` are
    the paths that something is held in: a leaf that is in no row any more is there too, without a guarantee."""
    shares = dict(ledger.tree.shares)
    for path in pending.keys() | (used - shares.keys()):
        if path not in shares and not any(other.startswith(f"{path}.") for other in used):
            shares[path] = ledger.share(path)
    tops = {share.path[-1] for path, share in shares.items() if path != ROOT} or {ROOT}
    branches = {
        top: _branch(ledger, top, ledger.tree.tops.get(top) or shares[ROOT], without_node) for top in sorted(tops)
    }
    for path, share in shares.items():  # parents first
        if path != ROOT and path not in tops:
            branches[path] = _branch(ledger, path, share, without_node)
            branches[share.path[1]].below.append(branches[path])
    for path, amount in pending.items():
        for above in shares[path].path:
            branches[above].pending += amount
    return {top: branches[top] for top in tops}


def _branch(ledger: UsageLedger, path: str, share: Share, without_node: Mapping[str, Resource]) -> Branch:
    beside = without_node.get(path, NONE)
    return Branch(
        path=path,
        guaranteed=share.guaranteed,
        maximum=share.maximum,
        used=ledger.used(path) - beside,
        without_node=beside,
        is_kept=share.queue.is_preemption_disabled,
        priority=share.queue.priority if _counts_priority(ledger, share) else 0,
    )


def _counts_priority(ledger: UsageLedger, share: Share) -> bool:
    return len(share.path) > 1 and ledger.share(share.path[1]).queue.is_by_priority


def assign(root: Branch, total: Resource) -> None:
    """Fill in the ideals of a tree whose root may hold ``total``."""
    root.ideal = smaller(total, root.maximum)
    _assign_below(root)


def _assign_below(branch: Branch) -> None:
    if not branch.below:
        return
    floors = [_floor(child) for child in branch.below]
    caps = [_cap(child, floor) for child, floor in zip(branch.below, floors, strict=True)]
    filled: list[dict[str, int]] = [{} for _ in branch.below]
    for kind in _kinds([branch.ideal, *caps]):
        amounts = _by_guarantee(
            _of(branch.ideal, kind),
            [_of(floor, kind) for floor in floors],
            [_of(cap, kind) for cap in caps],
            [_of(child.guaranteed, kind) for child in branch.below],
            [child.priority for child in branch.below],
        )
        for own, amount in zip(filled, amounts, strict=True):
            own[kind] = amount
    for child, own in zip(branch.below, filled, strict=True):
        child.ideal = _resource(own)
        _assign_below(child)


def _floor(branch: Branch) -> Resource:
    """Return the usage that is not reclaimed: within the guarantee, and what queues below keep."""
    within = smaller(branch.used, branch.guaranteed)
    if not branch.below:
        kept = branch.used if branch.is_kept else within
    else:
        kept = within
        below = NONE
        for child in branch.below:
            below += _floor(child)
        kept = larger(kept, smaller(below, branch.used))
    return smaller(kept, branch.maximum)


def _cap(branch: Branch, floor: Resource) -> Resource:
    """The most that it may be made to hold: within its guarantee, or what it holds already."""
    most = smaller(branch.maximum, branch.used + branch.pending)
    return larger(smaller(most, larger(branch.guaranteed, branch.used)), floor)


def _by_guarantee(
    total: int, floors: Sequence[int], caps: Sequence[int], guarantees: Sequence[int], priorities: Sequence[int]
) -> list[int]:
    """Give to those with a guarantee first, in its proportion; what is left goes to the others in equal parts.  Where
    priorities differ all get their guarantees first, and then the highest what it wants."""
    amounts = list(floors)
    levels = sorted(set(priorities), reverse=True)
    for is_with in (True, False):
        every = [index for index, guarantee in enumerate(guarantees) if (guarantee > 0) is is_with]
        if is_with and len(levels) > 1:
            within = [max(floors[i], min(caps[i], guarantees[i])) for i in range(len(caps))]
            _fill(total, amounts, within, guarantees, every)
        for level in levels:
            _fill(total, amounts, caps, guarantees, [index for index in every if priorities[index] == level])
    return amounts


def _fill(
    total: int, amounts: list[int], caps: Sequence[int], guarantees: Sequence[int], chosen: Sequence[int]
) -> None:
    """Fill some of the amounts to one level, with what the others leave."""
    rest = total - sum(amounts) + sum(amounts[index] for index in chosen)
    weights = [max(1, guarantees[index]) for index in chosen]
    own = filled_to_level(rest, [amounts[i] for i in chosen], [caps[i] for i in chosen], weights)
    for index, amount in zip(chosen, own, strict=True):
        amounts[index] = amount


def filled_to_level(total: int, floors: Sequence[int], caps: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Each its floor at least, its cap at most, and between them the same level times its weight; together ``total``
    where that is more than the floors and less than the caps.  Weights are positive, no cap is below its floor.
    """
    level = _level(total, floors, caps, weights)
    amounts = [
        max(floor, min(cap, int(level * weight))) for floor, cap, weight in zip(floors, caps, weights, strict=True)
    ]
    left = total - sum(amounts)
    for index, (floor, cap, weight) in enumerate(zip(floors, caps, weights, strict=True)):
        if level * weight > floor:  # it grew; what rounding made of it is put right
            least, most = max(floor - amounts[index], -1), min(cap - amounts[index], 1)
            step = max(least, min(most, left))
            amounts[index] += step
            left -= step
    return amounts


def _level(total: int, floors: Sequence[int], caps: Sequence[int], weights: Sequence[int]) -> float:
    """Return the level at which the sum reaches the total, by the points where a share begins or ends to grow."""
    points: list[tuple[float, int]] = []
    for floor, cap, weight in zip(floors, caps, weights, strict=True):
        if cap > floor:
            points += [(floor / weight, weight), (cap / weight, -weight)]
    points.sort()
    left, slope = float(total - sum(floors)), 0
    if left <= 0 or not points:
        return 0.0
    for (at, change), (following, _) in pairwise([*points, (points[-1][0], 0)]):
        slope += change
        grows = (following - at) * slope
        if slope > 0 and grows >= left:
            return at + left / slope
        left -= grows
    return points[-1][0]


def _kinds(amounts: Collection[Resource]) -> list[str]:
    return [MEMORY, VCORES, *sorted({name for amount in amounts for name, _ in amount.extras})]


def _of(amount: Resource, kind: str) -> int:
    if kind == MEMORY:
        return amount.memory_mib
    return amount.vcores if kind == VCORES else dict(amount.extras).get(kind, 0)


def _resource(amounts: Amounts) -> Resource:
    extras = tuple((name, value) for name, value in amounts.items() if name not in (MEMORY, VCORES) and value)
    return Resource(amounts[MEMORY], amounts[VCORES], tuple(sorted(extras)))
