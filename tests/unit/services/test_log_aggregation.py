from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.fakes import FakeClock
from tests.support.records import an_application, an_application_id
from yodel.domain.ids import NodeId
from yodel.domain.states import ApplicationState
from yodel.ports.store import ClusterIdentity
from yodel.services.applications.log_aggregation import (
    DIAGNOSTICS_MAX,
    STATUS_TIMEOUT_S,
    LogAggregationReport,
    LogAggregationReports,
    LogAggregationStatus,
)
from yodel.services.writer.state import ClusterState

S = LogAggregationStatus
ONE, TWO = NodeId("node-1", 8041), NodeId("node-2", 8041)
RUNNING = an_application(state=ApplicationState.RUNNING)


def over(clock: FakeClock) -> ClusterState:
    state = ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0))
    state.publish([an_application(state=ApplicationState.FINISHED, finished_ms=clock.now_ms())])
    return state


def report(status: LogAggregationStatus, text: str = "") -> LogAggregationReport:
    return LogAggregationReport(application_id=an_application_id(), status=status, diagnostics=text)


@pytest.mark.parametrize(
    ("one", "two", "while_running", "at_the_end"),
    [
        (S.NOT_START, S.NOT_START, S.NOT_START, S.NOT_START),
        (S.RUNNING, S.NOT_START, S.RUNNING, S.RUNNING),
        (S.RUNNING, S.SUCCEEDED, S.RUNNING, S.RUNNING),
        (S.RUNNING_WITH_FAILURE, S.SUCCEEDED, S.RUNNING_WITH_FAILURE, S.RUNNING_WITH_FAILURE),
        (S.SUCCEEDED, S.SUCCEEDED, S.RUNNING, S.SUCCEEDED),
        (S.SUCCEEDED, S.FAILED, S.RUNNING, S.FAILED),
        (S.SUCCEEDED, S.TIME_OUT, S.TIME_OUT, S.TIME_OUT),
    ],
)
def test_status_is_made_of_the_nodes(
    one: LogAggregationStatus,
    two: LogAggregationStatus,
    while_running: LogAggregationStatus,
    at_the_end: LogAggregationStatus,
) -> None:
    clock = FakeClock()
    aggregation = LogAggregationReports(over(clock), clock, is_enabled=True)
    aggregation.record(ONE, [report(one)])
    aggregation.record(TWO, [report(two)])
    assert aggregation.status_of(RUNNING) is while_running
    assert (
        aggregation.status_of(an_application(state=ApplicationState.FINISHED, finished_ms=clock.now_ms())) is at_the_end
    )


def test_switched_off_is_disabled_and_records_nothing() -> None:
    clock = FakeClock()
    aggregation = LogAggregationReports(over(clock), clock, is_enabled=False)
    aggregation.record(ONE, [report(S.RUNNING)])
    assert aggregation.status_of(RUNNING) is S.DISABLED
    assert aggregation.nodes_of(RUNNING.id) == {}


def test_what_is_final_stays() -> None:
    clock = FakeClock()
    state = over(clock)
    aggregation = LogAggregationReports(state, clock, is_enabled=True)
    (application,) = state.applications.values()
    aggregation.record(ONE, [report(S.SUCCEEDED)])
    assert aggregation.status_of(application) is S.SUCCEEDED
    aggregation.record(ONE, [report(S.FAILED)])
    assert aggregation.status_of(application) is S.SUCCEEDED
    assert aggregation.nodes_of(application.id) == {}


def test_node_that_falls_silent_is_not_waited_for() -> None:
    clock = FakeClock()
    state = over(clock)
    aggregation = LogAggregationReports(state, clock, is_enabled=True)
    (application,) = state.applications.values()
    aggregation.record(ONE, [report(S.RUNNING)])
    clock.advance(STATUS_TIMEOUT_S)
    assert aggregation.status_of(application) is S.RUNNING
    clock.advance(1)
    assert aggregation.status_of(application) is S.TIME_OUT


@pytest.mark.parametrize(
    ("status", "is_settled"), [(None, True), (S.NOT_START, False), (S.RUNNING, False), (S.SUCCEEDED, True)]
)
def test_what_may_time_out_is_not_settled(status: LogAggregationStatus | None, is_settled: bool) -> None:
    clock = FakeClock()
    state = over(clock)
    aggregation = LogAggregationReports(state, clock, is_enabled=True)
    (application,) = state.applications.values()
    version = state.index.pages[0].version
    aggregation.record(ONE, [report(status)] if status is not None else [])
    assert aggregation.is_settled(application) is is_settled
    assert (state.index.pages[0].version > version) is (status is not None)


def told(reports: Sequence[LogAggregationReport]) -> LogAggregationReports:
    clock = FakeClock()
    aggregation = LogAggregationReports(over(clock), clock, is_enabled=True)
    for one in reports:
        aggregation.record(ONE, [one])
    return aggregation


def test_failure_is_not_covered_up_by_the_next_report() -> None:
    aggregation = told([report(S.RUNNING_WITH_FAILURE, "disk full"), report(S.RUNNING, "going on")])
    (node,) = aggregation.nodes_of(RUNNING.id).values()
    assert (node.status, node.failures, node.diagnostics) == (S.RUNNING_WITH_FAILURE, ["disk full"], ["going on"])


def test_last_few_messages_are_kept() -> None:
    (node,) = told([report(S.RUNNING, str(n)) for n in range(30)]).nodes_of(RUNNING.id).values()
    assert node.diagnostics == [str(n) for n in range(30 - DIAGNOSTICS_MAX, 30)]


def test_unknown_application_is_dropped_and_a_forgotten_one_forgotten() -> None:
    clock = FakeClock()
    state = over(clock)
    aggregation = LogAggregationReports(state, clock, is_enabled=True)
    strange = LogAggregationReport(application_id=an_application_id(9), status=S.RUNNING)
    aggregation.record(ONE, [strange, report(S.RUNNING)])
    assert aggregation.nodes_of(an_application_id(9)) == {}
    state.remove_application(an_application_id())
    aggregation.record(ONE, [])
    assert aggregation.nodes_of(an_application_id()) == {}
