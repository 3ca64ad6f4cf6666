"""How containers end, and why some never start: lines of docs/pod-to-container.md that are about one application.

Applications that do not disturb each other run side by side, because most of their time is waiting.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import KubeCluster

END_TIMEOUT_S = 300
PI = ("cluster", "pi.py", 10, 1, "/tmp/report")
DOCKER = "spark.yarn.appMasterEnv.YARN_CONTAINER_RUNTIME_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Applications that were started at once."""

    hungry: Submission
    """Writes to more memory than its pod may have."""
    wasteful: Submission
    """Writes more to its disk than its pod may."""
    unwelcome: Submission
    """Wants an image that its queue does not allow."""
    absent: Submission
    """Wants an image that its queue allows, and that is nowhere."""
    too_big: Submission
    """Has a master for which no node has room now."""


def command(cluster: KubeCluster, queue: str, text: str, *more: object) -> Submission:
    return shell.start(cluster.target, "-queue", queue, "-container_memory", 256, "-shell_command", text, *more)


def with_image(cluster: KubeCluster, queue: str, image: str) -> Submission:
    conf = {
        "spark.yarn.queue": queue,
        f"{DOCKER}TYPE": "docker",
        f"{DOCKER}DOCKER_IMAGE": image,
        "spark.yarn.maxAppAttempts": "1",
    }
    return cluster.spark().start(*PI, conf=conf)


@pytest.fixture(scope="module")
def patient(cluster: KubeCluster) -> Iterator[Submission]:
    """Refused for want of quota, which it has by now: Yodel asks again within half a minute."""
    cluster.heal()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "yodel-e2e", "namespace": cluster.container_namespace},
        "spec": {"hard": {"pods": "0"}},
    }
    cluster.kubectl("apply", "--filename=-", given=json.dumps(quota))
    submission = command(cluster, "default", "echo there is room again")
    try:
        application_id = submission.application_id()
        wait_for("the API server's word", lambda: "exceeded quota" in diagnostics(cluster, application_id))
        assert cluster.application(application_id)["state"] == "ACCEPTED"
    finally:
        cluster.kubectl("delete", "resourcequota", "yodel-e2e", "--namespace", cluster.container_namespace)
    yield submission
    submission.stop()


@pytest.fixture(scope="module")
def running(cluster: KubeCluster, patient: Submission) -> Iterator[Running]:
    made = Running(
        hungry=command(cluster, "native", "python3 -c 'x = bytearray(700 << 20)'"),
        wasteful=command(cluster, "small-disk", "head -c 300000000 /dev/zero > /tmp/waste; sleep 120"),
        unwelcome=with_image(cluster, "default", "localhost/yodel/nowhere:1"),
        absent=with_image(cluster, "images", "localhost/yodel/nowhere:1"),
        too_big=command(cluster, "native", "echo never", "-master_vcores", 8),
    )
    yield made
    for submission in (made.hungry, made.wasteful, made.unwelcome, made.absent, made.too_big):
        submission.stop()


def test_memory_limit(cluster: KubeCluster, running: Running) -> None:
    """``native``: the kernel holds the limit, and YARN's words are used."""
    result = running.hungry.result(END_TIMEOUT_S)
    assert result.returncode != 0
    log = cluster.logs(result.application_id)
    assert "exitStatus=-104" in log, log[-4000:]
    assert "beyond the 'PHYSICAL' memory limit" in log, log[-4000:]


def test_local_storage_limit(cluster: KubeCluster, running: Running) -> None:
    result = running.wasteful.result(END_TIMEOUT_S)
    assert result.returncode != 0
    log = cluster.logs(result.application_id)
    assert "exitStatus=-109" in log, log[-4000:]
    assert "wrote more than its local storage limit" in log, log[-4000:]


def test_image_that_may_not_be_used(running: Running) -> None:
    result = running.unwelcome.result(END_TIMEOUT_S)
    assert result.returncode != 0
    assert "is not allowed in this queue" in result.text


@pytest.mark.long
def test_image_that_is_nowhere(cluster: KubeCluster, running: Running) -> None:
    assert "no image for pod" in failure(cluster, running.absent)


def test_master_without_room_says_why(cluster: KubeCluster, running: Running) -> None:
    application_id = running.too_big.application_id()
    wait_for("the reason", lambda: "free in one piece" in diagnostics(cluster, application_id))
    assert cluster.application(application_id)["state"] == "ACCEPTED"
    assert cluster.live_pods(application_id) == [], "no pod is made that no node has the room for"
    assert cluster.target.yarn("application", "-kill", application_id).returncode == 0


def test_full_quota_is_waited_for(patient: Submission) -> None:
    result = patient.result(END_TIMEOUT_S)
    assert result.returncode == 0, result.text[-4000:]


def test_refusal_of_the_api_server_ends_the_application(cluster: KubeCluster) -> None:
    level = "pod-security.kubernetes.io/enforce"
    cluster.kubectl("label", "namespace", cluster.container_namespace, "--overwrite", f"{level}=restricted")
    try:
        words = failure(cluster, command(cluster, "default", "echo never"))
    finally:
        cluster.kubectl("label", "namespace", cluster.container_namespace, "--overwrite", f"{level}=privileged")
    assert "violates PodSecurity" in words


def failure(cluster: KubeCluster, submission: Submission) -> str:
    """Of an application that must fail: its diagnostics."""
    result = submission.result(END_TIMEOUT_S)
    assert result.returncode != 0
    app = cluster.ended(result.application_id)
    assert app["finalStatus"] == "FAILED", app
    return str(app["diagnostics"])


def diagnostics(cluster: KubeCluster, application_id: str) -> str:
    return str(cluster.application(application_id)["diagnostics"])
