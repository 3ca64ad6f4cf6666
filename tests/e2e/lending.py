"""These helpers tell how much nodes lend in scenarios of colocation, and on which."""

from __future__ import annotations

from tests.e2e.kube_cluster import KubeCluster
from yodel.translator.publishing import whole

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"


def published(cluster: KubeCluster, node: str) -> int | None:
    """Milli of a core, in capacity and allocatable alike."""
    status = cluster.get("node", node)["status"]
    found = status["capacity"].get(CPU)
    return whole(found) if found is not None and status["allocatable"].get(CPU) == found else None


def unpublish(cluster: KubeCluster) -> None:
    """Remove from all nodes what the rig publishes there for other scenarios."""
    nobody = dict.fromkeys((CPU, MEMORY))
    for node in cluster.node_names():
        cluster.patch_node(node, {"status": {"capacity": nobody, "allocatable": nobody}}, "--subresource=status")


def node_apart(cluster: KubeCluster) -> str:
    """Return a node where neither the ResourceManager nor its database is."""
    pods = cluster.get("pods", "--namespace", cluster.namespace)["items"]
    # Not of Jobs that have ended: that of an uninstall stays for a day.
    places = {pod["spec"].get("nodeName", "") for pod in pods if pod["status"]["phase"] == "Running"}
    return next(name for name in cluster.node_names() if name not in places)
