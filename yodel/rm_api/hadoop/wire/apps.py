"""AppInfo, AppAttemptInfo and what hangs on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from yodel.domain.application import Application
from yodel.domain.ask_book import Ask, SchedulingAsk
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.past import NOTHING_PREEMPTED, Preempted
from yodel.domain.resource import NONE
from yodel.domain.states import ApplicationState, AttemptState, YarnApplicationState
from yodel.hadoop_http.java_numbers import java_float
from yodel.pb_convert.reports import NOT_AVAILABLE, diagnostics_of
from yodel.pb_convert.submission import names_a_label
from yodel.pb_convert.times import iso_8601
from yodel.rm_api.hadoop.wire.resources import PartitionUsage, resource, seconds_map, usage_by_partition
from yodel.services.views.queries import ApplicationView

DE_SELECTS = ("resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression", "resourceInfo")
"""The fields that a caller may leave out (DeSelectFields)."""
LOST = (AttemptState.FAILED, AttemptState.KILLED)
KEPT_ANYWAY = frozenset({"appNodeLabelExpression"})
"""AppInfo puts it in before it asks whether it is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFacts:
    """Holds the inputs of the shape besides the view.  ``queue_memory_mib`` is the guarantee of its queue."""

    web_address: str
    cluster_id: int
    queue_memory_mib: int
    may_view: bool = True
    deselected: frozenset[str] = frozenset()
    asks: Sequence[Ask] = ()
    now_ms: int
    log_aggregation_status: str


def app(view: ApplicationView, facts: AppFacts) -> dict[str, Any]:
    """One application, field by field in AppInfo's order.  Who may not view it sees that it exists, and zeros."""
    row, submission = view.application, view.application.submission
    has_attempt = view.attempt is not None and facts.may_view
    shown: dict[str, Any] = {
        "id": str(row.id),
        "user": submission.user,
        "name": submission.name,
        "queue": submission.queue,
        "state": row.yarn_state.name,
        "finalStatus": row.final_status.name,
        "progress": java_float(view.progress * 100.0),
        **_tracking(view, facts.web_address),
        "diagnostics": diagnostics_of(row, view.attempt),
        "clusterId": facts.cluster_id,
        "applicationType": submission.application_type,
        "applicationTags": ",".join(submission.tags),
        "priority": submission.priority,
        **_times(view, facts.may_view),
        **(_am(view) if has_attempt else {}),
        "masterNodeId": _master_node_id(view) if has_attempt else "",
        **_amounts(view, facts),
        **_preempted(view.preempted if facts.may_view else NOTHING_PREEMPTED),
    }
    if facts.asks and has_attempt and "resourceRequests" not in facts.deselected:
        shown["resourceRequests"] = [_ask(ask) for ask in facts.asks]
    if facts.may_view:
        shown["logAggregationStatus"] = facts.log_aggregation_status
    shown["unmanagedApplication"] = submission.is_unmanaged
    if submission.node_label or names_a_label(submission.context):
        shown["appNodeLabelExpression"] = submission.node_label
    if not submission.is_unmanaged:
        shown["amNodeLabelExpression"] = submission.am_node_label
    if view.attempt is not None and not view.has_ended:
        shown["resourceInfo"] = _usage(view)
    shown["timeouts"] = {"timeout": [lifetime(row, facts.now_ms)]}
    for name in facts.deselected - KEPT_ANYWAY:
        shown.pop(name, None)
    return shown


