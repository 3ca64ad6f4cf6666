from __future__ import annotations

import pytest

from tests.support.playbook import World, ask, complete
from yodel.domain.ids import ContainerId, pod_name
from yodel.domain.states import ContainerState
from yodel.errors import Unavailable
from yodel.services.reconciler import REFUSED_RETRY_S, Reconciler, ReconcilerSettings


async def planned(world: World) -> ContainerId:
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (container,) = world.live_tasks()
    return container.id


async def test_before_the_first_listing_a_missing_pod_means_nothing(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    rm = world.rm
    blind = Reconciler(rm.engine, world.pods, world.clock, rm.manifest_of, ReconcilerSettings(), lambda _: None)
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
    assert world.pods.created.count(pod_name(container_id)) == 1


async def test_listing_tells_of_what_went_while_nobody_watched(world: World) -> None:
    am = await world.running_am()
    (container_id,) = await am.obtain(1)
    world.pods.remove(pod_name(container_id))
    world.relist()
    await world.settle()
    assert world.container(container_id).state is ContainerState.COMPLETED
    assert world.rm.reconciler.observed(container_id) is None


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
    world.pods.finish(pod_name(container_id), abs(status))
    await world.beat(complete(container_id, status))
    await world.settle()
    assert world.has_pod(container_id) is stays

    await world.pass_time(601)
    assert not world.has_pod(container_id)


async def test_deletion_from_outside_is_looked_up_where_the_watch_is_late(world: World) -> None:
    am = await world.running_am()
    (gone, there) = await am.obtain(2)
    world.pods.remove(pod_name(gone))  # the watch has not said so yet
    assert await world.rm.reconciler.was_deleted_from_outside(gone)
    assert not await world.rm.reconciler.was_deleted_from_outside(there)


async def test_kubernetes_that_does_not_answer_did_not_delete(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(_: str) -> None:
        raise Unavailable("timeout")

    container_id = await planned(world)
    monkeypatch.setattr(world.pods, "get", silent)
    assert not await world.rm.reconciler.was_deleted_from_outside(container_id)


def test_what_was_refused_is_not_tried_again_in_haste() -> None:
    assert REFUSED_RETRY_S >= 10
