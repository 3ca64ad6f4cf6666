"""What node agents report is published in the status of their Kubernetes nodes, and queues count by it.

A ``NodeSink``: it passes nodes on to those who count by them, with allocatable cut to what is lent at the moment, so
that less counts at once and not when a patch has come back by the watch.  Published is never less than the pods of the
node ask for; where the loan is less than that, nothing new starts there (see ``yodel.translator.publishing``), and
neither where the agent tells that the node's memory runs short.

A node whose agent is silent, lost, or whose loan is switched off lends nothing new; what is published follows its pods
down and goes with the last of them.  After a start nothing is granted on a node before its agent has reported and its
pods were listed; what was published before stays meanwhile.

One task publishes, what shrinks before what grows.  It refuses to write before it has seen what a node's pods ask for,
and where somebody else publishes (see ``published_node``).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import structlog

from yodel.domain.colocation.emergency import Emergency
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, CapacityReport
from yodel.domain.colocation.switch import OFF, Colocation
from yodel.domain.ids import NodeId
from yodel.domain.node import Node
from yodel.domain.queues.pools import NATIVE
from yodel.errors import Refused, Unavailable
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeObservation, NodeSink, NodeStatuses
from yodel.ports.store import Row
from yodel.services.nodes.lent_as import measures_of
from yodel.services.nodes.published_node import PublishedNode
from yodel.services.nodes.tally import Tally
from yodel.services.writer.loan_book import Declared, Said, Taking
from yodel.services.writer.state import ClusterState
from yodel.translator.dialects import Measures
from yodel.translator.pools import PoolRules
from yodel.translator.publishing import Lending, Lent, Publication, Silence, capped, lend, publication

STALE_S = 30.0
"""Without a report for so long a node's loan does not grow."""
SILENT_S = 180.0
"""Without a report for so long a node lends nothing new."""
LOOK_S = 1.0
AT_ONCE = 10
PAUSE_S = 0.5
"""Between two rounds of at most ``AT_ONCE`` patches: twenty a second, and 40 changes within the two seconds."""
GROWTH_WAITS_S = 15.0
"""As long as others shrink."""
RETRY_S = 5.0
"""After a patch that failed."""
log = structlog.get_logger("yodel.colocation")


