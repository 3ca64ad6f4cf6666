"""Keeps racks and labels of nodes' rows equal to those of the Kubernetes nodes.

Node agents and Kubernetes nodes appear in any order.  An agent that registers gets the known place (``place_of``); a
later change is applied to the row of its node.  A node that was not listed yet keeps the place in its row, and one
without a rack label is in Hadoop's default rack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import structlog

from yodel.domain.events import NodePlaced
from yodel.domain.node import DEFAULT_RACK, Node
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.facts import Facts
from yodel.services.writer.changes import Changes
from yodel.services.writer.engine import Engine
from yodel.translator.names import NODE_LABEL
from yodel.translator.placement import HOSTNAME_LABEL, RACK_LABEL

log = structlog.get_logger("yodel.topology")


class Topology:
    """``rack_label`` is the key of the label whose value names a node's rack; with ``are_labels_enabled`` nodes have
    YARN's node labels too."""

    def __init__(
        self,
        engine: Engine,
        facts: Facts,
        rack_label: str = RACK_LABEL,
        *,
        are_labels_enabled: bool = True,
        wake_scheduler: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine, self._facts, self._rack_label = engine, facts, rack_label
        self._are_labels_enabled, self._wake_scheduler = are_labels_enabled, wake_scheduler
        self._by_name: dict[str, str] = {}
        """Kubernetes nodes by every name and address they have."""
        self.version = 0
        """Grows when names may have changed, which wakes the scheduler: asks name hosts by them."""

    def place_of(self, kubernetes_node_name: str) -> NodePlaced | None:
        """None: the node has not been seen."""
        node = self._facts.observed(kubernetes_node_name)
        return self._place(node) if node is not None else None

    def hostname_label(self, host: str) -> str:
        """The value of ``kubernetes.io/hostname`` on the node that ApplicationMasters call ``host``; ``host`` itself
        when no node is known by that name."""
        agent = self._engine.state.node_index.of_host(host)
        name = agent.kubernetes_node_name if agent is not None else self._by_name.get(host, "")
        node = self._facts.observed(name)
        return node.labels.get(HOSTNAME_LABEL, host) if node is not None else host

    def names_of(self, kubernetes_node_name: str) -> Collection[str]:
        """Every name that an ApplicationMaster may mean the node by, besides its agent's own."""
        facts = self._facts.of(kubernetes_node_name)
        return (facts.addresses if facts is not None else ()) or (kubernetes_node_name,)

    def owner_of(self, host: str, kubernetes_node_name: str) -> str:
        """Return the Kubernetes node with this name or address; empty: none, or also the node of that name."""
        facts = self._facts.of(kubernetes_node_name)
        is_own = facts is not None and host in facts.addresses
        return "" if is_own else self._by_name.get(host, "")

    def changed(self, changes: Changes) -> None:
        gone = {name for name in changes.nodes if self._facts.observed(name) is None}
        if gone:
            self._by_name = {address: name for address, name in self._by_name.items() if name not in gone}
        renamed = [name for name in changes.nodes if self._rename(name)]
        if gone or renamed:
            self.version += 1
            self._wake_scheduler()
        rows, agents = self._engine.state.nodes, self._engine.state.node_index.agents_of
        for node_id in rows if changes.is_listing else [one for name in changes.nodes for one in agents(name)]:
            self._follow(rows[node_id])

    def _rename(self, name: str) -> bool:
        """Return True if the node has other names than before."""
        facts, node = self._facts.of(name), self._facts.observed(name)
        if facts is None or node is None or facts.addresses == (names := _names(node)):
            return False
        for address in facts.addresses:
            self._by_name.pop(address, None)
        self._by_name.update(dict.fromkeys(names, name))
        facts.addresses = names
        return True

    def _follow(self, row: Node) -> None:
        place = self.place_of(row.kubernetes_node_name)
        if place is not None and (row.rack, row.labels) != (place.rack, place.labels):
            log.info("rack or labels of node changed", node_id=str(row.id), rack=place.rack, labels=place.labels)
            self._engine.tell_later(row.id, place)

    def _place(self, node: NodeObservation) -> NodePlaced:
        labels = label_of(node.labels) if self._are_labels_enabled else ()
        return NodePlaced(rack_of(node.labels, self._rack_label), labels)


def rack_of(labels: Mapping[str, str], rack_label: str) -> str:
    value = labels.get(rack_label, "")
    return f"/{value}" if value else DEFAULT_RACK


def label_of(labels: Mapping[str, str]) -> tuple[str, ...]:
    """A node is in one partition, as in Hadoop."""
    value = labels.get(NODE_LABEL, "")
    return (value,) if value else ()


def _names(node: NodeObservation) -> tuple[str, ...]:
    own = (node.name, *(address.address for address in node.addresses))
    return (*own, node.labels[HOSTNAME_LABEL]) if HOSTNAME_LABEL in node.labels else own
