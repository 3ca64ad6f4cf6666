from __future__ import annotations

from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.cordons import Cordons
from yodel.services.nodes.sinks import NodeSinks


def test_everybody_hears_everything() -> None:
    one, other = Cordons(), Cordons()
    sinks = NodeSinks(one, other)
    nodes = [NodeObservation(name=n, uid="u", resource_version="1", unschedulable=True) for n in ("a", "b", "c")]
    sinks.nodes_listed(nodes[:2])
    sinks.node_seen(nodes[2])
    sinks.node_gone(nodes[0])
    assert set(one.names()) == set(other.names()) == {"b", "c"}
