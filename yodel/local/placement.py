"""Chooses a pod's node: the filters of ``translator.node_fit`` and the scores of a small scheduler.  Pure.

The score follows kube-scheduler's LeastAllocated with preferred node affinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from yodel.local.neighbours import Neighbour, filter_for
from yodel.local.statuses import Json
from yodel.translator.node_fit import (
    Amounts,
    amounts,
    lacking,
    nowhere,
    preferred_terms,
    refusal,
    requests_of,
    term_matches,
)

AFFINITY_SCORE_MAX = 100


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """``node`` is None when no node fits; ``message`` then says why."""

    node: str | None
    message: str = ""


@dataclass(slots=True)
class SchedulerNode:
    """One node as the scheduler sees it; ``used`` is kept up to date by its owner."""

    name: str
    labels: Mapping[str, str]
    taints: list[Json]
    unschedulable: bool
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)


def node_view(node: Json) -> SchedulerNode:
    spec = node.get("spec") or {}
    return SchedulerNode(
        name=node["metadata"]["name"],
        labels=node["metadata"].get("labels") or {},
        taints=spec.get("taints") or [],
        unschedulable=bool(spec.get("unschedulable")),
        allocatable=amounts((node.get("status") or {}).get("allocatable") or {}),
    )


def pod_requests(pod: Json) -> Amounts:
    """Return the resources that the pod takes of its node."""
    return requests_of(pod["spec"])


def place(
    pod: Json, requests: Amounts, nodes: Iterable[SchedulerNode], neighbours: Collection[Neighbour] = ()
) -> PlacementResult:
    """The best node of those that fit; ties go to the first name.  ``neighbours`` are the pods that are placed."""
    views = sorted(nodes, key=lambda node: node.name)
    refusals: Counter[str] = Counter()
    best: tuple[float, SchedulerNode] | None = None
    company = filter_for(pod, neighbours, {node.name: node.labels for node in views})
    for node in views:
        reason = refusal(pod["spec"], node)
        reasons = [reason] if reason else lacking(requests, node.allocatable, node.used)
        if not reasons and (reason := company(node.labels)):
            reasons = [reason]
        refusals.update(reasons)
        if not reasons:
            score = _score(pod, requests, node)
            if best is None or score > best[0]:
                best = (score, node)
    return PlacementResult(None, nowhere(len(views), refusals)) if best is None else PlacementResult(best[1].name)


def _score(pod: Json, requests: Amounts, node: SchedulerNode) -> float:
    """Preferred affinity first, then the share that stays free of the requested resources."""
    preferred = preferred_terms(pod["spec"])
    weight = sum(int(p.get("weight", 1)) for p in preferred if term_matches(p.get("preference") or {}, node))
    shares = []
    for name, wanted in requests.items():
        allocatable = node.allocatable.get(name, 0)
        if allocatable > 0:
            shares.append((allocatable - node.used.get(name, 0) - wanted) / allocatable)
    return weight * AFFINITY_SCORE_MAX + (sum(shares) / len(shares) if shares else 0.0)
