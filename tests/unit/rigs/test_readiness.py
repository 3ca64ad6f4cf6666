"""What is taken for ready."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rigs.kubernetes.install import endpoint
from tests.rigs.kubernetes.readiness import unready, workload_progress


def workload(kind: str, status: dict[str, Any], *, generation: int = 2) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": generation},
        "spec": {"replicas": 1},
        "status": status,
    }


@pytest.mark.parametrize(
    ("item", "ready", "wanted"),
    [
        (workload("Deployment", {}), 0, 1),
        (workload("Deployment", {"observedGeneration": 2, "updatedReplicas": 1}), 0, 1),
        (workload("Deployment", {"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1}), 1, 1),
        (workload("Deployment", {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1}), 0, 1),
        (workload("StatefulSet", {"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1}), 1, 1),
        (
            workload(
                "DaemonSet",
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 3,
                },
            ),
            2,
            3,
        ),
    ],
)
def test_only_the_newest_make_counts(item: dict[str, Any], ready: int, wanted: int) -> None:
    found = workload_progress(item)
    assert (found.ready, found.wanted, found.is_done) == (ready, wanted, ready == wanted)


def test_a_daemon_set_that_has_not_counted_its_nodes_is_not_done() -> None:
    assert not workload_progress(workload("DaemonSet", {"observedGeneration": 2})).is_done


def test_a_standby_is_not_waited_for() -> None:
    item = workload("Deployment", {"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 1})
    item["spec"]["replicas"] = 2
    assert not workload_progress(item).is_done
    item["metadata"]["labels"] = {"app.kubernetes.io/component": "resourcemanager"}
    assert workload_progress(item).is_done


def test_logs_are_shown_of_containers_that_are_not_ready() -> None:
    status = {
        "phase": "Running",
        "initContainerStatuses": [{"name": "schema", "ready": True}],
        "containerStatuses": [{"name": "main", "ready": False}],
    }
    assert unready({"status": status}) == ["main"]
    assert unready({"status": {**status, "phase": "Succeeded"}}) == []
    assert unready({"status": {"phase": "Pending"}}) == []


def test_clients_dial_a_nodes_port_or_the_balancers_address() -> None:
    ports = [{"name": "client", "port": 8032, "nodePort": 30032}]
    assert endpoint({"spec": {"type": "NodePort", "ports": ports}}, "10.0.0.1") == ("10.0.0.1", {"client": 30032})
    given = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
    balanced = {"spec": {"type": "LoadBalancer", "ports": ports}, "status": given}
    assert endpoint(balanced, "10.0.0.1") == ("192.0.2.7", {"client": 8032})
