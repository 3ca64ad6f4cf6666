from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from tests.support.playbook import World
from tests.support.rm_options import SMALL, Options
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.queues.queue import Queue, QueueState, leaves_under_root
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState
from yodel.errors import AccessDenied, ApplicationNotFound, Refused
from yodel.pb_convert.times import iso_8601
from yodel.services.applications.changes import LIFETIME
from yodel.services.applications.submission import SubmissionLimits

ONE_AM = AllocationLimits(minimum=Resource(1024, 1), maximum=Resource(8192, 4), am_share=0.01)


def queues() -> Sequence[Queue]:
    stopped = Queue(path="root.old", state=QueueState.STOPPED)
    return (*leaves_under_root(("default", "night"), maximum_lifetime_s=3600, default_lifetime_s=60), stopped)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    options = Options(queues=queues(), submission=SubmissionLimits(max_priority=10), allocation=ONE_AM)
    async with World(options) as world:
        yield world


async def move(world: World, application_id: ApplicationId, queue: str, user: str = "alice") -> str:
    return await world.run(world.rm.changes.move(application_id, user, queue))


async def set_end(world: World, application_id: ApplicationId, at: str) -> dict[str, str]:
    return await world.run(world.rm.changes.set_timeouts(application_id, "alice", {LIFETIME: at}))


@pytest.mark.parametrize("name", ["night", "root.night"])
async def test_moved_application_stays_moved_after_a_restart(world: World, name: str) -> None:
    application_id = await world.submit()
    assert await move(world, application_id, name) == "root.night"
    await world.restart()
    assert world.application(application_id).submission.queue == "root.night"


async def test_move_to_where_it_is_changes_nothing(world: World) -> None:
    application_id = await world.submit()
    assert await move(world, application_id, "default") == "root.default"


@pytest.mark.parametrize(
    ("queue", "error", "words"),
    [
        ("nowhere", Refused, "The specified Queue: nowhere doesn't exist"),
        ("root", Refused, "The specified Queue: root is not a Leaf Queue."),
        ("old", Refused, "AccessControlException: Queue root.old is STOPPED. Cannot accept submission of "),
    ],
)
async def test_move_elsewhere_is_refused_in_hadoops_words(
    world: World, queue: str, error: type[Exception], words: str
) -> None:
    application_id = await world.submit()
    with pytest.raises(error, match=words):
        await move(world, application_id, queue)
    assert world.application(application_id).submission.queue == "root.default"


async def test_with_access_lists_an_unknown_queue_is_one_without_access() -> None:
    async with World(Options(acl_enable=True)) as world:
        application_id = await world.submit()
        with pytest.raises(AccessDenied, match="cannot submit applications to target queue or the target queue"):
            await move(world, application_id, "nowhere")


async def test_move_to_a_queue_that_is_not_for_the_user_is_refused() -> None:
    queues = (
        Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
        Queue(path="root.default", submit_acl="alice"),
        Queue(path="root.night", submit_acl="bob"),
    )
    async with World(Options(queues=queues, acl_enable=True)) as world:
        application_id = await world.submit()
        with pytest.raises(AccessDenied, match="cannot submit applications to target queue"):
            await move(world, application_id, "night")
        assert await move(world, application_id, "night", "admin") == "root.night"
        with pytest.raises(AccessDenied, match=r"User bob does not have permission to submit application_.* to queue"):
            await world.submit(user="bob")


async def test_application_that_is_over_is_neither_moved_nor_changed(world: World) -> None:
    application_id = await world.submit()
    await world.run(world.rm.submission.kill(application_id, "alice"))
    await world.settle()
    with pytest.raises(Refused, match=r"App in KILLED state cannot be moved\."):
        await move(world, application_id, "night")
    assert await world.run(world.rm.changes.set_priority(application_id, "alice", 5)) == 0
    assert await set_end(world, application_id, "whatever") == {LIFETIME: "whatever"}


async def test_strangers_and_unknown_applications_are_refused(world: World) -> None:
    application_id = await world.submit()
    with pytest.raises(AccessDenied, match=f"User mallory cannot perform operation MODIFY_APP on {application_id}"):
        await move(world, application_id, "night", "mallory")
    with pytest.raises(ApplicationNotFound):
        await move(world, ApplicationId(1, 1), "night")


@pytest.mark.parametrize(("wanted", "got"), [(3, 3), (10, 10), (11, 10), (-1, -1)])
async def test_priority_is_capped_by_the_clusters(world: World, wanted: int, got: int) -> None:
    application_id = await world.submit()
    assert await world.run(world.rm.changes.set_priority(application_id, "alice", wanted)) == got
    assert world.application(application_id).submission.priority == got


async def test_application_of_higher_priority_overtakes(world: World) -> None:
    first, second = await world.submit(), await world.submit()
    await world.run(world.rm.changes.set_priority(second, "alice", 5))
    await world.register_node(capability=SMALL)
    await world.settle()
    assert world.has_pod(ContainerId.of(ApplicationAttemptId(second, 1), 1))
    assert not world.has_pod(ContainerId.of(ApplicationAttemptId(first, 1), 1))


async def test_submission_gets_its_queues_default_lifetime(world: World) -> None:
    application_id = await world.submit()
    application = world.application(application_id)
    assert application.expires_ms == application.submitted_ms + 60_000


async def test_new_lifetime_ends_it_and_the_old_one_does_not(world: World) -> None:
    am = await world.running_am()
    end = iso_8601(world.clock.now_ms() + 600_000)
    assert await set_end(world, am.application_id, end) == {LIFETIME: end}
    await world.pass_time(70)
    assert world.application(am.application_id).state is not ApplicationState.KILLED


async def test_lifetime_is_at_most_the_queues(world: World) -> None:
    application_id = await world.submit()
    latest = iso_8601(world.application(application_id).submitted_ms + 3_600_000)
    far = iso_8601(world.clock.now_ms() + 99_000_000)
    assert await set_end(world, application_id, far) == {LIFETIME: latest}
    assert iso_8601(world.application(application_id).expires_ms) == latest


async def test_lifetimes_that_make_no_sense_are_refused_in_hadoops_words(world: World) -> None:
    application_id = await world.submit()
    with pytest.raises(Refused, match=r"Expire time is not in ISO8601 format\. ISO8601 supported format is yyyy-MM-dd"):
        await set_end(world, application_id, "tomorrow")
    with pytest.raises(Refused, match="Expire time is less than current time, current-time="):
        await set_end(world, application_id, iso_8601(world.clock.now_ms() - 1000))
    with pytest.raises(Refused, match="At least one ApplicationTimeoutType should be configured"):
        await world.run(world.rm.changes.set_timeouts(application_id, "alice", {}))
