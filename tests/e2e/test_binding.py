"""A queue whose nodes the ResourceManager chooses: no scheduler has a part in it, and the kubelets agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conformance.clients import mapreduce
from tests.conformance.clients.target import settings
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import KubeCluster

QUEUE = "bind"
BATCH_CPU = "kubernetes.io/batch-cpu"
START_S = 300


@pytest.mark.timeout(900)
def test_no_room_is_told_and_room_that_comes_is_used_without_a_scheduler(cluster: KubeCluster) -> None:
    with without_capacity(cluster):
        queue = settings({"mapreduce.job.queuename": QUEUE})
        job = mapreduce.start_example(cluster.target, "pi", *queue, 4, 1000)
        application_id = job.application_id()
        text = f"Pool koordinator+volcano ({BATCH_CPU}, kubernetes.io/batch-memory) has too little free capacity: "
        wait_for("the reason", lambda: text in cluster.application(application_id)["diagnostics"])
        assert cluster.pods(application_id) == []
    (master,) = cluster.running_pods(application_id, "am", 1)
    tasks = cluster.running_pods(application_id, "task", 2)
    assert len({pod.node for pod in (master, *tasks)}) >= 2, "pods are not spread"
    result = job.result()
    assert result.returncode == 0, result.text[-6000:]
    assert cluster.application(application_id)["finalStatus"] == "SUCCEEDED"
    pods = {pod.name for pod in (master, *tasks)}
    assert {"Pulled", "Started"} <= events_of(cluster, pods)
    assert "Scheduled" not in events_of(cluster, pods)


@contextmanager
def without_capacity(cluster: KubeCluster) -> Iterator[None]:
    """No node has anything of the dialect's resource, as a colocation engine may decide at any time."""
    nodes = {
        node["metadata"]["name"]: node["status"]["allocatable"][BATCH_CPU] for node in cluster.get("nodes")["items"]
    }
    try:
        for name in nodes:
            publish(cluster, name, "0")
        yield
    finally:
        for name, amount in nodes.items():
            publish(cluster, name, amount)


def publish(cluster: KubeCluster, node: str, amount: str) -> None:
    status = {kind: {BATCH_CPU: amount} for kind in ("capacity", "allocatable")}
    patch = json.dumps({"status": status})
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "--patch", patch)


def events_of(cluster: KubeCluster, pods: set[str]) -> set[str]:
    events = cluster.get("events", "--namespace", cluster.container_namespace)["items"]
    return {event["reason"] for event in events if event["involvedObject"]["name"] in pods}
