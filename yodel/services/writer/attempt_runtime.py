"""An ApplicationMaster's dialogue, in memory only.

It is not on disk by design: after a restart an ApplicationMaster is told to register again and says anew what it wants
(work-preserving restart).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.domain.ask_book import AskBook, AskKey
from yodel.domain.constraints import Constraint
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.services.writer.outbox import Outbox


@dataclass(slots=True)
class AttemptRuntime:
    """A registered (or expected) ApplicationMaster's dialogue.  Times are monotonic seconds."""

    attempt_id: ApplicationAttemptId
    last_seen_s: float
    is_registered: bool = False
    response_id: int = 0
    last_response: object = None
    asks: AskBook = field(default_factory=AskBook)
    blacklist: set[str] = field(default_factory=set)
    in_flight: dict[AskKey, set[ContainerId]] = field(default_factory=dict)
    outbox: Outbox = field(default_factory=Outbox)
    nm_tokens_sent: dict[NodeId, int] = field(default_factory=dict)
    """Nodes it has a token for, with the id of the master key that signed it."""
    increases: dict[ContainerId, Resource] = field(default_factory=dict)
    """Sizes asked for that nothing was decided about."""
    constraints: dict[str, Constraint] = field(default_factory=dict)
    """By allocation tag, as registered."""
    waits_since_s: dict[AskKey, float] = field(default_factory=dict)
    """Since when wishes wait for the places they prefer."""
    progress: float = 0.0

    def take_off(self, key: AskKey, container_id: ContainerId) -> None:
        """The container is not in flight any more."""
        ids = self.in_flight.get(key)
        if ids is not None:
            ids.discard(container_id)
            if not ids:
                del self.in_flight[key]
