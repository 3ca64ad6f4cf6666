"""Pods that wait too long for a node give way to queues under their guarantees, also where giving back is off.  Pure.

They hold a share and run nothing.  What would take their place has to find a node now; otherwise nothing is gained.
"""

from __future__ import annotations

from collections.abc import Sequence

from yodel.domain.allocation.by_pool import PoolPart
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.preemption.round import Held, Lacking, lacking_of
from yodel.domain.preemption.victims import Candidate, Victim
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.shares import dominant
from yodel.domain.resource import NONE, Resource, total_of


def unplaced_of(part: PoolPart, ledger: UsageLedger, held: Held, limits: AllocationLimits) -> list[Victim]:
    """Candidates without a node that are to be taken back, each with the queue that gets its share."""
    waiting = sorted((one for one in held.candidates if one.node_id is None), key=lambda one: one.rank)
    places = part.capacity.places
    if not waiting or places is None:
        return []
    found: list[Victim] = []
    free = part.capacity.total - part.capacity.used - total_of(hold.counted for hold in held.holds)
    on_node = {node_id: room for node_id, room in held.free_on.items() if room.is_any_positive}
    more: dict[str, Resource] = {}
    lacking = lacking_of(part.demands, ledger, places, limits, part.capacity.is_backing_off)
    for one in sorted(lacking, key=lambda each: ledger.serving_rank(each.demand.queue)):
        nodes = [node.id for node in places.allowed(one.placement)]
        for _ in range(one.count):
            if not _is_under(one, ledger, held, more.get(one.demand.queue, NONE)):
                break
            node_id = next((i for i in nodes if i in on_node and one.size.fits_in(on_node[i])), None)
            if node_id is None:
                break
            chosen = _chosen(one, waiting, free)
            if chosen is None:
                break
            for victim in chosen:
                waiting.remove(victim)
                free += victim.size
                found.append(Victim(candidate=victim, for_queue=one.demand.queue))
            free -= one.size
            on_node[node_id] -= one.size
            more[one.demand.queue] = more.get(one.demand.queue, NONE) + one.size
    return found


def _is_under(one: Lacking, ledger: UsageLedger, held: Held, more: Resource) -> bool:
    """Its queue has less than its guarantee, without what has no node."""
    path = one.demand.queue
    firm = ledger.used(path) - held.without_node.get(path, NONE) + more
    share = ledger.share(path)
    return share.guaranteed.is_any_positive and dominant(firm, share.guaranteed) < 1.0


def _chosen(one: Lacking, waiting: Sequence[Candidate], free: Resource) -> list[Candidate] | None:
    """Choose unscheduled pods of other queues, as many as needed; None: they are not enough."""
    chosen: list[Candidate] = []
    for candidate in waiting:
        if one.size.fits_in(free):
            break
        if candidate.queue != one.demand.queue:
            chosen.append(candidate)
            free += candidate.size
    return chosen if one.size.fits_in(free) else None
