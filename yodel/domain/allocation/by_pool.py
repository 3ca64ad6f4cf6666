"""One tick's decision where queues draw on several pools: each has a purse of its own.  Pure.

Pools have no room in common, only the pods that may be under way and planned at once.  Of these each pool that wants
something has its even part, and what it leaves goes to those after it; who has least under way is first, so that none
waits for ever behind pods that find no node.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from yodel.domain.allocation.decide import decide
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Decision, Demand
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.queues.ledger import UsageLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPart:
    """Holds the demands on one pool, and its capacity.  ``capacity.in_flight`` counts the pods of all pools."""

    demands: Sequence[Demand]
    capacity: Capacity


def decide_by_pool(
    parts: Sequence[PoolPart],
    limits: AllocationLimits,
    watched: Container[ApplicationAttemptId] = (),
    ledger: UsageLedger | None = None,
) -> Decision:
    """One tick, as ``decide``; the ledger knows the queues of all pools."""

    def one(part: PoolPart) -> OfPool:
        return OfPool(
            under_way=_under_way(part),
            in_flight=part.capacity.in_flight,
            decide=lambda own: decide(part.demands, part.capacity, own, watched, ledger),
        )

    return spread([one(part) for part in parts], limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPool:
    """Decides for one pool within limits.  ``under_way`` counts its unscheduled pods, ``in_flight`` those of all
    pools."""

    under_way: int
    in_flight: int
    decide: Callable[[AllocationLimits], Decision]


def spread(pools: Sequence[OfPool], limits: AllocationLimits) -> Decision:
    """One decision of all pools, each with its even part of the pods."""
    if len(pools) == 1:
        return pools[0].decide(limits)
    waiting = sorted(pools, key=lambda pool: pool.under_way)
    left = limits.per_tick_max
    found: list[Decision] = []
    for number, pool in enumerate(waiting):
        left = min(left, max(0, limits.in_flight_max - pool.in_flight - _planned(found)))
        own = replace(limits, per_tick_max=-(-left // (len(waiting) - number)))
        found.append(pool.decide(own))
        left -= len(found[-1].plans)
    return _together(found)


def _under_way(part: PoolPart) -> int:
    return sum(count for demand in part.demands for count in demand.in_flight.values())


def _planned(decisions: Sequence[Decision]) -> int:
    return sum(len(decision.plans) for decision in decisions)


def _together(found: Sequence[Decision]) -> Decision:
    return Decision(
        plans=tuple(chain.from_iterable(one.plans for one in found)),
        take_backs=tuple(chain.from_iterable(one.take_backs for one in found)),
        increases=tuple(chain.from_iterable(one.increases for one in found)),
        misfits=tuple(chain.from_iterable(one.misfits for one in found)),
        again_in_s=min(one.again_in_s for one in found),
        active={path: users for one in found for path, users in one.active.items()},
        waiting={attempt_id: waiting for one in found for attempt_id, waiting in one.waiting.items()},
        figures={pool: figures for one in found for pool, figures in one.figures.items()},
        outcomes=tuple(chain.from_iterable(one.outcomes for one in found)),
        looked={path: looked for one in found for path, looked in one.looked.items()},
        is_cut=any(one.is_cut for one in found),
    )
