"""Changes of the queue tree on every store: kept with their commit, read newest first, the oldest removed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.stores import Place
from yodel.domain.queues.history import ChangesKept, TreeChange, outdated
from yodel.domain.queues.queue import Queue, default_queues
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.ports.store import Commit, FencedOut, Store


def a_change(version: int, text: str = "30") -> TreeChange:
    name = "yarn.scheduler.capacity.root.a.capacity"
    return TreeChange(
        version=version,
        author="älice",
        time_ms=1_700_000_000_000 + version,
        reason="the night\nis long",
        before=(SchedulerProperty(name, "20"),),
        after=(SchedulerProperty(name, text), SchedulerProperty("other", "")),
    )


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    found = place.new_store()
    await found.open(now_ms=1, default_queues=default_queues())
    yield found
    await found.close()


async def kept(store: Store) -> list[int]:
    return [change.version for change in await store.tree_changes(None, 10_000)]


async def test_changes_come_back_newest_first_in_pages(store: Store) -> None:
    for version in (2, 3, 4):
        await store.commit(Commit(tree_changes=[a_change(version)]))
    assert list(await store.tree_changes(None, 2)) == [a_change(4), a_change(3)]
    assert list(await store.tree_changes(3, 2)) == [a_change(2)]
    assert list(await store.tree_changes(2, 2)) == []


async def test_change_is_written_with_its_queues_and_version_or_not_at_all(place: Place, store: Store) -> None:
    said = Queue(path="root.a", said=(("capacity", "30.0"), ("state", "RUNNING")))
    await store.commit(Commit(rows=[said, SchedulerConf(version=2)], tree_changes=[a_change(2)]))
    second = place.new_store()
    found = await second.open(now_ms=1, default_queues=())
    assert said in found.queues
    assert found.scheduler_conf.version == 2
    with pytest.raises(FencedOut):
        await store.commit(Commit(rows=[SchedulerConf(version=3)], tree_changes=[a_change(3)]))
    assert await kept(second) == [2]
    await second.close()


async def test_change_that_is_written_again_is_one(store: Store) -> None:
    for text in ("30", "31"):
        await store.commit(Commit(tree_changes=[a_change(2, text)]))
    assert list(await store.tree_changes(None, 9)) == [a_change(2, "31")]


@pytest.mark.parametrize(
    "limit", [ChangesKept(count=2), ChangesKept(size=3 * a_change(2).size), ChangesKept(size=1), ChangesKept()]
)
async def test_oldest_changes_go_with_the_commit_that_is_too_much(store: Store, limit: ChangesKept) -> None:
    changes = [a_change(version) for version in range(2, 8)]
    for change in changes[:-1]:
        await store.commit(Commit(tree_changes=[change]))
    await store.commit(Commit(tree_changes=changes[-1:], tree_changes_kept=limit))
    gone = outdated(changes, limit)
    assert await kept(store) == [version for version in range(7, 1, -1) if version not in gone]


async def test_other_commits_leave_the_history_alone(store: Store) -> None:
    await store.commit(Commit(tree_changes=[a_change(2), a_change(3)]))
    await store.commit(Commit(rows=[Queue(path="root.b")], tree_changes_kept=ChangesKept(count=1)))
    assert await kept(store) == [3, 2]


async def test_changes_of_administrators_of_queues_are_put_together_and_no_others_go_for_them(store: Store) -> None:
    limit = ChangesKept(count=3)
    names = [SchedulerProperty("name", str(version)) for version in range(9)]
    await store.commit(Commit(tree_changes=[a_change(2)], tree_changes_kept=limit))
    for version in range(3, 9):
        change = replace(
            a_change(version), before=(names[version - 1],), after=(names[version],), since=version - 1, author="bob"
        )
        await store.commit(Commit(tree_changes=[change], tree_changes_kept=limit))
    assert await kept(store) == [8, 7, 6, 2]
    found = await store.tree_changes(None, 9)
    assert [change.since for change in found] == [7, 6, 2, None]
    assert (found[2].before, found[2].after) == ((names[2],), (names[6],))
    assert found[3] == a_change(2)
