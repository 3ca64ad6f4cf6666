"""Describes the outcome of a wish in one scheduling cycle, and what prevented it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from yodel.domain.ask_book import AskKey, SchedulingAsk
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.resource import Resource


class Hurdle(Enum):
    """Names the obstacle that kept a wish from being planned completely.

    NONE: nothing.  ROOM: the pool's free capacity.  PIECES: no single node has enough.  HELD: nodes reserved for
    others.  QUEUE_LIMIT, WINDOW: the maximum of its queue or of one above, or a window of one of these.  USER_LIMIT,
    AM_SHARE, PARALLEL: the limits of the user, of ApplicationMasters, and of running applications.  PODS: the limit of
    unscheduled pods.  NODES, SIZE, LABEL, PLACES, BLACKLIST: no node at all, none large enough, none with the label,
    none of the required hosts, none outside the blacklist.  CONSTRAINT: the placement constraint.  NEIGHBOURS:
    containers that the constraint counts have no node yet, or no free capacity is next to them.  LOCALITY: the delay
    for its hosts.  OWN_NODE: the node of a container to enlarge.  BACKOFF: Kubernetes found no node for its pods. TURN:
    it is served in the next cycle.
    """

    NONE = "none"
    ROOM = "room"
    PIECES = "pieces"
    HELD = "held"
    QUEUE_LIMIT = "queue limit"
    WINDOW = "window"
    USER_LIMIT = "user limit"
    AM_SHARE = "am share"
    PARALLEL = "parallel applications"
    PODS = "pods"
    NODES = "nodes"
    SIZE = "size"
    LABEL = "label"
    PLACES = "places"
    BLACKLIST = "blacklist"
    CONSTRAINT = "constraint"
    NEIGHBOURS = "neighbours"
    LOCALITY = "locality"
    OWN_NODE = "own node"
    BACKOFF = "back-off"
    TURN = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Describes the outcome of one wish.  ``key`` is None for the attempt's AM; ``free`` is the capacity then left."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    wanted: int
    planned: int
    capability: Resource
    placement: Placement
    hurdle: Hurdle
    free: Resource
    reason: str = ""
    request: SchedulingAsk | None = None
