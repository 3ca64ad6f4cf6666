"""Chooses the NodeManager for a container of a pool that NodeManagers are nodes of: no scheduler has a part in it.

The places asked for come first (hosts, then racks), else the node with most memory free, as YARN does when one node
after the other is offered.  Where pods draw on the pool too, they come first among equally near places unless the
settings say otherwise: a container goes to a NodeManager if no pod of its size would find a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.queues.pools import YARN, PoolName
from yodel.domain.resource import Resource, times_in, total_of
from yodel.services.writer.state import ClusterState

LOOKED_AT_MAX = 64
"""Nodes with room of which the one with most memory free is taken."""
NO_ROOM = "no NodeManager that it may run on has enough free capacity"


@dataclass(frozen=True, slots=True)
class WithoutPod:
    """The container runs on this node; None: on none at the moment, and a pod would not do."""

    node_id: NodeId | None


class NodeManagerChooser:
    """``places_of`` finds the nodes of a pool, ``why_pod`` why a container needs a pod (empty: it does not)."""

    def __init__(
        self,
        state: ClusterState,
        places_of: Callable[[PoolName], Places],
        why_pod: Callable[[Container], str],
        *,
        are_first: bool,
    ) -> None:
        """``are_first``: NodeManagers come before pods where both draw on a pool."""
        self._state, self._places_of, self._why_pod, self._are_first = state, places_of, why_pod, are_first
        self._given: dict[ContainerId, tuple[NodeId, Resource]] = {}
        """Chosen, and not in a row yet."""

    def choose(self, container: Container, *, is_pod_in_vain: bool = False) -> WithoutPod | None:
        """None: a pod is to be made.  ``is_pod_in_vain``: it has one that no node has room for."""
        if not self._state.pools.has_node_managers(container.queue):
            return None
        pool = self._state.pools.pools.of(container.queue)
        if pool != YARN and self._why_pod(container):
            return None
        look = _Look(self._state, self._places_of(pool), pool, container, self._given)
        for nodes in look.by_distance():
            found = look.node_manager(nodes())
            is_pod_first = pool != YARN and not (found is not None and (is_pod_in_vain or self._are_first))
            if is_pod_first and look.has_room_for_pod(nodes()):
                return None
            if found is not None:
                return WithoutPod(found)
        found = look.reserved_for_another() if pool == YARN or is_pod_in_vain else None
        return WithoutPod(found) if pool == YARN or found is not None else None

    def give(self, container: Container) -> NodeId | None:
        """Return the node of a container that is being planned, which counts there until it is ``written``; None: it
        needs a pod, or waits."""
        chosen = self.choose(container)
        if chosen is not None and chosen.node_id is not None:
            self.given(container, chosen.node_id)
            return chosen.node_id
        return None

    def why_not(self, container: Container) -> str:
        """Return why no NodeManager of its pool may run a container; empty: one may, or there is none."""
        is_shared = self._state.pools.has_node_managers(container.queue) and self._state.node_index.has_node_managers
        why = self._why_pod(container) if is_shared else ""
        return f"; NodeManagers cannot run it: {why}" if why else ""

    def given(self, container: Container, node_id: NodeId) -> None:
        """It is being written that the container runs there."""
        self._given[container.id] = (node_id, container.reserved)

    def written(self, container_id: ContainerId) -> None:
        """Its row says so, or it was not to be."""
        self._given.pop(container_id, None)


class _Look:
    """Holds one look at the nodes of a pool for one container."""

    def __init__(
        self,
        state: ClusterState,
        places: Places,
        pool: PoolName,
        container: Container,
        given: dict[ContainerId, tuple[NodeId, Resource]],
    ) -> None:
        self._state, self._places, self._pool, self._container, self._given = state, places, pool, container, given
        self._size = container.reserved
        self._kept_from = state.holds.kept_from(pool, container)

    def by_distance(self) -> Iterator[Callable[[], Iterable[NodePlace]]]:
        """Yield where it may go: the hosts asked for, their racks, and all others."""
        places, placement = self._places, self._container.placement
        yield lambda: places.named(placement)
        yield lambda: places.near(placement, placement.racks)
        if not placement.is_strict:
            yield self._roomy

    def _roomy(self) -> Iterator[NodePlace]:
        """Yield nodes that may have room, those with most memory free first."""
        for node_id in reversed(self._state.pools.of(self._pool).with_room(self._size)):
            node = self._places.at(node_id)
            if node is not None and self._places.is_open_to(node, self._container.placement):
                yield node

    def node_manager(self, nodes: Iterable[NodePlace]) -> NodeId | None:
        fitting = (node.id for node in nodes if self._is_node_manager(node) and self._size.fits_in(self._free(node.id)))
        return max(islice(fitting, LOOKED_AT_MAX), key=lambda one: self._free(one).memory_mib, default=None)

    def reserved_for_another(self) -> NodeId | None:
        """Return a NodeManager with room that is reserved for another container.  Capacity of reserved nodes is not
        offered: a container without room elsewhere was planned before the reservation, for this node."""
        if not self._kept_from:
            return None
        self._kept_from = frozenset()
        return next(filter(None, (self.node_manager(nodes()) for nodes in self.by_distance())), None)

    def has_room_for_pod(self, nodes: Iterable[NodePlace]) -> bool:
        """Return whether nodes of pods have room for one more after those that have no node yet: a guess, which is put
        right where its pod waits in vain."""
        before = self._planned_before()
        for node in nodes:
            if not self._is_node_manager(node) and node.id not in self._kept_from:
                before -= times_in(self._size, self._free(node.id))
                if before < 0:
                    return True
        return False

    def _planned_before(self) -> int:
        """Return how many of its size would hold what those take that were planned before it and have no node yet."""
        state, planned = self._state, self._state.container_index.planned.values()
        before = takewhile(lambda one: one.id != self._container.id, planned)
        own = (one for one in before if one.id not in self._given and state.pools.pools.of(one.queue) == self._pool)
        wanted, count = total_of(one.reserved for one in own), 0
        while not wanted.fits_in(self._size * count) and count <= state.container_index.planned_count:
            count += 1
        return count

    def _is_node_manager(self, node: NodePlace) -> bool:
        row = self._state.nodes[node.id]
        return row.is_node_manager and row.is_usable and node.id not in self._kept_from

    def _free(self, node_id: NodeId) -> Resource:
        free = self._state.pools.of(self._pool).free_on(node_id)
        return free - total_of(size for other, size in self._given.values() if other == node_id)
