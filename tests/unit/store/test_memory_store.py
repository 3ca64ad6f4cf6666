from __future__ import annotations

import pytest

from tests.support.records import an_application
from yodel.domain.queues.queue import default_queues
from yodel.ports.store import Commit, OutcomeUnknown
from yodel.store.memory_store import MemoryDisk, MemoryStore, Point, read


class Crash(BaseException):
    """The process dies here."""


class CrashAt:
    """A hook that dies at a point, from the n-th time on."""

    def __init__(self, point: Point, *, times_survived: int = 0) -> None:
        self.point, self.left = point, times_survived

    def __call__(self, point: Point) -> None:
        if point is self.point:
            if self.left == 0:
                raise Crash
            self.left -= 1


async def opened(disk: MemoryDisk, hook: CrashAt) -> MemoryStore:
    store = MemoryStore(disk, hook=hook)
    await store.open(now_ms=1, default_queues=default_queues())
    return store


async def test_crash_before_a_commit_leaves_nothing_of_it() -> None:
    disk = MemoryDisk()
    store = await opened(disk, CrashAt(Point.BEFORE_COMMIT))
    with pytest.raises(Crash):
        await store.commit(Commit(rows=[an_application()], application_sequence=1))

    assert read(disk).applications == ()
    assert read(disk).identity.application_sequence == 0


async def test_crash_after_a_commit_leaves_all_of_it() -> None:
    disk = MemoryDisk()
    store = await opened(disk, CrashAt(Point.AFTER_COMMIT))
    with pytest.raises(Crash):
        await store.commit(Commit(rows=[an_application()], application_sequence=1))

    assert read(disk).applications == (an_application(),)
    assert read(disk).identity.application_sequence == 1


async def test_crash_at_opening_takes_nothing_over() -> None:
    disk = MemoryDisk()
    await opened(disk, CrashAt(Point.BEFORE_COMMIT))
    with pytest.raises(Crash):
        await opened(disk, CrashAt(Point.OPENING))

    assert read(disk).identity.epoch == 0


async def test_hook_can_let_some_commits_through() -> None:
    store = await opened(MemoryDisk(), CrashAt(Point.BEFORE_COMMIT, times_survived=2))
    await store.commit(Commit())
    await store.commit(Commit())
    with pytest.raises(Crash):
        await store.commit(Commit())


async def test_stores_without_a_disk_share_nothing() -> None:
    one, other = MemoryStore(), MemoryStore()
    await one.open(now_ms=1, default_queues=())
    await one.commit(Commit(rows=[an_application()]))

    assert (await other.open(now_ms=2, default_queues=())).applications == ()


@pytest.mark.parametrize("point", [Point.BEFORE_COMMIT, Point.AFTER_COMMIT])
async def test_a_hook_can_lose_the_answer_of_what_did_or_did_not_happen(point: Point) -> None:
    def lose(at: Point) -> None:
        if at is point:
            raise OutcomeUnknown

    store = MemoryStore(hook=lose)
    await store.open(now_ms=1, default_queues=())
    with pytest.raises(OutcomeUnknown):
        await store.commit(Commit(rows=[an_application()], number=1))

    happened = point is Point.AFTER_COMMIT
    assert await store.last_commit() == int(happened)
    assert len(read(store.disk).applications) == int(happened)


async def test_commit_needs_an_open_store() -> None:
    with pytest.raises(AssertionError, match="not open"):
        await MemoryStore().commit(Commit())
