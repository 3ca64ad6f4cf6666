"""Changes are in force and on disk together, or not at all; after a restart they are what they were."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.support.fakes import Crash, NoUsers
from tests.support.playbook import World
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.queues.history import TreeChange
from yodel.domain.queues.pools import Pools
from yodel.domain.queues.properties import MAXIMUM_AM_SHARE, Described, Present, described
from yodel.domain.queues.queue import Queue, QueueState, leaves_under_root
from yodel.domain.queues.words import are_said
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate, SchedulerProperty, assembled
from yodel.errors import AccessDenied, ChangeNotFound, InvalidQueues, Refused, StaleVersion, Unavailable
from yodel.services.access.rights import Rights
from yodel.services.scheduling import configuration
from yodel.services.scheduling.configuration import (
    ConfigurationChange,
    Consequences,
    SchedulerConfService,
    assembling,
    moving,
    replacing,
)


class Shares(list[float]):
    """Record the shares that were put in force."""


def service(world: World, shares: Shares | None = None, *, are_acls_enabled: bool = False) -> SchedulerConfService:
    async def initial() -> Sequence[Queue]:
        return world.options.queues

    used, rules = Shares() if shares is None else shares, AccessRules(admin_acl=Acl.parse("admin"))
    rights = Rights(world.rm.state, NoUsers(), replace(rules, is_view_checked=are_acls_enabled), "yarn")

    async def have_all(_: ColocationSwitch) -> Sequence[str]:
        return ()

    consequences = Consequences(
        am_share=used.append,
        mapping=lambda rules: None,
        colocation=world.rm.use_colocation,
        require_colocation=have_all,
    )
    return SchedulerConfService(world.rm.engine, world.new_store(), initial, 0.5, consequences, rights)


def added(path: str, **properties: str) -> QueueUpdate:
    words = {name.replace("maximum_", "maximum-"): text for name, text in properties.items()}
    return QueueUpdate(path=path, properties=words)


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
    with pytest.raises(Refused, match=r"^root\.a cannot be deleted .*: DRAINING$"):
        await change(world, ConfUpdate(removed=["root.a"]))
    assert "root.a" in world.rm.state.queues


async def test_refused_change_changes_nothing(world: World) -> None:
    for update, text in (
        (ConfUpdate(added=[added("root.a", capacity="50")]), "^Illegal capacity sum"),
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
    assert (await service(world).validated(HALVES))[f"{PREFIX}root.queues"] == "default,a"
    assert service(world).version == 1


async def test_format_goes_back_to_the_settings_with_a_new_version(world: World) -> None:
    await change(world, HALVES)
    with pytest.raises(Refused, match=r"root\.a cannot be deleted"):
        await world.run(service(world).format("admin"))
    await change(world, STOP)
    await world.run(service(world).format("admin"))
    assert set(world.rm.state.queues) == {"root", "root.default"}
    assert service(world).version == 4
    assert not are_said(world.rm.state.queues.values())


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


async def history(world: World) -> list[TreeChange]:
    return list(await world.new_store().tree_changes(None, 100))


async def test_each_change_is_kept_with_its_author_time_and_reason(world: World) -> None:
    conf = service(world)
    plan = await world.run(conf.change("admin", assembling(HALVES), expected=1, reason="two teams"))
    assert await history(world) == [plan.change]
    assert (plan.change.version, plan.change.author, plan.change.reason) == (2, "admin", "two teams")
    assert plan.change.time_ms == world.clock.now_ms()
    names = {name.removeprefix(PREFIX) for name in plan.change.names}
    assert names == {"root.queues", "root.a.capacity", "root.default.capacity"}


async def test_of_two_editors_the_second_is_told_that_he_is_late(world: World) -> None:
    conf = service(world)
    acls = [ConfUpdate(updated=[added("root.default", acl_submit_applications=name)]) for name in ("alice", "bob")]
    changes = (conf.change("admin", assembling(update), expected=1) for update in acls)
    results = await asyncio.gather(*(world.run(change) for change in changes), return_exceptions=True)
    assert [type(result) for result in results] == [ConfigurationChange, StaleVersion]
    assert (conf.version, world.rm.state.queues["root.default"].submit_acl) == (2, "alice")
    assert str(results[1]) == "The queues are at version 2, but the change is based on version 1"


async def test_what_changes_nothing_is_no_version(world: World) -> None:
    await change(world, HALVES)
    conf = service(world)
    plan = await world.run(conf.change("admin", replacing(conf.properties())))
    assert (plan.is_needed, conf.version, len(await history(world))) == (False, 2, 1)


async def test_plan_changes_nothing(world: World) -> None:
    plan = await service(world).planned("admin", assembling(HALVES))
    assert (plan.change.version, service(world).version, await history(world)) == (2, 1, [])


async def test_words_are_in_the_rows_and_come_back_after_a_restart(world: World) -> None:
    words = QueueUpdate(path="root.default", properties={"capacity": "1e2", "disable_preemption": "true"})
    await change(world, ConfUpdate(updated=[words]))
    await world.restart()
    found, own = service(world).properties(), f"{PREFIX}root.default."
    assert (found[f"{own}capacity"], found[f"{own}disable_preemption"]) == ("1e2", "true")
    assert dict(world.disk.queues["root.default"].said)["capacity"] == "1e2"


async def test_configuration_as_it_was_comes_back_after_a_restart(world: World) -> None:
    before = service(world).properties()
    await change(world, HALVES)
    halves = service(world).properties()
    await change(world, STOP)
    await world.restart()
    conf = service(world)
    assert await conf.as_of(1) == (3, before)
    assert await conf.as_of(2) == (3, halves)
    assert await conf.as_of(3) == (3, conf.properties())
    await world.run(conf.change("admin", replacing((await conf.as_of(2))[1]), expected=3))
    assert (conf.version, conf.properties()) == (4, halves)
    for unknown in (0, 5):
        with pytest.raises(ChangeNotFound, match=f"Version {unknown} of the queues"):
            await conf.as_of(unknown)


async def test_what_is_forgotten_cannot_come_back(world: World) -> None:
    for update in (HALVES, STOP):
        await change(world, update)
    del world.disk.tree_changes[2]
    assert (await service(world).as_of(2))[0] == 3
    with pytest.raises(ChangeNotFound):
        await service(world).as_of(1)


async def test_a_copy_that_another_release_wrote_last_becomes_the_rows(world: World) -> None:
    """The release before writes rows without words, and the configuration beside them."""
    await change(world, HALVES)
    halves = service(world).properties()
    text = f"{PREFIX}root.a.acl_submit_applications"
    conf = world.rm.state.scheduler_conf.next({**halves, text: "alice"})
    queue = replace(world.rm.state.queues["root.a"], submit_acl="alice")
    await world.stop()
    world.disk.scheduler_conf, world.disk.queues["root.a"] = conf, queue
    await world.start()
    assert service(world).properties() == {**halves, text: "alice"}
    assert service(world).version == 3
    assert ("acl_submit_applications", "alice") in world.disk.queues["root.a"].said
    await world.stop()
    world.disk.scheduler_conf = conf.next({})
    await world.start()
    assert not are_said(world.rm.state.queues.values())
    assert set(world.disk.queues) == {"root", "root.default", "root.a"}


async def test_other_queues_in_the_settings_are_a_change_of_nobody(world: World) -> None:
    await world.stop()
    world.options = replace(
        world.options, queues=leaves_under_root(["x", "default"], maximum_lifetime_s=-1, default_lifetime_s=-1)
    )
    await world.start()
    (made,) = await history(world)
    assert (made.version, made.author, service(world).version) == (2, "(settings)", 2)
    await world.restart()
    assert (len(await history(world)), service(world).version) == (1, 2)


async def test_administrators_of_a_queue_change_what_is_below_it(world: World) -> None:
    below = [added("root.a.x", capacity="50"), added("root.a.y", capacity="50")]
    await change(world, HALVES)
    await change(world, STOP)
    await change(world, ConfUpdate(added=below, updated=[added("root.a", acl_administer_queue="alice")]))
    shares = [added("root.a.x", capacity="20"), added("root.a.y", capacity="80")]
    conf = service(world, are_acls_enabled=True)
    await world.run(conf.change("alice", assembling(ConfUpdate(updated=shares))))
    assert world.rm.state.queues["root.a.y"].capacity_percent == 80.0
    beyond = [added("root.a.x", capacity="90"), added("root.a.y", capacity="80")]
    with pytest.raises(InvalidQueues, match=r"Illegal capacity sum of 1\.7"):
        await world.run(conf.change("alice", assembling(ConfUpdate(updated=beyond))))
    for update in (
        ConfUpdate(updated=[added("root.a", maximum_capacity="90")]),
        ConfUpdate(updated=[added("root.default", state="STOPPED")]),
        ConfUpdate(added=[added("root.a.z", capacity="0")]),
        ConfUpdate(removed=["root.a.x"], updated=[added("root.a.y", capacity="100")]),
        ConfUpdate(overall={MAXIMUM_AM_SHARE: "0.9"}),
    ):
        with pytest.raises((AccessDenied, Refused)):
            await world.run(conf.change("alice", assembling(update)))
    with pytest.raises(AccessDenied, match=r"Only an administrator of the cluster may change .*root\.a\.queues\.$"):
        await world.run(conf.change("alice", assembling(ConfUpdate(added=[added("root.a.z", capacity="0")]))))
    with pytest.raises(AccessDenied, match=r"^User is not admin of all modified queues\.$"):
        await conf.planned("bob", assembling(ConfUpdate(updated=shares)))
    with pytest.raises(AccessDenied):
        await service(world).planned("alice", assembling(ConfUpdate(updated=shares)))


async def test_large_tree_is_put_together_and_described_once_and_beside_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[int]()

    def counting(properties: Mapping[str, str], pools: Pools, present: Present) -> Described:
        threads.append(threading.get_ident())
        return described(properties, pools, present)

    def putting_together(properties: Mapping[str, str], update: ConfUpdate) -> Mapping[str, str]:
        threads.append(threading.get_ident())
        return assembled(properties, update)

    monkeypatch.setattr(configuration, "described", counting)
    monkeypatch.setattr(configuration, "assembled", putting_together)
    conf = service(world)
    await conf.planned("admin", assembling(HALVES))
    await conf.validated(HALVES)
    await change(world, HALVES)
    assert len(threads) == 6
    assert threading.get_ident() not in threads


async def test_configuration_is_read_beside_the_loop_as_of_one_version(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change(world, HALVES)
    conf, threads, put_together = service(world), list[int](), configuration._properties
    expected = dict(conf.properties())

    def during_a_change(rows: Sequence[Queue], am_share: float) -> Mapping[str, str]:
        threads.append(threading.get_ident())
        world.rm.state.queues.clear()
        return put_together(rows, am_share)

    monkeypatch.setattr(configuration, "_properties", during_a_change)
    assert await conf.read() == (2, expected)
    assert threading.get_ident() not in threads


async def test_rows_of_another_release_are_described_by_the_first_change_and_used_again_by_the_next(
    world: World,
) -> None:
    """A release before may have written the properties without a field that follows from them."""
    await change(world, HALVES)
    await change(world, ConfUpdate(updated=[added("root.a", priority="7")]))
    await world.stop()
    world.disk.queues["root.a"] = replace(world.disk.queues["root.a"], priority=0)
    await world.start()
    conf = service(world)
    for user, is_used_again in (("alice", False), ("bob", True)):
        present = dict(world.rm.state.queues)
        update = ConfUpdate(updated=[added("root.default", acl_submit_applications=user)])
        plan = await world.run(conf.change("admin", assembling(update)))
        assert any(queue is present["root.a"] for queue in plan.queues) is is_used_again
        assert world.rm.state.queues["root.a"].priority == 7
        assert world.rm.state.queues["root.default"].submit_acl == user


async def test_what_has_changed_since_it_was_described_is_described_anew(world: World) -> None:
    """The settings' queues may be refreshed while a thread describes what somebody wants."""
    asked = list[ConfUpdate]()

    def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
        asked.append(HALVES if asked else ConfUpdate())
        if len(asked) == 1:
            world.rm.state.change_counters.queue_changed()
        return assembling(asked[-1])(present)

    await world.run(service(world).change("admin", wanted))
    assert asked == [ConfUpdate(), HALVES]
    assert set(world.rm.state.queues) == {"root", "root.default", "root.a"}


