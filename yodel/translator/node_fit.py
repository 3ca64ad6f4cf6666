"""Checks whether a pod may go to a node: kube-scheduler's filters.  Pure.

Follows the plugins NodeUnschedulable, NodeAffinity, TaintToleration and NodeResourcesFit in their default order.  The
message of a pod that fits nowhere counts the reasons of all nodes, sorted by text, as ``framework.FitError`` does.  It
is used by the local cluster's scheduler and by the RM where that chooses nodes itself.

Refused: nothing.  A quantity that cannot be read counts as nothing, for the API server has refused those of pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from yodel.errors import InvalidValue
from yodel.translator.quantities import parse_milli

PODS = "pods"
QUANTITIES_MAX = 10_000
"""Different quantities remembered: the same few sizes come again and again."""

Amounts = dict[str, int]
"""Resource name to thousandths."""
Object = Mapping[str, Any]
"""Part of a Kubernetes object as JSON."""

_NO_NEW_PODS = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_OPPOSITES = {"NotIn": "In", "DoesNotExist": "Exists"}


class Fitted(Protocol):
    """The part of a node that decides before its resources do."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def taints(self) -> Sequence[Object]: ...

    @property
    def unschedulable(self) -> bool: ...


def refusal(spec: Object, node: Fitted) -> str:
    """The first reason, beside resources, that keeps a pod of this spec from the node; empty when there is none."""
    tolerations = spec.get("tolerations") or ()
    if node.unschedulable and not tolerated(_NO_NEW_PODS, tolerations):
        return "node(s) were unschedulable"
    if not is_selected(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    for taint in node.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations):
            return f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value') or ''}}}"
    return ""


def lacking(requests: Mapping[str, int], allocatable: Mapping[str, int], used: Mapping[str, int]) -> list[str]:
    """Return a message for each insufficient resource."""
    return [
        "Too many pods" if name == PODS else f"Insufficient {name}"
        for name, wanted in requests.items()
        if wanted and wanted > allocatable.get(name, 0) - used.get(name, 0)
    ]


def nowhere(nodes: int, reasons: Counter[str]) -> str:
    """Return why none of so many nodes will do."""
    if not nodes:
        return "no nodes available to schedule pods"
    texts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(texts)}."


def tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    """v1.Toleration.ToleratesTaint for one of the tolerations."""
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


def is_selected(spec: Object, node: Fitted) -> bool:
    """Return True if node selector and required node affinity select the node."""
    selector: Mapping[str, str] = spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    required = required_terms(spec)
    return required is None or any(term_matches(term, node) for term in required)


def required_terms(spec: Object) -> Sequence[Object] | None:
    """Alternatives of which one must match the node; None when there is no such demand."""
    required = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution")
    return (required.get("nodeSelectorTerms") or ()) if required else None


def preferred_terms(spec: Object) -> Sequence[Object]:
    """Wishes, each with ``weight`` and ``preference``."""
    return _node_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution") or ()


def term_matches(term: Object, node: Fitted) -> bool:
    """An empty term matches nothing (v1.NodeSelectorTerm)."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.name}
    return all(expression_matches(e, node.labels) for e in expressions) and all(
        expression_matches(e, names) for e in fields
    )


def expression_matches(expression: Object, labels: Mapping[str, str]) -> bool:
    """v1.NodeSelectorRequirement; NotIn and DoesNotExist match what has no such label."""
    operator, key = expression["operator"], expression["key"]
    values: Sequence[str] = expression.get("values") or ()
    if operator in ("Gt", "Lt"):
        try:
            actual, bound = int(labels[key]), int(values[0])
        except (KeyError, ValueError, IndexError):
            return False
        return actual > bound if operator == "Gt" else actual < bound
    if operator in _OPPOSITES:
        return not _is_in(_OPPOSITES[operator], key, values, labels)
    return _is_in(operator, key, values, labels)


def amounts(quantities: Mapping[str, Any]) -> Amounts:
    """Return the quantities in thousandths."""
    return {name: milli(value) for name, value in quantities.items()}


@lru_cache(QUANTITIES_MAX)
def milli(quantity: object) -> int:
    """Return the quantity in thousandths; 0 if it cannot be read."""
    try:
        return parse_milli(quantity)
    except InvalidValue:
        return 0


def requests_of(spec: Object) -> Amounts:
    """Return the resources that a pod of this spec takes of its node (resourcehelper.PodRequests), and one pod.

    Containers that run before the others count where they need more than all that run later; those that stay (sidecars)
    count beside what comes after them.  Requests of the pod as a whole take the place of the sum.
    """
    running: Amounts = {}
    for container in spec.get("containers") or ():
        _add(running, _requests(container))
    sidecars: Amounts = {}
    before: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, own)
            _at_least(before, sidecars)
        else:
            _add(own, sidecars)
            _at_least(before, own)
    _add(running, sidecars)
    _at_least(running, before)
    running.update(_requests(spec))
    _add(running, amounts(spec.get("overhead") or {}))
    running[PODS] = 1000
    return running


def _requests(container: Object) -> Amounts:
    return amounts((container.get("resources") or {}).get("requests") or {})


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _at_least(total: Amounts, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        total[name] = max(total.get(name, 0), value)


def _is_in(operator: str, key: str, values: Collection[str], labels: Mapping[str, str]) -> bool:
    if operator == "Exists":
        return key in labels
    return key in labels and labels[key] in values


def _node_affinity(spec: Object) -> Object:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}
