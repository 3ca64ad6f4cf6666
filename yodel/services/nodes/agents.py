"""Node agents that are registered: when each was heard last, what it reported of its load, what it is to be told.

They live in memory only: an agent that is not known here registers again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from yodel.domain.effects import CleanUpApplication, CleanUpContainer, UpdateOnNode
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.node_load import NodeLoad
from yodel.domain.resource import Resource
from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.services.nodes.container_reports import ContainerReport
from yodel.services.nodes.facts import Facts
from yodel.services.nodes.outbox import Outbox, Told, Topic
from yodel.services.writer.node_index import another
from yodel.services.writer.state import ClusterState

if TYPE_CHECKING:
    from yodel.services.nodes.heartbeat import HeartbeatAnswer

KEPT_S = 30.0
"""An agent that was heard within so long keeps its Kubernetes node, unless its connection is closed.  Otherwise it was
restarted on another port, or its machine was replaced."""
SILENT_S = 3.0
"""At most so much of the time between two beats counts for a list: a paused agent is silent, and waited for."""


@dataclass(slots=True)
class NodeRuntime:
    """One agent: when it was heard last (monotonic seconds, and epoch ms to be shown), and what was said to it."""

    last_seen_s: float
    last_seen_ms: int = 0
    peer: tuple[str, int] = ("", 0)
    """The other end of the connection by which it was heard last."""
    is_closed: bool = False
    """The connection of its last heartbeat has ended."""
    response_id: int = 0
    shutdown_order: str = ""
    last_answer: HeartbeatAnswer | None = None
    outbox: Outbox = field(default_factory=Outbox)
    told: Told = field(default_factory=Told)
    load: NodeLoad | None = None
    can_measure: bool = False
    listed_s: dict[ContainerId, tuple[float, float]] = field(default_factory=dict)
    """The containers whose pods have ended and which it lists as not ended: for how long, and when it did last."""

    def heard(self, clock: Clock, peer: tuple[str, int], load: NodeLoad | None) -> None:
        self.last_seen_s, self.last_seen_ms = clock.monotonic_s(), clock.now_ms()
        self.peer, self.is_closed = peer, False
        self.load = load or self.load

    def closed(self, peer: tuple[str, int]) -> None:
        """Note the end of a connection; the agent may have another."""
        self.is_closed = self.is_closed or self.peer == peer

    def answered(self, answer: HeartbeatAnswer) -> None:
        """Note that the answer contains all messages."""
        self.response_id, self.last_answer = answer.response_id, answer
        self.outbox.clear()

    def lists(self, container_ids: Iterable[ContainerId], now_s: float) -> dict[ContainerId, float]:
        """Return for how long it has listed each of these, and forget others."""
        before, self.listed_s = self.listed_s, {}
        for container_id in container_ids:
            so_far_s, at_s = before.get(container_id, (0.0, now_s))
            self.listed_s[container_id] = (so_far_s + min(SILENT_S, now_s - at_s), now_s)
        return {container_id: so_far_s for container_id, (so_far_s, _) in self.listed_s.items()}


class Agents:
    def __init__(self, state: ClusterState, clock: Clock, facts: Facts, *, is_proof_required: bool) -> None:
        """``is_proof_required``: agents of Kubernetes' nodes have tokens; NodeManagers never have."""
        self._state, self._clock, self._facts = state, clock, facts
        self.is_proof_required = is_proof_required
        self._started_s = clock.monotonic_s()
        self.runtimes: dict[NodeId, NodeRuntime] = {}
        self.lists = HostLists()
        """Which hosts may be nodes; swapped by ``Decommission``."""
        self.ordered_capabilities: Mapping[str, Resource] = {}
        """By node id: what nodes get when they register (dynamic-resources.xml)."""

    def silent_s(self, node_id: NodeId) -> float:
        """Return the seconds since a registered agent's last heartbeat, or since this process started."""
        runtime = self.runtimes.get(node_id)
        return self._clock.monotonic_s() - (runtime.last_seen_s if runtime is not None else self._started_s)

    def address_of(self, node_id: NodeId) -> str:
        """Return the address from which an agent was heard last; empty: none is registered."""
        runtime = self.runtimes.get(node_id)
        return "" if runtime is None else runtime.peer[0]

    def kept_by_another(self, node_id: NodeId, kubernetes_name: str) -> str:
        """Return why a Kubernetes node is not this agent's: another was first, and was heard lately; empty: it is.

        Raises:
            Unavailable: it was not heard in this life, and has some time to come.
        """
        first = self._state.node_index.speaker(kubernetes_name)
        if first is None or first.id == node_id or self.silent_s(first.id) >= KEPT_S:
            return ""
        reason, runtime = another(kubernetes_name, first.id), self.runtimes.get(first.id)
        if runtime is None:
            raise Unavailable(f"{reason}, and has {KEPT_S:g} s from the start to come back")
        if runtime.is_closed:
            return ""
        self._facts.note_rival(kubernetes_name, node_id, reason)
        return reason

    def others_of(self, node_id: NodeId, kubernetes_name: str) -> list[NodeId]:
        """Other agents of the Kubernetes node: registered, or of the same host and with an order to lend less."""
        rows, agents = self._state.nodes, self._state.node_index.agents_of(kubernetes_name)
        limited = (rows[other] for other in self._state.node_index.on_host(node_id.host))
        there = [row for row in limited if row.lent_limit is not None and row.kubernetes_node_name == kubernetes_name]
        return [other for other in dict.fromkeys([*agents, *(row.id for row in there)]) if other != node_id]

    def registered(self, node_id: NodeId, capability: Resource, peer: tuple[str, int], *, can_measure: bool) -> None:
        """It was told its capability."""
        before = self.runtimes.get(node_id)
        runtime = self.runtimes[node_id] = NodeRuntime(
            last_seen_s=self._clock.monotonic_s(),
            last_seen_ms=self._clock.now_ms(),
            peer=peer,
            can_measure=can_measure,
            listed_s=before.listed_s if before is not None else {},
        )
        runtime.told.knows(Topic.CAPABILITY, capability)
        self._facts.note_rival(self._state.nodes[node_id].kubernetes_node_name, node_id, "")
        for topic, nothing in ((Topic.RANKS, ()), (Topic.ALLOCATABLE, None)):
            runtime.told.knows(topic, nothing)

    def forget(self, node_id: NodeId) -> None:
        self.runtimes.pop(node_id, None)

    def give_up(self, node_id: NodeId) -> None:
        """An agent that is not heard of any more: it has to register again."""
        self.forget(node_id)
        self._facts.left(node_id)

    def is_present(self, node_id: NodeId) -> bool:
        """Return whether a registered agent was heard lately, and its connection is open."""
        runtime = self.runtimes.get(node_id)
        return runtime is not None and not runtime.is_closed and self.silent_s(node_id) < KEPT_S

    def is_for_another(self, node_id: NodeId, proved_name: str, peer: tuple[str, int]) -> str:
        """Return why a node id is not that of this connection's speaker, whose token names this node; empty: it may be.

        A NodeManager has no token: it speaks from the address that it registered from.
        """
        node = self._state.nodes.get(node_id)
        if node is None or not node.is_registered:
            return ""
        if node.is_node_manager:
            runtime = self.runtimes.get(node_id)
            is_same = not proved_name and (runtime is None or runtime.peer[0] == peer[0])
            return "" if is_same else "this id is registered by a NodeManager at another address"
        if node.kubernetes_node_name == proved_name or not (proved_name or self.is_proof_required):
            return ""
        name = node.kubernetes_node_name
        return f"its node token belongs to {proved_name or 'no node'}, but this id is registered for {name}"

    def order_shutdown(self, node_id: NodeId, reason: str) -> None:
        """Its next heartbeat is answered with SHUTDOWN, once its row says that it is out."""
        runtime = self.runtimes.get(node_id)
        if runtime is not None:
            runtime.shutdown_order = reason

    # --- what they reported -----------------------------------------------------------------------------------------

    def load(self, node_id: NodeId) -> NodeLoad | None:
        """Return an agent's last measurement; None: nothing is known of it."""
        runtime = self.runtimes.get(node_id)
        return runtime.load if runtime is not None else None

    def last_heartbeat_ms(self, node_id: NodeId) -> int:
        """Return the time of an agent's last heartbeat, in epoch ms; 0: none since the ResourceManager started."""
        runtime = self.runtimes.get(node_id)
        return runtime.last_seen_ms if runtime is not None else 0

    def usable_loads(self) -> list[NodeLoad]:
        """Return the measurements of the nodes in use."""
        rows = ((self._state.nodes.get(node_id), runtime.load) for node_id, runtime in self.runtimes.items())
        return [load for row, load in rows if row is not None and row.is_usable and load is not None]

    # --- what one is to be told -------------------------------------------------------------------------------------

    def clean_up_container(self, effect: CleanUpContainer) -> None:
        runtime = self.runtimes.get(effect.node_id)
        if runtime is not None:
            runtime.outbox.clean_up[effect.container_id] = None

    def forget_container(self, container_id: ContainerId, node_id: NodeId | None) -> None:
        """Let the agent forget a container of whose end everybody has been notified, as of one that has no row."""
        container = self._state.containers.get(container_id)
        runtime = self.runtimes.get(node_id) if node_id is not None else None
        if runtime is not None and (container is None or self._state.is_heard_of(container)):
            runtime.outbox.may_forget(container_id)

    def update_container(self, effect: UpdateOnNode) -> None:
        runtime = self.runtimes.get(effect.node_id)
        if runtime is not None:
            runtime.outbox.updates[effect.container_id] = None

    def clean_up_application(self, effect: CleanUpApplication) -> None:
        for runtime in self.runtimes.values():
            runtime.outbox.applications[effect.application_id] = None

    def signal(self, container_id: ContainerId, command: int) -> bool:
        """Pass a SignalContainerCommand on with the next heartbeat; False when the container is not on a node."""
        container = self._state.containers.get(container_id)
        runtime = self.runtimes.get(container.node_id) if container is not None and container.node_id else None
        if runtime is None or container is None or not container.is_live:
            return False
        return runtime.outbox.signal(container_id, command)

    def clean_up_strangers(self, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        """Containers that run there and have no live row: ended while the agent was away, or never ours."""
        runtime = self.runtimes[node_id]
        for report in reports:
            container = self._state.containers.get(report.container_id)
            if report.is_complete:
                continue
            if container is None or not (container.is_live or container.awaits_agent):
                runtime.outbox.clean_up[report.container_id] = None
            elif container.version > 0:  # it may have missed a resize while one of us was away
                runtime.outbox.updates[report.container_id] = None
        self.clean_up_unknown(runtime, node_id, reports)

    def clean_up_unknown(self, runtime: NodeRuntime, node_id: NodeId, reports: Sequence[ContainerReport]) -> None:
        """Send the orders for containers without a row, which may have been lost: to stop live ones, and to forget
        ended ones."""
        state = self._state
        for report in reports:
            container = state.containers.get(report.container_id)
            is_nobodys = container is None or container.node_id != node_id or state.is_heard_of(container)
            if report.is_complete and is_nobodys:
                runtime.outbox.may_forget(report.container_id)
            elif report.is_running and container is None:
                runtime.outbox.clean_up[report.container_id] = None


def disallowed(node_id: NodeId, reason: str) -> str:
    return f"Disallowed NodeManager {node_id}: {reason}, Sending SHUTDOWN signal to the NodeManager."
