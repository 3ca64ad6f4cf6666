"""What a node lends and why, as people see it: measured, terms, steps, published, held.  Reads only.

The agent's terms and steps lead to its loan, the ResourceManager's to what is published: a chain of numbers in which
each begins with what the one before it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, CapacityReport, Loan, Step
from yodel.domain.colocation.switch import Colocation
from yodel.services.nodes.published_node import PublishedNode
from yodel.services.nodes.publishing import Publishing
from yodel.services.writer.state import ClusterState
from yodel.translator.publishing import Silence, last_steps


class CapacityState(StrEnum):
    """What is done about a node."""

    OFF = "OFF"
    LENDING = "LENDING"
    CLOSED = "CLOSED"
    STALE = "STALE"
    GOING = "GOING"
    WAITING = "WAITING"
    OTHER = "OTHER"
    YIELDED = "YIELDED"
    FAILED = "FAILED"


_WHY: Mapping[CapacityState, str] = {
    CapacityState.OFF: "nothing is lent: colocation is off, and nothing of it is left here",
    CapacityState.LENDING: "its agent reports, and what it lends is published",
    CapacityState.CLOSED: "it lends less than its pods ask for: published is what they ask for, and nothing new starts",
    CapacityState.STALE: "its agent is silent: what it lends does not grow",
    CapacityState.GOING: "it lends nothing new: what is published follows its pods down, and goes with the last",
    CapacityState.WAITING: "nothing is granted here before its agent has reported and its pods were listed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCapacity:
    """One published name.  ``loan`` None: no report counts; ``steps`` lead from it to ``wanted``."""

    name: str
    resource: str
    loan: Loan | None
    steps: Sequence[Step]
    wanted: int | None
    published: int | None
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """One Kubernetes node.  ``age_s``: since its figures were read."""

    kubernetes_node: str
    state: CapacityState
    why: str
    report: CapacityReport | None
    age_s: float | None
    resources: Sequence[ResourceCapacity]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColocationView:
    """The whole.  ``nodes``: those about which there is something to say, by name."""

    colocation: Colocation
    names: Sequence[str]
    counts: Mapping[CapacityState, int]
    nodes: Sequence[NodeCapacity]
    refused: Mapping[str, str]
    lent: Mapping[str, int]
    published: Mapping[str, int]
    patches: int
    put_backs: int


class Capacities:
    """``now_s`` is the monotonic clock."""

    def __init__(self, state: ClusterState, publishing: Publishing) -> None:
        self._state, self._publishing = state, publishing

    def of(self, kubernetes_name: str) -> NodeCapacity | None:
        """None: there is no such Kubernetes node, as far as is known."""
        node = self._publishing.nodes.get(kubernetes_name)
        return self._capacity(kubernetes_name, node) if node is not None else None

    def view(self, nodes_max: int) -> ColocationView:
        publishing = self._publishing
        counts, shown = Counter[CapacityState](), list[NodeCapacity]()
        lent, published = Counter[str](), Counter[str]()
        for name, node in sorted(publishing.nodes.items()):
            state = self._state_of(node)
            counts[state] += 1
            if node.lent is not None:
                lent.update({CPU_MILLI: node.lent.cpu_milli, MEMORY_MIB: node.lent.memory_mib})
            published.update({one: node.present(one) or 0 for one in node.ours})
            if state not in (CapacityState.OFF, CapacityState.LENDING) and len(shown) < nodes_max:
                shown.append(self._capacity(name, node))
        return ColocationView(
            colocation=publishing.colocation,
            names=publishing.names,
            counts=counts,
            nodes=shown,
            refused={str(node_id): why for node_id, why in publishing.refused.items()},
            lent=lent,
            published=published,
            patches=publishing.patches,
            put_backs=publishing.put_backs,
        )

    @property
    def is_used(self) -> bool:
        """Something is lent, or left of a loan."""
        return bool(self._publishing.names) or any(node.ours for node in self._publishing.nodes.values())

    def line(self, kubernetes_name: str) -> str:
        """One node for a table."""
        found = self.of(kubernetes_name)
        if found is None:
            return ""
        amounts = ", ".join(f"{one.name} {one.published}" for one in found.resources if one.published is not None)
        return f"{found.state}: {amounts or 'nothing'}"

    def gauges(self) -> dict[str, float]:
        """None where nothing is lent and nothing is left of it."""
        publishing = self._publishing
        if not self.is_used:
            return {}
        found = self.view(nodes_max=0)

        def count(state: CapacityState) -> int:
            return found.counts.get(state, 0)

        return {
            "colocation_lent_cpu_milli": found.lent.get(CPU_MILLI, 0),
            "colocation_lent_memory_mib": found.lent.get(MEMORY_MIB, 0),
            "colocation_nodes_lending": count(CapacityState.LENDING),
            "colocation_nodes_closed": count(CapacityState.CLOSED),
            "colocation_nodes_silent": sum(
                found.counts.get(one, 0) for one in (CapacityState.STALE, CapacityState.GOING)
            ),
            "colocation_nodes_others": sum(
                found.counts.get(one, 0) for one in (CapacityState.OTHER, CapacityState.YIELDED)
            ),
            "colocation_reports_refused": len(publishing.refused),
            "colocation_patches_total": publishing.patches,
            "colocation_put_backs_total": publishing.put_backs,
        }

    def _state_of(self, node: PublishedNode) -> CapacityState:
        publishing = self._publishing
        if node.has_yielded:
            return CapacityState.YIELDED
        if node.problem:
            return CapacityState.FAILED
        if publishing.names and node.other:
            return CapacityState.OTHER
        if node.is_awaited:
            return CapacityState.WAITING
        if node.publication is None:
            return CapacityState.OFF
        if node.lent is None:
            is_there = any(amount is not None for amount in node.publication.amounts.values()) or node.ours
            return CapacityState.GOING if is_there else CapacityState.OFF
        if node.publication.is_closed:
            return CapacityState.CLOSED
        return CapacityState.STALE if node.silence is Silence.STALE else CapacityState.LENDING

    def _capacity(self, name: str, node: PublishedNode) -> NodeCapacity:
        said, state = self._state.loans.of(name), self._state_of(node)
        why = (
            _WHY.get(state)
            or {
                CapacityState.OTHER: f"{node.other} publishes these names here: they are read, and never written",
                CapacityState.YIELDED: f"{node.other} changed what was published again and again: it is left to it",
                CapacityState.FAILED: f"publishing fails: {node.problem}",
            }[state]
        )
        return NodeCapacity(
            kubernetes_node=name,
            state=state,
            why=why,
            report=said.report if said is not None else None,
            age_s=self._publishing.age_s(said) if said is not None else None,
            resources=[self._resource(one, node, said.report if said else None) for one in self._names(node)],
        )

    def _names(self, node: PublishedNode) -> list[str]:
        """What the loan is published as, in the order of the resources; then what is left of earlier policies."""
        return [*self._publishing.names, *sorted(node.ours - {*self._publishing.names})]

    def _resource(self, name: str, node: PublishedNode, report: CapacityReport | None) -> ResourceCapacity:
        names, publication = self._publishing.names, node.publication
        resource = (CPU_MILLI, MEMORY_MIB)[names.index(name)] if name in names else ""
        loan = report.loan_of(resource) if report is not None and resource else None
        steps: tuple[Step, ...] = ()
        if publication is not None and name in publication.amounts:
            own = node.lending.steps.get(resource, ()) if node.lending is not None else ()
            steps = (*own, *last_steps(name, own[-1].after if own else 0, publication))
        is_known = publication is not None and name in publication.amounts
        return ResourceCapacity(
            name=name,
            resource=resource,
            loan=loan,
            steps=steps,
            wanted=publication.amounts[name] if publication is not None and is_known else node.present(name),
            published=node.present(name),
            held=publication.held[name] if publication is not None and is_known else self._publishing.held(node, name),
        )
