"""Holds preemption notices: which container will be stopped, when and why.  Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from yodel.domain.ids import NodeId


class NoticeReason(StrEnum):
    """Lists the reasons for preempting a container, as people read them."""

    QUEUE = "queue"
    """Another queue, or another application of its queue, reclaims its guarantee."""
    WINDOW = "window"
    """Its queue uses more than the maximum of an open window."""
    LENT_CAPACITY = "lent capacity"
    """Its node lends less than its containers use."""
    DRAIN = "node drains"
    """Its node is being decommissioned, or is cordoned."""
    EMERGENCY = "emergency"
    """Its node agent ends it, as the node runs out of memory."""


class Teller(StrEnum):
    """Names the givers of notices; each replaces only its own."""

    QUEUES = "queues"
    LOANS = "loans"
    DECOMMISSION = "decommission"
    AGENTS = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionNotice:
    """Announces that a container will be stopped at ``deadline_s``, in seconds of the monotonic clock.

    ``why`` explains it to people.  With an infinite deadline nothing stops the container.
    """

    node_id: NodeId
    reason: NoticeReason
    why: str
    given_s: float
    deadline_s: float = inf
    is_master: bool = False
    for_queue: str = ""
    """Who gets its room."""
    claim: int = 0
    """The number of the claim for which it is given back; 0: it goes by itself."""
    chosen_s: float = 0.0
    """The moment at which a round chose it last to be given back."""
    is_resting: bool = False
    """No round chooses it any more: it stays as things are, and where it is chosen again its time goes on."""
