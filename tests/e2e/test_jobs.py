"""Unmodified clients outside the cluster run jobs inside it: nothing of theirs is told that it is Kubernetes."""

from __future__ import annotations

import re

import pytest

from tests.conformance.clients import mapreduce, shell
from tests.conformance.clients.target import settings
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import KubeCluster

GRID_SIDE = 3000
PI = re.compile(r"Pi is roughly (3\.\d+)")
BATCH = {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"}
ROWS = 300_000  # of 100 bytes


def test_spark_in_cluster_mode_and_its_pods(cluster: KubeCluster) -> None:
    conf = {"spark.executor.instances": "2"}
    job = cluster.spark().start("cluster", "pi.py", GRID_SIDE, 8, "/tmp/report", conf=conf)
    application_id = job.application_id()
    tasks = cluster.running_pods(application_id, "task", 2)
    (master,) = cluster.running_pods(application_id, "am", 1)
    for pod in (master, *tasks):
        requested = pod.body["spec"]["containers"][0]["resources"]
        assert set(requested["limits"]) == set(requested["requests"]) == BATCH
        assert pod.body["status"]["qosClass"] == "BestEffort"
    result = job.result()
    assert result.returncode == 0, result.text[-6000:]
    assert cluster.application(application_id)["finalStatus"] == "SUCCEEDED"
    cluster.delete_pods(application_id)
    assert PI.search(cluster.logs(application_id))


def test_spark_in_client_mode_from_outside(cluster: KubeCluster) -> None:
    conf = {"spark.driver.host": "10.89.0.1"}
    result = cluster.spark().submit("client", "pi.py", GRID_SIDE, 4, "/tmp/yodel-e2e-report", conf=conf)
    assert result.returncode == 0, result.text[-6000:]
    assert PI.search(result.stdout)


@pytest.mark.timeout(900)
def test_terasort_shuffles_between_two_nodes(cluster: KubeCluster) -> None:
    target = cluster.target
    folder = target.folder()
    generated = mapreduce.example(target, "teragen", *settings({"mapreduce.job.maps": 4}), ROWS, f"{folder}/in")
    assert generated.returncode == 0, generated.text[-6000:]
    reduces = settings({"mapreduce.job.reduces": 3})
    job = mapreduce.start_example(target, "terasort", *reduces, f"{folder}/in", f"{folder}/out")
    application_id = job.application_id()
    places: set[tuple[str, str]] = set()

    def watch() -> bool:
        places.update((pod.container, pod.node) for pod in cluster.pods(application_id, "task") if pod.node)
        return cluster.application(application_id)["state"] in ("FINISHED", "FAILED", "KILLED")

    wait_for("the end of the sort", watch, 600)
    sorted_ = job.result()
    assert sorted_.returncode == 0, sorted_.text[-6000:]
    assert len({node for _, node in places}) >= 2, places
    validated = mapreduce.example(target, "teravalidate", f"{folder}/out", f"{folder}/report")
    assert validated.returncode == 0, validated.text[-6000:]


def test_distributed_shell(cluster: KubeCluster) -> None:
    job = shell.start(cluster.target, "-shell_command", "echo shell says hello", "-num_containers", 3)
    result = job.result(240)
    assert result.returncode == 0, result.text[-6000:]
    cluster.delete_pods(result.application_id)
    assert cluster.logs(result.application_id).count("shell says hello\n") == 3


def test_nodes_are_those_of_the_cluster(cluster: KubeCluster) -> None:
    nodes = cluster.rest("/nodes")["nodes"]["node"]
    racks = {node["nodeHostName"]: node["rack"] for node in nodes if node["state"] == "RUNNING"}
    assert len(racks) == cluster.state.nodes
    assert set(racks.values()) == {"/rack1", "/rack2"}, racks
