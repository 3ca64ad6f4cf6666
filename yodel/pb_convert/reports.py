"""Builds YARN's report records for clients (yarn_protos.proto, BuilderUtils).

Every field that a Java client dereferences is always set; see the comments at those that look superfluous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.node_load import NodeLoad
from yodel.domain.resource import MEMORY, NONE, VCORES, Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    FinalApplicationStatus,
    NodeState,
    YarnApplicationAttemptState,
)
from yodel.domain.tokens import Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.node_loads import fill_load
from yodel.pb_convert.times import iso_8601, user_time
from yodel.pb_convert.tokens import token_to_pb
from yodel.pb_convert.widths import int32, int64

NOT_AVAILABLE = "N/A"
UNLIMITED = "UNLIMITED"
LABEL_NOT_SET = "<Not set>"
DEFAULT_PARTITION = "<DEFAULT_PARTITION>"
_GONE = Resource(-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Holds the parts of an application's report that are derived elsewhere.  Amounts are -1 once it has ended, as in
    YARN."""

    attempt: Attempt | None
    used: Resource
    running_containers: int
    reserved: Resource = NONE
    reserved_containers: int = 0
    memory_mib_s: int
    vcore_s: int
    preempted_memory_mib_s: int
    preempted_vcore_s: int
    progress: float
    cluster_share_percent: float
    tracking_url: str
    original_tracking_url: str
    log_aggregation_status: str
    """The name of a LogAggregationStatusProto."""
    amrm_token: Token | None
    client_token: Token | None = None
    """The token that the asker shows to the ApplicationMaster."""
    may_view: bool
    now_ms: int


def fill_application_report(report: pb.ApplicationReportProto, app: Application, facts: ReportFacts) -> None:
    """Fill an empty report in place: a message that becomes a part of another is copied."""
    submission, attempt = app.submission, facts.attempt
    shown = attempt if facts.may_view else None
    is_reachable = shown is not None and shown.state not in (AttemptState.FAILED, AttemptState.KILLED)
    ids.fill_application_id(report.applicationId, app.id)
    report.user, report.queue, report.name = submission.user, submission.queue, submission.name
    report.host = shown.host if shown is not None and is_reachable else NOT_AVAILABLE
    report.rpc_port = shown.rpc_port if shown is not None and is_reachable else -1
    report.yarn_application_state = getattr(pb, app.yarn_state.name)
    report.trackingUrl = facts.tracking_url if facts.may_view else NOT_AVAILABLE
    report.diagnostics = diagnostics_of(app, attempt) if facts.may_view else NOT_AVAILABLE
    report.startTime, report.launchTime, report.finishTime = app.submitted_ms, app.launched_ms, app.finished_ms
    report.final_application_status = getattr(pb, final_status_name(app.final_status))
    report.originalTrackingUrl = facts.original_tracking_url if shown is not None else NOT_AVAILABLE
    ids.fill_application_id(report.currentApplicationAttemptId.application_id, app.id)
    report.currentApplicationAttemptId.attemptId = app.current_attempt_id.attempt
    report.progress = facts.progress
    report.applicationType = submission.application_type
    report.applicationTags.extend(submission.tags)
    report.unmanaged_application = submission.is_unmanaged
    if shown is not None:
        report.log_aggregation_status = getattr(pb, facts.log_aggregation_status)
    report.appNodeLabelExpression = submission.node_label or LABEL_NOT_SET
    if not submission.is_unmanaged:
        report.amNodeLabelExpression = submission.am_node_label or DEFAULT_PARTITION
    report.priority.priority = submission.priority
    _fill_usage(report.app_resource_Usage, app, facts)
    if facts.amrm_token is not None:
        report.am_rm_token.CopyFrom(token_to_pb(facts.amrm_token))
    if facts.client_token is not None:
        report.client_to_am_token.CopyFrom(token_to_pb(facts.client_token))
    _add_lifetime(report, app, facts.now_ms)


