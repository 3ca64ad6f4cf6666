"""Queues that limit: who starts, who waits and why, and what ApplicationMasters are told they may ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.playbook import Am, World, ask
from tests.support.rm_options import SMALL, Options
from yodel.domain.queues.amounts import said_in
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ApplicationState
from yodel.domain.waiting_words import Cause
from yodel.errors import InvalidResourceRequest, Refused

ROOT = Queue(path="root", is_leaf=False)
A = Queue(path="root.a", capacity_percent=50.0, maximum_capacity_percent=75.0, user_limit_factor=-1.0)
B = Queue(path="root.b", capacity_percent=50.0, user_limit_factor=-1.0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Sixteen small containers: a is guaranteed eight and may hold twelve."""
    async with World(Options(queues=(ROOT, A, B))) as world:
        yield world


def held(world: World, path: str) -> int:
    use = world.rm.state.queue_use.by_queue.get(path)
    return use.resource.vcores if use is not None else 0


async def test_queue_stops_at_its_maximum_and_says_so(world: World) -> None:
    am = await world.running_am(queue="a")
    answer = await am.beat(ask(20))
    assert answer.headroom == SMALL * 11
    await world.settle()
    assert held(world, "root.a") == 12
    view = world.rm.queries.application(am.application_id)
    assert view.application.diagnostics == (
        "Queue root.a is at its maximum capacity: used 12 GiB, 12 vcores of 12 GiB, 12 vcores; requested 1 GiB, "
        "1 vcore."
    )
    assert (await am.beat()).headroom == NONE

    await world.pass_time(1)
    await am.beat(ask(0))
    await world.settle()
    assert world.rm.queries.application(am.application_id).application.diagnostics == ""


async def test_queue_under_its_guarantee_is_served_before_who_came_first(world: World) -> None:
    first = await world.running_am(queue="a")
    second = await world.running_am(queue="b")
    await first.beat(ask(10))
    await second.beat(ask(10))
    await world.settle()
    assert (held(world, "root.a"), held(world, "root.b")) == (8, 8)


async def test_what_is_free_is_lent_and_comes_back_as_containers_end(world: World) -> None:
    borrower = await world.running_am(queue="a")
    tasks = await borrower.obtain(11)
    owner = await world.running_am(queue="b")
    await owner.beat(ask(7))
    await world.settle()
    assert (held(world, "root.a"), held(world, "root.b")) == (12, 4)
    await borrower.beat(ask(10), releases=tasks[:6])
    await world.settle()
    await world.pass_time(5)
    assert held(world, "root.b") == 8
    assert held(world, "root.a") == 8


async def test_user_is_held_to_his_limit_while_another_starts() -> None:
    limited = replace(B, user_limit_factor=0.5)
    async with World(Options(queues=(ROOT, A, limited))) as world:
        alice = await world.running_am(queue="b", user="alice")
        assert (await alice.beat(ask(9))).headroom == SMALL * 3
        await world.settle()
        assert held(world, "root.b") == 4
        text = world.rm.queries.application(alice.application_id).application.diagnostics
        assert text.startswith("User capacity has reached its maximum limit, user limit is <memory:4096, vCores:4>")
        bob = await world.running_am(queue="b", user="bob")
        await bob.beat(ask(9))
        await world.settle()
        assert held(world, "root.b") == 8


async def test_one_user_grows_beyond_the_guarantee_with_large_containers() -> None:
    async with World(Options(queues=(ROOT, A, replace(B, user_limit_factor=2.0)))) as world:
        alice = await world.running_am(queue="b", user="alice")
        await alice.beat(ask(5, capability=SMALL * 3))
        await world.settle()
        assert held(world, "root.b") == 16


async def test_master_over_its_queues_share_waits_with_hadoops_words_and_starts_when_there_is_room() -> None:
    queues = (ROOT, replace(A, am_share=0.05), B)
    async with World(Options(queues=queues)) as world:
        first = await world.running_am(queue="a")
        waiting = await world.submit(queue="a")
        await world.settle()
        assert world.application(waiting).state is ApplicationState.ACCEPTED
        text = world.rm.queries.application(waiting).application.diagnostics
        assert text.startswith(
            "Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded.  "
            "Details : AM Partition = <DEFAULT_PARTITION>; AM Resource Request = <memory:1024, vCores:1>; "
        )
        other = await world.running_am(queue="b")
        assert other.container.is_live
        await first.finish()
        await first.exit()
        await world.pass_time(5)
        await world.bind_and_settle()
        am = Am(world, world.application(waiting).current_attempt_id)
        assert world.container(am.container.id).is_live


