"""One round of giving back: what is wanted, what is held, and so which containers go.  Pure.

Follows ProportionalCapacityPreemptionPolicy.editSchedule.  Different from it: a queue above its maximum gives back also
where nobody waits; nothing goes that would not make room on a node where it is wanted; the first container that room
is made for may cost more than total_preemption_per_round and natural_termination_factor allow, since in a small cluster
a tenth is less than one container.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from yodel.domain.allocation.by_pool import PoolPart
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Demand
from yodel.domain.allocation.holds import NodeReservation, Short, Wait
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import Wish
from yodel.domain.container import Placement
from yodel.domain.ids import NodeId
from yodel.domain.preemption.ideal import Branch, assign, trees_of
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.preemption.victims import Candidate, Claim, Ease, Need, ReclaimableCapacity, Victim, VictimSelection
from yodel.domain.queues.ledger import ServingRank, UsageLedger
from yodel.domain.queues.queue import Ordering
from yodel.domain.queues.shares import dominant
from yodel.domain.resource import NONE, Resource, part_of, part_up_of, rounded_up, times_in, total_of

CLAIMS_MAX = 1000
"""The most wishes that one round looks for room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Holds the usage of live containers.  ``used`` are the queues with usage, including parents."""

    used: Set[str]
    candidates: Sequence[Candidate]
    free_on: Mapping[NodeId, Resource]
    """The amount of each node that may be used; negative where it lends less than is held there."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The part, over 0 and at most 1, of what queues hold above an open window's maximum that may go in this round."""
    maxima: Mapping[str, Resource] = field(default_factory=dict)
    """The maxima of queues that have less now because less is lent, until somebody says less."""
    holds: Sequence[NodeReservation] = ()
    """Nodes that are held for one container each, and how many more may be."""
    holds_left: int = 0
    claims: Sequence[Claim] = ()
    """The claims of earlier rounds."""
    without_node: Mapping[str, Resource] = field(default_factory=dict)
    """By queue, parents too, what counts as used and is not: pods that no node was found for, and what is held free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Containers of one size that an application waits for."""

    demand: Demand
    size: Resource
    count: int
    placement: Placement
    wish: Wish | None = None
    """None: its ApplicationMaster."""

    @property
    def short(self) -> Short:
        return Short(
            attempt_id=self.demand.attempt_id,
            key=self.wish.key if self.wish is not None else None,
            queue=self.demand.queue,
            user=self.demand.user,
            size=self.size,
            placement=self.placement,
        )

    @property
    def may_hold(self) -> bool:
        """Return True unless a constraint keeps it: nobody holds a node for that."""
        return self.wish is None or self.wish.request is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """``victims`` go by themselves, those of ``claims`` together."""

    victims: Sequence[Victim]
    claims: Sequence[Claim]

    @property
    def all(self) -> list[Victim]:
        return [*self.victims, *(victim for claim in self.claims for victim in claim.of_queue)]


def victims_of(
    part: PoolPart,
    top: str,
    ledger: UsageLedger,
    held: Held,
    limits: AllocationLimits,
    rules: PreemptionRules,
) -> Chosen:
    """Return the containers of one pool to preempt, in the order they were chosen.

    ``top`` is what stands above its queues in the ledger, the root or what stands for it.  The ledger has who wants
    something as its active users.
    """
    places = part.capacity.places
    assert places is not None, "preemption needs to know the nodes"
    lacking = lacking_of(part.demands, ledger, places, limits, part.capacity.is_backing_off)
    round_ = _Round(lacking, ledger, part.capacity, top, held, rules)
    if rules.is_enabled:
        round_.keep_claims(held.claims)
    round_.bring_back(held.parts)
    if rules.is_enabled:
        round_.serve_queues(lacking)
    if rules.is_enabled and rules.is_intra_queue_enabled:
        round_.serve_priorities(lacking, held.claims)
    return round_.chosen


