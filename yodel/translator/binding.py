"""Chooses a pod's node where this RM does so (``placement = "bind"``), from its ledger.

A node is out when kube-scheduler's filters refuse it, when it is not ready, when no node agent of ours runs there, or
when there is not enough left of a resource.  Of the others the most wished for wins (preferred node affinity: hosts
before racks), of these the one with the largest free share of its scarcest resource, of these the one with fewest pods
of the same application.

What depends on slow facts (labels, taints, agents) is remembered until one of them changes; the rest follows the
ledger's order from the freest level down and stops at the first level with a place, so a choice does not look at every
node.  Of what a pod may say of its place only node selector, node affinity and tolerations are judged; ``profiles``
refuses the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from yodel.translator import names
from yodel.translator.ledger import NodeBook, NodeLedger, NodeOrder
from yodel.translator.node_fit import (
    Object,
    lacking,
    nowhere,
    preferred_terms,
    refusal,
    requests_of,
    required_terms,
    term_matches,
)

REMEMBERED_MAX = 256
"""Different demands and wishes whose nodes are remembered."""
FEW = 64
"""As many nodes are looked at one by one; of more, from the freest level down."""
INDEXES_MAX = 32
"""Labels by whose values nodes are looked up: hosts and racks above all, for every map task may name other ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """Holds a pod's demands on its node.  ``where`` tells them apart, ``amounts`` are in thousandths."""

    spec: Object
    where: str
    amounts: Mapping[str, int]
    application: str

    @property
    def shape(self) -> tuple[object, ...]:
        """Pods of one shape fit, or do not, alike."""
        return (self.where, *self.amounts.items())


def wants_of(manifest: Object) -> Wants:
    spec: Object = manifest["spec"]
    demands = (spec.get("nodeSelector"), required_terms(spec), spec.get("tolerations"))
    amounts = {name: amount for name, amount in sorted(requests_of(spec).items()) if amount}
    application = str(manifest["metadata"].get("labels", {}).get(names.APPLICATION, ""))
    return Wants(spec=spec, where=repr(demands), amounts=amounts, application=application)


