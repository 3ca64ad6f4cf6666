"""Indexes the node agents of Kubernetes' nodes and of hosts, and counts the usable ones.

A Kubernetes node may have several: one that was restarted on another port, one of a machine that was replaced, or one
that should not be there.  The first that registered counts until it leaves or is given up (``services.liveness``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from yodel.domain.ids import NodeId
from yodel.domain.node import Node


class NodeIndex:
    """Only ``ClusterState`` changes it.  ``nodes`` are the rows there are."""

    def __init__(self, nodes: Mapping[NodeId, Node]) -> None:
        self._nodes = nodes
        self.usable_count = 0
        """Nodes in state RUNNING: every heartbeat is told, so it is kept, not counted."""
        self._agents: dict[str, dict[NodeId, None]] = {}
        """Registered agents by Kubernetes' name of their node, in the order in which they registered."""
        self._left: dict[str, NodeId] = {}
        """The agent that closed a node when it left, where none is registered now."""
        self._closed: set[str] = set()
        self._node_managers: set[NodeId] = set()
        self._by_host: dict[str, dict[NodeId, None]] = {}

    def put(self, new: Node, old: Node | None) -> None:
        """A row that is new, or takes the place of an older one."""
        self._by_host.setdefault(new.id.host, {})[new.id] = None
        if new.is_node_manager and new.is_usable:
            self._node_managers.add(new.id)
        else:
            self._node_managers.discard(new.id)
        self.usable_count += new.is_usable - (old is not None and old.is_usable)
        if old is not None and (not new.is_registered or old.kubernetes_node_name != new.kubernetes_node_name):
            self._drop(old)
        name = new.kubernetes_node_name
        if not name:
            return
        if new.is_registered:
            self._agents.setdefault(name, {})[new.id] = None
            self._left.pop(name, None)
        elif new.is_closed and name not in self._agents:
            self._left[name] = new.id
        self._judge(name)

    def _drop(self, old: Node) -> None:
        name = old.kubernetes_node_name
        agents = self._agents.get(name, {})
        agents.pop(old.id, None)
        if not agents:
            self._agents.pop(name, None)
        if self._left.get(name) == old.id:
            del self._left[name]
        self._judge(name)

    def _judge(self, name: str) -> None:
        speaker = self.speaker(name)
        if speaker.is_closed if speaker is not None else name in self._left:
            self._closed.add(name)
        else:
            self._closed.discard(name)

    @property
    def has_node_managers(self) -> bool:
        """Return whether some NodeManager is in use."""
        return bool(self._node_managers)

    def agents_of(self, kubernetes_name: str) -> Collection[NodeId]:
        """Registered agents that say they are on a Kubernetes node, the first to register first."""
        return self._agents.get(kubernetes_name, {}).keys()

    def speaker(self, kubernetes_name: str) -> Node | None:
        """The agent that speaks for a Kubernetes node, well or not: of those registered, the one that was first."""
        node_id = next(iter(self.agents_of(kubernetes_name)), None)
        return self._nodes[node_id] if node_id is not None else None

    def speaks(self, node: Node) -> bool:
        """Return True for the agent that counts for its Kubernetes node; one that names none counts for itself."""
        speaker = self.speaker(node.kubernetes_node_name)
        return not node.kubernetes_node_name or (speaker is not None and speaker.id == node.id)

    def may_not_speak(self, node_id: NodeId, proved_name: str) -> str:
        """Return why an agent, whose token is of the node of this name, may not speak for its node; empty: it may."""
        node = self._nodes.get(node_id)
        name = node.kubernetes_node_name if node is not None else ""
        speaker = self.speaker(name)
        if not name or proved_name != name:
            return f"its node token belongs to {proved_name or 'no node'}, but it reports from {name or 'no node'}"
        if speaker is not None and speaker.id != node_id:
            return another(name, speaker.id)
        return ""

    def of_kubernetes(self, name: str) -> Node | None:
        """The agent behind a Kubernetes node, where it can be given containers."""
        speaker = self.speaker(name)
        return speaker if speaker is not None and speaker.is_usable else None

    def on_host(self, host: str) -> Collection[NodeId]:
        """Agents of which there is a row, that call their host so."""
        return self._by_host.get(host, {}).keys()

    def of_host(self, host: str) -> Node | None:
        """A node whose agent calls its host so; one that can be used before one that cannot."""
        found = [self._nodes[node_id] for node_id in self.on_host(host)]
        return max(found, key=lambda node: node.is_usable, default=None)

    @property
    def labels(self) -> frozenset[str]:
        """Labels (partitions) that some node has, in use or not."""
        return frozenset(label for node in self._nodes.values() for label in node.labels)

    @property
    def closed(self) -> frozenset[str]:
        """Kubernetes nodes on which nothing may be placed: leaving, out, or sick."""
        return frozenset(self._closed)

    def is_closed(self, kubernetes_name: str) -> bool:
        return kubernetes_name in self._closed


def another(kubernetes_name: str, node_id: NodeId) -> str:
    return f"node {kubernetes_name} has another agent, {node_id}, which registered first"
