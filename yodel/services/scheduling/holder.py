"""Holds nodes for those who want more than any node has free in one piece, and gives them up again.

Before each decision what is held is looked at again: what is over goes, what is free there counts.  After it the first
of each leaf that waits for nothing but room may be given a node, in the order of their turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import nsmallest
from math import inf

import structlog

from yodel.domain.allocation.holds import (
    Avoided,
    HoldRules,
    NodeReservation,
    Short,
    Tenancy,
    best_node,
    free_of,
    oldest_node,
)
from yodel.domain.allocation.places import Places
from yodel.domain.allocation.rounds import Rounds
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import NONE, Resource, total_of
from yodel.domain.states import ContainerState
from yodel.ports.clock import Clock
from yodel.services.scheduling.placement_inputs import PlacementInputs
from yodel.services.writer.state import ClusterState

NEW_AT_ONCE = 4
"""Nodes that begin to be held after one decision: for each all nodes are looked at."""
LOOKED_AT_MAX = 50
"""Nodes that one is chosen of, those with fewest containers: their containers are gone through."""
log = structlog.get_logger("yodel.holds")


class NodeReserver:
    """``changed`` hears of nodes that begin or cease to be held: pods that wait are to be made again."""

    def __init__(
        self,
        state: ClusterState,
        clock: Clock,
        placement_inputs: PlacementInputs,
        rounds: Rounds,
        rules: HoldRules,
        changed: Callable[[PoolName], object] = lambda _: None,
    ) -> None:
        self._state, self._clock, self._placement_inputs, self._rounds = state, clock, placement_inputs, rounds
        self.rules, self._changed = rules, changed
        self.avoided = Avoided()

    @property
    def again_in_s(self) -> float:
        """Return the seconds until a reservation must be checked if nothing else happens."""
        due_s = min((self._due_s(hold) for hold in self._state.holds.all), default=inf)
        return max(0.0, min(due_s, self.avoided.next_s) - self._clock.monotonic_s())

    def _due_s(self, hold: NodeReservation) -> float:
        if hold.container_id is not None:
            return hold.planned_s + self.rules.placed_s
        return max(hold.since_s, hold.freed_s) + self.rules.longest_s

    # --- before a decision ------------------------------------------------------------------------------------------

    def review(self, ledger: UsageLedger) -> list[ContainerId]:
        """``ledger`` has what is held without holds; they are taken in it.  Returns containers whose pods found no
        place on the node that was held for them: they are to be planned again."""
        holds, now_s = self._state.holds, self._clock.monotonic_s()
        in_vain: list[ContainerId] = []
        for hold in list(holds.all):
            if hold.container_id is not None:
                container = self._state.containers.get(hold.container_id)
                if container is None or container.state is not ContainerState.PLANNED:
                    self._give_up(hold, "its container is scheduled")
                elif now_s >= self._due_s(hold) or self._state.pools.of(hold.pool).lent(hold.node_id) is None:
                    in_vain.append(hold.container_id)
                    self.avoided.add(hold.wait, hold.node_id, now_s + self.rules.longest_s)
                    self._give_up(hold, "its pod was not scheduled in time")
                continue
            now = self._now(hold, ledger, now_s)
            if now is None:
                continue
            ledger.take(now.queue, now.short.user, now.counted)
        self.avoided.keep(now_s)
        return [*in_vain, *self._orphans()]

    def _orphans(self) -> list[ContainerId]:
        """Containers that an earlier life sent to a node that was held for them, and that are not there yet: now it is
        held for nobody."""
        held, wait_ms = self._state.holds.containers, self.rules.placed_s * 1000
        return [
            one.id
            for one in self._state.container_index.planned.values()
            if len(one.placement.nodes) == 1
            and not one.allocation_tags
            and one.id not in held
            and self._clock.now_ms() - one.created_ms >= wait_ms
        ]

    def drop_all(self) -> None:
        """Limits are only observed: all stand in one line, and nobody is held a node."""
        for hold in list(self._state.holds.all):
            self._give_up(hold, "queue limits are not enforced")

    def _now(self, hold: NodeReservation, ledger: UsageLedger, now_s: float) -> NodeReservation | None:
        """Return the reservation's present state; None: it has ended."""
        short, pool = hold.short, self._state.pools.of(hold.pool)
        if not self._rounds.is_wanted(short) or self._state.pools.pools.of(short.queue) != hold.pool:
            self._give_up(hold, "no request needs it any more")
            return None
        if not ledger.lets(short.queue, short.user, short.size, is_am=short.key is None):
            self._give_up(hold, "a limit blocks the request")
            return None
        lent = pool.lent(hold.node_id)
        if lent is None or not short.size.fits_in(lent.now):
            self._give_up(hold, "the container does not fit on the node any more")
            return None
        free = free_of(short.size, pool.free_on(hold.node_id))
        if free != hold.free:
            is_more = not free.fits_in(hold.free)
            hold = replace(hold, free=free, freed_s=now_s if is_more else hold.freed_s)
            self._put(hold)
        if now_s >= self._due_s(hold) and not short.size.fits_in(free):
            return self._move(hold, now_s)
        return hold

    def _move(self, hold: NodeReservation, now_s: float) -> NodeReservation | None:
        """Nothing was freed for long: to the node whose oldest container is oldest, of those not tried before."""
        self.avoided.add(hold.wait, hold.node_id, now_s + self.rules.longest_s * 2)
        self._give_up(hold, "none of its capacity became free")
        node_id = oldest_node(self._candidates(hold.pool, hold.short, self._places(hold.pool)))
        return self.hold(hold.pool, hold.short, node_id) if node_id is not None else None

    def _give_up(self, hold: NodeReservation, why: str) -> None:
        self._state.holds.drop([hold.wait])
        self._note(hold)
        log.info("node reservation dropped", **_fields(hold), why=why)
        self._changed(hold.pool)

    # --- after it ---------------------------------------------------------------------------------------------------

    def add(self, ledger: UsageLedger) -> bool:
        """Reserve nodes; return True if there is a new reservation, which the decision does not know."""
        is_new = False
        for pool in self._state.pools.drawn_on:
            is_new |= self._add(pool, ledger)
        return is_new

    def _add(self, pool: PoolName, ledger: UsageLedger) -> bool:
        holds = self._state.holds.of_pool(pool)
        left = self.rules.most(self._state.pools.of(pool).lender_count) - len(holds)
        at_most = min(left, NEW_AT_ONCE) if left > 0 else int(self.rules.part > 0)
        is_new, places = False, None
        for short in self._rounds.shorts(pool, {hold.queue for hold in holds}, ledger, at_most):
            if not self._rounds.is_wanted(short):  # it was planned just now
                continue
            instead_of = self._beyond_guarantee(short, holds, ledger) if left <= 0 else None
            if left > 0 or instead_of is not None:
                places = places or self._places(pool)
                is_new |= self._reserve(pool, short, places, ledger, instead_of)
        return is_new

    def _beyond_guarantee(
        self, short: Short, holds: Sequence[NodeReservation], ledger: UsageLedger
    ) -> NodeReservation | None:
        """Return the latest reservation above its queue's guarantee, for a request within its own; None: the request
        waits."""
        if not _is_within(short, NONE, ledger):
            return None
        above = (one for one in reversed(holds) if one.container_id is None)
        return next((one for one in above if not _is_within(one.short, one.counted, ledger)), None)

    def _reserve(
        self, pool: PoolName, short: Short, places: Places, ledger: UsageLedger, instead_of: NodeReservation | None
    ) -> bool:
        """Reserve the best node if the limits allow it; an earlier reservation ends only if there is one."""
        before = instead_of.counted if instead_of is not None else NONE
        if instead_of is not None:
            ledger.take(instead_of.queue, instead_of.short.user, NONE - before)
        is_let = ledger.lets(short.queue, short.user, short.size, is_am=short.key is None)
        node_id = best_node(self._candidates(pool, short, places, instead_of)) if is_let else None
        if instead_of is not None and node_id is None:
            ledger.take(instead_of.queue, instead_of.short.user, before)
        if node_id is None:
            return False
        if instead_of is not None:
            self._give_up(instead_of, "another queue is below its guarantee")
        hold = self.hold(pool, short, node_id)
        ledger.take(short.queue, short.user, hold.counted)
        return True

    def hold(self, pool: PoolName, short: Short, node_id: NodeId) -> NodeReservation:
        """Reserve this node from now on, instead of any earlier one."""
        before = self._state.holds.of(short.wait)
        if before is not None and before.node_id == node_id:
            return before
        now_s = self._clock.monotonic_s()
        free = free_of(short.size, self._state.pools.of(pool).free_on(node_id))
        hold = NodeReservation(pool=pool, node_id=node_id, short=short, since_s=now_s, freed_s=now_s, free=free)
        self._put(hold)
        log.info("node reserved", **_fields(hold))
        self._changed(pool)
        return hold

    def planned(self, wait: tuple[object, object], container_id: ContainerId) -> None:
        """The container that the node is held for is on its way."""
        for hold in list(self._state.holds.all):
            if hold.wait == wait and hold.container_id is None:
                self._put(replace(hold, container_id=container_id, planned_s=self._clock.monotonic_s(), free=NONE))

    def _put(self, hold: NodeReservation) -> None:
        self._state.holds.put(hold)
        self._note(hold)

    def _note(self, hold: NodeReservation) -> None:
        """Others are shown what counts as held, and what is reserved."""
        self._state.queue_use.touch(hold.queue)
        self._state.change_counters.changed()
        self._state.touch(hold.short.attempt_id.application_id)

    def _places(self, pool: PoolName) -> Places:
        return self._placement_inputs.places(is_locality_wanted=False, pool=pool)

    def _candidates(
        self, pool: PoolName, short: Short, places: Places, instead_of: NodeReservation | None = None
    ) -> Sequence[Tenancy]:
        """Nodes that could take it if all but those had ended that hardly do, and that nobody is held (but
        ``instead_of``): what its own application has of this size, and if that leaves a choice all
        ApplicationMasters."""
        lenders = self._state.pools.of(pool)
        held = {hold.node_id for hold in self._state.holds.of_pool(pool) if hold is not instead_of}
        not_these = held.union(self.avoided.of(short.wait))
        by_node = self._state.usage.by_node
        fitting = [
            (by_node[node.id].containers if node.id in by_node else 0, node.id, lent.now)
            for node in places.allowed(short.placement)
            if node.id not in not_these and (lent := lenders.lent(node.id)) is not None and short.size.fits_in(lent.now)
        ]
        near = [(self._tenancy(node_id, short), now) for _, node_id, now in nsmallest(LOOKED_AT_MAX, fitting)]
        may = [(one, now) for one, now in near if short.size.fits_in(now - one.own)]
        return [one for one, now in may if short.size.fits_in(now - one.own - one.masters)] or [one for one, _ in may]

    def _tenancy(self, node_id: NodeId, short: Short) -> Tenancy:
        there = [self._state.containers[one] for one in self._state.container_index.on_node(node_id)]
        own_id = short.attempt_id.application_id

        def lasts(one: Container) -> bool:
            return one.is_am or short.size.fits_in(one.reserved)

        return Tenancy(
            node_id=node_id,
            count=len(there),
            oldest_ms=min((one.created_ms for one in there), default=0),
            own=total_of(one.reserved for one in there if one.id.application_id == own_id and lasts(one)),
            masters=total_of(one.reserved for one in there if one.is_am and one.id.application_id != own_id),
        )


def _is_within(short: Short, counted: Resource, ledger: UsageLedger) -> bool:
    """Return True if its container keeps the queue within its guarantee; ``counted`` is held for it already."""
    return (ledger.used(short.queue) - counted + short.size).fits_in(ledger.share(short.queue).guaranteed)


def _fields(hold: NodeReservation) -> dict[str, str]:
    short = hold.short
    return {
        "node_id": str(hold.node_id),
        "application_id": str(short.attempt_id.application_id),
        "queue": short.queue,
        "capability": str(short.size),
    }
