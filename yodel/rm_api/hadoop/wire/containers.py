"""ContainerInfo: a container as the lists below an attempt show it."""

from __future__ import annotations

from typing import Any

from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.resource import MEMORY, VCORES
from yodel.domain.states import ContainerState


def container(row: Container, node: Node | None, log_url: str, now_ms: int) -> dict[str, Any]:
    """One container.  The RM knows of no exit status before the end, and shows 0."""
    has_ended = row.state is ContainerState.COMPLETED
    node_id = str(row.node_id) if row.node_id is not None else ""
    amounts = [(MEMORY, row.capability.memory_mib), (VCORES, row.capability.vcores), *row.capability.extras]
    shown: dict[str, Any] = {
        "containerId": str(row.id),
        "allocatedMB": row.capability.memory_mib,
        "allocatedVCores": row.capability.vcores,
        "assignedNodeId": node_id,
        "priority": row.priority,
        "startedTime": row.created_ms,
        "finishedTime": row.finished_ms,
        "elapsedTime": max(0, (row.finished_ms or now_ms) - row.created_ms),
        "logUrl": log_url,
        "containerExitStatus": row.exit_status if has_ended else 0,
        "containerState": "COMPLETE" if has_ended else "RUNNING",
        "nodeHttpAddress": f"http://{node.http_address}" if node is not None else "",
        "nodeId": node_id,
        "allocatedResources": {"entry": [{"key": name, "value": value} for name, value in amounts]},
        "exposedPorts": "",
    }
    if has_ended:
        shown["diagnosticsInfo"] = row.diagnostics
    return shown
