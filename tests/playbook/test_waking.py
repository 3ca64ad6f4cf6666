"""Whatever changes what a decision reads wakes the decision.

Nobody moves the scheduler here but what happens; ``World.settle`` finds by itself what is owed (tests.support.laws),
and what is asserted beside that is what somebody waits for.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.laws import check_nothing_is_owed
from tests.support.playbook import World, ask, key, running
from tests.support.rm_options import LIMITS, Options
from yodel.domain.ask_book import SchedulingAsk
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerUpdateType
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.scheduling.misfits import REJECT_AFTER_S

DECREASE = ContainerUpdateType.DECREASE_RESOURCE


async def test_node_that_leaves_the_blacklist_is_used_at_once(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(2), blacklist_additions=[NODE.host])
    await world.settle()
    assert world.live_tasks() == []
    await am.beat(blacklist_removals=[NODE.host])
    await world.settle()
    assert len(world.live_tasks()) == 2


async def test_beat_that_changes_nothing_wakes_nobody(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1), blacklist_additions=["elsewhere"])
    await world.settle()
    await world.bind_and_settle()
    await am.beat()
    await world.settle()
    await am.beat(blacklist_additions=["elsewhere"], blacklist_removals=["unheard-of"])
    await world.beat(running(am.container.id))
    await am.beat()
    assert not world.rm.scheduler.is_woken
    await am.beat(ask(1))
    assert world.rm.scheduler.is_woken
    await world.settle()
    await am.beat(ask(1))
    assert not world.rm.scheduler.is_woken, "an ask repeats a count; it does not add to it"


async def test_law_says_what_nobody_was_woken_for(world: World) -> None:
    am = await world.running_am()
    world.rm.state.masters.runtimes[am.attempt_id].wishes.asks.replace(ask(1))
    with pytest.raises(AssertionError, match="wanted and possible"):
        check_nothing_is_owed(world.rm.scheduler)


async def test_pods_that_were_bound_make_way_for_others() -> None:
    async with World(Options(allocation=replace(LIMITS, in_flight_max=2))) as world:
        am = await world.running_am()
        await am.beat(ask(5))
        await world.settle()
        assert len(world.live_tasks()) == 2
        for expected in (4, 5):
            await world.bind_and_settle()
            assert len(world.live_tasks()) == expected


async def test_master_that_was_bound_makes_way_for_another() -> None:
    async with World(Options(allocation=replace(LIMITS, in_flight_max=1))) as world:
        await world.register_node()
        for _ in range(2):
            await world.submit()
        await world.settle()
        assert len(list(world.rm.state.live_containers())) == 1
        await world.bind_and_settle()
        assert len(list(world.rm.state.live_containers())) == 2


async def test_name_that_becomes_known_is_a_place_to_go(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1, "10.0.0.7"), ask(1, relax_locality=False))
    await world.settle()
    assert world.live_tasks() == []
    labels = {"kubernetes.io/hostname": "10.0.0.7"}
    world.rm.facts.node_seen(NodeObservation(name=NODE.host, uid="u", resource_version="1", labels=labels))
    await world.settle()
    assert len(world.live_tasks()) == 1


async def test_strict_wish_whose_last_host_was_served_goes_anywhere() -> None:
    """Its ApplicationMaster asked for one on the host and two in all: the second has nowhere to be strict about."""
    async with World(Options(allocation=replace(LIMITS, in_flight_max=1))) as world:
        am = await world.running_am()
        await world.register_node(NodeId("node-2", 8041))
        await am.beat(ask(1, "node-2"), ask(2, relax_locality=False))
        await world.settle()
        await am.beat(blacklist_additions=["node-2"])
        await world.bind_and_settle("node-2")
        assert len(world.live_tasks()) == 1
        assert len((await am.beat()).granted) == 1
        await world.settle()
        assert [task.placement.is_strict for task in world.live_tasks()] == [True, False]


async def test_room_that_a_smaller_container_leaves_is_given_to_others(world: World) -> None:
    am = await world.running_am()
    (task, *_) = await am.obtain(2, capability=Resource(7168, 1))
    await world.beat(running(task))
    await am.beat(ask(3, priority=2))
    await world.settle()
    assert len([c for c in world.live_tasks() if c.priority == 2]) == 1
    capability = Resource(1024, 1)
    await am.beat(updates=[UpdateRequest(container_id=task, version=0, type=DECREASE, capability=capability)])
    await world.settle()
    assert len([c for c in world.live_tasks() if c.priority == 2]) == 3


async def test_who_has_unregistered_wants_nothing_any_more(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(40))
    await world.settle()
    await am.finish()
    await world.settle()
    assert world.rm.state.masters.wanted.count == 0
    assert world.live_tasks() == []
    await am.beat(ask(7), blacklist_additions=[NODE.host])
    await world.settle()
    assert world.rm.state.masters.wanted.count == 0
    assert world.rm.state.masters.runtimes[am.attempt_id].wishes.blacklist == set()


async def test_attempt_that_ends_wants_nothing_any_more(world: World) -> None:
    am = await world.running_am(max_attempts=1)
    await am.beat(ask(40))
    await am.exit(1)
    assert world.rm.state.masters.wanted.count == 0


async def test_what_is_under_way_of_a_rejected_request_is_handed_over() -> None:
    async with World(Options(constraints_handler="placement-processor")) as world:
        am = await world.running_am()
        apart = Single(maximum=0, targets=(TagTarget("zk"),))
        asked = SchedulingAsk(key=key(allocation_request_id=1), count=2, tags=("zk",), constraint=apart)
        await am.beat(scheduling_asks=[asked])
        await world.settle()
        assert len(world.live_tasks()) == 1
        await world.bind_and_settle()
        await world.pass_time(REJECT_AFTER_S)
        answer = await am.beat()
        assert (len(answer.granted), len(answer.rejected)) == (1, 1)
        assert world.rm.state.masters.wanted.count == 0
