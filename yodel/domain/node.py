"""A node agent as the RM knows it.  Follows RMNodeImpl; what runs there is derived from containers, not kept here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.effects import NodeChanged, NodeRelabelled, StopContainersOnNode
from yodel.domain.events import (
    NodeCapabilityOrdered,
    NodeDecommissioned,
    NodeDecommissionStarted,
    NodeExpired,
    NodeHealthReported,
    NodeLendingLimited,
    NodePlaced,
    NodeRecommissioned,
    NodeRegistered,
    NodeUnregistered,
)
from yodel.domain.ids import NodeId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.machine import Go, Ignore, Impossible, StateMachine, Step, every_state
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerExitStatus, NodeState

DEFAULT_RACK = "/default-rack"
NOT_ORDERED = Resource(-1, -1)
LOST_CONTAINER = "Container released on a *lost* node"  # SchedulerUtils.LOST_CONTAINER


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node.  ``kubernetes_node_name`` is where the agent's pods are bound; times are epoch milliseconds.

    ``capability`` is what counts: what the agent registered, or ``ordered_capability`` when an administrator gave one.
    """

    id: NodeId
    state: NodeState = NodeState.NEW
    http_port: int = 0
    capability: Resource = NONE
    rack: str = DEFAULT_RACK
    labels: tuple[str, ...] = ()
    kubernetes_node_name: str = ""
    version: str = ""
    health_report: str = ""
    last_health_ms: int = 0
    decommissioning_since_ms: int = 0
    decommissioning_timeout_s: int = -1
    """While DECOMMISSIONING: seconds from ``decommissioning_since_ms``; negative is for ever."""
    ordered_capability: Resource = NOT_ORDERED
    lent_limit: LentLimit | None = None
    """The most that it lends, by order of an administrator, until what is used there fits."""
    shuffle_clients: tuple[str, ...] | None = None
    """Shuffle services whose client its agent can prepare; None: no agent has registered since this is known."""
    is_node_manager: bool = False
    """It launches containers itself and has no pods; its Kubernetes name is empty, whatever its host is called."""

    @property
    def http_address(self) -> str:
        return f"{self.id.host}:{self.http_port}"

    @property
    def is_usable(self) -> bool:
        return self.state is NodeState.RUNNING

    @property
    def is_registered(self) -> bool:
        """Its agent has registered, and neither left nor was given up."""
        return self.state in REGISTERED

    @property
    def is_closed(self) -> bool:
        """Nothing may be placed there, however Kubernetes sees it.  A LOST node's agent is expected back."""
        return self.state in _CLOSED


REGISTERED = frozenset({NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING})
_CLOSED = frozenset(
    {NodeState.DECOMMISSIONING, NodeState.DECOMMISSIONED, NodeState.UNHEALTHY, NodeState.SHUTDOWN, NodeState.REBOOTED}
)


def _registered(node: Node, event: NodeRegistered) -> Step[Node]:
    """An agent that restarts changes neither the order to leave nor its health (RMNodeImpl.ReconnectNodeTransition)."""
    is_new = node.state not in (NodeState.DECOMMISSIONING, NodeState.UNHEALTHY)
    registered = replace(
        node,
        state=NodeState.RUNNING if is_new else node.state,
        http_port=event.http_port,
        capability=event.capability if node.ordered_capability == NOT_ORDERED else node.ordered_capability,
        kubernetes_node_name=event.kubernetes_node_name,
        version=event.version,
        shuffle_clients=event.shuffle_clients,
        is_node_manager=event.is_node_manager,
        health_report="" if is_new else node.health_report,
        last_health_ms=event.at_ms,
    )
    return Step(registered, (NodeChanged(node.id),))


def _health(node: Node, event: NodeHealthReported) -> Step[Node]:
    """A sick node loses what runs there; one that is leaving is left to leave (RMNodeImpl.reportNodeUnusable)."""
    reported = replace(node, health_report=event.report, last_health_ms=event.at_ms)
    state = NodeState.RUNNING if event.is_healthy else NodeState.UNHEALTHY
    if node.state is NodeState.DECOMMISSIONING or state is node.state:
        return Step(reported)
    if event.is_healthy:
        return Step(replace(reported, state=state), (NodeChanged(node.id),))
    return Step(replace(reported, state=state), _lost(node, is_agent_gone=False))


def _leaving(node: Node, event: NodeDecommissionStarted) -> Step[Node]:
    """A repeated order changes the time allowed, not when it began (DecommissioningNodeTransition)."""
    is_first = node.state is not NodeState.DECOMMISSIONING
    leaving = replace(
        node,
        state=NodeState.DECOMMISSIONING,
        decommissioning_since_ms=event.at_ms if is_first else node.decommissioning_since_ms,
        decommissioning_timeout_s=event.timeout_s,
    )
    return Step(leaving, (NodeChanged(node.id),))


