"""What happens to pods and nodes of a real cluster, and jobs that live through it as they would on YARN.

The words are those of docs/pod-to-container.md; one test provokes one or several of its lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import KubeCluster, Pod

JOB = str(Path(__file__).parent / "spark_jobs" / "steady_sum.py")
TASKS, TASK_S = 24, 3
SUM = f"the sum is {TASKS * (TASKS - 1) // 2}"
NODE_TIMEOUT_S = 120
API_SILENCE_S = 120


@pytest.fixture(autouse=True)
def _all_nodes_work(cluster: KubeCluster) -> Iterator[None]:
    """Before, so that a test does not pay for another one's failure."""
    cluster.heal()
    yield
    cluster.heal()


class Job:
    """Spark with two executors on different nodes, in the middle of its work."""

    def __init__(self, cluster: KubeCluster) -> None:
        self.cluster = cluster
        conf = {"spark.executor.instances": "2", "spark.yarn.maxAppAttempts": "2"}
        self.submission: Submission = cluster.spark().start("cluster", JOB, TASKS, TASK_S, conf=conf)
        self.application_id = self.submission.application_id()
        self.executors = cluster.running_pods(self.application_id, "task", 2, 240)

    @property
    def master(self) -> Pod:
        (pod,) = self.cluster.running_pods(self.application_id, "am", 1)
        return pod

    def succeeds(self) -> str:
        """Its log, from the shared file system."""
        result = self.submission.result(400)
        assert result.returncode == 0, result.text[-6000:]
        assert self.cluster.application(self.application_id)["finalStatus"] == "SUCCEEDED"
        log = self.cluster.logs(self.application_id)
        assert SUM in log, log[-4000:]
        return log


@pytest.fixture
def job(cluster: KubeCluster) -> Iterator[Job]:
    job = Job(cluster)
    yield job
    job.submission.stop()


def other_node(job: Job, pods: list[Pod]) -> str:
    """A node with one of the pods but without the master."""
    found = [pod.node for pod in pods if pod.node != job.master.node]
    assert found, "all pods are on the master's node"
    return found[0]


def test_pod_deleted_by_hand(cluster: KubeCluster, job: Job) -> None:
    cluster.delete_pod(job.executors[0])
    log = job.succeeds()
    assert "-100" in log


def test_node_drained(cluster: KubeCluster, job: Job) -> None:
    node = other_node(job, job.executors)
    cluster.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
    wait_for("the node decommissioning", lambda: cluster.yarn_node(node)["state"] == "DECOMMISSIONING", 60)
    job.succeeds()
    cluster.kubectl("uncordon", node)
    wait_for("the node back", lambda: cluster.yarn_node(node)["state"] == "RUNNING", 60)


def test_no_execute_taint(cluster: KubeCluster, job: Job) -> None:
    node = other_node(job, job.executors)
    cluster.kubectl("taint", "node", node, "yodel.io/e2e=gone:NoExecute")
    job.succeeds()


def test_master_deleted_by_hand(cluster: KubeCluster, job: Job) -> None:
    """The next attempt does the work; the first does not count against the application."""
    cluster.delete_pod(job.master)
    job.succeeds()
    attempts = cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]
    assert len(attempts) == 2


@pytest.mark.timeout(900)
def test_node_crashes(cluster: KubeCluster, job: Job) -> None:
    node = other_node(job, job.executors)
    cluster.node(int(node.removeprefix("node"))).crash()
    job.succeeds()


@pytest.mark.timeout(900)
def test_kubelet_stops_and_comes_back(cluster: KubeCluster, job: Job) -> None:
    """What runs on the node goes on until its pods are evicted; the agent, no part of the kubelet, still answers."""
    node = other_node(job, job.executors)
    hurt = cluster.node(int(node.removeprefix("node")))
    hurt.stop_kubelet()
    wait_for("the node NotReady", lambda: not cluster.node_is_ready(node), NODE_TIMEOUT_S)
    hurt.restart()
    job.succeeds()


@pytest.mark.timeout(900)
def test_node_deleted(cluster: KubeCluster, job: Job) -> None:
    node = other_node(job, job.executors)
    hurt = cluster.node(int(node.removeprefix("node")))
    hurt.stop_kubelet()
    cluster.kubectl("delete", "node", node)
    job.succeeds()


def test_resource_manager_killed(cluster: KubeCluster, job: Job) -> None:
    """Its pod goes, another takes its database; the job notices nothing."""
    before = {pod.name for pod in job.executors} | {job.master.name}
    cluster.kubectl(
        "delete", "pod", "--namespace", cluster.namespace, "--selector=app.kubernetes.io/component=resourcemanager",
        "--grace-period=0", "--force",
    )  # fmt: skip
    job.succeeds()
    attempts = cluster.rest(f"/apps/{job.application_id}/appattempts")["appAttempts"]["appAttempt"]
    assert len(attempts) == 1
    assert before <= {pod.name for pod in cluster.pods(job.application_id)} | before


@pytest.mark.timeout(900)
def test_api_server_stops_for_two_minutes(cluster: KubeCluster, job: Job) -> None:
    cluster.control_plane.stop_api_server()
    with pytest.raises(AssertionError):
        cluster.kubectl("get", "nodes", "--request-timeout=2s")
    cluster.hold(API_SILENCE_S)
    cluster.control_plane.start_api_server()
    wait_for("the API server", cluster.control_plane.is_ready, 60)
    job.succeeds()


def test_memory_limit(cluster: KubeCluster) -> None:
    """``native``: the kernel holds the limit, and YARN's words are used."""
    hungry = "python3 -c 'x = bytearray(700 << 20)'"
    words = ("-shell_command", hungry, "-container_memory", 256, "-queue", "native")
    result = shell.start(cluster.target, *words).result(300)
    assert result.returncode != 0
    log = cluster.logs(result.application_id)
    assert "exitStatus=-104" in log, log[-4000:]
    assert "beyond the 'PHYSICAL' memory limit" in log, log[-4000:]


@pytest.mark.parametrize(
    ("queue", "why"), [("default", "is not allowed in this queue"), ("images", "no image for pod")]
)
def test_image_that_may_not_be_used_or_is_not_there(cluster: KubeCluster, queue: str, why: str) -> None:
    conf = {
        "spark.yarn.queue": queue,
        "spark.yarn.appMasterEnv.YARN_CONTAINER_RUNTIME_TYPE": "docker",
        "spark.yarn.appMasterEnv.YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "localhost/yodel/nowhere:1",
        "spark.yarn.maxAppAttempts": "1",
    }
    result = cluster.spark().submit("cluster", JOB, 1, 0, conf=conf, timeout_s=400)
    assert result.returncode != 0
    app = cluster.ended(result.application_id)
    assert app["finalStatus"] == "FAILED"
    assert why in app["diagnostics"]
