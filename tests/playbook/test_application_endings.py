"""Attempts and applications end in the words users know from YARN."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.playbook import Am, World, ask
from tests.support.rm_options import Options
from yodel.domain.application import Application
from yodel.domain.effects import Tell
from yodel.domain.events import KillRequested
from yodel.domain.ids import ApplicationId
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    FinalApplicationStatus,
)
from yodel.errors import (
    AccessDenied,
    ApplicationAttemptNotFound,
    ApplicationNotFound,
    Unavailable,
)
from yodel.services.applications.submission import FORGOTTEN_MAX, SubmissionLimits
from yodel.services.liveness import LivenessSettings

# --- attempts ------------------------------------------------------------------------------------------------------


async def test_am_that_fails_twice_fails_its_application_in_yarns_words(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await am.exit(1, "first words")

    application_id = am.application_id
    assert world.application(application_id).state is ApplicationState.ACCEPTED
    assert world.container(task).exit_status == -107
    assert world.attempt(am.attempt_id).state is AttemptState.FAILED
    with pytest.raises(ApplicationAttemptNotFound):
        await am.beat()

    await world.bind_and_settle()
    second = Am(world, world.application(application_id).current_attempt_id)
    assert second.attempt_id.attempt == 2
    await second.register()
    await second.exit(13, "last words")

    failed = world.application(application_id)
    assert (failed.state, failed.final_status) == (ApplicationState.FAILED, FinalApplicationStatus.FAILED)
    assert failed.diagnostics == (
        f"Application {application_id} failed 2 times due to AM Container for {second.attempt_id} exited with  "
        "exitCode: 13\nFailing this attempt.Diagnostics: last words"
        f"For more detailed output, check the application tracking page: http://rm:8088/cluster/app/{application_id} "
        "Then click on links to logs of each attempt.\n. Failing the application."
    )
    await world.pass_time(700)
    assert world.pods.pods == {}


async def test_failures_outside_the_validity_interval_do_not_count(world: World) -> None:
    am = await world.running_am(attempt_failures_validity_interval_ms=10_000)
    for expected in (2, 3, 4):
        await am.exit(1)
        world.clock.advance(11)
        await world.beat()
        await world.bind_and_settle()
        am = Am(world, world.application(am.application_id).current_attempt_id)
        assert am.attempt_id.attempt == expected
        await am.register()


async def test_silent_am_expires() -> None:
    async with World(Options(liveness=LivenessSettings(am_expiry_s=60, node_expiry_s=1e6))) as world:
        am = await world.running_am()
        await world.pass_time(50)
        await am.beat()
        await world.pass_time(50)
        assert world.attempt(am.attempt_id).state is AttemptState.RUNNING
        await world.pass_time(11)

        attempt = world.attempt(am.attempt_id)
        assert attempt.state is AttemptState.FAILED
        assert attempt.diagnostics == f"ApplicationMaster for attempt {am.attempt_id} timed out"
        assert world.application(am.application_id).current_attempt == 2


async def test_am_that_unregistered_and_stays_is_ended_as_it_said() -> None:
    async with World(Options(liveness=LivenessSettings(am_expiry_s=60, node_expiry_s=1e6))) as world:
        am = await world.running_am()
        await am.finish()
        await world.pass_time(61)

        assert world.application(am.application_id).state is ApplicationState.FINISHED
        assert not am.container.is_live
        assert not world.has_pod(am.container.id)


async def test_launch_is_tried_again_until_patience_ends(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(max_attempts=1)
    await world.settle()
    world.agents.errors += [Unavailable("connection refused")] * 1000
    await world.bind_and_settle()
    assert world.application(application_id).state is ApplicationState.ACCEPTED
    for _ in range(181):
        await world.pass_time(1)

    assert world.application(application_id).state is ApplicationState.FAILED
    assert "connection refused" in world.application(application_id).diagnostics


async def test_operator_can_fail_an_attempt(world: World) -> None:
    am = await world.running_am()
    await world.run(world.rm.submission.fail_attempt(am.attempt_id, "admin"))
    await world.settle()

    assert world.attempt(am.attempt_id).state is AttemptState.FAILED
    assert world.application(am.application_id).current_attempt == 2


async def test_am_that_registers_before_its_launch_is_answered_has_a_launch_time(world: World) -> None:
    am_seen: list[Am] = []
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    attempt_id = world.application(application_id).current_attempt_id

    async def register() -> None:
        am_seen.append(Am(world, attempt_id))
        await world.rm.master.register(attempt_id, "h", 1, "")

    world.agents.meanwhile = register
    world.clock.advance(5)
    await world.bind_and_settle()

    assert am_seen
    assert world.application(application_id).state is ApplicationState.RUNNING
    assert world.application(application_id).launched_ms == world.clock.now_ms()


# --- applications --------------------------------------------------------------------------------------------------


async def kill(world: World, application_id: ApplicationId, user: str = "alice") -> bool:
    done = await world.run(world.rm.submission.kill(application_id, user, host="10.0.0.9"))
    await world.settle()
    return done


@pytest.mark.parametrize("moment", ["submitted", "planned", "bound", "registered", "with containers", "finishing"])
async def test_application_can_be_killed_at_any_moment(world: World, moment: str) -> None:
    await world.register_node()
    if moment in ("submitted", "planned", "bound"):
        application_id = await world.submit()
        if moment != "submitted":
            await world.settle()
        if moment == "bound":
            world.agents.errors += [Unavailable("later")] * 9
            await world.bind_and_settle()
    else:
        am = await world.running_am()
        application_id = am.application_id
        if moment == "with containers":
            await am.obtain(2)
            await am.beat(ask(3))
            await world.settle()
        if moment == "finishing":
            await am.finish()

    await kill(world, application_id)

    application = world.application(application_id)
    if moment == "finishing":
        assert application.state is ApplicationState.FINISHING  # the end it reported stands
        return
    assert application.state is ApplicationState.KILLED
    assert application.final_status is FinalApplicationStatus.KILLED
    assert application.diagnostics == f"Application {application_id} was killed by user alice at 10.0.0.9"
    assert world.pods.pods == {}
    assert not list(world.rm.state.live_containers())
    assert world.rm.state.masters.runtimes == {}
    assert await kill(world, application_id) is True


async def test_only_owner_and_administrators_may_kill(world: World) -> None:
    am = await world.running_am()
    with pytest.raises(AccessDenied):
        await kill(world, am.application_id, "mallory")
    assert world.application(am.application_id).state is ApplicationState.RUNNING

    await kill(world, am.application_id, "admin")
    assert world.application(am.application_id).state is ApplicationState.KILLED


async def test_unknown_application_cannot_be_killed(world: World) -> None:
    with pytest.raises(ApplicationNotFound):
        await kill(world, ApplicationId(1, 1))


async def test_unknown_queue_fails_the_application_at_once(world: World) -> None:
    application_id = await world.submit(queue="nowhere")

    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    whose = f"Application {application_id} submitted by user alice"
    assert application.diagnostics == f"{whose}{whose} to unknown queue: nowhere"


async def test_lifetime_ends_an_application(world: World) -> None:
    am = await world.running_am(lifetime_s=30)
    await world.pass_time(29)
    assert world.application(am.application_id).state is ApplicationState.RUNNING
    await world.pass_time(2)

    application = world.application(am.application_id)
    assert application.state is ApplicationState.KILLED
    assert "exceeded the lifetime period" in application.diagnostics


async def test_history_keeps_the_newest_finished_applications() -> None:
    async with World(Options(submission=SubmissionLimits(completed_max=2))) as world:
        alive = await world.running_am()
        ended = []
        for _ in range(4):
            application_id = await world.submit()
            await world.settle()
            world.clock.advance(1)
            await kill(world, application_id)
            ended.append(application_id)
        last = await world.submit()
        await world.settle()

        assert [*world.rm.state.applications] == [alive.application_id, *ended[-2:], last]
        assert {*world.disk.applications} == {*world.rm.state.applications}


async def test_who_ended_first_goes_first_whoever_came_first() -> None:
    async with World(Options(submission=SubmissionLimits(completed_max=2))) as world:
        ids = [await world.submit() for _ in range(3)]
        await world.settle()
        for application_id in reversed(ids):
            world.clock.advance(1)
            await kill(world, application_id)
        await world.restart()
        await world.submit()
        await world.settle()

        assert {*world.rm.state.applications} >= {*ids[:2]}
        assert ids[2] not in world.rm.state.applications


async def test_applications_that_end_at_once_make_room_without_a_submission() -> None:
    """RMAppManager.checkAppNumCompletedLimit; more than are forgotten at a time."""
    async with World(Options(submission=SubmissionLimits(completed_max=1))) as world:
        ids = [await world.submit() for _ in range(2 * FORGOTTEN_MAX + 2)]
        await world.run(world.rm.engine.tell(*(Tell(one, KillRequested("enough", 0)) for one in ids)))
        await world.settle()

        assert {*world.rm.state.applications} == {*world.disk.applications} == {ids[-1]}


async def test_what_a_submission_costs_does_not_grow_with_what_has_ended() -> None:
    """Counted in looks at finished applications' rows."""
    async with World(Options(submission=SubmissionLimits(completed_max=100))) as world:
        for _ in range(101):
            await kill(world, await world.submit())
        await world.settle()
        looked = Looks(world.rm.state.applications)
        world.rm.state.applications = looked
        await world.submit()

        assert len(looked) == 101
        assert looked.count < 50


class Looks(dict[ApplicationId, Application]):
    """Counts what is read of it."""

    count = 0

    def __getitem__(self, key: ApplicationId) -> Application:
        self.count += 1
        return super().__getitem__(key)

    def values(self) -> Any:
        self.count += len(self)
        return super().values()


async def test_forgotten_application_leaves_no_pod(world: World) -> None:
    async with World(Options(submission=SubmissionLimits(completed_max=1))) as small:
        am = await small.running_am()
        await am.finish()
        await am.exit()
        assert small.has_pod(am.container.id)
        for _ in range(3):
            application_id = await small.submit()
            await small.settle()
            await kill(small, application_id)
        assert am.application_id not in small.rm.state.applications

        await small.pass_time(601)
        assert small.pods.pods == {}
