from __future__ import annotations

from typing import Any

import pytest

from yodel.local.placement import SchedulerNode, node_view, place, pod_requests
from yodel.local.statuses import Json


def a_node(
    name: str, *, labels: dict[str, str] | None = None, spec: Json | None = None, **allocatable: str
) -> SchedulerNode:
    amounts = {"pods": "10", "cpu": "4", "kubernetes.io/batch-memory": "8Gi", **allocatable}
    metadata = {"name": name, "labels": labels or {}}
    return node_view({"metadata": metadata, "spec": spec or {}, "status": {"allocatable": amounts}})


def a_pod(requests: dict[str, str] | None = None, **spec: Any) -> Json:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": requests or {}}}], **spec}}


def placed(pod: Json, *nodes: SchedulerNode) -> str | None:
    return place(pod, pod_requests(pod), nodes).node


def required(*expressions: Json, **term: Any) -> Json:
    terms = [{"matchExpressions": list(expressions), **term}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_least_used_node_wins_and_ties_go_to_the_first_name() -> None:
    busy, idle = a_node("a"), a_node("b")
    busy.used = {"cpu": 2000}
    pod = a_pod({"cpu": "1"})
    assert placed(pod, busy, idle) == "b"
    assert placed(pod, a_node("b"), a_node("a")) == "a"


def test_message_counts_the_reasons_as_kube_scheduler_does() -> None:
    pod = a_pod({"kubernetes.io/batch-memory": "9Gi"})
    placement = place(pod, pod_requests(pod), [a_node("a"), a_node("b")])
    assert placement.message == "0/2 nodes are available: 2 Insufficient kubernetes.io/batch-memory."
    assert place(pod, pod_requests(pod), []).message == "no nodes available to schedule pods"


def test_used_amounts_and_pod_count_limit_a_node() -> None:
    node = a_node("a", pods="1")
    node.used = {"pods": 1000}
    pod = a_pod()
    assert place(pod, pod_requests(pod), [node]).message == "0/1 nodes are available: 1 Too many pods."


@pytest.mark.parametrize(
    ("expression", "node"),
    [
        ({"key": "zone", "operator": "In", "values": ["two"]}, "b"),
        ({"key": "zone", "operator": "NotIn", "values": ["one"]}, "b"),
        ({"key": "gpu", "operator": "Exists"}, "b"),
        ({"key": "gpu", "operator": "DoesNotExist"}, "a"),
        ({"key": "gpu", "operator": "Gt", "values": ["3"]}, "b"),
        ({"key": "gpu", "operator": "Lt", "values": ["3"]}, None),
    ],
)
def test_required_affinity(expression: Json, node: str | None) -> None:
    nodes = (a_node("a", labels={"zone": "one"}), a_node("b", labels={"zone": "two", "gpu": "4"}))
    assert placed(a_pod(affinity=required(expression)), *nodes) == node


def test_required_affinity_by_node_name() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    assert placed(a_pod(affinity=required(matchFields=[field])), a_node("a"), a_node("b")) == "b"


def test_preferred_affinity_outweighs_free_space() -> None:
    preference = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["two"]}]}
    preferred = [{"weight": 1, "preference": preference}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    nearer = a_node("b", labels={"zone": "two"})
    nearer.used = {"cpu": 3000}
    assert placed(a_pod({"cpu": "1"}, affinity=affinity), a_node("a"), nearer) == "b"


def test_node_selector_and_cordon() -> None:
    cordoned = a_node("a", labels={"zone": "one"}, spec={"unschedulable": True})
    assert placed(a_pod(nodeSelector={"zone": "one"}), cordoned, a_node("b")) is None
    assert placed(a_pod(nodeSelector={"zone": "one"}), a_node("a", labels={"zone": "one"})) == "a"


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"key": "dedicated", "value": "batch"}, True),
        ({"key": "dedicated", "value": "other"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_taints_need_a_toleration(toleration: Json, fits: bool) -> None:
    tainted = a_node("a", spec={"taints": [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]})
    assert (placed(a_pod(tolerations=[toleration] if toleration else []), tainted) == "a") is fits
