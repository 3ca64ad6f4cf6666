"""Computes the maximum size of a container: the least of the settings, the queue's (``maximum-allocation-mb``,
``-vcores``), and the largest node of its pool (ClusterNodeTracker).

Clients and ApplicationMasters are informed of it, and refuse by themselves what no node could ever take.  A node counts
with the maximum that it may lend, so a small lent amount of the moment lowers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.queues.pools import PoolName
from yodel.domain.queues.queue import ROOT, largest_container
from yodel.domain.resource import EXTRA_AMOUNT_MAX, MEMORY, NONE, VCORES, Resource, larger
from yodel.errors import InvalidResourceRequest, TooMuchAsked
from yodel.services.writer.state import ClusterState

_SIZES = (MEMORY, VCORES)


class MaximumAllocation:
    """Knows the maximum by type; where no node of a pool is known to have any of a type, what is configured counts."""

    def __init__(self, state: ClusterState, limits: AllocationLimits) -> None:
        self._state, self._follows_nodes = state, limits.maximum_follows_nodes
        self.configured = limits.maximum

    @property
    def of_any(self) -> Resource:
        """Return the maximum of the pool with the largest, for callers without a known queue."""
        found = Resource(0, 0)
        for name in self._state.pools.drawn_on:
            found = larger(found, self._of(name))
        return found

    def of_queue(self, path: str) -> Resource:
        found = self.of_any if path == ROOT else self._of(self._state.pools.pools.of(path))
        return largest_container(self._state.queues.get(path), found)

    def configured_of(self, path: str) -> Resource:
        """Return the configured maximum of a queue, regardless of nodes."""
        return largest_container(self._state.queues.get(path), self.configured)

    def _of(self, name: PoolName) -> Resource:
        if not self._follows_nodes:
            return self.configured
        largest = self._state.pools.of(name).largest
        return Resource(
            min(self.configured.memory_mib, largest.memory_mib or self.configured.memory_mib),
            min(self.configured.vcores, largest.vcores or self.configured.vcores),
            tuple((kind, min(amount, EXTRA_AMOUNT_MAX)) for kind, amount in largest.extras if amount > 0),
        )

    def require_allowed(self, capability: Resource, maximum: Resource) -> None:
        """Hadoop's SchedulerUtils.validateResourceRequest.

        Raises:
            InvalidResourceRequest: negative, or over ``maximum``.
            TooMuchAsked: an amount of a further type is over EXTRA_AMOUNT_MAX.
        """
        most_of = dict(maximum.extras)
        for name, value, most in (
            (MEMORY, capability.memory_mib, maximum.memory_mib),
            (VCORES, capability.vcores, maximum.vcores),
            *((name, value, most_of.get(name, EXTRA_AMOUNT_MAX)) for name, value in capability.extras),
        ):
            if value < 0:
                raise InvalidResourceRequest(
                    "Invalid resource request! Cannot allocate containers as requested resource is less than 0! "
                    f"Requested resource type=[{name}], Requested resource={capability}"
                )
            if value > most:
                text = (
                    "Invalid resource request! Cannot allocate containers as requested resource is greater than "
                    f"maximum allowed allocation. Requested resource type=[{name}], Requested resource={capability}, "
                )
                if name not in _SIZES and value > EXTRA_AMOUNT_MAX:
                    text += f"maximum allowed allocation={EXTRA_AMOUNT_MAX}"
                    raise TooMuchAsked("extra_resource_amount", value, EXTRA_AMOUNT_MAX, text)
                raise InvalidResourceRequest(
                    f"{text}maximum allowed allocation={maximum}, please note that maximum allowed allocation is "
                    "calculated by scheduler based on maximum resource of registered NodeManagers, which might be less "
                    f"than configured maximum allocation={self.configured}"
                )

    def require_a_node(self, size: Resource, path: str) -> None:
        """Check that some node could take the size.  Passes if no nodes are known, and if nodes are added on demand.

        Raises:
            InvalidResourceRequest: no node of the queue's pool may ever have so much, of all types at once.
        """
        if not self._follows_nodes:
            return
        most = None
        for one in self._node_sizes(path):
            if size.fits_in(one):
                return
            most = one if most is None else max(most, one, key=lambda one: (one.memory_mib, one.vcores))
        if most is not None:
            raise InvalidResourceRequest(
                "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum "
                f"allowed allocation. Requested resource={size}, maximum allowed allocation={most}: no node "
                "can be that large"
            )

    def _node_sizes(self, path: str) -> Iterator[Resource]:
        pool = self._state.pools.of_queue(path)
        for node_id in pool.lenders:
            lent = pool.lent(node_id)
            if lent is not None:
                yield lent.ever
        away = (node for node in self._state.nodes.values() if not node.is_usable)
        yield from (most for node in away if (most := self._state.pools.most(path, node)) != NONE)
