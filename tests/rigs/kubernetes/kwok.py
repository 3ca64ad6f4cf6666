"""Nodes without a machine: kwok plays the kubelets of nodes that carry its annotation.

Such a node beats and runs whatever is bound to it at once; nothing of it costs more than the calls.  Its status is what
its maker says: a kubelet of kwok's publishes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.rigs.kubernetes.daemons import Daemons
from tests.rigs.kubernetes.layout import Home

ANNOTATION = {"kwok.x-k8s.io/node": "fake"}
LEASE_S = 200
"""kwok renews a node's lease after a quarter of this; 1,000 nodes at a kubelet's 10 s would be 100 writes a second."""
BATCH = ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")
GIB = 1 << 30


def start_kwok(home: Home, daemons: Daemons, folder: Path) -> None:
    """``folder`` is that of ``binaries kwok``."""
    (key, value), *_ = ANNOTATION.items()
    daemons.start(
        "kwok",
        [
            str(folder / "kwok"),
            f"--config={folder / 'kwok.yaml'}",
            f"--kubeconfig={home.kubeconfig}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={key}={value}",
            "--cidr=10.200.0.1/16",
            "--node-ip=127.0.0.1",
            f"--node-lease-duration-seconds={LEASE_S}",
        ],
    )


def fake_node_name(number: int) -> str:
    return f"fake-{number:04d}"


def fake_node(number: int, *, cores: int, memory_gib: int, pods: int, has_batch: bool) -> Mapping[str, Any]:
    """The body of its creation.  ``has_batch``: it publishes as much again as colocation resources."""
    amounts = {"cpu": str(cores), "memory": f"{memory_gib}Gi", "pods": str(pods)}
    if has_batch:
        amounts |= dict(zip(BATCH, (str(cores * 1000), str(memory_gib * GIB)), strict=True))
    name = fake_node_name(number)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": ANNOTATION, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
