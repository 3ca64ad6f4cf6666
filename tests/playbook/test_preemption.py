"""Queues give back: who is told, who ends and how, and what is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.playbook.test_pools import publish
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, running
from tests.support.rm_options import SMALL, Options
from yodel.domain.ids import ContainerId
from yodel.domain.past import Preempted
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState
from yodel.services.applications.submission import SubmissionLimits

ROOT = Queue(path="root", is_leaf=False)
A = Queue(path="root.a", capacity_percent=50.0, user_limit_factor=-1.0)
B = Queue(path="root.b", capacity_percent=50.0, user_limit_factor=-1.0)
AT_ONCE = PreemptionRules(is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)


def options(rules: PreemptionRules = AT_ONCE, *queues: Queue) -> Options:
    return Options(queues=(ROOT, *(queues or (A, B))), preemption=rules, submission=SubmissionLimits(max_priority=10))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Sixteen small containers, eight of them guaranteed to each queue."""
    async with World(options()) as world:
        yield world


def held(world: World, path: str) -> int:
    use = world.rm.state.queue_use.by_queue.get(path)
    return use.resource.vcores if use is not None else 0


def lower(maximum: str) -> ConfUpdate:
    return ConfUpdate(updated=(QueueUpdate(path="root.a", properties={"maximum-capacity": maximum}),))


async def borrower_of_all(world: World) -> tuple[Am, list[ContainerId]]:
    am = await world.running_am(queue="a")
    tasks = await am.obtain(15)
    await world.beat(*map(running, tasks), running(am.container.id))
    return am, tasks


async def waiting_in_b(world: World, count: int = 8) -> Am:
    """An application whose ApplicationMaster has no room yet."""
    application_id = await world.submit(queue="b")
    await world.settle()
    return Am(world, world.application(application_id).current_attempt_id)


async def round_of(world: World) -> None:
    await world.run(world.rm.preemption.look())
    await world.settle()


