"""Pods without a node give way to queues under their guarantees, and are tried again after a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.playbook.test_why import names, only, why
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, running
from tests.support.rm_options import LIMITS, SMALL, Options
from yodel.domain.ids import ContainerId
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import AttemptState
from yodel.domain.waiting_words import Cause
from yodel.rm_api.v1 import shapes

ROOT = Queue(path="root", is_leaf=False)
A = Queue(path="root.a", capacity_percent=25.0, user_limit_factor=-1.0)
B = Queue(path="root.b", capacity_percent=75.0, user_limit_factor=-1.0)
WAIT_S = 30.0


@pytest.fixture(params=[False, True], ids=["keeping", "giving back"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Sixteen small containers, four of them guaranteed to a; pods of a find no node."""
    rules = PreemptionRules(is_enabled=request.param)
    options = Options(queues=(ROOT, A, B), preemption=rules, allocation=replace(LIMITS, maximum=Resource(16384, 16)))
    async with World(options) as world:
        yield world


def bind(world: World, queue: str) -> list[ContainerId]:
    """Kubernetes places the pods of a queue."""
    bound = []
    for container in [*world.rm.state.live_containers()]:
        if container.queue == queue and container.node_id is None and container.pod in world.pods.pods:
            world.pods.change(container.pod, node_name=NODE.host)
            bound.append(container.id)
    return bound


async def stuck_and_waiting(world: World) -> tuple[Am, Am]:
    """Fourteen pods of a wait for a node that they never get, and b wants ten."""
    stuck, other = await world.running_am(queue="a"), await world.running_am(queue="b")
    await stuck.beat(ask(40))
    await world.settle()
    assert world.rm.state.container_index.planned_count == 14
    await other.beat(ask(10))
    await world.settle()
    return stuck, other


def planned(world: World, queue: str) -> int:
    index, containers = world.rm.state.container_index, world.rm.state.containers
    return sum(containers[i].queue == queue for i in index.planned)


async def test_queue_under_its_guarantee_gets_what_pods_without_a_node_hold(world: World) -> None:
    _, other = await stuck_and_waiting(world)
    await world.pass_time(WAIT_S - 1)
    assert planned(world, "root.b") == 0
    await world.pass_time(1)
    bind(world, "root.b")
    await world.settle()
    assert len((await other.beat()).granted) == 10
    assert planned(world, "root.a") == 4
    assert world.rm.preemption.withdrawn_count == 10
    assert world.rm.preemption.preempted_count == 0


async def test_wish_is_kept_and_tried_again_after_a_while(world: World) -> None:
    stuck, other = await stuck_and_waiting(world)
    await world.pass_time(WAIT_S)
    bind(world, "root.b")
    await world.settle()
    tasks = [granted.container.id for granted in (await other.beat()).granted]
    assert not (await stuck.beat()).completed
    (waits, _) = why(world, stuck.application_id).asks
    assert names(waits) == [Cause.UNSCHEDULABLE]
    assert waits.count == 36
    await other.beat(releases=tasks)
    await world.settle()
    assert planned(world, "root.a") == 4, "not yet"
    await world.pass_time(5)
    assert planned(world, "root.a") == 14


@pytest.mark.parametrize("news", ["node", "label", "queue"])
async def test_a_node_a_label_or_a_queue_that_changes_ends_the_wait(world: World, news: str) -> None:
    _, other = await stuck_and_waiting(world)
    await world.pass_time(WAIT_S)
    bind(world, "root.b")
    await world.settle()
    await other.beat(releases=[granted.container.id for granted in (await other.beat()).granted])
    await world.pass_time(1)
    assert planned(world, "root.a") == 4, "there is room, and five seconds are not over"
    if news == "node":
        await world.register_node(replace(NODE, host="another"), Resource(1024, 1))
    elif news == "label":
        await world.run(world.rm.engine.do(lambda tx: tx.put(replace(tx.node(NODE), labels=("gpu",)))))
    else:
        await world.run(world.rm.engine.do(lambda tx: tx.queues.rows.append(replace(A, priority=1))))
    await world.settle()
    assert planned(world, "root.a") >= 14


async def test_nobody_gives_way_where_nobody_wants_the_share_or_could_have_it(world: World) -> None:
    stuck = await world.running_am(queue="a")
    other = await world.running_am(queue="b")
    await stuck.beat(ask(40))
    await world.settle()
    await world.pass_time(WAIT_S)
    assert planned(world, "root.a") == 14
    await other.beat(ask(1, capability=SMALL * 15))
    await world.settle()
    await world.pass_time(3)
    assert planned(world, "root.a") == 14, "no node has so much in one piece"


async def test_application_master_gives_way_and_its_attempt_counts_no_failure(world: World) -> None:
    other = await world.running_am(queue="b")
    waiting = await world.submit(queue="a", am_capability=SMALL * 15, am_asked_capability=SMALL * 15)
    await world.settle()
    await other.beat(ask(12))
    await world.settle()
    assert planned(world, "root.b") == 0
    await world.pass_time(WAIT_S)
    assert planned(world, "root.b") == 12
    application = world.application(waiting)
    attempt = world.attempt(application.current_attempt_id)
    assert attempt.state is AttemptState.SCHEDULED
    assert attempt.am_container_id not in world.rm.state.containers
    assert names(only(why(world, waiting)))[0] is Cause.UNSCHEDULABLE


async def test_what_has_no_node_is_told_apart(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.beat(ask(40))
    await world.settle()
    view = world.rm.queries.application(am.application_id)
    assert (view.used, view.running_containers) == (SMALL, 1)
    assert (view.starting, view.starting_containers) == (SMALL * 15, 15)
    assert (view.pending, view.pending_containers) == (SMALL * 25, 25)
    assert view.waited_for == (40, SMALL * 40)
    bind(world, "root.a")
    await world.settle()
    view = world.rm.queries.application(am.application_id)
    assert (view.running_containers, view.starting_containers, view.pending_containers) == (16, 0, 25)
    for granted in (await am.beat()).granted:
        await world.beat(running(granted.container.id))
    queue = await world.rm.queries.queue("a")
    assert queue is not None
    assert queue.used_share == 4.0


async def test_user_waits_until_the_last_container_has_a_node(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.beat(ask(3))
    await world.settle()
    loads = await world.rm.queries.queue_loads()
    assert (loads["root.a"].total.waited_for, loads["root"].waiting) == ((3, SMALL * 3), {"alice"})
    bind(world, "root.a")
    await world.settle()
    loads = await world.rm.queries.queue_loads()
    assert (loads["root"].total.used, loads["root"].waiting) == (SMALL * 4, set())


async def test_used_percent_is_of_what_is_used_most() -> None:
    """Three containers of 1 GiB and 8 cores in a queue of 8 GiB and 8 cores: 37.5 of memory, 300 of cores."""
    leaf = Queue(path="root.a", capacity_percent=25.0, user_limit_factor=-1.0)
    other = Queue(path="root.b", capacity_percent=75.0)
    async with World(
        Options(queues=(ROOT, leaf, other), allocation=replace(LIMITS, maximum=Resource(16384, 16)))
    ) as world:
        await world.register_node(capability=Resource(32768, 32))
        am = await world.running_am(queue="a", is_unmanaged=True)
        await am.obtain(3, capability=Resource(1024, 8))
        queue = await world.rm.queries.queue("a")
        assert queue is not None
        assert shapes.queue(queue).used_percent == 300.0
