from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from tests.support.playbook import World, complete
from tests.support.records import a_container, an_application, an_attempt
from yodel.domain.states import ApplicationState, AttemptState, ContainerState
from yodel.services import recovery
from yodel.services.recovery import BATCH


async def test_living_attempts_are_expected_with_what_their_am_has_not_heard(world: World) -> None:
    am = await world.running_am()
    one, other = await am.obtain(2)
    await world.beat(complete(one))
    await am.beat()
    await am.acknowledge()
    await world.beat(complete(other))
    await world.restart()

    runtime = world.rm.state.masters.runtimes[am.attempt_id]
    assert runtime.outbox.take_completed() == [other]
    assert not runtime.dialogue.is_registered


async def test_am_that_unregistered_needs_not_register_again(world: World) -> None:
    am = await world.running_am()
    await am.finish()
    await world.restart()
    assert world.rm.state.masters.runtimes[am.attempt_id].dialogue.is_registered
    assert world.attempt(am.attempt_id).state is AttemptState.FINISHING


async def test_ended_attempts_are_not_expected(world: World) -> None:
    am = await world.running_am()
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.restart()
    assert world.rm.state.masters.runtimes == {}


async def test_resuming_looks_at_every_living_container_and_repeats_no_launch(world: World) -> None:
    am = await world.running_am()
    tasks = await am.obtain(2)
    looked_at: list[object] = []
    launched: list[object] = []
    await recovery.resume(world.rm.engine, world.clock, launched.append, looked_at.append)
    assert {*looked_at} == {am.container.id, *tasks}
    assert launched == []


ROWS = 4 * BATCH


async def turns_of_others(work: Awaitable[None]) -> int:
    """Count how often somebody else has a turn until the work is done."""
    task, turns = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    await task
    return turns


async def test_others_have_turns_while_thousands_of_rows_are_recovered(world: World) -> None:
    """The lease is renewed within seconds, however much there is."""
    state = world.rm.state
    for number in range(1, ROWS + 1):
        ended = number % 2 == 0
        app_state = ApplicationState.FINISHED if ended else ApplicationState.RUNNING
        state.publish([an_application(number, state=app_state, current_attempt=1)])
        state.publish([an_attempt(number, state=AttemptState.ALLOCATED if not ended else AttemptState.FINISHED)])
        container_state = ContainerState.COMPLETED if ended else ContainerState.RUNNING
        state.publish([a_container(number, state=container_state, finished_ms=1 if ended else 0)])
    assert await turns_of_others(recovery.expect_attempts(world.rm.engine, world.clock)) >= ROWS // BATCH
    assert len(state.masters.runtimes) == ROWS // 2
    launched, looked_at = list[object](), list[object]()
    work = recovery.resume(world.rm.engine, world.clock, launched.append, looked_at.append)
    assert await turns_of_others(work) >= 2 * ROWS // BATCH
    assert (len(launched), len(looked_at), len({*looked_at})) == (ROWS // 2, ROWS, ROWS)


async def test_what_comes_to_be_while_rows_are_recovered_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, given_back = world.rm.state, list[object]()
    monkeypatch.setattr(world.rm.engine, "tell_later", lambda container_id, _: given_back.append(container_id))
    for number in range(1, BATCH + 2):
        state.publish([an_application(number, state=ApplicationState.RUNNING, current_attempt=1)])
        state.publish([an_attempt(number, state=AttemptState.SCHEDULED), a_container(number)])
    launched, looked_at = list[object](), list[object]()
    work = asyncio.create_task(recovery.resume(world.rm.engine, world.clock, launched.append, looked_at.append))
    await asyncio.sleep(0)
    assert len(looked_at) == BATCH
    last, late = a_container(BATCH + 1).id, a_container(1, container=7).id
    state.publish([an_attempt(1, state=AttemptState.ALLOCATED), a_container(1, container=7)])
    state.publish([a_container(BATCH + 1, state=ContainerState.RUNNING)])
    await work
    assert launched == []
    assert last in looked_at
    assert late not in looked_at
    assert len(given_back) == BATCH
    assert last not in given_back, "it was handed out meanwhile"
