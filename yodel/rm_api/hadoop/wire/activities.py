"""ActivitiesInfo, AppActivitiesInfo and BulkActivitiesInfo: what the scheduler decided, as a tree of queues,
applications, requests and nodes.  Empty lists are left out, as Hadoop's are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from yodel.domain.activities import (
    NO_DEMAND,
    ActivityState,
    ApplicationActivity,
    Look,
    NodeActivity,
    RequestActivity,
)
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.queues.queue import ROOT
from yodel.rm_api.hadoop.wire.resources import DEFAULT_PARTITION

WAITING_FOR_NODE, WAITING = "waiting for display", "waiting for next allocation"


def refused(diagnostic: str, node_id: str | None = None) -> dict[str, Any]:
    """ActivitiesInfo with nothing but a diagnostic."""
    named = {"nodeId": node_id} if node_id is not None else {}
    return {"activities": {**named, "diagnostic": diagnostic}}


def activities(look: Look | None, node_id: NodeId | None, *, is_grouped: bool) -> dict[str, Any]:
    return {"activities": _activities(look, node_id, is_grouped)}


def bulk(looks: Iterable[tuple[NodeId, Look]], *, is_grouped: bool) -> dict[str, Any]:
    return {"bulkActivities": {"activities": [_activities(look, node_id, is_grouped) for node_id, look in looks]}}


def application_refused(diagnostic: str, application_id: str, now_ms: int) -> dict[str, Any]:
    """AppActivitiesInfo with nothing but a diagnostic."""
    fields = {"applicationId": application_id, "diagnostic": diagnostic, **_time(now_ms)}
    return {"appActivities": fields}


def application(application_id: str, looks: Sequence[Look], *, is_grouped: bool) -> dict[str, Any]:
    """The newest first."""
    allocations = [_application_allocation(look, is_grouped) for look in reversed(looks)]
    return {"appActivities": {"applicationId": application_id, **_some("allocations", allocations)}}


def _activities(look: Look | None, node_id: NodeId | None, is_grouped: bool) -> dict[str, Any]:
    """A cluster of one node is that node.  Of several none is named, as in Hadoop's multi-node placement."""
    if look is None:
        return {"diagnostic": WAITING if node_id is None else WAITING_FOR_NODE}
    if node_id is None and len(look.node_ids) == 1:
        (node_id,) = look.node_ids
    named = {"nodeId": str(node_id)} if node_id is not None else {}
    return {**named, **_time(look.at_ms), "allocations": [_allocation(look, is_grouped)]}


def _allocation(look: Look, is_grouped: bool) -> dict[str, Any]:
    containers = [i for app in look.applications for request in app.requests for i in request.container_ids]
    updated = {"updatedContainerId": str(containers[-1])} if containers else {}
    state = ActivityState.ALLOCATED if containers else ActivityState.SKIPPED
    tree = _queue(ROOT, look, is_grouped)
    return {"partition": DEFAULT_PARTITION, **updated, "finalAllocationState": state.value, "root": tree}


def _queue(path: str, look: Look, is_grouped: bool) -> dict[str, Any]:
    below = [a for a in look.applications if a.queue == path or a.queue.startswith(f"{path}.")]
    if not below:
        return {"name": path, "allocationState": ActivityState.SKIPPED.value, "diagnostic": NO_DEMAND}
    prefix = f"{path}."
    children = dict.fromkeys(
        prefix + queue[len(prefix) :].partition(".")[0] for queue in look.queues if queue.startswith(prefix)
    )
    inner = [_queue(child, look, is_grouped) for child in children]
    inner += [_application(a, is_grouped) for a in below if a.queue == path]
    is_served = any(a.state is ActivityState.ALLOCATED for a in below)
    state = ActivityState.ACCEPTED if is_served else ActivityState.SKIPPED
    return {"name": path, "allocationState": state.value, "diagnostic": "", **_some("children", inner)}


def _application(activity: ApplicationActivity, is_grouped: bool) -> dict[str, Any]:
    children = [
        {
            "name": request.name,
            "requestPriority": request.priority,
            "allocationRequestId": request.allocation_request_id,
            **_request_facts(request, is_grouped),
        }
        for request in activity.requests
    ]
    return {
        "name": str(activity.application_id),
        "appPriority": activity.priority,
        "allocationState": activity.state.value,
        "diagnostic": activity.diagnostic,
        **_some("children", children),
    }


def _application_allocation(look: Look, is_grouped: bool) -> dict[str, Any]:
    (activity,) = look.applications
    children = [
        {
            "requestPriority": request.priority,
            "allocationRequestId": request.allocation_request_id,
            **_request_facts(request, is_grouped),
        }
        for request in activity.requests
    ]
    return {
        **_time(look.at_ms),
        "queueName": activity.queue,
        "appPriority": activity.priority,
        "allocationState": activity.state.value,
        "diagnostic": activity.diagnostic,
        **_some("children", children),
    }


def _request_facts(request: RequestActivity, is_grouped: bool) -> dict[str, Any]:
    children = [_container(container_id) for container_id in request.container_ids]
    children += _grouped(request.nodes) if is_grouped else [_node(node) for node in request.nodes]
    facts = {"allocationState": request.state.value, "diagnostic": request.diagnostic}
    return {**facts, **_some("children", children)}


def _container(container_id: ContainerId) -> dict[str, Any]:
    return {"name": str(container_id), "allocationState": ActivityState.ALLOCATED.value, "diagnostic": ""}


def _node(node: NodeActivity) -> dict[str, Any]:
    return {
        "allocationState": ActivityState.SKIPPED.value,
        "diagnostic": node.diagnostic,
        "nodeId": str(node.node_id),
    }


def _grouped(nodes: Iterable[NodeActivity]) -> list[dict[str, Any]]:
    """groupBy=diagnostic: nodes by the first line of what is said of them, without the details (ActivityNode)."""
    by_diagnostic: dict[str, list[str]] = {}
    for node in nodes:
        by_diagnostic.setdefault(node.diagnostic.partition("\n")[0], []).append(str(node.node_id))
    return [
        {
            "allocationState": ActivityState.SKIPPED.value,
            "diagnostic": diagnostic,
            "count": len(node_ids),
            "nodeIds": node_ids,
        }
        for diagnostic, node_ids in by_diagnostic.items()
    ]


def _some(name: str, values: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: values} if values else {}


def _time(at_ms: int) -> dict[str, Any]:
    """``java.util.Date.toString`` of the ResourceManager's own zone."""
    moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return {"timestamp": at_ms, "dateTime": f"{moment:%a %b %d %H:%M:%S} {moment.tzname()} {moment:%Y}"}
