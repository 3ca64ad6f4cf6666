"""Indexes containers: the live ones, those that ended and are not forgotten, and both by other keys than the id."""

from __future__ import annotations

from collections.abc import Collection

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.resource import NONE
from yodel.domain.states import ContainerState


class ContainerIndex:
    """Only ``ClusterState`` changes it."""

    def __init__(self) -> None:
        self.live: dict[ContainerId, None] = {}
        self.ended: dict[ContainerId, None] = {}
        """Those that are over and not forgotten; ApplicationMasters' own stay as long as their attempts."""
        self.unconfirmed: dict[ContainerId, Container] = {}
        """Live ones with an increase that their node agent has not reported."""
        self.tagged: dict[ContainerId, Container] = {}
        """Live ones with allocation tags."""
        self.planned: dict[ContainerId, Container] = {}
        """Live ones without a node."""
        self._on_node: dict[NodeId, dict[ContainerId, None]] = {}
        self._awaiting: dict[NodeId, dict[ContainerId, None]] = {}
        self._by_pod: dict[str, ContainerId] = {}

    def put(self, new: Container, old: Container | None) -> None:
        """A row that is new, or takes the place of an older one."""
        if old is not None and old.pod != new.pod:  # a NodeManager runs it
            self._leave_pod(old)
        if new.is_live:
            self.live[new.id] = None
            if new.pod:
                self._by_pod[new.pod] = new.id
        else:
            self.live.pop(new.id, None)
            if new.pod:
                self._by_pod.setdefault(new.pod, new.id)
            if not new.is_am:
                self.ended[new.id] = None
        if old is not None:
            self._leave_node(old)
        if new.node_id is not None and (new.is_live or new.awaits_agent):
            there = self._on_node if new.is_live else self._awaiting
            there.setdefault(new.node_id, {})[new.id] = None
        _note(self.planned, new, is_in=new.state is ContainerState.PLANNED)
        _note(self.tagged, new, is_in=bool(new.allocation_tags))
        _note(self.unconfirmed, new, is_in=new.confirmed != NONE)

    def on_node(self, node_id: NodeId) -> Collection[ContainerId]:
        """Live ones."""
        return self._on_node.get(node_id, {}).keys()

    def awaiting(self, node_id: NodeId) -> Collection[ContainerId]:
        """Return the ended containers about which the node's agent has yet to report more."""
        return self._awaiting.get(node_id, {}).keys()

    def _leave_node(self, row: Container) -> None:
        if row.node_id is None:
            return
        for nodes in (self._on_node, self._awaiting):
            there = nodes.get(row.node_id, {})
            there.pop(row.id, None)
            if not there:
                nodes.pop(row.node_id, None)

    def remove(self, row: Container) -> None:
        self._leave_node(row)
        for rows in (self.planned, self.unconfirmed, self.tagged):
            rows.pop(row.id, None)
        for ids in (self.live, self.ended):
            ids.pop(row.id, None)
        self._leave_pod(row)

    def _leave_pod(self, row: Container) -> None:
        if self._by_pod.get(row.pod) == row.id:
            del self._by_pod[row.pod]

    @property
    def planned_count(self) -> int:
        return len(self.planned)

    def of_pod(self, name: str) -> ContainerId | None:
        """The container that has the pod of this name; of several the one that is live, or else the first."""
        return self._by_pod.get(name)


def _note(rows: dict[ContainerId, Container], row: Container, *, is_in: bool) -> None:
    if row.is_live and is_in:
        rows[row.id] = row
    else:
        rows.pop(row.id, None)
