"""Defines the inputs and results of a decision.  Pure data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from yodel.domain.allocation.backoffs import Backoffs, FailureStreak, Tried
from yodel.domain.allocation.figures import Figures
from yodel.domain.allocation.holds import NodeReservation, Short, Wait
from yodel.domain.allocation.locality import LocalityDelays
from yodel.domain.allocation.outcomes import Outcome
from yodel.domain.allocation.places import Places
from yodel.domain.ask_book import AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.queues.queue import ROOT
from yodel.domain.resource import NONE, Resource
from yodel.domain.waiting import AllWaiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Increase:
    """A container that is to become larger where it is."""

    container_id: ContainerId
    node_id: NodeId
    target: Resource
    extra: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Describes an attempt's pending requests and its containers in progress."""

    attempt_id: ApplicationAttemptId
    priority: int
    submitted_ms: int
    queue: str = ROOT
    user: str = ""
    held_mib: int = 0
    """Memory of its containers, by which a fair queue serves."""
    am_capability: Resource | None = None
    """Set while the AM's own container has not been planned."""
    am_placement: Placement = Placement()
    wishes: Sequence[Wish] = ()
    in_flight: Mapping[AskKey, int] = field(default_factory=dict)
    avoid: tuple[str, ...] = ()
    increases: Sequence[Increase] = ()
    waited_s: Mapping[AskKey, float] = field(default_factory=dict)
    """How long a wish has waited for the places it prefers; one that is not named has waited long enough."""
    most: Resource | None = None
    """The most that a container may be, as the attempt was told: no ask is rounded up over it."""
    may_have_rules: bool = True
    """Kubernetes' scheduler chooses the nodes, so it may keep what it can of the constraints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Describes the capacity of a pool.

    ``in_flight`` counts pods that are planned and not bound; ``am_used`` is used by AMs; ``free_on`` is free on the
    nodes of containers to enlarge.  Without ``places`` only amounts are compared.  ``pool`` names the pool in
    explanations; empty: the ordinary capacity of a cluster, whose exhaustion needs no name.
    """

    total: Resource
    used: Resource
    am_used: Resource = NONE
    in_flight: int = 0
    free_on: Mapping[NodeId, Resource] = field(default_factory=dict)
    places: Places | None = None
    pool: str = ""
    holds: Sequence[NodeReservation] = ()
    """Nodes of the pool that are held; the ledger has them too."""
    avoided: Mapping[Wait, frozenset[NodeId]] = field(default_factory=dict)
    """Nodes on which Kubernetes did not place a wish, or that were held for it in vain."""
    backoffs: Backoffs | None = None
    """Wishes that Kubernetes found no node for, and ``now_s`` of the monotonic clock."""
    now_s: float = 0.0

    def backing_off(self, demand: Demand, size: Resource, placement: Placement) -> FailureStreak | None:
        """None: it may be tried."""
        if self.backoffs is None or not self.backoffs.is_any:
            return None
        return self.backoffs.waits(Tried.of(demand.attempt_id.application_id, size, placement), self.now_s)

    def is_backing_off(self, demand: Demand, size: Resource, placement: Placement) -> bool:
        return self.backing_off(demand, size, placement) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLimits:
    """``am_share`` is the part of the cluster AMs may hold (yarn.scheduler.capacity.maximum-am-resource-percent)."""

    minimum: Resource = Resource(1024, 1)
    maximum: Resource = Resource(8192, 4)
    maximum_follows_nodes: bool = True
    """No container may be larger than what some node has."""
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
    is_held: bool = False
    """It goes to the node that is held for it."""


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
        return f"Cannot be placed: {self.count} of {self.capability.with_units} ({what}): {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    """The AM wants fewer of this key than are in flight."""

    attempt_id: ApplicationAttemptId
    key: AskKey
    count: int


class Blocked(NamedTuple):
    """A size that limits, or the pool's room, kept from a user of a leaf."""

    user: str
    size: Resource
    is_am: bool


@dataclass(slots=True)
class Looked:
    """Collects the findings of a decision about one leaf queue."""

    planned: int = 0
    """Containers that begin or become larger."""
    blocked: set[Blocked] = field(default_factory=set)
    short: dict[Wait, Short] = field(default_factory=dict)
    """Wishes for more than the least container that room was missing for, in the order they are served: the first few.
    """
    has_changed: bool = False
    """Something else is in the way of a wish: places, constraints, a node of its own."""
    as_told: set[ApplicationAttemptId] = field(default_factory=set)
    """Applications that wait as the last look found them, which were not gone through again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    plans: tuple[Plan, ...]
    take_backs: tuple[TakeBack, ...]
    increases: tuple[Increase, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    again_in_s: float = inf
    """When patience with a wish's locality ends: look again then."""
    active: Mapping[str, Collection[str]] = field(default_factory=dict)
    """By leaf, the users that want something."""
    waiting: AllWaiting = field(default_factory=dict)
    """By attempt, all that was wanted and not planned."""
    figures: Mapping[str, Figures] = field(default_factory=dict, compare=False)
    """By pool, what was gone by: of this is told what is in the way."""
    outcomes: tuple[Outcome, ...] = ()
    """The outcome of every wish of the attempts that are watched, in the order they were served."""
    heard: Collection[ApplicationAttemptId] | None = None
    """Attempts of which ``waiting`` tells; None: of all there are."""
    looked: Mapping[str, Looked] = field(default_factory=dict, compare=False)
    """By leaf, those that the decision went through."""
    is_cut: bool = False
    """It was long enough: not all leaves had their turn."""
