from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import (
    a_container,
    a_container_id,
    a_node,
    a_submission,
    an_application,
    an_attempt,
    an_attempt_id,
)
from yodel.domain.application import Application
from yodel.domain.ids import NodeId
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    FinalApplicationStatus,
    NodeState,
)
from yodel.domain.tokens import Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids, reports
from yodel.pb_convert.times import parse_iso_8601


def report_of(app: Application, **changes: Any) -> pb.ApplicationReportProto:
    fields: dict[str, Any] = {
        "attempt": None,
        "used": Resource(2048, 2),
        "running_containers": 2,
        "memory_mib_s": 10,
        "vcore_s": 5,
        "preempted_memory_mib_s": 4,
        "preempted_vcore_s": 2,
        "progress": 0.5,
        "cluster_share_percent": 12.5,
        "tracking_url": "http://rm/proxy/x/",
        "original_tracking_url": "http://am:1",
        "log_aggregation_status": "LOG_RUNNING",
        "amrm_token": None,
        "may_view": True,
        "now_ms": 100_000,
    }
    report = pb.ApplicationReportProto()
    reports.fill_application_report(report, app, reports.ReportFacts(**{**fields, **changes}))
    return report


@pytest.mark.parametrize("state", ApplicationState)
@pytest.mark.parametrize("attempt", [None, an_attempt()])
@pytest.mark.parametrize("may_view", [True, False])
def test_report_has_every_field_that_java_dereferences(state: ApplicationState, attempt: Any, may_view: bool) -> None:
    report = report_of(an_application(state=state), attempt=attempt, may_view=may_view)

    for name in (
        "applicationId",
        "user",
        "queue",
        "name",
        "host",
        "rpc_port",
        "yarn_application_state",
        "diagnostics",
        "startTime",
        "finishTime",
        "final_application_status",
        "app_resource_Usage",
        "currentApplicationAttemptId",
        "progress",
        "applicationType",
        "priority",
        "launchTime",
    ):
        assert report.HasField(name), name
    for name in ("used_resources", "reserved_resources", "needed_resources"):
        assert report.app_resource_Usage.HasField(name), name
    assert [e.key for e in report.app_resource_Usage.application_resource_usage_map] == ["memory-mb", "vcores"]
    (lifetime,) = report.appTimeouts
    assert lifetime.application_timeout.expire_time == "UNLIMITED"
    assert lifetime.application_timeout.remaining_time == -1


def test_running_application_shows_its_attempt_and_its_amounts() -> None:
    attempt = an_attempt(host="am-host", rpc_port=4040, tracking_url="http://am:1", state=AttemptState.RUNNING)
    app = an_application(state=ApplicationState.RUNNING, launched_ms=5, diagnostics="fine")
    report = report_of(app, attempt=attempt)

    assert (report.host, report.rpc_port, report.originalTrackingUrl) == ("am-host", 4040, "http://am:1")
    assert report.yarn_application_state == pb.RUNNING
    assert report.final_application_status == pb.APP_UNDEFINED
    usage = report.app_resource_Usage
    assert (usage.num_used_containers, usage.used_resources.memory, usage.needed_resources.memory) == (2, 2048, 2048)
    assert report.finishTime == 0


def test_ended_application_shows_minus_one_as_yarn_does() -> None:
    app = an_application(
        state=ApplicationState.FINISHED, final_status=FinalApplicationStatus.SUCCEEDED, finished_ms=9, launched_ms=5
    )
    report = report_of(app, attempt=an_attempt())
    usage = report.app_resource_Usage
    assert (usage.num_used_containers, usage.used_resources.memory, usage.used_resources.virtual_cores) == (-1, -1, -1)
    assert (usage.memory_seconds, usage.preempted_memory_seconds, usage.preempted_vcore_seconds) == (10, 4, 2)
    assert [(one.key, one.value) for one in usage.application_preempted_resource_usage_map] == [
        ("memory-mb", 4),
        ("vcores", 2),
    ]
    assert (report.finishTime, report.final_application_status) == (9, pb.APP_SUCCEEDED)


def test_application_that_finishes_is_finished_for_clients_at_the_time_its_am_said_so() -> None:
    report = report_of(an_application(state=ApplicationState.FINISHING, finished_ms=9))
    assert (report.yarn_application_state, report.finishTime) == (pb.FINISHED, 9)


@pytest.mark.parametrize("state", [AttemptState.FAILED, AttemptState.KILLED])
def test_am_that_is_gone_is_nowhere(state: AttemptState) -> None:
    attempt = an_attempt(host="am-host", rpc_port=4040, state=state)
    report = report_of(an_application(), attempt=attempt)
    assert (report.host, report.rpc_port) == ("N/A", -1)
    shown = reports.attempt_report(attempt, "", "")
    assert (shown.host, shown.rpc_port) == ("N/A", -1)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (AttemptState.SCHEDULED, "Application is Activated, waiting for resources to be assigned for AM. "),
        (AttemptState.ALLOCATED, "Scheduler has assigned a container for AM, waiting for AM container to be launched"),
        (AttemptState.LAUNCHED, "AM container is launched, waiting for AM container to Register with RM"),
        (AttemptState.RUNNING, ""),
    ],
)
def test_diagnostics_tell_what_an_application_waits_for(state: AttemptState, text: str) -> None:
    told = reports.diagnostics_of(an_application(), an_attempt(state=state))
    assert told.endswith(text)
    assert told.startswith("[") is (state in (AttemptState.SCHEDULED, AttemptState.ALLOCATED))