def _staying(node: Node, event: NodeRecommissioned) -> Step[Node]:
    """Sick or not is said by the next heartbeat (RecommissionNodeTransition)."""
    return Step(replace(node, state=NodeState.RUNNING, last_health_ms=event.at_ms), (NodeChanged(node.id),))


def _ordered(node: Node, event: NodeCapabilityOrdered) -> Step[Node]:
    changed = replace(node, capability=event.capability, ordered_capability=event.capability)
    return Step(changed, (NodeChanged(node.id),))


def _limited(node: Node, event: NodeLendingLimited) -> Step[Node]:
    return Step(replace(node, lent_limit=event.limit))


def _placed(node: Node, event: NodePlaced) -> Step[Node]:
    """Keep what runs there; what is asked for may fit now."""
    if (event.rack, event.labels) == (node.rack, node.labels):
        return Step(node)
    return Step(replace(node, rack=event.rack, labels=event.labels), (NodeRelabelled(node.id),))


def _out(node: Node, event: NodeDecommissioned) -> Step[Node]:
    gone = replace(node, state=NodeState.DECOMMISSIONED, health_report=event.report, last_health_ms=event.at_ms)
    return Step(gone, _lost(node))


def _to(state: NodeState, report: str) -> Go[Node]:
    """The node is gone, and with it what ran there (AbstractYarnScheduler.removeNode)."""

    def go(node: Node, event: NodeExpired | NodeUnregistered) -> Step[Node]:
        gone = replace(node, state=state, health_report=report, last_health_ms=event.at_ms)
        return Step(gone, _lost(node))

    return Go(go, (state,))


def _lost(node: Node, *, is_agent_gone: bool = True) -> tuple[StopContainersOnNode, NodeChanged]:
    stop = StopContainersOnNode(node.id, ContainerExitStatus.ABORTED, LOST_CONTAINER, is_agent_gone)
    return stop, NodeChanged(node.id)


_S = NodeState
_GONE = (_S.LOST, _S.DECOMMISSIONED, _S.SHUTDOWN, _S.REBOOTED)

NODE_MACHINE: StateMachine[Node] = StateMachine(
    "Node",
    NodeState,
    (
        NodeRegistered,
        NodeHealthReported,
        NodeExpired,
        NodeUnregistered,
        NodeDecommissionStarted,
        NodeDecommissioned,
        NodeRecommissioned,
        NodeCapabilityOrdered,
        NodeLendingLimited,
        NodePlaced,
    ),
    {
        **every_state(_S, NodeRegistered, Go(_registered, (_S.RUNNING,))),
        **every_state(_S, NodeHealthReported, Go(_health, (_S.RUNNING, _S.UNHEALTHY))),
        **every_state(_S, NodeExpired, _to(_S.LOST, "Expired: no heartbeat")),
        **every_state(_S, NodeUnregistered, _to(_S.SHUTDOWN, "Shut down by its node agent")),
        **every_state(_S, NodeDecommissionStarted, Go(_leaving, (_S.DECOMMISSIONING,))),
        **every_state(_S, NodeDecommissioned, Go(_out, (_S.DECOMMISSIONED,))),
        **every_state(_S, NodeRecommissioned, Ignore("it was not on its way out")),
        **{(state, NodeCapabilityOrdered): Go(_ordered, (state,)) for state in _S},
        **{(state, NodeLendingLimited): Go(_limited, (state,)) for state in _S},
        **{(state, NodePlaced): Go(_placed, (state,)) for state in _S},
        (_S.UNHEALTHY, NodeRegistered): Go(_registered, (_S.UNHEALTHY,)),
        (_S.DECOMMISSIONING, NodeRegistered): Go(_registered, (_S.DECOMMISSIONING,)),
        (_S.DECOMMISSIONING, NodeHealthReported): Go(_health, (_S.DECOMMISSIONING,)),
        (_S.DECOMMISSIONING, NodeRecommissioned): Go(_staying, (_S.RUNNING,)),
        (_S.NEW, NodeHealthReported): Impossible("a node registers before it reports"),
        **{(state, NodeHealthReported): Ignore("already ordered to register again") for state in _GONE},
        **{(state, NodeExpired): Ignore("gone already") for state in _GONE},
        **{(state, NodeDecommissionStarted): Ignore("gone already") for state in _GONE},
        (_S.DECOMMISSIONED, NodeDecommissioned): Ignore("out already"),
        (_S.DECOMMISSIONED, NodeUnregistered): Ignore("out already"),
        (_S.NEW, NodeExpired): Impossible("a new node registers at once"),
        (_S.NEW, NodeUnregistered): Impossible("a node registers before it leaves"),
        (_S.NEW, NodeDecommissionStarted): Impossible("a new node registers at once"),
    },
)
