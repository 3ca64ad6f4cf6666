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


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """``refusal`` says why the agent has to shut down; ``capability`` is set when it is not what the agent said."""

    refusal: str = ""
    capability: Resource | None = None


class Registration:
    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        agents: Agents,
        reports: ContainerReports,
        place_of: Callable[[str], NodePlaced | None],
    ) -> None:
        """``place_of`` tells where a Kubernetes node stands; None while nobody knows."""
        self._engine, self._clock, self._agents = engine, clock, agents
        self._reports, self._place_of = reports, place_of

    async def register(self, registration: NodeRegistration) -> Registered:
        """registerNodeManager: the node and all it says of containers.  It may have nothing to lend at the moment.

        Raises:
            InvalidValue: a node with less than nothing.
            Unavailable: its node had another agent before this life, which has some time to come back.
        """
        capability = registration.capability
        if capability.memory_mib < 0 or capability.vcores < 0:
            raise InvalidValue("resource", str(capability), "memory and vcores of at least 0")
        if reason := self._is_anothers(registration):
            log.warning("registration refused", node_id=str(registration.node_id), reason=reason)
            return Registered(refusal=disallowed(registration.node_id, reason))
        if reason := self._agents.kept_by_another(registration.node_id, registration.kubernetes_node_name):
            log.warning("registration refused", node_id=str(registration.node_id), reason=reason)
            return Registered(refusal=disallowed(registration.node_id, reason))
        if not self._is_allowed(registration.node_id, registration.kubernetes_node_name):
            return await self._refuse(registration)

        others = self._agents.others_of(registration.node_id, registration.kubernetes_node_name)

        def work(tx: Transaction) -> None:
            if not tx.has(registration.node_id):
                tx.put(Node(id=registration.node_id))
            _take_over(tx, registration.node_id, others)
            if self._agents.is_for_another(registration.node_id, registration.proved_name):
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
            ordered = self._agents.ordered_capabilities.get(str(registration.node_id))
            if ordered is not None and tx.node(registration.node_id).ordered_capability != ordered:
                tx.tell(registration.node_id, NodeCapabilityOrdered(ordered))

        await self._engine.do(work)
        # Once more: while this was written, a change of the labels found no row to be told to.
        if (place := self._place_of(registration.kubernetes_node_name)) is not None:
            self._engine.tell_later(registration.node_id, place)
        for other in others:
            self._agents.give_up(other)
        effective = self._engine.state.nodes[registration.node_id].capability
        self._agents.registered(
            registration.node_id, effective, registration.peer, can_measure=registration.can_measure
        )
        await self._reports.take(registration.node_id, registration.containers)
        self._agents.clean_up_strangers(registration.node_id, registration.containers)
        log.info("node registered", node_id=str(registration.node_id), capability=str(effective))
        return Registered(capability=effective if effective != capability else None)

    async def unregister(self, node_id: NodeId, proved_name: str = "") -> None:
        """unRegisterNodeManager: an orderly shutdown of the agent.

        Raises:
            AccessDenied: it is another node's agent.
        """
        if reason := self._agents.is_for_another(node_id, proved_name):
            raise AccessDenied(f"NodeManager {node_id} is not unregistered: {reason}")
        self._agents.give_up(node_id)
        self._engine.tell_later(node_id, NodeUnregistered(self._clock.now_ms()))

    def _is_anothers(self, registration: NodeRegistration) -> str:
        """Why the node is not the one that the agent's token names; empty: it is."""
        proved, said = registration.proved_name, registration.kubernetes_node_name
        if proved and proved != said:
            return f"its node token belongs to {proved}, but it registers as {said}"
        node = self._engine.state.nodes.get(registration.node_id)
        if node is not None and self._place_of(said) and not self._place_of(node.kubernetes_node_name):
            return ""  # Kubernetes' nodes were listed, and the other one is gone: its address is free
        return self._agents.is_for_another(registration.node_id, proved)

    def _is_allowed(self, node_id: NodeId, kubernetes_node_name: str) -> bool:
        """Return True if the lists admit the node; one that is leaving may still register
        (ResourceTrackerService.isNodeInDecommissioning)."""
        node = self._engine.state.nodes.get(node_id)
        if node is not None and node.state is NodeState.DECOMMISSIONING:
            return True
        return self._agents.lists.allow((node_id.host, kubernetes_node_name))

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
