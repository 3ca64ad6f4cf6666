"""A queue is told why it waits: each pending request counts once, under its nearest cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook.test_why import A, B, C, P, full, options
from tests.support.playbook import World, ask
from tests.support.rm_options import SMALL
from yodel.domain.resource import Resource
from yodel.domain.waiting_words import Cause
from yodel.services.views import queue_why
from yodel.services.views.queue_why import QueueWhyView


async def why(world: World, path: str, hidden: str = "") -> QueueWhyView:
    queue = world.rm.queries.find_queue(path)
    assert queue is not None
    return await world.rm.queries.why_queue_waits(queue, lambda row: row.submission.user != hidden)


async def test_causes_add_up_to_what_is_pending_and_parents_count_what_is_below() -> None:
    async with World(options()) as world:
        first = await full(world, 6, "root.p.a")
        other = await world.running_am(queue="root.p.c", user="bob")
        await other.beat(ask(9))
        waiting = await world.submit(queue="root.p.c", user="carol")
        await first.beat(ask(2))
        await world.settle()
        own = (Cause.QUEUE_MAX_CAPACITY, "root.p.c", 5, [other.application_id, waiting])
        starting = (Cause.SCHEDULING, "", 5, [other.application_id])
        above = (Cause.QUEUE_MAX_CAPACITY, "root.p", 2, [first.application_id])
        every = [own, starting, above]
        for path, expected in (("root.p", every), ("root", every), ("root.p.c", [own, starting])):
            found = await why(world, path)
            assert [
                (one.obstacle.cause, one.obstacle.queue, one.containers, list(one.applications)) for one in found.causes
            ] == expected, path
            assert [one.size for one in found.causes] == [SMALL * count for _, _, count, _ in expected]
            assert (found.applications, found.hidden, found.more) == (len(expected), 0, 0)
        assert found.summary.startswith("Waiting for 10 containers; 5 of them: Queue root.p.c is at its maximum")
        view = await world.rm.queries.queue("root.p.c")
        assert view is not None
        metrics = view.metrics
        assert metrics.containers_pending + metrics.containers_starting == sum(one.containers for one in found.causes)
        of_maximum = found.causes[0].obstacle
        assert (of_maximum.queue, of_maximum.limit, of_maximum.used) == ("root.p.c", SMALL * 6, SMALL * 6)
        assert of_maximum.change.startswith("containers of root.p.c finish")
        assert [(one.kind, one.name) for one in of_maximum.used_by] == [("user", "bob")]


async def test_what_one_may_not_view_is_only_counted() -> None:
    async with World(options()) as world:
        other = await world.running_am(queue="root.p.c", user="bob")
        await other.beat(ask(9))
        await world.settle()
        found = await why(world, "root.p.c", hidden="bob")
        assert (found.causes, found.applications, found.hidden) == ((), 0, 1)
        assert found.summary == "Applications of root.p.c are waiting that you may not view: 1."


async def test_a_queue_whose_requests_are_allocated_waits_for_nothing() -> None:
    async with World(options()) as world:
        await full(world, 2, "root.p.a")
        found = await why(world, "root.p.a")
        assert (found.causes, found.applications) == ((), 0)
        assert found.summary == "Nothing is pending in root.p.a: every requested container has been allocated."
        assert (await why(world, "root.b")).summary.startswith("Nothing is pending in root.b")


async def test_users_have_what_they_hold_and_may_hold() -> None:
    async with World(options(P, A, replace(C, user_limit_factor=0.5), B)) as world:
        am = await world.running_am(queue="root.p.c", user="bob")
        await am.obtain(1)
        await am.beat(ask(5))
        await world.running_am(queue="root.p.a", user="alice")
        queries = world.rm.queries
        leaf, parent = queries.find_queue("root.p.c"), queries.find_queue("root.p")
        assert leaf is not None
        assert parent is not None
        (bob,), hidden = await queries.queue_users(leaf, lambda _: True)
        assert (bob.user, bob.load.used, bob.load.am_used, bob.load.running) == ("bob", SMALL * 2, SMALL, 1)
        assert (bob.load.waiting, bob.load.wanted, hidden) == (5, SMALL * 5, 0)
        # A quarter of sixteen is guaranteed to c, half of that is a user's.
        assert bob.limit == Resource(2048, 2)
        assert bob.am_limit is not None
        assert bob.am_limit.fits_in(bob.limit)
        both, hidden = await queries.queue_users(parent, lambda _: True)
        assert ([one.user for one in both], hidden) == (["alice", "bob"], 0)
        assert {one.limit for one in both} == {one.am_limit for one in both} == {None}
        seen, hidden = await queries.queue_users(parent, lambda row: row.submission.user == "alice")
        assert ([one.user for one in seen], hidden) == (["alice"], 1)
        (free,), _ = await queries.queue_users(queries.find_queue("root.p.a") or leaf, lambda _: True)
        assert free.limit == SMALL * 12, "without a limit of users what the queue may hold"


async def test_of_many_waiting_applications_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_why, "APPLICATIONS_MAX", 2)
    async with World(options()) as world:
        await full(world, 12, "root.p.a")
        ids = [await world.submit(queue="root.p.c") for _ in range(3)]
        await world.settle()
        found = await why(world, "root.p.c")
        assert (found.applications, found.hidden, found.more) == (2, 0, 1)
        assert [list(one.applications) for one in found.causes] == [ids[:2]]
