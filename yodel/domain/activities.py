"""Activities tell why applications are not given what they ask for: Hadoop's scheduler activities, with our reasons.

The words are those of ActivityDiagnosticConstant and GenericDiagnosticsCollector where the reason is one that the
CapacityScheduler knows; monitoring matches on them.  What only Kubernetes or this ResourceManager does is said in their
own words.  Unlike Hadoop's, a look is at the whole cluster: one decision is made for all nodes, as in Hadoop's
multi-node placement, so what is said of single nodes stands below the request.  Pure; everything has a maximum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from yodel.domain.allocation.outcomes import Hurdle, Outcome
from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.ask_book import AskKey
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.resource import MEMORY, VCORES, Resource

REQUESTS_MAX = 100
"""Requests told of one application in one look."""
NODES_MAX = 200
"""Nodes told of one request: a look at ten thousand nodes says no more than one at these."""
CONTAINERS_MAX = 20
"""Containers named of one request."""
AM_PRIORITY = 0  # RMAppAttemptImpl.AM_CONTAINER_PRIORITY
ANY_REQUEST = -1
"""Allocation request id of an ask without one."""

NO_DEMAND = "Queue does not need more resource"
APPLICATION_WITHOUT_DEMAND = "Application does not need more resource"
PARTITION_FULL = "Initial check: insufficient resource in partition"
NODE_BLACKLISTED = "Node is blacklisted"
NODE_TOO_SMALL = "Node's total resource is insufficient for request"
NODE_FULL = "Node does not have sufficient resource for request"
NODE_NOT_MATCHING = "Node does not match partition or placement constraints"
NODE_NOT_NAMED = "Node skipped because relax locality is not allowed"
NODE_DELAYED = "Node skipped because of off-switch delay"
AM_LIMIT = "Queue's AM resource limit exceeded. "
REQUEST_WAITS_FOR_PODS = "Request skipped because the limit of unscheduled pods is reached"
REQUEST_WAITS_FOR_PLACES = "Request skipped because it still waits for capacity on its hosts or racks"
REQUEST_WAITS_FOR_NEIGHBOURS = (
    "Request skipped because nodes that satisfy its placement constraint are full, or containers that it counts are "
    "not scheduled yet"
)
UNDER_WAY = "Pod is not scheduled yet"


class ActivityState(Enum):
    """ActivityState of Hadoop, as far as it occurs here."""

    ACCEPTED = "ACCEPTED"
    SKIPPED = "SKIPPED"
    ALLOCATED = "ALLOCATED"


@dataclass(frozen=True, slots=True)
class NodeActivity:
    """A node that could not take the request, and why."""

    node_id: NodeId
    diagnostic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestActivity:
    """One ask of an application.  ``container_ids`` were planned for it in this look."""

    priority: int
    allocation_request_id: int
    state: ActivityState
    diagnostic: str = ""
    nodes: tuple[NodeActivity, ...] = ()
    container_ids: tuple[ContainerId, ...] = ()

    @property
    def name(self) -> str:
        """ActivitiesLogger.getRequestName."""
        return f"request_{self.priority}_{self.allocation_request_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationActivity:
    application_id: ApplicationId
    queue: str
    priority: int
    state: ActivityState
    diagnostic: str = ""
    requests: tuple[RequestActivity, ...] = ()

    @property
    def size(self) -> int:
        """Lines it takes in memory and on the wire, about."""
        return 1 + sum(1 + len(r.nodes) + len(r.container_ids) for r in self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One decision, told.  ``node_ids`` are the nodes looked at when there are few; ``queues`` the leaves by path."""

    at_ms: int
    applications: tuple[ApplicationActivity, ...]
    queues: tuple[str, ...] = ()
    node_ids: tuple[NodeId, ...] = ()

    @property
    def size(self) -> int:
        return 1 + len(self.queues) + sum(a.size for a in self.applications)


def application_activity(
    application_id: ApplicationId,
    queue: str,
    priority: int,
    requests: Sequence[RequestActivity],
) -> ApplicationActivity:
    """Return the activity of an application, with its requests."""
    if not requests:
        state, diagnostic = ActivityState.SKIPPED, APPLICATION_WITHOUT_DEMAND
    elif any(request.state is ActivityState.ALLOCATED for request in requests):
        state, diagnostic = ActivityState.ALLOCATED, ""
    else:
        state, diagnostic = ActivityState.SKIPPED, ""
    return ApplicationActivity(
        application_id=application_id,
        queue=queue,
        priority=priority,
        state=state,
        diagnostic=diagnostic,
        requests=tuple(requests[:REQUESTS_MAX]),
    )


