"""What one decision about a pool went by, as it left it: of this is told what is in a wish's way.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.ledger import Ledger
from yodel.domain.resource import Resource
from yodel.domain.waiting import SERVED_NEXT, Hindrance, Told, Unserved, Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """``pool`` is as ``Capacity`` names it; ``pods`` are under way, of ``pods_max``, and ``are_pods_left`` says whether
    one more could be planned in that round."""

    ledger: Ledger
    total: Resource
    free: Resource
    pool: str
    pods: int
    pods_max: int
    are_pods_left: bool

    def told(self, waiting: Waiting) -> Iterator[Told]:
        """What an attempt waits for, each with what is in its way."""
        for unserved in waiting.unserved:
            yield Told(unserved, self.chain(waiting.queue, waiting.user, unserved))

    def chain(self, queue: str, user: str, unserved: Unserved) -> tuple[Hindrance, ...]:
        """Nearest first; a pool that others decide on comes before limits: when it dips, they dip with it."""
        if unserved.own is not None:
            return (unserved.own,)
        size, ledger = unserved.size, self.ledger
        of = ledger.hindrances_of_am if unserved.what is None else ledger.hindrances
        limits = tuple(of(queue, user, size))
        room = () if size.fits_in(self.free) else (self._room(size),)
        if room:
            limits = tuple(one for one in limits if not self._is_all(one))
        pods = () if self.are_pods_left else (self._pods(size),)
        found = (*room, *limits, *pods) if self.pool else (*limits, *room, *pods)
        return found or (Hindrance(Hurdle.TURN, size, said=SERVED_NEXT),)

    def _is_all(self, limit: Hindrance) -> bool:
        """Of a queue or a user who may hold all there is: that there is no more is said of the pool."""
        return limit.hurdle in (Hurdle.QUEUE_LIMIT, Hurdle.USER_LIMIT) and self.ledger.share(limit.path).whole.fits_in(
            limit.limit
        )

    def _room(self, size: Resource) -> Hindrance:
        return Hindrance(Hurdle.ROOM, size, self.total, self.total - self.free, said=self.pool)

    def _pods(self, size: Resource) -> Hindrance:
        text = f"As many pods are under way as may be at once: {self.pods} of {self.pods_max} have no node yet."
        if self.pods < self.pods_max:
            text = f"As many pods were planned as may be in one round; {self.pods} have no node yet."
        return Hindrance(Hurdle.PODS, size, said=text)
