from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import World, ask
from tests.support.rm_options import NODE_SIZE, SMALL
from yodel.domain.container import Placement
from yodel.domain.ids import NodeId
from yodel.domain.queues.pools import NATIVE
from yodel.services.scheduling.placement_inputs import NodeNames, PlacementInputs


async def test_usable_nodes_are_places_with_all_their_names(world: World) -> None:
    await world.register_node()
    await world.register_node(NodeId("node-2", 1))
    await world.beat(node_id=NodeId("node-2", 1), is_healthy=False, health_report="disk")
    await world.settle()
    names = NodeNames(of=lambda name: (name, f"{name}.example"))
    (node,) = PlacementInputs(world.rm.state, names).places(is_locality_wanted=False).nodes
    assert (node.id, node.rack, node.label, node.capability) == (NODE, "/default-rack", "", NODE_SIZE)
    assert node.names == {"node-1", "node-1.example"}


async def test_nodes_are_read_again_when_they_or_their_names_change(world: World) -> None:
    version = 0
    inputs = PlacementInputs(world.rm.state, NodeNames(version=lambda: version))
    await world.register_node()
    first = inputs.places(is_locality_wanted=False).nodes
    assert inputs.places(is_locality_wanted=False).nodes is first
    version = 1
    assert inputs.places(is_locality_wanted=False).nodes is not first
    await world.register_node(NodeId("node-2", 1))
    assert len(inputs.places(is_locality_wanted=False).nodes) == 2


async def test_nodes_are_read_ahead_some_at_a_time(world: World) -> None:
    """A decision uses what was read ahead; if a node changes meanwhile, it reads all by itself."""
    inputs = PlacementInputs(world.rm.state)
    for number in (2, 3):
        await world.register_node(NodeId(f"node-{number}", 1))
    assert len(list(inputs.read_ahead([NATIVE], at_once=1))) == 2
    assert list(inputs.read_ahead([NATIVE], at_once=1)) == []
    nodes = inputs.places(is_locality_wanted=False).nodes
    assert list(inputs.read_ahead([NATIVE], at_once=1)) == []
    assert inputs.places(is_locality_wanted=False).nodes is nodes
    await world.register_node(NodeId("node-4", 1))
    reading = inputs.read_ahead([NATIVE], at_once=1)
    next(reading)
    await world.register_node(NodeId("node-5", 1))
    assert list(reading) == []
    assert len(inputs.places(is_locality_wanted=False).nodes) == 4


async def test_what_is_left_of_a_node(world: World) -> None:
    inputs = PlacementInputs(world.rm.state)
    assert inputs.free_on(NODE).memory_mib == 0
    am = await world.running_am()
    assert inputs.free_on(NODE) == NODE_SIZE - am.container.capability


async def test_room_of_what_is_planned_for_a_host_is_not_promised_twice(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(3, "node-1"), ask(3))
    await world.run(world.rm.scheduler.tick())
    inputs = PlacementInputs(world.rm.state)
    places = [inputs.places(is_locality_wanted=wanted) for wanted in (False, True)]
    rooms = [one.room(one.nodes[0], SMALL) for one in places]
    assert rooms[0] - rooms[1] == 3


async def test_labels_count_only_where_they_are_on(world: World) -> None:
    state = world.rm.state
    assert [PlacementInputs(state, are_labels_enabled=on).label(" gpu ") for on in (False, True)] == ["", "gpu"]
    await world.register_node()
    places = PlacementInputs(state, are_labels_enabled=True).places(is_locality_wanted=False)
    assert places.allowed(Placement(node_label="gpu")) == []