class Publishing:
    """One task.  ``held_on`` tells what the pods of a node ask for, thousandths by resource name, and None before they
    were listed; ``see_holdings`` asks for that listing; ``following`` hears of nodes as queues may count on them."""

    def __init__(
        self,
        state: ClusterState,
        clock: Clock,
        statuses: NodeStatuses,
        held_on: Callable[[str], Mapping[str, int] | None],
        see_holdings: Callable[[], None],
        following: NodeSink,
    ) -> None:
        self._state, self._clock, self._statuses = state, clock, statuses
        self._held_on, self._see_holdings, self._following = held_on, see_holdings, following
        self.colocation: Colocation = OFF
        self.rules = PoolRules()
        self.measures: Measures | None = None
        """What the loan is published as; None: nothing is lent."""
        self.nodes: dict[str, PublishedNode] = {}
        self.refused: dict[NodeId, str] = {}
        """Agents whose reports do not count, and why."""
        self.patches = self.put_backs = 0
        self.tally = Tally()
        self._due: dict[str, float] = {}
        """Nodes whose status is to be written, each with the time since when."""
        self._touched: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._started_s = clock.monotonic_s()
        self._has_waited = False
        self._next_s = 0.0

    # --- what is told ----------------------------------------------------------------------------------------------

    def use(self, colocation: Colocation, rules: PoolRules) -> None:
        """From now on."""
        measures = measures_of(colocation, rules)
        if (colocation, rules, measures) == (self.colocation, self.rules, self.measures):
            return
        is_new = (colocation, measures) != (self.colocation, self.measures)
        self.colocation, self.rules, self.measures = colocation, rules, measures
        kinds = rules.kinds.items()
        self._state.loans.lend(frozenset(pool for pool, kind in kinds if kind.measures == measures))
        if measures is not None:
            self._see_holdings()
        else:
            for name in [*self._state.loans.emergencies]:
                self._state.loans.declare(name, None)
        for name, node in self.nodes.items():
            if is_new:
                node.begin_anew(self.names)
            self._judge(name, node)

    def hear(self, node_id: NodeId, proved_name: str, report: CapacityReport) -> None:
        """A report of the agent whose connection proved to be on the node of this name (empty: on none)."""
        row = self._state.nodes.get(node_id)
        if self.measures is None or row is None:
            return
        name, now_s = row.kubernetes_node_name, self._clock.monotonic_s()
        if reason := self._state.node_index.may_not_speak(node_id, proved_name):
            self.refuse(node_id, proved_name, reason)
            return
        if self.colocation.policy is None or report.policy_version != self.colocation.policy.version:
            return  # by numbers that do not count any more: it has the new ones with this answer
        self.refused.pop(node_id, None)
        said = Said(node_id=node_id, report=report, read_s=now_s - max(0, report.age_ms) / 1000)
        self._state.loans.hear(name, said)
        self._judge_by_name(name)

    def hear_emergency(self, node_id: NodeId, proved_name: str, emergency: Emergency | None) -> None:
        """What each beat of an agent says of its node's memory; None: it does not run short."""
        row = self._state.nodes.get(node_id)
        name = row.kubernetes_node_name if row is not None else ""
        before = self._state.loans.emergencies.get(name)
        if self.measures is None or (emergency is None and before is None):
            return
        if reason := self._state.node_index.may_not_speak(node_id, proved_name):
            if emergency is not None:
                self.refuse(node_id, proved_name, reason)
            return
        now_s = self._clock.monotonic_s()
        declared = None
        if emergency is not None:
            declared = Declared(node_id=node_id, emergency=emergency, until_s=now_s + emergency.cool_down_s)
        self._state.loans.declare(name, declared)
        if (before is None) is not (declared is None):
            log.warning(
                "node in emergency" if emergency else "node emergency ended", node=name, reason=_reason(emergency)
            )
            self._judge_by_name(name)

    def refuse(self, node_id: NodeId, proved_name: str, reason: str) -> None:
        """The agent's report does not count; what it said before does, until it is too old.  What is wrong with it is
        of no interest where the agent does not speak for its node."""
        if self.measures is None or node_id not in self._state.nodes:
            return
        reason = self._state.node_index.may_not_speak(node_id, proved_name) or reason
        if self.refused.get(node_id) != reason:
            log.warning("capacity report refused", node_id=str(node_id), reason=reason)
        self.refused[node_id] = reason

    def policy_for(self, known_version: str | None) -> tuple[bool, Policy | None]:
        """Whether an agent that measures by this version has to hear of another policy, and which; None: it is to stop.
        An agent without a version understands none."""
        policy = self.colocation.policy
        version = policy.version if policy is not None else ""
        return known_version is not None and known_version != version, policy

    def allocatable(self, name: str) -> Lent | None:
        """What the kubelet of a node leaves to its pods; None where nothing is lent, or the API server does not say."""
        node = self.nodes.get(name) if self.measures is not None else None
        return node.allocatable if node is not None else None

    def order(self, name: str, most: Lent | None) -> None:
        """A node that is known lends no more than that from now on; None: what its agent reports."""
        self.nodes[name].ordered = most
        self._judge(name, self.nodes[name])

    def left(self, node_id: NodeId) -> None:
        """An agent that has left, or is given up."""
        self.refused.pop(node_id, None)
        row = self._state.nodes.get(node_id)
        name = row.kubernetes_node_name if row is not None else ""
        said = self._state.loans.of(name)
        if said is not None and said.node_id == node_id:
            self._state.loans.forget(name)
            self._judge_by_name(name)

    def held_changed(self, name: str) -> None:
        """The pods of a node ask for more, or less."""
        node = self.nodes.get(name)
        if node is not None and (self.names or node.counted):
            self._touched[name] = None
            self._woken.set()

    def published(self, rows: Sequence[Row]) -> None:
        """Rows that were committed: a node that is lost or leaves lends nothing new."""
        for row in rows:
            if isinstance(row, Node):
                self.held_changed(row.kubernetes_node_name)

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        there = {node.name for node in nodes}
        for name in [name for name in self.nodes if name not in there]:
            self._drop(name)
        for node in nodes:
            self._take(node)
        self._following.nodes_listed([self._as_counted(self.nodes[node.name]) for node in nodes])

    def node_seen(self, node: NodeObservation) -> None:
        self._take(node)
        self._following.node_seen(self._as_counted(self.nodes[node.name]))

    def node_gone(self, node: NodeObservation) -> None:
        self._drop(node.name)
        self._following.node_gone(node)

    # --- what is asked ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """What the loan is published as: of cores, of memory; none where nothing is lent."""
        return (self.measures.cpu, self.measures.memory) if self.measures is not None else ()

    def age_s(self, said: Said) -> float:
        return self._clock.monotonic_s() - said.read_s

    def emergency_on(self, name: str) -> Emergency | None:
        """The emergency of a node, with what is left of its cool-down; None: its memory does not run short."""
        declared = self._state.loans.emergencies.get(name)
        if declared is None:
            return None
        left_s = math.ceil(declared.until_s - self._clock.monotonic_s())
        return replace(declared.emergency, cool_down_s=max(0, left_s))

    def held(self, node: PublishedNode, name: str) -> int:
        """What the pods of a node ask for of a name; 0 too where that is not known."""
        return -(-(self._held_on(node.observed.name) or {}).get(name, 0) // 1000)

    # --- what runs -------------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Something is to be judged or written now."""
        now_s = self._clock.monotonic_s()
        return bool(self._touched) or (now_s >= self._next_s and bool(self._ready(now_s)))

    async def run(self) -> None:
        while True:
            now_s = self._clock.monotonic_s()
            left_s = self._next_s - now_s if self._ready(now_s) else LOOK_S
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_S, max(0.001, left_s))):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self.round()
            except Exception as error:  # a bug in a round: what is published stays, and all that runs goes on
                log.error("publishing failed unexpectedly, will retry", exc_info=error)
                await asyncio.sleep(LOOK_S)

    async def round(self) -> None:
        """Look at what has changed, and write some of what is due."""
        self.look()
        now_s = self._clock.monotonic_s()
        ready = self._ready(now_s)
        if not ready or now_s < self._next_s:
            return
        self._next_s = now_s + PAUSE_S
        some = sorted(ready, key=lambda name: self._turn(name, now_s))[:AT_ONCE]
        await asyncio.gather(*(self._write(name, self.nodes[name]) for name in some))

    def look(self) -> None:
        """Judge what was told, and who has fallen silent."""
        now_s = self._clock.monotonic_s()
        for name, said in self._state.loans.said.items():
            node = self.nodes.get(name)
            if node is not None and node.silence != _silence(now_s - said.read_s):
                self._touched[name] = None
        for name, declared in list(self._state.loans.emergencies.items()):
            if now_s >= declared.until_s:  # its agent went silent in it
                self._state.loans.declare(name, None)
                self._touched[name] = None
        if not self._has_waited and now_s - self._started_s >= SILENT_S:
            self._has_waited = True
            self._touched.update(dict.fromkeys(self.nodes))
        touched, self._touched = self._touched, {}
        for name in touched:
            self._judge_by_name(name)

    async def _write(self, name: str, node: PublishedNode) -> None:
        wanted = self._difference(node)
        if wanted is None:  # the watch has just shown that it is there
            return
        node.is_writing = True
        try:
            version = await self._statuses.publish(name, wanted)
        except (Refused, Unavailable) as error:
            node.problem, node.not_before_s = str(error), self._clock.monotonic_s() + RETRY_S
            self._count(name, node)
            log.warning("node status not published", node=name, error=str(error))
            return
        finally:
            node.is_writing = False
        self.patches += 1
        self._due.pop(name, None)
        if version:
            node.note_written(wanted, version)
            log.debug("node status published", node=name, amounts=dict(wanted))
        if self.nodes.get(name) is node:
            node.see(node.observed, self.names, self._clock.monotonic_s())
            self._judge(name, node)

    # --- judging ---------------------------------------------------------------------------------------------------

    def _take(self, node: NodeObservation) -> None:
        known = self.nodes.get(node.name)
        if known is None:
            known = self.nodes[node.name] = PublishedNode(observed=node)
        before, count = known.other, len(known.put_back_s)
        known.see(node, self.names, self._clock.monotonic_s())
        if len(known.put_back_s) > count:
            self.put_backs += 1
            log.warning("published amounts were overwritten", node=node.name, by=node.capacity_managers)
        if known.other != before:
            log.warning(
                "another program publishes these resource names",
                node=node.name,
                who=known.other,
                has_yielded=known.has_yielded,
            )
        if known.ours and not self.names:
            self._see_holdings()  # of an earlier life: they go with their pods
        self._judge(node.name, known, is_told=True)

    def _drop(self, name: str) -> None:
        self.nodes.pop(name, None)
        self._due.pop(name, None)
        self.tally.drop(name)
        self._state.loans.drop(name)

    def _judge_by_name(self, name: str) -> None:
        node = self.nodes.get(name)
        if node is not None:
            self._judge(name, node)

    def _judge(self, name: str, node: PublishedNode, *, is_told: bool = False) -> None:
        """What is to be published, and what counts.  ``is_told``: who counts by it is told of the node anyway."""
        before = node.counted
        node.is_short = self._state.loans.emergency(name) is not None
        node.publication, node.counted = self._wanted(name, node)
        self._close(name, node)
        if self._difference(node) is not None:
            self._due.setdefault(name, self._clock.monotonic_s())
            self._woken.set()
        else:
            self._due.pop(name, None)
            node.problem = ""
        self._count(name, node)
        if node.counted != before and not is_told:
            self._following.node_seen(self._as_counted(node))

    def _wanted(self, name: str, node: PublishedNode) -> tuple[Publication | None, Mapping[str, int]]:
        ours, measures = node.ours, self.measures if not node.other else None
        node.is_awaited = False
        if not ours and measures is None:
            if self.names or not node.is_marked:
                return None, {}
            node.lending = node.lent = None
            return publication(None, {}, None, ()), {}
        said = self._state.loans.of(name)
        node.silence = _silence(self._clock.monotonic_s() - said.read_s) if said is not None else Silence.NONE
        node.was_heard = node.was_heard or said is not None
        held = self._held_on(name)
        is_open = measures is not None and self._state.node_index.of_kubernetes(name) is not None
        is_awaited = is_open and not node.was_heard and not self._has_waited
        node.is_awaited = held is None or is_awaited
        if held is None:
            return None, dict.fromkeys({*ours, *(self.names if measures is not None else ())}, 0)
        node.lending = self._lent(node, said) if said is not None and is_open else None
        node.lent = node.lending.lent if node.lending is not None else None
        asked_for = {one for one in (self.names if measures is not None else ()) if held.get(one)}
        found = publication(node.lent, held, measures, ours | asked_for)
        if is_awaited:  # what was published before stays meanwhile, unless pods ask for more
            stays = {one: _more(amount, node.present(one)) for one, amount in found.amounts.items()}
            found = replace(found, amounts=stays)
        if node.is_short:  # what is free there is not to be counted on
            return found, {one: min(amount, found.held[one]) for one, amount in found.counted.items()}
        return found, found.counted

    def _lent(self, node: PublishedNode, said: Said) -> Lending:
        """Of a resource that the agent cannot tell of counts what counted last."""
        before = node.lent or Lent(cpu_milli=0, memory_mib=0)
        cpu, memory = (said.report.loan_of(resource) for resource in (CPU_MILLI, MEMORY_MIB))
        reported = Lent(
            cpu_milli=cpu.amount if cpu is not None else before.cpu_milli,
            memory_mib=memory.amount if memory is not None else before.memory_mib,
        )
        return lend(reported, node.machine, node.lent, node.silence, node.ordered, node.allocatable)

    def _close(self, name: str, node: PublishedNode) -> None:
        """Only where something is published or asked for: elsewhere Kubernetes places nothing anyway."""
        found = node.publication
        is_closed = (found is not None and found.is_closed) or node.is_short
        taking = Taking.AWAITED if node.is_awaited else Taking.CLOSED if is_closed else Taking.OPEN
        held = found.held if found is not None else {}
        there = {one for one in node.counted if node.is_awaited or node.present(one) is not None or held.get(one)}
        pools = {
            pool: taking if {kind.measures.cpu, kind.measures.memory} & there else Taking.OPEN
            for pool, kind in self.rules.kinds.items()
            if pool != NATIVE
        }
        self._state.loans.judge(name, pools)

    def _count(self, name: str, node: PublishedNode) -> None:
        self.tally.put(
            name, node.state(is_on=bool(self.names)), node.lent, {one: node.present(one) for one in node.ours}
        )

    def _difference(self, node: PublishedNode) -> dict[str, int | None] | None:
        """What is to be written; None: it is there.  All names, where any differs: the annotation names those that are
        left.  An annotation that names nothing of ours any more goes too."""
        if node.publication is None:
            return None
        amounts = node.publication.amounts
        is_other = any(node.present(name) != amount for name, amount in amounts.items())
        return dict(amounts) if is_other or (not amounts and node.is_marked) else None

    def _turn(self, name: str, now_s: float) -> tuple[bool, float]:
        """What shrinks is written before what grows, unless that has waited for long: it has its turn at some time."""
        since_s = self._due[name]
        is_first = now_s - since_s >= GROWTH_WAITS_S or self._shrinks(self.nodes[name])
        return not is_first, since_s

    def _shrinks(self, node: PublishedNode) -> bool:
        return any((amount or 0) < (node.present(name) or 0) for name, amount in (self._difference(node) or {}).items())

    def _ready(self, now_s: float) -> list[str]:
        return [name for name in self._due if now_s >= self.nodes[name].not_before_s]

    def _as_counted(self, node: PublishedNode) -> NodeObservation:
        if not node.counted:
            return node.observed
        return replace(node.observed, allocatable=capped(node.observed.allocatable, node.counted))


def _more(one: int | None, other: int | None) -> int | None:
    return max((amount for amount in (one, other) if amount is not None), default=None)


def _reason(emergency: Emergency | None) -> str:
    return emergency.reason if emergency is not None else ""


def _silence(age_s: float) -> Silence:
    return Silence((age_s >= STALE_S) + (age_s >= SILENT_S))
