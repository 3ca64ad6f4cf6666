"""Where a pod may and should go: filters and scores of a small scheduler, pure.

Follows kube-scheduler's NodeUnschedulable, NodeAffinity, TaintToleration and NodeResourcesFit plugins in their default
order, and LeastAllocated with preferred node affinity as the score.  The message of an unschedulable pod counts
the first reason of each node, sorted by text, as ``framework.FitError`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from yodel.errors import InvalidValue
from yodel.local.quantities import parse_milli
from yodel.local.selectors import Requirement
from yodel.local.statuses import Json

AFFINITY_SCORE_MAX = 100
PODS = "pods"

Amounts = dict[str, int]
"""Resource name to thousandths."""


@dataclass(frozen=True, slots=True)
class Placement:
    """``node`` is None when no node fits; ``message`` then says why."""

    node: str | None
    message: str = ""


@dataclass(slots=True)
class NodeView:
    """One node as the scheduler sees it; ``used`` is kept up to date by its owner."""

    name: str
    labels: Mapping[str, str]
    taints: list[Json]
    unschedulable: bool
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)


def node_view(node: Json) -> NodeView:
    spec = node.get("spec") or {}
    return NodeView(
        name=node["metadata"]["name"],
        labels=node["metadata"].get("labels") or {},
        taints=spec.get("taints") or [],
        unschedulable=bool(spec.get("unschedulable")),
        allocatable=_amounts((node.get("status") or {}).get("allocatable") or {}),
    )


def pod_requests(pod: Json) -> Amounts:
    """The sum over the containers, plus the pod's own overhead and one pod."""
    total: Amounts = {PODS: 1000}
    for container in pod["spec"]["containers"]:
        requests = _amounts((container.get("resources") or {}).get("requests") or {})
        for name, milli in requests.items():
            total[name] = total.get(name, 0) + milli
    for name, milli in _amounts(pod["spec"].get("overhead") or {}).items():
        total[name] = total.get(name, 0) + milli
    return total


def place(pod: Json, requests: Amounts, nodes: Iterable[NodeView]) -> Placement:
    """The best node of those that fit; ties go to the first name."""
    views = sorted(nodes, key=lambda node: node.name)
    refusals: Counter[str] = Counter()
    best: tuple[float, NodeView] | None = None
    for node in views:
        reasons = _refusals(pod, requests, node)
        refusals.update(reasons)
        if not reasons:
            score = _score(pod, requests, node)
            if best is None or score > best[0]:
                best = (score, node)
    if best is not None:
        return Placement(best[1].name)
    texts = sorted(f"{count} {reason}" for reason, count in refusals.items())
    message = (
        f"0/{len(views)} nodes are available: {', '.join(texts)}." if views else "no nodes available to schedule pods"
    )
    return Placement(None, message)


def _refusals(pod: Json, requests: Amounts, node: NodeView) -> list[str]:
    """Of the first filter that refuses."""
    tolerations = pod["spec"].get("tolerations") or []
    unschedulable = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node.unschedulable and not _tolerated(unschedulable, tolerations):
        return ["node(s) were unschedulable"]
    if not _selected(pod["spec"], node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    for taint in node.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerated(taint, tolerations):
            return [f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value', '')}}}"]
    return _lacking(requests, node)


def _lacking(requests: Amounts, node: NodeView) -> list[str]:
    reasons = []
    for name, wanted in requests.items():
        if wanted and wanted > node.allocatable.get(name, 0) - node.used.get(name, 0):
            reasons.append("Too many pods" if name == PODS else f"Insufficient {name}")
    return reasons


def _tolerated(taint: Json, tolerations: list[Json]) -> bool:
    for toleration in tolerations:
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        key = toleration.get("key")
        if toleration.get("operator") == "Exists":
            if not key or key == taint.get("key"):
                return True
        elif key == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def _selected(spec: Json, node: NodeView) -> bool:
    selector: Mapping[str, str] = spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or [])


def _term_matches(term: Json, node: NodeView) -> bool:
    """An empty term matches nothing (v1.NodeSelectorTerm)."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.name}
    return all(_expression_matches(e, node.labels) for e in expressions) and all(
        _expression_matches(e, names) for e in fields
    )


def _expression_matches(expression: Json, labels: Mapping[str, str]) -> bool:
    operator, key, values = expression["operator"], expression["key"], expression.get("values") or []
    if operator in ("Gt", "Lt"):
        try:
            actual, bound = int(labels[key]), int(values[0])
        except (KeyError, ValueError, IndexError):
            return False
        return actual > bound if operator == "Gt" else actual < bound
    return Requirement(key, operator, frozenset(values)).matches(labels)


def _score(pod: Json, requests: Amounts, node: NodeView) -> float:
    """Preferred affinity first, then the share that stays free of the scarcest requested resource."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    weight = sum(int(p.get("weight", 1)) for p in preferred if _term_matches(p.get("preference") or {}, node))
    shares = []
    for name, wanted in requests.items():
        allocatable = node.allocatable.get(name, 0)
        if allocatable > 0:
            shares.append((allocatable - node.used.get(name, 0) - wanted) / allocatable)
    return weight * AFFINITY_SCORE_MAX + (sum(shares) / len(shares) if shares else 0.0)


def _amounts(quantities: Json) -> Amounts:
    """An unreadable quantity counts as nothing: the API server has refused those of pods already."""
    amounts: Amounts = {}
    for name, value in quantities.items():
        try:
            amounts[name] = parse_milli(value)
        except InvalidValue:
            amounts[name] = 0
    return amounts
