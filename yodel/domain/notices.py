"""A notice says that a container is to go, when and why.  Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from yodel.domain.ids import NodeId


class NoticeReason(StrEnum):
    """Why a container is to go, as people read it."""

    QUEUE = "queue"
    """Its queue gives back to another, or within itself."""
    WINDOW = "window"
    """Its queue holds more than the maximum of an open window."""
    LOAN = "loan"
    """Its node lends less than is held there."""
    DRAIN = "node drains"
    """Its node is being decommissioned, or is cordoned."""
    EMERGENCY = "emergency"
    """Its node agent ends it, as the node runs out of memory."""


class Teller(StrEnum):
    """Names who gives notices, each replacing only its own."""

    QUEUES = "queues"
    LOANS = "loans"
    DECOMMISSION = "decommission"
    AGENTS = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionNotice:
    """Seconds are of the monotonic clock.  ``why`` says it in words; ``deadline_s`` infinite: nobody ends it."""

    node_id: NodeId
    reason: NoticeReason
    why: str
    given_s: float
    deadline_s: float = inf
    is_master: bool = False
    for_queue: str = ""
    """Who gets its room."""
    claim: int = 0
    """Of giving back; 0: it goes by itself."""
    chosen_s: float = 0.0
    """Of giving back: when a round chose it last."""
    is_resting: bool = False
    """No round chooses it any more: it stays as things are, and where it is chosen again its time goes on."""