class _Round:
    def __init__(
        self,
        lacking: Sequence[Lacking],
        ledger: UsageLedger,
        capacity: Capacity,
        top: str,
        held: Held,
        rules: PreemptionRules,
    ) -> None:
        assert capacity.places is not None
        self._ledger, self._places, self._rules = ledger, capacity.places, rules
        self._holds = {hold.wait: hold for hold in held.holds}
        self._holds_left, self._leaves_held = held.holds_left, {hold.queue for hold in held.holds}
        self._lacking = {one.short.wait: one for one in lacking}
        self._claimed: dict[Wait, int] = {}
        self._avoided = capacity.avoided
        self._total, self._maxima = capacity.total, held.maxima
        self._allowed: dict[Placement, tuple[NodeId, ...]] = {}
        pending: dict[str, Resource] = {}
        for one in lacking:
            path = one.demand.queue
            pending[path] = pending.get(path, NONE) + one.size * one.count
        self._root = trees_of(ledger, held.used, pending, held.without_node)[top]
        assign(self._root, self._total)
        self._branches = {branch.path: branch for branch in self._root.all()}
        self._lack = {path: branch.lack for path, branch in self._branches.items()}
        excess = {path: self._excess(branch) for path, branch in self._branches.items() if not branch.below}
        reclaimable = ReclaimableCapacity(
            free=capacity.total - capacity.used,
            on_node=dict(held.free_on),
            excess=excess,
            quota={path: part_up_of(amount, rules.natural_termination_factor) for path, amount in excess.items()},
            round=part_of(self._total, rules.total_per_round),
            masters={path: self._masters_above(path) for path in excess},
        )
        self.selection = VictimSelection(reclaimable, held.candidates)

    def _excess(self, leaf: Branch) -> Resource:
        """Return the reclaimable usage of a leaf: none in the dead zone, unless a maximum is exceeded."""
        above = (self._branches[path] for path in self._ledger.share(leaf.path).path[:-1])
        if any(not (branch.used + branch.without_node).fits_in(self._maximum(branch)) for branch in above):
            return leaf.excess
        ignored = part_of(leaf.guaranteed, 1 + self._rules.max_ignored_over_capacity)
        is_left_alone = dominant(leaf.used, self._total) <= dominant(ignored, self._total)
        return NONE if is_left_alone and leaf.guaranteed.is_any_positive else leaf.excess

    def _maximum(self, branch: Branch) -> Resource:
        """Return the maximum down to which a queue is preempted without a request of others."""
        return self._maxima.get(branch.path, branch.maximum)

    def _masters_above(self, path: str) -> Resource:
        share = self._ledger.share(path)
        allowed = part_of(share.guaranteed, self._ledger.am_part(share))
        return (self._ledger.masters(path) - allowed).at_least_zero()

    def bring_back(self, parts: Mapping[str, float]) -> None:
        """Queues above their maximum, those below before those above them.  What windows lowered goes by their stages,
        also where queues do not give back to others."""
        for branch in reversed(list(self._root.all())):
            above = (branch.used + branch.without_node - self._maximum(branch)).at_least_zero()
            if branch is self._root or above == NONE:
                continue
            leaves = [one for one in branch.all() if not one.below]
            gone = total_of(self.selection.taken_of(leaf.path) for leaf in leaves)
            leaves.sort(key=self._serving_rank, reverse=True)
            over = self._ledger.tree.open_over(branch.path)
            if over is not None:
                wanted = part_up_of(above, parts.get(over[0], 0.0))
                self._close(leaves, (wanted - gone).at_least_zero())
            elif self._rules.is_enabled:
                above = (above - gone).at_least_zero()
                for leaf in leaves:
                    above = self.selection.bring_back(leaf.path, above)

    def _close(self, leaves: Sequence[Branch], above: Resource) -> None:
        """So much has to go, whatever it takes: what leaves hold above their ideals, then others, then masters."""
        for ease in Ease:
            for leaf in leaves:
                above = self.selection.bring_back(leaf.path, above, ease)

    @property
    def chosen(self) -> Chosen:
        claims = self.selection.claims
        claimed = {one.id for claim in claims for one in claim.victims}
        victims = [one for one in self.selection.victims.values() if one.candidate.id not in claimed]
        return Chosen(victims=victims, claims=claims)

    def keep_claims(self, claims: Sequence[Claim]) -> None:
        """Keep the claims whose container is still pending, on its reserved node if it needs one."""
        for claim in claims:
            one = self._wanted(claim)
            if one is not None and not claim.is_within and self._count(one) > 0 and self.selection.keep(claim):
                self._claimed_one(one, claim.node_id if claim.is_held else None)

    def _wanted(self, claim: Claim) -> Lacking | None:
        """Return the request of an earlier round's claim; None: it is not pending, or its node is no longer reserved
        for it."""
        hold = self._holds.get(claim.short.wait)
        is_held = hold is not None and hold.container_id is None and hold.node_id == claim.node_id
        return self._lacking.get(claim.short.wait) if is_held or not claim.is_held else None

    def _keep_within(self, claims: Sequence[Claim]) -> None:
        """Keep the claims of queues that are preempted for their own applications."""
        for claim in claims:
            one = self._wanted(claim) if claim.is_within else None
            if one is None:
                continue
            path = one.demand.queue
            allowed = self._allowed_within(path)
            if one.size.fits_in(allowed):
                self.selection.open_up(path, allowed)
                if self.selection.keep(claim):
                    self._claimed_one(one, claim.node_id if claim.is_held else None)

    def _allowed_within(self, path: str) -> Resource:
        """Return the amount that may still get preemption notices within a queue."""
        allowed = part_of(self._branches[path].guaranteed, self._rules.intra_queue_max_allowable)
        return allowed - self.selection.taken_of(path)

    def _claimed_one(self, one: Lacking, held_node: NodeId | None, number: int = 1) -> None:
        wait = one.short.wait
        self._claimed[wait] = self._claimed.get(wait, 0) + number
        for path in self._way(one):
            self._lack[path] -= one.size * number
        if held_node is not None:
            self._leaves_held.add(one.demand.queue)
            if self._holds.pop(wait, None) is None:
                self._holds_left -= 1
            self.selection.capacity.on_node.pop(held_node, None)

    def _way(self, one: Lacking) -> Sequence[str]:
        return self._ledger.share(one.demand.queue).path[:-1]

    def _count(self, one: Lacking) -> int:
        """Containers of a wish that its queue lacks, and that nobody makes room for yet."""
        count = max((times_in(one.size, self._lack[path]) for path in self._way(one)), default=0)
        return min(count, one.count - self._claimed.get(one.short.wait, 0))

    def serve_queues(self, lacking: Sequence[Lacking]) -> None:
        """Serve requests with a reserved node, then queues in serving order, and in a queue the requests that are
        served first."""
        ordered = sorted(lacking, key=lambda one: (self._serving_rank(self._branches[one.demand.queue]), *_turn(one)))
        held = [one for one in ordered if one.short.wait in self._holds]
        for one in held:
            hold = self._holds[one.short.wait]
            if hold.container_id is None and self._count(one) > 0 and not self.selection.is_full:
                self._serve(one, 1, may_hold=True)
        self._keep_off_held()
        for one in ordered[:CLAIMS_MAX]:
            if self._may_begin_hold(one) and self._count(one) > 0 and not self.selection.is_full:
                self._serve(one, 1, may_hold=True)
            if self._count(one) > 0 and not self.selection.is_full:
                self._serve(one, self._count(one), may_hold=False)

    def _may_begin_hold(self, one: Lacking) -> bool:
        return one.may_hold and self._holds_left > 0 and one.demand.queue not in self._leaves_held

    def _keep_off_held(self) -> None:
        """Remove free capacity of reserved nodes, which is for those requests only."""
        capacity = self.selection.capacity
        for hold in self._holds.values():
            capacity.on_node.pop(hold.node_id, None)
            capacity.free -= hold.counted

    def _serve(self, one: Lacking, count: int, *, may_hold: bool) -> None:
        before = len(self.selection.claims)
        served = self.selection.serve(self._need(one, count, may_hold=may_hold))
        new = self.selection.claims[before:]
        held_node = next((claim.node_id for claim in new if claim.is_held), None)
        if served:
            self._claimed_one(one, held_node, served)

    def serve_priorities(self, lacking: Sequence[Lacking], claims: Sequence[Claim] = ()) -> None:
        """Within a leaf (IntraQueueCandidatesSelector, priority_first)."""
        selection, rules = self.selection, self._rules
        self._keep_within(claims)
        for one in sorted(lacking, key=_turn)[:CLAIMS_MAX]:
            path, priority = one.demand.queue, one.demand.priority
            leaf, queue = self._branches[path], self._ledger.share(path).queue
            if one.wish is None or queue.ordering is not Ordering.FIFO or queue.is_intra_queue_preemption_disabled:
                continue
            threshold = part_of(leaf.guaranteed, rules.intra_queue_minimum_threshold)
            if dominant(leaf.used, self._total) < dominant(threshold, self._total):
                continue
            allowed = self._allowed_within(path)
            count = min(one.count - self._claimed.get(one.short.wait, 0), times_in(one.size, allowed))
            if count > 0 and not selection.is_full:
                selection.open_up(path, allowed)
                before = len(selection.claims)
                may_hold = self._may_begin_hold(one) or one.short.wait in self._holds
                served = selection.serve(self._need(one, count, may_hold=may_hold), _less_urgent(path, priority))
                new = [replace(claim, is_within=True) for claim in selection.claims[before:]]
                selection.claims[before:] = new
                held_node = next((claim.node_id for claim in new if claim.is_held), None)
                if served:
                    self._claimed_one(one, held_node, served)

    def _need(self, one: Lacking, count: int, *, may_hold: bool) -> Need:
        short = one.short
        request = one.wish.request if one.wish is not None else None
        if request is not None and request.constraint is not None:
            own = one.demand.attempt_id.application_id
            found = self._places.satisfying(one.placement, request.constraint, own)
            nodes = tuple(node.id for node in found)
        elif one.placement not in self._allowed:
            nodes = tuple(node.id for node in self._places.allowed(one.placement))
            self._allowed[one.placement] = nodes
        else:
            nodes = self._allowed[one.placement]
        not_these = set(self._avoided.get(short.wait, ()))
        if may_hold:
            not_these |= {hold.node_id for hold in self._holds.values() if hold.wait != short.wait}
        if not_these:
            nodes = tuple(node_id for node_id in nodes if node_id not in not_these)
        return Need(short=short, count=count, nodes=nodes, may_hold=may_hold)

    def _serving_rank(self, branch: Branch) -> ServingRank:
        return self._ledger.serving_rank(branch.path)


