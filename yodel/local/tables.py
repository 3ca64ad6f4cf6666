"""Objects as the rows that ``kubectl get`` prints: ``metav1.Table`` as the real server's printers make it.

Follows ``pkg/printers/internalversion/printers.go`` for pods, nodes, events and namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from yodel.local.statuses import Json
from yodel.local.times import age

_NONE = "<none>"
_Column = tuple[str, str, int]

_COLUMNS: Mapping[str, tuple[_Column, ...]] = {
    "pods": (
        ("Name", "string", 0),
        ("Ready", "string", 0),
        ("Status", "string", 0),
        ("Restarts", "string", 0),
        ("Age", "string", 0),
        ("IP", "string", 1),
        ("Node", "string", 1),
        ("Nominated Node", "string", 1),
        ("Readiness Gates", "string", 1),
    ),
    "nodes": (
        ("Name", "string", 0),
        ("Status", "string", 0),
        ("Roles", "string", 0),
        ("Age", "string", 0),
        ("Version", "string", 0),
        ("Internal-IP", "string", 1),
        ("External-IP", "string", 1),
        ("OS-Image", "string", 1),
        ("Kernel-Version", "string", 1),
        ("Container-Runtime", "string", 1),
    ),
    "events": (
        ("Last Seen", "string", 0),
        ("Type", "string", 0),
        ("Reason", "string", 0),
        ("Object", "string", 0),
        ("Subobject", "string", 1),
        ("Source", "string", 1),
        ("Message", "string", 0),
        ("First Seen", "string", 1),
        ("Count", "string", 1),
        ("Name", "string", 1),
    ),
    "namespaces": (("Name", "string", 0), ("Status", "string", 0), ("Age", "string", 0)),
}


def table(
    resource: str, items: Iterable[Json], at: datetime, *, metadata: Json, include: str, with_columns: bool = True
) -> Json:
    """``include`` is the request's ``includeObject``: Metadata (default), Object or None."""
    rows = [_row(resource, item, at, include) for item in items]
    body: Json = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    body["columnDefinitions"] = _columns(resource) if with_columns else []
    body["rows"] = rows
    return body


def _columns(resource: str) -> list[Json]:
    return [
        {
            "name": name,
            "type": kind,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, kind, priority in _COLUMNS[resource]
    ]


def _row(resource: str, item: Json, at: datetime, include: str) -> Json:
    cells = _PRINTERS[resource](item, at)
    if include == "None":
        return {"cells": cells}
    if include == "Object":
        return {"cells": cells, "object": item}
    metadata = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
    return {"cells": cells, "object": metadata}


def _pod(pod: Json, at: datetime) -> list[Any]:
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = status.get("containerStatuses") or []
    restarts = sum(entry.get("restartCount", 0) for entry in statuses)
    ready = sum(1 for entry in statuses if entry.get("ready") and "running" in (entry.get("state") or {}))
    return [
        pod["metadata"]["name"],
        f"{ready}/{len(spec['containers'])}",
        pod_status(pod),
        str(restarts),
        age(pod["metadata"].get("creationTimestamp"), at),
        status.get("podIP") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        _NONE,
    ]


def pod_status(pod: Json) -> str:
    """The STATUS column: the phase, or the reason that says more than the phase."""
    status = pod.get("status") or {}
    shown = str(status.get("reason") or status.get("phase") or "Unknown")
    for entry in reversed(status.get("containerStatuses") or []):
        state = entry.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            shown = str(waiting["reason"])
        elif terminated.get("reason"):
            shown = str(terminated["reason"])
        elif terminated:
            signal = terminated.get("signal")
            shown = f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"
    deleted = pod["metadata"].get("deletionTimestamp")
    return "Terminating" if deleted and status.get("phase") not in ("Succeeded", "Failed") else shown


def _node(node: Json, at: datetime) -> list[Any]:
    metadata, status = node["metadata"], node.get("status") or {}
    info = status.get("nodeInfo") or {}
    addresses = {entry["type"]: entry["address"] for entry in reversed(status.get("addresses") or [])}
    prefix = "node-role.kubernetes.io/"
    roles = sorted(label[len(prefix) :] for label in metadata.get("labels") or {} if label.startswith(prefix))
    return [
        metadata["name"],
        _node_status(node),
        ",".join(role for role in roles if role) or _NONE,
        age(metadata.get("creationTimestamp"), at),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_status(node: Json) -> str:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = next((entry for entry in conditions if entry.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _event(event: Json, at: datetime) -> list[Any]:
    involved, source = event.get("involvedObject") or {}, event.get("source") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or first
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name", "")
    return [
        age(last, at),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        ", ".join(part for part in (source.get("component"), source.get("host")) if part),
        str(event.get("message", "")).strip(),
        age(first, at),
        str(event.get("count") or 1),
        event["metadata"]["name"],
    ]


def _namespace(namespace: Json, at: datetime) -> list[Any]:
    metadata = namespace["metadata"]
    phase = (namespace.get("status") or {}).get("phase", "")
    return [metadata["name"], phase, age(metadata.get("creationTimestamp"), at)]


_PRINTERS = {"pods": _pod, "nodes": _node, "events": _event, "namespaces": _namespace}
