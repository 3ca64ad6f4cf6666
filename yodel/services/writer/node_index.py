"""Which node agents stand behind Kubernetes' nodes and behind hosts, and how many of them can be used."""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.ids import NodeId
from yodel.domain.node import Node


class NodeIndex:
    """Only ``ClusterState`` changes it.  ``nodes`` are the rows there are."""

    def __init__(self, nodes: Mapping[NodeId, Node]) -> None:
        self._nodes = nodes
        self.usable_count = 0
        """Nodes in state RUNNING: every heartbeat is told, so it is kept, not counted."""
        self._by_kubernetes_name: dict[str, NodeId] = {}
        self._closed_by_kubernetes_name: dict[str, NodeId] = {}
        self._by_host: dict[str, dict[NodeId, None]] = {}

    def put(self, new: Node, old: Node | None) -> None:
        """A row that is new, or takes the place of an older one."""
        self._by_host.setdefault(new.id.host, {})[new.id] = None
        self.usable_count += new.is_usable
        if old is not None:
            self.usable_count -= old.is_usable
            for names in (self._by_kubernetes_name, self._closed_by_kubernetes_name):
                if names.get(old.kubernetes_node_name) == new.id:
                    del names[old.kubernetes_node_name]
        if not new.kubernetes_node_name:
            return
        if new.is_usable:
            self._by_kubernetes_name[new.kubernetes_node_name] = new.id
            self._closed_by_kubernetes_name.pop(new.kubernetes_node_name, None)
        elif new.is_closed and new.kubernetes_node_name not in self._by_kubernetes_name:
            self._closed_by_kubernetes_name[new.kubernetes_node_name] = new.id

    def of_kubernetes(self, name: str) -> Node | None:
        """The registered node agent behind a Kubernetes node."""
        node_id = self._by_kubernetes_name.get(name)
        return self._nodes.get(node_id) if node_id is not None else None

    def of_host(self, host: str) -> Node | None:
        """A node whose agent calls its host so; one that can be used before one that cannot."""
        found = [self._nodes[node_id] for node_id in self._by_host.get(host, ())]
        return max(found, key=lambda node: node.is_usable, default=None)

    @property
    def labels(self) -> frozenset[str]:
        """Labels (partitions) that some node has, in use or not."""
        return frozenset(label for node in self._nodes.values() for label in node.labels)

    @property
    def closed(self) -> frozenset[str]:
        """Kubernetes nodes on which nothing may be placed: leaving, out, or sick."""
        return frozenset(self._closed_by_kubernetes_name)

    def is_closed(self, kubernetes_name: str) -> bool:
        return kubernetes_name in self._closed_by_kubernetes_name
