"""All that is known of each Kubernetes node, as one record: from the watch, from its agent, from administrators.

``Facts`` is the only sink of the node watch and of agents' reports.  It decides nothing.  Followers are called with the
names of the nodes that changed, in the order in which they were added, and read the records (``docs/tour.md``).  What
queues may count on is a fact, too: ``counted`` is the node with its allocatable cut to what was judged, so that less
counts at once and not when a patch has come back by the watch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

import structlog

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.node import Declared, LastReport
from yodel.domain.colocation.report import LoanReport, WrittenReport
from yodel.domain.ids import NodeId
from yodel.domain.queues.pools import PoolCapacity, PoolName
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.judgement import Judgement, Terms
from yodel.services.nodes.published import Published
from yodel.services.writer.changes import Changes, Follower
from yodel.services.writer.state import ClusterState
from yodel.translator import node_events
from yodel.translator.node_events import NodeOutcome
from yodel.translator.publishing import LentAmounts, capped

log = structlog.get_logger("yodel.colocation")


class Change(Enum):
    """Lists the kinds of facts that can change."""

    SEEN = auto()
    """The watch has shown the node, or that it is gone."""
    TOLD = auto()
    """Its agent, an administrator or a policy."""
    COUNTED = auto()
    """Amounts that queues may use, or anything that was seen, changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Holds an agent's last report of what it has written to control groups.  ``confirmed_ms``: when that became
    nothing."""

    node_id: NodeId
    report: WrittenReport
    confirmed_ms: int | None


@dataclass(slots=True, kw_only=True)
class NodeFacts:
    """One Kubernetes node.  Each field has one writer, which its comment names."""

    name: str
    published: Published | None = None
    """None: the node was not listed yet.  ``Facts``, and what is written ``Publisher``."""
    addresses: tuple[str, ...] = ()
    """Every name by which somebody may mean it.  ``Topology``."""
    ever: Mapping[PoolName, PoolCapacity] = field(default_factory=dict)
    """Amounts that it published for each pool, now and at most.  ``Lending``."""
    rival: tuple[NodeId, str] | None = None
    """The agent whose registration was refused last, as the node has another, and why."""
    said: LastReport | None = None
    was_heard: bool = False
    """Its agent has reported in this life."""
    declared: Declared | None = None
    fits_since_s: float | None = None
    """Since when what is used there fits the limit that an administrator gave.  ``TakingBack``."""
    cpu_victims_s: Sequence[float] = ()
    """Times of notices for cores alone, in seconds of the monotonic clock.  ``TakingBack``."""
    written: Written | None = None
    was_written: bool = False
    """An agent reported in this life that something was written.  ``WrittenLimits``."""
    judgement: Judgement = field(default_factory=Judgement)
    """``Publisher``."""

    @property
    def observed(self) -> NodeObservation | None:
        return self.published.observed if self.published is not None else None


class Facts:
    """A ``NodeSink``.  It keeps records by Kubernetes' name of the node."""

    def __init__(self, state: ClusterState, clock: Clock) -> None:
        self._state, self._clock = state, clock
        self._nodes: dict[str, NodeFacts] = {}
        self._followers: dict[Change, list[Follower]] = {change: [] for change in Change}
        self.terms = Terms()
        self._refused: dict[NodeId, str] = {}
        self.cordoned: set[str] = set()
        """Empty before the first listing: until then nobody leaves for a cordon."""
        self.are_listed = False
        self.put_backs = 0

    @property
    def refused(self) -> dict[NodeId, str]:
        """Agents whose reports or registrations do not count, and why."""
        rivals = (facts.rival for facts in self._nodes.values() if facts.rival is not None)
        return {**self._refused, **dict(rivals)}

    # --- what is asked ---------------------------------------------------------------------------------------------

    def of(self, name: str) -> NodeFacts | None:
        """None: neither Kubernetes nor an agent has told of it."""
        return self._nodes.get(name)

    def observed(self, name: str) -> NodeObservation | None:
        """None: Kubernetes does not know it, as far as was seen."""
        facts = self._nodes.get(name)
        return facts.observed if facts is not None else None

    def counted(self, name: str) -> NodeObservation | None:
        """The node as queues may count on it."""
        facts = self._nodes.get(name)
        node = facts.observed if facts is not None else None
        if facts is None or node is None or not facts.judgement.counted:
            return node
        return replace(node, allocatable=capped(node.allocatable, facts.judgement.counted))

    def allocatable(self, name: str) -> LentAmounts | None:
        """Return the amounts that the kubelet of a node leaves to its pods; None: nothing is lent, or the API server
        does not report them."""
        facts = self._nodes.get(name) if self.terms.measures is not None else None
        return facts.published.allocatable if facts is not None and facts.published is not None else None

    def all(self) -> Iterator[NodeFacts]:
        """Records of nodes that Kubernetes has shown."""
        return (facts for facts in self._nodes.values() if facts.published is not None)

    def age_s(self, said: LastReport) -> float:
        return self._clock.monotonic_s() - said.read_s

    def emergency_on(self, name: str) -> MemoryEmergency | None:
        """The emergency of a node, with what is left of its cool-down; None: its memory does not run short."""
        facts = self._nodes.get(name)
        declared = facts.declared if facts is not None else None
        if declared is None:
            return None
        left_s = math.ceil(declared.until_s - self._clock.monotonic_s())
        return replace(declared.emergency, cool_down_s=max(0, left_s))

    # --- who follows -----------------------------------------------------------------------------------------------

    def follow(self, change: Change, follower: Follower) -> None:
        self._followers[change].append(follower)

    def tell(self, change: Change, names: Collection[str], *, is_listing: bool = False) -> None:
        changes = Changes(nodes=names, is_listing=is_listing)
        for follower in self._followers[change]:
            follower(changes)

    # --- what the watch shows --------------------------------------------------------------------------------------

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        gone = self._nodes.keys() - {node.name for node in nodes}
        for name in gone:
            self._drop(name)
        for node in nodes:
            self._take(node)
        self.are_listed = True
        self._seen([*gone, *(node.name for node in nodes)], is_listing=True)

    def node_seen(self, node: NodeObservation) -> None:
        self._take(node)
        self._seen((node.name,))

    def node_gone(self, node: NodeObservation) -> None:
        self._drop(node.name)
        self._seen((node.name,))

    def _seen(self, names: Collection[str], *, is_listing: bool = False) -> None:
        for change in (Change.SEEN, Change.COUNTED):
            self.tell(change, names, is_listing=is_listing)

    def _take(self, node: NodeObservation) -> None:
        facts = self.at(node.name)
        known = facts.published = facts.published or Published(observed=node)
        before = known.other
        if known.see(node, self.terms.names, self._clock.monotonic_s()):
            self.put_backs += 1
            log.warning("published amounts were overwritten", node=node.name, by=node.capacity_managers)
        if known.other != before:
            text = "another program publishes these resource names"
            log.warning(text, node=node.name, who=known.other, has_yielded=known.has_yielded)
        if node_events.meaning_of(node).becomes is NodeOutcome.LEAVES:
            self.cordoned.add(node.name)
        else:
            self.cordoned.discard(node.name)

    def _drop(self, name: str) -> None:
        self._nodes.pop(name, None)
        self.cordoned.discard(name)

    # --- what is told ----------------------------------------------------------------------------------------------

    def at(self, name: str) -> NodeFacts:
        """The record of a node that something is told of, perhaps before the nodes are listed."""
        found = self._nodes.get(name)
        return found if found is not None else self._nodes.setdefault(name, NodeFacts(name=name))

    def use(self, terms: Terms) -> None:
        """Use these terms from now on."""
        before, self.terms = self.terms, terms
        is_new = (terms.colocation, terms.measures) != (before.colocation, before.measures)
        for facts in self._nodes.values():
            if terms.measures is None:
                facts.declared = None
            if is_new and facts.published is not None:
                facts.published.begin_anew(terms.names)
        self.tell(Change.TOLD, [*self._nodes])

    def hear(self, node_id: NodeId, proved_name: str, report: LoanReport) -> None:
        """A report of the agent whose connection proved to be on the node of this name (empty: on none)."""
        row, policy = self._state.nodes.get(node_id), self.terms.colocation.policy
        if self.terms.measures is None or row is None:
            return
        if reason := self._state.node_index.may_not_speak(node_id, proved_name):
            self.refuse(node_id, proved_name, reason)
            return
        if policy is None or report.policy_version != policy.version:
            return  # by numbers that do not count any more: it has the new ones with this answer
        self._refused.pop(node_id, None)
        facts, now_s = self.at(proved_name), self._clock.monotonic_s()
        facts.said = LastReport(node_id=node_id, report=report, read_s=now_s - max(0, report.age_ms) / 1000)
        facts.was_heard = True
        self.tell(Change.TOLD, (proved_name,))

    def hear_emergency(self, node_id: NodeId, proved_name: str, emergency: MemoryEmergency | None) -> None:
        """Take each heartbeat's report of the node's memory; None: there is no emergency."""
        row = self._state.nodes.get(node_id)
        facts = self._nodes.get(row.kubernetes_node_name) if row is not None else None
        before = facts.declared if facts is not None else None
        if self.terms.measures is None or (emergency is None and before is None):
            return
        if reason := self._state.node_index.may_not_speak(node_id, proved_name):
            if emergency is not None:
                self.refuse(node_id, proved_name, reason)
            return
        facts, declared = self.at(proved_name), None
        if emergency is not None:
            until_s = self._clock.monotonic_s() + emergency.cool_down_s
            declared = Declared(node_id=node_id, emergency=emergency, until_s=until_s)
        facts.declared = declared
        if (before is None) is not (declared is None):
            text, reason = ("node in emergency", emergency.reason) if emergency else ("node emergency ended", "")
            log.warning(text, node=proved_name, reason=reason)
            self.tell(Change.TOLD, (proved_name,))

    def refuse(self, node_id: NodeId, proved_name: str, reason: str) -> None:
        """The agent's report does not count; what it said before does, until it is too old.  What is wrong with it is
        of no interest where the agent does not speak for its node."""
        if self.terms.measures is None or node_id not in self._state.nodes:
            return
        reason = self._state.node_index.may_not_speak(node_id, proved_name) or reason
        if self._refused.get(node_id) != reason:
            log.warning("capacity report refused", node_id=str(node_id), reason=reason)
        self._refused[node_id] = reason

    def note_rival(self, name: str, node_id: NodeId, reason: str) -> None:
        """An agent was refused, as the node has another; no reason: it registered."""
        if reason and self.terms.measures is not None:
            self.at(name).rival = (node_id, reason)
        elif (facts := self._nodes.get(name)) is not None and facts.rival is not None and facts.rival[0] == node_id:
            facts.rival = None

    def left(self, node_id: NodeId) -> None:
        """An agent that has left, or is given up."""
        self._refused.pop(node_id, None)
        row = self._state.nodes.get(node_id)
        facts = self._nodes.get(row.kubernetes_node_name) if row is not None else None
        if facts is not None and facts.said is not None and facts.said.node_id == node_id:
            facts.said = facts.declared = None
            self.tell(Change.TOLD, (facts.name,))
