"""An application is told why it is pending: the chain of causes, with figures, users and what would unblock them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.playbook.test_placement_constraints import WITH_ZK, requests
from tests.playbook.test_resizing import update
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, running
from tests.support.rm_options import SMALL, Options
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.ask_book import Ask
from yodel.domain.ids import ApplicationId
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.waiting_words import Cause
from yodel.errors import Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.views.why import AskView, Obstacle, WhyView

ROOT = Queue(path="root", is_leaf=False)
P = Queue(path="root.p", capacity_percent=50.0, maximum_capacity_percent=75.0, is_leaf=False)
A = Queue(path="root.p.a", capacity_percent=50.0, maximum_capacity_percent=100.0, user_limit_factor=-1.0)
C = Queue(path="root.p.c", capacity_percent=50.0, maximum_capacity_percent=50.0, user_limit_factor=-1.0)
B = Queue(path="root.b", capacity_percent=50.0, user_limit_factor=-1.0)
"""Sixteen small containers: p may hold twelve, a all of these, c six."""


def options(*queues: Queue, **changes: Any) -> Options:
    submission = SubmissionLimits(max_priority=10)
    return Options(queues=(ROOT, *(queues or (P, A, C, B))), submission=submission, **changes)


def why(world: World, application_id: ApplicationId) -> WhyView:
    found = world.rm.queries.why.of(world.application(application_id))
    for one in (waited for waited in found.asks if not waited.is_under_way):
        for link in one.chain:
            check_figures(world, link)
    return found


def check_figures(world: World, link: Obstacle) -> None:
    """Compare the figures shown with those of the ledger."""
    use = world.rm.state.queue_use
    if link.cause is Cause.QUEUE_MAX_CAPACITY:
        assert link.used == use.by_queue[link.queue].resource
    if link.cause is Cause.USER_LIMIT:
        assert link.used == use.by_user[link.queue, link.user].resource
    if link.cause is Cause.QUEUE_AM_LIMIT:
        assert link.used == use.by_queue[link.queue].am_resource
    if link.used_by and not link.more_users and link.used is not None:
        assert sum(one.used.memory_mib for one in link.used_by) == link.used.memory_mib


def only(view: WhyView) -> AskView:
    """The one that no pods were made for."""
    (found,) = (waited for waited in view.asks if not waited.is_under_way)
    return found


def names(found: AskView) -> list[Cause]:
    return [link.cause for link in found.chain]


async def full(world: World, count: int, queue: str) -> Am:
    am = await world.running_am(queue=queue)
    tasks = await am.obtain(count - 1)
    await world.beat(*map(running, tasks), running(am.container.id))
    return am


async def test_every_full_queue_above_is_a_link_nearest_first_with_those_who_hold_it() -> None:
    async with World(options()) as world:
        await full(world, 6, "root.p.a")
        other = await world.running_am(queue="root.p.c", user="bob")
        await other.beat(ask(9))
        await world.settle()
        found = only(why(world, other.application_id))
        assert (found.count, found.size, found.priority) == (4, SMALL, 1)
        assert [(link.cause, link.queue) for link in found.chain] == [
            (Cause.QUEUE_MAX_CAPACITY, "root.p.c"),
            (Cause.QUEUE_MAX_CAPACITY, "root.p"),
        ]
        leaf, above = found.chain
        assert (leaf.limit, leaf.used) == (SMALL * 6, SMALL * 6)
        assert (above.limit, above.used) == (SMALL * 12, SMALL * 12)
        assert [(one.kind, one.name, one.queue, one.used) for one in above.used_by] == [
            ("user", "bob", "root.p.c", SMALL * 6),
            ("user", "alice", "root.p.a", SMALL * 6),
        ]
        assert above.change.startswith("containers of root.p finish, or its maximum-capacity is raised")
        text = world.rm.queries.application(other.application_id).application.diagnostics
        assert text == leaf.text


@pytest.mark.parametrize(("mine", "others", "is_named"), [(8, 8, True), (6, 10, False)])
async def test_queue_of_a_lower_priority_sees_those_that_are_served_before(
    mine: int, others: int, is_named: bool
) -> None:
    """A queue that has less than the guarantee is before one that has it, whatever the priorities."""
    root = replace(ROOT, is_by_priority=True)
    async with World(Options(queues=(root, P, A, C, replace(B, priority=2)))) as world:
        await full(world, others, "root.b")
        first = await full(world, mine, "root.p.a")
        await world.submit(queue="root.b")
        await first.beat(ask(2))
        await world.settle()
        links = {link.cause: link for link in only(why(world, first.application_id)).chain}
        assert (Cause.QUEUE_PRIORITY in links) == is_named
        if is_named:
            link = links[Cause.QUEUE_PRIORITY]
            assert link.text == "Served before root.p (priority 0), and also waiting: root.b (priority 2)."
            assert "the priority of root.p is raised" in link.change


async def test_application_above_the_number_that_may_run_sees_those_that_do() -> None:
    async with World(options(replace(P, maximum_parallel_applications=1), A, C, B)) as world:
        first = await world.running_am(queue="root.p.c", user="bob")
        waiting = await world.submit(queue="root.p.a")
        await world.settle()
        found = why(world, waiting)
        assert found.summary == (
            "Waiting for its ApplicationMaster: Application is added to the scheduler and is not yet activated. Queue "
            "root.p runs 1 applications; the maximum is 1 (max-parallel-apps)."
        )
        link = only(found).chain[0]
        assert (link.cause, link.queue, link.limit, link.used) == (Cause.PARALLEL_APPLICATIONS, "root.p", None, None)
        assert [(one.name, one.queue) for one in link.used_by] == [(str(first.application_id), "root.p.c")]
        assert link.change.startswith("an application in root.p finishes, or its max-parallel-apps is raised")


async def test_ask_is_shown_rounded_as_it_is_taken() -> None:
    async with World(options()) as world:
        am = await full(world, 12, "root.p.a")
        await am.beat(ask(1, capability=Resource(1500, 1)))
        await world.settle()
        found = only(why(world, am.application_id))
        assert found.size == Resource(2048, 1)
        assert "requested 2 GiB, 1 vcore" in found.chain[0].text


async def test_user_at_his_limit_sees_his_applications() -> None:
    async with World(options(replace(P, maximum_capacity_percent=100.0), replace(A, user_limit_factor=1.0), C, B)) as w:
        first = await full(w, 3, "root.p.a")
        await first.beat(ask(5))
        await w.settle()
        found = only(why(w, first.application_id))
        assert names(found) == [Cause.USER_LIMIT]
        (link,) = found.chain
        assert (link.user, link.queue, link.limit, link.used) == ("alice", "root.p.a", SMALL * 4, SMALL * 4)
        assert [(one.kind, one.name) for one in link.used_by] == [("application", str(first.application_id))]
        assert link.text == (
            "User alice is at the user limit of queue root.p.a: used 4 GiB, 4 vcores of 4 GiB, 4 vcores; requested "
            "1 GiB, 1 vcore."
        )


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"am_share": 0.05}, Cause.QUEUE_AM_LIMIT),
        ({"am_share": 1.0, "user_limit_factor": 0.1}, Cause.USER_AM_LIMIT),
    ],
)
async def test_master_over_a_share_says_whose_masters_hold_it(changes: dict[str, float], cause: Cause) -> None:
    async with World(options(replace(B, **changes))) as world:  # type: ignore[arg-type]
        first = await world.running_am(queue="b")
        waiting = await world.submit(queue="b")
        await world.settle()
        found = why(world, waiting)
        whose = "ApplicationMasters of user alice" if cause is Cause.USER_AM_LIMIT else "ApplicationMasters"
        assert found.summary == (
            f"Waiting for its ApplicationMaster: {whose} in queue root.b are at their limit: used 1 GiB, 1 vcore of "
            "1 GiB, 1 vcore; requested 1 GiB, 1 vcore."
        )
        link = only(found).chain[0]
        assert (only(found).name, link.cause) == ("the ApplicationMaster", cause)
        assert [one.name for one in link.used_by] == [str(first.application_id)]
        assert link.user == ("alice" if cause is Cause.USER_AM_LIMIT else "")
        text = world.rm.queries.application(waiting).application.diagnostics
        assert "Details : AM Partition = <DEFAULT_PARTITION>; AM Resource Request = <memory:1024, vCores:1>; " in text


async def test_of_applications_that_the_asker_may_not_see_only_the_number_is_told() -> None:
    async with World(options(B)) as world:
        await full(world, 16, "b")
        ids = [await world.submit(queue="b", priority=priority) for priority in (3, 2, 1)]
        await world.settle()
        app, queries = world.application(ids[2]), world.rm.queries
        text = only(queries.why.of(app, lambda other: other.id != ids[0])).chain[-1].text
        assert text == f"Served first in queue root.b, and also waiting: {ids[1]} (priority 2) and 1 more."
        text = only(queries.why.of(app, lambda _: False)).chain[-1].text
        assert text == "Served first in queue root.b, and also waiting: 2 others."


async def test_holders_that_the_asker_may_not_see_are_counted() -> None:
    rules = PreemptionRules(is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
    queues = (replace(B, path="root.a"), B)
    async with World(options(*queues, preemption=rules)) as world:
        await full(world, 16, "a")
        waiting = await world.submit(queue="b")
        await world.settle()
        await world.run(world.rm.preemption.look())
        link = only(world.rm.queries.why.of(world.application(waiting), lambda _: False)).chain[-1]
        assert (link.cause, link.used_by, link.more_users) == (Cause.PREEMPTION, (), 1)
        assert "application_" not in repr(link)


async def test_room_that_is_held_for_an_application_tells_which_to_whom_may_see_it() -> None:
    async with World(options(B)) as world:
        waiting, other = await world.submit(queue="b"), await world.submit(queue="b")
        await world.settle()
        hide, said = (
            world.rm.queries.why.without_others,
            f"Held for {other} (priority 1, 4 GiB, 4 vcores) of queue root.b.",
        )
        assert hide(said, lambda _: True) == said
        assert hide(said, lambda one: one.id == waiting) == "Held for another application of queue root.b."
        assert hide("Held for application_1_0001.", lambda _: True) == "Held for another application."


async def test_full_cluster_names_the_queues_that_hold_it_and_who_is_served_before() -> None:
    async with World(options(B)) as world:
        await full(world, 16, "b")
        ids = [await world.submit(queue="b") for _ in range(2)]
        ids.append(await world.submit(queue="b", priority=5))
        await world.settle()
        found = only(why(world, ids[1]))
        assert names(found) == [Cause.POOL_FULL, Cause.PRIORITY]
        room, before = found.chain
        assert (room.limit, room.used) == (SMALL * 16, SMALL * 16)
        assert [(one.kind, one.name, one.used) for one in room.used_by] == [("queue", "root.b", SMALL * 16)]
        assert before.text == (
            f"Served first in queue root.b, and also waiting: {ids[2]} (priority 5), {ids[0]} (priority 0)."
        )
        assert names(only(why(world, ids[2]))) == [Cause.POOL_FULL]
        text = world.rm.queries.application(ids[2]).application.diagnostics
        assert "waiting for resources to be assigned for AM. The cluster has too little free capacity: " in text
        assert "Partition Resource = <memory:16384, vCores:16> ; Queue's Absolute capacity = 50.0 % ; " in text


async def test_cluster_without_a_node_says_so() -> None:
    async with World() as world:
        waiting = await world.submit()
        await world.settle()
        assert names(only(why(world, waiting))) == [Cause.NO_NODE]


@pytest.mark.parametrize(
    ("wishes", "cause"),
    [
        ([ask(2, capability=Resource(8192, 4))], Cause.NODE_TOO_SMALL),
        ([ask(2, "nowhere"), ask(2, relax_locality=False)], Cause.STRICT_LOCALITY),
    ],
)
async def test_ask_that_no_node_can_take_says_what_is_wrong(wishes: list[Ask], cause: Cause) -> None:
    async with World(Options(allocation=AllocationLimits(minimum=SMALL, maximum_follows_nodes=False))) as world:
        await world.register_node(capability=Resource(4096, 4))
        am = await world.running_am()
        await am.beat(*wishes)
        await world.settle()
        found = only(why(world, am.application_id))
        assert names(found) == [cause]
        assert world.rm.queries.application(am.application_id).application.diagnostics.startswith(
            f"Cannot be placed: 2 of {found.size.with_units} (priority 1): "
        )


async def test_as_many_pods_under_way_as_may_be() -> None:
    limits = AllocationLimits(minimum=SMALL, maximum=Resource(8192, 4), in_flight_max=3)
    async with World(options(allocation=limits)) as world:
        am = await world.running_am(queue="b")
        await am.beat(ask(5))
        await world.settle()
        waiting, under_way = why(world, am.application_id).asks
        assert (waiting.count, names(waiting)) == (2, [Cause.UNSCHEDULED_PODS_LIMIT])
        assert waiting.chain[0].text == "Limit of unscheduled pods reached: 3 of 3 (in_flight_max)."
        assert (under_way.count, under_way.is_under_way, names(under_way)) == (3, True, [Cause.SCHEDULING])


async def test_pod_that_kubernetes_finds_no_node_for_says_it_in_the_schedulers_words() -> None:
    async with World(options()) as world:
        am = await world.running_am(queue="b")
        await am.beat(ask(1))
        await world.settle()
        (task,) = [c for c in world.rm.state.live_containers() if not c.is_am]
        words = "0/3 nodes are available: 3 Insufficient cpu."
        world.rm.state.reasons.explain_wait(task.id, words)
        (found,) = why(world, am.application_id).asks
        assert found.is_under_way
        assert (names(found), found.chain[0].text) == ([Cause.UNSCHEDULABLE], words)
        assert world.rm.queries.application(am.application_id).application.diagnostics == words


async def test_pod_that_a_limit_range_keeps_out_names_it_and_what_would_help() -> None:
    async with World(options()) as world:
        am = await world.running_am(queue="b")
        words = 'pods "p" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'
        world.pods.create_errors.append(Refused(words))
        await am.beat(ask(1))
        await world.settle()
        (found,) = why(world, am.application_id).asks
        assert found.chain[0].text == f"A LimitRange of the namespace does not allow the pod: {words}"
        assert "the LimitRange is changed" in found.chain[0].change


async def test_diagnostics_do_not_name_other_applications() -> None:
    """Whoever may see the one reads them, and may not see the other."""
    async with World(options()) as world:
        am, other = await world.running_am(queue="b"), await world.submit(queue="b")
        await am.beat(ask(1))
        await world.settle()
        (task,) = [
            c for c in world.rm.state.live_containers() if c.id.application_id == am.application_id and not c.is_am
        ]
        words = f"Held for {other} (priority 1, 4 GiB, 4 vcores) of queue root.b, before {am.application_id}."
        world.rm.state.reasons.explain_wait(task.id, words)
        text = world.rm.queries.application(am.application_id).application.diagnostics
        assert text == f"Held for another application of queue root.b, before {am.application_id}."


async def test_constraint_that_holds_nowhere_says_so() -> None:
    async with World() as world:
        am = await world.running_am()
        await am.beat(scheduling_asks=requests("hbase", 1, WITH_ZK))
        await world.settle()
        assert names(only(why(world, am.application_id))) == [Cause.PLACEMENT_CONSTRAINT]


async def test_patience_with_its_hosts_is_said() -> None:
    async with World() as world:
        await world.register_node()
        am = await full(world, 16, "default")
        await world.register_node(replace(NODE, host="node-2"))
        await am.beat(ask(1, resource_name=NODE.host), ask(1))
        await world.settle()
        assert names(only(why(world, am.application_id))) == [Cause.LOCALITY_DELAY]


async def test_container_that_has_no_room_to_grow_says_it_of_its_node() -> None:
    async with World() as world:
        am = await full(world, 16, "default")
        await world.register_node(replace(NODE, host="node-2"))
        task = next(c for c in world.rm.state.live_containers() if not c.is_am)
        await am.beat(updates=[update(task.id, 3072)])
        await world.settle()
        found = only(why(world, am.application_id))
        assert (found.name, names(found)) == (f"to enlarge {task.id}", [Cause.NODE_FULL])


async def test_containers_on_notice_for_the_queue_are_named() -> None:
    rules = PreemptionRules(is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
    queues = (replace(B, path="root.a"), B)
    async with World(options(*queues, preemption=rules)) as world:
        borrower = await full(world, 16, "a")
        waiting = await world.submit(queue="b")
        await world.settle()
        assert names(only(why(world, waiting))) == [Cause.POOL_FULL]
        await world.run(world.rm.preemption.look())
        found = only(why(world, waiting))
        assert names(found) == [Cause.POOL_FULL, Cause.PREEMPTION]
        link = found.chain[1]
        assert link.text.startswith("1 container of others will be preempted for queue root.b within ")
        assert [one.name for one in link.used_by] == [str(borrower.application_id)]


async def test_nothing_is_said_of_who_wants_nothing_more_and_of_who_has_ended() -> None:
    async with World(options()) as world:
        am = await full(world, 12, "root.p.a")
        await am.beat(ask(3))
        await world.settle()
        assert why(world, am.application_id).asks
        await world.pass_time(1)
        await am.beat(ask(0))
        await world.settle()
        found = why(world, am.application_id)
        assert (found.asks, found.summary) == (
            (),
            "Nothing is pending: every requested container has been allocated.",
        )
        assert len(world.rm.state.reasons.waiting) == 0
        await am.finish()
        await am.exit()
        await world.settle()
        ended = why(world, am.application_id)
        assert (ended.asks, ended.summary) == ((), "Nothing is pending: the application has ended (FINISHED).")


async def test_look_is_made_anew_for_who_asks_after_a_second() -> None:
    async with World(options()) as world:
        am = await full(world, 12, "root.p.a")
        await am.beat(ask(3))
        await world.settle()
        app, book = world.application(am.application_id), world.rm.state.reasons.waiting
        looked_ms = book.looked_at_ms
        assert (await world.run(world.rm.queries.why.asked(app))).looked_at_ms == looked_ms
        world.clock.advance(2)
        asked = asyncio.create_task(world.rm.queries.why.asked(app))
        await asyncio.sleep(0)
        await world.settle()
        found = await asked
        assert found.looked_at_ms == looked_ms + 2000
        assert names(only(found)) == [Cause.QUEUE_MAX_CAPACITY, Cause.QUEUE_MAX_CAPACITY]


async def test_a_priority_above_the_clusters_is_told() -> None:
    context = pb.ApplicationSubmissionContextProto()
    context.priority.priority = 7
    async with World(replace(options(A, B), submission=SubmissionLimits(max_priority=3))) as world:
        application_id = await world.submit(queue="a", priority=7, context=context.SerializeToString())
        assert world.application(application_id).submission.priority == 3
        said = "Priority 7 was requested and reduced to 3, the highest allowed: max_priority"
        assert said in why(world, application_id).summary
        assert world.rm.queries.application(application_id).application.diagnostics.startswith(said)
