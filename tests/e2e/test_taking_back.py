"""Nodes of a real cluster lend less than is held there, with notice and without, and jobs end well."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.clients.mapreduce import start_sleep
from tests.conformance.clients.outcome import counters_in
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import USER, KubeCluster
from tests.e2e.lending import node_apart, published

CACHED_SHUFFLE = str(Path(__file__).parent / "spark_jobs" / "cached_shuffle.py")
STATIC = ("colocation", "on", "--preset", "static", "--dialect", "koordinator", "memory.static-mib=4096")
FULL_MILLI = 2000
EXECUTORS, EXECUTORS_OF_ALL = 3, 5
"""The latter with a driver fill three nodes."""
BUSY = "yodel.io/e2e=busy:NoSchedule"
# One executor or task that counts as failed would end the application.
ONCE = {"spark.yarn.max.executor.failures": "1", "spark.executor.maxNumFailures": "1", "spark.task.maxFailures": "1"}
LEAVES = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}
MAP_S, MAPS = 45, 3
NODE_EXPIRY_S = 30


def lend(cluster: KubeCluster, cpu_milli: int, notice_s: int = 30) -> None:
    """Lend on all nodes: as their agents report it."""
    cluster.yodel(*STATIC, f"cpu.static-milli={cpu_milli}", f"notice-s={notice_s}")


def lend_all(cluster: KubeCluster, notice_s: int = 30) -> None:
    lend(cluster, FULL_MILLI, notice_s)
    wait_for("loans", lambda: all(published(cluster, one) == FULL_MILLI for one in cluster.node_names()))


@contextlib.contextmanager
def shuffling(
    cluster: KubeCluster, conf: dict[str, str], executors: int = EXECUTORS, without_driver: str = ""
) -> Iterator[tuple[Submission, Callable[[], str]]]:
    """A Spark job that has shuffled and cached, and how it ends: as it must, and what its driver says, which is on
    another node than ``without_driver``."""
    folder = cluster.target.folder()
    conf = {"spark.executor.instances": str(executors), **conf}
    if without_driver:
        cluster.kubectl("taint", "node", without_driver, BUSY)
    job = cluster.spark().start("cluster", CACHED_SHUFFLE, f"{cluster.hdfs.default_fs}{folder}", conf=conf)

    def end() -> str:
        (driver,) = cluster.live_pods(job.application_id(), "am")
        cluster.hdfs.hdfs.put(f"{folder}/end", b"", user="hdfs")
        result = job.result(240)
        assert result.returncode == 0, result.text[-6000:]
        assert cluster.application(job.application_id())["finalStatus"] == "SUCCEEDED"
        log = cluster.kubectl("logs", driver.name, "--namespace", cluster.container_namespace)
        assert "rounds were right" in log
        return log

    try:
        cluster.running_pods(job.application_id(), "am", 1)
        cluster.kubectl("taint", "node", "--all", f"{BUSY}-", check=False)
        cluster.running_pods(job.application_id(), "task", executors)
        wait_for("a round", lambda: rounds(cluster, job) >= 1)
        yield job, end
    finally:
        job.stop()


def rounds(cluster: KubeCluster, job: Submission) -> int:
    (driver,) = cluster.live_pods(job.application_id(), "am")
    return cluster.kubectl("logs", driver.name, "--namespace", cluster.container_namespace).count(" is right")


def map_stages(log: str) -> int:
    """Return how often the map side of the shuffle was computed, all of it or a part."""
    return sum("missing tasks from ShuffleMapStage" in line for line in log.splitlines())


def exit_statuses(cluster: KubeCluster, application_id: str) -> dict[str, int | None]:
    """Return the exit statuses of its containers that have ended."""
    items = cluster.api(f"/applications/{application_id}/containers")["items"]
    return {one["id"]: one["exit_status"] for one in items if one["exit_status"] is not None}


def attempts(cluster: KubeCluster, application_id: str) -> int:
    return len(cluster.rest(f"/apps/{application_id}/appattempts")["appAttempts"]["appAttempt"])


@pytest.mark.long
@pytest.mark.timeout(600)
def test_spark_loses_half_of_a_loan_with_notice_and_no_task_fails(lender: KubeCluster) -> None:
    lend_all(lender)
    with shuffling(lender, {**ONCE, **LEAVES}) as (job, end):
        application_id = job.application_id()
        began_s = time.monotonic()
        lend(lender, FULL_MILLI // 2)
        wait_for("the reason", lambda: "(lent capacity): " in lender.yodel("app", "why", application_id))
        names = lender.node_names()
        wait_for("it to fit", lambda: all(published(lender, one) == FULL_MILLI // 2 for one in names))
        print(f"from shrink to fit {time.monotonic() - began_s:.1f} s")
        taken = exit_statuses(lender, application_id)
        print(f"it took {sorted(taken.values())}")
        before = rounds(lender, job)
        wait_for("rounds without it", lambda: rounds(lender, job) >= before + 2)
        lend_all(lender)
        print(f"the map side of the shuffle was computed {map_stages(end())} times")
    assert attempts(lender, application_id) == 1
    assert taken, "nobody went"


@pytest.mark.long
@pytest.mark.timeout(600)
def test_mapreduce_gives_a_node_back_with_notice(lender: KubeCluster) -> None:
    lend_all(lender, notice_s=15)
    sizes = {"yarn.app.mapreduce.am.resource.mb": 1024, "mapreduce.map.memory.mb": 1024}
    job = start_sleep(lender.target, maps=MAPS, reduces=1, seconds=MAP_S, more=sizes)
    try:
        application_id = job.application_id()
        maps = lender.running_pods(application_id, "task", MAPS)
        (master,) = lender.live_pods(application_id, "am")
        node = next(pod.node for pod in maps if pod.node != master.node)
        hurt = [pod for pod in maps if pod.node == node]
        told = lender.yodel("colocation", "evict", node)
        assert all(pod.container in told for pod in hurt)
        began_s = time.monotonic()
        wait_for("it to fit", lambda: published(lender, node) == 0)
        print(f"from order to fit {time.monotonic() - began_s:.1f} s")
        result = job.result(300)
    finally:
        lender.kill(USER, application_id)
        job.stop()
    assert result.returncode == 0, result.text[-6000:]
    counters = counters_in(result.text)
    assert sum(count for name, count in counters.items() if "Killed map tasks" in name) >= len(hurt)
    assert not any("Failed map tasks" in name for name in counters)
    assert attempts(lender, application_id) == 1


@pytest.fixture
def expiring_soon(lender: KubeCluster) -> Iterator[KubeCluster]:
    """A node whose agent is silent for half a minute is lost."""
    name = "resourceManager.settings.node_expiry_s"
    lender.upgrade(f"{name}={NODE_EXPIRY_S}")
    yield lender
    lender.heal()
    lender.upgrade(f"{name}=600")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_spark_loses_a_node_without_notice_and_computes_anew_what_was_there(expiring_soon: KubeCluster) -> None:
    cluster = expiring_soon
    lend_all(cluster)
    node = node_apart(cluster)
    with shuffling(cluster, {}, EXECUTORS_OF_ALL, without_driver=node) as (job, end):
        application_id = job.application_id()
        hurt = [pod for pod in cluster.live_pods(application_id, "task") if pod.node == node]
        assert hurt, "no executor is there"
        cluster.node(int(node.removeprefix("node"))).crash()
        wait_for("the node lost", lambda: cluster.yarn_node(node)["state"] == "LOST")
        gone = {pod.container for pod in hurt}
        wait_for("their ends", lambda: gone <= exit_statuses(cluster, application_id).keys())
        before = rounds(cluster, job)
        wait_for("rounds without it", lambda: rounds(cluster, job) >= before + 2)
        count = map_stages(end())
        print(f"the map side of the shuffle was computed {count} times")
    assert count > 1, "what was lost was computed anew"
    assert attempts(cluster, application_id) == 1
