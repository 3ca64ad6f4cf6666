"""Delay scheduling: how long a wish waits for the places it prefers.  Pure.

YARN counts missed opportunities (RegularContainerAllocator, yarn.scheduler.capacity.node-locality-delay); here it is
seconds.  While patience lasts, only as many containers are planned as its places have room for by the RM's ledger, with
those places preferred; what is left is planned anywhere once patience is over.  So no pod is ever made for the sake of
locality and taken back.  Places that are not in the cluster are not waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.container import Placement
from yodel.domain.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalityDelays:
    """``node_s``: how long for the hosts; ``rack_s``: how long after that for their racks.  0: not at all."""

    node_s: float = 1.0
    rack_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spots:
    """Lists the placements with which containers of one wish may be planned now.

    ``why_none`` is set when no node can take any as things are; ``is_constraint`` when only the placement constraint is
    in the way.  Fewer than wanted without a reason: they wait.
    """

    placements: Sequence[Placement] = ()
    why_none: str = ""
    is_constraint: bool = False
    is_local: bool = False

    @classmethod
    def anywhere(cls, placement: Placement, count: int) -> Spots:
        return cls(placements=[placement] * count)


class Patience:
    """The delays, and when the next of them is over (``again_in_s``)."""

    def __init__(self, delays: LocalityDelays) -> None:
        self.delays = delays
        self.again_in_s = inf

    def lasts(self, left_s: float) -> None:
        self.again_in_s = min(self.again_in_s, left_s)


def spots_near(
    placement: Placement, capability: Resource, places: Places, patience: Patience, waited_s: float, count: int
) -> Spots:
    """Spots for a ResourceRequest that has waited so long."""
    why = places.why_never(placement, capability)
    if why:
        return Spots(why_none=why)
    total_s = patience.delays.node_s + patience.delays.rack_s
    if placement.is_strict or waited_s >= total_s or not (placement.hosts or placement.racks):
        return Spots.anywhere(placement, count)
    hosts = places.named(placement)
    if hosts and waited_s < patience.delays.node_s:
        return _local(hosts, placement, capability, places, patience, patience.delays.node_s - waited_s, count)
    racks = {*placement.racks, *(node.rack for node in hosts)}
    near = places.near(placement, racks)
    if near and len(near) < len(places.nodes):
        return _local(near, placement, capability, places, patience, total_s - waited_s, count)
    return Spots.anywhere(placement, count)


def _local(
    nodes: Sequence[NodePlace],
    placement: Placement,
    capability: Resource,
    places: Places,
    patience: Patience,
    left_s: float,
    count: int,
) -> Spots:
    found = 0
    for node in nodes:
        more = min(count - found, places.room(node, capability))
        if more > 0:
            places.assume(node, capability, more)
            found += more
    if found < count:
        patience.lasts(left_s)
    return Spots(placements=[placement] * found, is_local=found > 0)
