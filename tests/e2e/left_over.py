"""A group of an application that nobody knows, which a ResourceManager clears away within minutes."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.kube_cluster import KubeCluster

STALE = "application-1700000000000-0001"
CLUSTER_NAME = "yodel"
"""The chart's own, unless somebody names it."""


def leave_group(cluster: KubeCluster) -> None:
    """Leave a group as if its application had ended while no ResourceManager was there."""
    cluster.kubectl("apply", "--filename=-", given=json.dumps(_group(cluster)))


def _group(cluster: KubeCluster) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": "yodel", "yodel.io/cluster": CLUSTER_NAME}
    metadata = {"name": STALE, "namespace": cluster.container_namespace, "labels": labels}
    version = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 1}}
