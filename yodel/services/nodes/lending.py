"""Keeps the pools' book of Kubernetes nodes' capacity, from their allocatable.

A node lends what it publishes, possibly nothing: containers there go on.  Its maximum, which decides what can never
start, is the most it ever published while it was watched, or its own cores and memory if that is more.  Of ordinary
capacity a node lends what its agent registered, less the requests of others' pods if they can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from yodel.domain.queues.pools import NATIVE, PoolCapacity
from yodel.domain.resource import larger
from yodel.services.nodes.facts import Facts, NodeFacts
from yodel.services.writer.changes import Changes
from yodel.services.writer.pool_book import Published
from yodel.services.writer.state import ClusterState
from yodel.translator.pools import PoolRules


class NodePools:
    """``wake_scheduler`` is called when something that a decision reads has changed."""

    def __init__(
        self, facts: Facts, state: ClusterState, wake_scheduler: Callable[[], None], *, are_nodes_watched: bool
    ) -> None:
        self._facts, self._state, self._wake_scheduler = facts, state, wake_scheduler
        self._are_nodes_watched = are_nodes_watched
        self.rules = PoolRules()
        self._are_rules_told = False

    def use(self, rules: PoolRules) -> None:
        """Use these pools from now on.  Nothing happens if they are unchanged: a refresh of queues mostly changes
        something else, and all containers would be counted again."""
        if self._are_rules_told and rules == self.rules:
            return
        self.rules, self._are_rules_told = rules, True
        self._state.use_pools(rules, are_nodes_watched=self._are_nodes_watched)
        for facts in self._facts.all():
            facts.ever = {}
            self._follow(facts.name)
        if self._facts.are_listed:
            self._state.kubernetes_nodes_listed()
        self._wake_scheduler()

    def changed(self, changes: Changes) -> None:
        is_news = sum(self._follow(name) for name in changes.nodes) > 0
        if changes.is_listing:
            self._state.kubernetes_nodes_listed()
        if is_news or changes.is_listing:
            self._wake_scheduler()

    def see_others(self, node_name: str, held: Mapping[str, int]) -> None:
        """Count the usage of others' pods on a node, if it can be seen: thousandths by resource name."""
        self._state.pools.see_others(node_name, self.rules.taken(held))
        if self._state.lent_anew(node_name):
            self._wake_scheduler()

    def _follow(self, name: str) -> bool:
        """Update a node; return True if a decision now reads something else."""
        facts, node = self._facts.of(name), self._facts.counted(name)
        self._state.pools.see(name, self._published(facts, node.allocatable) if facts and node else None)
        return self._state.lent_anew(name)

    def _published(self, facts: NodeFacts, allocatable: Mapping[str, str]) -> Published:
        own, before = self.rules.ordinary(allocatable), facts.ever
        found = {NATIVE: PoolCapacity(own, own)}
        for name in self.rules.kinds.keys() - {NATIVE}:
            now = self.rules.lent(name, allocatable)
            if now is not None:
                found[name] = PoolCapacity(now, larger(now, before[name].ever if name in before else own))
        facts.ever = found
        return found
