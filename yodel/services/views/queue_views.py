"""Sums the usage of queues and of the cluster from live applications, piece by piece: other callers are answered
between.

A figure is as of the reading of its piece; what has ended meanwhile is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from operator import attrgetter
from typing import Any

from yodel.domain.application import Application
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.queues.shares import QueueShares, Share, dominant
from yodel.domain.resource import NONE, Resource, total_of
from yodel.domain.shuffle.words import endpoints_of
from yodel.domain.states import ApplicationState, NodeState
from yodel.services.writer.endpoint_book import Presence
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.services.writer.totals import Totals
from yodel.services.writer.usage import Usage
from yodel.serving.pieces import taking_turns

APPLICATIONS_PIECE = 250
"""Live applications that are summed up in one go: three milliseconds, with 20 requests each."""
QUEUES_PIECE = 100
"""Queues of which views are made in one go: two milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMetrics:
    """Counts of applications by what became of them, of containers and nodes, and the cluster's amounts.

    How many were submitted, and ended in which way, is of all since the RM took up what is stored; the rest is of now.
    ``used`` has a node, what is ``starting`` has none yet, and what is pending is not planned; ``reserved`` is free on
    nodes that are held.
    """

    submitted: int
    pending: int
    running: int
    completed: int
    failed: int
    killed: int
    containers_allocated: int
    containers_starting: int
    containers_pending: int
    containers_reserved: int
    total: Resource
    used: Resource
    starting: Resource
    pending_resource: Resource
    reserved: Resource
    nodes_by_state: Mapping[NodeState, int]

    @property
    def waited_for(self) -> tuple[int, Resource]:
        """Return number and size of what Hadoop calls pending: containers without a node."""
        return self.containers_pending + self.containers_starting, self.pending_resource + self.starting


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    queue: Queue
    children: Sequence[QueueView]
    metrics: ClusterMetrics
    users: Sequence[str]
    used_share: float
    """The largest part of the queue's own guarantee in use, over all types; more than 1 where it borrows."""
    share: Share
    """The share that it is guaranteed and may hold."""
    is_enforced: bool
    """Whether limits count."""
    gives_back: bool
    """True if the part that it holds above its guarantee may be asked back."""
    gives_back_within: bool
    """Its applications of a lower priority give to others."""
    endpoints: Sequence[tuple[str, Presence]]
    """The endpoints of its shuffle service, as host:port, and whether they are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUserView:
    """Shows what one user holds and waits for in a queue and those below it.

    ``limit`` and ``am_limit`` are what the user may hold there; None for a parent, whose leaves have the limits."""

    user: str
    load: Load
    limit: Resource | None
    am_limit: Resource | None


@dataclass(slots=True)
class Load:
    """Sums live applications with their usage and requests; ``am_used`` is of their ApplicationMasters.

    An application counts as running or pending from the first container with a node, and as ``active`` from the first
    that is planned."""

    applications: int = 0
    active: int = 0
    pending: int = 0
    running: int = 0
    containers: int = 0
    used: Resource = NONE
    am_used: Resource = NONE
    starting_containers: int = 0
    starting: Resource = NONE
    waiting: int = 0
    wanted: Resource = NONE
    holds: int = 0
    reserved: Resource = NONE

    @property
    def waited_for(self) -> tuple[int, Resource]:
        """Return number and size of what Hadoop calls pending: containers without a node."""
        return self.waiting + self.starting_containers, self.wanted + self.starting

    @property
    def is_waiting(self) -> bool:
        """Return True if a container has no node."""
        return self.waiting + self.starting_containers > 0

    @classmethod
    def of(cls, state: ClusterState, row: Application) -> Load:
        """Return the load of one live application."""
        usage = state.usage.by_application.get(row.id, _NO_USAGE)
        is_running = state.is_running(row)
        waiting, wanted = state.pending_of(row.current_attempt_id)
        holds, reserved = state.holds.of_application(row.id)
        return cls(
            applications=1,
            active=int(usage.containers > 0 or row.state is not ApplicationState.ACCEPTED),
            pending=int(not is_running and state.is_pending(row)),
            running=int(is_running),
            containers=usage.allocated_containers,
            used=usage.allocated,
            am_used=usage.am_resource,
            starting_containers=usage.starting_containers,
            starting=usage.starting,
            waiting=waiting,
            wanted=wanted,
            holds=holds,
            reserved=reserved,
        )

    @classmethod
    def total(cls, loads: Sequence[Load]) -> Load:
        """Return the sum of all of them."""
        if len(loads) == 1:
            return loads[0]
        columns = zip(*map(_FIELDS, loads), strict=True)
        sums: list[Any] = [total_of(one) if isinstance(one[0], Resource) else sum(one) for one in columns]
        return cls(*sums)


_FIELDS = attrgetter(*Load.__slots__)
_NO_USAGE = Usage()


@dataclass(slots=True)
class QueueLoad:
    """Holds what a queue and those below it use and request.  ``users`` are those of a leaf; ``names`` and ``waiting``
    are all users, and those with pending containers, of those below too."""

    total: Load = field(default_factory=Load)
    users: Mapping[str, Load] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)


async def cluster_metrics(state: ClusterState) -> ClusterMetrics:
    total = Load.total([Load.of(state, row) async for row in live_below(state, ROOT)])
    return _metrics(state, total, state.totals.cluster, nodes_by_state(state))


async def queue_loads(state: ClusterState, tree: QueueShares, above: str) -> dict[str, QueueLoad]:
    """Return what this queue and each below it use and request, by path.  Others have a turn between."""
    by_user, found = await _by_user(state, above), dict[str, QueueLoad]()
    async for path in taking_turns(_children_first(tree, above), QUEUES_PIECE):
        users = {user: Load.total(loads) for user, loads in by_user.get(path, {}).items()}
        below = [found[child] for child in tree.below.get(path, ())]
        found[path] = QueueLoad(
            total=Load.total((*users.values(), *(child.total for child in below))),
            users=users,
            names=set(users).union(*(child.names for child in below)),
            waiting={user for user, load in users.items() if load.is_waiting}.union(
                *(child.waiting for child in below)
            ),
        )
    return found


async def queue_view(state: ClusterState, quotas: Quotas, queue: Queue) -> QueueView:
    """Return a queue with its children, as the tree was when it was asked for."""
    tree = quotas.tree
    loads = await queue_loads(state, tree, queue.path)
    nodes, views = nodes_by_state(state), dict[str, QueueView]()
    async for path in taking_turns(_children_first(tree, queue.path), QUEUES_PIECE):
        load, share = loads[path], tree.shares[path]
        part = dominant(load.total.used, share.guaranteed)
        views[path] = QueueView(
            queue=queue if path == queue.path else share.queue,
            children=[views[child] for child in tree.below.get(path, ())],
            metrics=_metrics(state, load.total, state.totals.of(path), nodes),
            users=sorted(load.names),
            used_share=part if isfinite(part) else 0.0,
            share=share,
            is_enforced=quotas.is_enforced,
            gives_back=quotas.gives_back(share.queue),
            gives_back_within=quotas.gives_back_within(share.queue),
            endpoints=[
                (f"{host}:{port}", state.endpoints.presence((host, port)))
                for host, port in endpoints_of((queue if path == queue.path else share.queue).shuffle)
            ],
        )
    return views[queue.path]


async def queue_users(
    state: ClusterState, quotas: Quotas, queue: Queue, may_view: Callable[[Application], bool]
) -> tuple[list[QueueUserView], int]:
    """Return the users with unfinished applications there, by name, and how many others there are: a user is shown to
    who may view one of these applications."""
    loads, seen = defaultdict[str, list[Load]](list), set[str]()
    async for row in live_below(state, queue.path):
        user = row.submission.user
        loads[user].append(Load.of(state, row))
        if user not in seen and may_view(row):
            seen.add(user)
    ledger = quotas.ledger()
    share, has_limits = ledger.share(queue.path), queue.is_leaf
    # As the scheduler has it: where users have no limit of their own, they have the queue's.
    is_own = queue.user_limit_factor >= 0
    am_limit = ledger.am_limit(share)
    views = [
        QueueUserView(
            user=user,
            load=Load.total(loads[user]),
            limit=(ledger.user_limit(share, user) if is_own else share.maximum) if has_limits else None,
            am_limit=ledger.user_am_limit(share, user, am_limit) if has_limits else None,
        )
        for user in sorted(seen)
    ]
    return views, len(loads) - len(seen)


def nodes_by_state(state: ClusterState) -> Mapping[NodeState, int]:
    return Counter(node.state for node in state.nodes.values())


async def _by_user(state: ClusterState, above: str) -> dict[str, dict[str, list[Load]]]:
    """Return the loads of applications by user, of each leaf that is this queue or below it."""
    found: dict[str, dict[str, list[Load]]] = {}
    async for row in live_below(state, above):
        users = found.setdefault(row.submission.queue, {})
        users.setdefault(row.submission.user, []).append(Load.of(state, row))
    return found


async def live_below(state: ClusterState, above: str) -> AsyncIterator[Application]:
    """Yield live applications of this queue and those below it; others have a turn between."""
    prefix = f"{above}."
    async for application_id in taking_turns(list(state.index.live), APPLICATIONS_PIECE):
        row = state.applications.get(application_id)
        if row is not None and not row.state.is_final and f"{row.submission.queue}.".startswith(prefix):
            yield row


def _children_first(tree: QueueShares, path: str) -> Sequence[str]:
    found = [path]
    for known in found:  # grows meanwhile
        found += tree.below.get(known, ())
    return found[::-1]


def _metrics(state: ClusterState, load: Load, totals: Totals, nodes: Mapping[NodeState, int]) -> ClusterMetrics:
    """Return the metrics of these live applications, with the totals of all that ever were."""
    return ClusterMetrics(
        submitted=totals.applications.submitted,
        pending=load.pending,
        running=load.running,
        completed=totals.applications.completed,
        failed=totals.applications.failed,
        killed=totals.applications.killed,
        containers_allocated=load.containers,
        containers_starting=load.starting_containers,
        containers_pending=load.waiting,
        containers_reserved=load.holds,
        total=state.usable_resource,
        used=load.used,
        starting=load.starting,
        pending_resource=load.wanted,
        reserved=load.reserved,
        nodes_by_state=nodes,
    )
