"""Queues: rows of a tree.  One leaf, ``root.default``, is made at the first start; the tree's rules come with quotas.

Names follow the CapacityScheduler: a queue is named by its full path, and found by its leaf name while that is unique.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

ROOT = "root"
DEFAULT_PATH = "root.default"


class QueueState(IntEnum):
    """QueueStateProto without its ``Q_`` prefix."""

    STOPPED = 1
    RUNNING = 2
    DRAINING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue.  Capacities are percents of the parent, as the CapacityScheduler writes them."""

    path: str
    state: QueueState = QueueState.RUNNING
    capacity_percent: float = 100.0
    maximum_capacity_percent: float = 100.0
    is_leaf: bool = True
    maximum_lifetime_s: int = -1
    """No application of the queue lives longer (maximum-application-lifetime); not positive means no limit."""
    default_lifetime_s: int = -1
    """What an application gets that asks for none (default-application-lifetime); not positive means none."""

    @property
    def name(self) -> str:
        return self.path.rsplit(".", 1)[-1]

    @property
    def parent_path(self) -> str | None:
        return self.path.rsplit(".", 1)[0] if "." in self.path else None


def default_queues() -> tuple[Queue, ...]:
    """What a new store starts with."""
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
    """Why an application may not be submitted there, in the CapacityScheduler's words; None when it may."""
    queue = find(queues, name)
    if queue is None:
        return f"Application {application_id} submitted by user {user} to unknown queue: {name}"
    if not queue.is_leaf:
        return f"Application {application_id} submitted by user {user} to non-leaf queue: {name}"
    if queue.state is not QueueState.RUNNING:
        return f"Queue {queue.path} is {queue.state.name}. Cannot accept submission of application: {application_id}"
    return None
