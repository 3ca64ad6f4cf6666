"""Containers end, and some never start, as the lines of docs/pod-to-container.md say that are about one application.

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
from tests.e2e.kube_cluster import USER, KubeCluster
from yodel.domain.states import ContainerExitStatus

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
    wait_for("the reason", lambda: "No single node has" in diagnostics(cluster, application_id))
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
    """Return the diagnostics of an application that must fail."""
    result = submission.result(END_TIMEOUT_S)
    assert result.returncode != 0
    app = cluster.ended(result.application_id)
    assert app["finalStatus"] == "FAILED", app
    return str(app["diagnostics"])


def diagnostics(cluster: KubeCluster, application_id: str) -> str:
    return str(cluster.application(application_id)["diagnostics"])


# --- what a process says of itself -----------------------------------------------------------------------------------

HOLD = "import time; held = bytes([1]) * (510 << 20); time.sleep(1200)"
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid in range(2, 60):
    if pid != os.getpid():
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
held = os.open(sys.argv[1], os.O_RDWR), bytes([1]) * (510 << 20)
while True:
    time.sleep(1)
"""


def script_of(cluster: KubeCluster, text: str, memory_mib: int = 256) -> str:
    """An application whose only container runs this, without double quotes; its id."""
    context = {
        "application-name": "endings",
        "application-type": "SCRIPT",
        "max-app-attempts": 1,
        "am-container-spec": {"commands": {"command": f"{text} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}},
        "resource": {"memory": memory_mib, "vCores": 1},
    }
    status, said, application_id = cluster.submit(USER, context)
    assert status == 202, said
    return application_id


def ended_over_its_memory(cluster: KubeCluster, application_id: str) -> None:
    said = cluster.ended(application_id)["diagnostics"]
    assert f"exitCode: {int(ContainerExitStatus.KILLED_EXCEEDED_PMEM)}" in said, said
    assert "beyond the 'PHYSICAL' memory limit" in said


def test_memory_counts_whatever_a_process_has_shaken_off(cluster: KubeCluster) -> None:
    bare = f"env -i $(command -v python3) -c '{HOLD}'"
    hides = f"exec {bare}", f"(setsid {bare} &); exec sleep 1200"
    for application_id in [script_of(cluster, f"sleep 2; {one}") for one in hides]:
        ended_over_its_memory(cluster, application_id)


def test_who_reads_his_own_signals_away_ends_with_his_pod(cluster: KubeCluster) -> None:
    application_id = script_of(cluster, f"exec python3 -c '{DEAF}' $YODEL_HANDOVER_DIR/signal")
    (pod,) = cluster.running_pods(application_id, "am", 1)
    agents = ("--namespace", cluster.container_namespace, f"--field-selector=spec.nodeName={pod.node}")
    (agent,) = cluster.get("pods", *agents, "--selector=app.kubernetes.io/component=node-agent")["items"]

    def told() -> list[str]:
        """Return what the agent did with it, in order."""
        text = cluster.kubectl("logs", agent["metadata"]["name"], *agents[:2])
        events = [json.loads(line) for line in text.splitlines() if pod.container in line]
        return [str(one.get("state") or one["event"]) for one in events]

    ended_over_its_memory(cluster, application_id)
    done = told()
    killed = [done.index(one) for one in ("KILLING", "container_not_signalled", "survivors_killed", "DONE")]
    assert killed == sorted(killed), done
    wait_for("no live pod", lambda: not cluster.live_pods(application_id))
