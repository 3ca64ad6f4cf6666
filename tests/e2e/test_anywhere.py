"""These tests hold on any cluster: they know nothing of nodes, addresses or file systems, and hurt nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import USER, KubeCluster

pytestmark = pytest.mark.anywhere
GRID_SIDE = 1000
PI = re.compile(r"Pi is roughly (3\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Clients that were started at once: most of their time is waiting."""

    spark: Submission
    """Brings its own files."""
    shell: Submission
    endless: Submission


@pytest.fixture(scope="module")
def started(cluster: KubeCluster) -> Iterator[Started]:
    words = ("cluster", "pi.py", GRID_SIDE, 4, "/tmp/yodel-anywhere-report")
    made = Started(
        spark=cluster.spark().start(*words, conf={"spark.yarn.jars": ""}),
        shell=shell.start(cluster.target, "-shell_command", "echo all is well", "-num_containers", 2),
        endless=shell.start(cluster.target, "-shell_command", "sleep 600", "-num_containers", 1),
    )
    yield made
    for submission in (made.spark, made.shell, made.endless):
        submission.stop()


def test_distributed_shell_and_its_logs(cluster: KubeCluster, started: Started) -> None:
    result = started.shell.result(240)
    assert result.returncode == 0, result.text[-6000:]
    assert cluster.logs(result.application_id).count("all is well\n") == 2
    pods = cluster.pods(result.application_id)
    assert len(pods) == 3
    assert {pod.phase for pod in pods} == {"Succeeded"}


def test_kill_leaves_no_live_pod(cluster: KubeCluster, started: Started) -> None:
    application_id = started.endless.application_id()
    cluster.running_pods(application_id, "task", 1)
    cluster.kill(USER, application_id)
    assert cluster.ended(application_id)["finalStatus"] == "KILLED"
    wait_for("no live pod", lambda: not cluster.live_pods(application_id))


def test_spark_that_brings_its_own_files(cluster: KubeCluster, started: Started) -> None:
    result = started.spark.result()
    assert result.returncode == 0, result.text[-6000:]
    assert cluster.application(result.application_id)["finalStatus"] == "SUCCEEDED"
    assert PI.search(cluster.logs(result.application_id))
