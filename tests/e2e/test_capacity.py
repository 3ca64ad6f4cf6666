"""Pods live on what colocation lends: when a node has nothing to lend, nothing new comes, and what runs goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import IS_SHORT, UNTIL_ENDED, KubeCluster
from tests.rigs.kubernetes.install import COLOCATION

QUIET_S = 3 if IS_SHORT else 10
BATCH_CPU = "kubernetes.io/batch-cpu"
POOL = "koordinator+volcano"


@pytest.fixture(autouse=True)
def _lent_again(cluster: KubeCluster) -> Iterator[None]:
    yield
    cluster.lend(COLOCATION)


def test_what_is_published_is_the_size_whatever_the_machine_has(cluster: KubeCluster) -> None:
    """Eight vcores a node by its publication; then five, on one of them."""
    nodes = cluster.state.nodes
    wait_for("eight vcores a node", lambda: pool(cluster)["size"]["vcores"] == 8 * nodes)
    before = cluster.rest("/metrics")["clusterMetrics"]["totalVirtualCores"]
    guaranteed = cluster.api("/queues/root.default")["guaranteed"]["vcores"]
    cluster.lend({**COLOCATION, BATCH_CPU: 5000}, nodes=("node1",))
    wait_for("three less", lambda: pool(cluster)["size"]["vcores"] == 8 * nodes - 3)
    assert cluster.rest("/metrics")["clusterMetrics"]["totalVirtualCores"] == before - 3
    assert cluster.api("/queues/root.default")["guaranteed"]["vcores"] <= guaranteed
    assert cluster.api("/queues/root.katalyst")["maximum"]["vcores"] == 8 * nodes, "another pool"
    node = next(one for one in cluster.api("/nodes")["items"] if one["kubernetes_node"] == "node1")
    assert BATCH_CPU in node["allocation"]["source"]


def test_capacity_goes_and_comes_back(cluster: KubeCluster) -> None:
    words = ("-shell_command", UNTIL_ENDED, "-num_containers", 2, "-container_memory", 256)
    running = shell.start(cluster.target, *words)
    first = running.application_id()
    pods = cluster.running_pods(first, "task", 2)

    cluster.lend(dict.fromkeys(COLOCATION, 0))
    waiting = shell.start(cluster.target, "-shell_command", "date", "-container_memory", 256)
    second = waiting.application_id()
    reason = f"Pool {POOL} ({BATCH_CPU}, kubernetes.io/batch-memory) has too little free capacity"
    wait_for("the reason", lambda: reason in cluster.application(second)["diagnostics"])
    lent = pool(cluster)
    assert (lent["size"]["vcores"], lent["size"]["memory_mib"], lent["free"]["vcores"]) == (0, 0, 0)
    assert (lent["used"]["vcores"], lent["nodes"]) == (3, cluster.state.nodes)
    cluster.hold(QUIET_S)
    assert cluster.application(second)["state"] == "ACCEPTED"
    assert cluster.pods(second) == [], "not even a pod is made"
    assert reason in cluster.application(second)["diagnostics"]
    assert {pod.name for pod in pods} <= {pod.name for pod in cluster.live_pods(first)}

    cluster.lend(COLOCATION)
    cluster.tell_to_end(pods)
    assert waiting.result(240).returncode == 0
    assert running.result(240).returncode == 0


def pool(cluster: KubeCluster) -> Any:
    return next(one for one in cluster.api("/pools")["items"] if one["name"] == POOL)


def test_a_job_grows_with_what_is_lent(cluster: KubeCluster) -> None:
    """Room for the master and one more; then for all."""
    cluster.lend({**COLOCATION, "kubernetes.io/batch-memory": 0}, nodes=("node2", "node3"))
    cluster.lend({**COLOCATION, "kubernetes.io/batch-memory": 1024 << 20}, nodes=("node1",))
    words = ("-shell_command", UNTIL_ENDED, "-num_containers", 4, "-container_memory", 512)
    job = shell.start(cluster.target, *words)
    application_id = job.application_id()
    cluster.running_pods(application_id, "task", 1)
    cluster.hold(QUIET_S)
    assert len(cluster.running_pods(application_id, "task", 1)) == 1
    cluster.lend(COLOCATION)
    wait_for("all that was asked for", lambda: len(cluster.placed(application_id, "task")) == 4)
    cluster.tell_to_end(cluster.running_pods(application_id, "task", 4))
    result = job.result(240)
    assert result.returncode == 0, result.text[-4000:]
