"""Lets leaf queues sleep between rounds, until what prevents their requests changes.  Values in, values out; no clock,
no input or output.

A round would find the same as the one before for all leaves where nothing has changed.  So a leaf is looked at when
other requests arrive there, when usage of the queue at its limit changes, and when the pool has free capacity for a
missing size.  A leaf with any other obstacle is looked at in every round.  The explanation of a sleeping leaf stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from math import inf
from typing import TypeVar

from yodel.domain.allocation.by_pool import OfPool, spread
from yodel.domain.allocation.decide import decide_leaves
from yodel.domain.allocation.demands import AllocationLimits, Blocked, Capacity, Decision, Demand, Looked, TakeBack
from yodel.domain.allocation.holds import Short
from yodel.domain.allocation.leaf import Leaf, Sleep
from yodel.domain.allocation.orders import take_backs
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.allocation.turns import QueueOrder, is_served, is_wanted
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.queues.ledger import ServingRank, UsageLedger
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import Resource

_K = TypeVar("_K")
HEADS_MAX = 150
"""Wishes that have their turn in one round: about as many as are served in 10 ms."""


@dataclass(slots=True)
class _Pool:
    """Leaves of one pool: those awake, and those asleep by what else than a queue may wake them."""

    awake: dict[str, Leaf] = field(default_factory=dict)
    by_size: dict[Resource, set[str]] = field(default_factory=dict)
    masters: dict[str, Resource] = field(default_factory=dict)
    leaves: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafTurn:
    """Leaves of a pool that this round looks at."""

    leaves: Mapping[str, Leaf]
    particular: Sequence[Demand]
    """Demands there that ask for larger containers or wait for a host or rack."""

    @property
    def demands(self) -> Iterable[Demand]:
        return chain.from_iterable(leaf.demands.values() for leaf in self.leaves.values())


class Rounds:
    """``put`` what is wanted, ``begin`` a round, and ``decide`` it."""

    def __init__(self) -> None:
        self.demands: dict[ApplicationAttemptId, Demand] = {}
        """All there are, with those that only have something under way."""
        self.active: dict[str, Collection[str]] = {}
        """By leaf, the users that want something; another one when it changes."""
        self._leaves: dict[str, Leaf] = {}
        self._pools: dict[PoolName, _Pool] = {}
        self._watchers: dict[str, set[str]] = {}
        """By queue, the leaves that sleep until something else is held of it."""
        self._take_backs: dict[ApplicationAttemptId, list[TakeBack]] = {}
        self._silent: set[ApplicationAttemptId] = set()
        """Attempts that want nothing any more, since the last round."""
        self._changed: set[str] = set()
        """Leaves whose users may be others."""
        self._order = QueueOrder()
        self._short: dict[PoolName, dict[str, tuple[Short, ...]]] = {}
        """By pool and leaf, who waits for more room than any node has in one piece, in the order they are served."""
        self._rules: object = None
        self._basis: object = None
        self._had_turn: set[str] = set()
        """Leaves that rest until the others have had their turn, as the last rounds were cut short."""
        self._is_overtaken = False
        """Something else is held since one of those had its turn."""
        self._again_in_s = inf

    # --- what is wanted

    def put(self, attempt_id: ApplicationAttemptId, demand: Demand | None, pool_of: Callable[[str], PoolName]) -> None:
        """Set the demand of an attempt; None: it requests nothing, and has nothing in progress."""
        old = self.demands.get(attempt_id)
        if old == demand:
            return
        served = demand if demand is not None and is_served(demand) else None
        if old is not None and (served is None or served.queue != old.queue):
            self._leave(attempt_id, old.queue)
        if demand is None:
            self.demands.pop(attempt_id, None)
        else:
            self.demands[attempt_id] = demand
        excess = take_backs((demand,)) if demand is not None and demand.in_flight else []
        if excess:
            self._take_backs[attempt_id] = excess
        else:
            self._take_backs.pop(attempt_id, None)
        if served is not None:
            self._silent.discard(attempt_id)
            self._enter(attempt_id, served, pool_of)
        else:
            self._silent.add(attempt_id)

    def _enter(self, attempt_id: ApplicationAttemptId, demand: Demand, pool_of: Callable[[str], PoolName]) -> None:
        path = demand.queue
        leaf = self._leaves.get(path)
        if leaf is None:
            leaf = self._leaves[path] = Leaf(pool_of(path))
            pool = self._pools.setdefault(leaf.pool, _Pool())
            pool.leaves += 1
            pool.awake[path] = leaf
        leaf.put(attempt_id, demand)
        self._changed.add(path)
        self._wake(path)

    def _leave(self, attempt_id: ApplicationAttemptId, path: str) -> None:
        leaf = self._leaves.get(path)
        if leaf is None or not leaf.put(attempt_id, None):
            return
        self._changed.add(path)
        self._wake(path)
        if not leaf.demands:
            del self._leaves[path]
            self._short.get(leaf.pool, {}).pop(path, None)
            pool = self._pools[leaf.pool]
            pool.leaves -= 1
            pool.awake.pop(path, None)
            if not pool.leaves:
                del self._pools[leaf.pool]

    # --- a round

    def begin(
        self,
        rules: object,
        basis: object,
        changed: Collection[str],
        ledger: UsageLedger,
        free_of: Callable[[PoolName], Resource],
        pool_of: Callable[[str], PoolName],
    ) -> dict[PoolName, LeafTurn]:
        """Return by pool the leaves that this round looks at.

        ``rules`` are the pools and the limits that sizes are rounded by; ``basis`` is all else that a decision reads
        but what is put here and what is held.  ``changed`` are queues that something else is held of since the last
        round.  ``ledger`` is told who wants something.
        """
        if (rules, basis) != (self._rules, self._basis):
            is_size_same, self._rules, self._basis = rules == self._rules, rules, basis
            self._start_anew(pool_of, is_size_same=is_size_same)
        self._is_overtaken |= bool(changed and self._had_turn)
        for path in changed:
            self._order.changed(path)
            for sleeper in self._watchers.pop(path, ()):
                self._wake(sleeper)
        self.note_users(ledger)
        return {name: self._turn(pool, free_of(name), changed, ledger) for name, pool in self._pools.items()}

    def note_users(self, ledger: UsageLedger) -> None:
        """``ledger`` is told who wants something."""
        if self._changed:
            self._note_users()
        ledger.use_active(self.active)

    def _note_users(self) -> None:
        active = dict(self.active)
        is_changed = False
        for path in self._changed:
            leaf = self._leaves.get(path)
            users = {demand.user for demand in leaf.demands.values()} if leaf is not None else None
            if users == active.get(path):
                continue
            is_changed = True
            if users is None:
                del active[path]
            else:
                active[path] = users
        self._changed.clear()
        if is_changed:
            self.active = active

    def _turn(self, pool: _Pool, free: Resource, changed: Collection[str], ledger: UsageLedger) -> LeafTurn:
        leaves = dict(pool.awake)
        for size, paths in pool.by_size.items():
            if size.fits_in(free):
                leaves |= {path: self._leaves[path] for path in paths}
        if changed and pool.masters:
            for path, limit in pool.masters.items():
                if not ledger.am_limit(ledger.share(path)).fits_in(limit):
                    leaves[path] = self._leaves[path]
        particular = [demand for leaf in leaves.values() if leaf.particular for demand in leaf.particular.values()]
        return LeafTurn(leaves=leaves, particular=particular)

    # --- who may be held a node for

    def shorts(self, pool: PoolName, beside: Collection[str], ledger: UsageLedger, at_most: int) -> list[Short]:
        """The first of some leaves that waits for nothing but room in one piece, in the order of their turns; not of
        those ``beside``."""
        known = self._short.get(pool)
        if not known:
            return []
        paths = (path for path in known if path not in beside)
        return [known[path][0] for path in nsmallest(at_most, paths, key=lambda path: self._turn_of(path, ledger))]

    def _turn_of(self, path: str, ledger: UsageLedger) -> list[tuple[ServingRank, str]]:
        """Return the ranks by which leaves are served, from the top of the tree down."""
        return [(self._order.rank(above), above) for above in reversed(ledger.share(path).path[:-1])]

    def is_wanted(self, short: Short) -> bool:
        """Return True if the request that is short of capacity is still pending in the same queue."""
        demand = self.demands.get(short.attempt_id)
        return (
            demand is not None
            and (demand.queue, demand.user) == (short.queue, short.user)
            and is_wanted(demand, short.key)
        )

    def _note_short(self, path: str, leaf: Leaf, looked: Looked, ledger: UsageLedger) -> None:
        let = tuple(
            one for one in looked.short.values() if ledger.lets(path, one.user, one.size, is_am=one.key is None)
        )
        if let:
            self._short.setdefault(leaf.pool, {})[path] = let
        else:
            self._short.get(leaf.pool, {}).pop(path, None)

    def decide(
        self,
        turns: Mapping[PoolName, LeafTurn],
        capacities: Mapping[PoolName, Capacity],
        limits: AllocationLimits,
        ledger: UsageLedger,
        heads_max: float = HEADS_MAX,
    ) -> Decision:
        """The round that was begun.  What it says of ``waiting`` is of those it ``heard``."""

        def one(name: PoolName, capacity: Capacity) -> OfPool:
            leaves = turns[name].leaves if name in turns else {}
            return OfPool(
                under_way=sum(sum(demand.in_flight.values()) for demand in turns[name].demands)
                if len(capacities) > 1 and name in turns
                else 0,
                in_flight=capacity.in_flight,
                decide=lambda own: decide_leaves(
                    leaves,
                    capacity,
                    own,
                    ledger,
                    order=self._order,
                    heads_max=heads_max,
                    may_grow=name in turns and any(demand.increases for demand in turns[name].particular),
                ),
            )

        found = spread([one(name, capacity) for name, capacity in capacities.items()], limits)
        heard = set(self._silent)
        self._silent.clear()
        for path, looked in found.looked.items():
            leaf = self._leaves[path]
            heard.update(leaf.demands.keys() - looked.as_told)
            leaf.found(looked)
            self._note_short(path, leaf, looked, ledger)
            self._wake(path)
            sleep = None
            if not looked.planned and not looked.has_changed:
                figures = found.figures[capacities[leaf.pool].pool]
                sleep = _sleep(path, looked, ledger, figures.free)
            if sleep is None and found.is_cut and not looked.planned:
                self._had_turn.add(path)
                sleep = Sleep()
            if sleep is not None:
                self._lay(path, leaf, sleep)
        for own in (plan.attempt_id for plan in found.plans if plan.is_held):
            if own in self.demands and (path := self.demands[own].queue) in self._leaves:
                self._leaves[path].unsettle(own)
        is_owed, again_in_s = found.is_cut or self._is_overtaken, min(self._again_in_s, found.again_in_s)
        self._again_in_s = again_in_s if found.is_cut else inf
        if not found.is_cut:
            self._end_turns()
        waiting = {attempt_id: waits for attempt_id, waits in found.waiting.items() if attempt_id in heard}
        return replace(
            found,
            take_backs=tuple(chain.from_iterable(self._take_backs.values())),
            active=self.active,
            waiting=waiting,
            heard=heard,
            is_cut=is_owed,
            again_in_s=again_in_s,
        )

    def _end_turns(self) -> None:
        """Every leaf has had its turn: those that cannot sleep are looked at again in the next round."""
        for path in self._had_turn & self._leaves.keys():
            self._wake(path)
        self._had_turn.clear()
        self._is_overtaken = False

    def wake_all(self) -> None:
        """Not all that was decided came to be: what was in somebody's way may not be there.

        The order of queues stays: it was made before any plan but those for reserved nodes, of which no less counted as
        held before (``NodeReservation.counted``).
        """
        for path in self._leaves:
            self._wake(path)

    def _start_anew(self, pool_of: Callable[[str], PoolName], *, is_size_same: bool) -> None:
        """Look at all leaves again.  What of their requests waits as before need not be told again, if sizes are the
        same."""
        self._order = QueueOrder()
        self._had_turn.clear()
        self._watchers.clear()
        self._pools.clear()
        self._short.clear()
        for path, leaf in self._leaves.items():
            leaf.forget(pool_of(path), is_size_same=is_size_same)
            pool = self._pools.setdefault(leaf.pool, _Pool())
            pool.leaves += 1
            pool.awake[path] = leaf

    # --- sleep

    def _lay(self, path: str, leaf: Leaf, sleep: Sleep) -> None:
        pool = self._pools[leaf.pool]
        leaf.sleep = sleep
        del pool.awake[path]
        for watched in sleep.paths:
            self._watchers.setdefault(watched, set()).add(path)
        for size in sleep.sizes:
            pool.by_size.setdefault(size, set()).add(path)
        if sleep.masters is not None:
            pool.masters[path] = sleep.masters

    def _wake(self, path: str) -> None:
        leaf = self._leaves[path]
        sleep, leaf.sleep = leaf.sleep, None
        if sleep is None:
            return
        pool = self._pools[leaf.pool]
        pool.awake[path] = leaf
        pool.masters.pop(path, None)
        for watched in sleep.paths:
            _drop(self._watchers, watched, path)
        for size in sleep.sizes:
            _drop(pool.by_size, size, path)


def _drop(sets: dict[_K, set[str]], key: _K, path: str) -> None:
    paths = sets.get(key)
    if paths is not None:
        paths.discard(path)
        if not paths:
            del sets[key]


def _sleep(path: str, looked: Looked, ledger: UsageLedger, free: Resource) -> Sleep | None:
    """Return what must change before the leaf is looked at again; None: it is not known well enough."""
    sleep = Sleep()
    for blocked in looked.blocked:
        if not _is_kept(path, blocked, ledger, free, sleep):
            return None
    return sleep if looked.blocked else None


def _is_kept(path: str, blocked: Blocked, ledger: UsageLedger, free: Resource, sleep: Sleep) -> bool:
    """Return True if it is known what must change for one size, and note it.  One obstacle is enough, the one that
    changes least often."""
    limits = [one.path for one in ledger.hindrances(path, blocked.user, blocked.size)]
    if limits:
        sleep.paths.add(path if path in limits else limits[0])
        return True
    if not blocked.size.fits_in(free):
        sleep.sizes.add(blocked.size)
        return True
    if not blocked.is_am:
        return False
    masters = next(ledger.hindrances_of_am(path, blocked.user, blocked.size), None)
    if masters is None or masters.hurdle not in (Hurdle.PARALLEL, Hurdle.AM_SHARE):
        return False
    if masters.hurdle is Hurdle.PARALLEL:
        sleep.paths.add(masters.path)
        return True
    sleep.paths.add(path)
    sleep.masters = ledger.am_limit(ledger.share(path)) if sleep.masters is None else sleep.masters
    return True
