"""This says why something that is wanted has not been planned: one value of a decision, which every view reads.  Pure.

A decision keeps which wishes were not planned whole, and the figures it decided by (``allocation.figures``); the chain
of what is in their way, and its words, are made of that when somebody reads.  What is kept are tuples, not dataclasses:
thousands are made and compared at every look, and most are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.ask_book import AskKey
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.resource import NONE, Resource

UNSERVED_MAX = 20
"""Wishes of one attempt that are kept with what is in their way; of more it is said how many."""


class MasterShare(NamedTuple):
    """The figures of a share of ApplicationMasters: what all of a queue and those of one user may hold there, and what
    all of the queue do."""

    limit: Resource
    of_user: Resource
    used: Resource


class Hindrance(NamedTuple):
    """One thing in the way of one more container of the size ``asked``, rounded as it would be taken.

    ``limit`` and ``used`` are of the queue ``path``, of its ``user`` where one is named, or of the pool.  ``said`` are
    the words of whoever found it, and for a pool its name.
    """

    hurdle: Hurdle
    asked: Resource
    limit: Resource = NONE
    used: Resource = NONE
    path: str = ""
    user: str = ""
    masters: MasterShare | None = None
    said: str = ""

    @property
    def text(self) -> str:
        """Return the obstacle with its figures, for our own pages and commands."""
        match self.hurdle:
            case Hurdle.USER_LIMIT:
                return f"User {self.user} is at the user limit of queue {self.path}: {self._used_and_requested}"
            case Hurdle.AM_SHARE:
                whose = f" of user {self.user}" if self.user else ""
                return f"ApplicationMasters{whose} in queue {self.path} are at their limit: {self._used_and_requested}"
            case _:
                return self.reason

    @property
    def reason(self) -> str:
        """Return the obstacle for Hadoop's clients, in the CapacityScheduler's words if it has some."""
        match self.hurdle:
            case Hurdle.QUEUE_LIMIT:
                return f"Queue {self.path} is at its maximum capacity: {self._used_and_requested}"
            case Hurdle.WINDOW if self.limit != NONE or self.used != NONE:
                return f"Queue {self.path} is at its maximum capacity in {self.said}: {self._used_and_requested}"
            case Hurdle.USER_LIMIT:
                return (
                    f"User capacity has reached its maximum limit, user limit is {self.limit}, resource used by "
                    f"{self.user} is {self.used}. Queue {self.path}, requested {self.asked}."
                )
            case Hurdle.AM_SHARE:
                return self._am_share()
            case Hurdle.ROOM:
                whose = f"Pool {self.said}" if self.said else "The cluster"
                free, total, asked = (one.with_units for one in (self.limit - self.used, self.limit, self.asked))
                return f"{whose} has too little free capacity: free {free} of {total}; requested {asked}."
            case _:
                return self.said

    @property
    def figures(self) -> str:
        """Return the figures of the ApplicationMasters' limit, as scheduler activities show them."""
        if self.masters is None:
            return ""
        return f"Queue Resource Limit for AM = {self.masters.limit}; Queue AM Resource Usage = {self.masters.used}"

    @property
    def _used_and_requested(self) -> str:
        used, limit, asked = (one.with_units for one in (self.used, self.limit, self.asked))
        return f"used {used} of {limit}; requested {asked}."

    def _am_share(self) -> str:
        """Return the text of CSAMContainerLaunchDiagnosticsConstants."""
        assert self.masters is not None
        whose = "User's AM resource limit exceeded. " if self.user else "Queue's AM resource limit exceeded. "
        return (
            f"Application is added to the scheduler and is not yet activated. {whose} Details : AM Partition = "
            f"<DEFAULT_PARTITION>; AM Resource Request = {self.asked}; Queue Resource Limit for AM = "
            f"{self.masters.limit}; User AM Resource Limit of the queue = {self.masters.of_user}; Queue AM Resource "
            f"Usage = {self.masters.used}; "
        )


