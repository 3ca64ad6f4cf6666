"""Measured capacity is lent on real nodes: read from their cgroups, published in their status, and safe when a kubelet
starts again.
"""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import UNTIL_ENDED, USER, KubeCluster
from tests.e2e.lending import CPU, MEMORY, published
from tests.rigs.kubernetes.layout import CGROUP
from tests.rigs.kubernetes.node import EVICTS_BELOW_MIB
from yodel.translator.names import PUBLISHED
from yodel.translator.publishing import size_of, whole

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

SLOWLY = "notice-s=3600"
"""A notice so long that what does not fit a loan any more stays for as long as a scenario takes."""
MIB = 1 << 20
NODE_MIB = 2048
LEFT_MILLI = 1500
"""The millicores that a kubelet leaves to pods that keeps the rest."""
TASK_MIB = 420
STEP_MIB = 10
BUSY = "yodel.io/e2e=busy:NoSchedule"
GROWING = """
apiVersion: v1
kind: Pod
metadata: {name: service, namespace: default}
spec:
  nodeName: NODE
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: IMAGE
      command: [python3, -c, PROGRAM]
      resources: {requests: {cpu: 10m, memory: 64Mi}}
"""
GROW = f"""
import os, time
held = []
while True:
    wanted = open("/tmp/wants").read() if os.path.exists("/tmp/wants") else ""
    if len(held) < int(wanted or 0):
        held.append(b"x" * ({STEP_MIB} << 20))
        open("/tmp/has", "w").write(str(len(held)))
    time.sleep(0.25)
"""
"""In steps, forty mebibytes in a second."""


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
    wait_for("loans of all nodes", lambda: all(published(lender, one) for one in names))
    found = explained(lender, "node1")
    assert found["source"] == "cgroup v1"
    node = lender.get("node", "node1")
    assert node["metadata"]["annotations"][PUBLISHED] == f"{CPU},{MEMORY}"
    size = 1000 * int(node["status"]["capacity"]["cpu"])
    wait_for(
        "what an idle node lends", lambda: (published(lender, "node1") or 0) >= size - 300
    )  # others have just ended
    before = published(lender, "node1")
    assert before is not None
    agents = lender.get("daemonset", "--namespace", lender.container_namespace)["items"][0]
    image = agents["spec"]["template"]["spec"]["containers"][0]["image"]
    lender.kubectl("apply", "--filename=-", given=BURN.replace("IMAGE", image))
    try:
        wait_for("less", lambda: (published(lender, "node1") or 0) <= before - 300)
        explained(lender, "node1")
    finally:
        lender.kubectl("delete", "pod", "service", "--namespace=default", "--ignore-not-found", "--now")
    wait_for("as much as before", lambda: (published(lender, "node1") or 0) > before - 300)


def test_a_kubelet_starts_again_at_the_floor_and_rejects_no_pod(lender: KubeCluster) -> None:
    """Loans fall to nothing under what runs: published stays at what its pods ask for, and nothing new starts."""
    static = ("colocation", "on", "--preset", "static", "--dialect", "koordinator", "memory.static-mib=4096", SLOWLY)
    lender.yodel(*static, "cpu.static-milli=2000")
    wait_for("loans", lambda: all(published(lender, one) == 2000 for one in lender.node_names()))
    words = ("-shell_command", UNTIL_ENDED, "-num_containers", 3, "-container_memory", 256)
    job = shell.start(lender.target, *words)
    application_id = job.application_id()
    tasks = lender.running_pods(application_id, "task", 3)
    pods = {pod.name: pod.node for pod in lender.live_pods(application_id)}

    lender.yodel(*static, "cpu.static-milli=0")
    held = {one: 1000 * [*pods.values()].count(one) for one in lender.node_names()}
    wait_for("the floor", lambda: {one: published(lender, one) for one in held} == held)
    node = tasks[0].node
    assert explained(lender, node)["state"] == "CLOSED"
    machine = lender.node(int(node.removeprefix("node")))
    machine.stop_kubelet()
    machine.start_kubelet()
    wait_for("the node Ready", lambda: lender.node_is_ready(node))
    lender.hold(15)
    assert {pod.name: pod.node for pod in lender.live_pods(application_id)} == pods, "a pod was rejected"
    assert published(lender, node) == held[node]

    lender.tell_to_end(tasks)
    result = job.result(240)
    assert result.returncode == 0, result.text[-4000:]
    wait_for("nothing to ask for", lambda: published(lender, node) == 0)