async def test_nothing_is_described_for_who_may_not_change_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "described", None)
    monkeypatch.setattr(configuration, "assembled", None)
    for work in (
        service(world).planned("bob", assembling(HALVES)),
        service(world).change("bob", assembling(HALVES)),
    ):
        with pytest.raises(AccessDenied):
            await world.run(work)


LONG_USER = f"user-settings.{'.' * 3_900}.weight"


async def test_what_is_stored_too_long_is_refused_by_its_name_until_it_goes(world: World) -> None:
    await change(world, HALVES)
    row, copy = world.rm.state.queues["root.a"], world.rm.state.scheduler_conf
    stored = SchedulerProperty(f"{PREFIX}root.a.{LONG_USER}", "1")
    await world.stop()
    world.disk.queues["root.a"] = replace(row, said=(*row.said, (LONG_USER, "1")))
    world.disk.scheduler_conf = replace(copy, properties=(*copy.properties, stored))
    await world.start()
    conf = service(world)
    assert f"{PREFIX}root.a.{LONG_USER}" in conf.properties()
    acl = ConfUpdate(updated=[added("root.default", acl_submit_applications="alice")])
    with pytest.raises(InvalidQueues, match=r"root\.a\.user-settings\..*a user of at most 256 characters"):
        await change(world, acl)
    await change(world, ConfUpdate(overall={f"{PREFIX}root.a.{LONG_USER}": ""}))
    await change(world, acl)


