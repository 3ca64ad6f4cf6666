"""Node agents: registration, heartbeats, what they are told (ResourceTrackerService, RMNodeImpl).

A heartbeat that reports nothing new touches neither queue nor disk.  One that reports an end is answered once its row
is committed, and the agent keeps what ended, for ApplicationMasters ask it, until it is told that all have heard of it
(RMNodeFinishedContainersPulledByAMEvent).  An agent on a host that the lists refuse is told to shut down, in
Hadoop's words; its host is then a row too, so that nothing is placed there and ``yarn node -list -all`` shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from yodel.domain import host_lists
from yodel.domain.colocation.emergency import Emergency
from yodel.domain.colocation.policy import Policy
from yodel.domain.colocation.report import CapacityReport
from yodel.domain.container import Container
from yodel.domain.effects import CleanUpApplication, CleanUpContainer, UpdateOnNode
from yodel.domain.events import (
    ContainerEnded,
    ContainerStarted,
    NodeCapabilityOrdered,
    NodeDecommissioned,
    NodeExpired,
    NodeHealthReported,
    NodePlaced,
    NodeRegistered,
    NodeUnregistered,
    SizeReported,
)
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.node_load import NodeLoad
from yodel.domain.pod import PodObservation
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerExitStatus, ContainerState, NodeState
from yodel.errors import AccessDenied, InvalidValue
from yodel.ports.clock import Clock
from yodel.services.nodes import shuffle_reports
from yodel.services.nodes.publishing import Publishing
from yodel.services.nodes.written_limits import WrittenLimits
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.translator import pod_events
from yodel.translator.publishing import Lent

SIGNALS_MAX = 1_000
FORGET_MAX = 10_000
"""Containers that an agent is told to forget in one answer; what is not told it forgets by a maximum of its own."""
ALL_PODS_EVERY = 16
"""Answers from one look at the pods of all containers that run on a node to the next."""
HEALTH_REPORT_LENGTH_MAX = 10_000
UNSTARTED = (ContainerState.ALLOCATED, ContainerState.ACQUIRED)
LISTED_MAX_S = 60.0
"""How long an agent may list a container as not ended whose pod has ended, before the pod's word counts."""
SILENT_S = 3.0
"""At most so much of the time between two beats counts for it: an agent that is paused is silent, and waited for."""
ORDERED_ENDS = (ContainerExitStatus.KILLED_BY_RESOURCEMANAGER, ContainerExitStatus.KILLED_AFTER_APP_COMPLETION)
"""What an agent tells of a container that it was told to end, which says nothing of one whose pod had ended before."""
log = structlog.get_logger("yodel.nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerReport:
    """What an agent says of one container; ``exit_status`` counts when ``is_complete``.  ``capability`` is the size it
    works with, filled in for those of ``NodeService.grown`` at least."""

    container_id: ContainerId
    is_running: bool
    is_complete: bool
    exit_status: int = 0
    diagnostics: str = ""
    capability: Resource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRegistration:
    node_id: NodeId
    http_port: int
    capability: Resource
    kubernetes_node_name: str
    version: str
    containers: Sequence[ContainerReport] = ()
    proved_name: str = ""
    """The node that the token of the connection names; empty: it has none, as no secret is shared."""
    can_measure: bool = False
    """It understands a policy; a genuine NodeManager does not."""
    shuffle_clients: tuple[str, ...] | None = None
    """Shuffle services whose client it can prepare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """``refusal`` says why the agent has to shut down; ``capability`` is set when it is not what the agent said."""

    refusal: str = ""
    capability: Resource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    node_id: NodeId
    response_id: int
    is_healthy: bool = True
    health_report: str = ""
    containers: Sequence[ContainerReport] = ()
    load: NodeLoad | None = None
    proved_name: str = ""
    """The node that the token of the connection names; empty: it has none."""
    capacity: CapacityReport | None = None
    capacity_problem: str = ""
    """Why the report that came with it does not count; a node whose report is malformed goes on all the same."""
    emergency: Emergency | None = None
    """None: the node is in none, nor in the cool-down of one."""
    emergency_problem: str = ""
    """Why one that came with it does not count: what was said before does, until its time is over."""
    policy_version: str = ""
    """Of the policy that the agent measures by; empty: it does not measure."""
    shuffle: shuffle_reports.Reports = field(default_factory=dict)
    """By ApplicationMasters' containers, those that were not answered yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Containers that are to go, each time as long as they are."""
    updates: Sequence[tuple[Container, int]] = ()
    """Containers whose size the agent does not know yet, and when this was said (epoch milliseconds)."""
    pods: Sequence[tuple[ContainerId, str]] = ()
    """Uids of the pods of containers on this node that the agent was not told yet."""
    eviction_ranks: Sequence[ContainerId] = ()
    """Containers on lent capacity, the first to go first; empty: as the agent was told before."""
    allocatable: Lent | None = None
    """What the kubelet leaves to pods; None: as the agent was told before."""
    is_policy_news: bool = False
    policy: Policy | None = None
    """Where it ``is_policy_news``, what the agent is to measure by from now on; None: it is to stop."""


@dataclass(slots=True)
class NodeRuntime:
    """What an agent has to be told, and when it was heard last (monotonic seconds, and epoch ms to be shown)."""

    last_seen_s: float
    told_capability: Resource
    last_seen_ms: int = 0
    response_id: int = 0
    shutdown_order: str = ""
    last_answer: HeartbeatAnswer | None = None
    clean_up: dict[ContainerId, None] = field(default_factory=dict)
    forget: dict[ContainerId, None] = field(default_factory=dict)
    applications: dict[ApplicationId, None] = field(default_factory=dict)
    signals: list[tuple[ContainerId, int]] = field(default_factory=list)
    updates: dict[ContainerId, None] = field(default_factory=dict)
    load: NodeLoad | None = None
    can_measure: bool = False
    policy_version: str = ""
    named_pods: dict[ContainerId, str] = field(default_factory=dict)
    """Uids that the agent was told."""
    told_ranks: tuple[ContainerId, ...] = ()
    told_allocatable: Lent | None = None
    listed_s: dict[ContainerId, tuple[float, float]] = field(default_factory=dict)
    """Of containers whose pods have ended and which it lists as not ended: for how long, and when it did last."""

    def may_forget(self, container_id: ContainerId) -> None:
        """Beyond ``FORGET_MAX`` the oldest are not told."""
        self.forget[container_id] = None
        if len(self.forget) > FORGET_MAX:
            del self.forget[next(iter(self.forget))]


class NodeService:
    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        end_from_outside: Callable[[ContainerId, int], Awaitable[pod_events.End | None]],
        publishing: Publishing,
        written_limits: WrittenLimits,
        place_of: Callable[[str], NodePlaced | None] = lambda _: None,
        pod_of: Callable[[ContainerId], PodObservation | None] = lambda _: None,
        ranks_of: Callable[[NodeId], tuple[ContainerId, ...]] = lambda _: (),
    ) -> None:
        """``place_of`` tells where a Kubernetes node stands, ``pod_of`` a container's pod; None while nobody knows.
        ``ranks_of`` lists the containers of a node that run on lent capacity, the first to go first."""
        self._engine, self._clock = engine, clock
        self._publishing, self._written_limits = publishing, written_limits
        self._end_from_outside, self._place_of, self._pod_of = end_from_outside, place_of, pod_of
        self._ranks_of = ranks_of
        self.runtimes: dict[NodeId, NodeRuntime] = {}
        self.preempted_count = 0
        """Containers that agents ended in emergencies."""
        self.lists = HostLists()
        """Which hosts may be nodes; swapped by ``Decommission``."""
        self.ordered_capabilities: Mapping[str, Resource] = {}
        """By node id: what nodes get when they register (dynamic-resources.xml)."""

    @property
    def grown(self) -> Collection[ContainerId]:
        """Containers whose new size agents are expected to report."""
        return self._engine.state.container_index.unconfirmed

    async def register(self, registration: NodeRegistration) -> Registered:
        """registerNodeManager: the node and all it says of containers.  It may have nothing to lend at the moment.

        Raises:
            InvalidValue: a node with less than nothing.
        """
        capability = registration.capability
        if capability.memory_mib < 0 or capability.vcores < 0:
            raise InvalidValue("resource", str(capability), "memory and vcores of at least 0")
        if reason := self._is_anothers(registration):
            log.warning("registration refused", node_id=str(registration.node_id), reason=reason)
            return Registered(refusal=_disallowed(registration.node_id, reason))
        if not self._is_allowed(registration.node_id, registration.kubernetes_node_name):
            return await self._refuse(registration)

        def work(tx: Transaction) -> None:
            if not tx.has(registration.node_id):
                tx.put(Node(id=registration.node_id))
            if self.is_for_another(registration.node_id, registration.proved_name):
                tx.tell(registration.node_id, NodeExpired(tx.now_ms))  # what ran there was on the other node
            event = NodeRegistered(
                registration.http_port,
                capability,
                registration.kubernetes_node_name,
                registration.version,
                tx.now_ms,
                registration.shuffle_clients,
            )
            tx.tell(registration.node_id, event)
            self._place(tx, registration.node_id, registration.kubernetes_node_name)
            ordered = self.ordered_capabilities.get(str(registration.node_id))
            if ordered is not None and tx.node(registration.node_id).ordered_capability != ordered:
                tx.tell(registration.node_id, NodeCapabilityOrdered(ordered))

        await self._engine.do(work)
        # Once more: while this was written, a change of the labels found no row to be told to.
        if (place := self._place_of(registration.kubernetes_node_name)) is not None:
            self._engine.tell_later(registration.node_id, place)
        effective = self._engine.state.nodes[registration.node_id].capability
        now_s, before = self._clock.monotonic_s(), self.runtimes.get(registration.node_id)
        runtime = self.runtimes[registration.node_id] = NodeRuntime(
            last_seen_s=now_s,
            told_capability=effective,
            last_seen_ms=self._clock.now_ms(),
            can_measure=registration.can_measure,
            listed_s=before.listed_s if before is not None else {},
        )
        await self._take_reports(registration.node_id, registration.containers)
        self._clean_up_strangers(runtime, registration.node_id, registration.containers)
        log.info("node registered", node_id=str(registration.node_id), capability=str(effective))
        return Registered(capability=effective if effective != capability else None)

    def heartbeat(self, beat: Heartbeat) -> HeartbeatAnswer | None:
        """The synchronous part: the answer when nothing has to be written, else None: see ``heartbeat_slow``."""
        self._engine.state.standing.heard()
        if reason := self.is_for_another(beat.node_id, beat.proved_name):
            return HeartbeatAnswer(must_shut_down=True, diagnostics=_disallowed(beat.node_id, reason))
        runtime = self.runtimes.get(beat.node_id)
        node = self._engine.state.nodes.get(beat.node_id)
        if (turned_away := self._turned_away(beat.node_id, node, runtime)) is not None:
            return turned_away
        assert runtime is not None
        assert node is not None
        runtime.last_seen_s, runtime.last_seen_ms = self._clock.monotonic_s(), self._clock.now_ms()
        runtime.policy_version = beat.policy_version
        if beat.load is not None:
            runtime.load = beat.load
        if beat.capacity is not None:
            self._written_limits.hear(beat.node_id, beat.proved_name, beat.capacity)
            self._publishing.hear(beat.node_id, beat.proved_name, beat.capacity)
        elif beat.capacity_problem:
            self._publishing.refuse(beat.node_id, beat.proved_name, beat.capacity_problem)
        if beat.emergency_problem:
            self._publishing.refuse(beat.node_id, beat.proved_name, beat.emergency_problem)
        else:
            self._publishing.hear_emergency(beat.node_id, beat.proved_name, beat.emergency)
        if _health_changed(node, beat) or any(self._is_news(report) for report in beat.containers):
            return None
        if self._engine.state.container_index.awaiting(node.id):
            return None
        if shuffle_reports.has_news(self._engine.state, node.id, beat.shuffle):
            return None
        return self._answer(runtime, node, beat)

    async def heartbeat_slow(self, beat: Heartbeat) -> HeartbeatAnswer:
        """A heartbeat that brings news."""
        runtime = self.runtimes.get(beat.node_id)
        node = self._engine.state.nodes.get(beat.node_id)
        if runtime is None or node is None:  # it expired or left since the synchronous part
            return _resync(beat.node_id)
        if _health_changed(node, beat):
            report = beat.health_report[:HEALTH_REPORT_LENGTH_MAX]
            self._engine.tell_later(beat.node_id, NodeHealthReported(beat.is_healthy, report, self._clock.now_ms()))
        await shuffle_reports.take(self._engine, beat.node_id, beat.shuffle)
        unexplained = self._not_to_be_explained(runtime, beat)
        await self._take_reports(beat.node_id, beat.containers)
        if unexplained:
            await self._engine.do(partial(_believe_pods, unexplained))
        return self._answer(runtime, self._engine.state.nodes[beat.node_id], beat)

    def give_up(self, node_id: NodeId) -> None:
        """An agent that is not heard of any more: it has to register again."""
        self.runtimes.pop(node_id, None)
        self._publishing.left(node_id)

    async def unregister(self, node_id: NodeId, proved_name: str = "") -> None:
        """unRegisterNodeManager: an orderly shutdown of the agent.

        Raises:
            AccessDenied: it is another node's agent.
        """
        if reason := self.is_for_another(node_id, proved_name):
            raise AccessDenied(f"NodeManager {node_id} is not unregistered: {reason}")
        self.give_up(node_id)
        self._engine.tell_later(node_id, NodeUnregistered(self._clock.now_ms()))

    def is_for_another(self, node_id: NodeId, proved_name: str) -> str:
        """Why a node id is not the one of the agent whose token names this node; empty: it may be."""
        node = self._engine.state.nodes.get(node_id)
        if not proved_name or node is None or node.kubernetes_node_name == proved_name or not node.is_registered:
            return ""
        return f"its node token is of {proved_name}, and this node id is registered for {node.kubernetes_node_name}"

    def order_shutdown(self, node_id: NodeId, reason: str) -> None:
        """Its next heartbeat is answered with SHUTDOWN, once its row says that it is out."""
        runtime = self.runtimes.get(node_id)
        if runtime is not None:
            runtime.shutdown_order = reason

    def clean_up_container(self, effect: CleanUpContainer) -> None:
        runtime = self.runtimes.get(effect.node_id)
        if runtime is not None:
            runtime.clean_up[effect.container_id] = None

    def forget_container(self, container_id: ContainerId) -> None:
        """Where nobody has to hear of it any more."""
        container = self._engine.state.containers.get(container_id)
        runtime = self.runtimes.get(container.node_id) if container is not None and container.node_id else None
        if runtime is not None and container is not None and self._engine.state.is_heard_of(container):
            runtime.may_forget(container_id)

    def update_container(self, effect: UpdateOnNode) -> None:
        runtime = self.runtimes.get(effect.node_id)
        if runtime is not None:
            runtime.updates[effect.container_id] = None

    def clean_up_application(self, effect: CleanUpApplication) -> None:
        for runtime in self.runtimes.values():
            runtime.applications[effect.application_id] = None

    def signal(self, container_id: ContainerId, command: int) -> bool:
        """Pass a SignalContainerCommand on with the next heartbeat; False when the container is not on a node."""
        container = self._engine.state.containers.get(container_id)
        runtime = self.runtimes.get(container.node_id) if container is not None and container.node_id else None
        if runtime is None or container is None or not container.is_live or len(runtime.signals) >= SIGNALS_MAX:
            return False
        runtime.signals.append((container_id, command))
        return True

    def _is_anothers(self, registration: NodeRegistration) -> str:
        """Why the node is not the one that the agent's token names; empty: it is."""
        proved, said = registration.proved_name, registration.kubernetes_node_name
        if proved and proved != said:
            return f"its node token is of {proved}, and it says that it is on {said}"
        node = self._engine.state.nodes.get(registration.node_id)
        if node is not None and self._place_of(said) and not self._place_of(node.kubernetes_node_name):
            return ""  # Kubernetes' nodes were listed, and the other one is gone: its address is free
        return self.is_for_another(registration.node_id, proved)

    def _is_allowed(self, node_id: NodeId, kubernetes_node_name: str) -> bool:
        """What the lists say; one that is leaving may still talk (ResourceTrackerService.isNodeInDecommissioning)."""
        node = self._engine.state.nodes.get(node_id)
        if node is not None and node.state is NodeState.DECOMMISSIONING:
            return True
        return self.lists.allow((node_id.host, kubernetes_node_name))

    def _place(self, tx: Transaction, node_id: NodeId, kubernetes_node_name: str) -> None:
        place = self._place_of(kubernetes_node_name)
        if place is not None:
            tx.tell(node_id, place)

    async def _refuse(self, registration: NodeRegistration) -> Registered:
        node_id = registration.node_id

        def work(tx: Transaction) -> None:
            if not tx.has(node_id):
                tx.put(Node(id=node_id, kubernetes_node_name=registration.kubernetes_node_name))
            if tx.node(node_id).state in (NodeState.NEW, NodeState.LOST, NodeState.RUNNING, NodeState.UNHEALTHY):
                tx.tell(node_id, NodeDecommissioned("Excluded by the administrator", tx.now_ms))

        await self._engine.do(work)
        self.runtimes.pop(node_id, None)
        text = f"Disallowed NodeManager from  {node_id.host}, Sending SHUTDOWN signal to the NodeManager."
        log.info("node refused", node_id=str(node_id))
        return Registered(refusal=text)

    def _turned_away(self, node_id: NodeId, node: Node | None, runtime: NodeRuntime | None) -> HeartbeatAnswer | None:
        """The answer for an agent that is out, excluded, or not known to us."""
        is_out = node is not None and node.state is NodeState.DECOMMISSIONED
        if is_out and runtime is not None and runtime.shutdown_order:
            return HeartbeatAnswer(must_shut_down=True, diagnostics=runtime.shutdown_order)
        names = host_lists.names_of(node) if node is not None else (node_id.host,)
        if not self.lists.allow(names) and (node is None or node.state is not NodeState.DECOMMISSIONING):
            text = f"Disallowed NodeManager nodeId: {node_id} hostname: {node_id.host}"
            return HeartbeatAnswer(must_shut_down=True, diagnostics=text)
        return _resync(node_id) if runtime is None or node is None or not node.is_registered else None

    def _is_news(self, report: ContainerReport) -> bool:
        container = self._engine.state.containers.get(report.container_id)
        if report.is_complete:
            return container is not None and (container.is_live or container.awaits_agent)
        if not report.is_running or container is None:
            return False
        return container.state in UNSTARTED or (report.capability is not None and _has_grown(container, report))

    async def _take_reports(self, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        news = [report for report in reports if self._is_news(report)]
        if not news:
            return
        ended = [report for report in news if report.is_complete]
        states = self._engine.state.containers
        self.preempted_count += sum(
            report.exit_status == ContainerExitStatus.PREEMPTED
            and (container := states.get(report.container_id)) is not None
            and (container.is_live or container.awaits_agent)
            and container.node_id == node_id
            for report in ended
        )
        ends = dict(zip((r.container_id for r in ended), await asyncio.gather(*map(self._end_of, ended)), strict=True))

        def work(tx: Transaction) -> None:
            for report in news:
                container_id = report.container_id
                # A token names the node: another node's word on a container is worth nothing.
                if not tx.has(container_id) or tx.container(container_id).node_id != node_id:
                    continue
                if report.is_complete:
                    end = ends[container_id]
                    tx.tell(container_id, ContainerEnded(end.exit_status, end.diagnostics, tx.now_ms))
                    continue
                tx.tell(container_id, ContainerStarted())
                if _has_grown(tx.container(container_id), report):
                    assert report.capability is not None
                    tx.tell(container_id, SizeReported(report.capability))

        await self._engine.do(work)

    async def _end_of(self, report: ContainerReport) -> pod_events.End:
        """A process that died of a signal we did not send may have lost its pod to somebody.  Of one whose pod has
        ended the row says what Kubernetes saw, and an end that was ordered after it explains nothing."""
        container = self._engine.state.containers.get(report.container_id)
        is_by_signal = pod_events.is_by_signal(report.exit_status)
        if container is not None and container.awaits_agent:
            is_known_better = is_by_signal and report.exit_status != container.exit_status
            if is_known_better or report.exit_status in ORDERED_ENDS:
                return pod_events.End(container.exit_status, container.diagnostics)
        elif container is not None and container.is_live and is_by_signal:
            end = await self._end_from_outside(report.container_id, report.exit_status)
            if end is not None:
                return end
        return pod_events.End(report.exit_status, report.diagnostics)

    def _not_to_be_explained(self, runtime: NodeRuntime, beat: Heartbeat) -> list[ContainerId]:
        """Those of the node's containers, over as their pods told, of which its agent does not know, or has said for
        too long that they go on: it will not tell how they ended."""
        now_s, listed = self._clock.monotonic_s(), {report.container_id for report in beat.containers}
        awaiting = self._engine.state.container_index.awaiting(beat.node_id)
        before, runtime.listed_s = runtime.listed_s, {}
        for container_id in listed.intersection(awaiting):
            so_far_s, at_s = before.get(container_id, (0.0, now_s))
            runtime.listed_s[container_id] = (so_far_s + min(SILENT_S, now_s - at_s), now_s)
        return [one for one in awaiting if one not in listed or runtime.listed_s[one][0] >= LISTED_MAX_S]

    def _clean_up_strangers(self, runtime: NodeRuntime, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        """Containers that run there and have no live row: ended while the agent was away, or never ours."""
        for report in reports:
            container = self._engine.state.containers.get(report.container_id)
            if report.is_complete:
                continue
            if container is None or not (container.is_live or container.awaits_agent):
                runtime.clean_up[report.container_id] = None
            elif container.version > 0:  # it may have missed a resize while one of us was away
                runtime.updates[report.container_id] = None
        self._clean_up_unknown(runtime, node_id, reports)

    def _clean_up_unknown(self, runtime: NodeRuntime, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        """What runs there and has no row any more was stopped long ago; the order to end it was lost.  What has ended
        there and was heard of, or is not the node's, may be forgotten; that order may have been lost too."""
        state = self._engine.state
        for report in reports:
            container = state.containers.get(report.container_id)
            is_nobodys = container is None or container.node_id != node_id or state.is_heard_of(container)
            if report.is_complete and is_nobodys:
                runtime.may_forget(report.container_id)
            elif report.is_running and container is None:
                runtime.clean_up[report.container_id] = None

    def _answer(self, runtime: NodeRuntime, node: Node, beat: Heartbeat) -> HeartbeatAnswer:
        if runtime.last_answer is not None and beat.response_id + 1 == runtime.response_id:
            return runtime.last_answer  # our answer was lost: what was ordered in it stands
        self._clean_up_unknown(runtime, node.id, beat.containers)
        runtime.response_id += 1
        is_told = node.capability == runtime.told_capability
        runtime.told_capability = node.capability
        is_policy_news, policy = self._publishing.policy_for(runtime.policy_version if runtime.can_measure else None)
        if is_policy_news:
            runtime.named_pods = {}  # agents of earlier releases forget them where nothing is bounded
        answer = HeartbeatAnswer(
            response_id=runtime.response_id,
            capability=None if is_told else node.capability,
            containers_to_clean_up=tuple(runtime.clean_up),
            containers_to_forget=tuple(runtime.forget),
            applications_to_clean_up=tuple(runtime.applications),
            signals=tuple(runtime.signals),
            on_notice=self._engine.state.notices.on(node.id),
            updates=self._take_updates(runtime),
            pods=self._unnamed_pods(runtime, node, beat.containers) if runtime.can_measure else (),
            eviction_ranks=self._new_ranks(runtime, node) if runtime.can_measure else (),
            allocatable=self._new_allocatable(runtime, node) if runtime.can_measure else None,
            is_policy_news=is_policy_news,
            policy=policy if is_policy_news else None,
        )
        if runtime.clean_up or runtime.forget or runtime.applications or runtime.signals:
            for table in (runtime.clean_up, runtime.forget, runtime.applications, runtime.signals):
                table.clear()
        runtime.last_answer = answer
        return answer

    def _unnamed_pods(
        self, runtime: NodeRuntime, node: Node, reports: Collection[ContainerReport]
    ) -> tuple[tuple[ContainerId, str], ...]:
        """Which pods are ours: whose a process is goes by the uid of its pod.

        Each is named once; a container whose first pod its kubelet refused has another one, so all are looked at again
        now and then.
        """
        named = runtime.named_pods
        looks_at_all = runtime.response_id % ALL_PODS_EVERY == 0
        uids: dict[ContainerId, str] = {}
        for report in reports:
            container_id = report.container_id
            if not report.is_running or (container_id in named and not looks_at_all):
                continue
            pod, container = self._pod_of(container_id), self._engine.state.containers.get(container_id)
            if pod is not None and pod.uid and container is not None and container.node_id == node.id:
                uids[container_id] = pod.uid
        runtime.named_pods = uids if looks_at_all else {**named, **uids} if uids else named
        return tuple((one, uid) for one, uid in uids.items() if named.get(one) != uid)

    def _new_ranks(self, runtime: NodeRuntime, node: Node) -> tuple[ContainerId, ...]:
        """Who would go first in an emergency, where that is not what the agent was told."""
        ranks = self._ranks_of(node.id) if self._publishing.colocation.policy is not None else ()
        is_told = ranks == runtime.told_ranks
        runtime.told_ranks = ranks
        return () if is_told else ranks

    def _new_allocatable(self, runtime: NodeRuntime, node: Node) -> Lent | None:
        """What pods may use of the node, where that is not what the agent was told."""
        found = self._publishing.allocatable(node.kubernetes_node_name)
        is_told = found == runtime.told_allocatable
        runtime.told_allocatable = found
        return None if is_told else found

    def _take_updates(self, runtime: NodeRuntime) -> tuple[tuple[Container, int], ...]:
        if not runtime.updates:
            return ()
        containers = self._engine.state.containers
        now_ms = self._clock.now_ms()
        found = tuple((containers[i], now_ms) for i in runtime.updates if i in containers and containers[i].is_live)
        runtime.updates.clear()
        return found


def _believe_pods(container_ids: Sequence[ContainerId], tx: Transaction) -> None:
    for container_id in container_ids:
        if tx.has(container_id):
            tx.tell(container_id, tx.container(container_id).end_as_its_pod_told(tx.now_ms))


def _has_grown(container: Container, report: ContainerReport) -> bool:
    """The agent heard of an increase; what it works with until then is no news."""
    is_awaited = report.capability is not None and container.confirmed != NONE
    return is_awaited and report.capability != container.confirmed


def _health_changed(node: Node, beat: Heartbeat) -> bool:
    """Words count each time they change, a healthy node's too: one of its disks may be full
    (RMNodeImpl.updateRMNodeFromStatusEvents).  A node that is leaving has only words."""
    words_changed = beat.health_report[:HEALTH_REPORT_LENGTH_MAX] != node.health_report
    if node.state is NodeState.DECOMMISSIONING:
        return words_changed
    return words_changed or beat.is_healthy != (node.state is not NodeState.UNHEALTHY)


def _disallowed(node_id: NodeId, reason: str) -> str:
    return f"Disallowed NodeManager {node_id}: {reason}, Sending SHUTDOWN signal to the NodeManager."


def _resync(node_id: NodeId) -> HeartbeatAnswer:
    return HeartbeatAnswer(must_resync=True, diagnostics=f"Node not found resyncing {node_id}")