def request_activity(
    outcome: Outcome, places: Places | None, container_ids: Iterable[ContainerId] = ()
) -> RequestActivity:
    """One wish that was looked at."""
    is_whole = outcome.hurdle is Hurdle.NONE
    return RequestActivity(
        priority=outcome.key.priority if outcome.key is not None else AM_PRIORITY,
        allocation_request_id=outcome.key.allocation_request_id if outcome.key is not None else ANY_REQUEST,
        state=ActivityState.ALLOCATED if outcome.planned else ActivityState.SKIPPED,
        diagnostic="" if is_whole else _diagnostic(outcome),
        nodes=() if is_whole or places is None else tuple(_nodes(outcome, places)),
        container_ids=tuple(container_ids)[:CONTAINERS_MAX],
    )


def pods_activity(key: AskKey | None, waits: Sequence[str]) -> RequestActivity:
    """One wish whose containers are all planned and on no node yet: Kubernetes' scheduler says why, if it knows."""
    said = sorted({wait for wait in waits if wait})
    return RequestActivity(
        priority=key.priority if key is not None else AM_PRIORITY,
        allocation_request_id=key.allocation_request_id if key is not None else ANY_REQUEST,
        state=ActivityState.SKIPPED,
        diagnostic="\n".join(said[:CONTAINERS_MAX]) or UNDER_WAY,
    )


def _diagnostic(outcome: Outcome) -> str:
    match outcome.hurdle:
        case Hurdle.ROOM:
            return PARTITION_FULL + _insufficient(outcome.capability, outcome.free)
        case Hurdle.AM_SHARE:
            return f"{AM_LIMIT}Details : AM Resource Request = {outcome.capability}; {outcome.reason}"
        case Hurdle.PODS:
            return REQUEST_WAITS_FOR_PODS
        case Hurdle.LOCALITY:
            return REQUEST_WAITS_FOR_PLACES
        case Hurdle.NEIGHBOURS:
            return REQUEST_WAITS_FOR_NEIGHBOURS
        case _:
            return outcome.reason


def _nodes(outcome: Outcome, places: Places) -> Iterable[NodeActivity]:
    for node in places.nodes[:NODES_MAX]:
        diagnostic = _why_not(node, outcome, places)
        if diagnostic:
            yield NodeActivity(node.id, diagnostic)


def _why_not(node: NodePlace, outcome: Outcome, places: Places) -> str:
    """Return why a node cannot take one, in the order of RegularContainerAllocator; empty: it can."""
    placement, capability = outcome.placement, outcome.capability
    if _is_avoided(node, placement):
        return NODE_BLACKLISTED
    if not places.is_of_partition(node, placement):
        return (
            f"{NODE_NOT_MATCHING}, unsatisfied node partition={node.label}, required-partition={placement.node_label}"
        )
    if placement.is_strict and not node.is_named(placement):
        return NODE_NOT_NAMED
    constraint = outcome.request.constraint if outcome.request is not None else None
    if constraint is not None and not places.satisfies(node, constraint, outcome.attempt_id.application_id):
        return f'{NODE_NOT_MATCHING}, unsatisfied PC expression="{constraint}", target-type=null'
    if not capability.fits_in(node.capability):
        return NODE_TOO_SMALL + _insufficient(capability, node.capability)
    if places.room(node, capability) <= 0:
        return NODE_FULL + _insufficient(capability, places.free(node))
    return NODE_DELAYED if outcome.hurdle is Hurdle.LOCALITY else ""


def _is_avoided(node: NodePlace, placement: Placement) -> bool:
    return not node.names.isdisjoint(placement.avoid) or node.rack in placement.avoid


def _insufficient(wanted: Resource, available: Resource) -> str:
    """GenericDiagnosticsCollector.collectResourceDiagnostics."""
    have = {MEMORY: available.memory_mib, VCORES: available.vcores, **dict(available.extras)}
    want = {MEMORY: wanted.memory_mib, VCORES: wanted.vcores, **dict(wanted.extras)}
    lacking = ", ".join(name for name, amount in want.items() if amount > have.get(name, 0))
    return f", insufficient resources=[{lacking}]\nrequired={wanted}, available={available}"
