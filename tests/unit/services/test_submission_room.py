"""Submissions and users have limits on what they hold, and nothing stays when the application has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import Am, World, a_submission, running
from tests.support.records import NOBODY
from tests.support.rm_options import Options
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidValue, Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert.submission import entries_of, names_a_label
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.writer.submission_room import SubmissionRoom
from yodel.telemetry.limits import REFUSALS

ROOM = SubmissionRoom(bytes_max=1_000, entries_max=100, user_bytes_max=4_000)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World(Options(submission=SubmissionLimits(room=ROOM))) as world:
        yield world


def context(size: int = 0, entries: int = 1, **fields: Any) -> bytes:
    """``size`` bytes exactly, when it is given."""
    message = pb.ApplicationSubmissionContextProto(**fields)
    for n in range(entries - 1):
        message.am_container_spec.environment.add(key=str(n))
    message.am_container_spec.command.append("")
    while size and message.ByteSize() < size:
        message.am_container_spec.command[0] += "x" * max(1, (size - message.ByteSize()) // 2)
    return message.SerializeToString()


def held(world: World) -> dict[str, int]:
    return dict(world.rm.state.index.context_bytes)


def stored(world: World) -> int:
    return sum(len(row.submission.context) for row in world.disk.applications.values())


@pytest.mark.parametrize(
    ("fits", "too_much", "words"),
    [
        (context(1_000), context(1_001), r"'1001 bytes'; expected at most 1000 bytes \(submission_mib_max\)"),
        (context(entries=100), context(entries=101), r"101 variables.* at most 100 \(submission_entries_max\)"),
    ],
)
async def test_the_greatest_is_taken_and_one_more_refused(
    world: World, fits: bytes, too_much: bytes, words: str
) -> None:
    await world.submit(context=fits)
    with pytest.raises(InvalidValue, match=words):
        await world.submit(context=too_much)

    assert len(world.rm.state.applications) == 1


def test_every_list_counts() -> None:
    message = pb.ApplicationSubmissionContextProto(applicationTags=["t"])
    spec = message.am_container_spec
    spec.environment.add(key="e")
    spec.localResources.add(key="r")
    spec.service_data.add(key="s")
    spec.command.append("c")
    spec.application_ACLs.add(acl="a")
    message.am_container_resource_request.add()
    message.application_timeouts.add()

    assert entries_of(message.SerializeToString()) == 8


async def test_what_a_users_live_applications_hold_has_a_limit_and_others_have_theirs(world: World) -> None:
    ids = [await world.submit(context=context(1_000)) for _ in range(4)]
    before = REFUSALS.counts()["live_context_bytes"]

    with pytest.raises(Refused, match=r"User alice has 4000 bytes .*; 1000 more .* 4000 bytes \(user_submissions_mib"):
        await world.submit(context=context(1_000))
    await world.submit(context=context(1_000), user="bob")
    assert REFUSALS.counts()["live_context_bytes"] == before + 1

    await world.run(world.rm.submission.kill(ids[0], "alice"))
    await world.settle()
    await world.submit(context=context(1_000))
    assert held(world) == {"alice": 4_000, "bob": 1_000}


async def test_those_of_one_batch_count_together(world: World) -> None:
    ids = [await world.run(world.rm.submission.give_id(NOBODY)) for _ in range(9)]
    submission = a_submission(context=context(1_000))

    results = await asyncio.gather(*(world.rm.submission.submit(i, submission) for i in ids), return_exceptions=True)

    assert [type(r) for r in results] == [type(None)] * 4 + [Refused] * 5
    assert held(world) == {"alice": 4_000}


async def test_a_refused_submission_of_a_batch_leaves_no_weight(world: World) -> None:
    ids = [await world.run(world.rm.submission.give_id(NOBODY)) for _ in range(3)]
    submissions = [a_submission(context=context(size)) for size in (1_000, 1_000, 900)]
    world.rm.submission._limits = replace(world.rm.submission._limits, room=replace(ROOM, user_bytes_max=1_950))

    results = await asyncio.gather(
        *(world.rm.submission.submit(*each) for each in zip(ids, submissions, strict=True)), return_exceptions=True
    )

    assert [type(r) for r in results] == [type(None), Refused, type(None)]


async def test_a_repeated_submission_is_success_though_the_room_is_full(world: World) -> None:
    ids = [await world.submit(context=context(1_000)) for _ in range(4)]

    await world.run(world.rm.submission.submit(ids[0], a_submission(context=context(1_000))))

    assert held(world) == {"alice": 4_000}


@pytest.mark.parametrize("end", ["killed", "finished", "failed", "refused"])
async def test_nothing_of_a_context_stays_when_the_application_has_ended(world: World, end: str) -> None:
    if end == "refused":
        await world.submit(context=context(900), queue="nowhere")
    else:
        am = await world.running_am(context=context(900), max_attempts=1)
        assert (held(world), stored(world)) == ({"alice": 900}, 900)
        if end == "killed":
            await world.run(world.rm.submission.kill(am.application_id, "alice"))
        elif end == "finished":
            await am.finish()
            await am.exit()
        else:
            await am.exit(1)
    await world.settle()

    (application,) = world.rm.state.applications.values()
    assert application.state.is_final
    assert (application.submission.context, held(world), stored(world)) == (b"", {}, 0)


async def test_it_stays_for_another_attempt(world: World) -> None:
    am = await world.running_am(context=context(900), max_attempts=2)
    await am.exit(1)
    await world.bind_and_settle()
    assert world.application(am.application_id).state is ApplicationState.ACCEPTED
    assert stored(world) == 900

    second = Am(world, world.application(am.application_id).current_attempt_id)
    await world.beat(running(second.container.id))
    await second.register()

    assert [start.launch_context.count(b"x" * 400) > 0 for start in world.agents.started] == [True, True]


async def test_whether_a_label_was_named_is_still_known_afterwards(world: World) -> None:
    application_id = await world.submit(context=context(node_label_expression="", size=500))
    await world.run(world.rm.submission.kill(application_id, "alice"))
    await world.settle()

    kept = world.application(application_id).submission.context
    assert names_a_label(kept)
    assert len(kept) < 10


async def test_a_new_life_counts_the_same_and_drops_what_an_older_release_kept(world: World) -> None:
    live = await world.submit(context=context(800))
    ended = await world.submit(context=context(900))
    await world.run(world.rm.submission.kill(ended, "alice"))
    await world.settle()
    row = world.disk.applications[ended]
    world.disk.applications[ended] = replace(row, submission=replace(row.submission, context=context(900)))

    await world.restart()
    await world.settle()

    assert held(world) == {"alice": 800}
    assert stored(world) == len(world.disk.applications[live].submission.context) == 800
    assert world.application(ended).submission.context == b""


async def test_a_forgotten_application_weighs_nothing(world: World) -> None:
    application_id = await world.submit(context=context(800))
    world.rm.state.remove_application(application_id)

    assert held(world) == {}
