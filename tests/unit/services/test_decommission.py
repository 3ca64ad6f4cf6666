"""The time allowed and the lists are computed as the playbook (tests/playbook/test_decommission.py) does not show."""

from __future__ import annotations

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World
from yodel.domain.effects import Tell
from yodel.domain.events import NodeDecommissionStarted, NodeRecommissioned
from yodel.domain.host_lists import HostLists
from yodel.domain.states import NodeState
from yodel.errors import Unavailable
from yodel.services.nodes.decommission import Decommission

EXCLUDED = HostLists(excluded={NODE.host: None})


async def test_default_time_is_what_was_configured(world: World) -> None:
    await world.running_am()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True))
    assert world.rm.state.nodes[NODE].decommissioning_timeout_s == 3600


async def test_time_of_nothing_is_up_at_once(world: World) -> None:
    await world.running_am()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=0))
    await world.pass_time(0)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


@pytest.mark.parametrize("skew_s", [-7200, 7200])
async def test_clock_that_is_set_changes_nothing_about_the_time_allowed(world: World, skew_s: int) -> None:
    await world.running_am()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=30))
    world.clock.skew_ms += skew_s * 1000
    await world.pass_time(29)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


async def test_clock_set_back_before_a_restart_costs_at_most_one_more_whole_time(world: World) -> None:
    await world.running_am()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=30))
    world.clock.skew_ms -= 7200 * 1000
    await world.restart()
    world.rm.nodes.lists = EXCLUDED
    await world.pass_time(0)
    await world.pass_time(29)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


async def test_second_leave_has_a_whole_time_of_its_own(world: World) -> None:
    """Although nobody looked between the two."""
    await world.running_am()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=30))
    world.clock.advance(29)
    for event in (NodeRecommissioned(world.clock.now_ms()), NodeDecommissionStarted(30, world.clock.now_ms())):
        await world.run(world.rm.engine.tell(Tell(NODE, event)))
    await world.pass_time(29)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


async def test_repeated_order_writes_nothing(world: World) -> None:
    await world.running_am()
    for _ in range(2):
        await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=5))
        version = world.rm.state.change_counters.version
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=5))
    assert world.rm.state.change_counters.version == version


async def test_empty_node_is_out_at_the_first_look(world: World) -> None:
    await world.register_node()
    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True, timeout_s=-1))
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


async def test_lists_that_could_not_be_stored_do_not_count(world: World) -> None:
    await world.register_node()
    world.commit_errors.append(Unavailable("no disk"))
    with pytest.raises(Unavailable):
        await world.run(world.rm.decommission.refresh(EXCLUDED))
    assert world.rm.nodes.lists == HostLists()
    assert not (await world.beat()).must_shut_down


async def test_nodes_that_the_lists_allow_are_left_alone(world: World) -> None:
    await world.register_node()
    version = world.rm.state.change_counters.version
    await world.run(world.rm.decommission.refresh(HostLists(included=frozenset({NODE.host}))))
    assert world.rm.state.change_counters.version == version


def follow(world: World, cordoned: set[str]) -> None:
    rm = world.rm
    rm.decommission = Decommission(rm.engine, rm.nodes, world.clock, cordoned=lambda: cordoned)


async def test_cordon_is_a_graceful_leave_that_ends_with_it(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    follow(world, cordoned := {NODE.host})
    await world.pass_time(1)
    node = world.rm.state.nodes[NODE]
    assert (node.state, node.decommissioning_timeout_s) == (NodeState.DECOMMISSIONING, -1)
    assert world.container(container_id).is_live
    assert world.rm.state.node_index.closed == {NODE.host}
    assert NODE in [changed.id for changed in (await am.beat()).changed_nodes]

    cordoned.clear()
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.RUNNING


async def test_cordoned_node_that_is_empty_is_not_put_out(world: World) -> None:
    await world.register_node()
    follow(world, {NODE.host})
    for _ in range(5):
        await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING
    assert not (await world.beat()).must_shut_down


async def test_lists_are_stronger_than_the_end_of_a_cordon(world: World) -> None:
    await world.running_am()
    follow(world, cordoned := {NODE.host})
    await world.pass_time(1)
    await world.run(world.rm.decommission.refresh(HostLists(), is_graceful=True))
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING

    await world.run(world.rm.decommission.refresh(EXCLUDED, is_graceful=True))
    cordoned.clear()
    await world.pass_time(1)
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONING
