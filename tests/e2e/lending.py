"""What nodes lend in scenarios of colocation."""

from __future__ import annotations

from tests.e2e.kube_cluster import KubeCluster
from yodel.translator.publishing import whole

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"


def published(cluster: KubeCluster, node: str) -> int | None:
    """Milli of a core, in capacity and allocatable alike."""
    status = cluster.get("node", node)["status"]
    found = status["capacity"].get(CPU)
    return whole(found) if found is not None and status["allocatable"].get(CPU) == found else None
