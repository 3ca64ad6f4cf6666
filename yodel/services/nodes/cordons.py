"""Which Kubernetes nodes are cordoned: a ``NodeSink`` that keeps their names.

A drain is a cordon followed by evictions.  ``Decommission`` makes the cordon a graceful leave, so ApplicationMasters
hear of it before their containers go; the evictions are told by the pods.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from yodel.ports.kube_nodes import NodeObservation
from yodel.translator import node_events
from yodel.translator.node_events import Becomes


class Cordons:
    """Empty before the first listing: until then nobody leaves for a cordon."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def names(self) -> Collection[str]:
        """Of the nodes that are cordoned now."""
        return self._names

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        self._names = {node.name for node in nodes if _leaves(node)}

    def node_seen(self, node: NodeObservation) -> None:
        if _leaves(node):
            self._names.add(node.name)
        else:
            self._names.discard(node.name)

    def node_gone(self, node: NodeObservation) -> None:
        self._names.discard(node.name)


def _leaves(node: NodeObservation) -> bool:
    return node_events.meaning_of(node).becomes is Becomes.LEAVES
