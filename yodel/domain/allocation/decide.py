"""One tick's decision: which containers to plan, which planned ones to take back.  Pure: a snapshot in, plans out.

The queue that has least of its guarantee is served next (``turns``), and in it the application that its ordering policy
names; the ``UsageLedger`` says what limits leave.  What is decided is *how much*; the Kubernetes scheduler decides the
node. A plan is made only while the cluster's usable capacity is not yet given away, so pods that cannot run do not pile
up, and an application that does not fit does not hold up one that does.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from yodel.domain.allocation.constrained import spots_within
from yodel.domain.allocation.demands import (
    AllocationLimits,
    Blocked,
    Capacity,
    Decision,
    Demand,
    Increase,
    Looked,
    Misfit,
    Plan,
)
from yodel.domain.allocation.figures import Figures
from yodel.domain.allocation.holds import Short, Wait
from yodel.domain.allocation.leaf import Leaf
from yodel.domain.allocation.locality import Patience, Spots, spots_near
from yodel.domain.allocation.orders import PlanRequest, alike, is_anywhere, take_backs
from yodel.domain.allocation.outcomes import Hurdle, Outcome
from yodel.domain.allocation.purse import Purse
from yodel.domain.allocation.turns import AT_ONCE_MAX, LeafTurns, QueueOrder, ServingOrder, is_served
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import ROOT
from yodel.domain.queues.shares import QueueShares
from yodel.domain.resource import NONE, Resource, rounded_up
from yodel.domain.waiting import (
    WAITS_FOR_NEIGHBOURS,
    WAITS_FOR_PLACES,
    Hindrance,
    Unserved,
    Unserveds,
    backing_off,
    in_pieces,
)

SHORTS_MAX = 8
"""Wishes of a leaf that may be held a node for: the first that limits let is."""


def decide(
    demands: Sequence[Demand],
    capacity: Capacity,
    limits: AllocationLimits,
    watched: Container[ApplicationAttemptId] = (),
    ledger: UsageLedger | None = None,
) -> Decision:
    """One tick.  Never plans beyond the capacity, the in-flight limit, the per-tick limit and what the ledger leaves.

    What became of the wishes of ``watched`` attempts is told.  Without a ledger all applications stand in one line.
    """
    if ledger is None:
        ledger = in_one_line(capacity, limits)
        demands = [replace(demand, queue=ROOT) for demand in demands]
    leaves: dict[str, Leaf] = {}
    for demand in demands:
        if is_served(demand):
            leaves.setdefault(demand.queue, Leaf()).put(demand.attempt_id, demand)
    active = {path: {demand.user for demand in leaf.demands.values()} for path, leaf in leaves.items()}
    ledger.use_active(active)
    may_grow = any(demand.increases for demand in demands)
    found = decide_leaves(leaves, capacity, limits, ledger, watched=watched, may_grow=may_grow)
    return replace(found, take_backs=tuple(take_backs(demands)), active=active)


def decide_leaves(
    leaves: Mapping[str, Leaf],
    capacity: Capacity,
    limits: AllocationLimits,
    ledger: UsageLedger,
    *,
    watched: Container[ApplicationAttemptId] = (),
    order: QueueOrder | None = None,
    heads_max: float = inf,
    may_grow: bool = True,
) -> Decision:
    """One tick of these leaves, each with the applications that want something there; none of their users is missing
    in the ledger.

    Nothing is said of a leaf that ``is_told`` and that no turn comes to, nor of its ``settled`` applications if they
    wait as before.  After ``heads_max`` wishes the other leaves wait for the next decision.  ``may_grow`` False: none
    asks for larger containers.  ``order`` is that of the last decision, and is brought up to date.
    """
    tick = _Tick(capacity, limits, watched, ledger, leaves)
    tick.serve_holds()
    turns = LeafTurns(ledger, leaves, order if order is not None else QueueOrder())
    is_cut = not (
        _take_turns(tick, turns, limits, heads_max, may_grow=may_grow)
        and _tell_the_rest(tick, turns, leaves, heads_max)
    )
    for path in turns.under_way:
        tick.looked.pop(path, None)
    tick.serve_postponed()
    return Decision(
        plans=tuple(tick.plans),
        take_backs=(),
        increases=tuple(tick.increases),
        misfits=tuple(tick.misfits),
        again_in_s=tick.patience.again_in_s,
        outcomes=tuple(tick.outcomes.values()),
        waiting=tick.unserved.waiting,
        figures={capacity.pool: tick.figures},
        looked=tick.looked,
        is_cut=is_cut,
    )


def _take_turns(tick: _Tick, turns: LeafTurns, limits: AllocationLimits, heads_max: float, *, may_grow: bool) -> bool:
    """Plans, leaf by leaf in their turns, until nothing more can be.  False: cut short after ``heads_max`` wishes."""
    while (may_grow or not tick.is_spent) and (line := turns.next_line()) is not None:
        if tick.heads >= heads_max and line.path not in tick.looked:
            return False
        demand, wish = line.head
        before = tick.given
        if wish is None:
            tick.serve_first(demand)
            line.advance()
        elif not tick.passes(line, demand, wish):
            size = rounded_up(wish.key.capability, limits.minimum, demand.most)
            is_over = tick.serve(demand, wish, line.at_most(size, turns))
            line.served((tick.given - before) * size.memory_mib, is_over=is_over)
        if tick.given != before or line.is_done:
            turns.served(line)
    return True


def _tell_the_rest(tick: _Tick, turns: LeafTurns, leaves: Mapping[str, Leaf], heads_max: float) -> bool:
    """Nothing more can be planned; why is told of what is left, in whatever order.  False: of some it is not."""
    for path in turns.waiting:
        if leaves[path].is_told and path not in tick.looked:
            continue
        if tick.heads >= heads_max:
            return False
        line = turns.line(path)
        while not line.is_done:
            demand, wish = line.head
            if wish is None:
                tick.serve_first(demand)
            elif tick.passes(line, demand, wish):
                continue
            else:
                tick.serve(demand, wish, AT_ONCE_MAX)
            line.advance()
    return True


def in_one_line(capacity: Capacity, limits: AllocationLimits) -> UsageLedger:
    """A ledger that knows of no queues: the cluster's room and one share of AMs limit."""
    use = _Use(capacity.used, capacity.am_used)
    tree = QueueShares.of_one(capacity.total)
    return UsageLedger(tree, {ROOT: use}, {}, minimum=limits.minimum, am_share=limits.am_share)


