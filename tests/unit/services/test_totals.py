"""Applications that began and ended stay counted, whatever is moved or forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, an_application, an_attempt
from yodel.domain.application import Application
from yodel.domain.queues.queue import Queue
from yodel.domain.states import ApplicationState, ContainerState
from yodel.ports.store import ClusterIdentity, Snapshot
from yodel.services.writer.state import ClusterState
from yodel.services.writer.totals import ApplicationTotals

QUEUES = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.a", is_leaf=False),
    Queue(path="root.a.b"),
    Queue(path="root.c"),
)


@pytest.fixture
def state() -> ClusterState:
    state = ClusterState(ClusterIdentity(cluster_timestamp_ms=CLUSTER_TIMESTAMP_MS, epoch=1, application_sequence=0))
    state.publish(QUEUES)
    return state


def in_queue(row: Application, queue: str, *, is_unmanaged: bool = False) -> Application:
    return replace(row, submission=replace(row.submission, queue=queue, is_unmanaged=is_unmanaged))


def ended(row: Application, state: ApplicationState) -> Application:
    return replace(row, state=state, finished_ms=5)


def test_forgetting_takes_nothing_back(state: ClusterState) -> None:
    for sequence in range(1, 8):
        row = in_queue(an_application(sequence, state=ApplicationState.RUNNING, current_attempt=1), "root.a.b")
        container = a_container(sequence, queue="root.a.b", state=ContainerState.RUNNING)
        state.publish([row, an_attempt(sequence), container])
        state.publish([replace(container, state=ContainerState.COMPLETED), ended(row, ApplicationState.FINISHED)])
        state.remove_application(row.id)
    assert not state.applications
    for totals in (state.totals.cluster, *map(state.totals.of, ("root", "root.a", "root.a.b"))):
        assert totals.applications == ApplicationTotals(submitted=7, completed=7)
        assert (totals.containers_allocated, totals.containers_released) == (7, 7)
    assert state.totals.of("root.c").applications == ApplicationTotals()


def test_steps_between_count_once(state: ClusterState) -> None:
    row = in_queue(an_application(1), "root.c")
    steps = (ApplicationState.ACCEPTED, ApplicationState.RUNNING, ApplicationState.FINISHING, ApplicationState.FINISHED)
    for step in (*steps, ApplicationState.FINISHED):
        state.publish([replace(row, state=step)])
    for step in (ContainerState.PLANNED, ContainerState.ALLOCATED, ContainerState.RUNNING, ContainerState.COMPLETED):
        state.publish([a_container(queue="root.c", state=step)])
    state.publish([a_container(queue="root.c", state=ContainerState.COMPLETED, is_acknowledged=True)])
    totals = state.totals.of("root.c")
    assert totals.applications == ApplicationTotals(submitted=1, completed=1)
    assert (totals.containers_allocated, totals.containers_released) == (1, 1)


def test_moved_application_ends_where_it_is_then(state: ClusterState) -> None:
    row = in_queue(an_application(1), "root.c")
    state.publish([row])
    moved = in_queue(row, "root.a.b")
    state.publish([moved])
    state.publish([ended(moved, ApplicationState.KILLED)])
    assert state.totals.of("root.c").applications == ApplicationTotals(submitted=1)
    assert state.totals.of("root.a.b").applications == ApplicationTotals(killed=1)
    assert state.totals.of("root").applications == ApplicationTotals(submitted=1, killed=1)


def test_unmanaged_ones_are_counted_twice(state: ClusterState) -> None:
    row = in_queue(an_application(1), "root.c", is_unmanaged=True)
    state.publish([row, in_queue(an_application(2), "root.c")])
    state.publish([ended(row, ApplicationState.FAILED)])
    totals = state.totals.of("root.c")
    assert totals.applications == ApplicationTotals(submitted=2, failed=1)
    assert totals.unmanaged == ApplicationTotals(submitted=1, failed=1)


@pytest.mark.parametrize("queue", ["nowhere", "", "." * 1_000_000, "root" + ".x" * 1_000_000])
def test_names_of_no_queue_get_no_entry(state: ClusterState, queue: str) -> None:
    state.publish([in_queue(an_application(1, state=ApplicationState.FAILED), queue)])
    assert state.totals.cluster.applications == ApplicationTotals(submitted=1, failed=1)
    assert state.totals.of(queue).applications == ApplicationTotals()


def test_what_is_stored_is_where_they_begin(state: ClusterState) -> None:
    rows = (
        in_queue(an_application(1, state=ApplicationState.FINISHED), "root.c"),
        in_queue(an_application(2), "root.c"),
    )
    stored = Snapshot(
        identity=state.identity,
        queues=QUEUES,
        applications=rows,
        attempts=(),
        containers=(a_container(queue="root.c", state=ContainerState.COMPLETED),),
        nodes=(),
        master_keys=(),
    )
    found = ClusterState.of(stored).totals.of("root")
    assert found.applications == ApplicationTotals(submitted=2, completed=1)
    assert (found.containers_allocated, found.containers_released) == (1, 1)


def test_removed_queue_leaves_its_counts_above(state: ClusterState) -> None:
    state.publish([in_queue(an_application(1), "root.a.b")])
    state.remove_queue("root.a.b")
    assert state.totals.of("root.a.b").applications == ApplicationTotals()
    assert state.totals.of("root.a").applications == ApplicationTotals(submitted=1)