def diagnostics_of(app: Application, attempt: Attempt | None) -> str:
    """Return the diagnostics for users, also while an AM is awaited (RMAppImpl.getDiagnostics,
    SchedulerApplicationAttempt.AMState), with the reason if it runs without its queue's shuffle settings."""
    note = attempt.shuffle.note if attempt is not None and attempt.shuffle is not None else ""
    return "\n".join(text for text in (_diagnostics(app, attempt), note) if text)


def _diagnostics(app: Application, attempt: Attempt | None) -> str:
    if app.diagnostics or attempt is None:
        return app.diagnostics
    if attempt.diagnostics:
        return attempt.diagnostics
    if attempt.state is AttemptState.LAUNCHED:
        return "AM container is launched, waiting for AM container to Register with RM"
    since = f"[{user_time(attempt.started_ms)}] "
    if attempt.state is AttemptState.SCHEDULED:
        return f"{since}Application is Activated, waiting for resources to be assigned for AM. "
    if attempt.state is AttemptState.ALLOCATED:
        return f"{since}Scheduler has assigned a container for AM, waiting for AM container to be launched"
    return ""


def final_status_name(status: FinalApplicationStatus) -> str:
    return f"APP_{status.name}"


def _fill_usage(usage: pb.ApplicationResourceUsageReportProto, app: Application, facts: ReportFacts) -> None:
    """MapReduce dereferences used, reserved and needed: all are set always.

    Needed is used and reserved, as in ``SchedulerApplicationAttempt.getResourceUsageReport``; open asks do not count.
    """
    if app.state.is_final:
        used = reserved = needed = _GONE
        usage.num_used_containers = usage.num_reserved_containers = -1
    else:
        used, reserved, needed = facts.used, facts.reserved, facts.used + facts.reserved
        usage.num_used_containers = int32(facts.running_containers)
        usage.num_reserved_containers = int32(facts.reserved_containers)
        usage.queue_usage_percentage = usage.cluster_usage_percentage = facts.cluster_share_percent
    ids.fill_resource(usage.used_resources, used)
    ids.fill_resource(usage.reserved_resources, reserved)
    ids.fill_resource(usage.needed_resources, needed)
    memory, vcores = int64(facts.memory_mib_s), int64(facts.vcore_s)
    usage.memory_seconds, usage.vcore_seconds = memory, vcores
    usage.application_resource_usage_map.add(key=MEMORY, value=memory)
    usage.application_resource_usage_map.add(key=VCORES, value=vcores)
    memory, vcores = int64(facts.preempted_memory_mib_s), int64(facts.preempted_vcore_s)
    usage.preempted_memory_seconds, usage.preempted_vcore_seconds = memory, vcores
    usage.application_preempted_resource_usage_map.add(key=MEMORY, value=memory)
    usage.application_preempted_resource_usage_map.add(key=VCORES, value=vcores)


def _add_lifetime(report: pb.ApplicationReportProto, app: Application, now_ms: int) -> None:
    entry = report.appTimeouts.add(application_timeout_type="APP_TIMEOUT_LIFETIME")
    entry.application_timeout.application_timeout_type = pb.APP_TIMEOUT_LIFETIME
    if app.expires_ms <= 0:
        entry.application_timeout.expire_time, entry.application_timeout.remaining_time = UNLIMITED, -1
        return
    is_over = app.state.is_final or app.state in (ApplicationState.FINISHING, ApplicationState.KILLING)
    entry.application_timeout.expire_time = iso_8601(app.expires_ms)
    entry.application_timeout.remaining_time = 0 if is_over else max(0, app.expires_ms - now_ms) // 1000


