"""Registers node agents, and lets them go (ResourceTrackerService.registerNodeManager, unRegisterNodeManager).

An agent on a host that the lists refuse is told to shut down, in Hadoop's words; its host is then a row too, so that
nothing is placed there and ``yarn node -list -all`` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from yodel.domain.events import (
    NodeCapabilityOrdered,
    NodeDecommissioned,
    NodeExpired,
    NodeLendingLimited,
    NodePlaced,
    NodeRegistered,
    NodeUnregistered,
)
from yodel.domain.ids import NodeId
from yodel.domain.node import Node
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.errors import AccessDenied, InvalidValue
from yodel.ports.clock import Clock
from yodel.services.nodes.agents import Agents, disallowed
from yodel.services.nodes.container_reports import ContainerReport, ContainerReports
from yodel.services.nodes.node_managers import NodeManagerAdmission
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

log = structlog.get_logger("yodel.nodes")


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
    peer: tuple[str, int] = ("", 0)
    """The other end of its connection."""
    can_measure: bool = False
    """It understands a policy; a genuine NodeManager does not."""
    shuffle_clients: tuple[str, ...] | None = None
    """Shuffle services whose client it can prepare."""
    is_node_manager: bool = False
    """It launches containers itself, and has no Kubernetes name."""
    labels: tuple[str, ...] = ()
    """Node labels of a NodeManager, by its own configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """``refusal`` says why the agent has to shut down, ``labels_refusal`` why its labels do not count; ``capability``
    is set when it is not what the agent said."""

    refusal: str = ""
    labels_refusal: str = ""
    capability: Resource | None = None


