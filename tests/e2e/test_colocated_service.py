"""A service beside batch work on one node: what is written there, and what the service feels.

``make colocation-short`` runs it on a cluster that is up, in less than four minutes.  What is judged does not depend on
the machine's speed: what stands in the kernel's files, that the quota follows a spike, and that the service waits less
for its processor beside pods of Yodel's than beside others of equal weight.  Latencies are printed; the verdict on them
is ``bench``'s, on a machine that does nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.conformance.cluster import wait_for
from tests.e2e import colocated
from tests.e2e.colocated import Figures, ServiceNode, Trace
from tests.e2e.kube_cluster import KubeCluster
from tests.rigs.kubernetes import cores, rig
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


def test_a_service_beside_batch_work(node: ServiceNode, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Figures] = {}
    with colocated.idle_spinner():
        found[ALONE] = node.measure("alone", MEASURED_S)
    with node.batch("root.native") as batch:
        found[NATIVE] = node.measure("native", MEASURED_S, batch)
    with node.batch("root.default") as batch:
        found[LENT] = node.measure("lent", MEASURED_S, batch)
        before = node.files()
        node.cluster.yodel(*ON, "limits=true", "quota=true")
        bounds = wait_for("bounds as decided", lambda: _standing(node))
        with Trace(node).kept() as trace:
            found[BOUNDED] = node.measure("bounded", MEASURED_S, batch)
            since = time.monotonic()
            node.asked("spike", SPIKE_S, 3 * colocated.RATE)
        followed_s = trace.followed_s(since)
        held = node.files()
        off = node.cluster.yodel("colocation", "off", "--wait", "60")
        after = node.files()
    with capsys.disabled():
        print()
        for name, figures in found.items():
            print(figures.line(name))
        print(f"a spike: the quota had followed {followed_s:.1f} s after use; latencies in {node.folder}")
    limit = str((colocated.BATCH_MIB + 64) * MIB)
    assert {name for name, value in held.items() if value == limit}, "the memory limit of the batch pod"
    assert {one["file"] for one in bounds} == {"cpu.cfs_quota_us", "cpu.shares", "memory.limit_in_bytes"}
    assert followed_s <= FOLLOWS_S
    assert found[LENT].pressure < found[NATIVE].pressure
    assert f"{node.name}: its agent has confirmed" in off
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


def _standing(node: ServiceNode) -> list[dict[str, Any]] | None:
    """What agents decided, once it stands in the kernel's files: the quota, and both values of a pod."""
    bounds: list[dict[str, Any]] = node.explained()["bounds"]
    is_held = len(bounds) >= 3 and all(one["decided"] == one["written"] == one["read"] for one in bounds)
    return bounds if is_held and node.quota_us() > 0 else None
