"""Explains what a node lends: measured figures, terms, steps, published and used amounts.  Reads only.

The agent's terms and steps lead to its lent amount, the ResourceManager's to the published one: a chain of numbers in
which each begins with the result of the one before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.report import (
    CPU_MILLI,
    MEMORY_MIB,
    OTHERS_PODS,
    Loan,
    LoanReport,
    ShapingStep,
    WrittenReport,
)
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.services.nodes.agents import Agents
from yodel.services.nodes.facts import Facts, NodeFacts
from yodel.services.nodes.published import Published
from yodel.services.nodes.publisher import Publisher
from yodel.services.nodes.written_limits import LimitsState, WrittenLimits, WrittenNodeLimits
from yodel.translator.publishing import last_steps

_OFF = CapacityState.OFF
UNREMARKABLE = (_OFF, CapacityState.LENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResource:
    """One published name.  ``loan`` None: no report counts; ``steps`` lead from it, in the unit of its resource, and
    ``last_steps`` from there to ``wanted``.  ``unit`` is of what is published and held, empty where nobody knows it."""

    name: str
    unit: str
    resource: str
    loan: Loan | None
    steps: Sequence[ShapingStep]
    last_steps: Sequence[ShapingStep]
    wanted: int | None
    published: int | None
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityView:
    """One Kubernetes node.  ``age_s``: since its figures were read.  ``emergency``: its memory runs short, or did so
    lately; ``cool_down_s`` is what is left."""

    kubernetes_node: str
    state: CapacityState
    why: str
    report: LoanReport | None
    written: WrittenReport
    age_s: float | None
    emergency: MemoryEmergency | None
    resources: Sequence[PublishedResource]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColocationView:
    """The whole.  ``nodes``: those about which there is something to say, by name."""

    colocation: ColocationSwitch
    names: Sequence[str]
    counts: Mapping[CapacityState, int]
    nodes: Sequence[CapacityView]
    refused: Mapping[str, str]
    lent: Mapping[str, int]
    published: Mapping[str, int]
    requested: Mapping[str, int]
    units: Mapping[str, str]
    """The units that an amount of each published name counts, where that is known."""
    patches: int
    put_backs: int
    limits: Sequence[WrittenNodeLimits]
    """The nodes where batch pods are bounded, were, or may be."""
    limits_counts: Mapping[LimitsState, int]
    """The counts of all of them, shown or not."""
    others_pods: Mapping[str, int]
    """By node, how many best-effort pods of others share the quota of batch pods; none where there is no quota."""


class Capacities:
    """Sums are made when they are asked for."""

    def __init__(
        self,
        facts: Facts,
        publisher: Publisher,
        written_limits: WrittenLimits,
        nodes: Agents,
        held_on: Callable[[str], Mapping[str, int] | None],
    ) -> None:
        """``held_on`` tells what the pods of a node ask for, thousandths by resource name; None: not known."""
        self._facts, self._publisher, self._held_on = facts, publisher, held_on
        self._written_limits, self._nodes = written_limits, nodes

    def of(self, kubernetes_name: str) -> CapacityView | None:
        """None: there is no such Kubernetes node, as far as is known."""
        facts = self._facts.of(kubernetes_name)
        return self._capacity(facts, facts.published) if facts is not None and facts.published is not None else None

    def page(self, after: str, count: int) -> list[CapacityView]:
        """Return nodes that lend something, or may do so, by name, behind one of them."""
        names = (one.name for one in self._facts.all() if one.name > after and one.judgement.state is not _OFF)
        found = map(self.of, nsmallest(count, names))
        return [one for one in found if one is not None]

    def view(self, nodes_max: int) -> ColocationView:
        remarkable = (facts.name for facts in self._facts.all() if facts.judgement.state not in UNREMARKABLE)
        shown = (self.of(name) for name in nsmallest(nodes_max, remarkable))
        limits = self._written_limits.nodes(self._nodes.runtimes)
        return ColocationView(
            colocation=self._facts.terms.colocation,
            names=self._facts.terms.names,
            counts=self._counts(),
            nodes=[one for one in shown if one is not None],
            refused={str(node_id): why for node_id, why in self._facts.refused.items()},
            lent={resource: amount for resource, amount in self._lent().items() if amount},
            published={name: amount for name, amount in self._published().items() if amount},
            requested={name: amount for name, amount in self._requested().items() if amount},
            units=self._units,
            patches=self._publisher.patches,
            put_backs=self._facts.put_backs,
            limits=limits[:nodes_max],
            limits_counts=Counter(one.state for one in limits),
            others_pods=self._others_pods(),
        )

    def _counts(self) -> Counter[CapacityState]:
        return Counter(facts.judgement.state for facts in self._facts.all())

    def _lent(self) -> Counter[str]:
        found = Counter[str]()
        for lent in (facts.judgement.lent for facts in self._facts.all()):
            if lent is not None:
                found.update(lent.by_type)
        return found

    def _published(self) -> Counter[str]:
        found = Counter[str]()
        for facts in self._facts.all():
            found.update(facts.judgement.amounts)
        return found

    def _requested(self) -> Counter[str]:
        found = Counter[str]()
        for facts in self._facts.all():
            if facts.judgement.publication is not None:
                found.update(facts.judgement.publication.held)
        return found

    def _others_pods(self) -> dict[str, int]:
        policy = self._facts.terms.colocation.policy
        if policy is None or not policy.quota:
            return {}
        said = ((facts.name, facts.written.report.counts) for facts in self._facts.all() if facts.written is not None)
        return {name: one.amount for name, counts in said for one in counts if one.name == OTHERS_PODS and one.amount}

    @property
    def is_used(self) -> bool:
        """Something is lent, or left of a loan."""
        judged = (facts.judgement for facts in self._facts.all())
        is_left = any(any(one.amounts.values()) or one.state is not CapacityState.OFF for one in judged)
        return bool(self._facts.terms.names) or is_left

    def state_of(self, kubernetes_name: str) -> tuple[CapacityState, str]:
        """Return a node's state and its reason, as ``of`` shows them, without the sum."""
        facts = self._facts.of(kubernetes_name)
        if facts is None:
            return CapacityState.OFF, ""
        return facts.judgement.state, self._why(facts, self._facts.emergency_on(kubernetes_name))

    def emergency_on(self, kubernetes_name: str) -> MemoryEmergency | None:
        """Return the emergency of a node; None: its memory is not low."""
        return self._facts.emergency_on(kubernetes_name)

    def _why(self, facts: NodeFacts, emergency: MemoryEmergency | None) -> str:
        is_short = emergency is not None and facts.judgement.state is CapacityState.CLOSED
        return _short(emergency) if emergency is not None and is_short else facts.judgement.why

    def gauges(self) -> dict[str, float]:
        """None where nothing is lent and nothing is left of it."""
        if not self.is_used:
            return {}
        counts, lent = self._counts(), self._lent()
        return {
            "colocation_lent_cpu_milli": lent[CPU_MILLI],
            "colocation_lent_memory_mib": lent[MEMORY_MIB],
            "colocation_nodes_lending": counts[CapacityState.LENDING],
            "colocation_nodes_closed": counts[CapacityState.CLOSED],
            "colocation_nodes_silent": counts[CapacityState.STALE] + counts[CapacityState.GOING],
            "colocation_nodes_others": counts[CapacityState.OTHER] + counts[CapacityState.YIELDED],
            "colocation_reports_refused": len(self._facts.refused),
            "colocation_patches_total": self._publisher.patches,
            "colocation_overwrites_total": self._facts.put_backs,
        }

    def _capacity(self, facts: NodeFacts, published: Published) -> CapacityView:
        said, found, emergency = facts.said, facts.judgement, self._facts.emergency_on(facts.name)
        names = self._facts.terms.names
        return CapacityView(
            kubernetes_node=facts.name,
            state=found.state,
            why=self._why(facts, emergency),
            report=said.report if said is not None else None,
            written=facts.written.report if facts.written is not None else WrittenReport(),
            age_s=self._facts.age_s(said) if said is not None else None,
            emergency=emergency,
            resources=[
                self._resource(one, facts, published) for one in [*names, *sorted(found.amounts.keys() - {*names})]
            ],
        )

    @property
    def _units(self) -> dict[str, str]:
        kinds = self._facts.terms.rules.kinds.values()
        return {name: unit for kind in kinds for name, unit in kind.measures.units.items()}

    def _resource(self, name: str, facts: NodeFacts, published: Published) -> PublishedResource:
        """Return the explanation of one published name, or what is left of an earlier policy."""
        names, found = self._facts.terms.names, facts.judgement
        resource = (CPU_MILLI, MEMORY_MIB)[names.index(name)] if name in names else ""
        to_be = found.publication if found.publication is not None and name in found.publication.amounts else None
        steps = found.lending.steps.get(resource, ()) if to_be is not None and found.lending is not None else ()
        held_milli = (self._held_on(facts.name) or {}).get(name, 0)
        return PublishedResource(
            name=name,
            unit=self._units.get(name, ""),
            resource=resource,
            loan=facts.said.report.loan_of(resource) if facts.said is not None and resource else None,
            steps=steps,
            last_steps=last_steps(name, steps[-1].after if steps else 0, to_be) if to_be is not None else (),
            wanted=to_be.amounts[name] if to_be is not None else published.present(name),
            published=published.present(name),
            held=to_be.held[name] if to_be is not None else -(-held_milli // 1000),
        )


def _short(emergency: MemoryEmergency) -> str:
    return f"memory is short: {emergency.reason}; closed to new pods for {emergency.cool_down_s} s"