def lacking_of(
    demands: Sequence[Demand],
    ledger: UsageLedger,
    places: Places,
    limits: AllocationLimits,
    is_waiting: Callable[[Demand, Resource, Placement], bool] = lambda *_: False,
) -> list[Lacking]:
    """Return the requests that would start if capacity were free: within users' limits, and without those that no node
    can take."""
    found: list[Lacking] = []
    by_user: dict[tuple[str, str], Resource] = {}
    for demand in sorted(demands, key=lambda one: (-one.priority, one.submitted_ms, one.attempt_id)):
        if ledger.tree.near_over(demand.queue) is not None:
            continue
        for size, count, placement, wish in _wanted(demand, limits):
            if places.why_never(placement, size) or is_waiting(demand, size, placement):
                continue
            if wish is None and _is_short_of_masters(ledger, demand, size):
                continue
            taken = by_user.get((demand.queue, demand.user), NONE)
            count = min(count, ledger.count_of_user(demand.queue, demand.user, size, taken))
            if count > 0:
                by_user[demand.queue, demand.user] = taken + size * count
                found.append(Lacking(demand=demand, size=size, count=count, placement=placement, wish=wish))
    return found


def _wanted(demand: Demand, limits: AllocationLimits) -> Iterator[tuple[Resource, int, Placement, Wish | None]]:
    if demand.am_capability is not None:
        yield demand.am_capability, 1, demand.am_placement, None
    for wish in demand.wishes:
        count = wish.number - demand.in_flight.get(wish.key, 0)
        if count > 0:
            placement = replace(wish.placement, avoid=demand.avoid) if demand.avoid else wish.placement
            yield rounded_up(wish.key.capability, limits.minimum, demand.most), count, placement, wish


def _is_short_of_masters(ledger: UsageLedger, demand: Demand, size: Resource) -> bool:
    hindrance = ledger.why_no_am(demand.queue, demand.user, size)
    return hindrance is not None and hindrance.hurdle in (Hurdle.PARALLEL, Hurdle.AM_SHARE)


def _turn(one: Lacking) -> tuple[object, ...]:
    demand = one.demand
    return -demand.priority, demand.submitted_ms, demand.attempt_id


def _less_urgent(path: str, priority: int) -> Callable[[Candidate], bool]:
    return lambda one: one.queue == path and one.priority < priority and not one.is_am
