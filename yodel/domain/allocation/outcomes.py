"""What became of a wish in a tick's decision, and what was in its way: told for those who ask, kept by nobody here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from yodel.domain.ask_book import AskKey, SchedulingAsk
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.resource import Resource


class Hurdle(Enum):
    """What kept a wish from being planned whole: nothing; the pool's room; that room in one piece; room that is held
    for others; the maximum of its queue or of one above; a window of one of these; its user's limit; the share of AMs;
    as many applications as may run at once; the limit of pods under way; no node at all, none so large, none with the
    label, none of the places it insists on, none that is not on its blacklist; the placement constraint; neighbours
    whose place is not known, or no room beside them; patience with its places; the node of a container that is to
    become larger; that Kubernetes found no node for its pods; nothing any more, its turn comes."""

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
    """Holds what became of one wish in a tick.  ``key`` is None for the attempt's AM; ``free`` is what the cluster had
    left then."""

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
