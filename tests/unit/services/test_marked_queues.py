"""Queues that a revert or an import does not name and that are in use: they go when the last application has left."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.playbook import World, a_submission
from tests.support.records import NOBODY
from tests.unit.services.test_scheduler_conf import HALVES, added, history, service
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.queue import QueueState, shown_state
from yodel.domain.queues.removal import MARK, RemovalMark, empty, mark_of
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidQueues, Unavailable
from yodel.services.scheduling import configuration, marked_queues
from yodel.services.scheduling.configuration import assembling, replacing
from yodel.services.scheduling.marked_queues import MarkedQueues

BY_ADMIN = RemovalMark(version=3, author="admin")


async def back(world: World, version: int = 1) -> None:
    conf = service(world)
    await world.run(conf.change("admin", replacing((await conf.as_of(version))[1]), is_whole=True, reason="back"))


async def used_and_marked(world: World) -> ApplicationId:
    """``root.a``, added with version 2, used, and gone with version 3."""
    await world.run(service(world).update("admin", HALVES))
    application_id = await world.submit(queue="a")
    await back(world)
    return application_id


async def end(world: World, application_id: ApplicationId) -> None:
    await world.run(world.rm.submission.kill(application_id, "alice"))
    await world.settle()


def paths(world: World) -> set[str]:
    assert set(world.rm.state.queues) == set(world.disk.queues)
    return set(world.rm.state.queues)


async def test_used_queue_drains_and_goes_with_a_later_version_of_the_same_author(world: World) -> None:
    application_id = await used_and_marked(world)
    left = world.rm.state.queues["root.a"]
    assert (mark_of(left), left.capacity_percent) == (BY_ADMIN, 0.0)
    assert shown_state(left, is_used=True) is QueueState.DRAINING
    assert world.application(await world.submit(queue="a")).state is ApplicationState.FAILED
    await world.look_at_clock()
    assert (paths(world), service(world).version) == ({"root", "root.default", "root.a"}, 3)

    await end(world, application_id)
    await world.run(world.rm.marked_queues.look())
    assert paths(world) == {"root", "root.default"}
    made = (await history(world))[0]
    assert (made.version, made.author) == (4, "admin")
    assert made.reason == "marked for removal by version 3, and the last application has left"
    assert service(world).properties() == (await service(world).as_of(1))[1]


async def test_application_in_a_marked_queue_gets_what_it_needs_to_end(world: World) -> None:
    await world.run(service(world).update("admin", HALVES))
    am = await world.running_am(queue="a")
    await back(world)
    await am.obtain(2)
    await am.finish()
    await am.exit()
    await world.look_at_clock()
    assert paths(world) == {"root", "root.default"}


async def test_empty_queue_goes_in_the_same_transaction(world: World) -> None:
    await world.run(service(world).update("admin", HALVES))
    await back(world)
    assert (paths(world), service(world).version) == ({"root", "root.default"}, 3)


async def test_revert_before_that_takes_the_mark_away(world: World) -> None:
    application_id = await used_and_marked(world)
    await back(world, 2)
    left = world.rm.state.queues["root.a"]
    assert (mark_of(left), left.state, left.capacity_percent) == (None, QueueState.RUNNING, 50.0)
    await end(world, application_id)
    await world.look_at_clock()
    assert "root.a" in paths(world)


async def test_mark_outlives_a_restart_and_who_leads_next_removes_the_queue(world: World) -> None:
    application_id = await used_and_marked(world)
    await world.restart()
    assert mark_of(world.rm.state.queues["root.a"]) == BY_ADMIN
    await world.run(world.rm.submission.kill(application_id, "alice"))
    await world.restart()
    await world.look_at_clock()
    assert paths(world) == {"root", "root.default"}


async def test_revert_to_the_version_that_marked_a_queue_does_not_bring_it_back(world: World) -> None:
    await end(world, await used_and_marked(world))
    await world.look_at_clock()
    await back(world, 2)
    await back(world, 3)
    assert paths(world) == {"root", "root.default"}


async def test_submission_while_the_change_is_put_together_marks_the_queue(world: World) -> None:
    await world.run(service(world).update("admin", HALVES))
    before, asked = (await service(world).as_of(1))[1], list[int]()
    application_id = await world.run(world.rm.submission.give_id(NOBODY))
    conf, loop = service(world), asyncio.get_running_loop()

    def wanted(_: object) -> dict[str, str]:
        if not asked:  # in the thread: the loop takes a submission meanwhile
            asyncio.run_coroutine_threadsafe(submitted(), loop).result()
        asked.append(1)
        return dict(before)

    async def submitted() -> None:
        await world.rm.submission.submit(application_id, a_submission(queue="a"))

    await world.run(conf.change("admin", wanted, is_whole=True))
    assert len(asked) == 2
    assert mark_of(world.rm.state.queues["root.a"]) == BY_ADMIN


async def test_mark_is_not_set_by_hand_and_may_be_taken_away(world: World) -> None:
    await used_and_marked(world)
    other, conf = QueueState.RUNNING.name, service(world)
    for properties, text in (
        ({MARK: "2 bob"}, "cannot be set"),
        ({"state": other}, "it cannot be RUNNING"),
    ):
        with pytest.raises(InvalidQueues, match=text):
            await world.run(conf.change("admin", assembling(ConfUpdate(updated=[added("root.a", **properties)]))))
    await world.run(
        conf.change("admin", assembling(ConfUpdate(updated=[added("root.a", **{MARK: "", "state": other})])))
    )
    assert mark_of(world.rm.state.queues["root.a"]) is None


async def test_store_that_is_away_is_asked_again(world: World) -> None:
    await end(world, await used_and_marked(world))
    world.commit_errors.append(Unavailable("away"))
    await world.run(world.rm.marked_queues.look())
    assert "root.a" in paths(world)
    await world.look_at_clock()
    assert "root.a" not in paths(world)


async def test_queue_whose_mark_was_taken_away_meanwhile_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await end(world, await used_and_marked(world))
    found = list(empty(world.rm.state.queues, set()))
    assert [paths for _, paths in found] == [["root.a"]]
    kept = ConfUpdate(updated=[added("root.a", **{MARK: ""})])
    await world.run(service(world).update("admin", kept))
    monkeypatch.setattr(configuration, "empty", lambda *_: found)
    await world.run(service(world).remove_empty())
    assert "root.a" in paths(world)


async def test_end_of_an_application_wakes_who_removes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marked_queues, "LOOK_AGAIN_S", 3600.0)
    application_id = await used_and_marked(world)
    looked = asyncio.Event()

    async def remove_empty() -> None:
        looked.set()

    marked = MarkedQueues(world.rm.engine, remove_empty)
    task = asyncio.create_task(marked.run())
    await looked.wait()
    looked.clear()
    await world.run(world.rm.submission.kill(application_id, "alice"))
    marked.published([world.application(application_id)])
    async with asyncio.timeout(60):
        await looked.wait()
    task.cancel()


async def test_without_marks_nobody_is_asked(world: World) -> None:
    marked = MarkedQueues(world.rm.engine, service(world).remove_empty)
    await marked.look()
    assert f"{PREFIX}root.default.{MARK}" not in service(world).properties()
    assert service(world).version == 1
