"""Judges one node from its facts: what it offers, what is to be published, what queues may count on, and its state.

Pure.  It is here and not in the domain because it reads Kubernetes' quantities and writes a dialect's resource names.

Published is never less than the pods of the node ask for; where the loan is less than that, nothing new starts there
(see ``yodel.translator.publishing``), and neither where the agent reports that the node's memory runs short.  A node
whose agent is silent, lost, or whose loan is switched off lends nothing new; what is published follows its pods down
and goes with the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from yodel.domain.colocation.node import CapacityState, Intake, LastReport, Offer, Situation, state_of
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.node import Node
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.services.nodes.lent_as import measures_of
from yodel.services.nodes.published import Published
from yodel.translator.dialects import Measures
from yodel.translator.pools import PoolRules
from yodel.translator.publishing import LentAmounts, LentCapacity, Publication, Silence, lend, publication

if TYPE_CHECKING:
    from yodel.services.nodes.facts import NodeFacts

STALE_S = 30.0
"""Without a report for so long a node's loan does not grow."""
SILENT_S = 180.0
"""Without a report for so long a node lends nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Defines what is lent, and the names it is published as.  ``measures`` None: nothing is lent."""

    colocation: ColocationSwitch = OFF
    rules: PoolRules = field(default_factory=PoolRules)
    measures: Measures | None = None

    @classmethod
    def of(cls, colocation: ColocationSwitch, rules: PoolRules) -> Terms:
        return cls(colocation=colocation, rules=rules, measures=measures_of(colocation, rules))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the published names for cores and memory; empty: nothing is lent."""
        return (self.measures.cpu, self.measures.memory) if self.measures is not None else ()

    @property
    def pools(self) -> frozenset[PoolName]:
        """Return the pools that get lent capacity."""
        return frozenset(pool for pool, kind in self.rules.kinds.items() if kind.measures == self.measures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """``lending``: how what is offered came of the last report, None: no report counts.  ``publication``: what is to be
    published, None: nothing is decided, or the node is another's.  ``counted``: what queues may count on of each name;
    names that are not in it are as published.  ``amounts``: what is published of our names.  ``changes``: what is to be
    written, None: it is there."""

    lending: LentCapacity | None = None
    publication: Publication | None = None
    counted: Mapping[str, int] = field(default_factory=dict)
    amounts: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int | None] | None = None
    intake: Intake = Intake.OPEN
    silence: Silence = Silence.NONE
    state: CapacityState = CapacityState.OFF
    why: str = ""

    @property
    def lent(self) -> LentAmounts | None:
        return self.lending.lent if self.lending is not None else None

    def intakes(self, terms: Terms, published: Published) -> dict[PoolName, Intake]:
        """Return the intake by pool, where something is published or asked for: Kubernetes places nothing elsewhere."""
        held = self.publication.held if self.publication is not None else {}
        is_awaited = self.intake is Intake.AWAITED
        there = {one for one in self.counted if is_awaited or published.present(one) is not None or held.get(one)}
        return {
            pool: self.intake if {kind.measures.cpu, kind.measures.memory} & there else Intake.OPEN
            for pool, kind in terms.rules.kinds.items()
            if pool != NATIVE
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Holds the other inputs of a node's judgement.

    ``row`` is that of the agent that counts for it; ``held`` what its pods request, in thousandths by resource name,
    None before they were listed; ``is_early``: agents have had no time to report.
    """

    row: Node | None
    held: Mapping[str, int] | None
    is_early: bool
    now_s: float


def judge(facts: NodeFacts, published: Published, around: Around, terms: Terms) -> Judgement:
    """Judge the facts of a node that was listed."""
    found = _offered(facts, published, around, terms)
    changes = _changes(published, found.publication)
    state, why = state_of(
        Situation(
            has_yielded=published.has_yielded,
            problem=published.problem if changes is not None else "",
            is_on=bool(terms.names),
            other=published.other,
            is_awaited=found.intake is Intake.AWAITED,
            offer=_offer(found),
            is_remaining=_remains(found),
            is_closed=found.intake is Intake.CLOSED,
            is_stale=found.silence is Silence.STALE,
        )
    )
    return replace(found, changes=changes, state=state, why=why)


