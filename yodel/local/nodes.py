"""The nodes of the local cluster: their objects at start, their heartbeat, and the removal of those not in the list.

What the cluster was started with is written at every start, and what an earlier start fixed and this one does not is
taken away; what others published in the node's status in between (measured capacity, labels, taints) is kept.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from yodel.local.discovery import VERSION
from yodel.local.objects import ObjectStore
from yodel.local.registry import Registry
from yodel.local.statuses import Json
from yodel.local.times import to_text
from yodel.translator.names import PUBLISHED
from yodel.translator.quantities import format_milli

BATCH_CPU = "kubernetes.io/batch-cpu"
BATCH_MEMORY = "kubernetes.io/batch-memory"
FIXED = "yodel.io/fixed-amounts"
"""An annotation: the batch amounts that this program wrote, so that a later start knows that nobody else did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNode:
    """One node.  ``batch_cpu_milli`` is published as a plain number of millicores, as Koordinator does; a batch amount
    of None is not published at all (the ResourceManager may then publish what is measured)."""

    name: str
    address: str = "127.0.0.1"
    cpu_milli: int = 4000
    memory_bytes: int = 8 * 1024**3
    batch_cpu_milli: int | None = None
    batch_memory_bytes: int | None = None
    pods: int = 1000
    labels: Mapping[str, str] = field(default_factory=dict)

    def capacity(self) -> Json:
        own = {"cpu": format_milli(self.cpu_milli), "memory": str(self.memory_bytes), "pods": str(self.pods)}
        return {**own, **self.fixed()}

    def fixed(self) -> dict[str, str]:
        amounts = {BATCH_CPU: self.batch_cpu_milli, BATCH_MEMORY: self.batch_memory_bytes}
        return {name: str(amount) for name, amount in amounts.items() if amount is not None}


class NodeKeeper:
    """Keeps the node objects of one process truthful."""

    def __init__(
        self, store: ObjectStore, registry: Registry, nodes: tuple[LocalNode, ...], now: Callable[[], datetime]
    ) -> None:
        self._store, self._registry, self._nodes, self._now = store, registry, nodes, now

    def register(self) -> None:
        """Create or update every node of the list and remove all others."""
        names = {node.name for node in self._nodes}
        for record in self._store.list("nodes"):
            if record.key[2] not in names:
                self._store.remove("nodes", "", record.key[2])
        for node in self._nodes:
            self._register(node)

    def heartbeat(self) -> None:
        """Renew the conditions' times; a node that somebody deleted comes back, as a kubelet's would."""
        for node in self._nodes:
            record = self._store.find("nodes", "", node.name)
            if record is None:
                self._register(node)
                continue
            status = {**record.item["status"], "conditions": _conditions(record.item, self._now())}
            self._store.replace("nodes", {**record.item, "status": status})

    def _register(self, node: LocalNode) -> None:
        record = self._store.find("nodes", "", node.name)
        if record is None:
            metadata = {"name": node.name, "labels": _labels(node)}
            record = self._registry.create("nodes", "", {"metadata": metadata, "spec": {}})
        item = record.item
        annotations = dict(item["metadata"].get("annotations") or {})
        gone = {*annotations.pop(FIXED, "").split(",")} - node.fixed().keys()
        if node.fixed():
            annotations[FIXED] = ",".join(node.fixed())
            annotations.pop(PUBLISHED, None)
        labels = {**item["metadata"].get("labels", {}), **_labels(node)}
        metadata = {**item["metadata"], "labels": labels, "annotations": annotations}
        old = item.get("status") or {}
        amounts = {
            kind: {name: amount for name, amount in old.get(kind, {}).items() if name not in gone} | node.capacity()
            for kind in ("capacity", "allocatable")
        }
        status = {
            **old,
            **amounts,
            "conditions": _conditions(item, self._now()),
            "addresses": [
                {"type": "InternalIP", "address": node.address},
                {"type": "Hostname", "address": node.name},
            ],
            "nodeInfo": _node_info(),
        }
        self._store.replace("nodes", {**item, "metadata": metadata, "status": status})


def _labels(node: LocalNode) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        **node.labels,
    }


def _conditions(node: Json, at: datetime) -> list[Json]:
    """Keep those of others; the transition time changes only with the status."""
    ours = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "memory limits are not enforced by this kubelet"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "disk pressure is not observed by this kubelet"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "process numbers are not limited by this kubelet"),
        ("Ready", "True", "KubeletReady", "containers run as processes of this machine"),
    )
    old = {entry["type"]: entry for entry in (node.get("status") or {}).get("conditions") or []}
    kept = [entry for kind, entry in old.items() if kind not in {row[0] for row in ours}]
    moment = to_text(at)
    return [*kept, *(_condition(row, old.get(row[0]), moment) for row in ours)]


def _condition(row: tuple[str, str, str, str], old: Json | None, moment: str) -> Json:
    kind, status, reason, message = row
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": moment,
        "lastTransitionTime": since or moment,
        "reason": reason,
        "message": message,
    }


def _node_info() -> Json:
    return {
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
        "kernelVersion": platform.release(),
        "osImage": "the host's own",
        "containerRuntimeVersion": "process://1",
        "kubeletVersion": VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": _architecture(),
    }


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
