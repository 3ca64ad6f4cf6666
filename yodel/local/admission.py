"""Rejects pods bound to a node as its kubelet does.  Pure.

Follows the kubelet's predicateAdmitHandler (pkg/kubelet/lifecycle/predicate.go, Kubernetes 1.36): resources, node
selector and required affinity, NoExecute taints.  It asks neither for cordons nor for NoSchedule taints, and an
extended resource that the node does not know at all is taken for one of the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yodel.local.placement import node_view
from yodel.local.statuses import Json
from yodel.translator.node_fit import PODS, Amounts, is_selected, requests_of, tolerated

_FIRST = (PODS, "cpu", "memory", "ephemeral-storage")
"""The order in which the scheduler's Fits looks at resources; others follow."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """``status.reason`` of the pod, and why."""

    reason: str
    message: str


def rejection(pod: Json, node: Json, others: Iterable[Json]) -> Rejection | None:
    """None when the pod may run; ``others`` are the pods that were admitted and have not ended."""
    view = node_view(node)
    used: Amounts = {}
    for other in others:
        for name, amount in requests_of(other["spec"]).items():
            used[name] = used.get(name, 0) + amount
    wanted = requests_of(pod["spec"])
    for name in sorted(wanted, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)):
        capacity = view.allocatable.get(name, 0)
        is_of_the_cluster = name not in view.allocatable and _is_extended(name)
        if wanted[name] and wanted[name] > capacity - used.get(name, 0) and not is_of_the_cluster:
            return _too_little(name, wanted[name], used.get(name, 0), capacity)
    if not is_selected(pod["spec"], view):
        text = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        return Rejection("NodeAffinity", text)
    tolerations = pod["spec"].get("tolerations") or []
    if any(taint.get("effect") == "NoExecute" and not tolerated(taint, tolerations) for taint in view.taints):
        text = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
        return Rejection("TaintToleration", text)
    return None


def beyond(pod: Json, node: Json) -> str:
    """Return what (cpu, memory) the pod requests beyond its node, in the API server's words; empty: it fits."""
    wanted, view = requests_of(pod["spec"]), node_view(node)
    found = []
    for name, unit in (("cpu", 1), ("memory", 1000)):
        asked, has = wanted.get(name, 0), view.allocatable.get(name, 0)
        if asked > has:
            found.append(f"{name}, requested: {asked // unit}, allocatable: {has // unit}")
    return "; ".join(found)


def _too_little(name: str, wanted: int, used: int, capacity: int) -> Rejection:
    """Cpu is told in thousandths, all else in whole numbers."""
    unit = 1 if name == "cpu" else 1000
    numbers = f"requested: {wanted // unit}, used: {used // unit}, capacity: {capacity // unit}"
    return Rejection(f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}")


def _is_extended(name: str) -> bool:
    """v1helper.IsExtendedResourceName: with a domain that is not Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name
