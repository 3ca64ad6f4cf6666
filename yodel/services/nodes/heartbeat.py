"""Answers heartbeats of node agents (ResourceTrackerService.nodeHeartbeat, RMNodeImpl).

A heartbeat that reports nothing new touches neither queue nor disk.  One that reports an end is answered once its row
is committed, and the agent keeps what ended, for ApplicationMasters ask it, until it is told that all have heard of it
(RMNodeFinishedContainersPulledByAMEvent).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from yodel.domain import host_lists
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.report import LoanReport, WrittenReport
from yodel.domain.container import Container
from yodel.domain.events import NodeHealthReported, NodePlaced
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.node_load import NodeLoad
from yodel.domain.pod import PodObservation
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.ports.clock import Clock
from yodel.services.nodes import shuffle_reports
from yodel.services.nodes.agents import Agents, NodeRuntime, disallowed
from yodel.services.nodes.container_reports import ContainerReport, ContainerReports
from yodel.services.nodes.facts import Facts
from yodel.services.nodes.outbox import Outbox, Topic
from yodel.services.nodes.written_limits import WrittenLimits
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.translator.publishing import LentAmounts

ALL_PODS_EVERY = 16
"""Answers from one look at the pods of all containers that run on a node to the next."""
HEALTH_REPORT_LENGTH_MAX = 10_000
LISTED_MAX_S = 60.0
"""How long an agent may list a container as not ended whose pod has ended, before the pod's word counts."""


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Holds an agent's heartbeat.  Not frozen, nor is its answer, only because one is built for each; nobody changes
    them."""

    node_id: NodeId
    response_id: int
    is_healthy: bool = True
    health_report: str = ""
    containers: Sequence[ContainerReport] = ()
    load: NodeLoad | None = None
    peer: tuple[str, int] = ("", 0)
    """The other end of its connection."""
    proved_name: str = ""
    """The node that the token of the connection names; empty: it has none."""
    capacity: LoanReport | None = None
    written: WrittenReport | None = None
    capacity_problem: str = ""
    """Why the report that came with it does not count; a node whose report is malformed goes on all the same."""
    emergency: MemoryEmergency | None = None
    """None: the node is in none, nor in the cool-down of one."""
    emergency_problem: str = ""
    """Why one that came with it does not count: what was said before does, until its time is over."""
    policy_version: str = ""
    """The version of the policy that the agent measures by; empty: it does not measure."""
    labels: tuple[str, ...] | None = None
    """Node labels of a NodeManager; None: those that it said before, if any."""
    shuffle: shuffle_reports.Reports = field(default_factory=dict)
    """By ApplicationMasters' containers, those that were not answered yet."""


@dataclass(slots=True, kw_only=True)
class HeartbeatAnswer:
    """``must_resync``: we do not know the node (we restarted); it has to register again and keep its containers.
    ``must_shut_down``: it is not wanted any more.  ``diagnostics`` says why, for both.  ``capability``: what the node
    has from now on."""

    response_id: int = 0
    must_resync: bool = False
    must_shut_down: bool = False
    diagnostics: str = ""
    capability: Resource | None = None
    containers_to_clean_up: Sequence[ContainerId] = ()
    containers_to_forget: Sequence[ContainerId] = ()
    applications_to_clean_up: Sequence[ApplicationId] = ()
    signals: Sequence[tuple[ContainerId, int]] = ()
    on_notice: Sequence[ContainerId] = ()
    """Containers that will be stopped, each time as long as they are."""
    updates: Sequence[tuple[Container, int]] = ()
    """Containers whose size the agent does not know yet, and when this was said (epoch milliseconds)."""
    pods: Sequence[tuple[ContainerId, str]] = ()
    """Uids of the pods of containers on this node that the agent was not told yet."""
    eviction_ranks: Sequence[ContainerId] = ()
    """Containers on lent capacity, the first to go first; empty: as the agent was told before."""
    allocatable: LentAmounts | None = None
    """The amounts that the kubelet leaves to pods; None: as the agent was told before."""
    is_policy_news: bool = False
    policy: Policy | None = None
    """Where it ``is_policy_news``, what the agent is to measure by from now on; None: it is to stop."""


