"""A crash between any two steps of persist, act and answer: nothing is lost, nothing is done twice."""

from __future__ import annotations

import pytest

from tests.simulation import laws
from tests.support.actors import Cluster, Job
from tests.support.fakes import Crash
from tests.support.playbook import World, ask, complete, running
from tests.support.records import NOBODY
from yodel.domain.ids import ApplicationId
from yodel.domain.states import ApplicationState, ContainerState
from yodel.errors import Unavailable
from yodel.ports.store import FencedOut
from yodel.store.memory_store import MemoryStore

ROUNDS_MAX = 40
STEPS_OF_A_JOB = 60
"""The steps that a job of two tasks takes: a crash is tried at each of them, and none is planned beyond its end."""


async def run_job(crash_at_step: int | None) -> Cluster:
    """A job of two tasks on two nodes to its end, with one crash."""
    async with Cluster([Job(tasks=2)]) as cluster:
        cluster.steps.clear()
        cluster.crash_at_step = crash_at_step
        for _ in range(ROUNDS_MAX):
            await cluster.round()
            laws.check(cluster)
            application_id = cluster.jobs[0].application_id
            if application_id and application_id in cluster.rm.state.applications:
                application = cluster.application(application_id)
                if application.state.is_final:
                    break
        for _ in range(2):
            await cluster.survive(cluster.pass_time(700))
            await cluster.round()
        laws.check(cluster)
        laws.check_at_rest(cluster)
        assert application.state is ApplicationState.FINISHED
        return cluster


async def test_every_step_of_a_job_without_a_crash_is_tried() -> None:
    cluster = await run_job(None)
    assert cluster.crashed_at == []
    assert len(cluster.steps) == STEPS_OF_A_JOB
    assert {
        "before commit",
        "after commit",
        "before pod creation",
        "after pod creation",
        "before AM start",
        "after AM start",
        "before pod deletion",
        "after pod deletion",
    } <= {*cluster.steps}


@pytest.mark.parametrize("step", range(STEPS_OF_A_JOB))
async def test_job_ends_well_wherever_the_rm_dies(step: int) -> None:
    assert (await run_job(step)).crashed_at == [step]


async def test_crash_before_the_commit_leaves_nothing(world: World) -> None:
    application_id = await world.run(world.rm.submission.give_id(NOBODY))
    world.steps.clear()
    world.crash_at_step = 0

    with pytest.raises(Crash):
        await world.submit()
    world.crash_at_step = None
    await world.restart()

    assert world.rm.state.applications == {}
    assert await world.run(world.rm.submission.give_id(NOBODY)) > application_id


async def test_crash_after_the_commit_is_taken_up_by_the_next_life(world: World) -> None:
    await world.register_node()
    await world.run(world.rm.submission.give_id(NOBODY))
    world.steps.clear()
    world.crash_at_step = 1

    with pytest.raises(Crash):
        await world.submit()
    world.crash_at_step = None
    await world.restart()
    await world.settle()

    (application,) = world.rm.state.applications.values()
    assert application.state is ApplicationState.ACCEPTED
    assert len(world.pods.pods) == 1


async def test_crash_between_pod_and_answer_makes_no_second_pod(world: World) -> None:
    await world.register_node()
    await world.submit()
    world.steps.clear()
    world.crash_at_step = 3
    with pytest.raises(Crash, match="after pod creation"):
        await world.settle()
    world.crash_at_step = None

    await world.restart()
    await world.bind_and_settle()

    assert len(world.pods.pods) == 1
    assert len(world.agents.started) == 1


async def test_application_ids_are_never_given_twice_whatever_happens(world: World) -> None:
    given: list[ApplicationId] = []
    for _ in range(5):
        given += [await world.run(world.rm.submission.give_id(NOBODY)) for _ in range(30)]
        await world.restart()

    assert len({*given}) == len(given) == 150


async def test_store_that_is_away_fails_the_call_and_changes_nothing(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    before = dict(world.rm.state.containers)
    for call in (
        lambda: am.beat(releases=[container_id]),
        lambda: am.finish(),
        lambda: world.submit(),
        lambda: world.run(world.rm.submission.kill(am.application_id, "alice")),
        lambda: world.beat(complete(container_id)),
    ):
        world.commit_errors.append(Unavailable("the database is away"))
        with pytest.raises(Unavailable):
            await call()
        world.commit_errors.clear()
        assert world.rm.state.containers == before
        assert [*world.rm.state.applications] == [am.application_id]

    released = await am.beat(releases=[container_id])
    assert [c.id for c in released.completed] == [container_id]


async def test_agents_word_is_acknowledged_only_when_it_is_on_disk(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.commit_errors.append(Unavailable("the database is away"))
    with pytest.raises(Unavailable):
        await world.beat(complete(container_id))
    assert world.container(container_id).is_live

    await world.beat(complete(container_id))
    assert world.disk.containers[container_id].state is ContainerState.COMPLETED


async def test_tick_that_could_not_be_written_is_repeated(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(2))
    world.commit_errors += [Unavailable("the database is away")] * 3
    await world.settle()

    assert len(world.live_tasks()) == 2
    assert len({c.id for c in world.live_tasks()}) == 2


async def test_writer_that_was_fenced_out_dies(world: World) -> None:
    am = await world.running_am()
    await MemoryStore(world.disk).open(now_ms=0, default_queues=())

    with pytest.raises(FencedOut):
        await am.finish()


async def test_running_containers_outlive_their_rm(world: World) -> None:
    am = await world.running_am()
    kept = await am.obtain(2)
    await world.beat(*(running(i) for i in kept))
    created = len(world.pods.created)
    for _ in range(3):
        await world.restart()
        await world.settle()
        await world.register_node(containers=[running(i) for i in kept])
        await world.settle()

    assert {c.id for c in world.live_tasks()} == {*kept}
    assert len(world.pods.created) == created
    assert world.pods.deleted == []
