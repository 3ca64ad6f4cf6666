"""A release goes while a batch pod runs on lent capacity, and nothing of it stays on the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import UNTIL_ENDED, USER, KubeCluster
from tests.e2e.lending import published
from tests.rigs.kubernetes.install import CHART, RELEASE
from yodel.translator.names import PUBLISHED


@pytest.mark.long
def test_nodes_are_as_they_were_after_an_uninstall_with_a_batch_pod_running(
    lender: KubeCluster, tmp_path: Path
) -> None:
    before = listing(lender)
    numbers = ("cpu.static-milli=2000", "memory.static-mib=2048")
    lender.yodel("colocation", "on", "--preset", "static", "--dialect", "koordinator", "limits=true", *numbers)
    wait_for("loans", lambda: all(published(lender, one) == 2000 for one in lender.node_names()))
    job = shell.start(lender.target, "-shell_command", UNTIL_ENDED, "-container_memory", 256)
    application_id = job.application_id()
    lender.running_pods(application_id, "task", 1)
    assert all(PUBLISHED in annotations for _, _, annotations in listing(lender).values())
    values = tmp_path / "values.json"
    values.write_text(lender.tools.helm("get", "values", RELEASE, "--output", "json"))
    try:
        lender.tools.helm("uninstall", RELEASE)
        said = lender.kubectl("logs", "--namespace", lender.namespace, "job/yodel-colocation-off")
        assert listing(lender) == before, said
        assert "Stopping 2 containers." in said
    finally:
        job.stop()
        # It stays to be read; helm takes its place itself, and `kubectl apply` would not.
        lender.kubectl("delete", "--namespace", lender.namespace, "job/yodel-colocation-off", "--ignore-not-found")
        wait_for("no pod of the release", lambda: not release_pods(lender))
        lender.tools.helm("install", RELEASE, str(CHART), "--values", str(values))
        wait_for("the ResourceManager and its nodes", lender.is_whole)
        lender.kill(USER, application_id)  # as it was taken up again


def listing(cluster: KubeCluster) -> dict[str, Any]:
    """Return for each node what a loan would change."""
    return {
        node["metadata"]["name"]: (
            node["status"]["capacity"],
            node["status"]["allocatable"],
            node["metadata"]["annotations"],
        )
        for node in cluster.get("nodes")["items"]
    }


def release_pods(cluster: KubeCluster) -> list[Any]:
    found = cluster.get("pods", "--all-namespaces", f"--selector=app.kubernetes.io/instance={RELEASE}")["items"]
    return [pod for pod in found if pod["status"]["phase"] not in ("Succeeded", "Failed")]
