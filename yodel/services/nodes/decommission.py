"""Nodes that have to go: by the include and exclude lists, gracefully or at once (NodesListManager).

A graceful leave is a row: the node is DECOMMISSIONING with the time it was told, so a restarted RM goes on counting.
Within one life the monotonic clock counts; what the wall clock says is asked once, at the start, and a wall clock that
was set back meanwhile costs at most one more whole time.
One look a second (DecommissioningNodesWatcher) ends it when nothing of a live application was there, or when its time
is up.  Lists are swapped only after the rows they lead to are committed: until then agents are judged by the old ones.

A node that is cordoned in Kubernetes leaves gracefully too, for as long as the cordon lasts, and gets no further than
DECOMMISSIONING by it: its agent goes on serving shuffle files, and lifting the cordon takes one look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import Any

import structlog

from yodel.domain import host_lists
from yodel.domain.events import (
    NodeDecommissioned,
    NodeDecommissionStarted,
    NodePlaced,
    NodeRecommissioned,
    NodeUnregistered,
)
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.domain.states import NodeState
from yodel.ports.clock import Clock
from yodel.services.nodes.agents import Agents
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

LOOK_INTERVAL_S = 1.0
FOR_EVER_S = -1
ACTIVE = (NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING)
log = structlog.get_logger("yodel.decommission")


class Decommission:
    """``default_timeout_s`` is yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs; ``cordoned`` names
    the nodes that are cordoned in Kubernetes."""

    def __init__(
        self,
        engine: Engine,
        nodes: Agents,
        clock: Clock,
        default_timeout_s: int = 3600,
        cordoned: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self._engine, self._nodes, self._clock = engine, nodes, clock
        self._default_timeout_s, self._cordoned = default_timeout_s, cordoned
        self._left_for_a_cordon: set[NodeId] = set()
        self._leaving_since_s: dict[NodeId, tuple[int, float]] = {}
        """Each node that is leaving: the time in its row, and the monotonic time that stands for it."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            self.look()

    def look(self) -> None:
        """End the leaves that are over; begin and end those of cordons."""
        self._follow_cordons()
        self._note_leaves()
        self._tell_of_drains()
        leaving = [node for node in self._in_state(NodeState.DECOMMISSIONING) if not self._leaves_for_a_cordon(node)]
        if not leaving:
            return
        busy = self._nodes_of_live_applications()
        for node in leaving:
            if node.id not in busy:
                self._out(node, f"DECOMMISSIONING {node.id} is ready to be decommissioned")
            elif self._is_out_of_time(node):
                self._out(node, f"DECOMMISSIONING {node.id} has reached its timeout")

    async def refresh(self, lists: HostLists, *, is_graceful: bool = False, timeout_s: int | None = None) -> None:
        """Make nodes follow new lists: those that may not be leave, those that may again stay, racks change.

        ``timeout_s`` is for a graceful leave of nodes for which the list has none; negative is for ever.

        Raises:
            Unavailable: the store did not answer; the old lists count.
        """
        patience_s = self._default_timeout_s if timeout_s is None else timeout_s

        def work(tx: Transaction) -> None:
            for node in self._in_state(*ACTIVE):
                if node.is_node_manager:
                    tx.tell(node.id, NodePlaced(lists.rack_of(node.id.host), node.labels))
                if lists.allow(host_lists.names_of(node)) and node.kubernetes_node_name in self._cordoned():
                    continue  # only the end of its cordon brings it back
                event = _event(tx.node(node.id), lists, is_graceful, patience_s, tx.now_ms)
                if event is not None:
                    log.info("node state set by include/exclude file", node_id=str(node.id), order=type(event).__name__)
                    tx.tell(node.id, event)

        await self._engine.do(work)
        self._nodes.lists = lists
        self._note_leaves()

    async def refresh_forcefully(self) -> None:
        """Every node that is leaving is out now (DecommissionType.FORCEFUL).  Raises Unavailable."""
        lists = self._nodes.lists

        def work(tx: Transaction) -> None:
            for node in self._in_state(NodeState.DECOMMISSIONING):
                tx.tell(node.id, _expulsion(node, lists, tx.now_ms))

        await self._engine.do(work)

    def _follow_cordons(self) -> None:
        cordoned, now_ms = self._cordoned(), self._clock.now_ms()
        if not cordoned and not self._left_for_a_cordon:
            return
        for node in self._in_state(*ACTIVE):
            is_cordoned = node.kubernetes_node_name in cordoned
            is_leaving = node.state is NodeState.DECOMMISSIONING
            if is_cordoned and not is_leaving:
                log.info("node cordoned", node_id=str(node.id))
                self._left_for_a_cordon.add(node.id)
                self._engine.tell_later(node.id, NodeDecommissionStarted(FOR_EVER_S, now_ms))
            elif is_leaving and not is_cordoned and node.id in self._left_for_a_cordon:
                self._left_for_a_cordon.discard(node.id)
                if self._is_allowed(node):
                    log.info("node uncordoned", node_id=str(node.id))
                    self._engine.tell_later(node.id, NodeRecommissioned(now_ms))
        self._left_for_a_cordon.intersection_update(self._engine.state.nodes)

    def _tell_of_drains(self) -> None:
        """Give notices to the containers of nodes that leave."""
        state, notices = self._engine.state, dict[ContainerId, PreemptionNotice]()
        for node in self._in_state(NodeState.DECOMMISSIONING):
            _, since_s = self._leaving_since_s[node.id]
            is_endless = node.decommissioning_timeout_s < 0 or self._leaves_for_a_cordon(node)
            what = "is cordoned" if self._leaves_for_a_cordon(node) else "is being decommissioned"
            for container_id in state.container_index.on_node(node.id):
                notices[container_id] = PreemptionNotice(
                    node_id=node.id,
                    reason=NoticeReason.DRAIN,
                    why=f"node {node.id} {what}",
                    given_s=since_s,
                    deadline_s=inf if is_endless else since_s + node.decommissioning_timeout_s,
                    is_master=state.containers[container_id].is_am,
                )
        if notices or state.notices.of_teller(Teller.DECOMMISSION):
            state.notices.tell(Teller.DECOMMISSION, notices)

    def _leaves_for_a_cordon(self, node: Node) -> bool:
        """And not because the lists want it to."""
        is_cordoned = node.kubernetes_node_name in self._cordoned()
        return (is_cordoned or node.id in self._left_for_a_cordon) and self._is_allowed(node)

    def _is_allowed(self, node: Node) -> bool:
        return self._nodes.lists.allow(host_lists.names_of(node))

    def decommissioning(self) -> Sequence[NodeId]:
        return [node.id for node in self._in_state(NodeState.DECOMMISSIONING)]

    def _out(self, node: Node, report: str) -> None:
        log.info("node decommissioned", node_id=str(node.id), reason=report)
        self._nodes.order_shutdown(node.id, report)
        self._engine.tell_later(node.id, NodeDecommissioned(report, self._clock.now_ms()))

    def _is_out_of_time(self, node: Node) -> bool:
        if node.decommissioning_timeout_s < 0:
            return False
        _, since_s = self._leaving_since_s[node.id]
        return self._clock.monotonic_s() >= since_s + node.decommissioning_timeout_s

    def _note_leaves(self) -> None:
        """Note when each leave began, by the monotonic clock: the wall clock is read once per leave and process."""
        found: dict[NodeId, tuple[int, float]] = {}
        for node in self._in_state(NodeState.DECOMMISSIONING):
            known = self._leaving_since_s.get(node.id)
            if known is None or known[0] != node.decommissioning_since_ms:
                passed_s = max(0, self._clock.now_ms() - node.decommissioning_since_ms) / 1000
                known = (node.decommissioning_since_ms, self._clock.monotonic_s() - passed_s)
            found[node.id] = known
        self._leaving_since_s = found

    def _nodes_of_live_applications(self) -> set[NodeId]:
        """Return the nodes on which a live application has or had a container: its shuffle files may still be fetched
        from there."""
        return self._engine.state.nodes_of_live_applications()

    def _in_state(self, *states: NodeState) -> list[Node]:
        return [node for node in self._engine.state.nodes.values() if node.state in states]


def _event(node: Node, lists: HostLists, is_graceful: bool, patience_s: int, now_ms: int) -> Any:
    """Return the event of the lists for one active node (NodesListManager.handleExcludeNodeList); None: there is
    none."""
    names = host_lists.names_of(node)
    if lists.allow(names):
        return NodeRecommissioned(now_ms) if node.state is NodeState.DECOMMISSIONING else None
    if not is_graceful:
        return _expulsion(node, lists, now_ms)
    own_s = lists.timeout_s(names)
    timeout_s = patience_s if own_s is None else own_s
    if node.state is NodeState.DECOMMISSIONING and node.decommissioning_timeout_s == timeout_s:
        return None
    return NodeDecommissionStarted(timeout_s, now_ms)


def _expulsion(node: Node, lists: HostLists, now_ms: int) -> NodeDecommissioned | NodeUnregistered:
    """A node that the lists do not know is SHUTDOWN, as in Hadoop; one that they exclude is DECOMMISSIONED."""
    if lists.are_silent_on(host_lists.names_of(node)):
        return NodeUnregistered(now_ms)
    return NodeDecommissioned("Excluded by the administrator", now_ms)
