"""Every store keeps containers that ended: they leave the others, are read in pages, and go in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from tests.support.records import a_container, a_container_id, an_application, an_application_id, an_attempt
from tests.support.stores import Place
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.past import PastUsage, PastUsageId, Preempted, remembered
from yodel.domain.queues.queue import default_queues
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerState, ContainerType
from yodel.ports.store import Commit, EndedKept, FencedOut, Snapshot, Store
from yodel.store.errors import OrphanRow

EVERYTHING = EndedKept(per_application=1_000, in_all=1_000, age_s=1_000_000)
BATCH = 100


@dataclass(slots=True)
class Opened:
    place: Place
    store: Store

    async def reopened(self) -> Snapshot:
        await self.store.close()
        self.store = self.place.new_store()
        return await self.store.open(now_ms=1_000, default_queues=default_queues())

    async def ids(self, sequence: int = 1) -> list[ContainerId]:
        return [row.id for row in await self.store.ended_page(an_application_id(sequence), None, 10_000)]

    async def prune(self, kept: EndedKept, now_ms: int = 10_000_000) -> list[int]:
        """Return how many rows each batch removed, until nothing was left to remove."""
        gone = [BATCH]
        while gone[-1] == BATCH:
            gone.append(await self.store.prune_ended(kept, now_ms, BATCH))
        return gone[1:]


@pytest.fixture
async def opened(place: Place) -> AsyncIterator[Opened]:
    found = Opened(place, place.new_store())
    await found.store.open(now_ms=1_000, default_queues=default_queues())
    rows = [row for n in (1, 2, 3) for row in (an_application(n), an_attempt(n, 1), an_attempt(n, 2))]
    await found.store.commit(Commit(rows=rows))
    yield found
    await found.store.close()


def ended(sequence: int = 1, attempt: int = 1, container: int = 2, **changes: object) -> Container:
    fields = {"state": ContainerState.COMPLETED, "created_ms": 1_000, "finished_ms": 2_000, **changes}
    return remembered(a_container(sequence, attempt, container, **fields))


async def test_container_that_ended_leaves_the_others_and_is_read_back_whole(opened: Opened) -> None:
    live = a_container(container=2)
    await opened.store.commit(Commit(rows=[live, a_container(container=3)]))
    row = ended(
        container=2,
        type=ContainerType.TASK,
        user="ä\x00lice",
        node_id=NodeId("node-1", 8041),
        capability=Resource(1024, 2, (("gpu", 1),)),
        exit_status=-104,
        diagnostics="killed\x00\ud800",
        allocation_tags=("a", "b"),
        priority=7,
        allocation_request_id=9,
    )

    acknowledged = replace(live, is_acknowledged=True)  # what is both written and removed is gone
    await opened.store.commit(Commit(rows=[acknowledged], ended_containers=[row]))

    snapshot = await opened.reopened()
    assert [found.id for found in snapshot.containers] == [a_container_id(container=3)]
    assert list(await opened.store.ended_page(row.id.application_id, None, 10)) == [row]


async def test_pages_are_in_the_order_of_ids_and_of_one_application(opened: Opened) -> None:
    numbers = [(2, 3), (1, 11), (1, 2), (2, 1), (1, 9)]
    rows = [ended(attempt=attempt, container=number) for attempt, number in numbers]
    await opened.store.commit(Commit(ended_containers=[*rows, ended(sequence=2)]))

    first = await opened.store.ended_page(an_application_id(1), None, 2)
    second = await opened.store.ended_page(an_application_id(1), first[-1].id, 2)
    third = await opened.store.ended_page(an_application_id(1), second[-1].id, 2)

    found = [(row.id.attempt_id.attempt, row.id.number) for row in (*first, *second, *third)]
    assert found == sorted(numbers)
    assert (len(first), len(second), len(third)) == (2, 2, 1)
    assert list(await opened.store.ended_page(an_application_id(9), None, 2)) == []


async def test_ending_again_changes_nothing(opened: Opened) -> None:
    for _ in range(2):
        await opened.store.commit(Commit(ended_containers=[ended()]))

    assert await opened.ids() == [a_container_id(container=2)]


async def test_application_takes_its_ended_containers_and_what_they_used_along(opened: Opened) -> None:
    usage = [PastUsage(id=PastUsageId(an_application_id(n), None), containers=1) for n in (1, 2)]
    await opened.store.commit(Commit(rows=usage, ended_containers=[ended(), ended(sequence=2)]))

    await opened.store.commit(Commit(removed_applications=[an_application_id(1)]))

    assert (await opened.ids(1), await opened.ids(2)) == ([], [a_container_id(2, container=2)])
    assert (await opened.reopened()).past_usage == (usage[1],)


async def test_what_was_used_comes_back_by_application_and_node(opened: Opened) -> None:
    application_id = an_application_id(1)
    placed = PastUsage(
        id=PastUsageId(application_id, NodeId("n-ü", 1)),
        containers=2**40,
        memory_mib_s=2**50,
        vcore_s=3,
        preempted=Preempted(masters=1, others=2, memory_mib=2**41, vcores=4, memory_mib_s=2**51, vcore_s=5),
    )
    unplaced = PastUsage(id=PastUsageId(application_id, None), containers=1)
    await opened.store.commit(Commit(rows=[unplaced, replace(placed, containers=1)]))
    await opened.store.commit(Commit(rows=[placed]))

    assert (await opened.reopened()).past_usage == (unplaced, placed)


@pytest.mark.parametrize(
    "commit",
    [
        Commit(ended_containers=[ended(sequence=9)]),
        Commit(rows=[PastUsage(id=PastUsageId(an_application_id(9), None))]),
    ],
)
async def test_what_belongs_to_no_application_is_refused(opened: Opened, commit: Commit) -> None:
    with pytest.raises(OrphanRow):
        await opened.store.commit(commit)

    assert await opened.ids(9) == []


async def test_the_oldest_ends_of_an_application_go_first_and_others_stay(opened: Opened) -> None:
    rows = [ended(container=number, finished_ms=10_000 - number) for number in range(2, 252)]
    await opened.store.commit(Commit(ended_containers=[*rows, ended(sequence=2, finished_ms=1)]))

    gone = await opened.prune(replace(EVERYTHING, per_application=20))

    assert gone == [100, 100, 30]
    assert [row.number for row in await opened.ids(1)] == list(range(2, 22))
    assert len(await opened.ids(2)) == 1


async def test_of_all_the_oldest_go_whosever_they_are(opened: Opened) -> None:
    rows = [ended(n, container=number, finished_ms=number) for n in (1, 2) for number in range(2, 12)]
    await opened.store.commit(Commit(ended_containers=rows))

    assert await opened.prune(replace(EVERYTHING, in_all=5)) == [15]

    assert [row.number for row in await opened.ids(1)] == [10, 11]
    assert [row.number for row in await opened.ids(2)] == [9, 10, 11]


async def test_what_is_too_old_goes_to_the_millisecond(opened: Opened) -> None:
    rows = [ended(container=2, finished_ms=4_999), ended(container=3, finished_ms=5_000)]
    await opened.store.commit(Commit(ended_containers=rows))

    assert await opened.prune(replace(EVERYTHING, age_s=5), now_ms=10_000) == [1]

    assert [row.number for row in await opened.ids()] == [3]


async def test_all_three_rules_at_once_share_a_batch(opened: Opened) -> None:
    rows = [ended(n, container=number, finished_ms=number) for n in (1, 2, 3) for number in range(2, 62)]
    await opened.store.commit(Commit(ended_containers=rows))

    gone = await opened.prune(EndedKept(per_application=10, in_all=100, age_s=1), now_ms=1_022)

    assert gone == [100, 50]
    assert [len(await opened.ids(n)) for n in (1, 2, 3)] == [10, 10, 10]


async def test_a_store_that_was_taken_over_prunes_nothing(opened: Opened) -> None:
    await opened.store.commit(Commit(ended_containers=[ended()]))
    second = opened.place.new_store()
    await second.open(now_ms=2_000, default_queues=default_queues())

    with pytest.raises(FencedOut):
        await opened.store.prune_ended(replace(EVERYTHING, in_all=0), 10_000, BATCH)

    assert len(await second.ended_page(an_application_id(1), None, 10)) == 1
    await second.close()


async def test_pages_are_read_while_others_write(opened: Opened) -> None:
    """Before and after a commit, never in the middle of it."""

    async def write() -> None:
        for number in range(2, 42, 2):
            rows = [ended(container=number), ended(container=number + 1)]
            await opened.store.commit(Commit(ended_containers=rows))

    writing = asyncio.create_task(write())
    while not writing.done():
        assert len(await opened.ids()) % 2 == 0
        await asyncio.sleep(0)
    await writing
    assert len(await opened.ids()) == 40
