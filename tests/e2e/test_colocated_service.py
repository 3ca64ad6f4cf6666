"""A service beside batch work on one node: what is written there, and what the service feels.

``make colocation-short`` runs it on a cluster that is up, in less than four minutes.  What is judged does not depend on
the machine's speed: what stands in the kernel's files, that the quota follows a spike, and that the service waits less
for its processor beside pods of Yodel's than beside others of equal weight.  Latencies are printed; the verdict on them
is ``bench``'s, on a machine that does nothing else.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import Figures, ServiceNode, Trace
from tests.e2e.kube_cluster import KubeCluster
from tests.rigs.kubernetes import cores, rig
from tests.rigs.kubernetes.cluster import binaries
from tests.rigs.kubernetes.install import RELEASE
from tests.rigs.kubernetes.node import CGROUPS
from yodel.domain.states import ContainerExitStatus

MEASURED_S = 20
SPIKE_S = 8
FOLLOWS_S = 2.0
"""From the second in which online pods use more to the quota that leaves it to them."""
MIB = 1 << 20
ON = ("colocation", "on", "--preset", "koordinator", "--dialect", "koordinator", "cpu.share-percent=85", "window-s=3")
ALONE, NATIVE, LENT, BOUNDED = "A' alone", "B native pods of equal weight", "C lent, nothing written", "D limits, quota"


@pytest.fixture(scope="module")
def node(cluster: KubeCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceNode]:
    before = cluster.yodel("queue", "export")
    with ExitStack() as stack:
        stack.callback(lambda: cluster.yodel("queue", "import", "/dev/stdin", given=before))
        made = stack.enter_context(colocated.service_on(cluster, tmp_path_factory.mktemp("latencies")))
        stack.enter_context(cores.apart(rig.HOME, int(made.name.removeprefix("node")), cpus="1", others="0"))
        made.asked("warm", 3, colocated.RATE)
        yield made


@pytest.mark.long
def test_a_service_beside_batch_work(node: ServiceNode, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Figures] = {}
    with colocated.idle_spinner():
        found[ALONE] = node.measure("alone", MEASURED_S)
    with node.batch("root.native") as batch:
        found[NATIVE] = node.measure("native", MEASURED_S, batch.rounds)
    with node.batch("root.default") as batch:
        found[LENT] = node.measure("lent", MEASURED_S, batch.rounds)
        before = node.files()
        node.cluster.yodel(*ON, "limits=true", "quota=true")
        bounds = wait_for("bounds as decided", lambda: _standing(node))
        with Trace(node).kept() as trace:
            found[BOUNDED] = node.measure("bounded", MEASURED_S, batch.rounds)
            since = time.time()
            node.asked("spike", SPIKE_S, 3 * colocated.RATE)
        spike = trace.spike(since)
        held = node.files()
        off = node.cluster.yodel("colocation", "off", "--wait", "60")
        after = node.files()
    with capsys.disabled():
        print()
        for name, figures in found.items():
            print(figures.line(name))
        print(f"a spike: the agent decided {spike.told_s:.1f} s, the quota stood {spike.followed_s:.1f} s after use")
        print(f"latencies are in {node.folder}")
    limit = str((colocated.BATCH_MIB + 64) * MIB)
    assert {name for name, value in held.items() if value == limit}, "the memory limit of the batch pod"
    assert {one["file"] for one in bounds} == {"cpu.cfs_quota_us", "cpu.shares", "memory.limit_in_bytes"}
    assert max(spike.told_s, spike.followed_s) <= FOLLOWS_S
    assert found[LENT].pressure < found[NATIVE].pressure
    assert f"{node.name}: cleaned up" in off
    assert after == before, "nothing is left"


def test_a_leak_ends_by_its_own_limit_and_the_service_goes_on(node: ServiceNode) -> None:
    node.cluster.yodel(*ON, "limits=true", "quota=false")
    with node.running("root.default", colocated.LEAK) as batch:
        answered = node.asked("leak", 10, colocated.RATE)
        ended = node.cluster.ended(batch.application_id)
    node.cluster.yodel("colocation", "off", "--wait", "60")
    assert f"exitCode: {int(ContainerExitStatus.KILLED_EXCEEDED_PMEM)}" in ended["diagnostics"], ended["diagnostics"]
    assert "running beyond the 'PHYSICAL' memory limit" in ended["diagnostics"]
    assert len(answered) > 10 * colocated.RATE * 0.8, "requests are answered"
    status = node.cluster.get("pod", "service", "--namespace=default")["status"]
    assert [one["restartCount"] for one in status["containerStatuses"]] == [0]


def test_a_killed_agent_finds_what_somebody_changed(node: ServiceNode) -> None:
    node.cluster.yodel(*ON, "limits=true", "quota=true")
    with node.running("root.default", colocated.SLEEP):
        wait_for("bounds as decided", lambda: _standing(node))
        held = _of_pods(node)
        node.kill_agent()
        for path, value in held.items():
            Path(path).write_text("1000" if path.endswith("cpu.shares") else "-1")
            assert Path(path).read_text().strip() != value
        (CGROUPS / "cpu" / node.best_effort / "cpu.cfs_quota_us").write_text("-1")
        wait_for("what was decided", lambda: _of_pods(node) == held and node.quota_us() > 0)
        said = _before_an_uninstall(node.cluster)
        left = node.files()
        assert f"{node.name}: cleaned up" in said, said
        assert node.quota_us() == -1, said
        assert {left[path] for path in held} == {"2", str((1 << 63) - 4096)}, "as the kubelet makes a pod"


def _before_an_uninstall(cluster: KubeCluster) -> str:
    """Return what the chart's hook prints, run as helm runs it."""
    command = [binaries("helm") / "helm", "get", "hooks", RELEASE, "--namespace", cluster.namespace]
    environment = {**os.environ, "KUBECONFIG": str(cluster.state.kubeconfig)}
    hooks = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment).stdout
    place = ("--namespace", cluster.namespace)
    cluster.kubectl("apply", *place, "--filename=-", given=hooks)
    try:
        cluster.kubectl("wait", *place, "job/yodel-colocation-off", "--for=condition=complete", "--timeout=100s")
        return cluster.kubectl("logs", *place, "job/yodel-colocation-off")
    finally:
        cluster.kubectl("delete", *place, "job/yodel-colocation-off", "--wait=false")


def _of_pods(node: ServiceNode) -> dict[str, str]:
    return {path: value for path, value in node.files().items() if "/besteffort/pod" in path}


def _standing(node: ServiceNode) -> list[dict[str, Any]] | None:
    """Return what agents decided, once it stands in the kernel's files: the quota, and both values of a pod."""
    bounds: list[dict[str, Any]] = node.explained()["bounds"]
    is_held = len(bounds) >= 3 and all(one["decided"] == one["written"] == one["read"] for one in bounds)
    return bounds if is_held and node.quota_us() > 0 else None
