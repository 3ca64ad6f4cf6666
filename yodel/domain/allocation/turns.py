"""Decides who is served next: queues by usage relative to their guarantee, applications by ordering policy.  Pure.

The CapacityScheduler allocates one container and sorts again.  Here a queue gets as many at once as it would get in a
row: until it uses more of its guarantee than the next of its siblings, on each level of the tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from math import ceil, inf

from yodel.domain.allocation.demands import Demand
from yodel.domain.allocation.leaf import Leaf
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.queues.ledger import ServingRank, UsageLedger
from yodel.domain.queues.queue import ROOT, Ordering
from yodel.domain.queues.shares import dominant
from yodel.domain.resource import Resource

AT_ONCE_MAX = 1_000_000
Head = tuple[Demand, Wish | None]
"""The next of an application to be served: None is what comes before its wishes, its AM or larger containers."""


class ServingOrder:
    """The applications of one leaf that want something, in the order they are served."""

    def __init__(self, path: str, ordering: Ordering, demands: Iterable[Demand]) -> None:
        self.path, self._is_fair = path, ordering is Ordering.FAIR
        if self._is_fair:
            self._heap = [(d.held_mib, d.submitted_ms, d.attempt_id, heads(d), d) for d in demands]
        else:
            self._heap = [(-d.priority, d.submitted_ms, d.attempt_id, heads(d), d) for d in demands]
        self._heap.sort(key=lambda entry: entry[:3])
        self._head: Head | None = None
        self.advance()

    @property
    def is_done(self) -> bool:
        return self._head is None

    @property
    def head(self) -> Head:
        assert self._head is not None
        return self._head

    def advance(self) -> None:
        """The next wish of the application, or the next application."""
        self._head = None
        while self._heap:
            self._head = next(self._heap[0][3], None)
            if self._head is not None:
                return
            heapq.heappop(self._heap)

    def leave(self) -> list[Wish]:
        """Go on with the next application, and return the wishes that this one had left."""
        rest = [wish for _, wish in chain([self.head], heapq.heappop(self._heap)[3]) if wish is not None]
        self.advance()
        return rest

    def at_most(self, capability: Resource, turns: LeafTurns) -> int:
        """Return the number of containers of this size to allocate before another application's turn."""
        count = turns.in_a_row(self.path, capability)
        if self._is_fair and len(self._heap) > 1:
            ahead = min(entry[0] for entry in self._heap[1:3]) - self._heap[0][0]
            count = min(count, max(0, ahead) // max(1, capability.memory_mib) + 1)
        return count

    def served(self, memory_mib: int, *, is_over: bool) -> None:
        """The head was given so much, and has had its turn if ``is_over``.  In a fair queue who was given something
        goes back in the line."""
        if not self._is_fair or not memory_mib:
            if is_over:
                self.advance()
            return
        held_mib, submitted_ms, attempt_id, left, demand = self._heap[0]
        rest = left if is_over else chain([self.head], left)
        heapq.heapreplace(self._heap, (held_mib + memory_mib, submitted_ms, attempt_id, rest, demand))
        self.advance()


def heads(demand: Demand) -> Iterator[Head]:
    """Yield the application's requests in order."""
    if demand.am_capability is not None:
        yield demand, None
        return
    if demand.increases:
        yield demand, None
    in_flight = demand.in_flight
    for wish in demand.wishes:
        if not in_flight or wish.number > in_flight.get(wish.key, 0):
            yield demand, wish


def is_served(demand: Demand) -> bool:
    """Return True if the application requests something."""
    return next(heads(demand), None) is not None


def is_wanted(demand: Demand, key: AskKey | None) -> bool:
    """Return True if a wish, or (None) the ApplicationMaster, is still to be served."""
    if key is None:
        return demand.am_capability is not None
    return any(wish is not None and wish.key == key for _, wish in heads(demand))


class QueueOrder:
    """Keeps queues in serving order among their siblings, from decision to decision over one tree.

    It has every queue that requested something, also those that do not now: at most as many as there are.
    """

    def __init__(self) -> None:
        self._ranks: dict[str, ServingRank] = {}
        self._above: dict[str, str] = {}
        self._siblings: dict[str, list[tuple[ServingRank, str]]] = {}
        """The queues below each, sorted."""
        self._unranked: set[str] = set()

    def changed(self, path: str) -> None:
        """Rank a queue again in the next decision: its usage has changed."""
        if path in self._above:
            self._unranked.add(path)

    def rank(self, path: str) -> ServingRank:
        """Return the rank of a queue in the last decision."""
        return self._ranks[path]

    def bring_up_to_date(self, ledger: UsageLedger, leaves: Mapping[str, object]) -> None:
        """Rank what has changed, and these leaves if they are new."""
        for path in leaves.keys() - self._above.keys():
            self._enter(ledger.share(path).path)
        self._sort(ledger)

    def heaps(self, leaves: Mapping[str, object]) -> dict[str, list[tuple[ServingRank, str]]]:
        """Return by parent the queues that are or have some of these leaves, sorted and therefore heaps."""
        parents: set[str] = set()
        level: Collection[str] = leaves
        while level := {self._above[path] for path in level if path in self._above} - parents:
            parents |= level
        wanted = leaves.keys() | parents
        return {above: [entry for entry in self._siblings[above] if entry[1] in wanted] for above in parents}

    def _enter(self, way: Sequence[str]) -> None:
        """Add a leaf, and the queues above it that are new."""
        for own, above in pairwise(way):
            if own in self._above:
                return
            self._above[own] = above
            self._unranked.add(own)
            self._siblings.setdefault(above, [])

    def _sort(self, ledger: UsageLedger) -> None:
        families: dict[str, set[str]] = {}
        for path in self._unranked:
            self._ranks[path] = ledger.serving_rank(path)
            families.setdefault(self._above[path], set()).add(path)
        self._unranked.clear()
        for above, moved in families.items():
            kept = [entry for entry in self._siblings[above] if entry[1] not in moved]
            self._siblings[above] = sorted([*kept, *((self._ranks[path], path) for path in moved)])


class LeafTurns:
    """All leaves that want something, and whose turn it is."""

    def __init__(self, ledger: UsageLedger, leaves: Mapping[str, Leaf], order: QueueOrder) -> None:
        self._ledger, self._leaves = ledger, leaves
        self._waiting: dict[str, None] = dict.fromkeys(leaves)
        """Leaves that had no turn yet, or not their last one."""
        self._lines: dict[str, ServingOrder] = {}
        """The orders of leaves that had a turn."""
        self._top = next((ledger.share(path).path[-1] for path in leaves), ROOT)
        """The root, or what stands for it among the queues of one pool."""
        order.bring_up_to_date(ledger, leaves)
        self._order = order

    @cached_property
    def _heaps(self) -> dict[str, list[tuple[ServingRank, str]]]:
        """Made with the first turn: where nothing can be planned, there is none."""
        return self._order.heaps(self._leaves)

    def next_line(self) -> ServingOrder | None:
        """The line whose queue has least of its guarantee, on every level of the tree; None: all had their turn."""
        if not self._waiting:
            return None
        path = self._top
        while path not in self._waiting:
            path = self._heaps[path][0][1]
        return self.line(path)

    @property
    def under_way(self) -> list[str]:
        """Leaves that had a turn, and not their last one."""
        return [path for path, line in self._lines.items() if not line.is_done]

    @property
    def waiting(self) -> Collection[str]:
        """Return the leaves that had not their last turn yet."""
        return self._waiting.keys()

    def line(self, path: str) -> ServingOrder:
        """Return what is left of a leaf."""
        line = self._lines.get(path)
        if line is None:
            line = self._lines[path] = ServingOrder(
                path, self._ledger.share(path).queue.ordering, self._leaves[path].demands.values()
            )
        return line

    def in_a_row(self, path: str, capability: Resource) -> int:
        """Return the number of containers to allocate in a leaf before a sibling, of it or of a queue above, uses
        less."""
        count = AT_ONCE_MAX
        way = self._ledger.share(path).path
        for own, above in pairwise(way):
            heap = self._heaps[above]
            if len(heap) > 1:
                count = min(count, self._until(own, min(heap[1:3])[0], capability))
        return count

    def _until(self, path: str, other: ServingRank, capability: Resource) -> int:
        own = self._ledger.serving_rank(path)
        if own.has_no_guarantee != other.has_no_guarantee:
            return AT_ONCE_MAX  # the other has no guarantee and comes after
        is_before = own[:3] < other[:3]  # by priority, until it has its guarantee
        if is_before and own.has_its_guarantee:
            return AT_ONCE_MAX
        share = self._ledger.share(path)
        step = dominant(capability, self._ledger.measure(share))
        if other.part == inf and not is_before:
            return AT_ONCE_MAX
        if step in (0.0, inf) or own.part == inf:
            return 1
        if is_before:
            return max(1, min(AT_ONCE_MAX, ceil((1.0 - own.part) / step - 1e-9)))
        return int(min(AT_ONCE_MAX, max(0.0, (other.part - own.part) / step))) + 1

    def served(self, line: ServingOrder) -> None:
        """Reorder the queue after an allocation, or remove it if it requests nothing more."""
        way = self._ledger.share(line.path).path
        if line.is_done:
            del self._waiting[line.path]
        gone = line.is_done and not self._heaps.get(line.path)
        for own, above in pairwise(way):
            heap = self._heaps[above]
            if gone:
                heapq.heappop(heap)
                gone = not heap
            else:
                heapq.heapreplace(heap, (self._ledger.serving_rank(own), own))
