"""Records the exchange of an ApplicationMaster's heartbeats, in memory only.

It is not on disk by design: after a restart an ApplicationMaster is asked to register again (work-preserving restart).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from yodel.domain.constraints import Constraint
from yodel.domain.ids import NodeId
from yodel.domain.resource import NONE, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Holds the maximum size of a container: ``told`` at the attempt's registration, and ``allowed`` now."""

    told: Resource = NONE
    allowed: Resource = NONE


@dataclass(slots=True)
class Dialogue:
    """Changed by its own methods only.  Times are monotonic seconds."""

    last_seen_s: float
    is_registered: bool = False
    response_id: int = 0
    last_response: object = None
    """For the beat that is repeated."""
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    """By allocation tag, as registered."""
    sizes: Sizes = Sizes()
    """Nothing before it has registered."""
    progress: float = 0.0
    _tokens_sent: dict[NodeId, int] = field(default_factory=dict)
    """Nodes it has a token for, with the id of the master key that signed it."""

    def registered(self, now_s: float, constraints: Mapping[str, Constraint], sizes: Sizes) -> None:
        """It begins again; whoever registers has an empty cache of tokens (clearNodeSetForAttempt)."""
        self.is_registered, self.response_id, self.last_response = True, 0, None
        self.last_seen_s, self.constraints, self.sizes = now_s, constraints, sizes
        self._tokens_sent.clear()

    def found_registered(self) -> None:
        """Record a registration before the ResourceManager's restart, after which it has unregistered."""
        self.is_registered = True

    def heard(self, now_s: float) -> None:
        self.last_seen_s = now_s

    def progressed(self, progress: float) -> None:
        """Keep it within 0 and 1; NaN counts as 0."""
        self.progress = progress if 0.0 <= progress <= 1.0 else float(progress > 1.0)

    def answered(self, response_id: int, response: object) -> None:
        self.response_id, self.last_response = response_id, response

    def tokens_due(self, nodes: Iterable[NodeId], key_id: int) -> list[NodeId]:
        """Return the nodes for which it has no token of this key, each once, and record that it gets them."""
        due = {node_id: key_id for node_id in nodes if self._tokens_sent.get(node_id) != key_id}
        self._tokens_sent.update(due)
        return list(due)

    def token_lost(self, node_id: NodeId) -> None:
        """The node's agent may have lost what it knew of tokens (NMTokenSecretManagerInRM.removeNodeKey)."""
        self._tokens_sent.pop(node_id, None)
