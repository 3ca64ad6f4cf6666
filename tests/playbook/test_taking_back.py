"""A node lends less than is held there: who is told, who ends and how, and what is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.lending import ON, held, lending_world, lent_node, published, say
from tests.support.loans import report
from tests.support.playbook import Am, World, ask, complete, running
from yodel.domain.ids import ContainerId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.domain.states import AttemptState, ContainerExitStatus
from yodel.errors import AccessDenied, Refused
from yodel.translator.publishing import LentAmounts


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        yield made


async def a_job(world: World, tasks: int, lent: int = 9) -> tuple[Am, list[ContainerId]]:
    await say(world, lent)
    am = await world.running_am(queue="batch")
    found = await am.obtain(tasks)
    await world.beat(*map(running, found), running(am.container.id))
    return am, found


async def go_on(world: World, seconds: int, lent: int) -> None:
    """The agent says the same of its loan with each beat, and of what lives."""
    for _ in range(seconds):
        await say(world, lent)


def on_notice(world: World) -> list[ContainerId]:
    return sorted(world.rm.state.notices.of_teller(Teller.LOANS))


def ended(world: World, tasks: list[ContainerId]) -> list[ContainerId]:
    return [one for one in tasks if not world.container(one).is_live]


async def test_a_shrink_is_told_and_what_does_not_fit_ends_at_the_deadline(world: World) -> None:
    am, tasks = await a_job(world, 5)
    await say(world, 4)
    assert on_notice(world) == tasks[-2:], "six are held: the newest two, and nobody else"
    notice = world.rm.state.notices.of(tasks[-1])
    assert notice is not None
    assert (notice.reason, notice.why) == (
        NoticeReason.LENT_CAPACITY,
        "node-1 offers 4 of the 6 cores and 4096 of the 6144 MiB of memory in use by batch",
    )
    assert [container.id for container in (await am.beat()).preempted] == tasks[:-3:-1]
    assert set((await world.beat()).on_notice) == set(tasks[-2:])
    assert world.rm.state.closed_for("root.batch") == {NODE.host}
    await go_on(world, 27, 4)
    assert not ended(world, tasks)
    await go_on(world, 3, 4)
    assert ended(world, tasks) == tasks[-2:]
    gone = world.container(tasks[-1])
    assert gone.exit_status == ContainerExitStatus.PREEMPTED
    assert gone.diagnostics == f"Container preempted by scheduler: {notice.why}"
    await go_on(world, 2, 4)
    assert (published(world), held(world)) == ((4, 4), 4)
    assert not on_notice(world)


async def test_own_priorities_of_one_application_cost_no_other_its_containers(world: World) -> None:
    """MapReduce asks at 20, Spark at 1: neither says anything of the other."""
    _, tasks = await a_job(world, 2)
    newer = await world.running_am(queue="batch")
    urgent = await newer.obtain(1, priority=0)
    usual = await newer.obtain(1, priority=20)
    await world.beat(*map(running, [*urgent, *usual]))
    await say(world, 5)
    assert on_notice(world) == usual, "of the newer, the one that matters less to it"
    await say(world, 4)
    assert on_notice(world) == sorted(usual + urgent)
    first = world.rm.holdings.ranks(NODE)[:4]
    assert first == (usual[0], urgent[0], *tasks[::-1]), "and its agent hears the same order"


async def test_why_it_goes_is_told_everywhere(world: World) -> None:
    am, tasks = await a_job(world, 5)
    await say(world, 5)
    text = (
        "1 container will be stopped within 30 s (lent capacity): node-1 offers 5 of the 6 cores "
        "and 5120 of the 6144 MiB of memory in use by batch."
    )
    found = world.rm.queries.noticed.of(tasks[-1])
    assert found is not None
    assert found.text == text
    assert world.rm.queries.application(am.application_id).application.diagnostics == text
    why = world.rm.queries.why.of(world.application(am.application_id))
    assert [notice.text for notice in why.notices] == [text]
    await go_on(world, 30, 5)
    assert world.rm.queries.application(am.application_id).preempted.others == 1


async def test_a_loan_that_grows_again_ends_nobody(world: World) -> None:
    _, tasks = await a_job(world, 5)
    await say(world, 4)
    assert len(on_notice(world)) == 2
    await go_on(world, 20, 5)
    assert on_notice(world) == [tasks[-1]], "less is short, and so less goes"
    await say(world, 9)
    assert not on_notice(world)
    assert world.rm.state.closed_for("root.batch") == frozenset()
    await go_on(world, 20, 9)
    await say(world, 4)
    await go_on(world, 20, 4)
    assert not ended(world, tasks), "the time begins anew"
    await go_on(world, 12, 4)
    assert ended(world, tasks) == tasks[-2:]


async def test_what_ends_by_itself_spares_others(world: World) -> None:
    am, tasks = await a_job(world, 5)
    await say(world, 4)
    await world.beat(complete(tasks[0]))
    world.pods.finish(world.container(tasks[0]).pod, 0)
    await say(world, 4)
    assert on_notice(world) == [tasks[-1]]
    await am.beat(ask(2))
    await go_on(world, 31, 4)
    assert ended(world, tasks) == [tasks[0], tasks[-1]]
    assert held(world) == 4, "nothing new until it fits"


async def test_cores_come_back_three_a_minute_and_memory_at_once(world: World) -> None:
    _, tasks = await a_job(world, 7)
    await say(world, 0, capacity=report(2, memory_gib=9))
    assert on_notice(world) == tasks[-3:]
    for _ in range(58):
        await say(world, 0, capacity=report(2, memory_gib=9))
    assert ended(world, tasks) == tasks[-3:]
    assert not on_notice(world)
    for _ in range(3):
        await say(world, 0, capacity=report(2, memory_gib=9))
    assert on_notice(world) == tasks[1:4]
    await say(world, 2)
    assert on_notice(world) == tasks[1:4]
    await say(world, 0, capacity=report(0, memory_gib=1))
    assert on_notice(world) == tasks[:4]


async def test_a_master_goes_last_and_its_attempt_does_not_count(world: World) -> None:
    am, tasks = await a_job(world, 2)
    await say(world, 0)
    assert on_notice(world) == [am.container.id, *tasks]
    assert set((await world.beat()).on_notice) == set(tasks), "an agent hears of no master"
    await go_on(world, 29, 0)
    assert am.container.is_live
    await go_on(world, 2, 0)
    attempt, application = world.attempt(am.attempt_id), world.application(am.application_id)
    assert (attempt.state, application.failure_times_ms) == (AttemptState.FAILED, ())
    assert attempt.diagnostics.count("in use by batch") == 1
    assert application.current_attempt_id.attempt == 2
    await say(world, 9)
    second = Am(world, application.current_attempt_id)
    assert second.container.is_live


async def test_it_goes_on_without_preemption_and_notices_of_others_are_credit(world: World) -> None:
    """Quotas are enforced in this world, and preemption is off."""
    assert not world.rm.preemption.rules.is_enabled
    _, tasks = await a_job(world, 5)
    node_id = world.container(tasks[0]).node_id
    assert node_id is not None
    soon = PreemptionNotice(node_id=node_id, reason=NoticeReason.QUEUE, why="b wants it", given_s=0.0, deadline_s=1.0)
    late = replace(soon, deadline_s=world.clock.monotonic_s() + 3600)
    world.rm.state.notices.tell(Teller.QUEUES, {tasks[0]: soon, tasks[1]: late})
    await world.beat(proved_name=NODE.host, policy_version="one", capacity=report(4))
    await world.run(world.rm.taking_back.look())
    assert on_notice(world) == [tasks[-1]]


async def test_an_order_takes_a_node_back_in_order_and_stands_a_minute_after_it_fits(world: World) -> None:
    am, tasks = await a_job(world, 5)
    (node_id,) = world.rm.state.nodes
    left = LentAmounts(cpu_milli=3_500, memory_mib=8_192)
    found = await world.run(world.rm.taking_back.evict("admin", node_id, left, is_dry_run=True))
    assert [victim.container.id for victim in found.victims] == tasks[:-4:-1]
    assert (found.fits, on_notice(world)) == (True, [])
    await world.run(world.rm.taking_back.evict("admin", node_id, left, is_dry_run=False))
    assert on_notice(world) == tasks[-3:]
    notice = world.rm.state.notices.of(tasks[-1])
    assert notice is not None
    assert notice.why.endswith("offers 3.5 of the 6 cores in use by batch (ordered by an administrator)")
    await am.beat(ask(9))
    await go_on(world, 31, 9)
    assert (ended(world, tasks), held(world)) == (tasks[-3:], 3)
    await go_on(world, 55, 9)
    assert (published(world), held(world)) == ((3, 8), 3)
    await go_on(world, 8, 9)
    assert (published(world), held(world)) == ((9, 9), 9), "what its agent reports"


async def test_what_lends_nothing_is_not_taken_back_and_only_administrators_order(world: World) -> None:
    (node_id,) = world.rm.state.nodes
    nothing = LentAmounts(cpu_milli=0, memory_mib=0)
    with pytest.raises(Refused, match="lends no capacity"):
        await world.run(world.rm.taking_back.evict("admin", node_id, nothing, is_dry_run=False))
    await a_job(world, 1)
    with pytest.raises(AccessDenied):
        await world.run(world.rm.taking_back.evict("alice", node_id, nothing, is_dry_run=True))
    assert lent_node(world, NODE.host).ordered is None


@pytest.mark.parametrize("enforcement", list(LimitEnforcement))
async def test_who_holds_most_above_its_guarantee_goes_first_where_guarantees_count(
    enforcement: LimitEnforcement,
) -> None:
    """``batch`` is guaranteed one of ten cores and holds five, ``night`` is guaranteed nine and holds five."""
    queues = (
        Queue(path="root", is_leaf=False, enforcement=enforcement),
        Queue(path="root.day", capacity_percent=100.0, user_limit_factor=-1.0),
        Queue(path="root.batch", capacity_percent=10.0, user_limit_factor=-1.0),
        Queue(path="root.night", capacity_percent=90.0, user_limit_factor=-1.0),
    )
    async with lending_world(queues, ("root.batch", "root.night")) as world:
        await say(world, 10)
        batch = await world.running_am(queue="batch")
        tasks = await batch.obtain(4)
        await world.pass_time(5)
        night = await world.running_am(queue="night")
        newer = await night.obtain(4)
        await say(world, 8)
        first = tasks if enforcement is LimitEnforcement.LIMIT else newer
        assert on_notice(world) == first[-2:]


async def test_notices_begin_anew_after_a_restart(world: World) -> None:
    _, tasks = await a_job(world, 5)
    await go_on(world, 25, 4)
    assert on_notice(world) == tasks[-2:]
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node()
    world.relist()
    await go_on(world, 25, 4)
    assert not ended(world, tasks), "nothing ends on the word of a life that is over"
    await go_on(world, 10, 4)
    assert ended(world, tasks) == tasks[-2:]
