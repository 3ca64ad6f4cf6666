"""What a node lends and why, as people see it: measured, terms, steps, published, held.  Reads only.

The agent's terms and steps lead to its loan, the ResourceManager's to what is published: a chain of numbers in which
each begins with what the one before it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from yodel.domain.colocation.emergency import Emergency
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, OTHERS_PODS, CapacityReport, Loan, Step
from yodel.domain.colocation.switch import Colocation
from yodel.services.nodes.agents import NodeService
from yodel.services.nodes.published_node import CapacityState, PublishedNode
from yodel.services.nodes.publishing import Publishing
from yodel.services.nodes.written_limits import LimitsState, NodeLimits, WrittenLimits
from yodel.services.writer.state import ClusterState
from yodel.translator.publishing import last_steps
from yodel.translator.quantities import quantity

_WHY: Mapping[CapacityState, str] = {
    CapacityState.OFF: "colocation is off, and nothing of it remains on the node",
    CapacityState.LENDING: "the node agent is reporting, and its lent capacity is published",
    CapacityState.FULL: "the node agent is reporting, and no CPU or no memory can be lent",
    CapacityState.CLOSED: "overcommitted: published value kept at what running pods request; closed to new pods",
    CapacityState.STALE: "no recent report from the node agent: lent capacity does not grow",
    CapacityState.GOING: (
        "closed to new pods: the published value follows what its pods request, and is removed with the last"
    ),
    CapacityState.WAITING: "no containers start before the node agent has reported and the node's pods are listed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCapacity:
    """One published name.  ``loan`` None: no report counts; ``steps`` lead from it, in the unit of its resource, and
    ``last_steps`` from there to ``wanted``.  ``unit`` is of what is published and held, empty where nobody knows it."""

    name: str
    unit: str
    resource: str
    loan: Loan | None
    steps: Sequence[Step]
    last_steps: Sequence[Step]
    wanted: int | None
    published: int | None
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """One Kubernetes node.  ``age_s``: since its figures were read.  ``emergency``: its memory runs short, or did so
    lately; ``cool_down_s`` is what is left."""

    kubernetes_node: str
    state: CapacityState
    why: str
    report: CapacityReport | None
    age_s: float | None
    emergency: Emergency | None
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
    units: Mapping[str, str]
    """What an amount of each published name counts, where that is known."""
    patches: int
    put_backs: int
    limits: Sequence[NodeLimits]
    """Of nodes where batch pods are bounded, were, or may be."""
    limits_counts: Mapping[LimitsState, int]
    """Of all of them, shown or not."""
    others_pods: Mapping[str, int]
    """By node, how many best-effort pods of others share the quota of batch pods; none where there is no quota."""


class Capacities:
    """Of the nodes that ``publishing`` knows."""

    def __init__(
        self, state: ClusterState, publishing: Publishing, written_limits: WrittenLimits, nodes: NodeService
    ) -> None:
        self._state, self._publishing = state, publishing
        self._written_limits, self._nodes = written_limits, nodes

    def of(self, kubernetes_name: str) -> NodeCapacity | None:
        """None: there is no such Kubernetes node, as far as is known."""
        node = self._publishing.nodes.get(kubernetes_name)
        return self._capacity(kubernetes_name, node) if node is not None else None

    def view(self, nodes_max: int) -> ColocationView:
        publishing, tally = self._publishing, self._publishing.tally
        shown = nsmallest(nodes_max, tally.remarkable)
        limits = self._written_limits.nodes(self._nodes.runtimes)
        return ColocationView(
            colocation=publishing.colocation,
            names=publishing.names,
            counts={state: count for state, count in tally.counts.items() if count},
            nodes=[self._capacity(name, publishing.nodes[name]) for name in shown],
            refused={str(node_id): why for node_id, why in publishing.refused.items()},
            lent={resource: amount for resource, amount in tally.lent.items() if amount},
            published={name: amount for name, amount in tally.published.items() if amount},
            units=self._units,
            patches=publishing.patches,
            put_backs=publishing.put_backs,
            limits=limits[:nodes_max],
            limits_counts=Counter(one.state for one in limits),
            others_pods=self._others_pods(),
        )

    def _others_pods(self) -> dict[str, int]:
        policy = self._publishing.colocation.policy
        if policy is None or not policy.quota:
            return {}
        said = self._state.loans.said.items()
        counts = {name: {one.name: one.amount for one in one_said.report.counts} for name, one_said in said}
        return {name: found[OTHERS_PODS] for name, found in counts.items() if found.get(OTHERS_PODS)}

    @property
    def is_used(self) -> bool:
        """Something is lent, or left of a loan."""
        return bool(self._publishing.names) or not self._publishing.tally.is_empty

    def line(self, kubernetes_name: str) -> str:
        """One node for a table."""
        found = self.of(kubernetes_name)
        if found is None:
            return ""
        there = [one for one in found.resources if one.published is not None]
        amounts = ", ".join(f"{one.name} {quantity(one.published or 0, one.unit)}" for one in there)
        return f"{found.state}: {amounts or 'nothing'}"

    def gauges(self) -> dict[str, float]:
        """None where nothing is lent and nothing is left of it."""
        publishing, tally = self._publishing, self._publishing.tally
        if not self.is_used:
            return {}
        counts = tally.counts
        return {
            "colocation_lent_cpu_milli": tally.lent[CPU_MILLI],
            "colocation_lent_memory_mib": tally.lent[MEMORY_MIB],
            "colocation_nodes_lending": counts[CapacityState.LENDING],
            "colocation_nodes_closed": counts[CapacityState.CLOSED],
            "colocation_nodes_silent": counts[CapacityState.STALE] + counts[CapacityState.GOING],
            "colocation_nodes_others": counts[CapacityState.OTHER] + counts[CapacityState.YIELDED],
            "colocation_reports_refused": len(publishing.refused),
            "colocation_patches_total": publishing.patches,
            "colocation_put_backs_total": publishing.put_backs,
        }

    def _capacity(self, name: str, node: PublishedNode) -> NodeCapacity:
        said, state = self._state.loans.of(name), node.state(is_on=bool(self._publishing.names))
        emergency = self._publishing.emergency_on(name)
        why = (_short(emergency) if emergency is not None and state is CapacityState.CLOSED else "") or (
            _WHY.get(state)
            or {
                CapacityState.OTHER: (
                    f"{node.other} publishes these resource names on the node: they are read, never written"
                ),
                CapacityState.YIELDED: (
                    f"{node.other} overwrote the published values repeatedly: they are no longer restored on this node"
                ),
                CapacityState.FAILED: f"the node status cannot be written: {node.problem}",
            }[state]
        )
        return NodeCapacity(
            kubernetes_node=name,
            state=state,
            why=why,
            report=said.report if said is not None else None,
            age_s=self._publishing.age_s(said) if said is not None else None,
            emergency=emergency,
            resources=[self._resource(one, node, said.report if said else None) for one in self._names(node)],
        )

    @property
    def _units(self) -> dict[str, str]:
        kinds = self._publishing.rules.kinds.values()
        return {name: unit for kind in kinds for name, unit in kind.measures.units.items()}

    def _names(self, node: PublishedNode) -> list[str]:
        """What the loan is published as, in the order of the resources; then what is left of earlier policies."""
        return [*self._publishing.names, *sorted(node.ours - {*self._publishing.names})]

    def _resource(self, name: str, node: PublishedNode, report: CapacityReport | None) -> ResourceCapacity:
        names, publication = self._publishing.names, node.publication
        resource = (CPU_MILLI, MEMORY_MIB)[names.index(name)] if name in names else ""
        loan = report.loan_of(resource) if report is not None and resource else None
        steps: Sequence[Step] = ()
        last: Sequence[Step] = ()
        if publication is not None and name in publication.amounts:
            steps = node.lending.steps.get(resource, ()) if node.lending is not None else ()
            last = last_steps(name, steps[-1].after if steps else 0, publication)
        is_known = publication is not None and name in publication.amounts
        return ResourceCapacity(
            name=name,
            unit=self._units.get(name, ""),
            resource=resource,
            loan=loan,
            steps=steps,
            last_steps=last,
            wanted=publication.amounts[name] if publication is not None and is_known else node.present(name),
            published=node.present(name),
            held=publication.held[name] if publication is not None and is_known else self._publishing.held(node, name),
        )


def _short(emergency: Emergency) -> str:
    return f"memory is short: {emergency.reason}; closed to new pods for {emergency.cool_down_s} s"
