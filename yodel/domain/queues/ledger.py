"""Tracks usage in each queue, and how much may still be added: the limits of one decision.  Pure.

A container may start when it fits under the maximum of its queue and of every queue above, and within its user's limit
there (AbstractCSQueue.canAssignToThisQueue, AbstractLeafQueue.canAssignToUser, UsersManager.computeUserLimit).  Two
things are stricter than in the CapacityScheduler: within the guarantee only the first container of a user may exceed
the share, and none may exceed user-limit-factor.  Above the guarantee, as there, every user at or below the share may
have one more container, whatever its size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.queue import ROOT
from yodel.domain.queues.shares import QueueShares, Share, dominant
from yodel.domain.queues.windows import WindowEffect
from yodel.domain.resource import (
    NONE,
    Resource,
    larger,
    part_of,
    part_up_of,
    rounded_down,
    rounded_up,
    smaller,
    total_of,
)
from yodel.domain.waiting import Hindrance, MasterShare, too_many

NO_USE = (NONE, NONE)
UNLIMITED = 2**31 - 1


class LiveUsage(Protocol):
    """Describes usage by live containers, also of ApplicationMasters alone.  It is immutable: other usage is another
    object."""

    @property
    def resource(self) -> Resource: ...

    @property
    def am_resource(self) -> Resource: ...

    @property
    def masters(self) -> int: ...


class ServingRank(NamedTuple):
    """Orders queues of one parent for serving, least first.  ``part`` is the used part of the guarantee."""

    has_no_guarantee: bool
    has_its_guarantee: bool
    """Counts with the priority only."""
    urgency: int
    part: float
    guarantee: float


@dataclass(frozen=True, slots=True)
class _Limit:
    """Holds the limits of a user with weight 1: the share, what may be added to it, the absolute maximum, the resulting
    limit, and all that is no greater part of the cluster."""

    base: Resource
    more: Resource
    top: Resource
    whole: Resource
    wide: Resource


class UsageLedger:
    """Tracks usage, including what the current decision has added.

    ``by_queue`` has every queue with usage, including parents; ``by_user`` leaves and users.  ``active`` are the users
    of a leaf with requests.  ``unmanaged`` are running applications whose ApplicationMasters are elsewhere, by queue,
    including parents.  ``minimum`` is the minimum allocation, ``am_share`` the scheduler's maximum-am-resource-percent
    as a part of 0 to 1.
    """

    def __init__(
        self,
        tree: QueueShares,
        by_queue: Mapping[str, LiveUsage],
        by_user: Mapping[tuple[str, str], LiveUsage],
        *,
        minimum: Resource,
        am_share: float,
        active: Mapping[str, Collection[str]] | None = None,
        unmanaged: Mapping[str, int] | None = None,
    ) -> None:
        self.tree, self._minimum, self.am_share = tree, minimum, am_share
        self._by_queue, self._by_user, self._active = by_queue, by_user, active or {}
        self._unmanaged = unmanaged if unmanaged is not None else {}
        self._queue_now: dict[str, tuple[Resource, Resource]] = {}
        self._masters_now: dict[str, int] = {}
        self._user_now: dict[tuple[str, str], tuple[Resource, Resource]] = {}
        self._strays: dict[str, Share] = {}
        self._limits: dict[tuple[str, Resource], tuple[Resource, _Limit]] = {}
        self._held_by_active: dict[str, tuple[Resource, float]] = {}
        self._left: dict[str, Resource] = {}
        """The resources that maxima leave, by path; forgotten when something is taken."""
        self._am_limits: dict[str, Resource] = {}
        """The limits of masters by leaf; forgotten with it."""

    def hold_still(self) -> None:
        """Keep what is held at this moment, whatever becomes of the figures it was made of."""
        self._by_queue, self._by_user = dict(self._by_queue), dict(self._by_user)
        self._unmanaged = dict(self._unmanaged)
        self._forget()

    def use_active(self, active: Mapping[str, Collection[str]]) -> None:
        self._active = active
        self._limits.clear()
        self._held_by_active.clear()

    def share(self, path: str) -> Share:
        """Return the share of a leaf.  One without a row has no guarantee, and may use what the root may of its
        pool."""
        found = self.tree.shares.get(path)
        if found is None:
            found = self.tree.tops.get(path) or self._strays.get(path)
        if found is None:
            found = self._strays[path] = self.tree.stray(path)
        return found

    def used(self, path: str) -> Resource:
        return self._of_queue(path)[0]

    def masters(self, path: str) -> Resource:
        """Return the usage of ApplicationMasters in a queue."""
        return self._of_queue(path)[1]

    def masters_of(self, path: str, user: str) -> Resource:
        """Return the usage of one user's ApplicationMasters in a leaf."""
        return self._of_user(path, user)[1]

    def running(self, path: str) -> int:
        """Applications of a queue and those below it that run, counted by their ApplicationMasters: also those that run
        elsewhere."""
        return self._managed(path) + self._unmanaged.get(path, 0)

    def _managed(self, path: str) -> int:
        now = self._masters_now.get(path)
        if now is not None:
            return now
        use = self._by_queue.get(path)
        return use.masters if use is not None else 0

    def used_by(self, path: str, user: str) -> Resource:
        return self._of_user(path, user)[0]

    def serving_rank(self, path: str) -> ServingRank:
        """Least first is served first: queues without a guarantee after all others; where priorities count those that
        have less than their guarantee first, and of them or of the others those of the highest priority; then by the
        used part of the guarantee; among equals the greater guarantee (PriorityUtilizationQueueOrderingPolicy,
        CSQueueUtils.updateUsedCapacity)."""
        share = self.share(path)
        part = dominant(self.used(path), self.measure(share))
        has_none = share.capacity <= 0
        guarantee = 0.0 if has_none else -share.capacity
        if len(share.path) > 1 and self.share(share.path[1]).queue.is_by_priority:
            return ServingRank(has_none, part >= 1.0, -share.queue.priority, part, guarantee)
        return ServingRank(has_none, False, 0, part, guarantee)

    def measure(self, share: Share) -> Resource:
        """Return the base for a queue's relative usage: its guarantee, or the smallest container if that is more."""
        return share.whole if share.capacity <= 0 else larger(share.guaranteed, self._minimum)

    def take(self, path: str, user: str, amount: Resource, *, is_am: bool = False) -> None:
        self._forget()
        for above in self.share(path).path:
            held, masters = self._of_queue(above)
            self._queue_now[above] = held + amount, masters + amount if is_am else masters
        if is_am:
            for above in self._to_root(path):
                self._masters_now[above] = self._managed(above) + 1
        held, masters = self._of_user(path, user)
        self._user_now[path, user] = held + amount, masters + amount if is_am else masters
        of_active = self._held_by_active.get(path)
        if of_active is not None and user in self._active.get(path, ()):
            self._held_by_active[path] = of_active[0] + amount, of_active[1]

    def _forget(self) -> None:
        self._left.clear()
        self._am_limits.clear()

    def count(self, path: str, user: str, capability: Resource, wanted: int) -> int:
        """Return the number of these containers that the limits allow now, 0 to ``wanted``."""
        if self.tree.near_over(path) is not None:
            return 0
        count = min(wanted, _times(capability, self._own_room(self.share(path))))
        return min(count, self.count_of_user(path, user, capability)) if count > 0 else count

    def count_of_user(self, path: str, user: str, capability: Resource, beside: Resource = NONE) -> int:
        """Return the number of these containers that the user's limit allows; ``beside`` is counted as used."""
        share = self.share(path)
        if share.queue.user_limit_factor < 0:
            return UNLIMITED
        used = self.used_by(path, user) + beside
        count = _times(capability, self._limit_of(share, user, capability)[1] - used)
        return max(1, count) if _is_nothing(used) else count

    def why_not(self, path: str, user: str, capability: Resource) -> Hindrance | None:
        """The nearest limit that keeps one more such container from starting; None: none does."""
        return next(self.hindrances(path, user, capability), None)

    def hindrances(self, path: str, user: str, capability: Resource) -> Iterator[Hindrance]:
        """All such limits: of the leaf, of the queues above, of the user."""
        share, near = self.share(path), self.tree.near_over(path)
        if near is not None:
            yield _begins_soon(*near, capability)
        for above in share.path[:-1]:  # whether the cluster has room is seen elsewhere
            if not capability.fits_in(self._left_of(above)):
                maximum, used = self.share(above).maximum, self.used(above)
                over = self.tree.open_over(above)
                if over is None:
                    yield Hindrance(Hurdle.QUEUE_LIMIT, capability, maximum, used, above)
                else:
                    text = _until(*over)
                    yield Hindrance(Hurdle.WINDOW, capability, maximum, used, above, said=text)
        if share.queue.user_limit_factor < 0:
            return
        used = self.used_by(path, user)
        limit, wide = self._limit_of(share, user, capability)
        if not _is_nothing(used) and not capability.fits_in(wide - used):
            yield Hindrance(Hurdle.USER_LIMIT, capability, limit, used, path, user)

    def why_no_am(self, path: str, user: str, capability: Resource) -> Hindrance | None:
        """Return the hindrance of an ApplicationMaster, as ``why_not`` does for other containers."""
        return next(self.hindrances_of_am(path, user, capability), None)

    def hindrances_of_am(self, path: str, user: str, capability: Resource) -> Iterator[Hindrance]:
        """Yield the hindrances of an ApplicationMaster.

        Before those of ``hindrances`` come the number of running applications (CSMaxRunningAppsEnforcer) and the shares
        of ApplicationMasters; of these the first of a queue may always start, or nothing ever would
        (AbstractLeafQueue.activateApplications).
        """
        yield from self.too_many(path, capability)
        masters = self._of_queue(path)[1]
        if not _is_nothing(masters):
            share, size = self.share(path), _memory_and_cores(capability)
            held, own = _memory_and_cores(masters), _memory_and_cores(self._of_user(path, user)[1])
            limit = self.am_limit(share)
            by_user = self.user_am_limit(share, user, limit)
            figures = MasterShare(limit, by_user, held)
            if not (held + size).fits_in(limit):
                yield Hindrance(Hurdle.AM_SHARE, capability, limit, held, path, masters=figures)
            if by_user != limit and not (own + size).fits_in(by_user):
                yield Hindrance(Hurdle.AM_SHARE, capability, by_user, own, path, user, masters=figures)
        yield from self.hindrances(path, user, capability)

    def lets(self, path: str, user: str, capability: Resource, *, is_am: bool) -> bool:
        """Return True if one more such container may start as soon as there is free capacity."""
        of = self.hindrances_of_am if is_am else self.hindrances
        return all(self.is_all(one) for one in of(path, user, capability))

    def is_all(self, limit: Hindrance) -> bool:
        """Return True for the limit of a queue or user that may use the whole pool: the pool's own message covers
        it."""
        is_of_amount = limit.hurdle in (Hurdle.QUEUE_LIMIT, Hurdle.USER_LIMIT)
        return is_of_amount and self.share(limit.path).whole.fits_in(limit.limit)

    def _to_root(self, path: str) -> tuple[str, ...]:
        """The leaf, and all above it to the root of all pools."""
        return (*self.share(path).path[:-1], ROOT)

    def too_many(self, path: str, capability: Resource) -> Iterator[Hindrance]:
        """Queues in which as many applications run as may at once (CSMaxRunningAppsEnforcer)."""
        for above in self._to_root(path):
            found = self.tree.shares.get(above)
            most = found.queue.maximum_parallel_applications if found is not None else None
            if most is not None and (running := self.running(above)) >= most:
                yield Hindrance(Hurdle.PARALLEL, capability, path=above, said=too_many(above, running, most))

    def _own_room(self, share: Share) -> Resource | None:
        """Return ``queue_room`` without the root; None: there is no queue below it."""
        room: Resource | None = None
        for above in share.path[:-1]:
            left = self._left_of(above)
            room = left if room is None else smaller(room, left)
        return room

    def _left_of(self, path: str) -> Resource:
        """Return the amount left under the maximum of one queue; negative if it is exceeded."""
        left = self._left.get(path)
        if left is None:
            left = self._left[path] = self.share(path).maximum - self.used(path)
        return left

    def queue_room(self, share: Share) -> Resource:
        """Return the amount left under the maxima of the leaf and all queues above it; negative if one is exceeded."""
        room = self._left_of(share.queue.path)
        for above in share.path[1:]:
            room = smaller(room, self._left_of(above))
        return room

    def headroom(self, path: str, user: str) -> Resource:
        """Return the amount that a user may still get, regardless of free capacity (CapacityHeadroomProvider)."""
        if self.tree.near_over(path) is not None:
            return NONE
        share = self.share(path)
        room = self.queue_room(share)
        if share.queue.user_limit_factor >= 0:
            room = smaller(room, self.user_limit(share, user) - self.used_by(path, user))
        return room.at_least_zero()

    def user_limit(self, share: Share, user: str, step: Resource = NONE) -> Resource:
        """UsersManager.computeUserLimit, for the default partition, with room for one container of size ``step``
        where he may have one more than his share."""
        return self._limit_of(share, user, step)[0]

    def _limit_of(self, share: Share, user: str, step: Resource) -> tuple[Resource, Resource]:
        """The limit, and all that is no greater part of the cluster."""
        weight = share.weights.get(user, 1.0) if share.weights else 1.0
        found = self._common_limit(share, user, step)
        if weight == 1.0:
            return found.whole, found.wide
        base = rounded_down(part_of(found.base, weight), self._minimum)
        top = rounded_down(part_of(found.top, weight), self._minimum)
        limit = smaller(self._up(base + found.more), top)
        return limit, _widened(limit, share.whole)

    def am_limit(self, share: Share) -> Resource:
        """Return the limit of all ApplicationMasters of the leaf
        (AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition)."""
        kept = self._am_limits.get(share.queue.path)
        if kept is not None:
            return kept
        current = self.used(share.queue.path) + self.queue_room(share).at_least_zero()
        base = current if share.guaranteed.fits_in(current) else share.guaranteed
        limit = self._am_limits[share.queue.path] = self._up(part_up_of(_memory_and_cores(base), self.am_part(share)))
        return limit

    def user_am_limit(self, share: Share, user: str, am_limit: Resource) -> Resource:
        """AbstractLeafQueue.getUserAMResourceLimitPerPartition; where users have no limit, the queue's."""
        queue = share.queue
        if queue.user_limit_factor < 0:
            return am_limit
        users = max(1, len(self._active.get(queue.path, ())))
        part = min(1.0, max(queue.minimum_user_limit_percent / 100.0, 1.0 / users) * share.weights.get(user, 1.0))
        own = _memory_and_cores(share.guaranteed)
        own = part_up_of(own, self.am_part(share) * part * queue.user_limit_factor)
        return smaller(am_limit, self._up(own))

    def am_part(self, share: Share) -> float:
        """The part of a leaf that ApplicationMasters may hold, 0 to 1 (maximum-am-resource-percent)."""
        return self.am_share if share.queue.am_share is None else share.queue.am_share

    def _common_limit(self, share: Share, user: str, step: Resource) -> _Limit:
        """Return the limits of a user with weight 1; the same for all active users."""
        queue, path = share.queue, share.queue.path
        used = self.used(path)
        is_active = user in self._active.get(path, ())
        kept = self._limits.get((path, step)) if is_active else None
        if kept is not None and kept[0] is used:
            return kept[1]
        asked, whole, least = step, share.whole, self._minimum
        step = larger(step, least)
        guaranteed = larger(share.guaranteed, least)
        consumed = rounded_up(used, least) if used != NONE else NONE
        is_within = dominant(consumed + step, whole) <= dominant(guaranteed, whole)
        held, weights = self._of_active(share)
        if not is_active:
            held, weights = held + self.used_by(path, user), weights + share.weights.get(user, 1.0)
        average = part_up_of(held, 1.0 / (weights or 1.0))
        floor = guaranteed if is_within else consumed
        floor = part_up_of(floor, queue.minimum_user_limit_percent / 100.0)
        more = NONE if is_within else step
        if dominant(average + step, whole) > dominant(floor + more, whole):
            floor, more = average, step
        top = share.maximum if share.capacity <= 0 else part_of(guaranteed, queue.user_limit_factor)
        base, top = self._up(floor) if floor != NONE else NONE, self._up(top)
        made = smaller(self._up(base + more), top)
        limit = _Limit(base, more, top, made, _widened(made, whole))
        if is_active:
            self._limits[path, asked] = used, limit
        return limit

    def _of_active(self, share: Share) -> tuple[Resource, float]:
        """Return the usage of the active users, and the sum of their weights."""
        path = share.queue.path
        found = self._held_by_active.get(path)
        if found is None:
            users = self._active.get(path, ())
            weights = sum(share.weights.get(user, 1.0) for user in users) if share.weights else float(len(users))
            found = self._held_by_active[path] = total_of(self.used_by(path, user) for user in users), weights
        return found

    def _up(self, amount: Resource) -> Resource:
        return rounded_up(amount, self._minimum)

    def _of_queue(self, path: str) -> tuple[Resource, Resource]:
        now = self._queue_now.get(path)
        if now is not None:
            return now
        use = self._by_queue.get(path)
        return (use.resource, use.am_resource) if use is not None else NO_USE

    def _of_user(self, path: str, user: str) -> tuple[Resource, Resource]:
        now = self._user_now.get((path, user))
        if now is not None:
            return now
        use = self._by_user.get((path, user))
        return (use.resource, use.am_resource) if use is not None else NO_USE


