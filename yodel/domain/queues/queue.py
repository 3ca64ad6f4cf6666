"""Queues: rows of a tree: the root and the leaves that are configured, ``root.default`` alone unless told otherwise.
What a queue may hold comes from its shares (``shares``), and who is served next from what it holds (``ledger``).

Names follow the CapacityScheduler: a queue is named by its full path, and found by its leaf name while that is unique.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

from yodel.domain.queues.amounts import Amounts
from yodel.domain.queues.user_weights import Pairs, weights_of
from yodel.domain.queues.window import Window
from yodel.domain.resource import Resource
from yodel.domain.shuffle.word import ShuffleProperty

ROOT = "root"
DEFAULT_PATH = "root.default"
APPLICATIONS_MAX = 10_000
"""yarn.scheduler.capacity.maximum-applications, where it is not said: under way in the whole cluster."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class QueueState(IntEnum):
    """QueueStateProto without its ``Q_`` prefix."""

    STOPPED = 1
    RUNNING = 2
    DRAINING = 3


class Ordering(Enum):
    """Lists the orders in which a leaf serves applications (ordering-policy)."""

    FIFO = "fifo"
    """By priority, then by time of submission."""
    FAIR = "fair"
    """Who holds least memory, then by time of submission."""


BY_USE = "utilization"
BY_PRIORITY = "priority-utilization"
"""Who is served first among the queues below one (ordering-policy)."""


class LimitEnforcement(Enum):
    """Decides whether the tree's limits are enforced.  Kept with the root."""

    OBSERVE = "observe"
    """All applications stand in one line, and what limits would refuse is only shown."""
    LIMIT = "limit"


LIFETIME_S_MAX = 100 * 365 * 86_400
"""A hundred years: the end has to be a date, and a number of milliseconds that a database holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue.  Capacities are percents of the parent, as the CapacityScheduler writes them."""

    path: str
    state: QueueState = QueueState.RUNNING
    capacity_percent: float = 100.0
    maximum_capacity_percent: float = 100.0
    is_leaf: bool = True
    maximum_lifetime_s: int = -1
    """No application of the queue lives longer (maximum-application-lifetime); not positive means no limit.  As of the
    queue above unless it says otherwise."""
    default_lifetime_s: int = -1
    """The lifetime of an application that asks for none (default-application-lifetime), likewise; not positive: the
    longest."""
    submit_acl: str | None = None
    """acl_submit_applications; None: nothing is said (``yodel.domain.queues.access``)."""
    administer_acl: str | None = None
    """acl_administer_queue, likewise."""
    weight: float | None = None
    """The capacity was written as a weight (``3w``); ``capacity_percent`` is what that is among its siblings."""
    capacity_amounts: Amounts = ()
    """The capacity was said by resource (``[memory=10240,vcores=12]``), and neither percent nor weight count."""
    maximum_amounts: Amounts = ()
    """The maximum, likewise."""
    is_free_mix: bool = False
    """True, at the root, if shares of all kinds may be siblings (legacy-queue-mode.enabled is false)."""
    user_limit_factor: float = 1.0
    """A user holds at most this many times the queue's guarantee (user-limit-factor); -1: no limit of users."""
    minimum_user_limit_percent: float = 100.0
    """The percentage of the queue that each of its active users may have at least (minimum-user-limit-percent)."""
    user_weights: Pairs = ()
    """user-settings.NAME.weight by user, sorted; 1 where nothing is said.  Or what equals these pairs, the table that
    many queues have together (``yodel.domain.queues.user_weights``)."""
    am_share: float | None = None
    """maximum-am-resource-percent, a part of 0 to 1; None: the scheduler's."""
    maximum_applications: int = -1
    """Applications under way (maximum-applications); negative: from the queue's capacity.  Of a leaf."""
    applications_of_all: int = APPLICATIONS_MAX
    """The scheduler's maximum-applications, of which queues that say nothing get their part."""
    maximum_allocation_mib: int = 0
    """The largest container, within the cluster's (maximum-allocation-mb, maximum-allocation); 0: as the cluster's.  As
    of the queue above unless it says otherwise."""
    maximum_allocation_vcores: int = 0
    """Likewise."""
    maximum_parallel_applications: int | None = None
    """Applications that run at once in the queue and below it (max-parallel-apps); None: no limit."""
    ordering: Ordering = Ordering.FIFO
    priority: int = 0
    """The higher is served first, where the queue above serves by priority."""
    is_by_priority: bool = False
    """True, for a queue with others below it, if who is under his guarantee is served by priority (ordering-policy is
    priority-utilization); as for the queue above unless it says otherwise."""
    is_preemption_disabled: bool = False
    """True if the part that it holds above its guarantee is not asked back (disable_preemption); for a leaf, as for
    those above it unless it says otherwise."""
    is_intra_queue_preemption_disabled: bool = False
    """Nor within it (intra-queue-preemption.disable_preemption)."""
    enforcement: LimitEnforcement = LimitEnforcement.LIMIT
    """The enforcement that the root says for the whole tree."""
    windows: tuple[Window, ...] = ()
    """When it may hold less, by name."""
    shuffle: tuple[ShuffleProperty, ...] = ()
    """The words that it and those above it say of remote shuffle, by name (``yodel.domain.shuffle.words``)."""
    said: tuple[tuple[str, str], ...] = ()
    """Properties by their own names, as they were said (``yodel.domain.queues.words``); none: the settings speak."""

    @property
    def ordering_policy(self) -> str:
        """ordering-policy, which means one thing of a leaf and another of those above."""
        if self.is_leaf:
            return self.ordering.value
        return BY_PRIORITY if self.is_by_priority else BY_USE

    @property
    def usual_lifetime_s(self) -> int:
        """Return the lifetime in seconds of an application that requests none; not positive means no limit."""
        return self.default_lifetime_s if self.default_lifetime_s > 0 else self.maximum_lifetime_s

    def weight_of(self, user: str) -> float:
        return weights_of(self.user_weights).get(user)

    @property
    def name(self) -> str:
        return self.path.rsplit(".", 1)[-1]

    @property
    def parent_path(self) -> str | None:
        return self.path.rsplit(".", 1)[0] if "." in self.path else None


