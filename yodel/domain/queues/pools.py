"""Pools: what the pods of which queues draw on, and how much of it there is.  Pure.

A pool is a pair of resources that nodes lend, ordinary cores and memory or those of a colocation engine.  A queue draws
on the pool of the child of root that it is, or is below; there the pool is chosen and nowhere else, so that what a
queue shares out among those below it is one thing.

Free is counted node by node.  A node that lends less than is held there counts as what is held: a dip takes nothing
from other nodes and makes nothing negative, it only lets nothing start where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NewType

from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import ROOT
from yodel.domain.resource import NONE, Resource, larger, total_of

PoolName = NewType("PoolName", str)
NATIVE = PoolName("native")
"""Ordinary cores and memory, as node agents register them."""
YARN = PoolName("yarn")
"""Cores and memory of NodeManagers, which launch containers themselves; no pod draws on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Maps queues to pools.  ``by_child`` has children of root by path that do not use ``default``."""

    default: PoolName = NATIVE
    by_child: Mapping[str, PoolName] = field(default_factory=dict)

    def of(self, path: str) -> PoolName:
        return self.by_child.get(top_of(path), self.default) if self.by_child else self.default

    def drawn_on(self, paths: Iterable[str]) -> tuple[PoolName, ...]:
        """Return the pools of these queues, sorted; of root alone the one that a child would have."""
        return tuple(sorted({self.of(path) for path in paths if path != ROOT})) or (self.default,)

    @property
    def named(self) -> frozenset[PoolName]:
        """All that some queue may draw on."""
        return frozenset((self.default, *self.by_child.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wholes:
    """Holds the capacity of each of several pools, to which the percents of root's children refer."""

    pools: Pools
    totals: Mapping[PoolName, Resource]

    @property
    def total(self) -> Resource:
        return total_of(self.totals.values())

    def of(self, path: str) -> Resource:
        return self.totals.get(self.pools.of(path), NONE)

    def above(self, path: str) -> str:
        """Return the parent of a child of root, in place of root; it is not a path, so that no queue has that name."""
        return above_of(self.pools.of(path))


def above_of(pool: PoolName) -> str:
    return f"{ROOT}:{pool}"


def top_of(path: str) -> str:
    """The child of root that a queue is, or is below; root itself for root."""
    root, _, below = path.partition(".")
    return f"{root}.{below.partition('.')[0]}" if below else root


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """Holds a node's capacity in a pool: ``now``, and its maximum (``ever``), which decides what can never start
    there."""

    now: Resource
    ever: Resource


@dataclass(slots=True)
class _Part:
    """One node's.  ``counted`` is what it adds to the total."""

    lent: PoolCapacity | None = None
    is_leaving: bool = False
    held: Resource = NONE
    counted: Resource = NONE
    digits: int = 0
    """The digits of what is free in MiB; 0: nothing, or the node lends nothing."""


class Pool:
    """Sums capacity and usage of the nodes of a pool."""

    def __init__(self) -> None:
        self.size = NONE
        """The amount that usable nodes lend."""
        self.total = NONE
        """The amount there is, given away or free: a node's loan, or what is held there where that is more; of a node
        that is leaving, what is held: it is full (RMNodeImpl.DecommissioningNodeTransition)."""
        self.lender_count = 0
        self._parts: dict[NodeId, _Part] = {}
        self._largest: Resource | None = None
        self._by_free: dict[int, dict[NodeId, None]] = {}
        """Lenders with something free, by the number of binary digits of its MiB."""

    def with_room(self, size: Resource) -> list[NodeId]:
        """All nodes that may have so much free, those with least memory first, and a few that have not."""
        least = size.memory_mib.bit_length()
        return [node_id for digits in sorted(self._by_free) if digits >= least for node_id in self._by_free[digits]]

    @property
    def lenders(self) -> Iterable[NodeId]:
        return (node_id for node_id, part in self._parts.items() if part.lent is not None)

    @property
    def ever(self) -> Resource:
        """Return the maximum that the nodes may have, summed up."""
        return total_of(part.lent.ever for part in self._parts.values() if part.lent is not None)

    @property
    def largest(self) -> Resource:
        """The most of each type that one of its nodes may have (ClusterNodeTracker.getMaxAllowedAllocation)."""
        if self._largest is None:
            self._largest = NONE
            for part in self._parts.values():
                if part.lent is not None:
                    self._largest = larger(self._largest, part.lent.ever)
        return self._largest

    def lent(self, node_id: NodeId) -> PoolCapacity | None:
        part = self._parts.get(node_id)
        return part.lent if part is not None else None

    def free_on(self, node_id: NodeId) -> Resource:
        """Return the free capacity of a node; nothing if it lends nothing, or less than is used."""
        part = self._parts.get(node_id)
        return part.counted - part.held if part is not None and part.lent is not None else NONE

    def held_on(self, node_id: NodeId) -> Resource:
        part = self._parts.get(node_id)
        return part.held if part is not None else NONE

    def lend(self, node_id: NodeId, lent: PoolCapacity | None, *, is_leaving: bool = False) -> bool:
        """Take in what a node lends from now on; None: nothing may be placed there.  Return whether that is news."""
        part = self._parts.setdefault(node_id, _Part())
        is_leaving = is_leaving and lent is None
        if (part.lent, part.is_leaving) == (lent, is_leaving):
            self._forget(node_id, part)
            return False
        self.size += (lent.now if lent is not None else NONE) - (part.lent.now if part.lent is not None else NONE)
        if part.lent is None or lent is None or part.lent.ever != lent.ever:
            self._largest = None
        self.lender_count += (lent is not None) - (part.lent is not None)
        part.lent, part.is_leaving = lent, is_leaving
        self._count(node_id, part)
        self._forget(node_id, part)
        return True

    def hold(self, node_id: NodeId, amount: Resource, sign: int) -> None:
        """Add usage on a node, or with ``sign`` -1 subtract it."""
        part = self._parts.setdefault(node_id, _Part())
        part.held += amount * sign
        self._count(node_id, part)
        self._forget(node_id, part)

    def _count(self, node_id: NodeId, part: _Part) -> None:
        if part.lent is None:
            counted = part.held if part.is_leaving else NONE
        elif part.held.fits_in(part.lent.now):
            counted = part.lent.now
        else:
            counted = larger(part.lent.now, part.held)
        if counted is not part.counted:
            self.total += counted - part.counted
            part.counted = counted
        free_mib = counted.memory_mib - part.held.memory_mib if part.lent is not None else 0
        digits = max(0, free_mib).bit_length()
        if digits != part.digits:
            if part.digits:
                del self._by_free[part.digits][node_id]
            if digits:
                self._by_free.setdefault(digits, {})[node_id] = None
            part.digits = digits

    def _forget(self, node_id: NodeId, part: _Part) -> None:
        if part.lent is None and part.held == NONE and not part.is_leaving:
            del self._parts[node_id]
