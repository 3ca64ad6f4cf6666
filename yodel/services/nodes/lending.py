"""What Kubernetes nodes lend to each pool, from their allocatable: a ``NodeSink`` that keeps the book of pools true.

A node lends what it publishes, be it nothing: what runs there goes on.  The most that it may lend is what it ever
published while it was watched, or its own cores and memory where that is more; by this is judged what can never start.
Of ordinary capacity a node lends what its agent registered, less what pods of others ask where that may be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from yodel.domain.queues.pools import NATIVE, Lent, PoolName
from yodel.domain.resource import larger
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.writer.pool_book import Published
from yodel.services.writer.state import ClusterState
from yodel.translator.pools import PoolRules


class Lending:
    """``wake_scheduler`` is called when something that a decision reads has changed."""

    def __init__(self, state: ClusterState, wake_scheduler: Callable[[], None], *, are_nodes_watched: bool) -> None:
        self._state, self._wake_scheduler = state, wake_scheduler
        self._are_nodes_watched = are_nodes_watched
        self.rules = PoolRules()
        self._are_rules_told = False
        self._nodes: dict[str, NodeObservation] = {}
        self._most: dict[str, dict[PoolName, Lent]] = {}
        """What each node published last, by its name."""

    def use(self, rules: PoolRules) -> None:
        """From now on.  Nothing where they are as they were: who refreshes queues mostly changed something else, and
        all containers would be counted anew."""
        if self._are_rules_told and rules == self.rules:
            return
        self.rules, self._are_rules_told = rules, True
        self._most.clear()
        self._state.use_pools(rules, are_nodes_watched=self._are_nodes_watched)
        for node in self._nodes.values():
            self._see(node)
        self._wake_scheduler()

    def nodes_listed(self, nodes: Sequence[NodeObservation]) -> None:
        there = {node.name for node in nodes}
        for node in [node for name, node in self._nodes.items() if name not in there]:
            self.node_gone(node)
        for node in nodes:
            self.node_seen(node)

    def node_seen(self, node: NodeObservation) -> None:
        before = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if (before is None or before.allocatable != node.allocatable) and self._see(node):
            self._wake_scheduler()

    def node_gone(self, node: NodeObservation) -> None:
        self._nodes.pop(node.name, None)
        self._most.pop(node.name, None)
        self._state.pools.see(node.name, None)
        if self._state.lent_anew(node.name):
            self._wake_scheduler()

    def see_others(self, node_name: str, held: Mapping[str, int]) -> None:
        """What pods of others hold on a node, where that may be seen: thousandths by resource name."""
        self._state.pools.see_others(node_name, self.rules.taken(held))
        if self._state.lent_anew(node_name):
            self._wake_scheduler()

    def _see(self, node: NodeObservation) -> bool:
        self._state.pools.see(node.name, self._published(node))
        return self._state.lent_anew(node.name)

    def _published(self, node: NodeObservation) -> Published:
        own, before = self.rules.ordinary(node.allocatable), self._most.get(node.name, {})
        found = {NATIVE: Lent(own, own)}
        for name in self.rules.kinds.keys() - {NATIVE}:
            now = self.rules.lent(name, node.allocatable)
            if now is not None:
                found[name] = Lent(now, larger(now, before[name].ever if name in before else own))
        self._most[node.name] = found
        return found
