"""Chooses the containers to preempt so that requested ones fit.  Pure.

Only what helps is reclaimed: what a queue lacks is placed container by container, on a node that its placement allows,
and only containers in the way there are preempted.  Capacity that is free already costs nobody anything.  The victims
for one container form a claim: they are notified and ended together.  If one victim is not enough, the node has to be
reserved, or what the first one leaves would be allocated to others.

The order is: containers with a notice, unscheduled pods, then application by application (``preemption.order``);
ApplicationMasters only if their queue has nothing else left and they use more than their share.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from yodel.domain.allocation.holds import Short
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.preemption.order import order_of
from yodel.domain.resource import NONE, Resource, larger

VICTIMS_MAX = 1000
"""The most victims of one round."""
BELOW_NOTHING = Resource(-1, -1)
Price = tuple[int, ...]
"""The price of making room on a node; the least is paid."""


class Ease(Enum):
    """Orders what a window reclaims: usage of leaves above their ideals, other containers, ApplicationMasters."""

    EXCESS = "excess"
    OTHERS = "others"
    MASTERS = "masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A container that its queue may give back.  ``node_id`` None: its pod waits for a node.

    ``priority`` and ``submitted_ms`` are its application's, ``request_priority`` is its own.
    """

    id: ContainerId
    queue: str
    size: Resource
    node_id: NodeId | None
    priority: int = 0
    submitted_ms: int = 0
    request_priority: int = 0
    is_am: bool = False
    is_marked: bool = False
    """It is on notice since an earlier round."""

    @property
    def rank(self) -> tuple[int | bool, ...]:
        """Least goes first."""
        return (
            self.is_am,
            not self.is_marked,
            self.node_id is not None,
            *order_of(
                self.id,
                priority=self.priority,
                submitted_ms=self.submitted_ms,
                request_priority=self.request_priority,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Containers of one size that a queue lacks.  ``nodes`` are those where they may be placed; with ``may_hold`` one
    of them may be held."""

    short: Short
    count: int
    nodes: tuple[NodeId, ...]
    may_hold: bool = False

    @property
    def queue(self) -> str:
        return self.short.queue

    @property
    def size(self) -> Resource:
        return self.short.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Holds the victims for one container.  ``id``, and ``given_s``, the time of the notices, are set by its keeper."""

    short: Short
    node_id: NodeId
    victims: tuple[Candidate, ...]
    is_held: bool
    """The node is held for it."""
    is_within: bool = False
    """Applications of the same queue give to one of a higher priority."""
    id: int = 0
    given_s: float = 0.0

    @property
    def of_queue(self) -> list[Victim]:
        """Its victims, each with the queue that gets the room."""
        return [Victim(candidate=one, for_queue=self.short.queue) for one in self.victims]


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """``for_queue`` is who gets its room; its own where that holds more than its maximum."""

    candidate: Candidate
    for_queue: str


@dataclass(slots=True, kw_only=True)
class ReclaimableCapacity:
    """Holds free and reclaimable capacity.

    ``free`` is of the whole, ``on_node`` of each node that may be used.  ``excess`` is all that a queue may lose,
    ``quota`` its part in this round, ``round`` that of all queues; the first container that is served may take more
    than a round, or a small share would never be enough for a large one.  ``masters`` is the usage of a queue's
    ApplicationMasters above their share.
    """

    free: Resource
    on_node: dict[NodeId, Resource]
    excess: dict[str, Resource]
    quota: dict[str, Resource]
    round: Resource
    masters: dict[str, Resource] = field(default_factory=dict)


class VictimSelection:
    """The victims of one round, found claim by claim."""

    def __init__(self, capacity: ReclaimableCapacity, candidates: Iterable[Candidate]) -> None:
        self.capacity = capacity
        self.victims: dict[ContainerId, Victim] = {}
        self.claims: list[Claim] = []
        self._is_first = True
        self._searches: dict[tuple[Resource, int, bool], _Search] = {}
        """By size and by the very list of nodes, which each of them keeps: thousands of names are not compared."""
        self._ordered = sorted(candidates, key=lambda one: one.rank)
        self._place = {one.id: place for place, one in enumerate(self._ordered)}
        self._taken: dict[str, Resource] = {}
        self._of_queue: dict[str, list[Candidate]] = {}
        self._on_node: dict[NodeId, list[Candidate]] = {}
        self._others: Counter[str] = Counter()
        """The number of containers of each queue that are no ApplicationMasters and stay."""
        for one in self._ordered:
            self._of_queue.setdefault(one.queue, []).append(one)
            self._others[one.queue] += not one.is_am
            if one.node_id is not None:
                self._on_node.setdefault(one.node_id, []).append(one)

    @property
    def is_full(self) -> bool:
        return len(self.victims) >= VICTIMS_MAX

    def taken_of(self, queue: str) -> Resource:
        """Return the usage of a leaf's victims."""
        return self._taken.get(queue, NONE)

    def open_up(self, queue: str, amount: Resource) -> None:
        """A leaf may be asked for so much in this round, whatever else it holds."""
        self.capacity.excess[queue] = larger(self.capacity.excess.get(queue, NONE), amount)
        self.capacity.quota[queue] = larger(self.capacity.quota.get(queue, NONE), amount)

    def bring_back(self, queue: str, excess: Resource, ease: Ease | None = None) -> Resource:
        """More than its maximum is held: so much goes, whoever has use for it.  Returns what is left of the excess.

        ``ease``: however much that is in this round."""
        for one in self._of_queue.get(queue, ()):
            if not excess.is_any_positive or self.is_full:
                break
            may_go = self._may_go(one, NONE) and self.may_begin([one]) if ease is None else self._has_to_go(one, ease)
            if lowers(one.size, excess) and may_go:
                self._take(one, queue)
                self._is_first = False
                excess -= one.size
        return excess

    def serve(self, need: Need, may_go: Callable[[Candidate], bool] | None = None) -> int:
        """Find room for the containers of a need, and take it; returns for how many there is some.

        ``may_go`` keeps to some of the candidates.  Without it what was found out for a need is used for the next one
        of the same size and nodes.
        """
        if may_go is not None:
            search = _Search(self, need, may_go)
        else:
            key = need.size, id(need.nodes), need.may_hold
            if key not in self._searches:
                self._searches[key] = _Search(self, need, lambda _: True)
            search = self._searches[key]
        served = 0
        while served < need.count and not self.is_full and (found := search.make_room(need.queue)) is not None:
            node_id, chosen, is_held = found
            if chosen:
                self.claims.append(Claim(short=need.short, node_id=node_id, victims=tuple(chosen), is_held=is_held))
            self._fill(node_id, need.size)
            self._is_first = False
            served += 1
            if is_held:
                break
        return served

    def keep(self, claim: Claim) -> bool:
        """A claim of an earlier round, with those of its victims that still have to go.  False: it is over, or none of
        them would help any more."""
        size, capacity, own = claim.short.size, self.capacity, {one.id for one in claim.victims}
        if claim.node_id not in capacity.on_node:
            return False
        left = [one for one in self._ordered if one.id in own]
        chosen = self.among(
            [one for one in left if one.node_id == claim.node_id], size, capacity.on_node[claim.node_id], lambda _: True
        )
        if not chosen and not size.fits_in(capacity.on_node[claim.node_id]):
            return False
        self.take_all(chosen, claim.short.queue)
        if not size.fits_in(capacity.free):
            of_whole = self.among([one for one in left if one not in chosen], size, capacity.free, lambda _: True)
            self.take_all(of_whole, claim.short.queue)
            chosen = [*chosen, *of_whole]
        if not chosen:
            return False
        self._fill(claim.node_id, size)
        self._is_first = False
        self.claims.append(replace(claim, victims=tuple(chosen)))
        return True

    def _fill(self, node_id: NodeId, size: Resource) -> None:
        self.capacity.on_node[node_id] -= size
        self.capacity.free -= size

    def among(
        self, candidates: Iterable[Candidate], size: Resource, free: Resource, may_go: Callable[[Candidate], bool]
    ) -> list[Candidate]:
        """Return the containers to preempt so that the size fits, none of them unnecessary; empty: it cannot fit."""
        chosen: list[Candidate] = []
        spent: dict[str, Resource] = {}
        for one in candidates:
            of_queue = spent.get(one.queue, NONE)
            if not lowers(one.size, size - free) or not may_go(one) or not self._may_go(one, of_queue):
                continue
            chosen.append(one)
            free += one.size
            spent[one.queue] = of_queue + one.size
            if size.fits_in(free):
                return _needed(chosen, size, free)
        return []

    def price(self, chosen: Sequence[Candidate]) -> Price:
        """No ApplicationMaster if it can be helped, few that are not on notice yet, those that are first to go."""
        last = chosen[-1]
        return last.is_am, sum(not one.is_marked for one in chosen), self._place[last.id]

    def take_all(self, chosen: Iterable[Candidate], for_queue: str) -> None:
        for one in chosen:
            self._take(one, for_queue)

    @property
    def ordered(self) -> Sequence[Candidate]:
        return self._ordered

    def on(self, node_id: NodeId) -> Sequence[Candidate]:
        return self._on_node.get(node_id, ())

    def may_begin(self, chosen: Iterable[Candidate]) -> bool:
        """Return True if the limits of a round allow them all for one claim.  The first may cost more than a round: in
        a small cluster a tenth is less than one container."""
        capacity, spent, of_queue = self.capacity, NONE, dict[str, Resource]()
        for one in chosen:
            own = of_queue.get(one.queue, NONE)
            is_in_quota = lowers(one.size, capacity.quota.get(one.queue, NONE) - own)
            if not self._is_first and not (is_in_quota and one.size.fits_in(capacity.round - spent)):
                return False
            of_queue[one.queue], spent = own + one.size, spent + one.size
        return True

    def _may_go(self, one: Candidate, spent: Resource) -> bool:
        """It is not taken yet, and lowers what its queue holds too much of; ``spent`` is chosen of it beside."""
        capacity, size = self.capacity, one.size
        if one.id in self.victims or not lowers(size, capacity.excess.get(one.queue, NONE) - spent):
            return False
        if not one.is_am:
            return True
        return self._others[one.queue] == 0 and one.size.fits_in(capacity.masters.get(one.queue, NONE))

    def _has_to_go(self, one: Candidate, ease: Ease) -> bool:
        if one.id in self.victims or (one.is_am and ease is not Ease.MASTERS):
            return False
        return ease is not Ease.EXCESS or lowers(one.size, self.capacity.excess.get(one.queue, NONE))

    def _take(self, one: Candidate, for_queue: str) -> None:
        capacity = self.capacity
        self.victims[one.id] = Victim(candidate=one, for_queue=for_queue)
        for left in (capacity.excess, capacity.quota):
            left[one.queue] = left.get(one.queue, NONE) - one.size
        self._taken[one.queue] = self._taken.get(one.queue, NONE) + one.size
        capacity.round -= one.size
        capacity.free += one.size
        if one.is_am:
            capacity.masters[one.queue] = capacity.masters.get(one.queue, NONE) - one.size
        else:
            self._others[one.queue] -= 1
        if one.node_id in capacity.on_node:
            capacity.on_node[one.node_id] += one.size


class _Search:
    """Room for containers of one size, one after the other."""

    def __init__(self, selection: VictimSelection, need: Need, may_go: Callable[[Candidate], bool]) -> None:
        self._selection, self._size, self.nodes, self._may_go = selection, need.size, need.nodes, may_go
        self._may_hold = need.may_hold
        self._on_node = selection.capacity.on_node
        lenders = [node_id for node_id in need.nodes if node_id in self._on_node]
        self._free = deque(node_id for node_id in lenders if self._size.fits_in(self._on_node[node_id]))
        self._prices = [(price, node_id) for node_id in lenders if (price := self._price(node_id)) is not None]
        heapq.heapify(self._prices)

    def make_room(self, queue: str) -> tuple[NodeId, list[Candidate], bool] | None:
        """A node for one container more of a queue, who goes for it, and whether the node has to be held until they
        have; None: there is none that would help."""
        while self._free and not self._size.fits_in(self._on_node.get(self._free[0], BELOW_NOTHING)):
            used_up = self._free.popleft()
            if used_up in self._on_node and (price := self._price(used_up)) is not None:
                heapq.heappush(self._prices, (price, used_up))
        if self._free:
            return self._with_whole(self._free[0], [], queue)
        while self._prices:
            price, node_id = heapq.heappop(self._prices)
            chosen = self._chosen(node_id) if node_id in self._on_node else []
            if not chosen or not self._selection.may_begin(chosen):
                continue
            now = self._selection.price(chosen)
            if now > price:  # others have been asked back since
                heapq.heappush(self._prices, (now, node_id))
                continue
            self._selection.take_all(chosen, queue)
            self._free.append(node_id)  # there may be room for more than one, and it has a new price afterwards
            return self._with_whole(node_id, chosen, queue)
        return None

    def _with_whole(
        self, node_id: NodeId, chosen: list[Candidate], queue: str
    ) -> tuple[NodeId, list[Candidate], bool] | None:
        """A node has room; the whole has it too, or what has to go for that."""
        size, selection = self._size, self._selection
        is_held = not self._is_simple(chosen)
        if size.fits_in(selection.capacity.free):
            return node_id, chosen, is_held
        of_whole = selection.among(selection.ordered, size, selection.capacity.free, self._frees_the_whole)
        if not of_whole or not selection.may_begin(of_whole):
            return None
        selection.take_all(of_whole, queue)
        return node_id, [*chosen, *of_whole], is_held

    def _frees_the_whole(self, one: Candidate) -> bool:
        """Not where a node lends less than is held there, or is not to be used: what goes there is nobody's gain."""
        free = self._on_node.get(one.node_id, BELOW_NOTHING) if one.node_id is not None else NONE
        return NONE.fits_in(free) and self._may_go(one)

    def _price(self, node_id: NodeId) -> Price | None:
        chosen = self._chosen(node_id)
        return self._selection.price(chosen) if chosen else None

    def _chosen(self, node_id: NodeId) -> list[Candidate]:
        """Choose, without a hold, only one as large as what is wanted: who is served next gets its room whole."""
        on_node, selection = self._on_node[node_id], self._selection
        chosen = selection.among(selection.on(node_id), self._size, on_node, self._may_go)
        if self._may_hold or self._is_simple(chosen):
            return chosen
        large = [one for one in selection.on(node_id) if self._size.fits_in(one.size)]
        return selection.among(large, self._size, on_node, self._may_go)

    def _is_simple(self, chosen: Sequence[Candidate]) -> bool:
        return not chosen or (len(chosen) == 1 and self._size.fits_in(chosen[0].size))


def lowers(size: Resource, lack: Resource) -> bool:
    """One type that is lacking is enough (conservative-drf is false)."""
    if (lack.memory_mib > 0 and size.memory_mib > 0) or (lack.vcores > 0 and size.vcores > 0):
        return True
    extras = dict(lack.extras)
    return any(value > 0 and extras.get(name, 0) > 0 for name, value in size.extras)


def _needed(chosen: list[Candidate], size: Resource, free: Resource) -> list[Candidate]:
    """Return the chosen without those that the last of them made needless."""
    for one in chosen[-2::-1]:
        if size.fits_in(free - one.size):
            chosen.remove(one)
            free -= one.size
    return chosen
