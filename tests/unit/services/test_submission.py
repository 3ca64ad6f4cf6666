from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.playbook import World, a_submission
from tests.support.records import NOBODY
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState
from yodel.errors import AccessDenied, InvalidResourceRequest, InvalidValue
from yodel.services.applications.submission import ID_BLOCK, SubmissionLimits


async def test_ids_count_from_one_and_carry_the_clusters_timestamp(world: World) -> None:
    first = await world.run(world.rm.submission.give_id(NOBODY))
    assert first == ApplicationId(world.rm.state.identity.cluster_timestamp_ms, 1)


async def test_ids_are_reserved_on_disk_in_blocks(world: World) -> None:
    world.steps.clear()
    for _ in range(ID_BLOCK):
        await world.run(world.rm.submission.give_id(NOBODY))
    assert world.steps == ["before commit", "after commit"]


async def test_ids_asked_for_at_once_are_all_reserved(world: World) -> None:
    async def all_at_once() -> list[ApplicationId]:
        return await asyncio.gather(*(world.rm.submission.give_id(NOBODY) for _ in range(3 * ID_BLOCK)))

    given = await world.run(all_at_once())

    assert len({*given}) == 3 * ID_BLOCK
    assert world.disk.identity is not None
    assert max(i.sequence for i in given) <= world.disk.identity.application_sequence


async def test_same_id_again_is_success_without_a_second_application(world: World) -> None:
    application_id = await world.submit()
    await world.run(world.rm.submission.submit(application_id, a_submission(name="another")))

    assert world.application(application_id).submission.name == "pi"
    assert world.application(application_id).current_attempt == 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "n" * 1025}, InvalidValue),
        ({"tags": tuple("abcdefghijk")}, InvalidValue),
        ({"tags": ("t" * 101,)}, InvalidValue),
        ({"tags": ("naïve",)}, InvalidValue),
        ({"context": bytes(4 * 1024 * 1024 + 1)}, InvalidValue),
        ({"am_asked_capability": Resource(8193, 1)}, InvalidResourceRequest),
        ({"am_asked_capability": Resource(1024, -1)}, InvalidResourceRequest),
    ],
)
async def test_what_is_over_a_limit_is_refused_and_leaves_nothing(
    world: World, changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await world.submit(**changes)
    assert world.rm.state.applications == {}


@pytest.mark.parametrize(("asked", "got"), [(0, 3), (1, 1), (3, 3), (99, 3), (-1, 3)])
@pytest.mark.parametrize("queue", ["default", "nowhere"])
async def test_attempts_are_at_most_the_clusters(asked: int, got: int, queue: str) -> None:
    """Also of one that is kept as failed."""
    async with World(Options(submission=SubmissionLimits(max_attempts=3, max_priority=5))) as world:
        application_id = await world.submit(queue=queue, max_attempts=asked, priority=asked)
        submission = world.application(application_id).submission
        assert (submission.max_attempts, submission.global_max_attempts) == (got, 3)
        assert submission.priority == min(asked, 5)


async def test_submission_is_normalized(world: World) -> None:
    application_id = await world.submit(am_asked_capability=Resource(1500, 1), application_type="T" * 30)
    submission = world.application(application_id).submission
    assert submission.am_capability == Resource(2048, 1)
    assert submission.queue == "root.default"
    assert len(submission.application_type) == 20


async def test_killing_an_ended_application_is_success_for_those_who_may(world: World) -> None:
    application_id = await world.submit(queue="nowhere")
    assert world.application(application_id).state is ApplicationState.FAILED
    assert await world.run(world.rm.submission.kill(application_id, "alice")) is True
    with pytest.raises(AccessDenied):
        await world.run(world.rm.submission.kill(application_id, "mallory"))


async def test_failing_an_attempt_is_for_those_who_may_modify(world: World) -> None:
    am = await world.running_am()
    with pytest.raises(AccessDenied, match=f"User mallory cannot perform operation MODIFY_APP on {am.application_id}"):
        await world.run(world.rm.submission.fail_attempt(am.attempt_id, "mallory"))


async def test_the_highest_priority_can_be_changed(world: World) -> None:
    world.rm.submission.use_max_priority(7)
    assert world.rm.submission.capped_priority(9) == 7


async def test_an_id_that_is_reserved_is_given_at_once(world: World) -> None:
    assert world.rm.submission.id_at_hand(NOBODY) is None
    first = await world.run(world.rm.submission.give_id(NOBODY))
    second = world.rm.submission.id_at_hand(NOBODY)
    assert second is not None
    assert second.sequence == first.sequence + 1
