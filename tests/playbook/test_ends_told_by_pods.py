"""Ends that pods tell of before their node agents do: which wait for the agent's words, and until when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, complete, running
from tests.support.rm_options import Options
from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId, dns_name
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.liveness import LivenessSettings
from yodel.services.masters.allocate import AllocateResult
from yodel.services.pods.forgetting import ATTEMPTS_KEPT, PRUNE_INTERVAL_S
from yodel.services.pods.reconciler import ReconcilerSettings

LAST_WORDS = "Last 4096 bytes of stderr :\nNo such table: river"
NODE_EXPIRY_S = 600
Ends = list[tuple[ContainerId, int, str]]


def told(result: AllocateResult) -> Ends:
    return [(c.id, c.exit_status, c.diagnostics) for c in result.completed]


def pods_words(container_id: ContainerId, status: int = 7) -> str:
    return f"Pod {dns_name(container_id)} exited with {status} (Error)"


async def end_pod(world: World, container_id: ContainerId, status: int = 7, **seen: str) -> None:
    """Its pod is seen to have ended; its agent says nothing for longer than it usually takes."""
    world.pods.finish(dns_name(container_id), status, **{"terminated_reason": "Error", **seen})
    await world.settle()
    await world.pass_time(3.1)


async def ended_task(world: World, **seen: str) -> tuple[Am, ContainerId]:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(running(task), running(am.container.id))
    await end_pod(world, task, **seen)
    assert world.container(task).state is ContainerState.COMPLETED
    return am, task


async def ended_master(world: World, max_attempts: int, status: int = 7, **changes: int) -> Am:
    am = await world.running_am(max_attempts=max_attempts, **changes)
    await end_pod(world, am.container.id, status)
    return am


def seen(world: World, am: Am) -> tuple[Application, Attempt]:
    return world.application(am.application_id), world.attempt(am.attempt_id)


# --- tasks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [False, True])
async def test_task_is_told_with_its_agents_words_however_long_that_is_silent(world: World, restarts: bool) -> None:
    am, task = await ended_task(world)
    for _ in range(5):
        await world.pass_time(100)
        assert told(await am.beat()) == []
    if restarts:
        await world.restart()
        await am.register()
        assert told(await am.beat()) == []
        await world.register_node(containers=[running(am.container.id), complete(task, 7, LAST_WORDS)])
    else:
        await world.beat(running(am.container.id), complete(task, 7, LAST_WORDS))

    assert told(await am.beat()) == [(task, 7, LAST_WORDS)]
    assert told(await am.beat()) == []
    assert (world.container(task).exit_status, world.container(task).diagnostics) == (7, LAST_WORDS)


async def test_what_it_held_is_free_while_its_agents_words_are_waited_for(world: World) -> None:
    am = await world.running_am()
    before = replace(world.rm.state.usage.cluster)
    (task,) = await am.obtain(1)
    await end_pod(world, task)

    assert world.rm.state.usage.cluster == before
    assert world.rm.state.container_index.awaiting(NODE) == {task}
    assert len(await am.obtain(1)) == 1  # before the agent has told


async def test_beat_that_does_not_list_it_lets_the_pods_word_count(world: World) -> None:
    am, task = await ended_task(world)
    await world.beat(running(am.container.id))
    assert told(await am.beat()) == [(task, 7, pods_words(task))]
    assert world.rm.state.container_index.awaiting(NODE) == set()


async def test_agent_that_comes_back_and_has_forgotten_it_lets_the_pods_word_count(world: World) -> None:
    am, task = await ended_task(world)
    await world.register_node(containers=[running(am.container.id)])
    assert told(await am.beat()) == []
    await world.beat(running(am.container.id))
    assert told(await am.beat()) == [(task, 7, pods_words(task))]


async def test_agent_may_list_it_as_not_ended_for_a_minute(world: World) -> None:
    am, task = await ended_task(world)
    for _ in range(60):
        await world.beat(running(am.container.id), running(task))
        await world.pass_time(1)
        assert told(await am.beat()) == []
    await world.beat(running(am.container.id), running(task))
    assert told(await am.beat()) == [(task, 7, pods_words(task))]


@pytest.mark.parametrize("registers", [False, True])
async def test_minute_of_an_agent_is_of_its_beats_and_not_of_its_silence(world: World, registers: bool) -> None:
    """Twenty beats with silence between them, of which each counts three seconds; whoever registers goes on with it."""
    am, task = await ended_task(world)
    listed = running(am.container.id), running(task)
    for _ in range(20):
        await world.beat(*listed)
        await world.pass_time(29)
        if registers:
            await world.register_node(containers=listed)
        assert told(await am.beat()) == []
    answer = await world.beat(*listed)
    assert task not in answer.containers_to_clean_up
    assert told(await am.beat()) == [(task, 7, pods_words(task))]


async def test_agent_that_is_late_is_not_told_to_end_what_has_ended(world: World) -> None:
    """Its own words would be lost: it would report that it was told to."""
    am, task = await ended_task(world)
    await world.register_node(containers=[running(am.container.id), running(task)])
    answer = await world.beat(running(am.container.id), running(task))
    assert answer.containers_to_clean_up == ()
    await world.beat(running(am.container.id), complete(task, 7, LAST_WORDS))
    assert told(await am.beat()) == [(task, 7, LAST_WORDS)]


async def test_pods_code_counts_once_the_agent_is_lost() -> None:
    async with World(Options(liveness=LivenessSettings(am_expiry_s=1e6, node_expiry_s=NODE_EXPIRY_S))) as world:
        am, task = await ended_task(world)
        await world.pass_time(NODE_EXPIRY_S - 10)
        assert told(await am.beat()) == []
        await world.pass_time(11)
        assert world.rm.state.nodes[NODE].state is NodeState.LOST
        container = world.container(task)
        assert (container.exit_status, container.diagnostics) == (7, pods_words(task))
        assert not container.awaits_agent


async def test_pods_code_counts_once_the_node_has_left(world: World) -> None:
    am, task = await ended_task(world)
    await world.run(world.rm.registration.unregister(NODE))
    await world.settle()
    container = world.container(task)
    assert (container.exit_status, container.awaits_agent) == (7, False)
    assert world.container(am.container.id).exit_status == -100


async def test_pod_that_ends_where_the_agent_is_gone_is_not_waited_for(world: World) -> None:
    """The node left in the commit that bound the pod to it."""
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.run(world.rm.engine.do(lambda tx: tx.put(replace(tx.node(NODE), state=NodeState.LOST))))
    await end_pod(world, task)
    assert told(await am.beat()) == [(task, 7, pods_words(task))]


async def test_sick_node_still_has_an_agent_that_tells(world: World) -> None:
    am, task = await ended_task(world)
    await world.beat(running(am.container.id), running(task), is_healthy=False, health_report="disk full")
    await world.settle()
    assert world.rm.state.nodes[NODE].state is NodeState.UNHEALTHY
    assert world.container(task).awaits_agent
    await world.beat(complete(task, 7, LAST_WORDS), is_healthy=False, health_report="disk full")
    assert (world.container(task).exit_status, world.container(task).diagnostics) == (7, LAST_WORDS)


async def test_node_that_is_refused_by_the_lists_lets_the_pods_word_count(world: World) -> None:
    _, task = await ended_task(world)
    lists = HostLists(excluded={NODE.host: None})
    await world.run(world.rm.decommission.refresh(lists))
    await world.settle()
    assert (world.container(task).exit_status, world.container(task).awaits_agent) == (7, False)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"reason": "Evicted", "message": "The node was low on resource: memory."}, -102),
        ({"disruption_reason": "PreemptionByScheduler"}, -102),
        ({"disruption_reason": "DeletionByPodGC"}, -100),
        ({"terminated_reason": "ContainerStatusUnknown"}, -100),
        ({"terminated_reason": "StartError"}, -1000),
    ],
)
async def test_other_ends_are_told_at_once(world: World, seen: dict[str, str], expected: int) -> None:
    am, task = await ended_task(world, **seen)
    ((found, status, _),) = told(await am.beat())
    assert (found, status) == (task, expected)


async def test_end_without_memory_keeps_kubernetes_words_unless_the_agent_knows_another(world: World) -> None:
    am = await world.running_am()
    killed, lived_on = await am.obtain(2)
    for task in (killed, lived_on):
        await end_pod(world, task, 137, terminated_reason="OOMKilled")
    assert told(await am.beat()) == []
    await world.beat(running(am.container.id), complete(killed, 137, "Killed"), complete(lived_on, 1, LAST_WORDS))
    first, second = told(await am.beat())
    assert (first[1], "OOMKilled" in first[2]) == (-104, True)
    assert second == (lived_on, 1, LAST_WORDS)


async def test_end_that_was_ordered_later_does_not_take_the_place_of_the_pods(world: World) -> None:
    """The application is killed while its agent is paused, which then ends what it still believes to run."""
    am, task = await ended_task(world)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    await world.beat(complete(task, -107, "Container killed on application-finish event: Application finished."))
    assert (world.container(task).exit_status, world.container(task).diagnostics) == (7, pods_words(task))


async def test_pod_that_has_been_deleted_meanwhile_changes_nothing(world: World) -> None:
    am, task = await ended_task(world)
    world.pods.remove(dns_name(task))
    await world.settle()
    await world.beat(running(am.container.id), complete(task, 143, "Killed"))
    assert told(await am.beat()) == [(task, 7, pods_words(task))]


async def test_pod_that_is_gone_and_had_ended_by_itself_is_waited_for_too(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    world.pods.finish(dns_name(task), 0, terminated_reason="Completed")
    world.pods.remove(dns_name(task))
    await world.settle()
    assert told(await am.beat()) == []
    await world.beat(running(am.container.id), complete(task, 0, "Exit 0"))
    assert told(await am.beat()) == [(task, 0, "Exit 0")]


async def test_end_of_a_job_that_is_over_is_kept_until_its_agent_has_told(world: World) -> None:
    am, task = await ended_task(world)
    await am.finish()
    await world.beat(running(task), complete(am.container.id))
    world.pods.remove(dns_name(task))
    for _ in range(3):
        await world.pass_time(100)
    assert task in world.rm.state.containers
    await world.beat(complete(task, 7, LAST_WORDS))
    await world.pass_time(100)
    assert task not in world.rm.state.containers
    assert world.disk.ended[task].diagnostics == LAST_WORDS


async def test_preemption_that_an_agent_tells_late_is_counted_once(world: World) -> None:
    am, task = await ended_task(world)
    await world.beat(running(am.container.id), complete(task, -102, "Container preempted"))
    assert told(await am.beat()) == [(task, -102, "Container preempted")]
    assert world.rm.reports.preempted_count == 1
    counted = world.rm.state.totals.cluster.preempted
    assert (counted.others, world.rm.state.usage.seconds[am.application_id].preempted) == (1, counted)
    await world.restart()
    assert world.rm.state.totals.cluster.preempted == counted


async def test_event_of_the_end_has_the_agents_words(world: World) -> None:
    am, task = await ended_task(world)
    events = world.rm.transitions
    assert next(step for step in events.newest_first() if step.subject == str(task)).after == "RUNNING"
    await world.beat(running(am.container.id), complete(task, 7, LAST_WORDS))
    newest = next(iter(events.newest_first()))
    assert (newest.subject, newest.after, newest.exit_status, newest.reason) == (str(task), "COMPLETED", 7, LAST_WORDS)


@pytest.mark.parametrize("keeps", [False, True])
async def test_next_attempt_hears_of_it_only_where_it_took_containers_over(world: World, keeps: bool) -> None:
    am = await world.running_am(keep_containers_across_attempts=keeps)
    (task,) = await am.obtain(1)
    await world.beat(running(task))
    await end_pod(world, task)
    await world.beat(running(task), complete(am.container.id, 1))
    await world.settle()
    await world.bind_and_settle()
    second = Am(world, world.application(am.application_id).current_attempt_id)
    await second.register()
    assert told(await second.beat()) == []
    await world.beat(running(second.container.id), complete(task, 7, LAST_WORDS))
    assert told(await second.beat()) == ([(task, 7, LAST_WORDS)] if keeps else [])
    assert world.container(task).diagnostics == LAST_WORDS


# --- masters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [False, True])
async def test_next_attempt_starts_at_once_and_the_old_ones_row_is_completed(world: World, restarts: bool) -> None:
    am = await ended_master(world, max_attempts=2)
    application, attempt = seen(world, am)
    assert (application.current_attempt, attempt.state) == (2, AttemptState.FAILED)
    assert pods_words(am.container.id) in attempt.diagnostics
    await world.bind_and_settle()
    if restarts:
        await world.restart()
        await world.register_node(containers=[complete(am.container.id, 7, LAST_WORDS)])
    else:
        await world.beat(complete(am.container.id, 7, LAST_WORDS))
    await world.settle()

    application, attempt = seen(world, am)
    assert application.current_attempt == 2
    assert attempt.diagnostics.startswith(
        f"AM Container for {am.attempt_id} exited with  exitCode: 7\nFailing this attempt.Diagnostics: {LAST_WORDS}"
        f"For more detailed output, check the application tracking page: http://rm:8088/cluster/app/{application.id} "
    )
    assert am.container.diagnostics == LAST_WORDS


async def test_failure_that_an_agent_excuses_late_does_not_count(world: World) -> None:
    am = await ended_master(world, max_attempts=2, status=143)
    assert len(seen(world, am)[0].failure_times_ms) == 1
    await world.beat(complete(am.container.id, -102, "Container preempted"))
    await world.settle()
    application, attempt = seen(world, am)
    assert (application.failure_times_ms, application.current_attempt) == ((), 2)
    assert "exitCode: -102" in attempt.diagnostics


@pytest.mark.parametrize("restarts", [False, True])
async def test_application_without_attempts_left_ends_when_the_agent_has_told(world: World, restarts: bool) -> None:
    am = await ended_master(world, max_attempts=1)
    assert not am.container.is_live
    for _ in range(3):
        await world.pass_time(100)
    if restarts:
        await world.restart()
        await world.register_node(containers=[running(am.container.id)])
    application, attempt = seen(world, am)
    assert (application.state, attempt.state) == (ApplicationState.RUNNING, AttemptState.RUNNING)
    shown = world.rm.queries.application(am.application_id).application.diagnostics
    assert shown == (
        f"ApplicationMaster container {am.container.id} has ended: {pods_words(am.container.id)}. Waiting for the node "
        f"agent of {NODE} to report its last output; the application ends then, or when that node is lost."
    )

    await world.beat(complete(am.container.id, 7, LAST_WORDS))
    await world.settle()
    application, _ = seen(world, am)
    assert application.state is ApplicationState.FAILED
    assert application.diagnostics.startswith(
        f"Application {application.id} failed 1 times (global limit =2; local limit is =1) due to AM Container for "
        f"{am.attempt_id} exited with  exitCode: 7\nFailing this attempt.Diagnostics: {LAST_WORDS}"
    )


async def test_application_without_attempts_left_ends_with_the_pods_code_when_its_node_is_lost() -> None:
    """And not before, by the silence of an ApplicationMaster that is known to be over."""
    options = Options(liveness=LivenessSettings(am_expiry_s=60, node_expiry_s=NODE_EXPIRY_S))
    async with World(options) as world:
        am = await ended_master(world, max_attempts=1)
        for _ in range(5):
            await world.pass_time(100)
        assert seen(world, am)[0].state is ApplicationState.RUNNING
        await world.pass_time(100)
        application, _ = seen(world, am)
        assert application.state is ApplicationState.FAILED
        assert "exitCode: 7\n" in application.diagnostics
        assert len(application.failure_times_ms) == 1


async def test_application_without_attempts_left_ends_when_the_agent_does_not_know_it(world: World) -> None:
    am = await ended_master(world, max_attempts=1)
    await world.beat()
    await world.settle()
    application, _ = seen(world, am)
    assert application.state is ApplicationState.FAILED
    assert pods_words(am.container.id) in application.diagnostics


async def test_application_is_killed_at_once_whatever_it_waits_for(world: World) -> None:
    am = await ended_master(world, max_attempts=1)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    application, attempt = seen(world, am)
    assert (application.state, attempt.state) == (ApplicationState.KILLED, AttemptState.KILLED)
    words = application.diagnostics, attempt.diagnostics

    await world.beat(complete(am.container.id, 7, LAST_WORDS))
    await world.settle()
    application, attempt = seen(world, am)
    assert (application.state, attempt.state) == (ApplicationState.KILLED, AttemptState.KILLED)
    assert (application.diagnostics, attempt.diagnostics) == words
    assert am.container.diagnostics == LAST_WORDS


async def test_attempt_that_an_operator_failed_meanwhile_keeps_those_words(world: World) -> None:
    am = await ended_master(world, max_attempts=1)
    await world.run(world.rm.submission.fail_attempt(am.attempt_id, "admin"))
    await world.settle()
    _, attempt = seen(world, am)
    await world.beat(complete(am.container.id, 7, LAST_WORDS))
    await world.settle()
    assert seen(world, am)[1].diagnostics == attempt.diagnostics
    assert attempt.diagnostics == "Attempt failed by user."


async def test_failures_may_have_become_old_by_the_time_the_agent_tells(world: World) -> None:
    am = await ended_master(world, max_attempts=1, attempt_failures_validity_interval_ms=10_000)
    application, _ = seen(world, am)
    assert application.state is ApplicationState.RUNNING
    await world.pass_time(60)
    await world.beat(complete(am.container.id, -102, "Container preempted"))
    await world.settle()
    application, attempt = seen(world, am)
    assert (application.state, application.current_attempt) == (ApplicationState.ACCEPTED, 2)
    assert attempt.state is AttemptState.FAILED


async def test_master_that_had_unregistered_is_waited_for_by_nobody(world: World) -> None:
    am = await world.running_am(max_attempts=1)
    await am.finish()
    await end_pod(world, am.container.id, 0, terminated_reason="Completed")
    assert seen(world, am)[0].state is ApplicationState.FINISHED
    await world.beat(complete(am.container.id, 0, "Exit 0"))
    assert am.container.diagnostics == "Exit 0"


async def test_application_that_is_forgotten_tells_its_ends_before() -> None:
    """Whoever follows containers hears of every end, however long its agent is silent."""
    async with World(Options(submission=SubmissionLimits(completed_max=0))) as world:
        am, task = await ended_task(world)
        await world.run(world.rm.submission.kill(am.application_id, "alice"))
        await world.settle()
        assert am.application_id not in world.rm.state.applications
        told_of = [step for step in world.rm.transitions.newest_first() if step.subject == str(task)]
        assert (told_of[0].after, told_of[0].reason) == ("COMPLETED", pods_words(task))


async def test_attempt_is_not_forgotten_while_its_agent_is_waited_for() -> None:
    options = Options(reconciler=ReconcilerSettings(pod_retention_s=0))
    async with World(options) as world:
        am = await ended_master(world, 2, attempt_failures_validity_interval_ms=1_000)
        application = world.application(am.application_id)
        for _ in range(ATTEMPTS_KEPT + 1):
            await world.bind_and_settle()
            master = Am(world, world.application(application.id).current_attempt_id).container.id
            world.clock.advance(2)
            await world.beat(running(am.container.id), complete(master, 1))
            await world.settle()
        assert len(world.rm.state.attempts_of(application.id)) > ATTEMPTS_KEPT
        world.clock.advance(PRUNE_INTERVAL_S)
        await world.run(world.rm.forgetting.round())
        assert am.attempt_id in world.rm.state.attempts
        await world.beat(complete(am.container.id, 7, LAST_WORDS))
        world.clock.advance(PRUNE_INTERVAL_S)
        await world.run(world.rm.forgetting.round())
        assert am.attempt_id not in world.rm.state.attempts
