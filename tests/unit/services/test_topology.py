from __future__ import annotations

from collections.abc import Mapping

from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.ask_rules import AskRules
from yodel.domain.ids import NodeId
from yodel.ports.kube_nodes import NodeAddress, NodeObservation
from yodel.services.nodes.topology import Topology, label_of, rack_of

RACK, ZONE = "topology.kubernetes.io/rack", "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def a_node(name: str = NODE.host, labels: Mapping[str, str] | None = None, *addresses: str) -> NodeObservation:
    return NodeObservation(
        name=name,
        uid="u",
        resource_version="1",
        labels=labels or {},
        addresses=[NodeAddress(kind="InternalIP", address=address) for address in addresses],
    )


def rack_and_labels(world: World) -> tuple[str, tuple[str, ...]]:
    node = world.rm.state.nodes[NODE]
    return node.rack, node.labels


async def test_agent_that_registers_later_is_given_its_place() -> None:
    async with World(Options(ask_rules=AskRules(are_node_labels_enabled=True))) as world:
        world.rm.facts.nodes_listed([a_node(labels={RACK: "r1", "yodel.io/node-label": "gpu"})])
        await world.register_node()
        assert rack_and_labels(world) == ("/r1", ("gpu",))


async def test_agent_that_registered_before_is_told_its_place(world: World) -> None:
    await world.register_node()
    assert rack_and_labels(world) == ("/default-rack", ())
    world.rm.facts.nodes_listed([a_node(labels={RACK: "r1"})])
    await world.settle()
    assert rack_and_labels(world) == ("/r1", ())


async def test_labels_that_change_are_noticed_and_those_that_go_too(world: World) -> None:
    world.rm.facts.nodes_listed([a_node(labels={RACK: "r1"})])
    await world.register_node()
    for labels, expected in (({RACK: "r2"}, "/r2"), ({}, "/default-rack")):
        world.rm.facts.node_seen(a_node(labels=labels))
        await world.settle()
        assert rack_and_labels(world)[0] == expected


async def test_sick_node_is_told_as_well(world: World) -> None:
    await world.register_node()
    await world.beat(is_healthy=False, health_report="disk")
    world.rm.facts.node_seen(a_node(labels={RACK: "r1"}))
    await world.settle()
    assert rack_and_labels(world)[0] == "/r1"


async def test_place_is_on_disk_and_stays_until_kubernetes_says_otherwise(world: World) -> None:
    world.rm.facts.nodes_listed([a_node(labels={RACK: "r1"})])
    await world.register_node()
    await world.restart()
    await world.register_node()  # the new life has not listed nodes yet
    assert rack_and_labels(world)[0] == "/r1"


async def test_change_while_a_registration_is_written_is_not_lost(world: World) -> None:
    world.rm.facts.nodes_listed([a_node(labels={RACK: "r1"})])
    original = world.rm.engine.do

    async def change_underneath(work):  # type: ignore[no-untyped-def]
        done = await original(work)
        world.rm.facts.node_seen(a_node(labels={RACK: "r2"}))
        return done

    world.rm.engine.do = change_underneath  # type: ignore[method-assign]
    await world.register_node()
    world.rm.engine.do = original  # type: ignore[method-assign]
    await world.settle()
    assert rack_and_labels(world)[0] == "/r2"


async def test_hosts_are_found_by_every_name_they_have(world: World) -> None:
    topology = world.rm.topology
    world.rm.facts.nodes_listed([a_node("k8s-1", {HOSTNAME: "host-label"}, "10.0.0.1", "fd00::1")])
    names = ("10.0.0.1", "fd00::1", "k8s-1", "host-label")
    assert [topology.hostname_label(name) for name in names] == ["host-label"] * 4
    assert set(topology.names_of("k8s-1")) == set(names)
    assert topology.hostname_label("elsewhere") == "elsewhere"
    world.rm.facts.node_gone(a_node("k8s-1"))
    assert topology.hostname_label("10.0.0.1") == "10.0.0.1"
    assert topology.names_of("k8s-1") == ("k8s-1",)


async def test_host_of_an_agent_is_its_kubernetes_node(world: World) -> None:
    """The agent may call itself by a name that Kubernetes does not know."""
    await world.register_node(NodeId("agent.example", 1))
    world.rm.facts.nodes_listed([a_node("agent.example", {HOSTNAME: "short"})])
    assert world.rm.topology.hostname_label("agent.example") == "short"


async def test_version_grows_with_names_only(world: World) -> None:
    topology = world.rm.topology
    world.rm.facts.nodes_listed([a_node("k8s-1")])
    before = topology.version
    world.rm.facts.node_seen(a_node("k8s-1", {RACK: "r1"}))
    assert topology.version == before
    world.rm.facts.node_seen(a_node("k8s-1", {RACK: "r1"}, "10.0.0.1"))
    assert topology.version > before


def test_zones_may_be_racks() -> None:
    labels = {ZONE: "eu-1a", RACK: "r1"}
    assert (rack_of(labels, RACK), rack_of(labels, ZONE), rack_of({}, RACK)) == ("/r1", "/eu-1a", "/default-rack")
    assert (label_of({"yodel.io/node-label": ""}), label_of({})) == ((), ())


async def test_another_label_is_a_setting(world: World) -> None:
    topology = Topology(world.rm.engine, world.rm.facts, ZONE)
    world.rm.facts.nodes_listed([a_node(labels={ZONE: "eu-1a", RACK: "r1"})])
    place = topology.place_of(NODE.host)
    assert place is not None
    assert place.rack == "/eu-1a"


async def test_without_node_labels_nodes_have_none(world: World) -> None:
    topology = Topology(world.rm.engine, world.rm.facts, are_labels_enabled=False)
    world.rm.facts.nodes_listed([a_node(labels={"yodel.io/node-label": "gpu"})])
    place = topology.place_of(NODE.host)
    assert place is not None
    assert place.labels == ()
