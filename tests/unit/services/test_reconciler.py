from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.playbook import World, ask, complete, running
from yodel.domain.ids import ContainerId, dns_name
from yodel.domain.pod import PodPhase
from yodel.domain.states import ApplicationState, ContainerState
from yodel.errors import Refused, Unavailable
from yodel.services.pods.reconciler import REFUSED_RETRY_S, Reconciler, ReconcilerSettings


def reconciler_of(world: World) -> Reconciler:
    """Return a reconciler that has seen nothing yet."""
    rm = world.rm
    return Reconciler(
        rm.engine, world.pods, world.clock, rm.maker.manifest_of, ReconcilerSettings(), lambda _: None, rm.node_managers
    )


async def planned(world: World) -> ContainerId:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (container,) = world.live_tasks()
    return container.id


async def test_before_the_first_listing_a_missing_pod_means_nothing(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    blind = reconciler_of(world)
    again_s = await world.run(blind.reconcile(container_id))
    assert again_s is not None
    assert world.container(container_id).is_live

    blind.pods_listed([])
    await world.run(blind.reconcile(container_id))
    assert world.container(container_id).exit_status == -100


async def test_rounds_are_idempotent(world: World) -> None:
    container_id = await planned(world)
    for _ in range(3):
        assert await world.run(world.rm.reconciler.reconcile(container_id)) is None
    assert world.pods.created.count(dns_name(container_id)) == 1


async def test_listing_tells_of_what_went_while_nobody_watched(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.remove(dns_name(container_id))
    world.relist()
    await world.settle()
    assert world.container(container_id).state is ContainerState.COMPLETED
    assert world.rm.reconciler.observed(container_id) is None


async def test_pod_that_another_container_has_by_now_stays_and_tells_of_that_one(world: World) -> None:
    am = await world.running_am()
    first, second = await am.obtain(2)
    reused, unused = (dns_name(container_id) for container_id in (first, second))
    await world.beat(complete(first))
    await world.settle()
    row = replace(world.container(second), pod=reused)
    await world.run(world.rm.engine.do(lambda tx: tx.put(row), may_wait=False))
    world.pods.remove(unused)
    for _ in range(13):  # until what ended by itself is not kept any more
        await world.pass_time(100)
        await world.beat(running(second))
        await am.beat()
    assert first not in world.rm.state.containers
    assert world.rm.reconciler.observed(first) is None
    assert world.container(second).is_live
    assert world.rm.reconciler.observed(second) is world.pods.pods[reused]

    world.pods.finish(reused, 3)
    await world.settle()
    await world.pass_time(5)
    assert (world.container(second).is_live, world.container(second).exit_status) == (False, 3)
    await am.beat()
    await am.finish()
    await world.pass_time(1_300)
    assert world.pods.pods == {}


async def preempted(world: World) -> ContainerId:
    """A task whose pod a scheduler wants gone, as the watch has told."""
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.change(dns_name(container_id), deletion_requested=True, disruption_reason="PreemptionByScheduler")
    await world.settle()
    assert world.container(container_id).is_live
    return container_id


@pytest.mark.parametrize("relists", [0, 1, 2])
@pytest.mark.parametrize("is_watched", [True, False])
async def test_why_a_pod_went_is_known_after_any_number_of_listings(
    world: World, is_watched: bool, relists: int
) -> None:
    """The watch or a listing said that the pod went before anybody looked at its container."""
    container_id = await preempted(world)
    pod = world.pods.pods.pop(dns_name(container_id))
    if is_watched:
        world.rm.reconciler.pod_gone(pod)
    else:
        world.relist()
    for _ in range(relists):
        world.relist()
    await world.settle()
    container = world.container(container_id)
    assert (container.state, container.exit_status) == (ContainerState.COMPLETED, -102)
    assert "preempted by scheduler" in container.diagnostics


@pytest.mark.parametrize("by_list", [True, False])
async def test_why_a_pod_went_is_not_said_of_the_next_of_its_name(world: World, by_list: bool) -> None:
    container_id = await preempted(world)
    name, reconciler = dns_name(container_id), world.rm.reconciler
    reconciler.pod_gone(world.pods.pods[name])
    fresh = replace(world.pods.pods[name], uid="another", deletion_requested=False, disruption_reason="")
    world.pods.pods[name] = fresh
    world.relist() if by_list else reconciler.pod_seen(fresh)
    del world.pods.pods[name]  # and the watch is late
    end = await world.run(reconciler.end_from_outside(container_id, 143))
    assert end is not None
    assert (end.exit_status, "preempted" in end.diagnostics) == (-100, False)


async def test_kubernetes_that_does_not_answer_is_asked_again(world: World) -> None:
    world_am = await world.running_am()
    world.pods.create_errors += [Unavailable("timeout")] * 3
    await world_am.beat(ask(1))
    await world.settle()
    assert len(world.pods.pods) == 1
    for _ in range(3):
        await world.pass_time(1)
    assert len(world.pods.pods) == 2
    assert len(world.live_tasks()) == 1


@pytest.mark.parametrize(("status", "stays"), [(0, True), (1, True), (143, True), (-104, False)])
async def test_pod_that_ended_by_itself_stays_a_while_for_its_log(world: World, status: int, stays: bool) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.finish(dns_name(container_id), abs(status))
    await world.beat(complete(container_id, status))
    await world.settle()
    assert world.has_pod(container_id) is stays

    await world.pass_time(601)
    assert not world.has_pod(container_id)


async def test_deletion_from_outside_is_looked_up_where_the_watch_is_late(world: World) -> None:
    am = await world.running_am()
    (gone, there) = await am.obtain(2)
    world.pods.remove(dns_name(gone))  # the watch has not said so yet
    end = await world.rm.reconciler.end_from_outside(gone, 143)
    assert end is not None
    assert end.exit_status == -100
    assert await world.rm.reconciler.end_from_outside(there, 143) is None


async def test_kubernetes_that_does_not_answer_did_not_delete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(_: str) -> None:
        raise Unavailable("timeout")

    container_id = await planned(world)
    monkeypatch.setattr(world.pods, "get", silent)
    assert await world.rm.reconciler.end_from_outside(container_id, 143) is None


async def test_signal_is_told_as_the_preemption_it_was(world: World) -> None:
    """The agent sees SIGTERM; the pod's condition says who sent it, before and after the pod is gone."""
    am = await world.running_am()
    (one, other) = await am.obtain(2)
    for container_id in (one, other):
        world.pods.change(dns_name(container_id), deletion_requested=True, disruption_reason="PreemptionByScheduler")
    await world.settle()
    await world.beat(complete(one, 143))
    world.pods.events.clear()
    pod = world.pods.pods.pop(dns_name(other))
    world.rm.reconciler.pod_gone(pod)
    await world.settle()
    assert world.container(one).exit_status == -102
    assert world.container(other).exit_status == -102
    assert "preempted by scheduler" in world.container(other).diagnostics


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("status", "word", "expected"),
    [
        (137, {"terminated_reason": "OOMKilled"}, -104),
        (143, {"reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds the total limit"}, -109),
        (143, {"reason": "Evicted", "message": "The node was low on resource: memory."}, -102),
    ],
)
async def test_kubelets_word_on_a_signal_is_waited_for(
    world: World, status: int, word: dict[str, str], expected: int
) -> None:
    am = await world.running_am()
    (hurt, killed) = await am.obtain(2)
    patient = reconciler_of(world)
    patient.pods_listed(list(world.pods.pods.values()))
    asked = asyncio.create_task(patient.end_from_outside(hurt, status))
    await asyncio.sleep(3)
    assert not asked.done()
    world.pods.finish(dns_name(hurt), status, **word)
    patient.pod_seen(world.pods.pods[dns_name(hurt)])
    end = await asked
    assert end is not None
    assert end.exit_status == expected

    assert await patient.end_from_outside(killed, status) is None
    assert asyncio.get_running_loop().time() < 8


async def test_pod_that_a_kubelet_refused_is_made_anew_with_growing_pauses(world: World) -> None:
    container_id = await planned(world)
    name = dns_name(container_id)
    for made, pause_s in ((1, 1), (2, 2), (3, 4)):
        assert world.pods.created.count(name) == made
        world.pods.change(name, node_name="machine-1", phase=PodPhase.FAILED, reason="OutOfcpu", uid=f"uid-{made}")
        await world.settle()
        await world.pass_time(pause_s - 0.5)
        assert world.pods.created.count(name) == made
        await world.pass_time(0.6)
    assert world.pods.created.count(name) == 4
    assert world.container(container_id).state is ContainerState.PLANNED


async def test_pod_stuck_terminating_ends_its_container_by_time_alone(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    due_ms = world.clock.now_ms()
    world.pods.change(dns_name(container_id), deletion_requested=True, deletion_due_ms=due_ms)
    await world.settle()
    await world.pass_time(55)
    assert world.container(container_id).is_live
    for _ in range(3):
        await world.pass_time(5)
    assert world.container(container_id).exit_status == -100
    assert "does not finish terminating" in world.container(container_id).diagnostics


async def test_full_quota_keeps_an_am_waiting_and_says_so(world: World) -> None:
    await world.register_node()
    text = 'Creating pod p: pods "p" is forbidden: exceeded quota: batch'
    world.pods.create_errors += [Refused(text)] * 2
    application_id = await world.submit()
    await world.settle()
    assert world.rm.queries.application(application_id).application.diagnostics == text
    assert world.application(application_id).state is ApplicationState.ACCEPTED

    await world.pass_time(REFUSED_RETRY_S)
    await world.pass_time(REFUSED_RETRY_S)
    await world.bind_and_settle()
    assert world.rm.queries.application(application_id).application.diagnostics == ""


async def test_am_that_cannot_be_scheduled_says_why_in_its_application(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    (name,) = world.pods.pods
    world.pods.change(name, unschedulable_message="0/3 nodes are available")
    await world.settle()
    assert "0/3 nodes are available" in world.rm.queries.application(application_id).application.diagnostics
    assert world.application(application_id).diagnostics == ""


async def test_image_that_cannot_be_pulled_fails_the_container_after_a_while(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    now_ms = world.clock.now_ms()
    waiting = {"phase": PodPhase.PENDING, "waiting_reason": "ImagePullBackOff", "scheduled_ms": now_ms}
    world.pods.change(dns_name(container_id), **waiting)
    await world.settle()
    await world.pass_time(100)
    assert world.container(container_id).is_live
    for _ in range(10):
        await world.pass_time(5)
    assert world.container(container_id).exit_status == -1000


def test_what_was_refused_is_not_tried_again_in_haste() -> None:
    assert REFUSED_RETRY_S >= 10