class Heartbeats:
    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        agents: Agents,
        reports: ContainerReports,
        facts: Facts,
        written_limits: WrittenLimits,
        pod_of: Callable[[ContainerId], PodObservation | None],
        ranks_of: Callable[[NodeId], tuple[ContainerId, ...]],
        why_labels_refused: Callable[[Sequence[str]], str],
    ) -> None:
        """``pod_of`` tells a container's pod; None while nobody knows.  ``ranks_of`` lists the containers of a node
        that run on lent capacity, the first to go first.  ``why_labels_refused`` judges a NodeManager's labels."""
        self._engine, self._clock, self._agents, self._reports = engine, clock, agents, reports
        self._facts, self._written_limits = facts, written_limits
        self._pod_of, self._ranks_of, self.why_labels_refused = pod_of, ranks_of, why_labels_refused

    @property
    def grown(self) -> Collection[ContainerId]:
        """Containers whose new size agents are expected to report."""
        return self._engine.state.container_index.unconfirmed

    def is_own(self, beat: Heartbeat) -> bool:
        """Return True if the agent is known, and the node is the one that its token names."""
        is_known = beat.node_id in self._agents.runtimes
        return is_known and not self._agents.is_for_another(beat.node_id, beat.proved_name, beat.peer)

    def take(self, beat: Heartbeat) -> HeartbeatAnswer | None:
        """The synchronous part: the answer when nothing has to be written, else None: see ``slow``."""
        self._engine.state.change_counters.heartbeat_received()
        node = self._engine.state.nodes.get(beat.node_id)
        if reason := self._agents.is_for_another(beat.node_id, beat.proved_name, beat.peer):
            if node is not None and node.is_node_manager:
                return _resync(beat.node_id)  # its host may have several addresses: they are compared again
            return HeartbeatAnswer(must_shut_down=True, diagnostics=disallowed(beat.node_id, reason))
        runtime = self._agents.runtimes.get(beat.node_id)
        if (turned_away := self._turned_away(beat.node_id, node, runtime)) is not None:
            return turned_away
        assert runtime is not None
        assert node is not None
        runtime.heard(self._clock, beat.peer, beat.load)
        runtime.told.knows(Topic.POLICY, beat.policy_version)
        if beat.written is not None:
            self._written_limits.hear(beat.node_id, beat.proved_name, beat.written)
        if beat.capacity is not None:
            self._facts.hear(beat.node_id, beat.proved_name, beat.capacity)
        elif beat.capacity_problem:
            self._facts.refuse(beat.node_id, beat.proved_name, beat.capacity_problem)
        if beat.emergency_problem:
            self._facts.refuse(beat.node_id, beat.proved_name, beat.emergency_problem)
        else:
            self._facts.hear_emergency(beat.node_id, beat.proved_name, beat.emergency)
        if self._places_anew(node, beat) is not None:
            return None
        if _health_changed(node, beat) or any(self._reports.is_news(report) for report in beat.containers):
            return None
        if self._engine.state.container_index.awaiting(node.id):
            return None
        if shuffle_reports.has_news(self._engine.state, node.id, beat.shuffle):
            return None
        return self._answer(runtime, node, beat)

    def closed(self, node_id: NodeId, peer: tuple[str, int]) -> None:
        """A connection of the agent is over."""
        runtime = self._agents.runtimes.get(node_id)
        if runtime is not None:
            runtime.closed(peer)

    async def slow(self, beat: Heartbeat) -> HeartbeatAnswer:
        """A heartbeat that brings news."""
        runtime = self._agents.runtimes.get(beat.node_id)
        node = self._engine.state.nodes.get(beat.node_id)
        if runtime is None or node is None:  # it expired or left since the synchronous part
            return _resync(beat.node_id)
        if (place := self._places_anew(node, beat)) is not None:
            self._engine.tell_later(beat.node_id, place)
        if _health_changed(node, beat):
            report = beat.health_report[:HEALTH_REPORT_LENGTH_MAX]
            self._engine.tell_later(beat.node_id, NodeHealthReported(beat.is_healthy, report, self._clock.now_ms()))
        await shuffle_reports.take(self._engine, beat.node_id, beat.shuffle)
        unexplained = self._not_to_be_explained(runtime, beat)
        await self._reports.take(beat.node_id, beat.containers)
        if unexplained:
            await self._engine.do(partial(_believe_pods, unexplained))
        return self._answer(runtime, self._engine.state.nodes[beat.node_id], beat)

    def _places_anew(self, node: Node, beat: Heartbeat) -> NodePlaced | None:
        """Return where a NodeManager is by its new labels; None: nothing changes."""
        if not node.is_node_manager or beat.labels is None or self.why_labels_refused(beat.labels):
            return None
        return NodePlaced(node.rack, beat.labels) if beat.labels != node.labels else None

    def _turned_away(self, node_id: NodeId, node: Node | None, runtime: NodeRuntime | None) -> HeartbeatAnswer | None:
        """The answer for an agent that is out, excluded, or not known to us."""
        is_out = node is not None and node.state is NodeState.DECOMMISSIONED
        if is_out and runtime is not None and runtime.shutdown_order:
            return HeartbeatAnswer(must_shut_down=True, diagnostics=runtime.shutdown_order)
        names = host_lists.names_of(node) if node is not None else (node_id.host,)
        if not self._agents.lists.allow(names) and (node is None or node.state is not NodeState.DECOMMISSIONING):
            text = f"Disallowed NodeManager nodeId: {node_id} hostname: {node_id.host}"
            return HeartbeatAnswer(must_shut_down=True, diagnostics=text)
        return _resync(node_id) if runtime is None or node is None or not node.is_registered else None

    def _not_to_be_explained(self, runtime: NodeRuntime, beat: Heartbeat) -> list[ContainerId]:
        """Return the node's containers whose pods have ended and whose ends its agent will not report.

        The agent does not know them, or has reported for too long that they run.
        """
        listed = {report.container_id for report in beat.containers}
        awaiting = self._engine.state.container_index.awaiting(beat.node_id)
        listed_s = runtime.lists(listed.intersection(awaiting), self._clock.monotonic_s())
        return [one for one in awaiting if one not in listed or listed_s[one] >= LISTED_MAX_S]

    def _answer(self, runtime: NodeRuntime, node: Node, beat: Heartbeat) -> HeartbeatAnswer:
        if runtime.last_answer is not None and beat.response_id + 1 == runtime.response_id:
            return runtime.last_answer  # our answer was lost: what was ordered in it stands
        self._agents.clean_up_unknown(runtime, node.id, beat.containers)
        told, outbox = runtime.told, runtime.outbox
        answer = HeartbeatAnswer(
            response_id=runtime.response_id + 1,
            capability=node.capability if told.is_news(Topic.CAPABILITY, node.capability) else None,
            containers_to_clean_up=tuple(outbox.clean_up),
            containers_to_forget=tuple(outbox.forget),
            applications_to_clean_up=tuple(outbox.applications),
            signals=tuple(outbox.signals),
            on_notice=self._engine.state.notices.on(node.id),
            updates=self._updates(outbox) if outbox.updates else (),
            **(self._news_of_capacity(runtime, node, beat.containers) if runtime.can_measure else {}),
        )
        runtime.answered(answer)
        return answer

    def _news_of_capacity(
        self, runtime: NodeRuntime, node: Node, reports: Collection[ContainerReport]
    ) -> dict[str, Any]:
        """Return the part of an answer that a genuine NodeManager would not understand."""
        told, policy = runtime.told, self._facts.terms.colocation.policy
        is_policy_news = told.is_news(Topic.POLICY, policy.version if policy is not None else "")
        if is_policy_news:
            told.forget_pods()  # agents of earlier releases forget them where nothing is bounded
        ranks = self._ranks_of(node.id) if policy is not None else ()
        allocatable = self._facts.allocatable(node.kubernetes_node_name)
        return {
            "pods": self._unnamed_pods(runtime, node, reports),
            "eviction_ranks": ranks if told.is_news(Topic.RANKS, ranks) else (),
            "allocatable": allocatable if told.is_news(Topic.ALLOCATABLE, allocatable) else None,
            "is_policy_news": is_policy_news,
            "policy": policy if is_policy_news else None,
        }

    def _unnamed_pods(
        self, runtime: NodeRuntime, node: Node, reports: Collection[ContainerReport]
    ) -> tuple[tuple[ContainerId, str], ...]:
        """Return the pods of containers that the agent cannot name yet: it finds processes by the uid of their pod.

        Each is named once; a container whose first pod its kubelet refused has another one, so all are looked at again
        now and then.
        """
        named = runtime.told.pods
        looks_at_all = (runtime.response_id + 1) % ALL_PODS_EVERY == 0
        uids: dict[ContainerId, str] = {}
        for report in reports:
            container_id = report.container_id
            if not report.is_running or (container_id in named and not looks_at_all):
                continue
            pod, container = self._pod_of(container_id), self._engine.state.containers.get(container_id)
            if pod is not None and pod.uid and container is not None and container.node_id == node.id:
                uids[container_id] = pod.uid
        return runtime.told.new_pods(uids, are_all=looks_at_all)

    def _updates(self, outbox: Outbox) -> tuple[tuple[Container, int], ...]:
        containers, now_ms = self._engine.state.containers, self._clock.now_ms()
        return tuple((containers[i], now_ms) for i in outbox.updates if i in containers and containers[i].is_live)


def _believe_pods(container_ids: Sequence[ContainerId], tx: Transaction) -> None:
    for container_id in container_ids:
        if tx.has(container_id):
            tx.tell(container_id, tx.container(container_id).end_as_its_pod_told(tx.now_ms))


def _health_changed(node: Node, beat: Heartbeat) -> bool:
    """Words count each time they change, a healthy node's too: one of its disks may be full
    (RMNodeImpl.updateRMNodeFromStatusEvents).  A node that is leaving has only words."""
    words_changed = beat.health_report[:HEALTH_REPORT_LENGTH_MAX] != node.health_report
    if node.state is NodeState.DECOMMISSIONING:
        return words_changed
    return words_changed or beat.is_healthy != (node.state is not NodeState.UNHEALTHY)


def _resync(node_id: NodeId) -> HeartbeatAnswer:
    return HeartbeatAnswer(must_resync=True, diagnostics=f"Node not found resyncing {node_id}")
