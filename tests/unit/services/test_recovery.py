from __future__ import annotations

from tests.support.playbook import World, complete
from yodel.domain.states import AttemptState
from yodel.services import recovery


async def test_living_attempts_are_expected_with_what_their_am_has_not_heard(world: World) -> None:
    am = await world.running_am()
    one, other = await am.obtain(2)
    await world.beat(complete(one))
    await am.beat()
    await am.beat()  # acknowledges
    await world.beat(complete(other))
    await world.restart()

    runtime = world.rm.state.runtimes[am.attempt_id]
    assert runtime.completed == [other]
    assert not runtime.is_registered


async def test_am_that_unregistered_needs_not_register_again(world: World) -> None:
    am = await world.running_am()
    await am.finish()
    await world.restart()
    assert world.rm.state.runtimes[am.attempt_id].is_registered
    assert world.attempt(am.attempt_id).state is AttemptState.FINISHING


async def test_ended_attempts_are_not_expected(world: World) -> None:
    am = await world.running_am()
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.restart()
    assert world.rm.state.runtimes == {}


async def test_resuming_looks_at_every_living_container_and_repeats_no_launch(world: World) -> None:
    am = await world.running_am()
    tasks = await am.obtain(2)
    looked_at: list[object] = []
    launched: list[object] = []
    recovery.resume(world.rm.engine, world.clock, launched.append, looked_at.append)
    assert {*looked_at} == {am.container.id, *tasks}
    assert launched == []