def _begins_soon(path: str, hold: WindowEffect, capability: Resource) -> Hindrance:
    assert hold.near is not None
    text = (
        f"Window {hold.near.name} of queue {path} begins at {hold.begins}: no new containers start in {path} before "
        "that."
    )
    return Hindrance(Hurdle.WINDOW, capability, path=path, said=text)


def _until(path: str, hold: WindowEffect) -> str:
    assert hold.open is not None
    return f"window {hold.open.name} of {path} until {hold.ends}"


def _widened(limit: Resource, whole: Resource) -> Resource:
    """All that is no greater part of the whole than the limit is: users are compared by what they hold most of
    (AbstractLeafQueue.canAssignToUser)."""
    part = dominant(limit, whole)
    return limit if math.isinf(part) else larger(limit, part_of(whole, part))


def _times(capability: Resource, room: Resource | None) -> int:
    """Return the number of containers that fit into a room; None is no limit."""
    most = UNLIMITED
    if room is None:
        return most
    have = dict(room.extras)
    pairs = [(capability.memory_mib, room.memory_mib), (capability.vcores, room.vcores)]
    pairs += [(value, have.get(name, 0)) for name, value in capability.extras]
    for size, left in pairs:
        if size > 0:
            most = min(most, max(0, left) // size)
        elif left < 0:
            return 0
    return most


def _is_nothing(resource: Resource) -> bool:
    """Return True if there is no memory and no core; further types may be named without an amount."""
    return resource.memory_mib <= 0 and resource.vcores <= 0


def _memory_and_cores(resource: Resource) -> Resource:
    """The share of ApplicationMasters is of these two only."""
    return Resource(resource.memory_mib, resource.vcores)
