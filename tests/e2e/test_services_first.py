"""Batch goes before services of default priority where a kubelet decides; where it would not, nothing is lent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import USER, KubeCluster
from tests.e2e.lending import node_apart
from tests.e2e.test_colocation import BUSY, MIB, TASK_MIB, memory_of, service_on, working_set_mib
from tests.rigs.kubernetes.install import COLOCATION

PODS_MIB = 2200
"""The memory of pods, of which a kubelet begins to evict 100 MiB earlier."""
KEPT_FREE_MIB = 70
HOLD = f"python3 -c 'import time; x = bytes([1]) * ({TASK_MIB} << 20); time.sleep(1200)'"
ON = ("colocation", "on", "--preset", "koordinator", "--dialect", "koordinator")
MISSING = "no PriorityClass with name koord-batch was found"
ABOVE = "PriorityClass koord-batch of batch pods: priority 5500 is not below 0, that of pods without a PriorityClass"


@pytest.fixture
def short_node(cluster: KubeCluster) -> Iterator[str]:
    """A node whose kubelet leaves its pods 2,200 MiB.  An engine publishes what is lent: no agent of Yodel's acts."""
    name = node_apart(cluster)
    node = cluster.node(int(name.removeprefix("node")))
    limit = memory_of(name) / "kubepods" / "memory.limit_in_bytes"
    capacity_kib = int(cluster.get("node", name)["status"]["capacity"]["memory"].removesuffix("Ki"))
    kept = {"systemReserved": {"memory": f"{capacity_kib - PODS_MIB * 1024}Ki"}}
    others = [one for one in cluster.node_names() if one != name]
    try:
        node.stop_kubelet()
        node.start_kubelet(**kept, evictionPressureTransitionPeriod="5s")
        wait_for("less for pods", lambda: int(limit.read_text()) == PODS_MIB * MIB)
        wait_for("the node Ready", lambda: cluster.node_is_ready(name))
        cluster.lend(COLOCATION, (name,))
        cluster.kubectl("taint", "node", *others, BUSY)
        yield name
    finally:
        cluster.kubectl("taint", "node", *others, f"{BUSY}-", check=False)
        node.stop_kubelet()
        node.start_kubelet()
        wait_for("all for pods", lambda: int(limit.read_text()) > PODS_MIB * MIB)
        wait_for("no pressure", lambda: not cluster.get("node", name)["spec"].get("taints"))
        cluster.heal()


def evicted(cluster: KubeCluster) -> set[str]:
    """Namespaces and names of pods, by what kubelets say."""
    events = cluster.get("events", "--all-namespaces", "--field-selector=reason=Evicted")["items"]
    return {f"{event['metadata']['namespace']}/{event['involvedObject']['name']}" for event in events}


@pytest.mark.timeout(600)
def test_a_kubelet_that_runs_short_evicts_batch_and_the_service_stays(cluster: KubeCluster, short_node: str) -> None:
    before = evicted(cluster)
    job = shell.start(cluster.target, "-shell_command", HOLD, "-num_containers", 2, "-container_memory", 512)
    application_id = job.application_id()
    try:
        tasks = cluster.running_pods(application_id, "task", 2)
        assert {(pod.node, pod.body["spec"]["priority"]) for pod in tasks} == {(short_node, -200)}
        (master,) = cluster.running_pods(application_id, "am", 1)
        wait_for("what they hold", lambda: working_set_mib(short_node, "kubepods") > 2 * TASK_MIB)
        with service_on(cluster, short_node) as grow:
            grow(PODS_MIB - KEPT_FREE_MIB - working_set_mib(short_node, "kubepods"))
            wait_for("an eviction", lambda: evicted(cluster) - before)
            grow(TASK_MIB)
            wait_for("another one", lambda: len(evicted(cluster) - before) > 1)
            wait_for("room", lambda: working_set_mib(short_node, "kubepods") < PODS_MIB - 100)
            gone = evicted(cluster) - before
            assert {f"{cluster.container_namespace}/{pod.name}" for pod in tasks} <= gone
            assert f"{cluster.container_namespace}/{master.name}" not in gone, "it goes after its tasks"
            assert "default/service" not in gone
            assert "oom_kill 0" in (memory_of(short_node) / "kubepods" / "memory.oom_control").read_text()
    finally:
        cluster.kill(USER, application_id)
        job.stop()


@pytest.fixture
def own_classes_unused(lender: KubeCluster) -> Iterator[KubeCluster]:
    """Pods have the class that their dialect names, as before there was any other."""
    lender.upgrade("priorityClasses.use=false")
    yield lender
    lender.kubectl("delete", "priorityclass", "koord-batch", "--ignore-not-found")
    lender.upgrade("priorityClasses.use=true")


@pytest.mark.timeout(600)
def test_nothing_is_lent_to_pods_of_a_class_that_is_missing_or_above_services(own_classes_unused: KubeCluster) -> None:
    cluster = own_classes_unused
    for words in (ON, ("check",), (*ON, "--dry-run")):
        status, text = cluster.yodel_said(*words)
        assert (status != 0, MISSING in text) == (True, True), text
    cluster.kubectl("apply", "--filename=-", given=json.dumps(priority_class("koord-batch", 5500)))
    for words in (ON, ("check",)):
        status, text = cluster.yodel_said(*words)
        assert (status != 0, ABOVE in text) == (True, True), text
    assert "pods can be created" in text
    assert not cluster.api("/colocation")["enabled"]


def test_a_check_in_the_managers_pod_is_of_that_manager(lender: KubeCluster) -> None:
    status, text = lender.yodel_said("check")
    assert status == 0, text
    for line in ("pods can be created", "measured capacity can be lent (yodel colocation on)", "schema is at "):
        assert line in text
    assert "node token" not in text
    assert "port" not in text


def priority_class(name: str, value: int) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
