"""Unmodified clients outside the cluster run jobs inside it: nothing of theirs is told that it is Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.conformance.clients import mapreduce, shell
from tests.conformance.clients.target import settings
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import KubeCluster
from tests.rigs.kubernetes.layout import HOST_ADDRESS

GRID_SIDE = 1000
PI = re.compile(r"Pi is roughly (3\.\d+)")
BATCH = {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"}
ROWS = 200_000  # of 100 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Clients that were started at once: most of their time is waiting."""

    spark_cluster: Submission
    spark_client: Submission
    shell: Submission
    teragen: Submission
    folder: str


@pytest.fixture(scope="module")
def started(cluster: KubeCluster) -> Iterator[Started]:
    target, spark = cluster.target, cluster.spark()
    folder = target.folder()
    maps = settings({"mapreduce.job.maps": 3})
    driver = {"spark.driver.host": HOST_ADDRESS}
    made = Started(
        spark_cluster=spark.start(
            "cluster", "pi.py", GRID_SIDE, 8, "/tmp/report", conf={"spark.executor.instances": "2"}
        ),
        spark_client=spark.start("client", "pi.py", GRID_SIDE, 4, "/tmp/yodel-e2e-report", conf=driver),
        shell=shell.start(target, "-shell_command", "echo shell says hello", "-num_containers", 3),
        teragen=mapreduce.start_example(target, "teragen", *maps, ROWS, f"{folder}/in"),
        folder=folder,
    )
    yield made
    for submission in (made.spark_cluster, made.spark_client, made.shell, made.teragen):
        submission.stop()


def test_spark_in_cluster_mode_and_its_pods(cluster: KubeCluster, started: Started) -> None:
    job = started.spark_cluster
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


def test_spark_in_client_mode_from_outside(started: Started) -> None:
    result = started.spark_client.result()
    assert result.returncode == 0, result.text[-6000:]
    assert PI.search(result.stdout)


@pytest.mark.timeout(900)
def test_terasort_shuffles_between_two_nodes(cluster: KubeCluster, started: Started) -> None:
    target, folder = cluster.target, started.folder
    generated = started.teragen.result()
    assert generated.returncode == 0, generated.text[-6000:]
    reduces = settings({"mapreduce.job.reduces": 2})
    job = mapreduce.start_example(target, "terasort", *reduces, f"{folder}/in", f"{folder}/out")
    application_id = job.application_id()
    places: set[tuple[str, str]] = set()

    def watch() -> bool:
        places.update((pod.container, pod.node) for pod in cluster.pods(application_id, "task") if pod.node)
        return cluster.application(application_id)["state"] in ("FINISHED", "FAILED", "KILLED")

    wait_for("the end of the sort", watch)
    sorted_ = job.result()
    assert sorted_.returncode == 0, sorted_.text[-6000:]
    assert len({node for _, node in places}) >= 2, places
    validated = mapreduce.example(target, "teravalidate", f"{folder}/out", f"{folder}/report")
    assert validated.returncode == 0, validated.text[-6000:]


def test_distributed_shell(cluster: KubeCluster, started: Started) -> None:
    result = started.shell.result(240)
    assert result.returncode == 0, result.text[-6000:]
    cluster.delete_pods(result.application_id)
    assert cluster.logs(result.application_id).count("shell says hello\n") == 3


def test_nodes_are_those_of_the_cluster(cluster: KubeCluster) -> None:
    nodes = cluster.rest("/nodes")["nodes"]["node"]
    racks = {node["nodeHostName"]: node["rack"] for node in nodes if node["state"] == "RUNNING"}
    assert len(racks) == cluster.state.nodes
    assert set(racks.values()) == {"/rack1", "/rack2"}, racks
