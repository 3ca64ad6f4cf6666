"""A kubelet refuses a pod that does not fit, in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from yodel.local.admission import Rejection, rejection
from yodel.local.statuses import Json


def a_node(allocatable: dict[str, str], **spec: Any) -> Json:
    amounts = {"pods": "10", **allocatable}
    return {"metadata": {"name": "n", "labels": {"zone": "one"}}, "spec": spec, "status": {"allocatable": amounts}}


def a_pod(requests: dict[str, str] | None = None, **spec: Any) -> Json:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": requests or {}}}], **spec}}


def test_what_fits_is_admitted_beside_the_others() -> None:
    node, pod = a_node({"cpu": "2"}), a_pod({"cpu": "1"})
    assert rejection(pod, node, []) is None
    assert rejection(pod, node, [pod]) is None


@pytest.mark.parametrize(
    ("resource", "asked", "capacity", "numbers"),
    [
        ("cpu", "1500m", "2", "requested: 1500, used: 1500, capacity: 2000"),
        ("memory", "3Gi", "4Gi", "requested: 3221225472, used: 3221225472, capacity: 4294967296"),
        ("kubernetes.io/batch-cpu", "3000", "4000", "requested: 3000, used: 3000, capacity: 4000"),
        ("example.com/gpuish", "2", "3", "requested: 2, used: 2, capacity: 3"),
    ],
)
def test_a_resource_that_is_short_is_named_with_its_numbers(
    resource: str, asked: str, capacity: str, numbers: str
) -> None:
    pod = a_pod({resource: asked})
    message = f"Node didn't have enough resource: {resource}, {numbers}"
    assert rejection(pod, a_node({resource: capacity}), [pod]) == Rejection(f"OutOf{resource}", message)


def test_the_number_of_pods_is_a_resource_too_and_comes_first() -> None:
    found = rejection(a_pod({"cpu": "9"}), a_node({"pods": "1", "cpu": "1"}), [a_pod()])
    assert found == Rejection("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1")


def test_an_extended_resource_that_the_node_does_not_know_is_not_its_business() -> None:
    assert rejection(a_pod({"example.com/license": "1"}), a_node({}), []) is None
    assert rejection(a_pod({"example.com/license": "1"}), a_node({"example.com/license": "0"}), []) is not None
    assert rejection(a_pod({"kubernetes.io/batch-cpu": "1"}), a_node({}), []) is not None


def test_selectors_and_noexecute_taints_are_asked_for_but_neither_cordons_nor_noschedule() -> None:
    wrong_zone = rejection(a_pod(nodeSelector={"zone": "two"}), a_node({}), [])
    assert wrong_zone is not None
    assert wrong_zone.reason == "NodeAffinity"
    evicting = a_node({}, taints=[{"key": "gone", "effect": "NoExecute"}])
    refused = rejection(a_pod(), evicting, [])
    assert refused is not None
    assert refused.reason == "TaintToleration"
    assert rejection(a_pod(tolerations=[{"operator": "Exists"}]), evicting, []) is None
    closed = a_node({}, unschedulable=True, taints=[{"key": "full", "effect": "NoSchedule"}])
    assert rejection(a_pod(), closed, []) is None