@dataclass(frozen=True, slots=True)
class _Use:
    resource: Resource
    am_resource: Resource
    masters: int = 0


class _Tick:
    """Collects the results of one decision."""

    def __init__(
        self,
        capacity: Capacity,
        limits: AllocationLimits,
        watched: Container[ApplicationAttemptId],
        ledger: UsageLedger,
        leaves: Mapping[str, Leaf],
    ) -> None:
        self._leaves = leaves
        self._given: set[ApplicationAttemptId] = set()
        """Applications that something was planned for."""
        self._purse, self._places, self._watched = Purse(capacity, limits), capacity.places, watched
        self._limits, self._ledger, self._capacity = limits, ledger, capacity
        self._begun: dict[ApplicationAttemptId, PlanRequest] = {}
        """By application, the request that is planned in part: the next one it is served."""
        self.outcomes: dict[tuple[ApplicationAttemptId, AskKey | None], Outcome] = {}
        self.unserved = Unserveds(capacity.pool)
        self.patience = Patience(limits.delays)
        self.plans: list[Plan] = []
        self.increases: list[Increase] = []
        self.misfits: list[Misfit] = []
        self.looked: dict[str, Looked] = {}
        self.heads = 0
        """Turns that wishes had."""
        self._from_holds: set[Wait] = set()
        """Wishes of which one container goes to the node that is held for it."""
        self._postponed: list[PlanRequest] = []
        self._in_vain: dict[tuple[str, str, Resource, str], Resource] = {}
        """Wishes for any place that limits or room left nothing for, by queue, user, size and label, each with the
        size as it is taken; until something is given."""

    @property
    def given(self) -> int:
        """Containers that begin or become larger."""
        return len(self.plans) + len(self.increases)

    @property
    def is_spent(self) -> bool:
        """Not even the least container can be planned."""
        return self._purse.pods_left <= 0 or not self._limits.minimum.fits_in(self._purse.free)

    def serve_holds(self) -> None:
        """Serve first the containers that fit on the nodes reserved for them: they were first when that began."""
        for hold in self._capacity.holds:
            places, short = self._places, hold.short
            if hold.container_id is not None or places is None or self._purse.pods_left <= 0:
                continue
            if not short.size.fits_in(places.held_free(hold.node_id)):
                continue
            self._give_back(short, hold.counted)
            is_am = short.key is None
            if is_am:
                is_let = self._ledger.why_no_am(short.queue, short.user, short.size) is None
            else:
                is_let = self._ledger.count(short.queue, short.user, short.size, 1) > 0
            if not is_let or self._purse.pay(short.size) is not Hurdle.NONE:
                self._give_back(short, NONE - hold.counted)
                continue
            self._ledger.take(short.queue, short.user, short.size, is_am=is_am)
            self._from_holds.add(short.wait)
            self.plans.append(
                Plan(
                    attempt_id=short.attempt_id,
                    key=short.key,
                    capability=short.size,
                    placement=replace(short.placement, nodes=(hold.node_id.host,)),
                    tags=short.tags,
                    is_held=True,
                )
            )

    def _give_back(self, short: Short, amount: Resource) -> None:
        self._purse.give_back(amount)
        self._ledger.take(short.queue, short.user, NONE - amount)

    def _note_short(
        self, looked: Looked, demand: Demand, key: AskKey | None, size: Resource, placement: Placement
    ) -> None:
        """Note what is short of capacity, an ApplicationMaster if ``key`` is None.  Nothing is smaller than the least
        container, so nothing comes before it."""
        if len(looked.short) < SHORTS_MAX and not size.fits_in(self._limits.minimum):
            short = Short(
                attempt_id=demand.attempt_id,
                key=key,
                queue=demand.queue,
                user=demand.user,
                size=size,
                placement=placement,
            )
            looked.short[short.wait] = short

    def serve_first(self, demand: Demand) -> None:
        """The AM, or larger containers: before all wishes."""
        looked = self._look(demand)
        if demand.am_capability is not None:
            self._serve_am(demand, demand.am_capability)
            return
        for increase in demand.increases:
            if self._ledger.why_not(demand.queue, demand.user, increase.extra) is not None:
                self._leave(demand, increase.container_id, 1, increase.extra)
            elif self._purse.pay_for_more(increase):
                self._ledger.take(demand.queue, demand.user, increase.extra)
                self.increases.append(increase)
                looked.planned += 1
                self._in_vain.clear()
            else:
                has_room = increase.extra.fits_in(self._purse.free)
                own = self._full_node(increase) if has_room else None
                self._leave(demand, increase.container_id, 1, increase.extra, own)

    def _look(self, demand: Demand) -> Looked:
        self.heads += 1
        found = self.looked.get(demand.queue)
        if found is None:
            found = self.looked[demand.queue] = Looked()
        return found

    def passes(self, line: ServingOrder, demand: Demand, wish: Wish) -> bool:
        """Go past the head of a line, with all requests of an application whose requests are all alike, if an equal one
        failed and nothing was allocated since, so that they must wait too.  False: it may be served.

        The equal one is among those that the leaf is blocked by.  Nothing is told of an application that waits as at
        the last look.
        """
        if not self._in_vain or not is_anywhere(demand, wish):
            return False
        attempt_id, size = demand.attempt_id, self._in_vain.get(alike(demand, wish))
        if size is None or attempt_id in self._watched or attempt_id in self._begun:
            return False
        looked, leaf = self._look(demand), self._leaves[demand.queue]
        if attempt_id in leaf.settled and attempt_id not in self._given and not self._from_holds:
            looked.as_told.add(attempt_id)
            self._note_short(looked, demand, wish.key, size, wish.placement)
            line.leave()
            return True
        if attempt_id in leaf.uniform:
            wishes = line.leave()
            self.heads += len(wishes) - 1
        else:
            wishes = [wish]
            line.advance()
        pending = [(one, count) for one in wishes if (count := self._count(demand, one)) > 0]
        for one, _ in pending[:SHORTS_MAX]:
            self._note_short(looked, demand, one.key, size, one.placement)
        if pending:
            unserved = [Unserved(one.key, count, size) for one, count in pending]
            self.unserved.add(attempt_id, demand.queue, demand.user, unserved)
        return True

    def _count(self, demand: Demand, wish: Wish) -> int:
        """Containers of a wish that are still to be planned."""
        count = wish.number
        if demand.in_flight:
            count -= demand.in_flight.get(wish.key, 0)
        if self._from_holds:
            count -= (demand.attempt_id, wish.key) in self._from_holds
        return count

    def serve(self, demand: Demand, wish: Wish, at_most: int) -> bool:
        """Plan so many of a wish.  True when it has had its turn: whole, or nothing more can be done for it."""
        looked = self._look(demand)
        order = self._begun.pop(demand.attempt_id, None)
        if order is None:
            capability = rounded_up(wish.key.capability, self._limits.minimum, demand.most)
            order = PlanRequest(demand, wish, capability, self._count(demand, wish))
        before, wanted = order.planned, min(order.left, at_most)
        waits = self._capacity.backing_off(demand, order.capability, order.placement)
        if waits is not None and order.left > 0:
            order.own = backing_off(waits.said, order.capability)
            self._conclude(order, Spots())
            return True
        spots = self._plan(order, wanted)
        if order.planned > before:
            looked.planned += order.planned - before
            self._in_vain.clear()
        # Who got all that limits let may get more: a user's limit grows with what his queue holds.
        if order.left > 0 and order.planned - before == order.allowed > 0:
            self._begun[demand.attempt_id] = order
            return False
        if spots.is_constraint:
            self._postponed.append(order)
            return True
        if spots.why_none:
            self.misfits.append(order.misfit(spots))
        self._conclude(order, spots)
        return True

    def serve_postponed(self) -> None:
        """Retry the requests that a constraint prevented, as long as a pass allocates some."""
        waiting = self._postponed
        while waiting:
            results = [(order, self._plan(order, order.left)) for order in waiting]
            still = [(order, spots) for order, spots in results if spots.is_constraint]
            is_over = len(still) == len(waiting)
            for order, spots in results:
                if is_over or not spots.is_constraint:
                    self._conclude(order, spots)
            if is_over:
                self.misfits += [order.misfit(spots) for order, spots in still]
                return
            waiting = [order for order, _ in still]

    def _serve_am(self, demand: Demand, capability: Resource) -> None:
        attempt_id, placement = demand.attempt_id, demand.am_placement
        never = self._places.never(placement, capability) if self._places is not None else None
        own = None
        if never is not None:
            own, text = Hindrance(never.hurdle, capability, said=never.text), never.text
            self.misfits.append(Misfit(attempt_id=attempt_id, key=None, count=1, capability=capability, reason=text))
        if (attempt_id, None) in self._from_holds:
            return
        waits = self._capacity.backing_off(demand, capability, placement)
        if waits is not None:
            own = own or backing_off(waits.said, capability)
        is_planned = own is None and self._pay_for_am(demand, capability)
        if is_planned:
            self.plans.append(Plan(attempt_id=attempt_id, key=None, capability=capability, placement=placement))
            self.looked[demand.queue].planned += 1
            self._in_vain.clear()
        else:
            own = own or self._in_pieces_of_am(demand, capability)
            self._leave(demand, None, 1, capability, own)
            is_in_pieces = own is not None and own.hurdle is Hurdle.PIECES
            is_short = is_in_pieces or (own is None and not capability.fits_in(self._purse.free))
            if is_short:
                self._note_short(self.looked[demand.queue], demand, None, capability, placement)
        if attempt_id in self._watched:
            hurdle, reason = self._told(demand, None if is_planned else Unserved(None, 1, capability, own))
            self.outcomes[attempt_id, None] = Outcome(
                attempt_id=attempt_id,
                key=None,
                wanted=1,
                planned=1 if is_planned else 0,
                capability=capability,
                placement=placement,
                hurdle=hurdle,
                free=self._purse.free,
                reason=reason,
            )

    def _pay_for_am(self, demand: Demand, capability: Resource) -> bool:
        if self._ledger.why_no_am(demand.queue, demand.user, capability) is not None:
            return False
        if self._purse.pods_left <= 0 or not capability.fits_in(self._purse.free):
            return False
        if self._places is not None and not self._takes_piece(
            (demand.attempt_id, None), demand.am_placement, capability
        ):
            return False
        self._purse.pay(capability)
        self._ledger.take(demand.queue, demand.user, capability, is_am=True)
        return True

    def _takes_piece(self, wait: Wait, placement: Placement, capability: Resource) -> bool:
        assert self._places is not None
        return self._places.take_piece(placement, capability, self._capacity.avoided.get(wait, frozenset()))

    def _in_pieces_of_am(self, demand: Demand, capability: Resource) -> Hindrance | None:
        """There is room for an ApplicationMaster that limits let, but on no node."""
        if self._places is None or self._purse.pods_left <= 0 or not capability.fits_in(self._purse.free):
            return None
        if self._ledger.why_no_am(demand.queue, demand.user, capability) is not None:
            return None
        return in_pieces(capability)

    @property
    def figures(self) -> Figures:
        """Return the figures of this moment."""
        capacity, purse = self._capacity, self._purse
        return Figures(
            ledger=self._ledger,
            total=capacity.total,
            free=purse.free,
            pool=capacity.pool,
            pods=capacity.in_flight + len(self.plans),
            pods_max=self._limits.in_flight_max,
            are_pods_left=purse.pods_left > 0,
            held=tuple(hold for hold in capacity.holds if hold.wait not in self._from_holds),
        )

    def _leave(
        self,
        demand: Demand,
        what: AskKey | ContainerId | None,
        number: int,
        size: Resource,
        own: Hindrance | None = None,
    ) -> None:
        self.unserved.add(demand.attempt_id, demand.queue, demand.user, [Unserved(what, number, size, own)])
        looked = self.looked[demand.queue]
        if own is not None or isinstance(what, ContainerId):
            looked.has_changed = True
        else:
            looked.blocked.add(Blocked(demand.user, size, what is None))

    def _full_node(self, increase: Increase) -> Hindrance:
        free = self._capacity.free_on.get(increase.node_id, NONE)
        figures = f"free {free.with_units}; requested {increase.extra.with_units} more"
        text = f"Node {increase.node_id} has too little free capacity: {figures}."
        return Hindrance(Hurdle.OWN_NODE, increase.extra, said=text)

    def _conclude(self, order: PlanRequest, spots: Spots) -> None:
        """Keep what is left, with what is in its way apart from limits; tell it where somebody asked."""
        demand, key, own = order.demand, order.wish.key, None
        if order.left > 0:
            own = self._own_hindrance(order, spots)
            self._leave(demand, key, order.left, order.capability, own)
            # No node is reserved for one that a constraint prevents.
            if (own is None or order.is_in_pieces) and order.wish.request is None:
                self._note_short(self.looked[demand.queue], demand, key, order.capability, order.placement)
            if own is None and not order.planned and is_anywhere(demand, order.wish):
                self._in_vain[alike(demand, order.wish)] = order.capability
        if demand.attempt_id in self._watched:
            unserved = Unserved(key, order.left, order.capability, own) if order.left > 0 else None
            hurdle, reason = self._told(demand, unserved)
            self.outcomes[demand.attempt_id, key] = Outcome(
                attempt_id=demand.attempt_id,
                key=key,
                wanted=order.count,
                planned=order.planned,
                capability=order.capability,
                placement=order.placement,
                hurdle=hurdle,
                free=self._purse.free,
                reason=reason,
                request=order.wish.request,
            )

    def _told(self, demand: Demand, unserved: Unserved | None) -> tuple[Hurdle, str]:
        """Return the hurdle for scheduler activities: the limit of pods before others, free capacity of the pool after
        them."""
        if unserved is None:
            return Hurdle.NONE, ""
        chain = self.figures.chain(demand.queue, demand.user, unserved)
        told = [one for one in chain if one.hurdle is not Hurdle.ROOM]
        if not told:
            return Hurdle.ROOM, ""
        if told[-1].hurdle is Hurdle.PODS:
            return Hurdle.PODS, ""
        return told[0].hurdle, told[0].figures or told[0].reason

    def _own_hindrance(self, order: PlanRequest, spots: Spots) -> Hindrance | None:
        size = order.capability
        if order.own is not None:
            return order.own
        if spots.is_constraint:
            return Hindrance(Hurdle.CONSTRAINT, size, said=spots.why_none)
        if spots.why_none:
            never = self._places.never(order.placement, size) if self._places is not None else None
            return Hindrance(never.hurdle if never is not None else Hurdle.NODES, size, said=spots.why_none)
        if not order.allowed or self._purse.pods_left <= 0 or not size.fits_in(self._purse.free):
            return None
        if order.is_in_pieces:
            return in_pieces(size)
        if order.wish.request is None:
            return Hindrance(Hurdle.LOCALITY, size, said=WAITS_FOR_PLACES)
        return Hindrance(Hurdle.NEIGHBOURS, size, said=WAITS_FOR_NEIGHBOURS)

    def _plan(self, order: PlanRequest, wanted: int) -> Spots:
        demand, request = order.demand, order.wish.request
        order.is_in_pieces = False
        if wanted > 0 and self._is_short(order):
            return self._never(order)
        allowed = order.allowed = self._ledger.count(demand.queue, demand.user, order.capability, wanted)
        spots = self._spots(order, allowed) if allowed or wanted <= 0 else self._never(order)
        in_one_piece = self._places is not None and request is None and not spots.is_local
        for placement in spots.placements:
            if self._purse.pods_left <= 0 or not order.capability.fits_in(self._purse.free):
                break
            if in_one_piece:
                wait = (demand.attempt_id, order.wish.key)
                order.is_in_pieces = not self._takes_piece(wait, placement, order.capability)
                if order.is_in_pieces:
                    break
            self._purse.pay(order.capability)
            self._ledger.take(demand.queue, demand.user, order.capability)
            order.planned += 1
            self._given.add(demand.attempt_id)
            self.plans.append(
                Plan(
                    attempt_id=demand.attempt_id,
                    key=order.wish.key,
                    capability=order.capability,
                    placement=placement,
                    tags=request.tags if request is not None else (),
                    is_local=spots.is_local,
                )
            )
        return spots

    def _is_short(self, order: PlanRequest) -> bool:
        """Return True if only the pool's free capacity counts, wherever the container goes, and is too little."""
        has_room = order.capability.fits_in(self._purse.free)
        return not has_room and self._purse.pods_left > 0 and is_anywhere(order.demand, order.wish)

    def _never(self, order: PlanRequest) -> Spots:
        """No spot, for a limit or the pool stands in the way; what no node can ever take is told all the same."""
        if self._places is None:
            return Spots()
        return Spots(why_none=self._places.why_never(order.placement, order.capability))

    def _spots(self, order: PlanRequest, wanted: int) -> Spots:
        demand, request, places = order.demand, order.wish.request, self._places
        count = min(wanted, self._purse.pods_left)
        if places is None or count <= 0:
            return Spots.anywhere(order.placement, count)
        if request is None:
            waited_s = demand.waited_s.get(order.wish.key, inf)
            return spots_near(order.placement, order.capability, places, self.patience, waited_s, count)
        return spots_within(
            request,
            order.placement,
            order.capability,
            places,
            demand.attempt_id.application_id,
            count,
            may_have_rules=demand.may_have_rules,
        )
