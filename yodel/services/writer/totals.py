"""Counts applications and containers that began and ended since the RM loaded its store, by queue and over all.

The counts only grow: forgetting an old application, or moving one, subtracts nothing, so rates computed from them are
right.  As in Hadoop's QueueMetrics a submission is counted in the queue that received it, an end in the queue at that
time, both in all queues above as well.
"""

from __future__ import annotations

from collections.abc import Container as Collection
from collections.abc import Iterator
from dataclasses import dataclass, field

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.past import NOTHING_PREEMPTED, PastUsage, Preempted, newly_preempted
from yodel.domain.states import YarnApplicationState


@dataclass(slots=True)
class ApplicationTotals:
    submitted: int = 0
    completed: int = 0
    failed: int = 0
    killed: int = 0

    def count_end(self, state: YarnApplicationState) -> None:
        """States that are no end are passed over."""
        self.completed += state is YarnApplicationState.FINISHED
        self.failed += state is YarnApplicationState.FAILED
        self.killed += state is YarnApplicationState.KILLED


@dataclass(slots=True)
class Totals:
    """Holds the totals of one queue or the cluster.  ``unmanaged`` are those of ``applications`` with their own AM."""

    applications: ApplicationTotals = field(default_factory=ApplicationTotals)
    unmanaged: ApplicationTotals = field(default_factory=ApplicationTotals)
    containers_allocated: int = 0
    containers_released: int = 0
    preempted: Preempted = NOTHING_PREEMPTED


class TotalsBook:
    """Only ``ClusterState`` changes it.  ``queues`` are the paths there are: no other name gets an entry."""

    def __init__(self, queues: Collection[str]) -> None:
        self.cluster = Totals()
        self._queues = queues
        self._by_queue: dict[str, Totals] = {}

    def of(self, queue: str) -> Totals:
        return self._by_queue.get(queue) or Totals()

    def count_application(self, new: Application, old: Application | None) -> None:
        """A committed row, and the one whose place it takes."""
        if old is not None and old.yarn_state is new.yarn_state:
            return
        for totals in self._line(new.submission.queue):
            kinds = (totals.applications, totals.unmanaged) if new.submission.is_unmanaged else (totals.applications,)
            for kind in kinds:
                kind.submitted += old is None
                kind.count_end(new.yarn_state)

    def count_container(self, new: Container, old: Container | None) -> None:
        """A committed row, and the one whose place it takes."""
        is_end = not new.is_live and (old is None or old.is_live)
        preempted = newly_preempted(new, old)
        if old is not None and not is_end and preempted is NOTHING_PREEMPTED:
            return
        for totals in self._line(new.queue):
            totals.containers_allocated += old is None
            totals.containers_released += is_end
            totals.preempted += preempted

    def count_past(self, queue: str, usage: PastUsage) -> None:
        """Containers that began and ended there, and are forgotten."""
        for totals in self._line(queue):
            totals.containers_allocated += usage.containers
            totals.containers_released += usage.containers
            totals.preempted += usage.preempted

    def remove_queue(self, path: str) -> None:
        """Remove the totals of a queue; those above keep what was counted there."""
        self._by_queue.pop(path, None)

    def _line(self, queue: str) -> Iterator[Totals]:
        """The cluster, the queue, and all above it."""
        yield self.cluster
        end = 0
        while end >= 0:  # from above, and no further than there are queues: the name is whatever a client gave
            end = queue.find(".", end + 1)
            path = queue if end < 0 else queue[:end]
            if path not in self._queues:
                return
            yield self._by_queue.setdefault(path, Totals())