class Registration:
    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        agents: Agents,
        reports: ContainerReports,
        place_of: Callable[[str], NodePlaced | None],
        owner_of: Callable[[str, str], str],
        admission: NodeManagerAdmission,
    ) -> None:
        """``place_of`` tells where a Kubernetes node stands; None while nobody knows.  ``owner_of`` finds the other
        Kubernetes node whose address a host is; empty: none."""
        self._engine, self._clock, self._agents = engine, clock, agents
        self._reports, self._place_of, self._owner_of, self._admission = reports, place_of, owner_of, admission

    async def register(self, registration: NodeRegistration) -> Registered:
        """registerNodeManager: the node and all it says of containers.  It may have nothing to lend at the moment.

        Raises:
            InvalidValue: a node with less than nothing, or an agent that does not name its Kubernetes node.
            Unavailable: its node had another agent before this life, which has some time to come back.
        """
        capability = registration.capability
        if capability.memory_mib < 0 or capability.vcores < 0:
            raise InvalidValue("resource", str(capability), "memory and vcores of at least 0")
        if bool(registration.kubernetes_node_name) is registration.is_node_manager:
            expected = "the name of the agent's node in Kubernetes; a NodeManager has none"
            raise InvalidValue("kubernetes_node_name", registration.kubernetes_node_name, expected)
        if reason := await self._why_refused(registration):
            log.warning("registration refused", node_id=str(registration.node_id), reason=reason)
            return Registered(refusal=disallowed(registration.node_id, reason))
        if not self._is_allowed(registration.node_id, registration.kubernetes_node_name):
            return await self._refuse(registration)

        labels_refusal = self._admission.why_labels_refused(registration.labels)
        others = self._agents.others_of(registration.node_id, registration.kubernetes_node_name)

        def work(tx: Transaction) -> None:
            if not tx.has(registration.node_id):
                tx.put(Node(id=registration.node_id))
            _take_over(tx, registration.node_id, others)
            if self._belongs_to_another(registration):
                tx.tell(registration.node_id, NodeExpired(tx.now_ms))  # what ran there was on the other node
            event = NodeRegistered(
                registration.http_port,
                capability,
                registration.kubernetes_node_name,
                registration.version,
                tx.now_ms,
                registration.shuffle_clients,
                registration.is_node_manager,
            )
            tx.tell(registration.node_id, event)
            if (place := self._placed(registration, labels_refusal)) is not None:
                tx.tell(registration.node_id, place)
            ordered = self._agents.ordered_capabilities.get(str(registration.node_id))
            if ordered is not None and tx.node(registration.node_id).ordered_capability != ordered:
                tx.tell(registration.node_id, NodeCapabilityOrdered(ordered))

        await self._engine.do(work)
        # Once more: while this was written, a change of the labels found no row to be told to.
        if (place := self._placed(registration, labels_refusal)) is not None:
            self._engine.tell_later(registration.node_id, place)
        for other in others:
            self._agents.give_up(other)
        effective = self._engine.state.nodes[registration.node_id].capability
        self._agents.registered(
            registration.node_id, effective, registration.peer, can_measure=registration.can_measure
        )
        await self._reports.take(registration.node_id, registration.containers)
        if registration.is_node_manager:
            await self._reports.lose_missing(registration.node_id, registration.containers)
        self._agents.clean_up_strangers(registration.node_id, registration.containers)
        log.info("node registered", node_id=str(registration.node_id), capability=str(effective))
        return Registered(capability=effective if effective != capability else None, labels_refusal=labels_refusal)

    async def unregister(self, node_id: NodeId, proved_name: str = "", peer: tuple[str, int] = ("", 0)) -> None:
        """unRegisterNodeManager: an orderly shutdown of the agent.

        Raises:
            AccessDenied: it is another node's agent.
        """
        if reason := self._agents.is_for_another(node_id, proved_name, peer):
            raise AccessDenied(f"NodeManager {node_id} is not unregistered: {reason}")
        self._agents.give_up(node_id)
        self._engine.tell_later(node_id, NodeUnregistered(self._clock.now_ms()))

    async def _why_refused(self, registration: NodeRegistration) -> str:
        """Return why this one may not be this node; empty: it may."""
        node_id, state = registration.node_id, self._engine.state
        if registration.is_node_manager:
            reason = await self._admission.why_refused(node_id.host, registration.peer[0], self._agents.lists)
            if reason or registration.proved_name:
                return reason or f"its node token belongs to {registration.proved_name}, but it is a NodeManager"
        elif reason := self._is_unproved(registration):
            return reason
        known = state.nodes.get(node_id)
        if known is not None and known.is_node_manager is not registration.is_node_manager:
            if state.container_index.on_node(node_id) or registration.containers or self._agents.is_present(node_id):
                other = "a NodeManager" if known.is_node_manager else "a node agent"
                return f"this id is registered by {other}, which has containers or is connected"
        elif not registration.is_node_manager and (reason := self._is_anothers(registration)):
            return reason
        return self._agents.kept_by_another(node_id, registration.kubernetes_node_name)

    def _is_unproved(self, registration: NodeRegistration) -> str:
        """Return why the Kubernetes name is not the agent's; empty: it is."""
        proved, said = registration.proved_name, registration.kubernetes_node_name
        if not (proved or self._agents.is_proof_required):
            return ""
        if proved != said:
            return f"its node token belongs to {proved or 'no node'}, but it registers as {said}"
        host = registration.node_id.host
        owner = self._owner_of(host, proved)
        return f"its node token belongs to {proved}, but {host} is an address of {owner}" if owner else ""

    def _is_anothers(self, registration: NodeRegistration) -> str:
        """Return why the node id is another agent's; empty: it is not."""
        proved, said = registration.proved_name, registration.kubernetes_node_name
        node = self._engine.state.nodes.get(registration.node_id)
        if node is not None and self._place_of(said) and not self._place_of(node.kubernetes_node_name):
            return ""  # Kubernetes' nodes were listed, and the other one is gone: its address is free
        return self._agents.is_for_another(registration.node_id, proved, registration.peer)

    def _belongs_to_another(self, registration: NodeRegistration) -> bool:
        """Return whether what runs behind this node id is on another node, or of another kind."""
        known = self._engine.state.nodes.get(registration.node_id)
        if known is not None and known.is_node_manager and registration.is_node_manager:
            return False  # its host may have another address by now
        node_id, proved, peer = registration.node_id, registration.proved_name, registration.peer
        return bool(self._agents.is_for_another(node_id, proved, peer))

    def _is_allowed(self, node_id: NodeId, kubernetes_node_name: str) -> bool:
        """Return True if the lists admit the node; one that is leaving may still register
        (ResourceTrackerService.isNodeInDecommissioning)."""
        node = self._engine.state.nodes.get(node_id)
        if node is not None and node.state is NodeState.DECOMMISSIONING:
            return True
        return self._agents.lists.allow((node_id.host, kubernetes_node_name))

    def _placed(self, registration: NodeRegistration, labels_refusal: str) -> NodePlaced | None:
        """Return the node's rack and labels: those of its Kubernetes node, if that is known, or of the NodeManager."""
        if not registration.is_node_manager:
            return self._place_of(registration.kubernetes_node_name)
        rack = self._agents.lists.rack_of(registration.node_id.host)
        return NodePlaced(rack, () if labels_refusal else registration.labels)

    async def _refuse(self, registration: NodeRegistration) -> Registered:
        node_id = registration.node_id

        def work(tx: Transaction) -> None:
            if not tx.has(node_id):
                tx.put(Node(id=node_id, kubernetes_node_name=registration.kubernetes_node_name))
            if tx.node(node_id).state in (NodeState.NEW, NodeState.LOST, NodeState.RUNNING, NodeState.UNHEALTHY):
                tx.tell(node_id, NodeDecommissioned("Excluded by the administrator", tx.now_ms))

        await self._engine.do(work)
        self._agents.forget(node_id)
        text = f"Disallowed NodeManager from  {node_id.host}, Sending SHUTDOWN signal to the NodeManager."
        log.info("node refused", node_id=str(node_id))
        return Registered(refusal=text)


def _take_over(tx: Transaction, node_id: NodeId, others: Sequence[NodeId]) -> None:
    """The Kubernetes node is this agent's from now on: with an order to lend less, without what ran behind others."""
    for other in others:
        if (limit := tx.node(other).lent_limit) is not None:
            tx.tell(other, NodeLendingLimited(None))
            tx.tell(node_id, NodeLendingLimited(limit))
        if tx.node(other).is_registered:
            tx.tell(other, NodeExpired(tx.now_ms))