def test_diagnostics_of_the_application_come_before_those_of_its_attempt() -> None:
    failed = an_attempt(state=AttemptState.FAILED, diagnostics="attempt")
    assert reports.diagnostics_of(an_application(diagnostics="application"), failed) == "application"
    assert reports.diagnostics_of(an_application(), failed) == "attempt"
    assert reports.diagnostics_of(an_application(), None) == ""


def test_labels_and_aggregation_are_written_as_hadoop_writes_them() -> None:
    report = report_of(an_application(), attempt=an_attempt())
    assert (report.appNodeLabelExpression, report.amNodeLabelExpression) == ("<Not set>", "<DEFAULT_PARTITION>")
    assert report.log_aggregation_status == pb.LOG_RUNNING
    unmanaged = report_of(an_application(submission=a_submission(is_unmanaged=True)))
    assert not unmanaged.HasField("amNodeLabelExpression")
    assert not unmanaged.HasField("log_aggregation_status")


def test_who_may_not_view_gets_not_available() -> None:
    attempt = an_attempt(host="am-host", rpc_port=4040, tracking_url="http://am:1")
    app = an_application(diagnostics="secret words")
    report = report_of(app, attempt=attempt, may_view=False)
    assert [report.host, report.trackingUrl, report.originalTrackingUrl, report.diagnostics] == ["N/A"] * 4
    assert report.rpc_port == -1
    assert report.currentApplicationAttemptId == ids.attempt_id_pb(an_attempt_id())


def test_token_of_an_unmanaged_am_goes_into_the_report() -> None:
    token = Token(identifier=b"id", password=b"pw", kind="YARN_AM_RM_TOKEN", service="")
    assert report_of(an_application(), amrm_token=token).am_rm_token.identifier == b"id"
    assert not report_of(an_application()).HasField("am_rm_token")


@pytest.mark.parametrize(
    ("state", "remaining_s"),
    [(ApplicationState.RUNNING, 59), (ApplicationState.KILLING, 0), (ApplicationState.FINISHED, 0)],
)
def test_end_of_life_is_told_with_what_remains(state: ApplicationState, remaining_s: int) -> None:
    app = an_application(state=state, expires_ms=159_999)
    (entry,) = report_of(app).appTimeouts
    assert parse_iso_8601(entry.application_timeout.expire_time) == 159_999
    assert entry.application_timeout.remaining_time == remaining_s


def test_nothing_remains_of_a_life_that_is_over() -> None:
    (entry,) = report_of(an_application(expires_ms=1)).appTimeouts
    assert entry.application_timeout.remaining_time == 0


@pytest.mark.parametrize("state", AttemptState)
def test_every_attempt_state_has_a_public_name(state: AttemptState) -> None:
    report = reports.attempt_report(an_attempt(state=state), "http://rm/proxy/x/", "N/A")
    assert report.HasField("yarn_application_attempt_state")
    assert report.am_container_id == ids.container_id_pb(a_container_id())
    assert report.original_tracking_url == "N/A"


def test_attempt_of_an_unmanaged_am_has_no_container() -> None:
    assert not reports.attempt_report(an_attempt(am_container_id=None), "", "").HasField("am_container_id")


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (ContainerState.PLANNED, pb.C_NEW),
        (ContainerState.ALLOCATED, pb.C_RUNNING),
        (ContainerState.ACQUIRED, pb.C_RUNNING),
        (ContainerState.RUNNING, pb.C_RUNNING),
        (ContainerState.COMPLETED, pb.C_COMPLETE),
    ],
)
def test_container_report_shows_yarns_states(state: ContainerState, shown: int) -> None:
    container = a_container(state=state, node_id=NodeId("node-1", 8041), priority=0)
    report = reports.container_report(container, a_node(http_port=8042), "http://logs")
    assert report.container_state == shown
    assert report.node_http_address == "http://node-1:8042"
    assert report.HasField("priority")
    assert report.HasField("resource")


def test_container_without_a_node_is_reported_without_one() -> None:
    assert not reports.container_report(a_container(), None, "").HasField("node_id")


@pytest.mark.parametrize("state", NodeState)
def test_node_report_has_every_field_that_java_dereferences(state: NodeState) -> None:
    report = reports.node_report(a_node(state=state, http_port=8042, capability=Resource(9, 9)), NONE, 0)
    for name in ("nodeId", "httpAddress", "rackName", "used", "capability", "node_state"):
        assert report.HasField(name), name
    assert report.rackName == "/default-rack"
    assert pb.NodeStateProto.Name(report.node_state) == f"NS_{state.name}"


def test_completion_carries_status_and_words() -> None:
    container = a_container(state=ContainerState.COMPLETED, exit_status=-100, diagnostics="Container released")
    status = reports.container_status(container)
    assert (status.state, status.exit_status, status.diagnostics) == (pb.C_COMPLETE, -100, "Container released")
    assert ids.container_id(status.container_id) == container.id


def test_resource_types_begin_with_memory_and_cores() -> None:
    found = [(t.name, t.units, t.type) for t in reports.resource_types(("gpu",))]
    assert found == [("memory-mb", "Mi", pb.COUNTABLE), ("vcores", "", pb.COUNTABLE), ("gpu", "", pb.COUNTABLE)]
