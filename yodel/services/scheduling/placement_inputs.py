"""The cluster's nodes as places for one tick's decision: rows of nodes and of tagged containers, read together.

What the nodes are changes seldom and is kept; what is free on them and what stands there is read when it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from yodel.domain.allocation.places import NodePlace, PlaceIndex, Places, Tagged
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.node import Node
from yodel.domain.queues.pools import NATIVE, PoolName
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerState
from yodel.services.writer.state import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNames:
    """``of`` finds every name of a Kubernetes node, ``version`` changes when one of them may have."""

    of: Callable[[str], Collection[str]] = lambda name: (name,)
    version: Callable[[], int] = lambda: 0


class PlacementInputs:
    def __init__(
        self, state: ClusterState, names: NodeNames | None = None, *, are_labels_enabled: bool = False
    ) -> None:
        self._state, self._names = state, names or NodeNames()
        self._are_labels_enabled = are_labels_enabled
        self._nodes: dict[PoolName, PlaceIndex] = {}
        self._version: tuple[int, ...] = ()

    def places(self, *, is_locality_wanted: bool, pool: PoolName = NATIVE) -> Places:
        """A snapshot of what lends to a pool.  With ``is_locality_wanted`` what is planned for preferred hosts is put
        there beforehand."""
        places = Places(
            self._current_nodes(pool),
            self._state.pools.of(pool).free_on,
            are_labels_enabled=self._are_labels_enabled,
            tagged=self._tagged(),
            tags_of=self._tags_of,
            pool=self._state.pools.words(pool),
            held=self._state.holds.nodes(pool),
            roomy=self._state.pools.of(pool).with_room,
        )
        if is_locality_wanted:
            self._assume_planned(places, pool)
        return places

    def nodes_of(self, pool: PoolName) -> Places:
        """Return nodes of a pool, for whoever asks neither what runs there nor what is held."""
        free_on = self._state.pools.of(pool).free_on
        return Places(self._current_nodes(pool), free_on, are_labels_enabled=self._are_labels_enabled)

    def read_ahead(self, pools: Iterable[PoolName], at_once: int) -> Iterator[None]:
        """Read the nodes of pools before a decision needs them; yield after each ``at_once`` nodes, so that others have
        their turn.  Nodes that change meanwhile are read by the decision, in one go."""
        for name in pools:
            version = self._note_version()
            if name in self._nodes:
                continue
            found: list[NodePlace] = []
            for place in self._lenders(name):
                found.append(place)
                if len(found) % at_once == 0:
                    yield
                    if self.version != version:
                        return
            self._nodes[name] = PlaceIndex(found)

    @property
    def version(self) -> tuple[int, ...]:
        """Changes with what the nodes are, and what they lend at most."""
        return self._state.change_counters.nodes, self._names.version(), self._state.pools.places_version

    def label(self, expression: str) -> str:
        """A label expression as it counts: not at all where labels are off."""
        return expression.strip() if self._are_labels_enabled else ""

    def free_on(self, node_id: NodeId, pool: PoolName = NATIVE) -> Resource:
        """Return the free capacity of a node; nothing if it cannot be used, or is reserved."""
        if node_id in self._state.holds.nodes(pool):
            return NONE
        return self._state.pools.of(pool).free_on(node_id)

    def _current_nodes(self, name: PoolName) -> PlaceIndex:
        self._note_version()
        found = self._nodes.get(name)
        return found if found is not None else self._nodes.setdefault(name, PlaceIndex(list(self._lenders(name))))

    def _note_version(self) -> tuple[int, ...]:
        """Forget the nodes that were read if one of them may have changed since."""
        if (version := self.version) != self._version:
            self._version = version
            self._nodes.clear()
        return version

    def _lenders(self, name: PoolName) -> Iterator[NodePlace]:
        """Nodes that lend to a pool, by what they may lend at most: nothing at the moment is no reason for never."""
        pool = self._state.pools.of(name)
        for node in list(self._state.nodes.values()):
            lent = pool.lent(node.id)
            if lent is not None:
                yield NodePlace(
                    id=node.id,
                    rack=node.rack,
                    label=node.labels[0] if node.labels else "",
                    capability=lent.ever,
                    names=frozenset((node.id.host, *self._names_of(node))),
                )

    def _names_of(self, node: Node) -> Collection[str]:
        return () if node.is_node_manager else self._names.of(node.kubernetes_node_name)

    def _tagged(self) -> Iterator[Tagged]:
        for container in self._state.container_index.tagged.values():
            yield Tagged(container.id.application_id, container.allocation_tags, container.node_id, container.placement)

    def _tags_of(self, application_id: ApplicationId) -> Collection[str]:
        application = self._state.applications.get(application_id)
        return application.submission.tags if application is not None else ()

    def _assume_planned(self, places: Places, pool: PoolName) -> None:
        """Containers on their way will probably get what they prefer: that room is not promised twice."""
        for runtime in self._state.masters.runtimes.values():
            for container_ids in runtime.wishes.in_flight.values():
                for container_id in container_ids:
                    container = self._state.containers.get(container_id)
                    if container is None or container.state is not ContainerState.PLANNED:
                        continue
                    if self._state.pools.pools.of(container.queue) != pool:
                        continue
                    if container.placement.hosts or container.placement.racks:
                        _assume(places, container.placement.hosts, container.placement.racks, container.reserved)


def _assume(places: Places, hosts: Collection[str], racks: Collection[str], size: Resource) -> None:
    named = (node for node in places.nodes if not node.names.isdisjoint(hosts))
    in_racks = (node for node in places.nodes if node.rack in racks)
    for node in (*named, *in_racks):
        if places.room(node, size) > 0:
            places.assume(node, size)
            return