def test_spark_runs_on_measured_capacity(lender: KubeCluster) -> None:
    lender.yodel("colocation", "on", "--preset", "baidu", "--dialect", "koordinator")
    wait_for("loans of a vcore", lambda: all((published(lender, one) or 0) >= 1000 for one in lender.node_names()))
    result = lender.spark().submit("cluster", "pi.py", 500, 2, "/tmp/report")
    assert result.returncode == 0, result.text[-4000:]
    assert lender.application(result.application_id)["finalStatus"] == "SUCCEEDED"


@pytest.fixture
def free_node(lender: KubeCluster) -> Iterator[str]:
    """A node on which nothing else runs, and another that takes what comes before the first one is opened."""
    places = {pod["spec"]["nodeName"] for pod in lender.get("pods", "--namespace", lender.namespace)["items"]}
    names = sorted(lender.node_names(), key=lambda name: name in places)
    try:
        lender.kubectl("taint", "node", names[0], *names[2:], BUSY)
        yield names[0]
    finally:
        lender.kubectl("taint", "node", "--all", f"{BUSY}-", check=False)


@pytest.fixture
def small_node(free_node: str) -> Iterator[str]:
    """It has two GiB."""
    limit = memory_of(free_node) / "memory.limit_in_bytes"
    try:
        limit.write_text(str(NODE_MIB * MIB))
        yield free_node
    finally:
        limit.write_text("-1")


@pytest.fixture
def reserving_node(lender: KubeCluster, free_node: str) -> Iterator[str]:
    """Its kubelet leaves pods a core and a half, and two GiB of a machine that has far more."""
    try:
        rejoin(lender, free_node, cpu_milli=LEFT_MILLI, memory_mib=NODE_MIB)
        yield free_node
    finally:
        rejoin(lender, free_node)


def rejoin(cluster: KubeCluster, node: str, **left: int) -> None:
    """Let a kubelet rejoin that keeps for the system all but so much, ``cpu_milli`` and ``memory_mib``."""
    capacity = size_of(cluster.get("node", node)["status"]["capacity"])
    assert capacity is not None
    evicts_below = {"memory_mib": EVICTS_BELOW_MIB}
    most = {name: amount - evicts_below.get(name, 0) for name, amount in capacity.by_type.items()}
    kept = {name: most[name] - amount for name, amount in left.items()}
    reserved = {"cpu": f"{kept.get('cpu_milli', 0)}m", "memory": f"{kept.get('memory_mib', 0)}Mi"}

    def is_so() -> bool:
        allocatable = size_of(cluster.get("node", node)["status"]["allocatable"])
        assert allocatable is not None
        return allocatable.by_type == {**most, **left} and cluster.node_is_ready(node)

    machine = cluster.node(int(node.removeprefix("node")))
    machine.stop_kubelet()
    machine.start_kubelet(systemReserved=reserved)
    cluster.daemons.until(f"kubelet-{node}", is_so, again=partial(machine.start_kubelet, systemReserved=reserved))


def memory_of(node: str) -> Path:
    return Path("/sys/fs/cgroup/memory", CGROUP, node)


def working_set_mib(node: str, below: str = "") -> int:
    group = memory_of(node) / below
    lines = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return (int((group / "memory.usage_in_bytes").read_text()) - int(lines["total_inactive_file"])) // MIB


def test_a_service_has_the_memory_that_it_needs_and_batch_goes_one_by_one(lender: KubeCluster, small_node: str) -> None:
    _batch_goes_and_the_service_stays(lender, small_node, "node")


