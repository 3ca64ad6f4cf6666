"""One watch of the Kubernetes nodes for all who look at them."""

from __future__ import annotations

from collections.abc import Sequence

from yodel.ports.kube_nodes import NodeObservation, NodeSink


class NodeSinks:
    """Tells each of ``sinks`` in turn."""

    def __init__(self, *sinks: NodeSink) -> None:
        self._sinks = sinks

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        for sink in self._sinks:
            sink.nodes_listed(nodes)

    def node_seen(self, node: NodeObservation) -> None:
        for sink in self._sinks:
            sink.node_seen(node)

    def node_gone(self, node: NodeObservation) -> None:
        for sink in self._sinks:
            sink.node_gone(node)
