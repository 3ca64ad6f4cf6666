"""Measured capacity is lent on real nodes: read from their cgroups, published in their status, and safe when a kubelet
starts again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import UNTIL_ENDED, KubeCluster
from tests.rigs.kubernetes.install import COLOCATION
from yodel.translator.names import PUBLISHED
from yodel.translator.publishing import whole

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
TIMEOUT_S = 120
OPEN = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(f"/host/cgroup/{path}", os.O_WRONLY))
        print(0)
    except OSError as error:
        print(error.errno)
"""
BURN = """
apiVersion: v1
kind: Pod
metadata: {name: service, namespace: default}
spec:
  nodeName: node1
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: IMAGE
      command: [sh, -c, "while :; do :; done"]
      resources: {requests: {cpu: 10m}, limits: {cpu: 700m}}
"""


@pytest.fixture
def lender(cluster: KubeCluster) -> Iterator[KubeCluster]:
    """Nobody publishes anything at first; in the end somebody publishes again what the other scenarios draw on."""
    nobody = dict.fromkeys((CPU, MEMORY))
    for node in cluster.node_names():
        cluster.patch_node(node, {"status": {"capacity": nobody, "allocatable": nobody}}, "--subresource=status")
    before = cluster.yodel("queue", "export")
    yield cluster
    cluster.yodel("colocation", "off", "--now")
    wait_for("no name of ours", lambda: all(published(cluster, one) is None for one in cluster.node_names()), TIMEOUT_S)
    cluster.yodel("queue", "import", "/dev/stdin", given=before)
    cluster.lend(COLOCATION)


def published(cluster: KubeCluster, node: str) -> int | None:
    """Milli of a core, in capacity and allocatable alike."""
    status = cluster.get("node", node)["status"]
    found = status["capacity"].get(CPU)
    return whole(found) if found is not None and status["allocatable"].get(CPU) == found else None


def explained(cluster: KubeCluster, node: str) -> Any:
    """The node's capacity, whose numbers lead from one to the next."""
    known = next(one["id"] for one in cluster.api("/nodes")["items"] if one["kubernetes_node"] == node)
    found = cluster.api(f"/nodes/{known}/capacity")
    for one in found["resources"]:
        left = sum(term["amount"] for term in one["terms"])
        for step in one["steps"]:
            assert step["before"] == left, one
            left = step["after"]
        assert left == one["wanted"], one
    return found


def test_agents_see_the_cgroups_and_cannot_write_them(cluster: KubeCluster) -> None:
    label = "--selector=app.kubernetes.io/component=node-agent"
    agents = cluster.get("pods", "--namespace", cluster.container_namespace, label)["items"]
    paths = [f"{controller}/cgroup.procs" for controller in ("cpu", "cpuacct", "cpuset", "memory")]
    words = ("exec", agents[0]["metadata"]["name"], "--namespace", cluster.container_namespace, "--", "python3", "-c")
    assert cluster.kubectl(*words, OPEN, *paths).split() == [str(errno.EROFS)] * len(paths)


def test_what_is_lent_follows_what_services_use(lender: KubeCluster) -> None:
    lender.yodel("colocation", "on", "--preset", "baidu", "--dialect", "koordinator", "window-s=3")
    names = lender.node_names()
    wait_for("loans of all nodes", lambda: all(published(lender, one) for one in names), TIMEOUT_S)
    found = explained(lender, "node1")
    assert found["source"] == "cgroup v1"
    node = lender.get("node", "node1")
    assert node["metadata"]["annotations"][PUBLISHED] == f"{CPU},{MEMORY}"
    before = published(lender, "node1")
    assert before is not None
    agents = lender.get("daemonset", "--namespace", lender.container_namespace)["items"][0]
    image = agents["spec"]["template"]["spec"]["containers"][0]["image"]
    lender.kubectl("apply", "--filename=-", given=BURN.replace("IMAGE", image))
    try:
        wait_for("less", lambda: (published(lender, "node1") or 0) <= before - 300, TIMEOUT_S)
        explained(lender, "node1")
    finally:
        lender.kubectl("delete", "pod", "service", "--namespace=default", "--ignore-not-found", "--now")
    wait_for("as much as before", lambda: (published(lender, "node1") or 0) > before - 300, TIMEOUT_S)


def test_a_kubelet_starts_again_at_the_floor_and_rejects_no_pod(lender: KubeCluster) -> None:
    """Loans fall to nothing under what runs: published stays at what its pods ask for, and nothing new starts."""
    static = ("colocation", "on", "--preset", "static", "--dialect", "koordinator", "memory.static-mib=4096")
    lender.yodel(*static, "cpu.static-milli=2000")
    wait_for("loans", lambda: all(published(lender, one) == 2000 for one in lender.node_names()), TIMEOUT_S)
    words = ("-shell_command", UNTIL_ENDED, "-num_containers", 3, "-container_memory", 256)
    job = shell.start(lender.target, *words)
    application_id = job.application_id()
    tasks = lender.running_pods(application_id, "task", 3, 240)
    pods = {pod.name: pod.node for pod in lender.live_pods(application_id)}

    lender.yodel(*static, "cpu.static-milli=0")
    held = {one: 1000 * [*pods.values()].count(one) for one in lender.node_names()}
    wait_for("the floor", lambda: {one: published(lender, one) for one in held} == held, TIMEOUT_S)
    node = tasks[0].node
    assert explained(lender, node)["state"] == "CLOSED"
    machine = lender.node(int(node.removeprefix("node")))
    machine.stop_kubelet()
    machine.start_kubelet()
    wait_for("the node Ready", lambda: lender.node_is_ready(node), TIMEOUT_S)
    lender.hold(15)
    assert {pod.name: pod.node for pod in lender.live_pods(application_id)} == pods, "a pod was rejected"
    assert published(lender, node) == held[node]

    lender.tell_to_end(tasks)
    result = job.result(240)
    assert result.returncode == 0, result.text[-4000:]
    wait_for("nothing to ask for", lambda: published(lender, node) == 0, TIMEOUT_S)