def test_a_foreign_pod_that_names_a_native_container_has_it_ended_in_no_emergency(
    lender: KubeCluster, small_node: str
) -> None:
    """A best-effort pod of the container's user, with its marks, that uses more than the container may."""
    numbers = ("cpu.static-milli=2000", f"memory.static-mib={NODE_MIB}")
    lender.yodel("colocation", "on", "--preset", "static", "--dialect", "koordinator", *numbers)
    others = [one for one in lender.node_names() if one != small_node]
    lender.kubectl("taint", "node", *others, BUSY, "--overwrite")
    lender.kubectl("taint", "node", small_node, f"{BUSY}-")
    context = {
        "application-name": "native",
        "queue": "root.native",
        "max-app-attempts": 1,
        "am-container-spec": {"commands": {"command": "exec sleep 1200"}},
        "resource": {"memory": 256, "vCores": 1},
    }
    status, text, application_id = lender.submit(USER, context)
    assert status == 202, text
    (pod,) = lender.running_pods(application_id, "am", 1)
    assert pod.node == small_node
    item = lender.get("pod", pod.name, "--namespace", lender.container_namespace)
    main = item["spec"]["containers"][0]
    hold = f"held = bytes([1]) * ({TASK_MIB} << 20); import time; time.sleep(1200)"
    foreign = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "foreign", "namespace": "default"},
        "spec": {
            "nodeName": small_node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {one: item["spec"]["securityContext"][one] for one in ("runAsUser", "runAsGroup")},
            "containers": [
                {
                    "name": "main",
                    "image": main["image"],
                    "command": ["python3", "-c", hold],
                    "env": [{"name": f"{one}CONTAINER_ID", "value": pod.container} for one in ("", "YODEL_")],
                }
            ],
        },
    }
    lender.kubectl("apply", "--filename=-", given=json.dumps(foreign))
    try:
        wait_for("what it holds", lambda: working_set_mib(small_node, "kubepods/besteffort") > TASK_MIB)
        with service_on(lender, small_node) as grow:
            grow(NODE_MIB * 93 // 100 - working_set_mib(small_node))
            wait_for("an emergency", lambda: explained(lender, small_node)["emergency"] is not None)
            lender.hold(8)
            assert ended_for_memory(lender, small_node) == []
        assert [one.name for one in lender.live_pods(application_id)] == [pod.name]
    finally:
        lender.kubectl("delete", "pod", "foreign", "--namespace=default", "--ignore-not-found", "--now")
        lender.kill(USER, application_id)


def test_what_the_kubelet_keeps_is_not_lent_and_batch_goes_before_it_evicts(
    lender: KubeCluster, reserving_node: str
) -> None:
    lender.yodel("colocation", "on", "--preset", "baidu", "--dialect", "koordinator", "window-s=3")
    left = {"cpu_milli": LEFT_MILLI, "memory_mib": NODE_MIB}

    def lent() -> dict[str, Any] | None:
        found = {one["resource"]: one for one in explained(lender, reserving_node)["resources"]}
        kept = [figure for one in found.values() for figure in one["measured"] if figure["name"] == "kubelet-reserved"]
        is_told = len(kept) == len(left) and all(figure["amount"] for figure in kept)
        return found if is_told and all(found[name]["published"] for name in left) else None

    wait_for("loans", lambda: published(lender, reserving_node))
    for name, one in wait_for("loans without what the kubelet keeps", lent).items():
        figures = {figure["name"]: figure["amount"] for figure in one["measured"]}
        limit = left[name] + (EVICTS_BELOW_MIB if name == "memory_mib" else 0)
        assert abs(figures["capacity"] - figures["kubelet-reserved"] - limit) <= 1, one
        (system,) = [term for term in one["terms"] if term["name"] == "system"]
        assert system["amount"] == -figures["kubelet-reserved"], one
        assert one["published"] <= left[name] * (MIB if name == "memory_mib" else 1), one
    lender.yodel("colocation", "off")  # a small change of what is lent would not be made
    rejoin(lender, reserving_node, memory_mib=NODE_MIB)
    _batch_goes_and_the_service_stays(lender, reserving_node, "kubepods")
    evicted = lender.get("events", "--all-namespaces", "--field-selector=reason=Evicted")["items"]
    assert evicted == [], "the kubelet had no reason to"


def _batch_goes_and_the_service_stays(lender: KubeCluster, node: str, whose: str) -> None:
    """Batch goes and the service stays on a node of two GiB, whosever limit it is: the agent acts alone, loans stay."""
    numbers = ("cpu.static-milli=2000", f"memory.static-mib={NODE_MIB}")
    lender.yodel("colocation", "on", "--preset", "static", "--dialect", "koordinator", *numbers)
    wait_for("loans", lambda: all(published(lender, one) == 2000 for one in lender.node_names()))
    allocatable = lender.get("node", node)["status"]["allocatable"]
    assert whole(allocatable[MEMORY]) <= whole(allocatable["memory"])
    hold = f"python3 -c 'import time; x = bytes([1]) * ({TASK_MIB} << 20); time.sleep(1200)'"
    job = shell.start(lender.target, "-shell_command", hold, "-num_containers", 3, "-container_memory", 512)
    application_id = job.application_id()
    try:
        lender.running_pods(application_id, "task", 1)
        lender.kubectl("taint", "node", node, f"{BUSY}-")
        pods = lender.running_pods(application_id, "task", 3)
        older, newer = sorted((pod for pod in pods if pod.node == node), key=lambda pod: pod.container)
        wait_for("what they hold", lambda: working_set_mib(node) > 2 * TASK_MIB)
        lender.hold(3)
        with service_on(lender, node) as grow:
            grow(NODE_MIB * 92 // 100 - working_set_mib(node))
            wait_for("the first", lambda: ended_for_memory(lender, node) == [newer.container])
            lender.hold(6)
            found = explained(lender, node)
            assert (found["state"], found["emergency"]["containers"]) == ("CLOSED", [newer.container]), "one was enough"
            assert found["emergency"]["cool_down_s"] > 0
            assert f"low memory: {whose} memory 1." in lender.yodel("node", "explain", node)
            grow(TASK_MIB)
            wait_for("both", lambda: ended_for_memory(lender, node) == [newer.container, older.container])
            for pod in (newer, older):
                (told,) = wait_for("an event", lambda pod=pod: preempted(lender, pod.name))  # type: ignore[misc]
                assert f"Container {pod.container} ended with -102: " in told
                assert f"Container preempted by its node: {whose} memory 1." in told
                assert "it is number 1 of " in told, "the ResourceManager's order"
    finally:
        lender.kill(USER, application_id)
        job.stop()


@contextlib.contextmanager
def service_on(cluster: KubeCluster, node: str) -> Iterator[Callable[[int], None]]:
    """A burstable pod, and how it gets so many MiB more: which it does, and it is never short."""
    agents = cluster.get("daemonset", "--namespace", cluster.container_namespace)["items"][0]
    image = agents["spec"]["template"]["spec"]["containers"][0]["image"]
    program = json.dumps(GROW)
    spec = GROWING.replace("NODE", node).replace("IMAGE", image).replace("PROGRAM", program)
    words = ("exec", "service", "--namespace=default", "--", "sh", "-c")
    wanted = 0

    def status() -> Any:
        return cluster.get("pod", "service", "--namespace=default")["status"]

    def grow(mib: int) -> None:
        nonlocal wanted
        wanted += mib // STEP_MIB
        cluster.kubectl(*words, f"echo {wanted} > /tmp/wants")
        wait_for("what it needs", lambda: cluster.kubectl(*words, "cat /tmp/has || true").strip() == str(wanted))

    cluster.kubectl("apply", "--filename=-", given=spec)
    try:
        wait_for("the service", lambda: status()["phase"] == "Running")
        yield grow
        (container,) = status()["containerStatuses"]
        assert (container["restartCount"], "running" in container["state"]) == (0, True)
        assert "oom_kill 0" in (memory_of(node) / "memory.oom_control").read_text()
    finally:
        cluster.kubectl("delete", "pod", "service", "--namespace=default", "--ignore-not-found", "--now")


def ended_for_memory(cluster: KubeCluster, node: str) -> list[str]:
    """Return the containers in the order in which the agent ended them."""
    found = explained(cluster, node)["emergency"]
    return list(found["containers"]) if found is not None else []


def preempted(cluster: KubeCluster, pod: str) -> list[str]:
    """Return what events say of it."""
    selector = f"--field-selector=involvedObject.name={pod},reason=Preempted"
    events = cluster.get("events", "--namespace", cluster.container_namespace, selector)["items"]
    return [event["message"] for event in events]
