"""Where containers of a SchedulingRequest may go now.  Pure.

Two ways to keep a constraint.  By rules: the pod says them and Kubernetes' scheduler keeps them, so several containers
are planned at once, as many as there are nodes for.  By the ResourceManager, for what has no rules: one container at a
time, for the nodes where the constraint holds at that moment, when it is known where everything is that it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yodel.domain.ask_book import SchedulingAsk
from yodel.domain.constraints import Constraint, TagRule, rules_of
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId
from yodel.domain.locality import Spots
from yodel.domain.places import NodePlace, Places
from yodel.domain.resource import Resource


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
    allowed = [node for node in places.allowed(placement) if capability.fits_in(node.capability)]
    fitting = places.satisfying(allowed, constraint, own)
    if not fitting:
        text = f"no node satisfies the placement constraint {constraint}"
        return Spots(why_none=text, is_constraint=True)
    if rules is not None:
        return _by_rules(rules, constraint, request, placement, capability, places, own, count, allowed)
    return _by_us(fitting, request, placement, capability, places, own)


def _by_rules(
    rules: Sequence[TagRule],
    constraint: Constraint,
    request: SchedulingAsk,
    placement: Placement,
    capability: Resource,
    places: Places,
    own: ApplicationId,
    count: int,
    allowed: Sequence[NodePlace],
) -> Spots:
    found: list[Placement] = []
    while len(found) < count:
        fitting = places.satisfying(allowed, constraint, own)
        with_room = [node for node in fitting if places.room(node, capability) > 0]
        if not with_room:
            break
        node = max(with_room, key=lambda candidate: places.free(candidate).memory_mib)
        places.assume(node, capability)
        places.guess(node, own, request.tags)
        found.append(replace(placement, rules=tuple(places.with_slot(own, rule) for rule in rules)))
    return Spots(placements=tuple(found))


def _by_us(
    fitting: Sequence[NodePlace],
    request: SchedulingAsk,
    placement: Placement,
    capability: Resource,
    places: Places,
    own: ApplicationId,
) -> Spots:
    with_room = [node for node in fitting if places.room(node, capability) > 0]
    if not with_room:
        return Spots()
    places.send(own, request.tags)
    hosts = tuple(sorted(node.id.host for node in with_room))
    return Spots(placements=(replace(placement, nodes=hosts),))