def attempt_report(attempt: Attempt, tracking_url: str, original_tracking_url: str) -> pb.ApplicationAttemptReportProto:
    is_reachable = attempt.state not in (AttemptState.FAILED, AttemptState.KILLED)
    report = pb.ApplicationAttemptReportProto(
        application_attempt_id=ids.attempt_id_pb(attempt.id),
        host=attempt.host if is_reachable else NOT_AVAILABLE,
        rpc_port=attempt.rpc_port if is_reachable else -1,
        tracking_url=tracking_url,
        original_tracking_url=original_tracking_url,
        diagnostics=attempt.diagnostics,
        yarn_application_attempt_state=f"APP_ATTEMPT_{yarn_attempt_state(attempt.state).name}",
        startTime=attempt.started_ms,
        finishTime=attempt.finished_ms,
    )
    if attempt.am_container_id is not None:
        report.am_container_id.CopyFrom(ids.container_id_pb(attempt.am_container_id))
    return report


def yarn_attempt_state(state: AttemptState) -> YarnApplicationAttemptState:
    return YarnApplicationAttemptState[state.name]


def container_report(container: Container, node: Node | None, log_url: str) -> pb.ContainerReportProto:
    report = pb.ContainerReportProto(
        container_id=ids.container_id_pb(container.id),
        resource=ids.resource_pb(container.capability),
        creation_time=container.created_ms,
        finish_time=container.finished_ms,
        # Absent while it runs, for which Hadoop's command line prints null.
        diagnostics_info=container.diagnostics or ("" if container.state is ContainerState.COMPLETED else None),
        log_url=log_url,
        container_exit_status=container.exit_status,
        container_state=container_state_name(container.state),
        executionType=container.execution_type.name,
    )
    report.priority.priority = container.priority
    if node is not None:
        report.node_id.CopyFrom(ids.node_id_pb(node.id))
        report.node_http_address = f"http://{node.http_address}"
    return report


def container_state_name(state: ContainerState) -> str:
    """RUNNING from its allocation on, as ``RMContainerImpl.getContainerState``; one without a node is still NEW."""
    if state is ContainerState.COMPLETED:
        return "C_COMPLETE"
    return "C_NEW" if state is ContainerState.PLANNED else "C_RUNNING"


def node_report(
    node: Node, used: Resource, containers: int, *, load: NodeLoad | None = None, is_update: bool = False
) -> pb.NodeReportProto:
    """``is_update``: for an ApplicationMaster's updated_nodes, which say what became of the node."""
    report = pb.NodeReportProto(
        nodeId=ids.node_id_pb(node.id),
        httpAddress=node.http_address,
        rackName=node.rack,
        used=ids.resource_pb(used),
        capability=ids.resource_pb(node.capability),
        numContainers=int32(containers) or None,  # NodeReportPBImpl leaves 0 out
        node_state=f"NS_{node.state.name}",
        health_report=node.health_report,
        last_health_report_time=node.last_health_ms,
        node_labels=node.labels,
    )
    if node.state is NodeState.DECOMMISSIONING and node.decommissioning_timeout_s >= 0:
        report.decommissioning_timeout = int32(node.decommissioning_timeout_s)
    if load is not None:
        fill_load(report, load)
    if is_update:
        report.node_update_type = _NODE_UPDATES.get(node.state, pb.NODE_UNUSABLE)
    return report


_NODE_UPDATES = {NodeState.RUNNING: pb.NODE_USABLE, NodeState.DECOMMISSIONING: pb.NODE_DECOMMISSIONING}


def container_status(container: Container) -> pb.ContainerStatusProto:
    return pb.ContainerStatusProto(
        container_id=ids.container_id_pb(container.id),
        state="C_COMPLETE",
        container_sub_state="CSS_DONE",
        diagnostics=container.diagnostics,
        exit_status=container.exit_status,
        capability=ids.resource_pb(container.capability),
        executionType=container.execution_type.name,
    )


def resource_types(extras: Sequence[str] = ()) -> list[pb.ResourceTypeInfoProto]:
    """memory-mb and vcores first, as every client expects."""
    found = [
        pb.ResourceTypeInfoProto(name=MEMORY, units="Mi", type="COUNTABLE"),
        pb.ResourceTypeInfoProto(name=VCORES, units="", type="COUNTABLE"),
    ]
    found += [pb.ResourceTypeInfoProto(name=name, units="", type="COUNTABLE") for name in extras]
    return found
