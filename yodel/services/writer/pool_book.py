"""Keeps capacity and usage of each pool, as rows are published and Kubernetes' nodes are seen.

A node agent's own figure counts for ``native`` alone, and for every pool if nobody watches the nodes.  In other pools a
node has what it publishes; an amount set by an administrator is the maximum in each.  Nothing counts where nothing can
be launched: a NodeManager's figure counts for one pool only, and an agent's for none once Kubernetes' nodes were listed
and its own was not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from yodel.domain.container import Container
from yodel.domain.node import NOT_ORDERED, Node
from yodel.domain.queues.pools import NATIVE, YARN, Pool, PoolCapacity, PoolName, Pools
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import NONE, Resource, larger, smaller
from yodel.domain.states import NodeState
from yodel.services.writer.usage import Usage
from yodel.translator.pools import PoolRules

Published = Mapping[PoolName, PoolCapacity]
"""The capacity that a Kubernetes node publishes for each pool that it lends to."""


class PoolBook:
    """Rows are told by ``ClusterState``, Kubernetes' nodes by who watches them.  ``queues`` are the rows there are."""

    def __init__(self, queues: Mapping[str, Queue], speaks: Callable[[Node], bool]) -> None:
        """``speaks``: whether an agent is the one that counts for its Kubernetes node."""
        self._queues, self._speaks = queues, speaks
        self.rules = PoolRules()
        self.places_version = 0
        """Grows when a node begins or ceases to lend, and with what it may lend at most."""
        self._figures: dict[PoolName, Pool] = {}
        self._used: dict[PoolName, Usage] = {}
        self._published: dict[str, Published] | None = None
        self._are_listed = False
        """Kubernetes' nodes were listed: no pod is ever on one that is not in ``_published``."""
        self._others: dict[str, Resource] = {}
        """The ordinary capacity that others' pods ask for, by Kubernetes' name of the node; none is left out."""
        self._drawn_on: tuple[PoolName, ...] | None = None

    # --- what is asked ---------------------------------------------------------------------------------------------

    @property
    def pools(self) -> Pools:
        return self.rules.pools

    @property
    def drawn_on(self) -> tuple[PoolName, ...]:
        """Pools of the queues that there are."""
        if self._drawn_on is None:
            below = (path for path in self._queues if path.count(".") == 1) if self.pools.by_child else ()
            self._drawn_on = self.pools.drawn_on(below)
        return self._drawn_on

    def of(self, name: PoolName) -> Pool:
        found = self._figures.get(name)
        return found if found is not None else self._figures.setdefault(name, Pool())

    def of_queue(self, path: str) -> Pool:
        return self.of(self.pools.of(path))

    def used(self, name: PoolName) -> Usage:
        """Return what live containers of its queues use, those without a node too."""
        found = self._used.get(name)
        return found if found is not None else self._used.setdefault(name, Usage())

    @property
    def size(self) -> Resource:
        """Return the capacity of usable nodes in all pools that queues use."""
        return _sum(self.of(name).size for name in self.drawn_on)

    @property
    def total(self) -> Resource:
        """Return their whole capacity, used or free."""
        return _sum(self.of(name).total for name in self.drawn_on)

    def capability(self, node: Node) -> Resource:
        """Return a node's capacity in all pools that queues use, usable or not."""
        if node.is_node_manager or (self.drawn_on == (NATIVE,) and not self._others):
            return node.capability
        found = (self._lent(name, node) for name in self.drawn_on)
        return _sum(lent.now for lent in found if lent is not None)

    def has_node_managers(self, path: str) -> bool:
        """Return whether NodeManagers are nodes of the pool that a queue draws on."""
        return self.pools.of(path) == self.rules.node_managers

    def most(self, path: str, node: Node) -> Resource:
        """Return what a queue's containers may have on a node at most, usable or not."""
        lent = self._lent(self.pools.of(path), node)
        return lent.ever if lent is not None else NONE

    def is_published(self, name: PoolName) -> bool:
        """Return True if the published amounts of nodes count for the pool, not their agents' own figures."""
        return name not in (NATIVE, YARN) and self._published is not None

    def resources(self, name: PoolName) -> tuple[str, ...]:
        """Kubernetes' names of what it is of."""
        kind = self.rules.kinds.get(name)
        return (kind.measures.cpu, kind.measures.memory) if kind is not None else ()

    def words(self, name: PoolName) -> str:
        """A pool for people, with what it is of; empty for ordinary cores and memory."""
        if name == YARN:
            return f"{name} (NodeManagers)"
        return "" if name == NATIVE else f"{name} ({', '.join(self.resources(name))})"

    # --- what is told ----------------------------------------------------------------------------------------------

    def use(
        self,
        rules: PoolRules,
        nodes: Iterable[Node],
        live: Iterable[Container],
        *,
        are_nodes_watched: bool,
    ) -> None:
        """Use these pools from now on.  Published amounts must be reported again."""
        self.rules, self._published, self._are_listed = rules, {} if are_nodes_watched else None, False
        self._figures, self._used, self._drawn_on = {}, {}, None
        for node in nodes:
            self.publish(node)
        for container in live:
            self.hold(container, Usage.of(container), 1)
        self.places_version += 1

    def queues_changed(self) -> None:
        self._drawn_on = None

    def see(self, kubernetes_name: str, published: Published | None) -> None:
        """Set the amounts that a Kubernetes node publishes; None: it is gone.  Publish its row after that."""
        if self._published is None:
            return
        if published is None:
            self._published.pop(kubernetes_name, None)
        else:
            self._published[kubernetes_name] = published

    def listed(self) -> None:
        """All of Kubernetes' nodes were told of.  Rows are to be published after that."""
        self._are_listed = self._published is not None

    def see_others(self, kubernetes_name: str, taken: Resource) -> None:
        """Set the requests of others' pods on a node.  Publish its row after that."""
        if taken == NONE:
            self._others.pop(kubernetes_name, None)
        else:
            self._others[kubernetes_name] = taken

    def publish(self, node: Node) -> bool:
        """A node's row.  Whether what it lends is news."""
        is_news = False
        for name in self.pools.named:
            lent = self._lent(name, node) if node.is_usable and self._speaks(node) else None
            pool = self.of(name)
            before = pool.lent(node.id)
            if pool.lend(node.id, lent, is_leaving=node.state is NodeState.DECOMMISSIONING):
                is_news = True
                self.places_version += _ever(before) != _ever(lent)
        return is_news

    def hold(self, container: Container, held: Usage, sign: int) -> None:
        """A live container that came, or went.  It holds what its pod was made for, whatever queue it counts in now."""
        name = self.pools.of(container.queue)
        self.used(name).add(held, sign)
        if container.node_id is not None:
            self.of(name).hold(container.node_id, held.resource, sign)

    def _lent(self, name: PoolName, node: Node) -> PoolCapacity | None:
        own = node.capability
        if node.is_node_manager:
            return PoolCapacity(own, own) if name == self.rules.node_managers else None
        if name == YARN or not self._may_have_pods(node):
            return None
        if not self.is_published(name) or self._published is None:
            others = self._others.get(node.kubernetes_node_name) if name == NATIVE else None
            return PoolCapacity(own if others is None else (own - others).at_least_zero(), self._most(node))
        published = self._published.get(node.kubernetes_node_name)
        if published is None:  # nobody has seen it yet
            return PoolCapacity(NONE, own)
        lent = published.get(name)
        if lent is None:
            return None
        if node.ordered_capability == NOT_ORDERED:
            now, ever = lent.now, larger(lent.ever, _plain(own))
        else:
            now, ever = smaller(lent.now, _plain(own)), smaller(lent.ever, _plain(own))
        return PoolCapacity(replace(now, extras=own.extras), replace(ever, extras=own.extras))

    def _may_have_pods(self, node: Node) -> bool:
        """Return whether Kubernetes has its node, as far as is known."""
        return not self._are_listed or self._published is None or node.kubernetes_node_name in self._published

    def _most(self, node: Node) -> Resource:
        """Return the maximum of an agent's own figure: the figure, or if it is zero, the machine's size as far as it
        was seen."""
        own, published = node.capability, (self._published or {}).get(node.kubernetes_node_name, {})
        is_something = own.memory_mib > 0 and own.vcores > 0
        if is_something or node.ordered_capability != NOT_ORDERED or NATIVE not in published:
            return own
        return larger(own, published[NATIVE].ever)


def _ever(lent: PoolCapacity | None) -> Resource | None:
    return lent.ever if lent is not None else None


def _plain(amount: Resource) -> Resource:
    """Memory and cores: further types a node has once, whatever pool a container draws on."""
    return Resource(amount.memory_mib, amount.vcores) if amount.extras else amount


def _sum(amounts: Iterable[Resource]) -> Resource:
    """Sum several pools: memory and cores together, further types once."""
    found = list(amounts)
    if len(found) == 1:
        return found[0]
    whole = NONE
    for amount in found:
        most = larger(Resource(0, 0, whole.extras), Resource(0, 0, amount.extras))
        whole = replace(_plain(whole) + _plain(amount), extras=most.extras)
    return whole
