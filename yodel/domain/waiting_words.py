"""Names the reasons why a request is pending, and what would unblock it, for commands, pages and ``/api/v1``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.waiting import Hindrance


class Cause(StrEnum):
    """Names a reason why a request is pending, in the words of YARN or Kubernetes.

    The last five are found by the view, not by the scheduler: the state of created pods, requests that are served
    first, and containers of others that will be preempted.
    """

    QUEUE_MAX_CAPACITY = "QUEUE_MAX_CAPACITY"
    WINDOW = "WINDOW"
    USER_LIMIT = "USER_LIMIT"
    QUEUE_AM_LIMIT = "QUEUE_AM_LIMIT"
    USER_AM_LIMIT = "USER_AM_LIMIT"
    PARALLEL_APPLICATIONS = "PARALLEL_APPLICATIONS"
    POOL_FULL = "POOL_FULL"
    FRAGMENTED = "FRAGMENTED"
    NODE_RESERVED = "NODE_RESERVED"
    UNSCHEDULED_PODS_LIMIT = "UNSCHEDULED_PODS_LIMIT"
    NO_NODE = "NO_NODE"
    NODE_TOO_SMALL = "NODE_TOO_SMALL"
    NODE_LABEL = "NODE_LABEL"
    STRICT_LOCALITY = "STRICT_LOCALITY"
    BLACKLIST = "BLACKLIST"
    PLACEMENT_CONSTRAINT = "PLACEMENT_CONSTRAINT"
    AFFINITY = "AFFINITY"
    LOCALITY_DELAY = "LOCALITY_DELAY"
    NODE_FULL = "NODE_FULL"
    NEXT_CYCLE = "NEXT_CYCLE"
    UNSCHEDULABLE = "UNSCHEDULABLE"
    SCHEDULING = "SCHEDULING"
    PRIORITY = "PRIORITY"
    QUEUE_PRIORITY = "QUEUE_PRIORITY"
    PREEMPTION = "PREEMPTION"


_CAUSES: Mapping[Hurdle, Cause] = {
    Hurdle.QUEUE_LIMIT: Cause.QUEUE_MAX_CAPACITY,
    Hurdle.WINDOW: Cause.WINDOW,
    Hurdle.USER_LIMIT: Cause.USER_LIMIT,
    Hurdle.PARALLEL: Cause.PARALLEL_APPLICATIONS,
    Hurdle.ROOM: Cause.POOL_FULL,
    Hurdle.PIECES: Cause.FRAGMENTED,
    Hurdle.HELD: Cause.NODE_RESERVED,
    Hurdle.PODS: Cause.UNSCHEDULED_PODS_LIMIT,
    Hurdle.NODES: Cause.NO_NODE,
    Hurdle.SIZE: Cause.NODE_TOO_SMALL,
    Hurdle.LABEL: Cause.NODE_LABEL,
    Hurdle.PLACES: Cause.STRICT_LOCALITY,
    Hurdle.BLACKLIST: Cause.BLACKLIST,
    Hurdle.CONSTRAINT: Cause.PLACEMENT_CONSTRAINT,
    Hurdle.NEIGHBOURS: Cause.AFFINITY,
    Hurdle.LOCALITY: Cause.LOCALITY_DELAY,
    Hurdle.OWN_NODE: Cause.NODE_FULL,
    Hurdle.BACKOFF: Cause.UNSCHEDULABLE,
    Hurdle.TURN: Cause.NEXT_CYCLE,
}
_CHANGES: Mapping[Cause, str] = {
    Cause.POOL_FULL: "containers finish, nodes offer more capacity, or a node joins.",
    Cause.FRAGMENTED: "enough containers on a single node finish.",
    Cause.NODE_RESERVED: "the reservation on that node is used or dropped.",
    Cause.UNSCHEDULED_PODS_LIMIT: "Kubernetes finds nodes for them, or in_flight_max is raised.",
    Cause.NO_NODE: "a node agent registers, or its node becomes schedulable again (yodel node list).",
    Cause.NODE_TOO_SMALL: "the application requests smaller containers, or a larger node joins.",
    Cause.NODE_LABEL: (
        "a node gets the label, or the application requests another one (yarn cluster --list-node-labels)."
    ),
    Cause.STRICT_LOCALITY: "one of these nodes joins, or the application relaxes locality (relaxLocality).",
    Cause.BLACKLIST: "the ApplicationMaster removes a node from its blacklist, or another node joins.",
    Cause.PLACEMENT_CONSTRAINT: "containers with these tags start or finish, or a node joins.",
    Cause.AFFINITY: "the pods that the constraint refers to are scheduled, or their nodes have free capacity.",
    Cause.LOCALITY_DELAY: (
        "the requested hosts or racks have free capacity, or the delay is over (node_locality_delay_s)."
    ),
    Cause.NODE_FULL: "containers on that node finish: a container can only grow on its own node.",
    Cause.NEXT_CYCLE: "the next scheduling cycle (within a second).",
    Cause.UNSCHEDULABLE: "the Kubernetes scheduler finds a node (kubectl describe pod shows its reason).",
    Cause.SCHEDULING: "its pod is scheduled and the node agent has launched it.",
    Cause.PRIORITY: "their requests are allocated, or the priority is raised (yarn application -updatePriority).",
    Cause.PREEMPTION: "they finish, or their preemption deadline passes.",
}


def cause_of(hindrance: Hindrance) -> Cause:
    """Return the cause that the API and the commands show for a hindrance."""
    if hindrance.hurdle is Hurdle.AM_SHARE:
        return Cause.USER_AM_LIMIT if hindrance.user else Cause.QUEUE_AM_LIMIT
    return _CAUSES[hindrance.hurdle]


def change_of(cause: Cause, path: str = "", user: str = "") -> str:
    """Return the text of what would unblock the request, without "unblocks when"."""
    match cause:
        case Cause.QUEUE_MAX_CAPACITY:
            return f"containers of {path} finish, or its maximum-capacity is raised (yodel queue set {path} …)."
        case Cause.WINDOW:
            return f"the window ends, or it is changed (yodel queue window list {path})."
        case Cause.USER_LIMIT:
            return (
                f"containers of {user} in {path} finish, or its user-limit-factor is raised (yodel queue set {path} …)."
            )
        case Cause.QUEUE_AM_LIMIT:
            return (
                f"an application in {path} finishes, or the queue's maximum-am-resource-percent is raised (yodel queue "
                "set "
                f"{path} …)."
            )
        case Cause.USER_AM_LIMIT:
            return (
                f"an application of {user} in {path} finishes, or its user-limit-factor or maximum-am-resource-percent "
                "is "
                f"raised (yodel queue set {path} …)."
            )
        case Cause.QUEUE_PRIORITY:
            return f"their requests are allocated, or the priority of {path} is raised (yodel queue set {path} …)."
        case Cause.PARALLEL_APPLICATIONS:
            return f"an application in {path} finishes, or its max-parallel-apps is raised (yodel queue set {path} …)."
        case _:
            return _CHANGES[cause]
