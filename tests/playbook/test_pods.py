"""Pods that wait, are refused, vanish or belong to nobody, and what becomes of their containers."""

from __future__ import annotations

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World, ask
from yodel.domain.ids import ContainerId, NodeId, dns_name
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
)
from yodel.errors import (
    Refused,
)
from yodel.services.scheduling import scheduler


async def test_pod_that_finds_no_node_waits_and_can_be_taken_back(world: World) -> None:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (waiting,) = world.live_tasks()
    world.pods.change(dns_name(waiting.id), unschedulable_message="0/1 nodes are available: insufficient memory")
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
    world.pods.change(dns_name(first), node_name=NODE.host)
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


@pytest.mark.parametrize(
    "words",
    [
        "status unknown for quota: compute-resources, resources: requests.cpu",
        "minimum memory usage per Pod is 4Gi, but request is 2Gi",
        "not yet ready to handle request",
    ],
)
async def test_refusal_that_passes_by_itself_is_waited_for_by_an_am(world: World, words: str) -> None:
    await world.register_node()
    world.pods.create_errors += [Refused(f'pods "p" is forbidden: {words}')] * 3
    application_id = await world.submit()
    await world.settle()
    assert world.application(application_id).state is ApplicationState.ACCEPTED
    assert words in world.rm.queries.application(application_id).application.diagnostics

    for _ in range(4):
        await world.pass_time(30)
    assert world.has_pod(ContainerId.of(world.application(application_id).current_attempt_id, 1))


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
    stray = world.pods.pods[dns_name(container_id)]
    name = dns_name(ContainerId.of(am.attempt_id, 77))
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
    world.pods.remove(dns_name(waiting.id))
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


async def test_a_pod_may_be_called_as_it_likes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing follows from a container's id: the row has the name, from its plan to its end and over a restart."""
    monkeypatch.setattr(scheduler, "dns_name", lambda container_id: f"pod-{container_id.sequence}")
    am = await world.running_am()
    kept, killed, released = await am.obtain(3)
    names = {world.container(i).pod for i in (am.container.id, kept, killed, released)}
    assert set(world.pods.pods) == names == {"pod-1", "pod-2", "pod-3", "pod-4"}
    await world.restart()
    world.relist()
    await am.register()

    world.pods.finish(world.container(killed).pod, 137, terminated_reason="OOMKilled")
    await am.beat(releases=[released])
    await world.settle()
    await world.pass_time(5)
    assert world.container(killed).exit_status == -104
    assert world.rm.reconciler.has_pod(kept)
    assert not world.rm.reconciler.has_pod(released)

    await am.finish()
    await world.pass_time(700)
    assert world.pods.pods == {}