async def test_borrowed_containers_are_asked_back_and_end_at_the_deadline(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await waiting_in_b(world)
    await round_of(world)
    told = (await am.beat()).preempted
    assert [container.id for container in told] == [tasks[-1]], "the newest, and no more than are wanted"
    assert not (await am.beat()).preempted, "told once"

    await world.pass_time(14)
    await round_of(world)
    assert world.container(tasks[-1]).is_live
    await world.pass_time(1)
    await round_of(world)
    ended = world.container(tasks[-1])
    assert (ended.state, ended.exit_status) == (ContainerState.COMPLETED, ContainerExitStatus.PREEMPTED)
    assert (
        ended.diagnostics == "Container preempted by scheduler: capacity of queue root.a is reclaimed for queue root.b"
    )
    assert [container.id for container in (await am.beat()).completed] == [tasks[-1]]
    assert held(world, "root.b") == 1


async def test_what_was_taken_back_is_told_of_the_application_also_when_it_is_forgotten(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await waiting_in_b(world)
    await round_of(world)
    await world.pass_time(20)
    await round_of(world)

    def told() -> Preempted:
        return world.rm.queries.application(am.application_id).preempted

    size, lived_s = world.container(tasks[-1]).capability, 20
    taken = Preempted(
        others=1,
        memory_mib=size.memory_mib,
        vcores=size.vcores,
        memory_mib_s=size.memory_mib * lived_s,
        vcore_s=size.vcores * lived_s,
    )
    assert told() == taken
    await am.beat()
    await am.beat()
    name = world.container(tasks[-1]).pod
    world.pods.pods = {known: pod for known, pod in world.pods.pods.items() if known != name}
    world.relist()
    await world.settle()
    await world.run(world.rm.forgetting.round())
    assert tasks[-1] not in world.rm.state.containers
    assert told() == taken
    await world.restart()
    assert told() == taken


async def test_what_the_master_does_not_know_yet_is_told_after_it_was_handed_over(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.beat(ask(15))
    await world.settle()
    await world.bind_and_settle()
    await waiting_in_b(world)
    await round_of(world)
    assert len(world.rm.preemption.notices) == 1
    answer = await am.beat()
    assert len(answer.granted) == 15
    assert not answer.preempted
    assert [container.id for container in (await am.beat()).preempted] == list(world.rm.preemption.notices)


async def test_containers_of_an_earlier_attempt_are_asked_of_the_one_that_lives() -> None:
    async with World(options()) as world:
        am = await world.running_am(queue="a", keep_containers_across_attempts=True)
        tasks = await am.obtain(15)
        await world.beat(*map(running, tasks), running(am.container.id))
        await am.exit(1)
        await world.settle()
        await world.bind_and_settle()
        heir = Am(world, world.application(am.application_id).current_attempt_id)
        assert heir.attempt_id != am.attempt_id
        await heir.register()
        await waiting_in_b(world)
        await round_of(world)
        assert [container.id for container in (await heir.beat()).preempted] == [tasks[-1]]


async def test_agents_hear_of_containers_on_notice_as_long_as_they_are_chosen(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await waiting_in_b(world)
    assert not (await world.beat()).on_notice
    await round_of(world)
    last_id = world.response_ids[NODE]
    lost = await world.beat()
    assert lost.on_notice == (tasks[-1],)
    assert await world.beat(response_id=last_id) == lost, "the same answer again"
    assert (await world.beat()).on_notice == (tasks[-1],), "what an agent heard makes no difference"
    await world.register_node(NODE, Resource(16 * 1024, 16))
    assert (await world.beat()).on_notice == (tasks[-1],), "nor does one that registers anew"

    await am.beat(releases=tasks[:1])
    await world.settle()
    await world.pass_time(3)
    await round_of(world)
    assert world.rm.preemption.notices == {}, "no request needs it any more"
    assert not (await world.beat()).on_notice


async def test_agents_hear_nothing_of_what_has_ended_or_of_what_is_off(world: World) -> None:
    await borrower_of_all(world)
    await waiting_in_b(world)
    await round_of(world)
    await world.pass_time(15)
    await round_of(world)
    assert not (await world.beat()).on_notice


async def test_queues_come_to_their_guarantees(world: World) -> None:
    await borrower_of_all(world)
    owner = await waiting_in_b(world)
    for _ in range(2):
        await round_of(world)
        await world.pass_time(15)
        await round_of(world)
        await world.bind_and_settle()
        if world.attempt(owner.attempt_id).state is AttemptState.LAUNCHED:
            await owner.register()
            await owner.beat(ask(20))
            await world.settle()
    assert (held(world, "root.a"), held(world, "root.b")) == (8, 8)
    await round_of(world)
    assert world.rm.preemption.notices == {}, "nothing more is asked, though b wants more"


async def test_who_gives_back_before_the_deadline_loses_nothing_more(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await waiting_in_b(world)
    await round_of(world)
    await am.beat(releases=tasks[:1])
    await world.settle()
    assert held(world, "root.b") == 1
    await world.pass_time(60)
    await round_of(world)
    assert all(world.container(task).is_live for task in tasks[1:])
    assert world.rm.preemption.notices == {}


async def test_a_queue_that_may_not_be_asked_keeps_what_it_has() -> None:
    async with World(options(AT_ONCE, replace(A, is_preemption_disabled=True), B)) as world:
        await borrower_of_all(world)
        await waiting_in_b(world)
        await round_of(world)
        assert world.rm.preemption.notices == {}


@pytest.mark.parametrize("rules", [PreemptionRules(), replace(AT_ONCE, observe_only=True)])
async def test_nothing_is_asked_where_it_is_off_or_only_observed(rules: PreemptionRules) -> None:
    async with World(options(rules)) as world:
        am, _ = await borrower_of_all(world)
        await waiting_in_b(world)
        await round_of(world)
        assert not (await am.beat()).preempted
        assert world.rm.preemption.notices == {}


async def test_a_small_cluster_gives_one_container_though_a_round_is_less() -> None:
    rules = replace(AT_ONCE, total_per_round=0.01, natural_termination_factor=0.01)
    async with World(options(rules)) as world:
        await borrower_of_all(world)
        await waiting_in_b(world)
        await round_of(world)
        assert len(world.rm.preemption.notices) == 1


async def test_a_maximum_that_is_lowered_is_come_back_to(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await world.run(world.rm.scheduler_conf.update("admin", lower("75")))
    await round_of(world)
    assert {container.id for container in (await am.beat()).preempted} == set(tasks[-4:])
    await world.pass_time(15)
    await round_of(world)
    assert held(world, "root.a") == 12


CAPPED = replace(A, maximum_capacity_percent=50.0)


@pytest.mark.parametrize("lent", [0, 4])
async def test_less_that_is_lent_ends_nothing_and_a_maximum_said_meanwhile_is_of_what_there_is(lent: int) -> None:
    """Half of sixteen are held when less is lent; they would be above half of what there is then."""
    async with World(options(AT_ONCE, CAPPED, B)) as world:
        am = await world.running_am(queue="a")
        tasks = await am.obtain(7)
        await world.beat(*map(running, tasks), running(am.container.id))
        await round_of(world)
        await world.register_node(NODE, Resource(lent * 1024, lent))
        for _ in range(2):
            await round_of(world)
            await world.pass_time(60)
        await round_of(world)
        assert (held(world, "root.a"), world.rm.preemption.given_count) == (8, 0)

        await world.run(
            world.rm.scheduler_conf.update(
                "admin", ConfUpdate(updated=(QueueUpdate(path="root.b", properties={"maximum-capacity": "90"}),))
            )
        )
        await round_of(world)
        assert world.rm.preemption.given_count == 0, "said of another queue"
        await world.run(world.rm.scheduler_conf.update("admin", lower("75")))
        await round_of(world)
        assert world.rm.preemption.given_count == 2, "six are three quarters of the eight that there are"


async def test_less_that_is_lent_ends_nothing_after_a_restart() -> None:
    """The queue draws on what Kubernetes' nodes publish: their own size is the most that they may."""
    async with World(replace(options(AT_ONCE, CAPPED, B), dialects={"root.a": "koordinator"})) as world:
        publish(world, 16)
        am = await world.running_am(queue="a")
        tasks = await am.obtain(7)
        await world.restart()
        publish(world, 4)
        await world.register_node(NODE, Resource(16 * 1024, 16))
        await world.beat(*map(running, tasks), running(am.container.id))
        assert world.rm.quotas.tree.shares["root.a"].maximum.vcores == 4
        await round_of(world)
        assert (held(world, "root.a"), world.rm.preemption.given_count) == (8, 0)


async def test_higher_priority_gets_from_lower_within_a_queue_and_masters_stay() -> None:
    rules = replace(AT_ONCE, is_intra_queue_enabled=True, intra_queue_max_allowable=1.0)
    async with World(options(rules)) as world:
        low, tasks = await borrower_of_all(world)
        high = await world.submit(queue="a", priority=1)
        await world.settle()
        await round_of(world)
        assert world.rm.preemption.notices == {}, "an ApplicationMaster alone waits as in YARN"
        await low.beat(releases=tasks[:1])
        await world.settle()
        await world.bind_and_settle()
        am = Am(world, world.application(high).current_attempt_id)
        await am.register()
        await am.beat(ask(2))
        await world.settle()
        await round_of(world)
        assert set(world.rm.preemption.notices) == set(tasks[-2:])
        await world.pass_time(14)
        assert all(world.container(task).is_live for task in tasks[-2:])
        await world.pass_time(1)
        assert not any(world.container(task).is_live for task in tasks[-2:])


async def test_a_pod_without_a_node_is_taken_back_and_its_wish_stays(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.beat(ask(15))
    await world.settle()
    assert world.rm.state.container_index.planned_count == 15
    await waiting_in_b(world)
    await world.pass_time(29)
    await round_of(world)
    assert world.rm.state.container_index.planned_count == 15
    await world.pass_time(1)
    await round_of(world)
    assert held(world, "root.b") == 1
    assert world.rm.preemption.withdrawn_count == 1
    assert world.rm.state.masters.wanted.count == 15
    assert not (await am.beat()).completed


async def test_notices_begin_anew_after_a_restart(world: World) -> None:
    am, tasks = await borrower_of_all(world)
    await waiting_in_b(world)
    await round_of(world)
    await world.restart()
    await world.register_node(NODE, Resource(16 * 1024, 16))
    await world.beat(*map(running, tasks), running(am.container.id))
    await round_of(world)
    await world.pass_time(14)
    await round_of(world)
    assert all(world.container(task).is_live for task in tasks)
    assert held(world, "root.a") == SMALL.vcores * 16
