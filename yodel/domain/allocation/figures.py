"""What one decision about a pool went by, as it left it: of this is told what is in a wish's way.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from yodel.domain.allocation.holds import Hold
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.ledger import Ledger
from yodel.domain.resource import Resource, smaller
from yodel.domain.waiting import SERVED_NEXT, Hindrance, Told, Unserved, Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """``pool`` is as ``Capacity`` names it; ``pods`` are under way, of ``pods_max``, and ``are_pods_left`` says whether
    one more could be planned in that round.  ``left`` is what is free and not set aside for ``held``, who are served
    first."""

    ledger: Ledger
    total: Resource
    free: Resource
    left: Resource
    pool: str
    pods: int
    pods_max: int
    are_pods_left: bool
    held: tuple[Hold, ...] = ()

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
        room = self._room(queue, user, unserved)
        if room:
            limits = tuple(one for one in limits if not self.ledger.is_all(one))
        pods = () if self.are_pods_left else (self._pods(size),)
        found = (*room, *limits, *pods) if self.pool else (*limits, *room, *pods)
        return found or (Hindrance(Hurdle.TURN, size, said=SERVED_NEXT),)

    def _room(self, queue: str, user: str, unserved: Unserved) -> tuple[Hindrance, ...]:
        size = unserved.size

        def is_own(hold: Hold) -> bool:
            return (hold.queue, hold.user, hold.key, hold.size) == (queue, user, unserved.what, size)

        if size.fits_in(self.left):
            return ()
        if size.fits_in(self.free):
            others = (hold for hold in self.held if not is_own(hold))
            return tuple(Hindrance(Hurdle.HELD, size, said=_held_for(hold)) for hold in islice(others, 1))
        full = Hindrance(Hurdle.ROOM, size, self.total, self.total - self.free, said=self.pool)
        if not any(map(is_own, self.held)):
            return (full,)
        text = f"Room is held for it: {smaller(self.free.at_least_zero(), size)} of {size} is free."
        return full, Hindrance(Hurdle.HELD, size, said=text)

    def _pods(self, size: Resource) -> Hindrance:
        text = f"As many pods are under way as may be at once: {self.pods} of {self.pods_max} have no node yet."
        if self.pods < self.pods_max:
            text = f"As many pods were planned as may be in one round; {self.pods} have no node yet."
        return Hindrance(Hurdle.PODS, size, said=text)


def _held_for(hold: Hold) -> str:
    what = "its ApplicationMaster" if hold.key is None else f"priority {hold.key.priority}"
    application_id = hold.attempt_id.application_id
    return (
        f"Room is held for {application_id} ({what}, {hold.size}) of queue {hold.queue}, which has waited long and is "
        f"served before."
    )
