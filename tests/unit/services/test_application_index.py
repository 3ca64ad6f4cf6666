"""Pages and counts follow the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.records import (
    CLUSTER_TIMESTAMP_MS,
    a_container,
    a_container_id,
    a_node,
    an_application,
    an_application_id,
    an_attempt,
)
from yodel.domain.states import ApplicationState, NodeState, YarnApplicationState
from yodel.ports.store import ClusterIdentity
from yodel.services.writer import application_index
from yodel.services.writer.state import ClusterState

LIVE = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
ENDED = replace(LIVE, state=ApplicationState.FINISHED, finished_ms=5)


@pytest.fixture
def state() -> ClusterState:
    return ClusterState(ClusterIdentity(cluster_timestamp_ms=CLUSTER_TIMESTAMP_MS, epoch=1, application_sequence=0))


def test_counts_and_the_living_follow_an_application(state: ClusterState) -> None:
    state.publish([LIVE, an_application(2)])
    assert list(state.index.live) == [LIVE.id, an_application_id(2)]
    state.publish([ENDED])
    assert list(state.index.live) == [an_application_id(2)]
    assert +state.index.counts == {YarnApplicationState.FINISHED: 1, YarnApplicationState.ACCEPTED: 1}
    state.remove_application(ENDED.id)
    assert +state.index.counts == {YarnApplicationState.ACCEPTED: 1}


def test_pages_are_filled_in_order_and_never_reused(state: ClusterState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application_index, "PAGE_MAX", 2)
    rows = [an_application(n, state=ApplicationState.FAILED) for n in (3, 1, 2)]
    state.publish(rows)
    assert [list(page.ids) for page in state.index.pages.values()] == [[rows[0].id, rows[1].id], [rows[2].id]]
    for row in rows:
        state.remove_application(row.id)
    assert state.index.pages == {}
    assert state.index.page_of(rows[0].id) is None
    state.publish([an_application(4)])
    assert list(state.index.pages) == [1]


def test_version_grows_with_what_ended_and_not_with_what_lives(state: ClusterState) -> None:
    am = a_container(container=1)
    state.publish([LIVE, an_attempt(), am])
    page = state.index.pages[0]
    before = page.version
    state.publish([replace(LIVE, diagnostics="x"), an_attempt(), am])
    state.touch(LIVE.id)
    assert page.version == before
    changes: tuple[Callable[[], None], ...] = (
        lambda: state.publish([ENDED]),
        lambda: state.publish([replace(ENDED, diagnostics="x")]),
        lambda: state.publish([an_attempt(diagnostics="x")]),
        lambda: state.publish([am]),
        lambda: state.touch(ENDED.id),
        lambda: state.remove_container(a_container_id(container=1)),
    )
    for change in changes:
        before = page.version
        change()
        assert page.version > before


def test_address_of_a_known_node_counts(state: ClusterState) -> None:
    node = a_node(state=NodeState.RUNNING, http_port=8042)
    state.publish([node])
    assert state.change_counters.addresses == 0
    state.publish([replace(node, health_report="well")])
    assert state.change_counters.addresses == 0
    state.publish([replace(node, http_port=1)])
    assert state.change_counters.addresses == 1


def test_unknown_application_is_not_touched(state: ClusterState) -> None:
    state.touch(LIVE.id)
    assert state.index.pages == {}


def test_who_ended_first_is_first_of_the_finished(state: ClusterState) -> None:
    rows = [
        replace(ENDED, id=an_application_id(n), finished_ms=ended_ms) for n, ended_ms in ((1, 30), (2, 10), (3, 20))
    ]
    state.publish([replace(row, state=ApplicationState.RUNNING, finished_ms=0) for row in rows])
    assert not state.index.finished
    state.publish([rows[1], rows[2], rows[0]])
    assert list(state.index.finished) == [rows[1].id, rows[2].id, rows[0].id]
    state.publish([replace(rows[1], diagnostics="told again")])
    assert list(state.index.finished) == [rows[1].id, rows[2].id, rows[0].id]
    state.remove_application(rows[2].id)
    assert list(state.index.finished) == [rows[1].id, rows[0].id]
    state.index.order_finished(rows)
    assert list(state.index.finished) == [rows[1].id, rows[2].id, rows[0].id], "as after a restart"
