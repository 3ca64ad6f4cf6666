from __future__ import annotations

from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.cordons import Cordons


def a_node(name: str, *, unschedulable: bool = False) -> NodeObservation:
    return NodeObservation(name=name, uid="u", resource_version="1", ready=True, unschedulable=unschedulable)


def test_cordons_come_and_go() -> None:
    cordons = Cordons()
    assert set(cordons.names()) == set()
    cordons.nodes_listed([a_node("a", unschedulable=True), a_node("b")])
    assert set(cordons.names()) == {"a"}
    cordons.node_seen(a_node("b", unschedulable=True))
    cordons.node_seen(a_node("a"))
    assert set(cordons.names()) == {"b"}
    cordons.node_gone(a_node("b", unschedulable=True))
    assert set(cordons.names()) == set()


def test_listing_is_the_whole_truth() -> None:
    cordons = Cordons()
    cordons.nodes_listed([a_node("a", unschedulable=True)])
    cordons.nodes_listed([a_node("b", unschedulable=True)])
    assert set(cordons.names()) == {"b"}
