"""The way of a job from its submission to its end, one dialogue a test."""

from __future__ import annotations

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, ask, complete, running
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    FinalApplicationStatus,
    YarnApplicationState,
)


async def test_job_runs_from_submission_to_its_end(world: World) -> None:
    await world.register_node()

    application_id = await world.submit()
    assert world.application(application_id).state is ApplicationState.ACCEPTED
    assert world.pods.created == []  # a submission is answered before anything runs

    await world.settle()
    attempt_id = world.application(application_id).current_attempt_id
    am_container = ContainerId.of(attempt_id, 1)
    assert world.pods.created == [dns_name(am_container)]
    assert world.container(am_container).state is ContainerState.PLANNED

    await world.bind_and_settle()
    assert world.container(am_container).node_id == NODE
    assert [start.container_id for start in world.agents.started] == [am_container]
    assert world.attempt(attempt_id).state is AttemptState.LAUNCHED

    am = Am(world, attempt_id)
    await world.beat(running(am_container))
    await am.register()
    assert world.application(application_id).state is ApplicationState.RUNNING

    first = await am.beat(ask(2))
    assert (first.response_id, first.granted, first.pending_count) == (1, (), 2)

    await world.settle()
    assert len(world.pods.created) == 3
    assert not (await am.beat()).granted  # planned, not bound

    await world.bind_and_settle()
    granted = (await am.beat()).granted
    assert [(g.container.id.sequence, g.node.id, g.token.kind) for g in granted] == [
        (2, NODE, "ContainerToken"),
        (3, NODE, "ContainerToken"),
    ]
    assert {world.container(g.container.id).state for g in granted} == {ContainerState.ACQUIRED}

    one, other = (g.container.id for g in granted)
    await world.beat(running(one), running(other))
    assert world.container(one).state is ContainerState.RUNNING
    answer = await world.beat(complete(one), running(other))
    assert answer.containers_to_forget == (), "its ApplicationMaster may still ask the node for it"

    assert [(c.id, c.exit_status) for c in (await am.beat()).completed] == [(one, 0)]
    assert not (await am.acknowledge()).completed
    assert (await world.beat(complete(one), running(other))).containers_to_forget == (one,)

    assert await am.finish() is False
    assert await am.finish() is True
    assert world.application(application_id).yarn_state is YarnApplicationState.FINISHED

    await am.exit()
    done = world.application(application_id)
    assert (done.state, done.final_status) == (ApplicationState.FINISHED, FinalApplicationStatus.SUCCEEDED)
    assert world.container(other).state is ContainerState.COMPLETED
    assert not world.has_pod(other)  # it did not end by itself: its pod goes at once
    assert world.has_pod(one)  # its log stays readable for a while

    await world.pass_time(601)
    assert world.pods.pods == {}


async def test_grant_is_handed_out_only_after_it_is_on_disk(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()

    world.steps.clear()
    (granted,) = (await am.beat()).granted

    assert world.steps == ["before commit", "after commit"]
    assert world.disk.containers[granted.container.id].state is ContainerState.ACQUIRED


async def test_idle_beat_touches_no_disk(world: World) -> None:
    am = await world.running_am()
    await am.beat()
    world.steps.clear()

    await am.beat()
    await world.beat(running(am.container.id))

    assert world.steps == []


async def test_nm_token_comes_with_the_first_container_of_each_node_and_once(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    first = await am.beat()
    await am.beat(ask(1))
    await world.settle()
    await world.bind_and_settle()
    second = await am.beat()

    assert [node_id for node_id, _ in first.nm_tokens] == [NODE]
    assert len(second.granted) == 1
    assert not second.nm_tokens


async def test_container_keeps_what_was_asked_apart_from_what_was_granted(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1, capability=Resource(1500, 1), priority=7)

    container = world.container(container_id)
    assert (container.asked_capability, container.capability) == (Resource(1500, 1), Resource(2048, 1))
    assert container.priority == 7
    await am.beat()
    await world.settle()
    assert world.live_tasks() == [container]  # the ask was found again and is satisfied


async def test_am_is_told_of_a_node_that_comes(world: World) -> None:
    am = await world.running_am()
    await am.beat()
    await world.register_node(NodeId("node-2", 8041))

    result = await am.beat()
    assert [node.id.host for node in result.changed_nodes] == ["node-2"]
    assert result.node_count == 2
    assert not (await am.beat()).changed_nodes


async def test_unmanaged_am_has_no_container_and_ends_with_its_word(world: World) -> None:
    await world.register_node()
    application_id = await world.submit(is_unmanaged=True)
    await world.settle()
    assert world.pods.created == []

    view = world.rm.queries.application(application_id, "alice")
    assert view.amrm_token is not None
    assert world.rm.queries.application(application_id, "mallory").amrm_token is None

    am = Am(world, world.application(application_id).current_attempt_id)
    await am.register()
    await am.obtain(1)
    assert await am.finish(text="bye") is True
    await world.settle()

    assert world.application(application_id).state is ApplicationState.FINISHED
    assert world.application(application_id).diagnostics == "bye"
    assert world.pods.pods == {}