class Chooser:
    """Chooses from a ledger; ``open_nodes`` are those whose node agent may be given containers."""

    def __init__(self, ledger: NodeLedger) -> None:
        self._ledger = ledger
        self._open: set[str] = set()
        self._known_version = -1
        self._eligible: dict[str, frozenset[NodeBook]] = {}
        self._matching: dict[str, frozenset[NodeBook]] = {}
        self._by_label: dict[str, dict[str, list[NodeBook]]] = {}

    def open(self, node_name: str, *, is_open: bool) -> bool:
        """Set whether the node's agent may get containers; return True if that is a change."""
        if (node_name in self._open) is is_open:
            return False
        (self._open.add if is_open else self._open.discard)(node_name)
        self._known_version = -1
        return True

    def choose(self, wants: Wants, avoided: Collection[str] = ()) -> str | None:
        """The name of the best node, or None when there is none."""
        self._refresh()
        eligible = self._eligible_for(wants)
        order = self._ledger.order(tuple(wants.amounts))
        for nodes in self._wished_for(wants):
            best = _best_of(eligible & nodes, order, wants, avoided)
            if best is not None:
                return best.name
        best = _best_of(eligible, order, wants, avoided)
        return best.name if best is not None else None

    def may_go(self, wants: Wants, node_name: str) -> bool:
        """Return True if the node may still be chosen, regardless of its free resources."""
        self._refresh()
        node = self._ledger.nodes.get(node_name)
        return node is not None and node in self._eligible_for(wants)

    def explain(self, wants: Wants, avoided: Collection[str] = (), held: Collection[str] = ()) -> str:
        """Return why there is no place, in kube-scheduler's words.  Looks at every node."""
        reasons: Counter[str] = Counter()
        for node in self._ledger.nodes.values():
            reason = self._refusal(wants.spec, node)
            if not reason and node.name in avoided:
                reason = "node(s) refused the pod a short time ago"
            if not reason and node.name in held:
                reason = "node(s) were reserved for a larger container"
            reasons.update([reason] if reason else lacking(wants.amounts, node.allocatable, node.used))
        return nowhere(len(self._ledger.nodes), reasons)

    def _refusal(self, spec: Object, node: NodeBook) -> str:
        reason = refusal(spec, node)
        if reason:
            return reason
        if not node.ready:
            return "node(s) were not ready"
        return "" if node.name in self._open else "node(s) had no running node agent"

    def _refresh(self) -> None:
        if self._known_version == self._ledger.facts_version:
            return
        self._known_version = self._ledger.facts_version
        self._eligible.clear()
        self._matching.clear()
        self._by_label.clear()

    def _eligible_for(self, wants: Wants) -> frozenset[NodeBook]:
        found = self._eligible.get(wants.where)
        if found is None:
            if len(self._eligible) >= REMEMBERED_MAX:
                self._eligible.clear()
            required = required_terms(wants.spec)
            nodes = self._ledger.nodes.values() if required is None else self._candidates(required)
            found = frozenset(node for node in nodes if not self._refusal(wants.spec, node))
            self._eligible[wants.where] = found
        return found

    def _wished_for(self, wants: Wants) -> list[set[NodeBook]]:
        """Nodes with a wish, the most wished for first."""
        weights: dict[NodeBook, int] = {}
        for wish in preferred_terms(wants.spec):
            matching = self._matched_by(wish.get("preference") or {})
            if len(matching) < len(self._ledger.nodes):  # what holds everywhere prefers nothing
                for node in matching:
                    weights[node] = weights.get(node, 0) + int(wish.get("weight", 1))
        groups: dict[int, set[NodeBook]] = {}
        for node, weight in weights.items():
            groups.setdefault(weight, set()).add(node)
        return [groups[weight] for weight in sorted(groups, reverse=True)]

    def _matched_by(self, term: Object) -> Collection[NodeBook]:
        if _naming(term) is not None:
            named = self._candidates([term])
            is_all = len(term["matchExpressions"]) == 1 and not term.get("matchFields")
            return named if is_all else [node for node in named if term_matches(term, node)]
        key = repr(term)
        found = self._matching.get(key)
        if found is None:
            if len(self._matching) >= REMEMBERED_MAX:
                self._matching.clear()
            found = frozenset(node for node in self._ledger.nodes.values() if term_matches(term, node))
            self._matching[key] = found
        return found

    def _candidates(self, terms: Sequence[Object]) -> Collection[NodeBook]:
        """A superset of the nodes that one of the terms matches, small where all name hosts or racks."""
        found: set[NodeBook] = set()
        for term in terms:
            expression = _naming(term)
            if expression is None:
                return self._ledger.nodes.values()
            by_value = self._index(expression["key"])
            for value in expression.get("values") or ():
                found.update(by_value.get(value, ()))
        return found

    def _index(self, label: str) -> Mapping[str, Sequence[NodeBook]]:
        found = self._by_label.get(label)
        if found is None:
            if len(self._by_label) >= INDEXES_MAX:
                self._by_label.clear()
            found = self._by_label[label] = {}
            for node in self._ledger.nodes.values():
                if label in node.labels:
                    found.setdefault(node.labels[label], []).append(node)
        return found


def _naming(term: Object) -> Object | None:
    """The expression of a term that names the values of a label."""
    return next((e for e in term.get("matchExpressions") or () if e["operator"] == "In"), None)


def _best_of(nodes: Set[NodeBook], order: NodeOrder, wants: Wants, avoided: Collection[str]) -> NodeBook | None:
    """The freest of some nodes, by whole levels; of these the one with fewest pods of the application."""
    if len(nodes) <= FEW:
        fitting = [node for node in nodes if node.name not in avoided and node.fits(wants.amounts)]
        return min(
            fitting,
            key=lambda node: (-order.level_of[node], node.pods_of.get(wants.application, 0), node.name),
            default=None,
        )
    for level in reversed(order.levels):
        best = _best_of_level(level, nodes, wants, avoided) if level else None
        if best is not None:
            return best
    return None


def _best_of_level(
    level: Iterable[NodeBook], nodes: Set[NodeBook], wants: Wants, avoided: Collection[str]
) -> NodeBook | None:
    best, fewest = None, -1
    for node in level:
        count = node.pods_of.get(wants.application, 0)
        if best is not None and count >= fewest:
            continue
        if node in nodes and node.name not in avoided and node.fits(wants.amounts):
            if count == 0:
                return node
            best, fewest = node, count
    return best