def backing_off(said: str, size: Resource) -> Hindrance:
    """``said`` are Kubernetes' words, if it had some."""
    why = f": {said}" if said else ""
    text = (
        f"Kubernetes found no node for its pods{why}. Its share went to other applications; it will be retried later."
    )
    return Hindrance(Hurdle.BACKOFF, size, said=text)


def in_pieces(size: Resource) -> Hindrance:
    return Hindrance(Hurdle.PIECES, size, said=f"No single node has {size.with_units} free.")


def too_many(path: str, running: int, most: int) -> str:
    """CSMaxRunningAppsEnforcer keeps it silent; begun as the CapacityScheduler begins what it says of shares."""
    return (
        f"Application is added to the scheduler and is not yet activated. Queue {path} runs {running} applications; "
        f"the maximum is {most} (max-parallel-apps)."
    )


class Unserved(NamedTuple):
    """A wish of which ``number`` containers were not planned.

    ``what`` is its key, None for the attempt's ApplicationMaster, or the container that is to become larger.  ``size``
    is rounded as it will be taken.  ``own`` is what was in its way, None where that were limits or room.
    """

    what: AskKey | ContainerId | None
    number: int
    size: Resource
    own: Hindrance | None = None

    @property
    def name(self) -> str:
        if self.what is None:
            return "the ApplicationMaster"
        if isinstance(self.what, ContainerId):
            return f"to enlarge {self.what}"
        return f"priority {self.what.priority}"


class Waiting(NamedTuple):
    """Holds an attempt's first pending requests, and the number of further ones.

    ``pool`` is the one it uses, as ``Capacity`` names it; ``queue`` and ``user`` are as the decision counted them.
    """

    queue: str
    user: str
    pool: str
    unserved: tuple[Unserved, ...]
    more: int = 0


AllWaiting: TypeAlias = Mapping[ApplicationAttemptId, Waiting]


class Obstacles(NamedTuple):
    """A wish with all that is in its way, nearest first; never nothing."""

    unserved: Unserved
    chain: tuple[Hindrance, ...]

    @property
    def is_placeless(self) -> bool:
        return self.chain[0].hurdle in PLACELESS

    @property
    def reason(self) -> str:
        """The nearest hindrance; where no node would do, with what is wanted."""
        nearest, unserved = self.chain[0], self.unserved
        if not self.is_placeless:
            return nearest.reason
        return f"Cannot be placed: {unserved.number} of {unserved.size.with_units} ({unserved.name}): {nearest.reason}"


PLACELESS = frozenset(
    {Hurdle.NODES, Hurdle.SIZE, Hurdle.LABEL, Hurdle.PLACES, Hurdle.BLACKLIST, Hurdle.CONSTRAINT},
)
"""No node can take it as things are."""
WAITS_FOR_PLACES = "Locality delay: the requested hosts and racks have no free capacity yet."
WAITS_FOR_NEIGHBOURS = (
    "The nodes that satisfy its placement constraint are full, or containers that the constraint counts are not "
    "scheduled yet."
)
SERVED_NEXT = "Nothing blocks it any more: it will be served in the next scheduling cycle."


@dataclass(slots=True)
class _Left:
    """A ``Waiting`` to be: an attempt may have a hundred wishes, which come one by one."""

    queue: str
    user: str
    unserved: list[Unserved]
    more: int = 0


class Unserveds:
    """Collects what a decision leaves."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._found: dict[ApplicationAttemptId, _Left] = {}

    def add(self, attempt_id: ApplicationAttemptId, queue: str, user: str, unserved: Sequence[Unserved]) -> None:
        before = self._found.get(attempt_id)
        if before is None:
            before = self._found[attempt_id] = _Left(queue, user, [])
        kept = unserved[: UNSERVED_MAX - len(before.unserved)]
        before.unserved += kept
        before.more += len(unserved) - len(kept)

    @property
    def waiting(self) -> AllWaiting:
        pool = self._pool
        return {
            attempt_id: Waiting(left.queue, left.user, pool, tuple(left.unserved), left.more)
            for attempt_id, left in self._found.items()
        }
