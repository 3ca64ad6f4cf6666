"""How large a container may be: what is configured, and no more than the largest node has (ClusterNodeTracker).

Clients and ApplicationMasters are told, and refuse by themselves what no node could ever take.  A node counts with the
most that it may lend, so a loan that is small for the moment lowers nothing.
"""

from __future__ import annotations

from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import EXTRA_AMOUNT_MAX, MEMORY, VCORES, Resource, larger
from yodel.errors import InvalidResourceRequest, TooMuchAsked
from yodel.services.writer.pool_book import PoolBook

_SIZES = (MEMORY, VCORES)


class MaximumAllocation:
    """By type.  As long as no node of a pool is known to have something of a type, what is configured counts."""

    def __init__(self, pools: PoolBook, limits: AllocationLimits) -> None:
        self._pools, self._follows_nodes = pools, limits.maximum_follows_nodes
        self.configured = limits.maximum

    @property
    def of_any(self) -> Resource:
        """Of the pool that has the most: for whom no queue is known yet."""
        found = Resource(0, 0)
        for name in self._pools.drawn_on:
            found = larger(found, self._of(name))
        return found

    def of_queue(self, path: str) -> Resource:
        return self._of(self._pools.pools.of(path))

    def _of(self, name: PoolName) -> Resource:
        if not self._follows_nodes:
            return self.configured
        largest = self._pools.of(name).largest
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
