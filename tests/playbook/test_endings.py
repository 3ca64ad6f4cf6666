"""How containers, attempts and applications end, in the words users know from YARN."""

from __future__ import annotations

import pytest

from tests.support.playbook import NODE, Am, Options, World, ask, complete, running
from yodel.domain.ids import ApplicationId, ContainerId, NodeId, pod_name
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    FinalApplicationStatus,
    NodeState,
)
from yodel.errors import (
    AccessDenied,
    ApplicationAttemptNotFound,
    ApplicationNotFound,
    InvalidReleaseRequest,
    Refused,
    Unavailable,
)
from yodel.services.liveness import LivenessSettings
from yodel.services.submission import SubmissionLimits

LOST_TEXT = "Container released on a *lost* node"


def completions(result: object) -> list[tuple[ContainerId, int, str]]:
    return [(c.id, c.exit_status, c.diagnostics) for c in result.completed]  # type: ignore[attr-defined]


# --- containers ----------------------------------------------------------------------------------------------------


async def test_released_container_is_reported_with_minus_100_and_its_pod_goes(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)

    released = await am.beat(releases=[container_id])

    assert completions(released) == [(container_id, -100, "Container released by application")]
    await world.settle()
    assert not world.has_pod(container_id)
    assert (await world.beat()).containers_to_clean_up == (container_id,)
    assert not (await am.beat()).completed


async def test_container_of_another_application_cannot_be_released(world: World) -> None:
    am, thief = await world.running_am(), await world.running_am(user="mallory")
    (container_id,) = await am.obtain(1)

    for stolen in (container_id, am.container.id):
        with pytest.raises(InvalidReleaseRequest, match=f"Cannot release container : {stolen} not belonging to"):
            await thief.beat(releases=[stolen])

    assert world.container(container_id).is_live
    assert am.container.is_live


async def test_completion_is_reported_exactly_once_however_often_the_agent_says_it(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    reports = []
    for _ in range(3):
        await world.beat(complete(container_id, 3, "boom"))
        reports += completions(await am.beat())

    assert reports == [(container_id, 3, "boom")]
    assert world.container(container_id).is_acknowledged
    assert (await world.beat(complete(container_id, 3))).containers_to_forget == (container_id,)


async def test_completion_comes_again_to_an_am_whose_answer_was_lost(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id))

    before = am.response_id
    lost = await am.beat()
    am.response_id = before  # the answer never came: AMRMClient repeats the beat
    repeated = await am.beat()

    assert repeated is lost
    assert not world.container(container_id).is_acknowledged


async def test_completion_not_acknowledged_is_reported_again_after_a_restart(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id))
    await am.beat()

    await world.restart()
    await am.register()

    assert completions(await am.beat()) == [(container_id, 0, "")]
    await am.beat()
    await world.restart()
    await am.register()
    assert not (await am.beat()).completed


async def test_acknowledgement_survives_a_store_that_did_not_answer(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id))
    await am.beat()

    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await am.beat()
    await am.beat()

    assert world.disk.containers[container_id].is_acknowledged


async def test_grant_survives_a_beat_that_nobody_waited_for(world: World) -> None:
    """The call's deadline passed after its commit: the container is ACQUIRED and was in no answer."""
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    (waiting,) = world.live_tasks()

    import asyncio

    from yodel.services.allocate import AllocateRequest

    request = AllocateRequest(response_id=am.response_id)
    call = asyncio.create_task(world.rm.master.allocate_slow(am.attempt_id, request))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await world.settle()
    assert world.container(waiting.id).state is ContainerState.ACQUIRED

    assert [g.container.id for g in (await am.beat()).granted] == [waiting.id]