def silence_of(said: LastReport | None, now_s: float) -> Silence:
    """Return how long the agent has reported nothing; NONE if it never did."""
    if said is None:
        return Silence.NONE
    age_s = now_s - said.read_s
    return Silence((age_s >= STALE_S) + (age_s >= SILENT_S))


def _offered(facts: NodeFacts, published: Published, around: Around, terms: Terms) -> Judgement:
    held, said = around.held, facts.said
    measures = terms.measures if not published.other else None
    names = terms.names if measures is not None else ()
    amounts, silence = published.amounts, silence_of(said, around.now_s)
    is_short = facts.declared is not None
    short = Intake.CLOSED if is_short else Intake.OPEN
    if not amounts and measures is None:
        # An annotation that names nothing any more, or what is the other's now.
        is_left = published.is_marked and (published.has_yielded or not terms.names)
        found = publication(None, {}, None, ()) if is_left else None
        return Judgement(publication=found, intake=short, silence=silence)
    if held is None:
        nothing = dict.fromkeys({*amounts, *names}, 0)
        return Judgement(amounts=amounts, counted=nothing, intake=Intake.AWAITED, silence=silence)
    is_open = measures is not None and around.row is not None and around.row.is_usable
    lending = _lending(facts, published, around, silence) if said is not None and is_open else None
    asked_for = {one for one in names if held.get(one)}
    found = publication(lending.lent if lending is not None else None, held, measures, {*amounts, *asked_for})
    is_awaited = is_open and around.is_early and not facts.was_heard
    if is_awaited:  # what was published before stays meanwhile, unless pods ask for more
        stays = {one: _more(amount, published.present(one)) for one, amount in found.amounts.items()}
        found = replace(found, amounts=stays)
    counted = found.counted
    if is_short:  # what is free there is not to be counted on
        counted = {one: min(amount, found.held[one]) for one, amount in counted.items()}
    return Judgement(
        lending=lending,
        publication=found,
        counted=counted,
        amounts=amounts,
        intake=Intake.AWAITED if is_awaited else Intake.CLOSED if found.is_closed else short,
        silence=silence,
    )


def _lending(facts: NodeFacts, published: Published, around: Around, silence: Silence) -> LentCapacity:
    """Return the lent amounts that count; of a resource that the report lacks, the last ones."""
    assert facts.said is not None
    report, last = facts.said.report, facts.judgement.lent
    before = last or LentAmounts(cpu_milli=0, memory_mib=0)
    cpu, memory = report.loan_of(CPU_MILLI), report.loan_of(MEMORY_MIB)
    reported = LentAmounts(
        cpu_milli=cpu.amount if cpu is not None else before.cpu_milli,
        memory_mib=memory.amount if memory is not None else before.memory_mib,
    )
    limit = around.row.lent_limit if around.row is not None else None
    most = LentAmounts(cpu_milli=limit.cpu_milli, memory_mib=limit.memory_mib) if limit is not None else None
    return lend(reported, published.machine, last, silence, most, published.allocatable)


def _changes(published: Published, wanted: Publication | None) -> dict[str, int | None] | None:
    """All names, where any differs: the annotation names those that are left.  An annotation that names nothing of ours
    any more goes too."""
    if wanted is None:
        return None
    is_other = any(published.present(name) != amount for name, amount in wanted.amounts.items())
    return dict(wanted.amounts) if is_other or (not wanted.amounts and published.is_marked) else None


def _offer(found: Judgement) -> Offer:
    if found.publication is None:
        return Offer.UNDECIDED
    if found.lent is None:
        return Offer.NOTHING
    return Offer.ALL if all(found.lent.by_type.values()) else Offer.SOME


def _remains(found: Judgement) -> bool:
    to_be = found.publication.amounts.values() if found.publication is not None else ()
    return bool(found.amounts) or any(amount is not None for amount in to_be)


def _more(one: int | None, other: int | None) -> int | None:
    return max((amount for amount in (one, other) if amount is not None), default=None)
