"""keepContainersAcrossApplicationAttempts: what runs outlives its ApplicationMaster, and the next one gets it."""

from __future__ import annotations

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.playbook import Am, World, ask, complete, running
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    ContainerExitStatus,
    ContainerState,
    ContainerUpdateType,
    FinalApplicationStatus,
)
from yodel.errors import AttemptNotServed, InvalidReleaseRequest

STEPS_OF_A_TAKEOVER = 18


async def am_with_tasks(world: World, count: int = 2, **changes: object) -> tuple[Am, list[ContainerId]]:
    """An AM that keeps containers, and tasks of its that run."""
    am = await world.running_am(**{"keep_containers_across_attempts": True, "max_attempts": 2, **changes})
    tasks = await am.obtain(count)
    await world.beat(*(running(i) for i in tasks))
    return am, tasks


async def next_am(world: World, am: Am) -> Am:
    await world.settle()
    await world.bind_and_settle()
    found = Am(world, world.application(am.application_id).current_attempt_id)
    assert found.attempt_id.attempt == am.attempt_id.attempt + 1
    return found


async def test_running_tasks_are_given_to_the_next_attempt(world: World) -> None:
    am, tasks = await am_with_tasks(world)
    await am.exit(1)
    second = await next_am(world, am)

    registration = await second.register()

    assert {g.container.id for g in registration.previous_containers} == {*tasks}
    assert [node_id for node_id, _ in registration.nm_tokens] == [NODE]
    assert all(g.token.identifier for g in registration.previous_containers)
    assert all(world.has_pod(i) for i in tasks)
    answer = await world.beat(*(running(i) for i in tasks))
    assert not {*answer.containers_to_clean_up} & {*tasks}
    assert answer.applications_to_clean_up == ()
    assert not (await second.beat()).completed


async def test_without_it_they_die_with_their_am(world: World) -> None:
    am, tasks = await am_with_tasks(world, keep_containers_across_attempts=False)
    answer = await world.beat(complete(am.container.id, 1))
    second = await next_am(world, am)

    assert {*answer.containers_to_clean_up} == {*tasks}
    assert (await second.register()).previous_containers == []
    assert {world.container(i).exit_status for i in tasks} == {ContainerExitStatus.KILLED_AFTER_APP_COMPLETION}


async def test_what_was_only_handed_out_dies_and_the_next_attempt_hears_of_it(world: World) -> None:
    """AbstractYarnScheduler.doneApplicationAttempt keeps RUNNING containers only."""
    am, (running_one,) = await am_with_tasks(world, 1)
    (acquired,) = await am.obtain(1)
    await am.beat(ask(1))
    await world.settle()
    (planned,) = (c.id for c in world.live_tasks() if c.state is ContainerState.PLANNED)
    await am.exit(1)
    second = await next_am(world, am)

    registration = await second.register()
    first_answer = await second.beat()

    assert [g.container.id for g in registration.previous_containers] == [running_one]
    assert [c.id for c in first_answer.completed] == [acquired]
    assert not world.container(planned).is_live


@pytest.mark.parametrize("moment", ["before the AM's end", "while no AM runs", "after it registered"])
async def test_ends_are_reported_to_whoever_is_there_exactly_once(world: World, moment: str) -> None:
    am, (one, _) = await am_with_tasks(world)
    if moment == "before the AM's end":
        await world.beat(complete(one, 3, "boom"))
        assert [c.id for c in (await am.beat()).completed] == [one]  # never acknowledged
    await am.exit(1)
    if moment == "while no AM runs":
        await world.beat(complete(one, 3, "boom"))
    second = await next_am(world, am)
    await second.register()
    if moment == "after it registered":
        await second.beat()
        await world.beat(complete(one, 3, "boom"))

    heard = [(c.id, c.exit_status) for _ in range(4) for c in (await second.beat()).completed]
    assert heard == [(one, 3)]


async def test_next_attempt_may_release_what_it_took_over(world: World) -> None:
    am, (one, other) = await am_with_tasks(world)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()

    assert [c.id for c in (await second.beat(releases=[one])).completed] == [one]
    assert world.container(other).is_live
    assert one in (await world.beat()).containers_to_clean_up


async def test_other_attempts_containers_cannot_be_released_without_it(world: World) -> None:
    am = await world.running_am(max_attempts=2)
    (task,) = await am.obtain(1)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    with pytest.raises(
        InvalidReleaseRequest, match=f"{task} not belonging to this application attempt : {second.attempt_id}"
    ):
        await second.beat(releases=[task])


async def test_last_attempts_failure_ends_everything(world: World) -> None:
    am, tasks = await am_with_tasks(world)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    answer = await world.beat(complete(second.container.id, 1))

    assert world.application(am.application_id).state is ApplicationState.FAILED
    assert not any(world.container(i).is_live for i in tasks)
    assert list(world.rm.state.live_containers()) == []
    assert {*answer.containers_to_clean_up} == {*tasks}
    assert answer.applications_to_clean_up == (am.application_id,)