async def test_container_that_ends_before_it_is_handed_out_is_never_heard_of(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    (first,) = world.live_tasks()

    world.pods.remove(pod_name(first.id))
    await world.settle()
    await world.bind_and_settle()
    result = await am.beat()

    assert world.container(first.id).state is ContainerState.COMPLETED
    assert [g.container.id.sequence for g in result.granted] == [first.id.sequence + 1]
    assert not result.completed


async def test_end_in_the_same_commit_as_the_grant_is_reported_once(world: World) -> None:
    """The beat and the agent's word share a batch: the AM gets the container and its end."""
    import asyncio

    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    (waiting,) = world.live_tasks()

    beat = asyncio.create_task(am.beat())
    await asyncio.sleep(0)
    end = asyncio.create_task(world.beat(complete(waiting.id, 1)))
    result = await beat
    await end
    reported = [*completions(result), *completions(await am.beat()), *completions(await am.beat())]

    assert [g.container.id for g in result.granted] == [waiting.id]
    assert reported == [(waiting.id, 1, "")]


async def test_pod_deleted_from_outside_ends_its_container_with_minus_100(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(running(container_id))

    world.pods.remove(pod_name(container_id))
    await world.settle()

    text = f"Container released: its pod {pod_name(container_id)} was deleted"
    assert completions(await am.beat()) == [(container_id, -100, text)]


async def test_signal_that_was_a_deletion_of_the_pod_is_told_as_one(world: World) -> None:
    """The agent sees only SIGTERM; Kubernetes knows why."""
    am = await world.running_am()
    (deleted, killed) = await am.obtain(2)
    world.pods.change(pod_name(deleted), deletion_requested=True)
    await world.settle()

    await world.beat(complete(deleted, 143, "killed"), complete(killed, 143, "killed"))

    assert [(i, status) for i, status, _ in completions(await am.beat())] == [(deleted, -100), (killed, 143)]


async def test_pods_end_counts_when_no_agent_speaks(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(running(container_id))

    world.pods.finish(pod_name(container_id), 137, terminated_reason="OOMKilled")
    await world.settle()
    assert world.container(container_id).is_live  # the agent has three seconds to say it better

    await world.pass_time(3.1)
    ((_, status, text),) = completions(await am.beat())
    assert status == -104
    assert "OOMKilled" in text


async def test_agents_word_beats_the_pods_status(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.finish(pod_name(container_id), 1)
    await world.settle()

    await world.beat(complete(container_id, 1, "last lines of stderr"))
    await world.pass_time(4)

    assert completions(await am.beat()) == [(container_id, 1, "last lines of stderr")]


async def test_container_nobody_starts_expires() -> None:
    async with World(Options(liveness=LivenessSettings(container_expiry_s=60, am_expiry_s=1e6))) as world:
        am = await world.running_am()
        unused, used = await am.obtain(2)
        await world.beat(running(used))
        await world.pass_time(1)
        await world.pass_time(61)

        assert completions(await am.beat()) == [(unused, -100, "Container expired since it was unused")]
        assert world.container(used).is_live


async def test_word_of_another_node_on_a_container_is_worth_nothing(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    elsewhere = NodeId("node-2", 8041)
    await world.register_node(elsewhere)

    await world.beat(complete(container_id, 9), node_id=elsewhere)

    assert world.container(container_id).is_live


# --- nodes ---------------------------------------------------------------------------------------------------------


async def test_containers_of_a_lost_node_end_with_minus_100() -> None:
    async with World(Options(liveness=LivenessSettings(node_expiry_s=60, am_expiry_s=1e6))) as world:
        am = await world.running_am()
        other = NodeId("node-2", 8041)
        await world.register_node(other)
        await am.beat(ask(1))
        await world.settle()
        await world.bind_and_settle("node-2")
        ((granted),) = (await am.beat()).granted
        container_id = granted.container.id
        await world.beat(running(container_id), node_id=other)

        world.clock.advance(50)
        await world.beat()
        await world.pass_time(20)

        assert world.rm.state.nodes[other].state is NodeState.LOST
        result = await am.beat()
        assert completions(result) == [(container_id, -100, LOST_TEXT)]
        assert [(n.id, n.is_usable) for n in result.changed_nodes] == [(other, False)]
        assert am.container.is_live
        assert not world.has_pod(container_id)

        back = await world.beat(running(container_id), node_id=other)
        assert back.must_resync
        await world.register_node(other, containers=[running(container_id)])
        assert (await world.beat(node_id=other)).containers_to_clean_up == (container_id,)


async def test_am_on_a_lost_node_is_tried_again_and_the_application_is_not_blamed() -> None:
    options = Options(
        liveness=LivenessSettings(node_expiry_s=60, am_expiry_s=1e6), submission=SubmissionLimits(max_attempts=1)
    )
    async with World(options) as world:
        am = await world.running_am()
        await world.pass_time(61)

        application = world.application(am.application_id)
        assert (application.state, application.current_attempt) == (ApplicationState.ACCEPTED, 2)
        assert application.failure_times_ms == ()
        assert LOST_TEXT in world.attempt(am.attempt_id).diagnostics


async def test_containers_of_a_node_that_shut_down_end_as_on_a_lost_one(world: World) -> None:
    am = await world.running_am()
    other = NodeId("node-2", 8041)
    await world.register_node(other)
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle("node-2")
    ((granted),) = (await am.beat()).granted

    await world.run(world.rm.nodes.unregister(other))
    await world.settle()

    assert completions(await am.beat()) == [(granted.container.id, -100, LOST_TEXT)]


async def test_node_that_beats_unregistered_is_told_to_register(world: World) -> None:
    assert (await world.beat()).must_resync


async def test_container_that_runs_where_no_row_lives_is_cleaned_up(world: World) -> None:
    stranger = ContainerId.parse("container_1_0001_01_000002")

    await world.register_node(containers=[running(stranger)])

    assert (await world.beat()).containers_to_clean_up == (stranger,)


async def test_heartbeat_whose_answer_was_lost_is_answered_again(world: World) -> None:
    """RMNodeImpl: what an agent has to do is not forgotten because a connection broke."""
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    last = (await world.beat()).response_id
    await am.beat(releases=[container_id])

    lost = await world.beat(response_id=last)
    again = await world.beat(response_id=last)
    next_one = await world.beat(response_id=again.response_id)

    assert lost.containers_to_clean_up == again.containers_to_clean_up == (container_id,)
    assert again.response_id == lost.response_id
    assert next_one.containers_to_clean_up == ()


async def test_signal_is_passed_on_with_the_next_heartbeat(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)

    assert world.rm.nodes.signal(container_id, 1)
    assert not world.rm.nodes.signal(ContainerId.of(am.attempt_id, 99), 1)

    assert (await world.beat()).signals == ((container_id, 1),)
    assert (await world.beat()).signals == ()


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


async def test_am_refused_by_its_node_agent_fails_the_attempt_with_its_words(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(max_attempts=1)
    await world.settle()
    world.agents.errors.append(Refused("no such local resource"))
    await world.bind_and_settle()

    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    assert "no such local resource" in application.diagnostics


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
    start = world.agents.start_am

    async def start_and_register(request: object) -> None:
        await start(request)  # type: ignore[arg-type]
        am = Am(world, attempt_id)
        await world.rm.master.register(attempt_id, "h", 1, "")
        am_seen.append(am)

    world.agents.start_am = start_and_register  # type: ignore[method-assign, assignment]
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
    assert world.rm.state.runtimes == {}
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
    assert application.diagnostics == (
        f"Application {application_id} submitted by user alice to unknown queue: nowhere"
    )


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


# --- pods ----------------------------------------------------------------------------------------------------------


async def test_pod_that_finds_no_node_waits_and_can_be_taken_back(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (waiting,) = world.live_tasks()
    world.pods.change(pod_name(waiting.id), unschedulable_message="0/1 nodes are available: insufficient memory")
    await world.pass_time(300)
    assert world.container(waiting.id).state is ContainerState.PLANNED

    await am.beat(ask(0))
    await world.settle()

    assert world.live_tasks() == []
    assert not world.has_pod(waiting.id)
    assert not (await am.beat()).completed


async def test_cancelling_takes_back_what_has_no_node_first(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(3))
    await world.settle()
    first = min(c.id for c in world.live_tasks())
    world.pods.change(pod_name(first), node_name=NODE.host)
    await world.settle()

    await am.beat(ask(1), progress=0.5)  # this beat hands the bound one over: nothing is wanted any more
    await world.settle()

    assert [c.id for c in world.live_tasks()] == [first]


async def test_refused_pod_of_an_am_fails_the_application_with_the_servers_words(world: World) -> None:
    await world.register_node()
    world.pods.create_errors += [Refused("admission webhook denied the request")] * 2
    application_id = await world.submit()
    await world.settle()

    application = world.application(application_id)
    assert application.state is ApplicationState.FAILED
    assert "admission webhook denied the request" in application.diagnostics


async def test_refused_pod_of_a_task_is_tried_again_without_haste(world: World) -> None:
    """A quota that is full must not make a new row every few milliseconds."""
    am = await world.running_am()
    world.pods.create_errors += [Refused("exceeded quota")] * 3
    await am.beat(ask(1))
    world.steps.clear()
    await world.settle()
    (waiting,) = world.live_tasks()
    assert world.steps.count("before pod creation") == 1

    for _ in range(4):
        await world.pass_time(30)
    assert world.has_pod(waiting.id)
    await world.bind_and_settle()
    assert [g.container.id for g in (await am.beat()).granted] == [waiting.id]


async def test_pod_that_may_not_be_deleted_is_no_reason_to_die(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.delete_errors.append(Refused("pods is forbidden: cannot delete"))
    await am.beat(releases=[container_id])
    await world.settle()
    assert world.has_pod(container_id)

    await world.pass_time(61)
    assert not world.has_pod(container_id)


async def test_pod_of_ours_without_a_row_is_deleted(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    stray = world.pods.pods[pod_name(container_id)]
    name = pod_name(ContainerId.of(am.attempt_id, 77))
    labels = {**stray.labels, "yodel.io/container-id": str(ContainerId.of(am.attempt_id, 77))}
    world.pods.put(type(stray)(name=name, uid="u", resource_version="", labels=labels))
    await world.settle()

    assert name not in world.pods.pods
    assert world.has_pod(container_id)


async def test_planned_pod_that_vanishes_is_made_again(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (waiting,) = world.live_tasks()
    world.pods.remove(pod_name(waiting.id))
    await world.settle()

    assert world.has_pod(waiting.id)


async def test_pod_bound_before_its_node_agent_registers_waits_for_it(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    await world.bind_and_settle("node-2")
    assert world.attempt(world.application(application_id).current_attempt_id).state is AttemptState.SCHEDULED

    await world.register_node(NodeId("node-2", 8041))
    await world.pass_time(1)

    assert world.attempt(world.application(application_id).current_attempt_id).state is AttemptState.LAUNCHED
