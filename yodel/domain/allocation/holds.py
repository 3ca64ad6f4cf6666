"""Nodes that are held for who wants more than any node has free in one piece.  Pure.

A large container would wait for ever where small ones fill whatever becomes free.  So of each leaf the first wish that
waits for nothing but room may be given a node of its own: nobody else's container starts there until it fits.  What is
free on the node meanwhile counts as held by its queue and its user, so that order and limits are as if it ran.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from yodel.domain.ask_book import AskKey
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import NONE, Resource, smaller

Wait: TypeAlias = tuple[ApplicationAttemptId, AskKey | None]
"""A wish, or (None) the attempt's ApplicationMaster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """One container of a wish that there is no room for in one piece; ``size`` is rounded as it will be taken."""

    attempt_id: ApplicationAttemptId
    key: AskKey | None
    queue: str
    user: str
    size: Resource
    placement: Placement
    tags: tuple[str, ...] = ()

    @property
    def wait(self) -> Wait:
        return self.attempt_id, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReservation:
    """A node that is held for one container.  Seconds of the monotonic clock: ``since_s``, and when something was freed
    there last (``freed_s``).  ``free`` is what of the size was free there at the last look; ``container_id`` is the
    container once its pod is being made."""

    pool: PoolName
    node_id: NodeId
    short: Short
    since_s: float
    freed_s: float
    free: Resource = NONE
    container_id: ContainerId | None = None
    planned_s: float = 0.0

    @property
    def wait(self) -> Wait:
        return self.short.wait

    @property
    def queue(self) -> str:
        return self.short.queue

    @property
    def counted(self) -> Resource:
        """Return the amount counted for queue, user and pool; a created container counts by itself."""
        return self.free if self.container_id is None else NONE


def with_holds(ledger: UsageLedger, holds: Iterable[NodeReservation]) -> UsageLedger:
    """Return the ledger, with free capacity of reserved nodes counted as used by those the nodes are reserved for."""
    for hold in holds:
        ledger.take(hold.queue, hold.short.user, hold.counted)
    return ledger


def free_of(size: Resource, free: Resource) -> Resource:
    """Return the part of a size that is free."""
    return smaller(size, free).at_least_zero()


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRules:
    """Limits reservations of a pool's nodes: ``part`` of them, at least one; 0: none.

    A node stays reserved for ``longest_s`` seconds if none of its capacity becomes free; Kubernetes may take
    ``placed_s`` to schedule a container that then fits.
    """

    part: float = 0.1
    longest_s: float = 120.0
    placed_s: float = 30.0

    def most(self, nodes: int) -> int:
        return max(1, int(nodes * self.part)) if self.part > 0 and nodes else 0


@dataclass(slots=True)
class Avoided:
    """Nodes that were held for a wish in vain, each until some second."""

    until_s: dict[Wait, dict[NodeId, float]] = field(default_factory=dict)

    def add(self, wait: Wait, node_id: NodeId, until_s: float) -> None:
        self.until_s.setdefault(wait, {})[node_id] = until_s

    def of(self, wait: Wait) -> Collection[NodeId]:
        return self.until_s.get(wait, {}).keys()

    @property
    def all(self) -> dict[Wait, frozenset[NodeId]]:
        return {wait: frozenset(nodes) for wait, nodes in self.until_s.items()}

    @property
    def next_s(self) -> float:
        """Return when the first of them ends, in seconds of the monotonic clock."""
        return min((until_s for nodes in self.until_s.values() for until_s in nodes.values()), default=inf)

    def keep(self, now_s: float) -> None:
        """Forget those that are over."""
        for wait, nodes in list(self.until_s.items()):
            left = {node_id: until_s for node_id, until_s in nodes.items() if until_s > now_s}
            if left:
                self.until_s[wait] = left
            else:
                del self.until_s[wait]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """Describes the containers of a node: their number and the start of the oldest (epoch ms).

    ``own`` is used by containers of the requested size and the ApplicationMaster of the application for which a node is
    looked for, ``masters`` by ApplicationMasters of others.
    """

    node_id: NodeId
    count: int
    oldest_ms: int
    own: Resource = NONE
    masters: Resource = NONE


def best_node(nodes: Iterable[Tenancy]) -> NodeId | None:
    """The one that will be free first, as far as can be seen: with fewest containers, of these the oldest."""
    best = min(nodes, key=lambda one: (one.count, one.oldest_ms, one.node_id), default=None)
    return best.node_id if best is not None else None


def oldest_node(nodes: Iterable[Tenancy]) -> NodeId | None:
    """The one whose oldest container is oldest."""
    best = min(nodes, key=lambda one: (one.oldest_ms, one.node_id), default=None)
    return best.node_id if best is not None else None
