"""One tick's decision: which containers to plan, which planned ones to take back.  Pure: a snapshot in, plans out.

Applications are served first in, first out, higher priority first.  What is decided is *how much*; the Kubernetes
scheduler decides the node.  A plan is made only while the cluster's usable capacity is not yet given away, so pods that
cannot run do not pile up, and an application that does not fit does not hold up one that does.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from yodel.domain.allocation.constrained import spots_within
from yodel.domain.allocation.locality import LocalityDelays, Patience, Spots, spots_near
from yodel.domain.allocation.outcomes import Hurdle, Outcome
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.resource import NONE, Resource, rounded_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Increase:
    """A container that is to become larger where it is."""

    container_id: ContainerId
    node_id: NodeId
    target: Resource
    extra: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one attempt wants and has under way."""

    attempt_id: ApplicationAttemptId
    priority: int
    submitted_ms: int
    am_capability: Resource | None = None
    """Set while the AM's own container has not been planned."""
    am_placement: Placement = Placement()
    wishes: Sequence[Wish] = ()
    in_flight: Mapping[AskKey, int] = field(default_factory=dict)
    avoid: tuple[str, ...] = ()
    increases: Sequence[Increase] = ()
    waited_s: Mapping[AskKey, float] = field(default_factory=dict)
    """How long a wish has waited for the places it prefers; one that is not named has waited long enough."""
    may_have_rules: bool = True
    """Kubernetes' scheduler chooses the nodes, so it may keep what it can of the constraints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What there is.  ``in_flight`` counts pods that are planned and not bound; ``am_used`` is held by AMs;
    ``free_on`` is what is left on the nodes of containers that are to become larger.  Without ``places`` nothing is
    looked at but amounts."""

    total: Resource
    used: Resource
    am_used: Resource = NONE
    in_flight: int = 0
    free_on: Mapping[NodeId, Resource] = field(default_factory=dict)
    places: Places | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLimits:
    """``am_share`` is the part of the cluster AMs may hold (yarn.scheduler.capacity.maximum-am-resource-percent)."""

    minimum: Resource = Resource(1024, 1)
    maximum: Resource = Resource(8192, 4)
    am_share: float = 0.5
    in_flight_max: int = 1000
    per_tick_max: int = 200
    delays: LocalityDelays = field(default_factory=LocalityDelays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Create one container.  ``key`` is None for the attempt's AM."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    capability: Resource
    placement: Placement = Placement()
    tags: tuple[str, ...] = ()
    is_local: bool = False
    """It was planned for a place that was asked for, before the patience for it was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """A wish that no node can serve as things are.  ``key`` is None for the attempt's AM; ``is_constraint`` when only
    its placement constraint is in the way."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    count: int
    capability: Resource
    reason: str
    is_constraint: bool = False

    def __str__(self) -> str:
        what = "the ApplicationMaster" if self.key is None else f"priority {self.key.priority}"
        return f"Cannot be placed: {self.count} of {self.capability} ({what}): {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    """The AM wants fewer of this key than are in flight."""

    attempt_id: ApplicationAttemptId
    key: AskKey
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    plans: tuple[Plan, ...]
    take_backs: tuple[TakeBack, ...]
    increases: tuple[Increase, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    again_in_s: float = inf
    """When patience with a wish's locality ends: look again then."""
    outcomes: tuple[Outcome, ...] = ()
    """Of every wish of the attempts that are watched, in the order they were served."""


def decide(
    demands: Sequence[Demand],
    capacity: Capacity,
    limits: AllocationLimits,
    watched: Container[ApplicationAttemptId] = (),
) -> Decision:
    """One tick.  Never plans beyond the capacity, the in-flight limit and the per-tick limit.

    What became of the wishes of ``watched`` attempts is told.
    """
    tick = _Tick(capacity, limits, watched)
    for demand in sorted(demands, key=lambda d: (-d.priority, d.submitted_ms, d.attempt_id)):
        if demand.am_capability is not None:
            tick.serve_am(demand, demand.am_capability)
            continue
        tick.increase(demand)
        for wish in demand.wishes:
            count = wish.count - demand.in_flight.get(wish.key, 0)
            if count > 0:
                tick.serve(_Order(demand, wish, rounded_up(wish.key.capability, limits.minimum), count))
    tick.serve_postponed()
    return Decision(
        plans=tuple(tick.plans),
        take_backs=tuple(_take_backs(demands)),
        increases=tuple(tick.increases),
        misfits=tuple(tick.misfits),
        again_in_s=tick.patience.again_in_s,
        outcomes=tuple(tick.outcomes.values()),
    )


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be planned of one wish."""

    demand: Demand
    wish: Wish
    capability: Resource
    count: int

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


class _Tick:
    """What one decision has made so far."""

    def __init__(self, capacity: Capacity, limits: AllocationLimits, watched: Container[ApplicationAttemptId]) -> None:
        self._purse, self._places, self._watched = _Purse(capacity, limits), capacity.places, watched
        self.outcomes: dict[tuple[ApplicationAttemptId, AskKey | None], Outcome] = {}
        self.patience = Patience(limits.delays)
        self.plans: list[Plan] = []
        self.increases: list[Increase] = []
        self.misfits: list[Misfit] = []
        self._postponed: list[_Order] = []

    def serve_am(self, demand: Demand, capability: Resource) -> None:
        attempt_id, placement = demand.attempt_id, demand.am_placement
        reason = self._places.why_never(placement, capability) if self._places is not None else ""
        if reason:
            self.misfits.append(Misfit(attempt_id=attempt_id, key=None, count=1, capability=capability, reason=reason))
            hurdle = Hurdle.NODES
        else:
            hurdle = self._purse.pay_for_am(capability)
        if hurdle is Hurdle.NONE:
            self.plans.append(Plan(attempt_id=attempt_id, key=None, capability=capability, placement=placement))
        if attempt_id in self._watched:
            self._tell_of_am(demand, capability, hurdle, reason)

    def increase(self, demand: Demand) -> None:
        self.increases += [increase for increase in demand.increases if self._purse.pay_for_more(increase)]

    def serve(self, order: _Order) -> None:
        spots = self._plan(order)
        if spots.is_constraint:
            self._postponed.append(order)
        elif spots.why_none:
            self.misfits.append(order.misfit(spots))

    def serve_postponed(self) -> None:
        """What a constraint stood in the way of may have got its neighbour since: once more, as long as that helps."""
        waiting = self._postponed
        while waiting:
            results = [(order, self._plan(order)) for order in waiting]
            still = [(order, spots) for order, spots in results if spots.is_constraint]
            if len(still) == len(waiting):
                self.misfits += [order.misfit(spots) for order, spots in still]
                return
            waiting = [order for order, _ in still]

    def _tell_of_am(self, demand: Demand, capability: Resource, hurdle: Hurdle, reason: str) -> None:
        self.outcomes[demand.attempt_id, None] = Outcome(
            attempt_id=demand.attempt_id,
            key=None,
            wanted=1,
            planned=1 if hurdle is Hurdle.NONE else 0,
            capability=capability,
            placement=demand.am_placement,
            hurdle=hurdle,
            free=self._purse.free,
            reason=self._purse.am_share if hurdle is Hurdle.AM_SHARE else reason,
        )

    def _tell(self, order: _Order, spots: Spots, planned: int) -> None:
        if planned >= order.count:
            hurdle = Hurdle.NONE
        elif spots.why_none:
            hurdle = Hurdle.CONSTRAINT if spots.is_constraint else Hurdle.NODES
        elif self._purse.pods_left <= 0:
            hurdle = Hurdle.PODS
        elif planned < len(spots.placements):
            hurdle = Hurdle.ROOM
        else:
            hurdle = Hurdle.LOCALITY if order.wish.request is None else Hurdle.NEIGHBOURS
        self.outcomes[order.demand.attempt_id, order.wish.key] = Outcome(
            attempt_id=order.demand.attempt_id,
            key=order.wish.key,
            wanted=order.count,
            planned=planned,
            capability=order.capability,
            placement=order.placement,
            hurdle=hurdle,
            free=self._purse.free,
            reason=spots.why_none,
            request=order.wish.request,
        )

    def _plan(self, order: _Order) -> Spots:
        spots = self._spots(order)
        request, planned_before = order.wish.request, len(self.plans)
        for placement in spots.placements:
            if not self._purse.pay(order.capability):
                break
            self.plans.append(
                Plan(
                    attempt_id=order.demand.attempt_id,
                    key=order.wish.key,
                    capability=order.capability,
                    placement=placement,
                    tags=request.tags if request is not None else (),
                    is_local=spots.is_local,
                )
            )
        if order.demand.attempt_id in self._watched:
            self._tell(order, spots, len(self.plans) - planned_before)
        return spots

    def _spots(self, order: _Order) -> Spots:
        demand, request, places = order.demand, order.wish.request, self._places
        count = min(order.count, self._purse.pods_left)
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


def _take_backs(demands: Sequence[Demand]) -> list[TakeBack]:
    found = []
    for demand in demands:
        wanted = {wish.key: wish.count for wish in demand.wishes}
        for key, count in demand.in_flight.items():
            excess = count - wanted.get(key, 0)
            if excess > 0:
                found.append(TakeBack(attempt_id=demand.attempt_id, key=key, count=excess))
    return found


class _Purse:
    """What is left to give in this tick."""

    def __init__(self, capacity: Capacity, limits: AllocationLimits) -> None:
        self._free = capacity.total - capacity.used
        self._free_on = dict(capacity.free_on)
        self._am_used = _memory_and_cores(capacity.am_used)
        self._am_limit = Resource(
            int(capacity.total.memory_mib * limits.am_share), int(capacity.total.vcores * limits.am_share)
        )
        self._pods_left = min(limits.per_tick_max, max(0, limits.in_flight_max - capacity.in_flight))

    @property
    def pods_left(self) -> int:
        """Pods that may still be planned, whatever their size."""
        return self._pods_left

    @property
    def free(self) -> Resource:
        return self._free

    @property
    def am_share(self) -> str:
        """What of the share of AMs is held, in the CapacityScheduler's words."""
        return f"Queue Resource Limit for AM = {self._am_limit}; Queue AM Resource Usage = {self._am_used}"

    def pay(self, capability: Resource) -> bool:
        if self._pods_left <= 0 or not capability.fits_in(self._free):
            return False
        self._free -= capability
        self._pods_left -= 1
        return True

    def pay_for_more(self, increase: Increase) -> bool:
        """An increase needs room in the cluster and on its own node; it makes no pod."""
        on_node = self._free_on.get(increase.node_id, NONE)
        if not increase.extra.fits_in(on_node) or not increase.extra.fits_in(self._free):
            return False
        self._free -= increase.extra
        self._free_on[increase.node_id] = on_node - increase.extra
        return True

    def pay_for_am(self, capability: Resource) -> Hurdle:
        """The first AM may always have what it needs, or nothing would ever start on a small cluster."""
        am_used = self._am_used + _memory_and_cores(capability)
        if self._am_used != NONE and not am_used.fits_in(self._am_limit):
            return Hurdle.AM_SHARE
        if not self.pay(capability):
            return Hurdle.PODS if self._pods_left <= 0 else Hurdle.ROOM
        self._am_used = am_used
        return Hurdle.NONE


def _memory_and_cores(resource: Resource) -> Resource:
    """The share of AMs is of these two only."""
    return Resource(resource.memory_mib, resource.vcores)