def attempt(row: Attempt, master: Master | None) -> dict[str, Any]:
    """One attempt as the list of attempts shows it; without ``master`` for who may not see it, or while it has none."""
    has_node = master is not None and master.node is not None
    return {
        "id": row.id.attempt,
        "startTime": row.started_ms,
        "finishedTime": row.finished_ms,
        "containerId": str(master.container.id) if master is not None else "",
        "nodeHttpAddress": master.node.http_address if master is not None and master.node is not None else "",
        "nodeId": str(master.node.id) if master is not None and master.node is not None else "",
        "logsLink": master.log_url if master is not None else "",
        "blacklistedNodes": ",".join(master.blacklist) if master is not None else "",
        **({"nodesBlacklistedBySystem": ""} if has_node else {}),
        "appAttemptId": str(row.id),
        "exportPorts": "null" if has_node else "",
        "appAttemptState": row.state.name,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Master:
    """Holds the AM's part of an attempt's list entry.  ``blacklist`` are the nodes that the AM avoids."""

    container: Container
    node: Node | None
    log_url: str
    blacklist: Sequence[str] = ()


def one_attempt(row: Attempt, web_address: str) -> dict[str, Any]:
    """One attempt by itself: AppAttemptInfo, which has other fields than the list."""
    is_reachable = row.state not in LOST
    return {
        "appAttemptId": str(row.id),
        "host": row.host if is_reachable else NOT_AVAILABLE,
        "rpcPort": row.rpc_port if is_reachable else -1,
        "trackingUrl": _pages(row, web_address),
        "originalTrackingUrl": _own_pages(row, web_address),
        "diagnosticsInfo": row.diagnostics,
        "appAttemptState": row.state.name,
        "amContainerId": str(row.am_container_id) if row.am_container_id is not None else "",
        "startedTime": row.started_ms,
        "finishedTime": row.finished_ms,
    }


def tracking_url(row: Application, web_address: str) -> str:
    """Return the URL for browsers: the proxy, or the application's own page when its AM left nothing to see."""
    is_lost = row.state in (ApplicationState.FAILED, ApplicationState.KILLED)
    return f"http://{web_address}/cluster/app/{row.id}" if is_lost else f"http://{web_address}/proxy/{row.id}/"


def lifetime(row: Application, now_ms: int) -> dict[str, Any]:
    """AppTimeoutInfo as an application shows it: what is over has no time left."""
    is_over = row.state.is_final or row.state in (ApplicationState.FINISHING, ApplicationState.KILLING)
    return timeout(row, row.expires_ms if is_over else now_ms)


def timeout(row: Application, now_ms: int) -> dict[str, Any]:
    """AppTimeoutInfo as the timeouts' own resources show it, which do not ask what has become of the application."""
    if row.expires_ms <= 0:
        return {"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}
    remaining_s = max(0, (row.expires_ms - now_ms) // 1000)
    return {"type": "LIFETIME", "expiryTime": iso_8601(row.expires_ms), "remainingTimeInSeconds": remaining_s}


def _tracking(view: ApplicationView, web_address: str) -> dict[str, str]:
    row = view.application
    if view.attempt is None or row.yarn_state is YarnApplicationState.ACCEPTED:
        return {"trackingUI": "UNASSIGNED"}
    url = _pages(view.attempt, web_address)
    url = url if "://" in url else f"http://{url}"  # WebAppUtils.getURLWithScheme, also of N/A
    return {"trackingUI": "History" if row.finished_ms else "ApplicationMaster", "trackingUrl": url}


def _pages(row: Attempt, web_address: str) -> str:
    """RMAppAttemptImpl.getTrackingUrl: an unmanaged AM's own, else the proxy's, or ours once it is lost."""
    if row.is_unmanaged or row.state in LOST:
        return _own_pages(row, web_address)
    return f"http://{web_address}/proxy/{row.id.application_id}/"


def _own_pages(row: Attempt, web_address: str) -> str:
    if row.state in LOST:
        return f"http://{web_address}/cluster/app/{row.id.application_id}"
    return row.tracking_url or NOT_AVAILABLE


def _times(view: ApplicationView, may_view: bool) -> dict[str, int]:
    row = view.application
    if not may_view:
        return {"startedTime": 0, "launchTime": 0, "finishedTime": 0, "elapsedTime": 0}
    return {
        "startedTime": row.submitted_ms,
        "launchTime": row.launched_ms,
        "finishedTime": row.finished_ms,
        "elapsedTime": view.elapsed_ms,
    }


def _am(view: ApplicationView) -> dict[str, str]:
    """Return the AM's node, and its RPC address if it registered one."""
    found: dict[str, str] = {}
    if view.am_container is not None and view.am_node is not None:
        address = view.am_node.http_address
        user = quote(view.application.submission.user, safe="@/$+")
        found["amContainerLogs"] = f"http://{address}/node/containerlogs/{view.am_container.id}/{user}"
        found["amHostHttpAddress"] = address
    if view.attempt is not None and view.attempt.rpc_port >= 0:
        found["amRPCAddress"] = f"{view.attempt.host}:{view.attempt.rpc_port}"
    return found


def _master_node_id(view: ApplicationView) -> str:
    node_id = view.am_container.node_id if view.am_container is not None else None
    return str(node_id) if node_id is not None else ""


def _amounts(view: ApplicationView, facts: AppFacts) -> dict[str, Any]:
    """Live amounts: -1 after the end, as Hadoop reports what has no live report; 0 if there never was an attempt."""
    gone = -1 if view.has_ended and view.attempt is not None and facts.may_view else 0
    is_shown = not view.has_ended and facts.may_view
    share = view.cluster_share_percent if is_shown else 0.0
    queue_share = 100.0 * view.used.memory_mib / facts.queue_memory_mib if is_shown and facts.queue_memory_mib else 0.0
    found: dict[str, Any] = {
        "allocatedMB": view.used.memory_mib if is_shown else gone,
        "allocatedVCores": view.used.vcores if is_shown else gone,
        "reservedMB": view.reserved.memory_mib if is_shown else gone,
        "reservedVCores": view.reserved.vcores if is_shown else gone,
        "runningContainers": view.running_containers if is_shown else gone,
        "memorySeconds": view.memory_mib_s,
        "vcoreSeconds": view.vcore_s,
        "queueUsagePercentage": java_float(queue_share),
        "clusterUsagePercentage": java_float(share),
    }
    if view.attempt is not None:
        found["resourceSecondsMap"] = seconds_map(view.memory_mib_s, view.vcore_s)
    return found


def _preempted(found: Preempted) -> dict[str, int]:
    return {
        "preemptedResourceMB": found.memory_mib,
        "preemptedResourceVCores": found.vcores,
        "numNonAMContainerPreempted": found.others,
        "numAMContainerPreempted": found.masters,
        "preemptedMemorySeconds": found.memory_mib_s,
        "preemptedVcoreSeconds": found.vcore_s,
    }


def _usage(view: ApplicationView) -> dict[str, Any]:
    """Return usage and pending requests of its attempt, which Hadoop shows to everybody."""
    am = view.am_container
    am_used = am.capability if am is not None and am.is_live and am.node_id is not None else NONE
    return usage_by_partition(
        PartitionUsage(
            used=resource(view.used),
            reserved=resource(view.reserved),
            pending=resource(view.waited_for[1]),
            am_used=resource(am_used),
            am_limit=resource(NONE),
            user_am_limit=resource(NONE),
        )
    )


def _ask(ask: Ask) -> dict[str, Any]:
    """ResourceRequestInfo."""
    if ask.request is not None:
        return _scheduling_ask(ask, ask.request)
    return {
        "priority": ask.key.priority,
        "allocationRequestId": ask.key.allocation_request_id,
        "resourceName": ask.resource_name,
        "capability": resource(ask.key.capability),
        "numContainers": ask.count,
        "relaxLocality": ask.relax_locality,
        "nodeLabelExpression": ask.node_label,
        "executionTypeRequest": {"executionType": ask.key.execution_type.name, "enforceExecutionType": False},
    }


def _scheduling_ask(ask: Ask, request: SchedulingAsk) -> dict[str, Any]:
    """ResourceRequestInfo of a SchedulingRequest, which has no place of its own."""
    found = {
        "priority": ask.key.priority,
        "allocationRequestId": ask.key.allocation_request_id,
        "capability": resource(ask.key.capability),
        "numContainers": ask.count,
        "relaxLocality": False,
        "executionTypeRequest": {"executionType": ask.key.execution_type.name, "enforceExecutionType": False},
        "allocationTags": list(request.tags),
    }
    return {**found, "placementConstraint": str(request.constraint)} if request.constraint is not None else found
