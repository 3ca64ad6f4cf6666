"""What is in the way of what waits, by name, and what would change it: for people and programs that ask.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.waiting import Hindrance


class What(StrEnum):
    """In the words of YARN where it has one.  The last five are of the view: of pods that were made, of who is served
    before, and of containers that others are to give back."""

    QUEUE_MAX_CAPACITY = "QUEUE_MAX_CAPACITY"
    WINDOW = "WINDOW"
    USER_LIMIT = "USER_LIMIT"
    QUEUE_AM_LIMIT = "QUEUE_AM_LIMIT"
    USER_AM_LIMIT = "USER_AM_LIMIT"
    PARALLEL_APPLICATIONS = "PARALLEL_APPLICATIONS"
    POOL_FULL = "POOL_FULL"
    IN_PIECES = "IN_PIECES"
    HELD = "HELD"
    PODS_UNDER_WAY = "PODS_UNDER_WAY"
    NO_NODE = "NO_NODE"
    NODE_TOO_SMALL = "NODE_TOO_SMALL"
    NODE_LABEL = "NODE_LABEL"
    STRICT_LOCALITY = "STRICT_LOCALITY"
    BLACKLIST = "BLACKLIST"
    PLACEMENT_CONSTRAINT = "PLACEMENT_CONSTRAINT"
    NEIGHBOURS = "NEIGHBOURS"
    LOCALITY_DELAY = "LOCALITY_DELAY"
    NODE_FULL = "NODE_FULL"
    TURN = "TURN"
    UNSCHEDULABLE = "UNSCHEDULABLE"
    STARTING = "STARTING"
    PRIORITY = "PRIORITY"
    QUEUE_PRIORITY = "QUEUE_PRIORITY"
    PREEMPTION = "PREEMPTION"


_WHAT: Mapping[Hurdle, What] = {
    Hurdle.QUEUE_LIMIT: What.QUEUE_MAX_CAPACITY,
    Hurdle.WINDOW: What.WINDOW,
    Hurdle.USER_LIMIT: What.USER_LIMIT,
    Hurdle.PARALLEL: What.PARALLEL_APPLICATIONS,
    Hurdle.ROOM: What.POOL_FULL,
    Hurdle.PIECES: What.IN_PIECES,
    Hurdle.HELD: What.HELD,
    Hurdle.PODS: What.PODS_UNDER_WAY,
    Hurdle.NODES: What.NO_NODE,
    Hurdle.SIZE: What.NODE_TOO_SMALL,
    Hurdle.LABEL: What.NODE_LABEL,
    Hurdle.PLACES: What.STRICT_LOCALITY,
    Hurdle.BLACKLIST: What.BLACKLIST,
    Hurdle.CONSTRAINT: What.PLACEMENT_CONSTRAINT,
    Hurdle.NEIGHBOURS: What.NEIGHBOURS,
    Hurdle.LOCALITY: What.LOCALITY_DELAY,
    Hurdle.OWN_NODE: What.NODE_FULL,
    Hurdle.BACKOFF: What.UNSCHEDULABLE,
    Hurdle.TURN: What.TURN,
}
_CHANGES: Mapping[What, str] = {
    What.POOL_FULL: "containers finish, nodes offer more capacity, or a node joins.",
    What.IN_PIECES: "enough containers on a single node finish.",
    What.HELD: "the reservation on that node is used or dropped.",
    What.PODS_UNDER_WAY: "Kubernetes finds nodes for them, or in_flight_max is raised.",
    What.NO_NODE: "a node agent registers, or its node becomes schedulable again (yodel node list).",
    What.NODE_TOO_SMALL: "the application requests smaller containers, or a larger node joins.",
    What.NODE_LABEL: (
        "a node gets the label, or the application requests another one (yarn cluster --list-node-labels)."
    ),
    What.STRICT_LOCALITY: "one of these nodes joins, or the application relaxes locality (relaxLocality).",
    What.BLACKLIST: "the ApplicationMaster removes a node from its blacklist, or another node joins.",
    What.PLACEMENT_CONSTRAINT: "containers with these tags start or finish, or a node joins.",
    What.NEIGHBOURS: "the pods that the constraint refers to are scheduled, or their nodes have free capacity.",
    What.LOCALITY_DELAY: (
        "the requested hosts or racks have free capacity, or the delay is over (node_locality_delay_s)."
    ),
    What.NODE_FULL: "containers on that node finish: a container can only grow on its own node.",
    What.TURN: "the next scheduling cycle (within a second).",
    What.UNSCHEDULABLE: "the Kubernetes scheduler finds a node (kubectl describe pod shows its reason).",
    What.STARTING: "its pod is scheduled and the node agent has launched it.",
    What.PRIORITY: "their requests are allocated, or the priority is raised (yarn application -updatePriority).",
    What.PREEMPTION: "they finish, or their preemption deadline passes.",
}


def what_of(hindrance: Hindrance) -> What:
    if hindrance.hurdle is Hurdle.AM_SHARE:
        return What.USER_AM_LIMIT if hindrance.user else What.QUEUE_AM_LIMIT
    return _WHAT[hindrance.hurdle]


def change_of(what: What, path: str = "", user: str = "") -> str:
    """Return what would have to happen, to be read after "until"."""
    match what:
        case What.QUEUE_MAX_CAPACITY:
            return f"containers of {path} finish, or its maximum-capacity is raised (yodel queue set {path} …)."
        case What.WINDOW:
            return f"the window ends, or it is changed (yodel queue window list {path})."
        case What.USER_LIMIT:
            return (
                f"containers of {user} in {path} finish, or its user-limit-factor is raised (yodel queue set {path} …)."
            )
        case What.QUEUE_AM_LIMIT:
            return (
                f"an application in {path} finishes, or the queue's maximum-am-resource-percent is raised (yodel queue "
                "set "
                f"{path} …)."
            )
        case What.USER_AM_LIMIT:
            return (
                f"an application of {user} in {path} finishes, or its user-limit-factor or maximum-am-resource-percent "
                "is "
                f"raised (yodel queue set {path} …)."
            )
        case What.QUEUE_PRIORITY:
            return f"their requests are allocated, or the priority of {path} is raised (yodel queue set {path} …)."
        case What.PARALLEL_APPLICATIONS:
            return f"an application in {path} finishes, or its max-parallel-apps is raised (yodel queue set {path} …)."
        case _:
            return _CHANGES[what]