async def test_application_that_is_moved_takes_its_use_along(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.obtain(3)
    await world.run(world.rm.changes.move(am.application_id, "alice", "b"))
    assert (held(world, "root.a"), held(world, "root.b"), held(world, "root")) == (0, 4, 4)
    assert world.rm.state.queue_use.by_user.keys() == {("root.b", "alice")}
    await world.restart()
    await world.settle()
    assert (held(world, "root.a"), held(world, "root.b")) == (0, 4)


@pytest.mark.parametrize(
    ("limits", "user", "says"),
    [
        ({"maximum_applications": 1}, "bob", "Queue root.a already has 1 applications, cannot accept submission of "),
        (
            {"maximum_applications": 2, "user_limit_factor": 0.5},
            "alice",
            "Queue root.a already has 1 applications from user alice cannot accept submission of application: ",
        ),
        ({"maximum_applications": 2, "user_limit_factor": 0.5}, "bob", ""),
    ],
)
async def test_queue_with_enough_applications_takes_no_more(limits: dict[str, float], user: str, says: str) -> None:
    async with World(Options(queues=(ROOT, replace(A, **limits), B))) as world:  # type: ignore[arg-type]
        await world.submit(queue="a", user="alice")
        refused = world.application(await world.submit(queue="a", user=user))
        assert refused.diagnostics.startswith(says)
        assert (refused.state is ApplicationState.FAILED) == bool(says)
        assert world.rm.state.queue_use.live_by_queue["root.a"] == (1 if says else 2)


async def test_scheduler_with_enough_applications_takes_no_more_in_any_queue() -> None:
    async with World(Options(queues=tuple(replace(one, applications_of_all=2) for one in (ROOT, A, B)))) as world:
        assert world.application(await world.submit(queue="a")).state is ApplicationState.ACCEPTED
        assert world.application(await world.submit(queue="b")).state is ApplicationState.ACCEPTED
        refused = world.application(await world.submit(queue="b"))
        assert refused.diagnostics == (
            f"Maximum system application limit reached,cannot accept submission of application: {refused.id}"
        )
        assert refused.state is ApplicationState.FAILED


async def test_guarantee_in_amounts_is_kept_beside_weights_and_scaled_when_nodes_go() -> None:
    """Sixteen small containers: six are a's, b and c share the rest."""
    own = said_in("capacity", "[memory=6144,vcores=6]")
    a = Queue(path="root.a", capacity_amounts=own, maximum_amounts=said_in("m", "[vcores=12]"), user_limit_factor=-1.0)
    weighed = [Queue(path=f"root.{name}", weight=1.0, user_limit_factor=-1.0) for name in "bc"]
    async with World(Options(queues=(ROOT, a, *weighed))) as world:
        ams = [await world.running_am(queue=name) for name in "abc"]
        for am in ams:
            await am.beat(ask(20))
        await world.settle()
        assert [held(world, f"root.{name}") for name in "abc"] == [6, 5, 5]
        text = world.rm.queries.application(ams[0].application_id).application.diagnostics
        assert text.startswith("The cluster has too little free capacity")
        await world.register_node(capability=SMALL * 16)
        shares = world.rm.quotas.tree.shares
        assert (shares["root.a"].guaranteed, shares["root.a"].maximum.vcores) == (SMALL * 6, 12)


async def test_application_above_the_number_that_may_run_waits_until_another_ends() -> None:
    """The limit of the queue above counts too, and whatever the order of queues."""
    above = Queue(path="root.p", capacity_percent=50.0, is_leaf=False, maximum_parallel_applications=2)
    x = Queue(path="root.p.x", capacity_percent=50.0, user_limit_factor=-1.0, maximum_parallel_applications=1)
    y = Queue(path="root.p.y", capacity_percent=50.0, user_limit_factor=-1.0)
    async with World(Options(queues=(ROOT, above, x, y, B))) as world:
        first = await world.running_am(queue="x")
        second = await world.submit(queue="x")
        third = await world.running_am(queue="y")
        fourth = await world.submit(queue="y")
        assert (await world.running_am(queue="b")).container.is_live
        await world.settle()
        assert [world.application(one).state for one in (second, fourth)] == [ApplicationState.ACCEPTED] * 2
        text = "Application is added to the scheduler and is not yet activated. Queue {} runs {} applications; the "
        for waits, said in ((second, text.format("root.p.x", 1)), (fourth, text.format("root.p", 2))):
            assert world.rm.queries.application(waits).application.diagnostics.startswith(said)
        await third.finish()
        await third.exit()
        await world.pass_time(5)
        await world.bind_and_settle()
        assert world.container(Am(world, world.application(fourth).current_attempt_id).container.id).is_live
        assert world.application(second).state is ApplicationState.ACCEPTED
        await first.finish()
        await first.exit()
        await world.pass_time(5)
        await world.bind_and_settle()
        assert world.container(Am(world, world.application(second).current_attempt_id).container.id).is_live
        await world.restart()
        await world.settle()
        assert world.rm.state.queue_use.by_queue["root.p"].masters == 2


async def test_number_that_may_run_is_of_root_over_all_and_counts_those_of_one_decision() -> None:
    async with World(Options(queues=(replace(ROOT, maximum_parallel_applications=3), A, B))) as world:
        await world.register_node()
        for number in range(6):
            await world.submit(queue="ab"[number % 2])
        await world.settle()
        assert world.rm.state.queue_use.by_queue["root"].masters == 3


async def test_number_that_may_run_goes_along_with_an_application_that_is_moved() -> None:
    async with World(Options(queues=(ROOT, A, replace(B, maximum_parallel_applications=1)))) as world:
        am = await world.running_am(queue="a")
        await world.run(world.rm.changes.move(am.application_id, "alice", "b"))
        await world.submit(queue="b")
        await world.submit(queue="a")
        await world.settle()
        use = world.rm.state.queue_use.by_queue
        assert (use["root.a"].masters, use["root.b"].masters) == (1, 1)


async def test_unmanaged_master_beyond_the_number_that_may_run_gets_nothing_until_another_ends() -> None:
    """It is launched by itself, as with the CapacityScheduler: what waits is what it asks for."""
    async with World(Options(queues=(ROOT, replace(A, maximum_parallel_applications=1), B))) as world:
        await world.register_node()
        first, second = [await world.running_am(queue="a", is_unmanaged=True) for _ in range(2)]
        managed = await world.submit(queue="a")
        await first.obtain(2)
        await second.beat(ask(3))
        await world.settle()
        assert held(world, "root.a") == 2
        said = "Queue root.a runs 1 applications; the maximum is 1 (max-parallel-apps)."
        why = world.rm.queries.why.of(world.application(second.application_id))
        assert why.summary.startswith("Waiting for 3 containers: ")
        assert why.asks[0].chain[0].cause is Cause.PARALLEL_APPLICATIONS
        for one in (second.application_id, managed):
            assert world.rm.queries.application(one).application.diagnostics.endswith(said)

        await world.restart()
        await first.register()
        await second.register()
        await second.beat(ask(3))
        await world.settle()
        assert held(world, "root.a") == 2, "who has containers runs"
        await first.finish()
        await world.settle()
        await world.pass_time(5)
        assert held(world, "root.a") == 3
        assert world.application(managed).state is ApplicationState.ACCEPTED
        await second.finish()
        await world.pass_time(5)
        assert world.rm.state.queue_use.by_queue["root.a"].masters == 1, "one more that waited"


async def test_unmanaged_masters_that_run_when_the_number_is_lowered_go_on_after_a_restart() -> None:
    async with World(Options(queues=(ROOT, A, B))) as world:
        await world.register_node()
        ams = [await world.running_am(queue="a", is_unmanaged=True) for _ in range(2)]
        for am in ams:
            await am.obtain(1)
        lowered = replace(A, maximum_parallel_applications=1)
        world.options = replace(world.options, queues=(ROOT, lowered, B))
        await world.restart()
        assert world.rm.state.queues["root.a"].maximum_parallel_applications == 1
        for am in ams:
            await am.register()
            await am.beat(ask(1))
        await world.settle()
        assert held(world, "root.a") == 4


async def test_unmanaged_masters_run_at_once_where_that_is_raised_or_nothing_limits() -> None:
    limited = replace(A, maximum_parallel_applications=1)
    async with World(Options(queues=(ROOT, limited, B))) as world:
        await world.register_node()
        for am in [await world.running_am(queue="a", is_unmanaged=True) for _ in range(2)]:
            await am.beat(ask(1))
        await world.settle()
        assert held(world, "root.a") == 1

        def raised(tx: object) -> None:
            tx.queues.rows.append(A)  # type: ignore[attr-defined]

        await world.run(world.rm.engine.do(raised))
        await world.settle()
        assert held(world, "root.a") == 2
    observing = replace(ROOT, enforcement=LimitEnforcement.OBSERVE)
    async with World(Options(queues=(observing, limited, B))) as world:
        await world.register_node()
        for am in [await world.running_am(queue="a", is_unmanaged=True) for _ in range(2)]:
            await am.beat(ask(1))
        await world.settle()
        assert held(world, "root.a") == 2


async def test_submissions_of_one_commit_count_for_one_another() -> None:
    async with World(Options(queues=(ROOT, replace(A, maximum_applications=2), B))) as world:
        ids = await asyncio.gather(*(world.submit(queue="a") for _ in range(5)))
        states = [world.application(application_id).state for application_id in ids]
        assert states.count(ApplicationState.FAILED) == 3


async def test_queue_with_enough_applications_takes_none_from_another_queue() -> None:
    async with World(Options(queues=(ROOT, replace(A, maximum_applications=1), B))) as world:
        first = await world.submit(queue="a")
        second = await world.submit(queue="b")
        with pytest.raises(Refused, match=r"Queue root.a already has 1 applications, cannot accept submission of"):
            await world.run(world.rm.changes.move(second, "alice", "a"))
        assert world.application(second).submission.queue == "root.b"
        assert await world.run(world.rm.changes.move(first, "alice", "a")) == "root.a"  # it is there already
        assert await world.run(world.rm.changes.move(first, "alice", "b")) == "root.b"
        assert await world.run(world.rm.changes.move(second, "alice", "a")) == "root.a"


async def test_tree_that_only_observes_keeps_nobody_waiting() -> None:
    queues = (replace(ROOT, enforcement=LimitEnforcement.OBSERVE), replace(A, maximum_applications=1), B)
    async with World(Options(queues=queues)) as world:
        am = await world.running_am(queue="a")
        assert (await am.beat(ask(15))).headroom == SMALL * 15
        await world.settle()
        assert held(world, "root.a") == 16
        waiting = world.application(await world.submit(queue="a"))
        assert waiting.state is not ApplicationState.FAILED


async def test_limit_that_is_raised_wakes_who_waits(world: World) -> None:
    am = await world.running_am(queue="a")
    await am.beat(ask(15))
    await world.settle()
    assert held(world, "root.a") == 12

    def raised(tx: object) -> None:
        tx.queues.rows.append(replace(A, maximum_capacity_percent=100.0))  # type: ignore[attr-defined]

    await world.run(world.rm.engine.do(raised))
    await world.settle()
    assert held(world, "root.a") == 16


async def test_headroom_follows_what_others_hold(world: World) -> None:
    am = await world.running_am(queue="a")
    other = await world.running_am(queue="b")
    assert (await am.beat()).headroom == SMALL * 11
    await other.obtain(7)
    assert (await am.beat()).headroom == SMALL * 7
    await world.register_node(capability=Resource(32_768, 32))
    assert (await am.beat()).headroom == SMALL * 23


async def test_container_that_its_application_master_takes_over_changes_no_headroom() -> None:
    """Its user is active until the container is planned, as until it is allocated in a CapacityScheduler."""
    async with World(
        Options(queues=(ROOT, A, replace(B, user_limit_factor=1.0, minimum_user_limit_percent=10.0)))
    ) as world:
        alice, bob = [await world.running_am(queue="b", user=user) for user in ("alice", "bob")]
        await bob.beat(ask(2))
        await world.settle()
        await world.bind_and_settle()
        before = (await alice.beat()).headroom
        assert len((await bob.beat()).granted) == 2
        after = (await alice.beat()).headroom
        world.rm.scheduler.wake()
        await world.settle()
        assert before == after == (await alice.beat()).headroom


async def test_largest_container_of_a_queue_is_what_its_applications_may_ask_for() -> None:
    small = replace(A, maximum_allocation_mib=2048, maximum_allocation_vcores=2)
    async with World(Options(queues=(ROOT, small, B))) as world:
        am = await world.running_am(queue="a")
        with pytest.raises(InvalidResourceRequest, match="maximum allowed allocation=<memory:2048, vCores:2>"):
            await am.beat(ask(1, capability=Resource(4096, 1)))
        assert world.rm.submission.largest("root.a") == Resource(2048, 2)
        with pytest.raises(InvalidResourceRequest, match="maximum allowed allocation=<memory:2048, vCores:2>"):
            await world.submit(queue="a", am_asked_capability=Resource(4096, 1))


async def test_largest_container_is_the_least_of_queue_queue_above_cluster_and_node() -> None:
    above = Queue(path="root.p", is_leaf=False, maximum_allocation_vcores=3)
    leaf = Queue(path="root.p.x", maximum_allocation_vcores=3, maximum_allocation_mib=6144)
    async with World(Options(queues=(ROOT, above, leaf))) as world:
        assert world.rm.submission.largest("root.p.x") == Resource(6144, 3)
        await world.register_node(capability=Resource(4096, 16))
        assert world.rm.submission.largest("root.p.x") == Resource(4096, 3)
        await world.register_node(capability=Resource(16384, 2))
        assert world.rm.submission.largest("root.p.x") == Resource(6144, 2)
