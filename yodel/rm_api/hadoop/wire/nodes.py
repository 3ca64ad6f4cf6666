"""NodeInfo, and the shapes of node labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yodel.domain.node import Node
from yodel.domain.node_load import NodeLoad
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import NodeState
from yodel.hadoop_http.java_numbers import java_float
from yodel.hadoop_http.many import Many
from yodel.pb_convert.widths import int32
from yodel.rm_api.hadoop.wire.resources import resource
from yodel.services.views.queries import NodeView

_ACTIVE = frozenset({NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING})
DEFAULT_PARTITION_NAME = "<DEFAULT_PARTITION>"
NO_LOAD = NodeLoad()


def node(view: NodeView, load: NodeLoad | None = None) -> dict[str, Any]:
    """One node.  A node that is gone shows no web address; percents are of what the node gives to YARN."""
    row, available, load = view.node, view.available, load or NO_LOAD
    found: dict[str, Any] = {
        "rack": row.rack,
        "state": row.state.name,
        "id": str(row.id),
        "nodeHostName": row.id.host,
        "nodeHTTPAddress": row.http_address if row.state in _ACTIVE else "",
        "lastHealthUpdate": load.health_ms or row.last_health_ms,
        "version": row.version,
        "healthReport": row.health_report,
        "numContainers": int32(view.containers),
        "usedMemoryMB": view.used.memory_mib,
        "availMemoryMB": available.memory_mib,
        "usedVirtualCores": view.used.vcores,
        "availableVirtualCores": available.vcores,
        "memUtilization": _percent(load.node.physical_mib, row.capability.memory_mib),
        "cpuUtilization": _percent(load.node.cpu_cores, row.capability.vcores),
        "numRunningOpportContainers": 0,
        "usedMemoryOpportGB": 0,
        "usedVirtualCoresOpport": 0,
        "numQueuedContainers": 0,
    }
    if row.labels:
        found["nodeLabels"] = sorted(row.labels)
    return found | {
        "allocationTags": {},
        "resourceUtilization": {
            "nodePhysicalMemoryMB": load.node.physical_mib,
            "nodeVirtualMemoryMB": load.node.virtual_mib,
            "nodeCPUUsage": float(load.node.cpu_cores),
            "aggregatedContainersPhysicalMemoryMB": load.containers.physical_mib,
            "aggregatedContainersVirtualMemoryMB": load.containers.virtual_mib,
            "containersCPUUsage": float(load.containers.cpu_cores),
        },
        "usedResource": resource(view.used),
        "availableResource": resource(available),
        "nodeAttributesInfo": {},
        "totalResource": resource(row.capability),
    }


def label(name: str, nodes: Sequence[Node] | None = None, *, is_counted: bool = False) -> dict[str, Any]:
    """NodeLabelInfo; with ``nodes``, those that have the label, it says what they give.  All labels are exclusive."""
    shown: dict[str, Any] = {"name": name or DEFAULT_PARTITION_NAME, "exclusivity": True}
    if nodes is not None:
        shown["partitionInfo"] = partition(nodes)
        if is_counted:
            shown["activeNMs"] = sum(row.is_usable for row in nodes)
    return shown


def partition(nodes: Sequence[Node]) -> dict[str, Any]:
    """PartitionInfo: what the usable ones of these nodes have."""
    usable: list[Resource] = [row.capability for row in nodes if row.is_usable]
    return {"resourceAvailable": resource(sum(usable, start=NONE))}


def label_list(shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """NodeLabelsInfo: nothing at all when there is none."""
    return {"nodeLabelInfo": list(shown)} if shown else {}


def long_label_list(names: Sequence[str], show: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Return ``label_list`` of labels that are converted when they are written."""
    return {"nodeLabelInfo": Many(names, show)} if names else {}


def _percent(used: float, total: float) -> float:
    return java_float(used * 100.0 / total) if total > 0 else 0.0
