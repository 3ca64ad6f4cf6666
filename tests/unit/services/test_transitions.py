"""The ring of transitions: what is noted, what readers get, and what they lost."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes import FakeClock
from tests.support.records import (
    CLUSTER_TIMESTAMP_MS,
    a_container,
    a_node,
    a_submission,
    an_application,
)
from yodel.domain.queues.queue import default_queues
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.errors import Unavailable
from yodel.services.views.transitions import (
    READERS_MAX,
    READERS_OF_HOST_MAX,
    READERS_OF_ONE_MAX,
    FellBehind,
    ReaderOwner,
    Transition,
    TransitionKind,
    Transitions,
    TransitionsClosed,
)
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import MemoryStore
from yodel.telemetry.limits import REFUSALS

ALICE = ReaderOwner(user="alice", host="a")
APP = an_application(1)
RUNNING = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)


@pytest.fixture
async def state() -> ClusterState:
    return ClusterState.of(await MemoryStore().open(now_ms=CLUSTER_TIMESTAMP_MS, default_queues=default_queues()))


@pytest.fixture
def ring(state: ClusterState) -> Transitions:
    return Transitions(state, FakeClock())


def steps(ring: Transitions) -> list[tuple[str, str | None, str | None]]:
    return [(step.subject, step.before, step.after) for step in reversed(ring.newest_first())]


def test_states_of_applications_containers_and_nodes_are_noted(ring: Transitions) -> None:
    bound = a_container(state=ContainerState.ALLOCATED, node_id=a_node().id)
    ring.published([a_container(), APP, a_node(state=NodeState.RUNNING)], ())
    ring.published([RUNNING, bound], ())
    container, app, node = str(bound.id), str(APP.id), str(a_node().id)
    assert steps(ring) == [
        (app, None, "ACCEPTED"),
        (container, None, "PLANNED"),
        (node, None, "RUNNING"),
        (app, "ACCEPTED", "RUNNING"),
        (container, "PLANNED", "ALLOCATED"),
    ]


def test_rows_that_keep_their_state_are_no_news(ring: Transitions) -> None:
    ring.published([APP], ())
    ring.published([an_application(1, current_attempt=1), an_application(1, diagnostics="x")], ())
    assert len(ring.newest_first()) == 1


def test_what_was_there_before_is_no_news(state: ClusterState) -> None:
    state.publish([APP, a_container(), a_node(state=NodeState.RUNNING)])
    ring = Transitions(state, FakeClock())
    ring.published([APP, a_container(), a_node(state=NodeState.RUNNING)], ())
    assert steps(ring) == []


def test_an_end_says_why_and_is_told_once(ring: Transitions) -> None:
    ended = a_container(state=ContainerState.COMPLETED, exit_status=137, diagnostics="out of memory " * 100)
    ring.published([APP, a_container(state=ContainerState.RUNNING)], ())
    ring.published([ended], ())
    ring.published([ended], ())
    last = ring.newest_first()[0]
    assert (last.sequence, last.exit_status, last.reason) == (3, 137, ("out of memory " * 100)[:512])


def test_forgotten_application_is_told_without_what_made_it_heavy(ring: Transitions) -> None:
    ring.published([an_application(1, state=ApplicationState.KILLED, diagnostics="by alice")], ())
    ring.published([], [APP.id])
    forgotten, killed = ring.newest_first()
    assert (forgotten.before, forgotten.after, killed.reason) == ("KILLED", None, "by alice")
    assert forgotten.application is not None
    assert forgotten.application.submission == a_submission(context=b"")
    assert forgotten.application.diagnostics == ""


def test_move_to_another_queue_counts_for_what_follows(ring: Transitions) -> None:
    ring.published([APP], ())
    ring.published([an_application(1, submission=a_submission(queue="root.other"))], ())
    ring.published([a_container()], ())
    (container, _) = ring.newest_first()
    assert container.kind is TransitionKind.CONTAINER
    assert container.application is not None
    assert container.application.submission.queue == "root.other"


async def test_reader_gets_what_comes_in_order_and_in_parts(ring: Transitions) -> None:
    reader = ring.open(ring.last, ALICE)
    waiting = asyncio.create_task(reader.next(10))
    await asyncio.sleep(0)
    assert not waiting.done()
    ring.published([APP, a_container(container=2), a_container(container=3)], ())
    assert [step.sequence for step in await waiting] == [1, 2, 3]
    late = ring.open(0, ALICE)
    assert [[step.sequence for step in await late.next(2)] for _ in range(2)] == [[1, 2], [3]]


async def test_reader_that_is_slower_than_the_ring_is_told_what_it_lost(state: ClusterState) -> None:
    ring = Transitions(state, FakeClock(), kept_max=2)
    reader = ring.open(0, ALICE)
    ring.published([APP, *(a_container(container=n) for n in range(2, 6))], ())
    with pytest.raises(FellBehind) as found:
        await reader.next(10)
    assert found.value.lost == 3
    assert [ring.holds_after(position) for position in (2, 3, 5, 6)] == [False, True, True, False]


async def test_readers_are_so_many_and_places_are_given_back(state: ClusterState) -> None:
    ring = Transitions(state, FakeClock(), readers_max=1)
    first = ring.open(0, ALICE)
    with pytest.raises(Unavailable, match="1 event streams are already open"):
        ring.open(0, ALICE)
    ring.close(first)
    ring.close(first)
    assert ring.open(0, ALICE)


@pytest.mark.parametrize(
    ("mine", "others"),
    [
        ([ALICE, ReaderOwner(user="alice", host="b")], [ReaderOwner(user="bob", host="a"), ReaderOwner(host="a")]),
        ([ReaderOwner(host="a")], [ReaderOwner(host="b"), ReaderOwner(user="alice", host="a")]),
    ],
)
async def test_nobody_takes_the_places_of_others(
    ring: Transitions, mine: list[ReaderOwner], others: list[ReaderOwner]
) -> None:
    readers = [ring.open(0, mine[n % len(mine)]) for n in range(READERS_OF_ONE_MAX)]
    for owner in mine:
        with pytest.raises(Unavailable, match="16 event streams of yours are already open"):
            ring.open(0, owner)
    for owner in others:
        assert ring.open(0, owner)
    ring.close(readers[0])
    assert ring.open(0, mine[0])


async def test_names_alone_do_not_get_one_host_all_places(ring: Transitions) -> None:
    for n in range(READERS_OF_HOST_MAX):
        ring.open(0, ReaderOwner(user=f"u{n}", host="a"))
    before = REFUSALS.counts()["event_streams_of_address"]
    with pytest.raises(Unavailable, match="48 event streams of your host"):
        ring.open(0, ReaderOwner(user="another", host="a"))
    assert REFUSALS.counts()["event_streams_of_address"] == before + 1
    for n in range(READERS_MAX - READERS_OF_HOST_MAX):
        assert ring.open(0, ReaderOwner(user=f"u{n}", host="b"))


async def test_end_lets_readers_go_after_what_there_is(ring: Transitions) -> None:
    reader = ring.open(0, ALICE)
    ring.published([APP], ())
    ring.end()
    read: list[Transition] = [*await reader.next(10)]
    assert len(read) == 1
    with pytest.raises(TransitionsClosed):
        await reader.next(10)
    with pytest.raises(Unavailable, match="is stopping"):
        ring.open(0, ALICE)
