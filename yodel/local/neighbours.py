"""Pods beside and apart from pods: kube-scheduler's InterPodAffinity filter, pure.

Required terms only; preferred ones change no answer.  Two things of the real plugin that are easily missed: a pod that
is placed keeps away those whom its own anti-affinity means, and terms of affinity hold only by pods that match all of
them.  The first pod of a group that wants to be beside its own kind is let in.  ``namespaceSelector`` is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from yodel.local.statuses import Json
from yodel.translator.node_fit import expression_matches

NodeLabels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A pod as far as others care: where it is, what it is called, whom it keeps away."""

    namespace: str
    labels: Mapping[str, str]
    node: str
    apart: Sequence[Json]


def neighbour(pod: Json) -> Neighbour:
    metadata = pod.get("metadata") or {}
    return Neighbour(
        metadata.get("namespace") or "",
        metadata.get("labels") or {},
        pod["spec"].get("nodeName") or "",
        terms_of(pod, "podAntiAffinity"),
    )


def terms_of(pod: Json, kind: str) -> Sequence[Json]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()


def filter_for(
    pod: Json, others: Iterable[Neighbour], labels_of: Mapping[str, NodeLabels]
) -> Callable[[NodeLabels], str]:
    """A function from a node's labels to the reason that keeps the pod from it; empty for none."""
    own = neighbour(pod)
    near, apart = terms_of(pod, "podAffinity"), own.apart
    beside: set[tuple[str, str]] = set()
    away: set[tuple[str, str]] = set()
    kept_away: set[tuple[str, str]] = set()
    is_alone = True
    for other in others:
        where = labels_of.get(other.node, {})
        if near and all(_matches(term, own.namespace, other) for term in near):
            is_alone = False
            beside |= _topologies(near, where)
        away |= _topologies([term for term in apart if _matches(term, own.namespace, other)], where)
        kept_away |= _topologies([term for term in other.apart if _matches(term, other.namespace, own)], where)
    may_be_first = is_alone and all(_matches(term, own.namespace, own) for term in near)

    def refusal(labels: NodeLabels) -> str:
        at = set(labels.items())
        for term in near:
            key = term["topologyKey"]
            if key not in labels or ((key, labels[key]) not in beside and not may_be_first):
                return "node(s) didn't match pod affinity rules"
        if away & at:
            return "node(s) didn't match pod anti-affinity rules"
        if kept_away & at:
            return "node(s) didn't satisfy existing pods anti-affinity rules"
        return ""

    return refusal


def _topologies(terms: Iterable[Json], labels: NodeLabels) -> set[tuple[str, str]]:
    """Nodes without the key belong to no topology."""
    return {(term["topologyKey"], labels[term["topologyKey"]]) for term in terms if term["topologyKey"] in labels}


def _matches(term: Json, own_namespace: str, other: Neighbour) -> bool:
    """A term without a selector means no pod."""
    selector = term.get("labelSelector")
    if selector is None or other.namespace not in (term.get("namespaces") or (own_namespace,)):
        return False
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return all(other.labels.get(key) == value for key, value in wanted.items()) and all(
        expression_matches(expression, other.labels) for expression in selector.get("matchExpressions") or ()
    )
