"""Keeps the figures of one pool's decision, to explain why requests are pending.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from yodel.domain.allocation.holds import NodeReservation
from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.resource import Resource, total_of
from yodel.domain.waiting import SERVED_NEXT, Hindrance, Obstacles, Unserved, Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """``pool`` is as ``Capacity`` names it; ``pods`` are under way, of ``pods_max``, and ``are_pods_left`` says whether
    one more could be planned in that round.  What counts as held by ``held`` is not free."""

    ledger: UsageLedger
    total: Resource
    free: Resource
    pool: str
    pods: int
    pods_max: int
    are_pods_left: bool
    held: tuple[NodeReservation, ...] = ()

    def told(self, waiting: Waiting) -> Iterator[Obstacles]:
        """Yield the attempt's pending requests, each with the obstacles."""
        for unserved in waiting.unserved:
            yield Obstacles(unserved, self.chain(waiting.queue, waiting.user, unserved))

    def chain(self, queue: str, user: str, unserved: Unserved) -> tuple[Hindrance, ...]:
        """Nearest first; a pool that others decide on comes before limits: when it dips, they dip with it."""
        if unserved.own is not None:
            own = self._own(queue, user, unserved) if unserved.own.hurdle is Hurdle.PIECES else ()
            return (unserved.own, *own)
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
        if size.fits_in(self.free):
            return ()
        own = self._own(queue, user, unserved)
        if not own and size.fits_in(self.free + total_of(hold.counted for hold in self.held)):
            return tuple(Hindrance(Hurdle.HELD, size, said=_held_for(hold)) for hold in islice(self.held, 1))
        return Hindrance(Hurdle.ROOM, size, self.total, self.total - self.free, said=self.pool), *own

    def _own(self, queue: str, user: str, unserved: Unserved) -> tuple[Hindrance, ...]:
        """The node that is held for it, where one is."""
        of, size = (queue, user, unserved.what, unserved.size), unserved.size
        for hold in self.held:
            if (hold.queue, hold.short.user, hold.short.key, hold.short.size) == of:
                figures = f"free {hold.free.with_units}; requested {size.with_units}"
                text = f"Node {hold.node_id.host} is reserved for it: {figures}."
                if hold.container_id is not None:
                    text = f"Node {hold.node_id.host} is reserved for it; its pod is not scheduled there yet."
                return (Hindrance(Hurdle.HELD, size, said=text),)
        return ()

    def _pods(self, size: Resource) -> Hindrance:
        text = f"Limit of unscheduled pods reached: {self.pods} of {self.pods_max} (in_flight_max)."
        if self.pods < self.pods_max:
            text = f"Limit of pods per scheduling cycle reached; {self.pods} pods are unscheduled."
        return Hindrance(Hurdle.PODS, size, said=text)


def _held_for(hold: NodeReservation) -> str:
    short = hold.short
    what = "its ApplicationMaster" if short.key is None else f"priority {short.key.priority}"
    return (
        f"Node {hold.node_id.host} is reserved for {short.attempt_id.application_id} ({what}, "
        f"{short.size.with_units}) of queue {short.queue}, which is served first."
    )
