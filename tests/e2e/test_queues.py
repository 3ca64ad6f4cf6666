"""Two queues on a real cluster with PostgreSQL: one borrows all that is lent, and gives back to the other."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import KubeCluster
from tests.e2e.long_jobs import UNTIL_TOLD
from tests.rigs.kubernetes.install import COLOCATION

pytestmark = pytest.mark.long
BORROWER, OWNER = "root.default", "root.images"
SHARED = ("bind", "default", "gang", "images", "pod-network", "small-disk", "volcano")
"""Children of root that draw on what Koordinator lends."""
CONTAINER_MIB = 1024
NODE_MIB = 2 * CONTAINER_MIB
# One executor or task that counts as failed would end the application.
ONCE = {"spark.yarn.max.executor.failures": "1", "spark.executor.maxNumFailures": "1", "spark.task.maxFailures": "1"}
# Spark looks every 30 s whether all blocks are elsewhere, unless told otherwise: longer than a notice.
LEAVES = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}


@pytest.fixture
def halves(cluster: KubeCluster) -> Iterator[None]:
    """Room for six containers, three of them guaranteed to each of two queues."""
    cluster.heal()
    share = {path: 50 if f"root.{path}" in (BORROWER, OWNER) else 0 for path in SHARED}
    before = cluster.yodel("queue", "export")
    words = [word for path, percent in share.items() for word in (f"root.{path}", f"capacity={percent}")]
    cluster.yodel("queue", "set", *words, "--reason", "two teams")
    cluster.lend({**COLOCATION, "kubernetes.io/batch-memory": NODE_MIB << 20})
    yield
    cluster.lend(COLOCATION)
    cluster.yodel("queue", "import", "/dev/stdin", given=before)


def held_mib(cluster: KubeCluster, path: str) -> int:
    return int(cluster.api(f"/queues/{path}")["used"]["memory_mib"])


def started(cluster: KubeCluster, queue: str, executors: int, folder: str) -> Submission:
    conf = {
        **ONCE,
        **LEAVES,
        "spark.yarn.queue": queue.removeprefix("root."),
        "spark.executor.instances": str(executors),
    }
    return cluster.spark().start("cluster", UNTIL_TOLD, f"{cluster.hdfs.default_fs}{folder}", conf=conf)


def end(cluster: KubeCluster, job: Submission, folder: str) -> None:
    """End the job as it must: successfully, in the first attempt, every sum right."""
    cluster.hdfs.hdfs.put(f"{folder}/end", b"", user="hdfs")
    result = job.result(240)
    assert result.returncode == 0, result.text[-6000:]
    application_id = job.application_id()
    assert cluster.application(application_id)["finalStatus"] == "SUCCEEDED"
    assert len(cluster.rest(f"/apps/{application_id}/appattempts")["appAttempts"]["appAttempt"]) == 1
    assert "rounds were right" in cluster.logs(application_id)


@pytest.mark.timeout(900)
def test_borrower_gives_back_and_both_jobs_are_right(cluster: KubeCluster, halves: None) -> None:
    all_mib, guaranteed_mib = cluster.state.nodes * NODE_MIB, cluster.state.nodes * NODE_MIB // 2
    lending, owning = cluster.target.folder(), cluster.target.folder()
    borrower = started(cluster, BORROWER, 5, lending)
    try:
        wait_for("the borrower to hold all", lambda: held_mib(cluster, BORROWER) == all_mib)
        cluster.running_pods(borrower.application_id(), "task", 5)
        owner = started(cluster, OWNER, 2, owning)
        try:
            owner.application_id()
            began_s = time.monotonic()
            wait_for("the owner's guarantee", lambda: held_mib(cluster, OWNER) >= guaranteed_mib)
            took_s = time.monotonic() - began_s
            print(f"the guarantee {took_s:.1f} s after the submission")
            end(cluster, owner, owning)
        finally:
            owner.stop()
        wait_for("the borrower to hold all again", lambda: held_mib(cluster, BORROWER) == all_mib)
        end(cluster, borrower, lending)
    finally:
        borrower.stop()
