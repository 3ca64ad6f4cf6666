from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.ids import NodeId
from yodel.domain.states import AttemptState, NodeState
from yodel.services.liveness import LivenessSettings

SHORT = Options(liveness=LivenessSettings(am_expiry_s=60, node_expiry_s=60, container_expiry_s=60))


async def test_am_is_not_waited_for_before_it_is_launched() -> None:
    async with World(SHORT) as world:
        application_id = await world.submit()
        for _ in range(5):
            await world.pass_time(59)
        attempt = world.attempt(world.application(application_id).current_attempt_id)
        assert attempt.state is AttemptState.SCHEDULED


async def test_every_deadline_starts_anew_with_the_rm() -> None:
    async with World(SHORT) as world:
        am = await world.running_am()
        await am.obtain(1)
        world.clock.advance(1000)
        await world.restart()
        await world.pass_time(59)

        assert world.rm.state.nodes[NODE].state is NodeState.RUNNING
        assert world.attempt(am.attempt_id).state is AttemptState.RUNNING
        assert len(world.live_tasks()) == 1


async def test_node_that_never_comes_back_after_a_restart_is_lost() -> None:
    async with World(SHORT) as world:
        await world.register_node()
        await world.restart()
        await world.pass_time(61)
        assert world.rm.state.nodes[NODE].state is NodeState.LOST


async def test_node_is_lost_once_and_can_return() -> None:
    async with World(SHORT) as world:
        await world.register_node()
        await world.pass_time(61)
        version = world.rm.state.change_counters.version
        await world.pass_time(61)
        assert world.rm.state.change_counters.version == version

        await world.register_node()
        await world.pass_time(59)
        assert world.rm.state.nodes[NODE].state is NodeState.RUNNING


async def test_unhealthy_node_is_watched_too() -> None:
    async with World(SHORT) as world:
        await world.register_node()
        await world.beat(is_healthy=False, health_report="disk full")
        await world.settle()
        await world.pass_time(61)
        assert world.rm.state.nodes[NODE].state is NodeState.LOST


async def test_agent_whose_node_has_another_one_is_lost_once_it_is_silent() -> None:
    """It was restarted on another port, or its machine was replaced: its containers do not wait ten minutes."""
    second = NodeId(NODE.host, 9999)
    async with World(SHORT) as world:
        am = await world.running_am()
        await world.pass_time(31)
        assert world.rm.state.nodes[NODE].state is NodeState.RUNNING, "it is alone"
        await world.register_node(second)
        await world.beat()
        for _ in range(3):
            await world.pass_time(15)
            await world.beat(node_id=second)
        await world.settle()
        assert world.rm.state.nodes[NODE].state is NodeState.LOST
        assert not world.container(am.container.id).is_live
        assert world.rm.state.node_index.of_kubernetes(NODE.host) == world.rm.state.nodes[second]
