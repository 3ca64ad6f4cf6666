"""Holds messages for an ApplicationMaster, and those of the last answer, which the next call acknowledges.

It is in memory only: what is not acknowledged is in the rows, and a restart puts it here again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from yodel.domain.container_update import UpdateError
from yodel.domain.ids import ContainerId, NodeId

CHANGED_NODES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class RejectedAsk:
    """A SchedulingRequest, as it came, that is given back: for its constraint, or because nothing has room for it."""

    message: bytes
    is_for_constraint: bool


@dataclass(slots=True)
class AttemptOutbox:
    """Changed by its own methods only: news is put in as it comes about, and taken out for an answer."""

    granted: list[ContainerId] = field(default_factory=list)
    """Offered until an answer hands them over, or they are withdrawn."""
    updates_delivered: dict[ContainerId, int] = field(default_factory=dict)
    """Versions in the last answer."""
    _completed: list[ContainerId] = field(default_factory=list)
    _delivered: list[ContainerId] = field(default_factory=list)
    _changed_nodes: dict[NodeId, None] = field(default_factory=dict)
    _updated: dict[ContainerId, None] = field(default_factory=dict)
    _update_errors: list[UpdateError] = field(default_factory=list)
    _rejected: list[RejectedAsk] = field(default_factory=list)
    _preempted: dict[ContainerId, None] = field(default_factory=dict)

    @classmethod
    def of(cls, completed: Iterable[ContainerId], updated: Iterable[ContainerId] = ()) -> AttemptOutbox:
        """Return the outbox of an attempt that begins, or is found: ends and new sizes that were not acknowledged."""
        return cls(_completed=list(completed), _updated=dict.fromkeys(updated))

    @property
    def has_news(self) -> bool:
        """Something beside grants is to be told."""
        return bool(
            self._completed
            or self._changed_nodes
            or self._updated
            or self._update_errors
            or self._rejected
            or self._preempted
        )

    # --- what comes about ------------------------------------------------------------------------------------------

    def grant(self, container_id: ContainerId) -> None:
        self.granted.append(container_id)

    def withdraw(self, container_id: ContainerId) -> None:
        if container_id in self.granted:
            self.granted.remove(container_id)

    def withdraw_all(self) -> None:
        self.granted.clear()

    def complete(self, container_id: ContainerId, *, is_taken_over: bool) -> None:
        """An attempt that was just made has collected already what its predecessor did not hear of."""
        if not is_taken_over or container_id not in self._completed:
            self._completed.append(container_id)
        self._updated.pop(container_id, None)
        self._preempted.pop(container_id, None)

    def preempt(self, container_id: ContainerId) -> None:
        """It is to be given back; told once (FiCaSchedulerApp.getAllocation)."""
        self._preempted[container_id] = None

    def resized(self, container_id: ContainerId) -> None:
        self._updated.setdefault(container_id)

    def not_resized(self, error: UpdateError) -> None:
        self._update_errors.append(error)

    def node_changed(self, node_id: NodeId) -> None:
        """Beyond CHANGED_NODES_MAX nodes it is not told."""
        if len(self._changed_nodes) < CHANGED_NODES_MAX:
            self._changed_nodes[node_id] = None

    def reject(self, ask: RejectedAsk) -> None:
        self._rejected.append(ask)

    # --- what an answer takes --------------------------------------------------------------------------------------

    def handed_over(self, container_ids: Collection[ContainerId]) -> None:
        """They were offered for an answer, whatever became of them: they are not offered again."""
        gone = set(container_ids)
        self.granted = [container_id for container_id in self.granted if container_id not in gone]

    def take_completed(self) -> list[ContainerId]:
        self._delivered, self._completed = self._completed, []
        return self._delivered

    def take_delivered(self) -> list[ContainerId]:
        """Take the completions of the last answer, which the next call acknowledges."""
        taken, self._delivered = self._delivered, []
        return taken

    def take_changed_nodes(self) -> list[NodeId]:
        taken, self._changed_nodes = list(self._changed_nodes), {}
        return taken

    def take_updated(self) -> list[ContainerId]:
        taken, self._updated = list(self._updated), {}
        return taken

    def told_versions(self, versions: Mapping[ContainerId, int]) -> None:
        """Record the new sizes that the answer contains."""
        self.updates_delivered = dict(versions)

    def take_update_errors(self) -> list[UpdateError]:
        taken, self._update_errors = self._update_errors, []
        return taken

    def take_preempted(self, but: Collection[ContainerId]) -> list[ContainerId]:
        """Take the preempted without those that the ApplicationMaster does not know yet: offered still, or handed over
        in this answer (``but``).  They are told in a later one."""
        unknown = {*but, *self.granted}
        taken = [container_id for container_id in self._preempted if container_id not in unknown]
        self._preempted = {container_id: None for container_id in self._preempted if container_id in unknown}
        return taken

    def take_rejected(self) -> list[RejectedAsk]:
        taken, self._rejected = self._rejected, []
        return taken
