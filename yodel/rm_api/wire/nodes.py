"""NodeInfo."""

from __future__ import annotations

from typing import Any

from yodel.domain.states import NodeState
from yodel.rm_api.wire.resources import resource
from yodel.services.queries import NodeView

_ACTIVE = frozenset({NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING})


def node(view: NodeView) -> dict[str, Any]:
    """One node.  Utilization is zero: node agents do not report it yet.  A node that is gone shows no web address."""
    row, available = view.node, view.available
    found: dict[str, Any] = {
        "rack": row.rack,
        "state": row.state.name,
        "id": str(row.id),
        "nodeHostName": row.id.host,
        "nodeHTTPAddress": row.http_address if row.state in _ACTIVE else "",
        "lastHealthUpdate": row.last_health_ms,
        "version": row.version,
        "healthReport": row.health_report,
        "numContainers": view.containers,
        "usedMemoryMB": view.used.memory_mib,
        "availMemoryMB": available.memory_mib,
        "usedVirtualCores": view.used.vcores,
        "availableVirtualCores": available.vcores,
        "memUtilization": 0.0,
        "cpuUtilization": 0.0,
        "numRunningOpportContainers": 0,
        "usedMemoryOpportGB": 0,
        "usedVirtualCoresOpport": 0,
        "numQueuedContainers": 0,
        "allocationTags": {},
        "resourceUtilization": {
            "nodePhysicalMemoryMB": 0,
            "nodeVirtualMemoryMB": 0,
            "nodeCPUUsage": 0.0,
            "aggregatedContainersPhysicalMemoryMB": 0,
            "aggregatedContainersVirtualMemoryMB": 0,
            "containersCPUUsage": 0.0,
        },
        "usedResource": resource(view.used),
        "availableResource": resource(available),
        "nodeAttributesInfo": {},
        "totalResource": resource(row.capability),
    }
    if row.labels:
        found["nodeLabels"] = sorted(row.labels)
    return found