def is_name(text: str) -> bool:
    """Return True for a valid name of a queue; a path is names with dots between them."""
    return _NAME.fullmatch(text) is not None


def default_queues() -> tuple[Queue, ...]:
    """Return the queues of a new store."""
    return (Queue(path=ROOT, is_leaf=False), Queue(path=DEFAULT_PATH))


def find(queues: Iterable[Queue], name: str) -> Queue | None:
    """A queue by full path, or by leaf name when only one has it."""
    by_name = []
    for queue in queues:
        if queue.path == name:
            return queue
        if queue.name == name:
            by_name.append(queue)
    return by_name[0] if len(by_name) == 1 else None


def refusal(queues: Iterable[Queue], name: str, user: str, application_id: object) -> str | None:
    """Return why an application may not be submitted there, in the CapacityScheduler's words; None when it may.

    Hadoop 3.5 says who submitted to an unknown queue twice, without a space between.
    """
    known = list(queues)
    queue = find(known, name)
    whose = f"Application {application_id} submitted by user {user}"
    if queue is None:
        if any(other.name == name for other in known):
            return f"{whose} to ambiguous queue: {name} please use full queue path instead."
        return f"{whose}{whose} to unknown queue: {name}"
    if not queue.is_leaf:
        return f"Application {application_id} submitted by user : {user} to non-leaf queue : {name}"
    if queue.state is not QueueState.RUNNING:
        return stopped(queue, application_id)
    return None


def stopped(queue: Queue, application_id: object) -> str:
    """AbstractLeafQueue.validateSubmitApplication says so of a draining queue too."""
    return f"Queue {queue.path} is STOPPED. Cannot accept submission of application: {application_id}"


def applications_max(queue: Queue, capacity: float) -> int:
    """Applications that may be under way in a leaf with this part of the cluster, 0 to 1
    (AbstractLeafQueue.updateMaximumApplications)."""
    if queue.maximum_applications >= 0:
        return queue.maximum_applications
    return int(queue.applications_of_all * capacity + 1e-6)


