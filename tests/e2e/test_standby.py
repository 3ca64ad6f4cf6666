"""Two ResourceManagers on the real cluster: one serves, and whatever becomes of it, the other does; a job runs on.

The job is one, and lives through all of it: it has to succeed in its first attempt.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import IS_SHORT, KubeCluster
from tests.e2e.long_jobs import UNTIL_TOLD
from tests.rigs.kubernetes.install import CHART, RELEASE

EXECUTORS = 2
CRASH_S = 15 * 2
"""The lease, and what Kubernetes takes to see who is ready; twice, on a machine that may be busy."""
LOOK_EVERY_S = 0.1
CHANGE_TIMEOUT_S = 120
RM = "app.kubernetes.io/component=resourcemanager"


class Managers:
    """The ResourceManager's pods."""

    def __init__(self, cluster: KubeCluster) -> None:
        self.cluster = cluster

    def pods(self) -> list[dict[str, Any]]:
        found = self.cluster.get("pods", "--namespace", self.cluster.namespace, f"--selector={RM}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def by_readiness(self) -> tuple[list[str], list[str]]:
        """Names of those that are ready, and of those that run and are not."""
        ready, waiting = [], []
        for pod in self.pods():
            (status,) = pod["status"].get("containerStatuses") or [{"ready": False, "state": {}}]
            if "running" in status["state"]:
                (ready if status["ready"] else waiting).append(pod["metadata"]["name"])
        return ready, waiting

    def restarts(self, name: str) -> int:
        (pod,) = [pod for pod in self.pods() if pod["metadata"]["name"] == name]
        return int(pod["status"]["containerStatuses"][0]["restartCount"])

    def settled(self, replicas: int) -> str:
        """The leader's name, once one leads and all others wait."""

        def probe() -> str | None:
            ready, waiting = self.by_readiness()
            return ready[0] if (len(ready), len(waiting)) == (1, replicas - 1) else None

        return wait_for(f"one leader of {replicas}", probe)

    def kill(self, name: str) -> None:
        """The process itself, as the kernel would for want of memory."""
        for process in psutil.process_iter(["cmdline"]):
            if "serve" in (process.info["cmdline"] or ()) and process.environ().get("HOSTNAME") == name:
                process.kill()
                return
        raise AssertionError(f"no process of {name}")


@contextmanager
def outage(cluster: KubeCluster) -> Iterator[list[float]]:
    """Seconds of each time in which a new connection got no answer; filled at the end."""
    found: list[float] = []
    ended = threading.Event()

    def look() -> None:
        since_s: float | None = None
        while not ended.wait(LOOK_EVERY_S) or since_s is not None:
            asked_s = time.monotonic()
            try:
                with urllib.request.urlopen(f"{cluster.state.rest_url}/ws/v1/cluster/info", timeout=2) as answer:
                    is_served = json.load(answer)["clusterInfo"]["haState"] == "ACTIVE"
            except OSError:
                is_served = False
            if not is_served and since_s is None:
                since_s = asked_s
            if is_served and since_s is not None:
                found.append(time.monotonic() - since_s)
                since_s = None

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield found
    finally:
        ended.set()
        looking.join(CHANGE_TIMEOUT_S)


@pytest.fixture(scope="module")
def managers(cluster: KubeCluster) -> Iterator[Managers]:
    def become(replicas: int) -> None:
        values = f"resourceManager.replicas={replicas}"
        cluster.tools.helm("upgrade", RELEASE, str(CHART), "--reuse-values", "--set", values)
        managers.settled(replicas)

    managers = Managers(cluster)
    become(2)
    yield managers
    if cluster.stays or not IS_SHORT:
        become(1)


@pytest.fixture(scope="module", autouse=True)
def folder(cluster: KubeCluster) -> str:
    """Return a folder in HDFS; a file ``end`` there ends the job."""
    return cluster.target.folder()


@pytest.fixture(scope="module", autouse=True)
def job(cluster: KubeCluster, managers: Managers, folder: str) -> Iterator[Submission]:
    """Until it is told to end."""
    cluster.heal()
    conf = {"spark.executor.instances": str(EXECUTORS)}
    submission = cluster.spark().start("cluster", UNTIL_TOLD, f"{cluster.hdfs.default_fs}{folder}", conf=conf)
    cluster.running_pods(submission.application_id(), "task", EXECUTORS)
    yield submission
    submission.stop()


def test_leader_crashes(cluster: KubeCluster, managers: Managers) -> None:
    leader = managers.settled(2)
    before = managers.restarts(leader)
    with outage(cluster) as outages:
        managers.kill(leader)
        wait_for("its next process", lambda: managers.restarts(leader) > before)
        managers.settled(2)  # whichever of the two looked first
    print(f"not served for {outages} s")
    assert 0 < sum(outages) < CRASH_S


def test_leader_is_deleted(cluster: KubeCluster, managers: Managers) -> None:
    leader = managers.settled(2)
    with outage(cluster) as outages:
        cluster.kubectl("delete", "pod", leader, "--namespace", cluster.namespace)
        managers.settled(2)
    print(f"not served for {outages} s")
    assert sum(outages) < CRASH_S


def test_rollout_hands_over(cluster: KubeCluster, managers: Managers) -> None:
    before = {pod["metadata"]["name"] for pod in managers.pods()}
    managers.settled(2)
    with outage(cluster) as outages:
        cluster.kubectl("rollout", "restart", f"deployment/{RELEASE}-rm", "--namespace", cluster.namespace)
        wait_for(
            "new pods alone",
            lambda: not before & {pod["metadata"]["name"] for pod in managers.pods()},
        )
        managers.settled(2)
    print(f"not served for {outages} s")
    assert sum(outages) < CRASH_S


def test_drain_of_the_leader_s_node(cluster: KubeCluster, managers: Managers) -> None:
    """The disruption budget lets the leader go, and nobody after it before its successor is ready."""
    leader = managers.settled(2)
    (node,) = [pod["spec"]["nodeName"] for pod in managers.pods() if pod["metadata"]["name"] == leader]
    with outage(cluster) as outages:
        cluster.kubectl("cordon", node)
        cluster.kubectl("drain", node, f"--pod-selector={RM}", "--ignore-daemonsets", "--delete-emptydir-data")
        managers.settled(2)
        cluster.kubectl("uncordon", node)
    print(f"not served for {outages} s")
    assert sum(outages) < CRASH_S


def test_job_succeeds_in_its_first_attempt(cluster: KubeCluster, job: Submission, folder: str) -> None:
    assert cluster.application(job.application_id())["state"] == "RUNNING"
    cluster.hdfs.hdfs.put(f"{folder}/end", b"", user="hdfs")
    result = job.result(400)
    assert result.returncode == 0, result.text[-6000:]
    assert len(cluster.rest(f"/apps/{job.application_id()}/appattempts")["appAttempts"]["appAttempt"]) == 1
