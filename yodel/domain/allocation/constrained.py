"""Finds nodes for the containers of a SchedulingRequest.  Pure.

A constraint is kept in one of two ways.  With rules, the pod carries them and Kubernetes' scheduler keeps them, so
several containers are planned at once, as many as there are nodes for.  Without, the ResourceManager plans one
container at a time, for the nodes that satisfy the constraint at that moment, once it knows the nodes of all containers
that the constraint counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yodel.domain.allocation.locality import Spots
from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.ask_book import SchedulingAsk
from yodel.domain.constraints import rules_of
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource

NODES_MAX = 100
"""Nodes named for one container, those with the most room: a pod's affinity is no list of the cluster."""


def spots_within(
    request: SchedulingAsk,
    placement: Placement,
    capability: Resource,
    places: Places,
    own: ApplicationId,
    count: int,
    *,
    may_have_rules: bool = True,
) -> Spots:
    """Spots for at most ``count`` containers of the request."""
    why = places.why_never(placement, capability)
    if why:
        return Spots(why_none=why)
    constraint = request.constraint
    if constraint is None:
        places.send(own, request.tags)
        return Spots.anywhere(placement, count)
    rules = None
    if may_have_rules:
        rules = rules_of(
            constraint,
            own,
            request.tags,
            places.applications_tagged,
            are_racks_labelled=places.are_racks_labelled,
        )
    if not places.is_settled(constraint, own, are_guesses_good=rules is not None):
        return Spots()
    fitting = [n for n in places.satisfying(placement, constraint, own) if capability.fits_in(n.capability)]
    if not fitting:
        text = f"no node satisfies the placement constraint {constraint}"
        return Spots(why_none=text, is_constraint=True)
    with_room = [node for node in fitting if places.room(node, capability) > 0]
    with_room.sort(key=lambda node: -places.free(node).memory_mib)
    if rules is None:
        return _by_us(with_room, request, placement, places, own)

    def take(node: NodePlace) -> Placement:
        places.assume(node, capability)
        places.guess(node, own, request.tags)
        return replace(placement, rules=tuple(places.with_slot(own, rule) for rule in rules))

    def may_take(node: NodePlace) -> bool:
        return places.room(node, capability) > 0 and places.satisfies(node, constraint, own)

    return Spots(placements=tuple(_in_turn(with_room, count, may_take, take)))


def _in_turn(
    nodes: Sequence[NodePlace],
    count: int,
    may_take: Callable[[NodePlace], bool],
    take: Callable[[NodePlace], Placement],
) -> Iterator[Placement]:
    """One placement for each node in turn, until all have been given or no node may take another."""
    queue, given = deque(nodes), 0
    while queue and given < count:
        node = queue.popleft()
        if may_take(node):
            yield take(node)
            queue.append(node)
            given += 1


def _by_us(
    with_room: Sequence[NodePlace],
    request: SchedulingAsk,
    placement: Placement,
    places: Places,
    own: ApplicationId,
) -> Spots:
    if not with_room:
        return Spots()
    places.send(own, request.tags)
    hosts = tuple(sorted(node.id.host for node in with_room[:NODES_MAX]))
    return Spots(placements=(replace(placement, nodes=hosts),))