async def test_long_name_is_refused_before_it_is_put_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await change(world, HALVES)
    monkeypatch.setattr(configuration, "assembled", None)
    monkeypatch.setattr(configuration, "moved", None)
    long = ConfUpdate(updated=[added("root.a", **{"." * 60_000: "1"})])
    conf, deep = service(world), "root" + ".a" * 20
    for wanted in (
        assembling(long),
        assembling(ConfUpdate(removed=[deep])),
        moving("root.a", deep, ConfUpdate()),
        moving("root.a", "root.b", long),
        replacing({f"{PREFIX}root.a.{LONG_USER}": "1"}),
    ):
        with pytest.raises(InvalidQueues):
            await conf.planned("admin", wanted)
        with pytest.raises(InvalidQueues):
            await world.run(conf.change("admin", wanted))


async def test_rights_come_before_what_is_wrong_with_a_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever administers a queue is told of what is his."""
    below = [added("root.a.x", capacity="100")]
    await change(world, HALVES)
    await change(world, STOP)
    await change(world, ConfUpdate(added=below, updated=[added("root.a", acl_administer_queue="alice")]))
    monkeypatch.setattr(configuration, "described", None)
    conf = service(world, are_acls_enabled=True)
    for path, name, error in (
        ("root.default", "." * 60_000, AccessDenied),
        ("root.a.x", "." * 60_000, AccessDenied),
        ("root.default", LONG_USER, AccessDenied),
        ("root.default", "capacity", AccessDenied),
        ("root.a.x", LONG_USER, InvalidQueues),
    ):
        wanted = assembling(ConfUpdate(updated=[added(path, **{name: "1"})]))
        with pytest.raises(error) as refused:
            await conf.planned("alice", wanted)
        assert len(str(refused.value)) < 400
