"""Pod Security on the real API server: everything but what needs its node is ``restricted``, and the rest is named.

A Pod is made of each workload's template, as its controller does, and only tried (``--dry-run=server``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.cluster import wait_for
from tests.e2e.hostile_cases import Case
from tests.e2e.kube_cluster import USER, KubeCluster

ROOT = Path(__file__).resolve().parents[2]
LEVEL = "pod-security.kubernetes.io/enforce"
TRIAL = "yodel-restricted"
TRIAL_MANIFEST = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TRIAL, "labels": {LEVEL: "restricted"}}}
VIOLATION = re.compile(r"violates PodSecurity \"restricted:latest\": (.*)")
WORKLOADS = "deployments,statefulsets,daemonsets,jobs"
PARTS = {"resourcemanager", "postgres", "migration"}


@pytest.fixture(scope="module")
def trial(cluster: KubeCluster) -> Iterator[str]:
    """A namespace that enforces ``restricted``."""
    cluster.kubectl("apply", "--filename=-", given=json.dumps(TRIAL_MANIFEST))
    wait_for("its service account", lambda: "default" in cluster.kubectl("get", "serviceaccounts", "-n", TRIAL))
    yield TRIAL
    cluster.kubectl("delete", "namespace", TRIAL, "--wait=false")


def violations(cluster: KubeCluster, spec: Mapping[str, Any], claimed: Sequence[str] = ()) -> set[str]:
    """Return what of the level a pod's spec violates.  ``claimed`` volumes are a StatefulSet's."""
    dropped = ("serviceAccountName", "serviceAccount", "nodeName")
    volumes = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in claimed)]
    kept = {**{key: value for key, value in spec.items() if key not in dropped}, "volumes": volumes}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial", "namespace": TRIAL}, "spec": kept}
    said = cluster.kubectl_said("create", "--dry-run=server", "--filename=-", given=json.dumps(pod))
    if said.returncode == 0:
        assert "created (server dry run)" in said.stdout
        return set()
    found = VIOLATION.search(said.stderr)
    assert found is not None, said.stderr
    return set(re.findall(r"(?:^|, )([A-Za-z][^(),]*?) \(", found[1]))


def test_release_runs_in_a_namespace_that_enforces_the_level(cluster: KubeCluster) -> None:
    assert cluster.get("namespace", cluster.namespace)["metadata"]["labels"][LEVEL] == "restricted"
    pods = cluster.get("pods", "--namespace", cluster.namespace)["items"]
    parts = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod["status"]["phase"] for pod in pods}
    assert parts.items() >= {"resourcemanager": "Running", "postgres": "Running"}.items()


def test_workloads_of_the_release_are_restricted(cluster: KubeCluster, trial: str) -> None:
    found = cluster.get(WORKLOADS, "--namespace", cluster.namespace)["items"]
    parts = {item["metadata"]["labels"]["app.kubernetes.io/component"]: item["spec"] for item in found}
    assert parts.keys() == PARTS
    for part, spec in parts.items():
        claimed = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", ())]
        assert violations(cluster, spec["template"]["spec"], claimed) == set(), part


@pytest.mark.parametrize("name", ["yodel.yaml", "try-out.yaml"])
def test_plain_manifests_are_restricted_but_for_the_node_agent(cluster: KubeCluster, trial: str, name: str) -> None:
    documents = yaml.safe_load_all((ROOT / "deploy" / "manifests" / name).read_text())
    specs = {
        one["kind"]: one["spec"]["template"]["spec"] for one in documents if one and "template" in one.get("spec", {})
    }
    for spec in specs.values():
        spec.pop("priorityClassName", None)
    assert {kind for kind, spec in specs.items() if violations(cluster, spec)} == {"DaemonSet"}


def test_node_agent_needs_its_node_and_is_not_privileged(cluster: KubeCluster, trial: str) -> None:
    (agent,) = cluster.get("daemonsets", "--namespace", cluster.container_namespace)["items"]
    needs = {"host namespaces", "hostPort", "restricted volume types"}
    root = {"unrestricted capabilities", "runAsNonRoot != true", "runAsUser=0"}
    assert violations(cluster, agent["spec"]["template"]["spec"]) == needs | root


@pytest.mark.parametrize(
    ("queue", "needs"),
    [
        ("default", {"host namespaces", "restricted volume types"}),
        ("pod-network", {"restricted volume types"}),
    ],
)
def test_containers_need_their_nodes_folders_and_nothing_else(
    cluster: KubeCluster, trial: str, queue: str, needs: set[str]
) -> None:
    case = Case(name="pod", fields={"queue": queue}, spec={"commands": {"command": "sleep 20"}})
    _, text, application_id = cluster.submit(USER, case.context())
    pod = wait_for(text or "a pod", lambda: next(iter(cluster.pods(application_id)), None))
    found = violations(cluster, pod.body["spec"])
    cluster.kill(USER, application_id)
    assert found == needs
