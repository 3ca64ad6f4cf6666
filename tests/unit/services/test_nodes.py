from __future__ import annotations

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, complete, running
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerState, NodeState
from yodel.errors import InvalidValue
from yodel.services.nodes import agents as nodes_module
from yodel.services.nodes.agents import Heartbeat


@pytest.mark.parametrize("capability", [Resource(-1, 1), Resource(1024, -1)])
async def test_node_with_less_than_nothing_is_refused(world: World, capability: Resource) -> None:
    with pytest.raises(InvalidValue):
        await world.register_node(capability=capability)
    assert world.rm.state.nodes == {}


async def test_node_that_left_between_the_halves_of_a_beat_is_told_to_register(world: World) -> None:
    await world.register_node()
    beat = Heartbeat(node_id=NODE, response_id=0, is_healthy=False, health_report="x")
    assert world.rm.nodes.heartbeat(beat) is None
    await world.run(world.rm.nodes.unregister(NODE))
    assert (await world.run(world.rm.nodes.heartbeat_slow(beat))).must_resync


async def test_beat_is_felt_by_who_keeps_answers(world: World) -> None:
    await world.register_node()
    before = world.rm.state.standing.pulse
    await world.beat()
    assert world.rm.state.standing.pulse > before


async def test_orders_go_out_once(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await am.beat(releases=[container_id])
    assert (await world.beat()).containers_to_clean_up == (container_id,)
    assert (await world.beat()).containers_to_clean_up == ()


async def test_end_of_an_application_is_told_to_every_node(world: World) -> None:
    other = NodeId("node-2", 8041)
    am = await world.running_am()
    await world.register_node(other)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    for node_id in (NODE, other):
        assert (await world.beat(node_id=node_id)).applications_to_clean_up == (am.application_id,)


async def test_container_reported_before_its_binding_was_seen_is_believed_later(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    for _ in range(2):
        await world.beat(running(container_id))
    assert world.container(container_id).state is ContainerState.RUNNING


async def test_node_that_is_sick_and_recovers(world: World) -> None:
    await world.register_node()
    for is_healthy, state in ((False, NodeState.UNHEALTHY), (True, NodeState.RUNNING)):
        await world.beat(is_healthy=is_healthy, health_report="" if is_healthy else "disk full")
        await world.settle()
        assert world.rm.state.nodes[NODE].state is state


async def test_words_of_a_healthy_node_are_kept(world: World) -> None:
    """One of its disks is full, and room again."""
    await world.register_node()
    for report in ("1/2 local-dirs usable space is below", ""):
        await world.beat(health_report=report)
        await world.settle()
        node = world.rm.state.nodes[NODE]
        assert (node.state, node.health_report) == (NodeState.RUNNING, report)


async def test_signals_have_a_limit_and_are_for_the_living(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "SIGNALS_MAX", 2)
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    assert [world.rm.nodes.signal(container_id, 1) for _ in range(3)] == [True, True, False]
    await world.beat(complete(container_id))
    assert not world.rm.nodes.signal(container_id, 1)


async def test_when_a_node_was_heard_of_is_the_time_of_its_last_beat(world: World) -> None:
    await world.register_node()
    registered_ms = world.rm.nodes.runtimes[NODE].last_seen_ms
    world.clock.advance(7.0)
    await world.beat()
    assert world.rm.nodes.runtimes[NODE].last_seen_ms >= registered_ms + 7_000