def applications_max_of_user(queue: Queue, capacity: float) -> int:
    """The same of one user in it."""
    most = applications_max(queue, capacity)
    if queue.user_limit_factor < 0:
        return most
    return min(most, int(most * queue.minimum_user_limit_percent / 100.0 * queue.user_limit_factor + 1e-6))


def largest_container(queue: Queue | None, of_cluster: Resource) -> Resource:
    """Return the maximum size of a container in the queue."""
    if queue is None:
        return of_cluster
    return replace(
        of_cluster,
        memory_mib=min(of_cluster.memory_mib, queue.maximum_allocation_mib or of_cluster.memory_mib),
        vcores=min(of_cluster.vcores, queue.maximum_allocation_vcores or of_cluster.vcores),
    )


def shown_state(queue: Queue, *, is_used: bool) -> QueueState:
    """A stopped queue with an application under way drains (AbstractCSQueue.stopQueue)."""
    return QueueState.DRAINING if queue.state is QueueState.STOPPED and is_used else queue.state


def lifetime_s(queue: Queue, asked_s: int) -> int:
    """Return an application's lifetime in seconds (CapacityScheduler.checkAndGetApplicationLifetime); not positive
    means no limit."""
    if asked_s <= 0:
        return queue.usual_lifetime_s
    if queue.maximum_lifetime_s <= 0:
        return min(asked_s, LIFETIME_S_MAX)
    return min(asked_s, queue.maximum_lifetime_s)


def leaves_under_root(
    names: Iterable[str],
    *,
    maximum_lifetime_s: int,
    default_lifetime_s: int,
    pool_of: Callable[[str], str] = lambda path: "",
) -> tuple[Queue, ...]:
    """The root with these leaves, which share evenly what they draw on and may each use all of it.

    ``pool_of`` names the pool of a path: percents of root's children are of their own.
    """
    wanted = list(names)
    sharers = Counter(pool_of(f"{ROOT}.{name}") for name in wanted)
    leaves = (
        Queue(
            path=f"{ROOT}.{name}",
            capacity_percent=100.0 / sharers[pool_of(f"{ROOT}.{name}")],
            maximum_lifetime_s=maximum_lifetime_s,
            default_lifetime_s=default_lifetime_s,
            # Who names queues and nothing more has said nothing of users: each may use all that its queue may.
            user_limit_factor=1.0 if len(wanted) == 1 else -1.0,
        )
        for name in wanted
    )
    return (Queue(path=ROOT, is_leaf=False), *leaves)


def with_enforcement(
    wanted: Iterable[Queue], stored: Mapping[str, Queue], said: LimitEnforcement | None
) -> list[Queue]:
    """The queues, with the root's enforcement as it is said, or else as it is stored."""
    root = stored.get(ROOT)
    if said is None and root is not None:
        said = root.enforcement
    if said is None:
        return list(wanted)
    return [
        queue if queue.path != ROOT or queue.enforcement is said else replace(queue, enforcement=said)
        for queue in wanted
    ]


def _is_like(one: Queue | None, other: Queue) -> bool:
    """Return True for equal queues; most are one object, and to compare thirty fields takes long."""
    return one is other or one == other


_WITHOUT_SHARE: Mapping[str, Any] = {
    "state": QueueState.STOPPED,
    "capacity_percent": 0.0,
    "weight": None,
    "capacity_amounts": (),
    "said": (),
}


def differing(present: Iterable[Queue], wanted: Iterable[Queue]) -> list[Queue]:
    """Rows to write so that what is stored is what is wanted: queues that nobody wants any more are stopped."""
    stored = {queue.path: queue for queue in present}
    wanted_by_path = {queue.path: queue for queue in wanted}
    gone = [queue for path, queue in stored.items() if path not in wanted_by_path]
    changed = [queue for path, queue in wanted_by_path.items() if not _is_like(stored.get(path), queue)]
    # Nothing is left of its share, or the shares of its siblings would not add up.
    stopped = [replace(queue, **_WITHOUT_SHARE) for queue in gone]
    return changed + [queue for queue in stopped if queue != stored[queue.path]]
