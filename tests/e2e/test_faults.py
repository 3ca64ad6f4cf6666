"""Two jobs live through what happens to pods and nodes of a real cluster as they would on YARN.

The words are those of docs/pod-to-container.md.  One pair of a Spark and a MapReduce job lives through all of it: every
test hurts them and waits until they are whole again, and the last one lets them end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import IS_SHORT, KubeCluster
from tests.e2e.long_jobs import LongJobs

NODE_TIMEOUT_S = 120
API_SILENCE_S = 12 if IS_SHORT else 120
ROUNDS_MEANWHILE = API_SILENCE_S // 12  # a third of what a quiet machine does in that time


@pytest.fixture(scope="module")
def jobs(cluster: KubeCluster) -> Iterator[LongJobs]:
    cluster.heal()
    jobs = LongJobs(cluster)
    yield jobs
    jobs.stop()


@pytest.fixture(autouse=True)
def _all_nodes_work(cluster: KubeCluster) -> Iterator[None]:
    """Before, so that a test does not pay for another one's failure."""
    cluster.heal()
    yield
    cluster.heal()


def test_pod_deleted_by_hand(cluster: KubeCluster, jobs: LongJobs) -> None:
    hurt = jobs.tasks(jobs.node_with_work())
    for pod in hurt:
        cluster.delete_pod(pod)
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "was deleted")


def test_node_drained(cluster: KubeCluster, jobs: LongJobs) -> None:
    node = jobs.node_with_work()
    hurt = jobs.tasks(node)
    cluster.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=90s")
    wait_for("the node decommissioning", lambda: cluster.yarn_node(node)["state"] == "DECOMMISSIONING")
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "was evicted through the API")
    assert not jobs.tasks(node), "something was placed on a drained node"
    cluster.kubectl("uncordon", node)
    wait_for("the node back", lambda: cluster.yarn_node(node)["state"] == "RUNNING")


def test_no_execute_taint(cluster: KubeCluster, jobs: LongJobs) -> None:
    node = jobs.node_with_work()
    hurt = jobs.tasks(node)
    cluster.kubectl("taint", "node", node, "yodel.io/e2e=gone:NoExecute")
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "was evicted by a taint of its node")


@pytest.mark.timeout(600)
def test_api_server_is_silent(cluster: KubeCluster, jobs: LongJobs) -> None:
    jobs.until_steady()
    before = {pod.container for pod in (*jobs.tasks(), *jobs.masters())}
    rounds = jobs.rounds()
    cluster.control_plane.stop_api_server()
    with pytest.raises(AssertionError):
        cluster.kubectl("get", "nodes", "--request-timeout=2s")
    cluster.hold(API_SILENCE_S)
    cluster.start_control_plane()
    assert jobs.rounds() >= rounds + ROUNDS_MEANWHILE
    jobs.until_whole()
    assert {pod.container for pod in (*jobs.tasks(), *jobs.masters())} == before


@pytest.mark.long
@pytest.mark.timeout(600)
def test_node_crashes(cluster: KubeCluster, jobs: LongJobs) -> None:
    node = jobs.node_with_work()
    hurt = jobs.tasks(node)
    cluster.node(int(node.removeprefix("node"))).crash()
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "Container released on a *lost* node")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_kubelet_stops_and_comes_back(cluster: KubeCluster, jobs: LongJobs) -> None:
    """Its node is NotReady, but the agent, no part of the kubelet, still answers: what runs there goes on until
    its pods were to be evicted and have not ended for a minute."""
    node = jobs.node_with_work()
    hurt = jobs.tasks(node)
    machine = cluster.node(int(node.removeprefix("node")))
    machine.stop_kubelet()
    wait_for("the node NotReady", lambda: not cluster.node_is_ready(node))
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "does not finish terminating")
    machine.restart()


@pytest.mark.timeout(600)
def test_node_deleted_and_the_resource_manager_killed_meanwhile(cluster: KubeCluster, jobs: LongJobs) -> None:
    """Kubernetes takes a minute to end the pods of a node that is gone.  The pod of the ResourceManager goes in that
    minute, and another takes its database: jobs notice nothing but the loss of the node."""
    jobs.until_steady()
    node = jobs.node_with_work()
    hurt = jobs.tasks(node)
    spared = {pod.container for pod in (*jobs.tasks(), *jobs.masters())} - {pod.container for pod in hurt}
    cluster.node(int(node.removeprefix("node"))).stop_kubelet()
    cluster.kubectl("delete", "node", node)
    cluster.kubectl(
        "delete", "pod", "--namespace", cluster.namespace, "--selector=app.kubernetes.io/component=resourcemanager",
        "--grace-period=0", "--force",
    )  # fmt: skip
    wait_for("the ResourceManager's end", lambda: not cluster.serves())
    wait_for("the next ResourceManager", cluster.serves)
    rounds = jobs.rounds()
    wait_for("progress", lambda: jobs.rounds() >= rounds + 2)
    jobs.until_replaced(hurt)
    jobs.until_told_of(hurt, "the node of pod")
    assert spared <= {pod.container for pod in (*jobs.tasks(), *jobs.masters())}
    assert [jobs.attempts(application_id) for application_id in jobs.applications] == [[1], [1]]


def test_masters_deleted_by_hand(cluster: KubeCluster, jobs: LongJobs) -> None:
    """The next attempts do the work; the first do not count against the applications."""
    masters = jobs.masters()
    first = {pod.container for pod in masters}
    before = frozenset(pod.container for pod in (*masters, *jobs.tasks()))
    for pod in masters:
        cluster.delete_pod(pod)
    wait_for("other masters", lambda: len({pod.container for pod in jobs.masters()} - first) == 2)
    jobs.until_whole(before)
    assert [jobs.attempts(application_id) for application_id in jobs.applications] == [[1, 2], [1, 2]]


def test_both_jobs_end_as_if_nothing_had_happened(jobs: LongJobs) -> None:
    jobs.finish()