@pytest.mark.parametrize("how", ["finished", "killed"])
async def test_end_of_the_application_ends_what_earlier_attempts_left(world: World, how: str) -> None:
    am, tasks = await am_with_tasks(world)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    if how == "killed":
        await world.run(world.rm.submission.kill(am.application_id, "alice"))
    else:
        await second.finish(FinalApplicationStatus.SUCCEEDED)
        assert all(world.container(i).is_live for i in tasks)  # until the AM's own end, as in YARN
        await second.exit(0)
    await world.settle()

    assert world.application(am.application_id).state.is_final
    assert list(world.rm.state.live_containers()) == []
    assert not any(world.has_pod(i) for i in tasks)


async def test_kept_tasks_count_against_the_cluster_and_their_application(world: World) -> None:
    am, tasks = await am_with_tasks(world)
    before = world.rm.state.usage.cluster.resource
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    assert world.rm.state.usage.cluster.resource == before
    assert world.rm.state.usage.by_application[am.application_id].containers == len(tasks) + 1


async def test_nm_token_is_given_again_to_the_next_attempt(world: World) -> None:
    am, _ = await am_with_tasks(world, 1)
    await am.exit(1)
    second = await next_am(world, am)
    ((_, token),) = (await second.register()).nm_tokens

    await second.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    again = await second.beat()
    assert len(again.granted) == 1
    assert again.nm_tokens == []  # it has one for this node
    assert token.service == str(NODE)


async def test_kept_tasks_outlive_the_rm_too(world: World) -> None:
    am, (one, other) = await am_with_tasks(world)
    await am.exit(1)
    await world.beat(complete(other, 5))
    second = await next_am(world, am)
    await world.restart()
    await world.settle()
    await world.register_node(containers=[running(one), running(second.container.id)])
    await world.settle()

    registration = await second.register()

    assert [g.container.id for g in registration.previous_containers] == [one]
    assert [c.id for c in (await second.beat()).completed] == [other]
    assert one not in (await world.beat()).containers_to_clean_up


async def test_failures_that_are_not_the_applications_fault_keep_them_too(world: World) -> None:
    """RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry."""
    am, tasks = await am_with_tasks(world, max_attempts=1)
    for status in (-102, -100, -101, -106):
        await am.exit(status)
        am = await next_am(world, am)
        registration = await am.register()
        assert {g.container.id for g in registration.previous_containers} == {*tasks}
    await am.exit(-104)
    assert world.application(am.application_id).state is ApplicationState.FAILED


async def test_old_am_is_not_served_any_more(world: World) -> None:
    am, _ = await am_with_tasks(world)
    await am.exit(1)
    await next_am(world, am)
    with pytest.raises(AttemptNotServed, match=f"Application attempt {am.attempt_id} doesn't exist in Appl"):
        await am.beat()


@pytest.mark.parametrize("step", [None, *range(STEPS_OF_A_TAKEOVER)])
async def test_takeover_is_whole_wherever_the_rm_dies(step: int | None) -> None:
    async with World() as world:
        am, (one, other) = await am_with_tasks(world, max_attempts=9)
        world.steps.clear()
        world.crash_at_step = step
        ends = {am.container.id: 1, one: 3}  # what the node agent says until it is told to forget it
        lives = [other]
        heard: list[ContainerId] = []
        given: set[ContainerId] = set()
        current: Am | None = None
        for _ in range(8):
            try:
                reports = [*(complete(i, s) for i, s in ends.items()), *(running(i) for i in lives)]
                if NODE not in world.rm.nodes.runtimes:
                    await world.register_node(containers=reports)
                for forgotten in (await world.beat(*reports)).containers_to_forget:
                    ends.pop(forgotten, None)
                await world.settle()
                await world.bind_and_settle()
                attempt_id = world.application(am.application_id).current_attempt_id
                if attempt_id != am.attempt_id:
                    current = Am(world, attempt_id)
                    if not world.rm.state.masters.runtimes[attempt_id].dialogue.is_registered:
                        given = {g.container.id for g in (await current.register()).previous_containers}
                    current.response_id = world.rm.state.masters.runtimes[attempt_id].dialogue.response_id
                    heard += [c.id for c in (await current.acknowledge()).completed]
            except Crash:
                world.crash_at_step = None
                await world.restart()
        assert world.crashed_at == ([] if step is None else [step])
        assert step is not None or len(world.steps) == STEPS_OF_A_TAKEOVER
        assert current is not None
        assert current.attempt_id.attempt == 2
        assert given == {other}
        assert {*heard} == {one}
        assert {c.id for c in world.live_tasks()} == {other}
        assert world.has_pod(other)


async def test_new_size_of_a_kept_task_is_told_after_a_restart(world: World) -> None:
    am, (task,) = await am_with_tasks(world, 1)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    larger = UpdateRequest(
        container_id=task, version=0, type=ContainerUpdateType.INCREASE_RESOURCE, capability=Resource(2048, 1)
    )
    await second.beat(updates=[larger])
    await world.settle()
    await world.restart()
    await second.register()
    assert [g.container.capability for _, g in (await second.beat()).updated] == [Resource(2048, 1)]
    assert not (await second.beat()).updated


async def test_nothing_is_recovered_late(world: World) -> None:
    """All that was kept is told at registration, even before any node agent is back."""
    am, tasks = await am_with_tasks(world)
    await am.exit(1)
    second = await next_am(world, am)
    await second.register()
    await world.restart()
    registration = await second.register()
    assert {g.container.id for g in registration.previous_containers} == {*tasks}
    await world.register_node(containers=[running(i) for i in tasks])
    assert not (await second.beat()).granted
