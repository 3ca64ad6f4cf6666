"""Keeps the node reservations, in memory: after a restart the same requests get the same nodes again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from yodel.domain.allocation.holds import NodeReservation, Wait
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId, NodeId
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import NONE, Resource, total_of


class HoldBook:
    """Written where nodes are held (``scheduling.holder``); everybody else reads."""

    def __init__(self) -> None:
        self._by_wait: dict[Wait, NodeReservation] = {}

    @property
    def all(self) -> Collection[NodeReservation]:
        return self._by_wait.values()

    def of(self, wait: Wait) -> NodeReservation | None:
        return self._by_wait.get(wait)

    def of_pool(self, pool: PoolName) -> tuple[NodeReservation, ...]:
        return tuple(hold for hold in self._by_wait.values() if hold.pool == pool) if self._by_wait else ()

    @property
    def containers(self) -> Collection[ContainerId]:
        """Return the containers that were created for reserved nodes."""
        return [hold.container_id for hold in self._by_wait.values() if hold.container_id is not None]

    def of_application(self, application_id: ApplicationId) -> tuple[int, Resource]:
        """Return the number of nodes reserved for it, and the free capacity there for its requests."""
        if not self._by_wait:
            return 0, NONE
        own = [hold for hold in self._by_wait.values() if hold.short.attempt_id.application_id == application_id]
        waiting = [hold.counted for hold in own if hold.container_id is None]
        return len(waiting), total_of(waiting)

    def nodes(self, pool: PoolName) -> frozenset[NodeId]:
        return frozenset(hold.node_id for hold in self.of_pool(pool))

    def kept_from(self, pool: PoolName, container: Container) -> frozenset[NodeId]:
        """Nodes of a pool that are held for others than this container."""
        if not self._by_wait:
            return frozenset()
        return frozenset(hold.node_id for hold in self.of_pool(pool) if not _is_for(hold, container))

    def put(self, hold: NodeReservation) -> None:
        """Instead of the one before of the same wish."""
        self._by_wait[hold.wait] = hold

    def drop(self, waits: Iterable[Wait]) -> None:
        for wait in waits:
            self._by_wait.pop(wait, None)


def _is_for(hold: NodeReservation, container: Container) -> bool:
    """Its row is written before the hold hears of it."""
    if hold.container_id is not None:
        return hold.container_id == container.id
    return container.placement.nodes == (hold.node_id.host,) and container.id.attempt_id == hold.short.attempt_id
