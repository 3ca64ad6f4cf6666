"""The largest container: what is configured, and no more than some node of the pool may have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.playbook.test_pools import QUEUES, publish
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, a_submission, ask, running
from tests.support.records import NOBODY
from tests.support.rm_options import LIMITS, SMALL, Options
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidResourceRequest

BIG = NodeId("node-2", 1)
TOO_LARGE = "maximum allowed allocation"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as world:
        yield world


def told(world: World) -> Resource:
    return world.rm.submission.maximum_capability


async def lose(world: World, node_id: NodeId) -> None:
    await world.beat(node_id=node_id, is_healthy=False)
    await world.settle()
    assert not world.rm.state.nodes[node_id].is_usable


async def test_two_equal_nodes_are_the_largest_container(world: World) -> None:
    assert told(world) == LIMITS.maximum, "no node has registered"
    for node_id in (NODE, BIG):
        await world.register_node(node_id, Resource(2048, 16))
    assert told(world) == Resource(2048, LIMITS.maximum.vcores)
    with pytest.raises(InvalidResourceRequest, match=TOO_LARGE) as refused:
        await world.submit(am_asked_capability=Resource(2560, 1))
    assert "maximum allowed allocation=<memory:2048, vCores:4>" in str(refused.value)
    assert str(refused.value).endswith("configured maximum allocation=<memory:8192, vCores:4>")
    assert world.rm.state.applications == {}

    am = await world.running_am()
    with pytest.raises(InvalidResourceRequest, match=TOO_LARGE):
        await am.beat(ask(1, capability=Resource(3072, 1)))
    await am.beat(ask(1, capability=Resource(2048, 1)))


async def test_each_type_has_its_own_largest_node(world: World) -> None:
    await world.register_node(NODE, Resource(2048, 3, (("example.com/gpu", 2),)))
    await world.register_node(BIG, Resource(4096, 2))
    assert told(world) == Resource(4096, 3, (("example.com/gpu", 2),))
    am = await world.running_am()
    await am.beat(ask(1, capability=Resource(1024, 1, (("example.com/gpu", 2),))))
    with pytest.raises(InvalidResourceRequest, match=rf"type=\[example.com/gpu\].*{TOO_LARGE}"):
        await am.beat(ask(1, capability=Resource(1024, 1, (("example.com/gpu", 3),))))


async def test_lost_node_fails_no_master_that_was_told_of_it(world: World) -> None:
    await world.register_node(BIG, Resource(8192, 16))
    await world.register_node(NODE, Resource(2048, 16))
    am = await world.running_am()
    await lose(world, BIG)
    assert told(world) == Resource(2048, 4)
    await am.beat(ask(1, capability=Resource(8192, 1)))
    with pytest.raises(InvalidResourceRequest, match=TOO_LARGE):
        await am.beat(ask(1, capability=Resource(8193, 1)))
    with pytest.raises(InvalidResourceRequest, match=TOO_LARGE):
        await world.submit(am_asked_capability=Resource(2049, 1))


async def test_repeated_submission_is_success_when_the_node_is_lost(world: World) -> None:
    await world.register_node(BIG, Resource(8192, 16))
    await world.register_node(NODE, Resource(2048, 16))
    submitted = a_submission(am_asked_capability=Resource(4096, 1))
    application_id: ApplicationId = await world.run(world.rm.submission.give_id(NOBODY))
    await world.run(world.rm.submission.submit(application_id, submitted))
    await lose(world, BIG)
    await world.run(world.rm.submission.submit(application_id, submitted))
    assert [*world.rm.state.applications] == [application_id]


async def test_master_that_registers_again_after_a_restart_may_ask_for_what_it_asked_before(world: World) -> None:
    await world.register_node(NODE, Resource(8192, 16))
    am = await world.running_am()
    await world.register_node(NODE, Resource(2048, 16))
    await world.restart()
    registration = await am.register()
    assert registration.maximum_capability == Resource(2048, 4)
    await am.beat(ask(1, capability=Resource(8192, 1)))


async def test_size_is_not_rounded_up_over_the_largest_node(world: World) -> None:
    await world.register_node(NODE, Resource(3000, 16))
    application_id = await world.submit(am_asked_capability=Resource(2560, 1))
    await world.settle()
    (master,) = world.rm.state.live_containers()
    assert master.capability == Resource(3000, 1)
    assert world.application(application_id).submission.am_asked_capability == Resource(2560, 1)
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    await world.beat(running(am.container.id))
    await am.register()
    await world.register_node(BIG, Resource(3000, 16))
    await am.beat(ask(1, capability=Resource(2100, 1)))
    await world.settle()
    assert [task.capability for task in world.live_tasks()] == [Resource(3000, 1)]


async def test_clusters_that_grow_tell_the_configured_maximum() -> None:
    async with World(Options(allocation=replace(LIMITS, maximum_follows_nodes=False))) as world:
        await world.register_node(NODE, Resource(2048, 2))
        assert told(world) == LIMITS.maximum
        application_id = await world.submit(am_asked_capability=Resource(8192, 4))
        assert world.application(application_id).state is ApplicationState.ACCEPTED


async def test_pool_of_the_applications_queue_counts_and_a_loan_of_nothing_lowers_nothing() -> None:
    async with World(Options(queues=QUEUES, dialects={"root.batch": "koordinator"})) as world:
        await world.register_node(NODE, SMALL * 2)
        publish(world, 1)
        assert told(world) == LIMITS.maximum, "of its ordinary sixteen the node may lend as much to batch"
        with pytest.raises(InvalidResourceRequest, match=TOO_LARGE):
            await world.submit(queue="day", am_asked_capability=SMALL * 3)
        publish(world, 0)
        assert told(world) == LIMITS.maximum
        waiting = await world.submit(queue="batch", am_asked_capability=SMALL * 3)
        assert world.application(waiting).state is ApplicationState.ACCEPTED
