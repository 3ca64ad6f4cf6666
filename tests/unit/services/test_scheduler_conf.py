"""Changes are in force and on disk together, or not at all; after a restart they are what they were."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.support.playbook import Crash, World
from yodel.domain.queues.properties import MAXIMUM_AM_SHARE
from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueChange
from yodel.errors import AccessDenied, Refused, Unavailable
from yodel.services.scheduling.configuration import SchedulerConfService


class Shares(list[float]):
    """What was put in force."""


def service(world: World, shares: Shares | None = None) -> SchedulerConfService:
    async def initial() -> Sequence[Queue]:
        return world.options.queues

    used = Shares() if shares is None else shares
    return SchedulerConfService(world.rm.engine, initial, 0.5, used.append, lambda user: user == "admin")


def added(path: str, **properties: str) -> QueueChange:
    return QueueChange(path=path, properties=properties)


HALVES = ConfUpdate(added=[added("root.a", capacity="50")], updated=[added("root.default", capacity="50")])
STOP = ConfUpdate(
    updated=[added("root.a", state="STOPPED", capacity="0"), added("root.default", capacity="100")],
)


async def change(world: World, update: ConfUpdate) -> None:
    await world.run(service(world).update("admin", update))


async def test_until_something_is_changed_the_settings_speak(world: World) -> None:
    conf = service(world)
    assert conf.version == 1
    assert conf.properties()[f"{PREFIX}root.queues"] == "default"
    assert world.disk.scheduler_conf is None


async def test_added_queue_takes_applications_at_once_and_after_a_restart(world: World) -> None:
    await change(world, HALVES)
    assert service(world).version == 2
    application_id = await world.submit(queue="a")
    assert world.application(application_id).submission.queue == "root.a"
    before = dict(world.rm.state.queues)

    await world.restart()
    assert world.rm.state.queues == before
    assert service(world).version == 2
    assert service(world).properties()[f"{PREFIX}root.default.capacity"] == "50"


async def test_removed_queue_is_gone_here_and_on_disk(world: World) -> None:
    await change(world, HALVES)
    await change(world, STOP)
    assert world.rm.state.queues["root.a"].state is QueueState.STOPPED
    await change(world, ConfUpdate(removed=["root.a"]))
    assert set(world.rm.state.queues) == set(world.disk.queues) == {"root", "root.default"}
    assert service(world).version == 4


async def test_queue_with_an_application_drains_and_stays(world: World) -> None:
    await change(world, HALVES)
    await world.submit(queue="a")
    await change(world, STOP)
    with pytest.raises(Refused, match=r"^Failed to re-init queues : root\.a cannot be deleted .*: DRAINING$"):
        await change(world, ConfUpdate(removed=["root.a"]))
    assert "root.a" in world.rm.state.queues


async def test_refused_change_changes_nothing(world: World) -> None:
    for update, text in (
        (ConfUpdate(added=[added("root.a", capacity="50")]), "Failed to re-init queues : Illegal capacity sum"),
        (ConfUpdate(removed=["root.z"]), "^Queue root.z not found"),
        (ConfUpdate(removed=["root.default"]), "Current State : RUNNING"),
    ):
        with pytest.raises(Refused, match=text):
            await change(world, update)
    assert (service(world).version, set(world.rm.state.queues)) == (1, {"root", "root.default"})


async def test_only_administrators_change_anything(world: World) -> None:
    with pytest.raises(AccessDenied, match="User is not admin of all modified queues"):
        await world.run(service(world).update("alice", HALVES))
    with pytest.raises(AccessDenied):
        await world.run(service(world).format("alice"))
    assert service(world).version == 1


async def test_commit_that_fails_leaves_the_old_configuration_in_force(world: World) -> None:
    shares = Shares()
    world.commit_errors.append(Unavailable("away"))
    with pytest.raises(Unavailable):
        await world.run(service(world, shares).update("admin", HALVES))
    assert (service(world).version, shares, set(world.rm.state.queues)) == (1, [], {"root", "root.default"})


@pytest.mark.parametrize("steps", range(2), ids=["before the commit", "after it"])
async def test_crash_at_any_step_leaves_the_old_or_the_new_whole(steps: int) -> None:
    async with World() as world:
        world.crash_at_step = len(world.steps) + steps
        with pytest.raises(Crash):
            await change(world, HALVES)
        world.crash_at_step = None
        await world.restart()
        found = (service(world).version, set(world.rm.state.queues))
        assert found in ((1, {"root", "root.default"}), (2, {"root", "root.default", "root.a"}))
        if found[0] == 1:
            await change(world, HALVES)
        assert set(world.rm.state.queues) == {"root", "root.default", "root.a"}


async def test_changes_at_once_build_on_each_other(world: World) -> None:
    await change(world, HALVES)
    conf = service(world)
    texts = [f"{name} etl" for name in ("alice", "bob")]
    updates = [
        conf.update("admin", ConfUpdate(updated=[added(path, acl_submit_applications=text)]))
        for path, text in zip(("root.a", "root.default"), texts, strict=True)
    ]
    await asyncio.gather(*(world.run(update) for update in updates))
    acls = [world.rm.state.queues[path].submit_acl for path in ("root.a", "root.default")]
    assert (acls, conf.version) == (texts, 4)


async def test_validation_tells_what_would_be_and_changes_nothing(world: World) -> None:
    assert service(world).validated(HALVES)[f"{PREFIX}root.queues"] == "default,a"
    assert service(world).version == 1


async def test_format_goes_back_to_the_settings_with_a_new_version(world: World) -> None:
    await change(world, HALVES)
    with pytest.raises(Refused, match=r"root\.a cannot be deleted"):
        await world.run(service(world).format("admin"))
    await change(world, STOP)
    await world.run(service(world).format("admin"))
    assert set(world.rm.state.queues) == {"root", "root.default"}
    assert service(world).version == 4
    assert not world.rm.state.scheduler_conf.is_ours


async def test_share_of_masters_is_put_in_force_and_again_after_a_restart(world: World) -> None:
    shares = Shares()
    await world.run(service(world, shares).update("admin", ConfUpdate(overall={MAXIMUM_AM_SHARE: "0.2"})))
    assert shares == [0.2]
    await world.restart()
    shares.clear()
    service(world, shares).start()
    assert shares == [0.2]
    await world.run(service(world, shares).format("admin"))
    assert shares[-1] == 0.5
