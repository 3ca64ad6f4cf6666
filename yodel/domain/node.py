"""A node agent as the RM knows it.  Follows RMNodeImpl; what runs there is derived from containers, not kept here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.effects import NodeChanged, StopContainersOnNode
from yodel.domain.events import NodeExpired, NodeHealthReported, NodeRegistered, NodeUnregistered
from yodel.domain.ids import NodeId
from yodel.domain.machine import Go, Ignore, Impossible, Machine, Step, every_state
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerExitStatus, NodeState

DEFAULT_RACK = "/default-rack"
LOST_CONTAINER = "Container released on a *lost* node"  # SchedulerUtils.LOST_CONTAINER


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node.  ``kubernetes_node_name`` is where the agent's pods are bound; times are epoch milliseconds."""

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

    @property
    def http_address(self) -> str:
        return f"{self.id.host}:{self.http_port}"

    @property
    def is_usable(self) -> bool:
        return self.state is NodeState.RUNNING


def _registered(node: Node, event: NodeRegistered) -> Step[Node]:
    running = replace(
        node,
        state=NodeState.RUNNING,
        http_port=event.http_port,
        capability=event.capability,
        kubernetes_node_name=event.kubernetes_node_name,
        version=event.version,
        health_report="",
        last_health_ms=event.at_ms,
    )
    return Step(running, (NodeChanged(node.id),))


def _health(node: Node, event: NodeHealthReported) -> Step[Node]:
    state = NodeState.RUNNING if event.is_healthy else NodeState.UNHEALTHY
    if node.state is NodeState.DECOMMISSIONING and event.is_healthy:
        state = NodeState.DECOMMISSIONING
    changed = replace(node, state=state, health_report=event.report, last_health_ms=event.at_ms)
    return Step(changed, (NodeChanged(node.id),) if state is not node.state else ())


def _to(state: NodeState, report: str) -> Go[Node]:
    """The node is gone, and with it what ran there (AbstractYarnScheduler.removeNode)."""

    def go(node: Node, event: NodeExpired | NodeUnregistered) -> Step[Node]:
        gone = replace(node, state=state, health_report=report, last_health_ms=event.at_ms)
        stop = StopContainersOnNode(node.id, ContainerExitStatus.ABORTED, LOST_CONTAINER)
        return Step(gone, (stop, NodeChanged(node.id)))

    return Go(go, (state,))


_S = NodeState
_GONE = (_S.LOST, _S.DECOMMISSIONED, _S.SHUTDOWN, _S.REBOOTED)

NODE_MACHINE: Machine[Node] = Machine(
    "Node",
    NodeState,
    (NodeRegistered, NodeHealthReported, NodeExpired, NodeUnregistered),
    {
        **every_state(_S, NodeRegistered, Go(_registered, (_S.RUNNING,))),
        **every_state(_S, NodeHealthReported, Go(_health, (_S.RUNNING, _S.UNHEALTHY, _S.DECOMMISSIONING))),
        **every_state(_S, NodeExpired, _to(_S.LOST, "Expired: no heartbeat")),
        **every_state(_S, NodeUnregistered, _to(_S.SHUTDOWN, "Shut down by its node agent")),
        (_S.NEW, NodeHealthReported): Impossible("a node registers before it reports"),
        **{(state, NodeHealthReported): Ignore("told to register again") for state in _GONE},
        **{(state, NodeExpired): Ignore("gone already") for state in _GONE},
        (_S.NEW, NodeExpired): Impossible("a new node registers at once"),
        (_S.NEW, NodeUnregistered): Impossible("a node registers before it leaves"),
    },
)
