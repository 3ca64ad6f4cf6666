"""One tick's decision: which containers to plan, which planned ones to take back.  Pure: a snapshot in, plans out.

Applications are served first in, first out, higher priority first.  What is decided is *how much*; the Kubernetes
scheduler decides the node.  A plan is made only while the cluster's usable capacity is not yet given away, so pods that
cannot run do not pile up, and an application that does not fit does not hold up one that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    wishes: Sequence[Wish] = ()
    in_flight: Mapping[AskKey, int] = field(default_factory=dict)
    avoid: tuple[str, ...] = ()
    increases: Sequence[Increase] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What there is.  ``in_flight`` counts pods that are planned and not bound; ``am_used`` is held by AMs;
    ``free_on`` is what is left on the nodes of containers that are to become larger."""

    total: Resource
    used: Resource
    am_used: Resource = NONE
    in_flight: int = 0
    free_on: Mapping[NodeId, Resource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLimits:
    """``am_share`` is the part of the cluster AMs may hold (yarn.scheduler.capacity.maximum-am-resource-percent)."""

    minimum: Resource = Resource(1024, 1)
    maximum: Resource = Resource(8192, 4)
    am_share: float = 0.5
    in_flight_max: int = 1000
    per_tick_max: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Create one container.  ``key`` is None for the attempt's AM."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    capability: Resource
    placement: Placement = Placement()


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


def decide(demands: Sequence[Demand], capacity: Capacity, limits: AllocationLimits) -> Decision:
    """One tick.  Never plans beyond the capacity, the in-flight limit and the per-tick limit."""
    purse = _Purse(capacity, limits)
    plans: list[Plan] = []
    increases: list[Increase] = []
    for demand in sorted(demands, key=lambda d: (-d.priority, d.submitted_ms, d.attempt_id)):
        if demand.am_capability is not None:
            if purse.pay_for_am(demand.am_capability):
                plans.append(Plan(attempt_id=demand.attempt_id, key=None, capability=demand.am_capability))
            continue
        increases += [increase for increase in demand.increases if purse.pay_for_more(increase)]
        for wish in demand.wishes:
            plans += _plans_for(demand, wish, purse, limits)
    return Decision(plans=tuple(plans), take_backs=tuple(_take_backs(demands)), increases=tuple(increases))


def _plans_for(demand: Demand, wish: Wish, purse: _Purse, limits: AllocationLimits) -> list[Plan]:
    capability = rounded_up(wish.key.capability, limits.minimum)
    placement = wish.placement
    if demand.avoid:
        placement = Placement(
            hosts=placement.hosts,
            racks=placement.racks,
            is_strict=placement.is_strict,
            avoid=demand.avoid,
            node_label=placement.node_label,
        )
    plans = []
    for _ in range(wish.count - demand.in_flight.get(wish.key, 0)):
        if not purse.pay(capability):
            break
        plans.append(Plan(attempt_id=demand.attempt_id, key=wish.key, capability=capability, placement=placement))
    return plans


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

    def pay_for_am(self, capability: Resource) -> bool:
        """The first AM may always have what it needs, or nothing would ever start on a small cluster."""
        am_used = self._am_used + _memory_and_cores(capability)
        within_share = self._am_used == NONE or am_used.fits_in(self._am_limit)
        if not within_share or not self.pay(capability):
            return False
        self._am_used = am_used
        return True


def _memory_and_cores(resource: Resource) -> Resource:
    """The share of AMs is of these two only."""
    return Resource(resource.memory_mib, resource.vcores)
