"""A change of the queues on every store: wholly there or not at all, whatever becomes of its commit; what a restart
finds; and going back afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from enum import Enum
from typing import Any

import pytest

from tests.support.fakes import Crash
from tests.support.playbook import World
from tests.support.stores import Place
from yodel.domain.queues.removal import RemovalMark, mark_of
from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.errors import StaleVersion, Unavailable
from yodel.ports.store import Commit, OutcomeUnknown, Store
from yodel.services.scheduling.configuration import ConfigurationChange, assembling, replacing


class Fault(Enum):
    KILLED_BEFORE = "killed before the commit"
    KILLED_AFTER = "killed after the commit"
    LOST_BEFORE = "no answer, and it did not happen"
    LOST_AFTER = "no answer, and it happened"


HAPPENED = {Fault.KILLED_AFTER, Fault.LOST_AFTER}


class Faulty:
    """A store of which the next commit ends as ``world.faults`` says."""

    def __init__(self, store: Store, world: Disturbed) -> None:
        self._store, self._world = store, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, commit: Commit) -> None:
        fault = self._world.faults.pop(0) if self._world.faults else None
        if fault in (None, *HAPPENED):
            await self._store.commit(commit)
        if fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER):
            raise Crash
        if fault is not None:
            raise OutcomeUnknown("lost")


class Disturbed(World):
    """A world on a place."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place, self.faults = place, list[Fault]()
        self.stores: list[Store] = []

    def new_store(self) -> Any:
        self.stores.append(self.place.new_store())
        return Faulty(self.stores[-1], self)

    async def change(
        self, *changes: tuple[str, dict[str, str | None]], expected: int | None = None
    ) -> ConfigurationChange:
        update = ConfUpdate(updated=[QueueUpdate(path=path, properties=said) for path, said in changes])
        conf = self.rm.scheduler_conf
        return await self.run(conf.change("admin", assembling(update), expected=expected, reason="a test"))

    async def kept(self) -> list[int]:
        return [change.version for change in await self.stores[-1].tree_changes(None, 100)]

    @property
    def found(self) -> tuple[int, float, str | None]:
        """The version, and what the last changes said, in the row and in its words."""
        queue = self.rm.state.queues["root.default"]
        words = dict(queue.said).get("user-limit-factor")
        return self.rm.scheduler_conf.version, queue.user_limit_factor, words


@pytest.fixture
async def world(place: Place) -> AsyncIterator[Disturbed]:
    made = Disturbed(place)
    async with made:
        yield made
    for store in made.stores:
        await store.close()


def factor(value: str) -> tuple[str, dict[str, str | None]]:
    return "root.default", {"user-limit-factor": value}


@pytest.mark.parametrize("fault", Fault)
async def test_change_is_there_wholly_or_not_at_all(world: Disturbed, fault: Fault) -> None:
    await world.change(factor("2"))
    world.faults.append(fault)
    try:
        await world.change(factor("3"))
    except (Crash, Unavailable):
        assert fault is not Fault.LOST_AFTER
    wanted = (3, 3.0, "3") if fault in HAPPENED else (2, 2.0, "2")
    if fault in (Fault.LOST_BEFORE, Fault.LOST_AFTER):
        assert world.found == wanted
    await world.restart()
    assert world.found == wanted
    assert await world.kept() == list(range(wanted[0], 1, -1))
    await world.change(factor("4"), expected=wanted[0])
    assert world.found == (wanted[0] + 1, 4.0, "4")


async def test_of_two_editors_the_second_hears_of_the_first_and_a_restart_of_one(world: Disturbed) -> None:
    results = await asyncio.gather(
        world.change(factor("2"), expected=1), world.change(factor("3"), expected=1), return_exceptions=True
    )
    assert [type(result) for result in results] == [ConfigurationChange, StaleVersion]
    await world.restart()
    assert world.found == (2, 2.0, "2")
    with pytest.raises(StaleVersion):
        await world.change(factor("3"), expected=1)


async def test_version_comes_back_after_a_restart(world: Disturbed) -> None:
    before = dict(world.rm.scheduler_conf.properties())
    for value in ("2", "3"):
        await world.change(factor(value))
    await world.restart()
    conf = world.rm.scheduler_conf
    now, properties = await conf.as_of(1)
    assert (now, properties) == (3, before)
    await world.run(conf.change("admin", replacing(properties), expected=now))
    await world.restart()
    assert world.found == (4, 1.0, "1")
    assert (await world.rm.scheduler_conf.as_of(3))[1]["yarn.scheduler.capacity.root.default.user-limit-factor"] == "3"


async def test_window_comes_back_after_a_restart_and_goes_with_the_version_before(world: Disturbed) -> None:
    words: dict[str, str | None] = {"cron": "0 8 * * 1-5", "duration-s": "36000", "maximum-capacity": "40"}
    await world.change(("root.default", {f"window.day.{kind}": text for kind, text in words.items()}))
    (window,) = world.rm.state.queues["root.default"].windows
    assert (window.name, window.cron, window.duration_s, window.maximum_percent) == ("day", "0 8 * * 1-5", 36_000, 40.0)
    await world.restart()
    assert world.rm.state.queues["root.default"].windows == (window,)
    (change,) = await world.stores[-1].tree_changes(None, 100)
    assert len(change.names) >= len(words)
    conf = world.rm.scheduler_conf
    now, properties = await conf.as_of(1)
    await world.run(conf.change("admin", replacing(properties), expected=now))
    await world.restart()
    assert world.rm.state.queues["root.default"].windows == ()


async def test_weights_that_a_queue_has_from_above_come_back_after_a_restart(world: Disturbed) -> None:
    await world.change(("root", {"user-settings.bob.weight": "0.5"}))
    await world.change(("root.default", {"user-settings.al.weight": "0.25"}))
    queue = world.rm.state.queues["root.default"]
    assert queue.user_weights == (("al", 0.25), ("bob", 0.5))
    await world.restart()
    assert world.rm.state.queues["root.default"] == queue
    assert [queue.weight_of(user) for user in ("al", "bob", "eve")] == [0.25, 0.5, 1.0]
    await world.change(("root", {"user-settings.bob.weight": None}))
    await world.restart()
    assert world.rm.state.queues["root.default"].user_weights == (("al", 0.25),)


@pytest.mark.parametrize("fault", Fault)
async def test_queue_that_is_marked_to_go_is_removed_once_whatever_becomes_of_the_commit(
    world: Disturbed, fault: Fault
) -> None:
    conf = world.rm.scheduler_conf
    halves = [QueueUpdate(path=f"root.{name}", properties={"capacity": "50"}) for name in ("a", "default")]
    added = ConfUpdate(added=halves[:1], updated=halves[1:])
    await world.run(conf.change("admin", assembling(added)))
    application_id = await world.submit(queue="a")
    _, before = await conf.as_of(1)
    await world.run(conf.change("admin", replacing(before), is_whole=True))
    await world.restart()
    assert mark_of(world.rm.state.queues["root.a"]) == RemovalMark(version=3, author="admin")

    await world.run(world.rm.submission.kill(application_id, "alice"))
    world.faults.append(fault)
    with suppress(Crash, Unavailable):
        await world.run(world.rm.marked_queues.look())
    await world.restart()
    await world.run(world.rm.marked_queues.look())
    assert set(world.rm.state.queues) == {"root", "root.default"}
    last, *_ = await world.stores[-1].tree_changes(None, 100)
    assert (last.version, last.author) == (4, "admin")
    assert last.reason.startswith("marked for removal by version 3")
    assert (await world.rm.scheduler_conf.as_of(1))[1] == world.rm.scheduler_conf.properties()
