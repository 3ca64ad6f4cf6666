"""Containers end, by themselves and with their nodes, in the words users know from YARN."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.playbook import World, ask, complete, running
from tests.support.rm_options import Options
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.states import (
    ApplicationState,
    ContainerState,
    NodeState,
)
from yodel.errors import (
    InvalidReleaseRequest,
    Unavailable,
)
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.liveness import LivenessSettings
from yodel.services.masters.allocate import AllocateRequest, AllocateResult

LOST_TEXT = "Container released on a *lost* node"


def completions(result: AllocateResult) -> list[tuple[ContainerId, int, str]]:
    return [(c.id, c.exit_status, c.diagnostics) for c in result.completed]


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

    await world.run(world.rm.forgetting.round())
    assert reports == [(container_id, 3, "boom")]
    assert world.container(container_id).is_acknowledged
    assert (await world.beat(complete(container_id, 3))).containers_to_forget == (container_id,)


async def test_heartbeat_that_only_finds_news_waits_for_nobody(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id, 3, "boom"))
    answer = world.rm.master.allocate(am.attempt_id, AllocateRequest(response_id=am.response_id))
    assert isinstance(answer, AllocateResult)
    assert completions(answer) == [(container_id, 3, "boom")]


async def test_completion_comes_again_to_an_am_whose_answer_was_lost(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id))

    before = am.response_id
    lost = await am.beat()
    am.response_id = before  # the answer never came: AMRMClient repeats the beat
    repeated = await am.beat()

    await world.run(world.rm.forgetting.round())
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
    await am.acknowledge()
    await world.restart()
    await am.register()
    assert not (await am.beat()).completed


async def test_acknowledgement_waits_for_a_store_that_did_not_answer_and_no_heartbeat_for_it(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    await world.beat(complete(container_id))
    await am.beat()

    world.commit_errors.append(Unavailable("the database is away"))
    world.steps.clear()
    await am.beat()
    assert world.steps == [], "the heartbeat writes nothing"
    with pytest.raises(Unavailable):
        await world.run(world.rm.forgetting.round())
    assert not world.disk.containers[container_id].is_acknowledged
    await world.run(world.rm.forgetting.round())

    assert world.disk.containers[container_id].is_acknowledged


async def test_grant_survives_a_beat_that_nobody_waited_for(world: World) -> None:
    """The call's deadline passed after its commit: the container is ACQUIRED and was in no answer."""
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    (waiting,) = world.live_tasks()

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

    world.pods.remove(dns_name(first.id))
    await world.settle()
    await world.bind_and_settle()
    result = await am.beat()

    assert world.container(first.id).state is ContainerState.COMPLETED
    assert [g.container.id.sequence for g in result.granted] == [first.id.sequence + 1]
    assert not result.completed


async def test_end_in_the_same_commit_as_the_grant_is_reported_once(world: World) -> None:
    """The beat and the agent's word share a batch: the AM gets the container and its end."""
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

    world.pods.remove(dns_name(container_id))
    await world.settle()

    text = f"Container released: its pod {dns_name(container_id)} was deleted"
    assert completions(await am.beat()) == [(container_id, -100, text)]
    assert world.rm.reconciler.lost_count == 1


async def test_signal_that_was_a_deletion_of_the_pod_is_told_as_one(world: World) -> None:
    """The agent sees only SIGTERM; Kubernetes knows why."""
    am = await world.running_am()
    (deleted, killed) = await am.obtain(2)
    world.pods.change(dns_name(deleted), deletion_requested=True)
    await world.settle()

    await world.beat(complete(deleted, 143, "killed"), complete(killed, 143, "killed"))

    assert [(i, status) for i, status, _ in completions(await am.beat())] == [(deleted, -100), (killed, 143)]
    assert world.rm.reconciler.lost_count == 1


async def test_agents_word_beats_the_pods_status(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.finish(dns_name(container_id), 1)
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

    await world.run(world.rm.registration.unregister(other))
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
