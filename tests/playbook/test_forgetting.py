"""Containers that ended leave memory, and whoever speaks of them later is answered as if they were still there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, complete, running
from tests.support.rm_options import Options
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.past import PastUsageId
from yodel.domain.states import ApplicationState, ContainerState
from yodel.errors import ContainerNotFound, Unavailable
from yodel.ports.store import EndedKept
from yodel.services.pods.forgetting import ATTEMPTS_KEPT, PRUNE_INTERVAL_S
from yodel.services.pods.reconciler import ReconcilerSettings

RETENTION_S = 600.0
ELSEWHERE = NodeId("node-2", 8041)


async def forget(world: World) -> None:
    """Forget what is due within seconds, without letting time pass for anybody else."""
    await world.settle()
    await world.run(world.rm.forgetting.round())


def in_memory(world: World) -> set[ContainerId]:
    return set(world.rm.state.containers)


async def ended_and_heard(world: World, am: Am, count: int = 1) -> list[ContainerId]:
    """Containers that ran for a minute, whose end their ApplicationMaster knows, and whose pods are still there."""
    ids = await am.obtain(count)
    world.clock.advance(60)
    await world.beat(*map(complete, ids))
    await world.settle()
    assert {c.id for c in (await am.beat()).completed} == {*ids}
    await am.acknowledge()
    return ids


async def forgotten(world: World, am: Am, count: int = 1) -> list[ContainerId]:
    ids = await ended_and_heard(world, am, count)
    await world.pass_time(RETENTION_S)
    assert in_memory(world) == {am.container.id}
    return ids


async def test_it_goes_when_its_end_is_heard_and_its_pod_is_gone(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(complete(task))
    await world.pass_time(RETENTION_S)
    world.rm.forgetting.look_at_all()
    await forget(world)
    assert not world.has_pod(task)
    assert task in in_memory(world), "its ApplicationMaster has not heard of it"

    assert [c.id for c in (await am.beat()).completed] == [task]
    await forget(world)
    assert task in in_memory(world), "the answer may be lost"

    await am.beat()
    await forget(world)

    assert in_memory(world) == {am.container.id}
    assert world.disk.containers.keys() == {am.container.id}
    kept = world.disk.ended[task]
    assert (kept.state, kept.node_id, kept.exit_status) == (ContainerState.COMPLETED, NODE, 0)

    world.rm.forgetting.acknowledged([task])
    await forget(world)
    assert task not in in_memory(world), "an acknowledgement may come when it has gone"


async def test_it_goes_in_the_commit_that_acknowledges_its_end_and_its_agent_forgets_it(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await world.beat(complete(task))
    await world.pass_time(RETENTION_S)
    await world.settle()
    assert not world.has_pod(task)
    await am.beat()

    world.steps.clear()
    await am.acknowledge()

    assert world.steps == ["before commit", "after commit"]
    assert task not in in_memory(world)
    assert world.disk.ended[task].is_acknowledged
    assert (await world.beat()).containers_to_forget == (task,), "it need not report the end again"


async def test_it_stays_as_long_as_its_pod(world: World) -> None:
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)

    await world.pass_time(RETENTION_S - 60)
    assert task in in_memory(world)

    await world.pass_time(60)
    assert task not in in_memory(world)


async def test_it_stays_as_long_as_its_pod_whoever_looks(world: World) -> None:
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)
    assert world.container(task).is_acknowledged

    world.steps.clear()
    world.rm.forgetting.look_at_all()
    await forget(world)

    assert world.steps == [], "its acknowledgement is written once"
    assert world.has_pod(task)
    assert task in in_memory(world)


async def test_what_was_never_known_to_the_application_master_goes_at_once(world: World) -> None:
    am = await world.running_am()
    (task,) = await am.obtain(1)
    await am.beat(releases=[task])
    await world.settle()
    assert task in in_memory(world), "released, and its end is told"

    await am.beat()
    await am.beat()
    await forget(world)

    assert task not in in_memory(world)


@pytest.mark.parametrize("is_killed", [True, False])
async def test_all_of_an_ended_application_go_heard_of_or_not(world: World, is_killed: bool) -> None:
    am = await world.running_am()
    await am.obtain(3)
    if is_killed:
        await world.run(world.rm.submission.kill(am.application_id, "alice"))
    else:
        await am.finish()
        await am.exit()
    await world.pass_time(RETENTION_S)

    assert world.application(am.application_id).state.is_final
    assert in_memory(world) == {am.container.id}, "reports name the node of its ApplicationMaster"
    assert len(world.disk.ended) == 3


@pytest.mark.parametrize("keeps", [True, False])
async def test_an_end_that_an_attempt_did_not_hear_of_waits_for_the_next_where_that_one_takes_over(
    world: World, keeps: bool
) -> None:
    am = await world.running_am(keep_containers_across_attempts=keeps, max_attempts=2)
    (task,) = await am.obtain(1)
    await world.beat(complete(task))
    await world.pass_time(RETENTION_S)
    await am.exit(1)
    await forget(world)

    assert (task in in_memory(world)) is keeps

    await world.bind_and_settle()
    second = Am(world, world.application(am.application_id).current_attempt_id)
    await world.beat(running(second.container.id))
    await second.register()
    assert [c.id for c in (await second.beat()).completed] == ([task] if keeps else [])
    await second.beat()
    await forget(world)
    assert task not in in_memory(world)


async def test_an_agent_that_repeats_a_forgotten_end_is_told_to_forget_it(world: World) -> None:
    am = await world.running_am()
    (task,) = await forgotten(world, am)

    answer = await world.beat(complete(task))
    answer = await world.beat() if not answer.containers_to_forget else answer

    assert list(answer.containers_to_forget) == [task]
    assert in_memory(world) == {am.container.id}


async def test_an_agent_that_starts_again_hears_what_to_do_with_what_was_forgotten(world: World) -> None:
    am = await world.running_am()
    over, left_running = await forgotten(world, am, 2)

    await world.register_node(containers=[complete(over), running(left_running), running(am.container.id)])
    answer = await world.beat()

    assert list(answer.containers_to_forget) == [over]
    assert list(answer.containers_to_clean_up) == [left_running]


async def test_what_still_runs_after_it_was_forgotten_is_ended(world: World) -> None:
    """The order to end it was given once and lost."""
    am = await world.running_am()
    (task,) = await forgotten(world, am)

    answer = await world.beat(running(task), running(am.container.id))

    assert list(answer.containers_to_clean_up) == [task]


async def test_an_application_master_may_release_what_was_forgotten(world: World) -> None:
    am = await world.running_am()
    (task,) = await forgotten(world, am)

    result = await am.beat(releases=[task])

    assert list(result.completed) == []
    assert in_memory(world) == {am.container.id}


async def test_a_relist_brings_nothing_back(world: World) -> None:
    am = await world.running_am()
    await forgotten(world, am)

    world.relist()
    await forget(world)

    assert in_memory(world) == {am.container.id}


async def test_a_pod_of_what_was_forgotten_is_deleted(world: World) -> None:
    """It was away from the list for a moment."""
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)
    pods = {name: pod for name, pod in world.pods.pods.items() if pod.node_name}
    (pod,) = [pod for name, pod in pods.items() if name.endswith(f"{task.sequence:06d}")]
    world.rm.reconciler.pod_gone(pod)
    await forget(world)
    assert task not in in_memory(world)

    world.relist()
    await world.settle()

    assert not world.has_pod(task)


async def test_a_new_life_forgets_what_the_last_one_could_not(world: World) -> None:
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)
    await world.stop()
    world.pods.remove(next(name for name in world.pods.pods if name.endswith(f"{task.sequence:06d}")))
    await world.start()
    await forget(world)

    assert task not in in_memory(world)


async def test_a_store_that_is_away_keeps_it_until_the_next_round(world: World) -> None:
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)
    world.pods.remove(next(name for name in world.pods.pods if name.endswith(f"{task.sequence:06d}")))
    await world.settle()
    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await world.run(world.rm.forgetting.round())
    assert task in in_memory(world)

    await forget(world)

    assert task not in in_memory(world)


async def test_figures_do_not_change(world: World) -> None:
    am = await world.running_am()
    await world.register_node(ELSEWHERE)
    await ended_and_heard(world, am, 2)
    queries, state = world.rm.queries, world.rm.state

    def figures() -> object:
        view = world.rm.queries.application(am.application_id)
        state = world.rm.state
        totals = (state.totals.cluster, state.totals.of("root.default"))
        counted = [(t.containers_allocated, t.containers_released) for t in totals]
        tasks_alone = world.rm.state.usage.seconds[am.application_id]
        return (tasks_alone.memory_mib_s, tasks_alone.vcore_s), counted, state.nodes_of_live_applications(), view.used

    before = figures()
    assert before[0] == (2 * 60 * 1024, 2 * 60)  # type: ignore[index]
    world.pods.pods = {n: p for n, p in world.pods.pods.items() if n.endswith("000001")}
    world.relist()
    await forget(world)
    assert in_memory(world) == {am.container.id}
    assert figures() == before
    assert state.past_usage[PastUsageId(am.application_id, NODE)].containers == 2
    assert (await queries.metrics()).containers_allocated == 1

    await world.restart()
    await world.settle()

    assert figures() == before


async def test_a_node_that_a_live_application_used_is_not_let_go_because_its_containers_are_forgotten(
    world: World,
) -> None:
    """Its shuffle files may still be fetched from there; also in the next life."""
    am = await world.running_am()
    await world.register_node(ELSEWHERE)
    await forgotten(world, am)
    await world.restart()

    assert NODE in world.rm.state.nodes_of_live_applications()
    assert PastUsageId(am.application_id, NODE) in world.rm.state.past_usage
    assert ELSEWHERE not in world.rm.state.nodes_of_live_applications()


async def test_nothing_of_it_stays_when_its_application_is_forgotten(world: World) -> None:
    am = await world.running_am()
    await forgotten(world, am)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()

    world.rm.engine.forget_application(am.application_id)
    await world.settle()

    assert (world.disk.ended, world.disk.past_usage, world.rm.state.past_usage) == ({}, {}, {})
    assert in_memory(world) == set()


async def test_an_application_forgotten_in_the_same_batch_is_no_obstacle(world: World) -> None:
    am = await world.running_am()
    (task,) = await ended_and_heard(world, am)
    await world.run(world.rm.submission.kill(am.application_id, "alice"))
    await world.settle()
    world.pods.remove(next((name for name in world.pods.pods if name.endswith(f"{task.sequence:06d}")), ""))
    await world.settle()
    world.rm.engine.forget_application(am.application_id)
    await world.run(world.rm.forgetting.round())
    await world.settle()

    assert (world.disk.ended, world.disk.past_usage, world.disk.containers) == ({}, {}, {})


async def test_forgotten_containers_are_not_found_as_in_hadoop(world: World) -> None:
    am = await world.running_am()
    (task,) = await forgotten(world, am)

    assert [c.id for c in world.rm.queries.containers(am.attempt_id)] == [am.container.id]
    with pytest.raises(ContainerNotFound):
        world.rm.queries.container(task)


async def test_what_is_kept_is_bounded() -> None:
    options = Options(
        ended_kept=EndedKept(per_application=5, in_all=11, age_s=3600),
        reconciler=ReconcilerSettings(explanation_wait_s=0, pod_retention_s=0),
    )
    async with World(options) as world:
        masters = [await world.running_am(), await world.running_am(name="other")]
        for am in masters:
            for _ in range(2):
                await forgotten_of(world, am, 4)
        await world.pass_time(PRUNE_INTERVAL_S)
        assert sorted(sum(i.application_id == am.application_id for i in world.disk.ended) for am in masters) == [3, 5]

        world.clock.advance(3601)
        await forget(world)
        assert world.disk.ended == {}
        assert all(world.application(am.application_id).state is ApplicationState.RUNNING for am in masters)


async def forgotten_of(world: World, am: Am, count: int) -> None:
    ids = await am.obtain(count)
    world.clock.advance(1)
    await world.beat(*(replace(complete(i)) for i in ids))
    await world.settle()
    await am.beat()
    await am.beat()
    await forget(world)
    assert not in_memory(world) & {*ids}


async def failing_for_ever(world: World, times: int) -> ApplicationId:
    """Its ApplicationMaster runs for two minutes and fails, as often as one likes: its failures grow too old."""
    application_id = await world.submit(max_attempts=2, attempt_failures_validity_interval_ms=1_000)
    await world.settle()
    for _ in range(times):
        await world.bind_and_settle()
        am = Am(world, world.application(application_id).current_attempt_id)
        await world.beat(running(am.container.id))
        await am.register()
        await world.pass_time(2 * PRUNE_INTERVAL_S)
        await am.exit(1)
    return application_id


async def test_of_attempts_without_end_the_last_are_kept() -> None:
    options = Options(reconciler=ReconcilerSettings(explanation_wait_s=0, pod_retention_s=0))
    async with World(options) as world:
        await world.register_node()
        application_id = await failing_for_ever(world, ATTEMPTS_KEPT + 10)
        await world.pass_time(PRUNE_INTERVAL_S)
        state, last = world.rm.state, ATTEMPTS_KEPT + 11
        kept = [attempt.id.attempt for attempt in state.attempts_of(application_id)]

        assert world.application(application_id).current_attempt == last
        assert kept == [*range(last - ATTEMPTS_KEPT + 1, last + 1)]
        assert state.attempts.keys() == world.disk.attempts.keys()
        assert len(state.attempts) == len(in_memory(world)) == len(world.disk.containers) == ATTEMPTS_KEPT
        used = state.usage.seconds[application_id].memory_mib_s
        assert used == sum(
            c.capability.memory_mib * 2 * 60
            for c in [*world.disk.ended.values(), *state.containers.values()]
            if not c.is_live
        )

        await world.restart()
        assert [a.id.attempt for a in world.rm.state.attempts_of(application_id)] == kept
        assert world.rm.state.usage.seconds[application_id].memory_mib_s == used
        await world.run(world.rm.submission.kill(application_id, "alice"))
        await world.settle()
        assert world.application(application_id).state is ApplicationState.KILLED


async def test_many_attempts_within_the_time_of_their_pods_wait_for_these() -> None:
    options = Options(reconciler=ReconcilerSettings(explanation_wait_s=0, pod_retention_s=1e9))
    async with World(options) as world:
        await world.register_node()
        application_id = await failing_for_ever(world, ATTEMPTS_KEPT + 2)
        await world.pass_time(PRUNE_INTERVAL_S)

        assert world.rm.state.attempt_count(application_id) == ATTEMPTS_KEPT + 3
