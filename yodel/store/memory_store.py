"""The store's twin in memory: the same promises, for tests and simulations.

What is stored lives in a ``MemoryDisk``, which outlives the stores opened on it: opening a second store on a disk is a
restart, or a standby that takes over.  A hook is called at every step where a process may die; a hook that raises is a
crash at that step, and the disk then holds what a database would hold.  One that raises ``OutcomeUnknown`` loses the
answer: before a commit it did not happen, after it it did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.past import PastUsage, PastUsageId
from yodel.domain.queues.history import TreeChange, folded, surplus
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.tokens import MasterKey
from yodel.ports.store import ClusterIdentity, Commit, EndedKept, FencedOut, Row, Snapshot
from yodel.store.errors import OrphanRow
from yodel.store.snapshots import snapshot_of


class Point(Enum):
    """Lists the points where a hook is called: before a commit nothing of it is stored, after it everything is."""

    OPENING = "opening"
    BEFORE_COMMIT = "before commit"
    AFTER_COMMIT = "after commit"
    ASKED = "asked for the last commit"


Hook = Callable[[Point], None]


def nothing_happens(_: Point) -> None:
    """The hook of a store that works."""


@dataclass(slots=True)
class MemoryDisk:
    """Holds the stored rows.  ``identity`` is None until a store was opened on it."""

    identity: ClusterIdentity | None = None
    queues: dict[str, Queue] = field(default_factory=dict)
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    applications: dict[ApplicationId, Application] = field(default_factory=dict)
    attempts: dict[ApplicationAttemptId, Attempt] = field(default_factory=dict)
    containers: dict[ContainerId, Container] = field(default_factory=dict)
    master_keys: dict[tuple[str, int], MasterKey] = field(default_factory=dict)
    delegation_tokens: dict[int, DelegationToken] = field(default_factory=dict)
    scheduler_conf: SchedulerConf | None = None
    tree_changes: dict[int, TreeChange] = field(default_factory=dict)
    ended: dict[ContainerId, Container] = field(default_factory=dict)
    past_usage: dict[PastUsageId, PastUsage] = field(default_factory=dict)


class MemoryStore:
    """See ``yodel.ports.store.Store``.  Without a disk it starts on an empty one of its own."""

    def __init__(self, disk: MemoryDisk | None = None, *, hook: Hook = nothing_happens) -> None:
        self.disk = MemoryDisk() if disk is None else disk
        self._hook = hook
        self._epoch: int | None = None

    async def open(self, *, now_ms: int, default_queues: Sequence[Queue]) -> Snapshot:
        """Take the store over and read everything."""
        self._hook(Point.OPENING)
        found = self.disk.identity
        if found is None:
            self.disk.identity = ClusterIdentity(cluster_timestamp_ms=now_ms, epoch=0, application_sequence=0)
            _write(self.disk, default_queues)
        else:
            self.disk.identity = replace(found, epoch=found.epoch + 1)
        self._epoch = self.disk.identity.epoch
        return read(self.disk)

    async def commit(self, commit: Commit) -> None:
        """Write one transaction.

        Raises:
            FencedOut: another store was opened on the disk after this one.
            OrphanRow: an attempt without its application, a container without its attempt.
        """
        assert self._epoch is not None, "the store is not open"
        self._hook(Point.BEFORE_COMMIT)
        _prove_epoch(self.disk, self._epoch)
        _refuse_orphans(self.disk, [*commit.rows, *commit.ended_containers])
        _count(self.disk, commit)
        _write(self.disk, commit.rows)
        for purpose, key in commit.master_keys:
            self.disk.master_keys[purpose, key.key_id] = key
        self.disk.ended |= {container.id: container for container in commit.ended_containers}
        _remove(self.disk, commit)
        _write_changes(self.disk, commit)
        self._hook(Point.AFTER_COMMIT)

    async def last_commit(self) -> int:
        """The number of the last commit that happened.  Raises FencedOut."""
        assert self._epoch is not None, "the store is not open"
        self._hook(Point.ASKED)
        return _prove_epoch(self.disk, self._epoch).last_commit

    async def ended_page(
        self, application_id: ApplicationId, after: ContainerId | None, limit: int
    ) -> Sequence[Container]:
        """See the port."""
        found = (row for row in self.disk.ended.values() if row.id.application_id == application_id)
        return sorted((row for row in found if after is None or row.id > after), key=lambda row: row.id)[:limit]

    async def tree_changes(self, before: int | None, limit: int) -> Sequence[TreeChange]:
        """See the port."""
        found = (change for change in self.disk.tree_changes.values() if before is None or change.version < before)
        return sorted(found, key=lambda change: -change.version)[:limit]

    async def prune_ended(self, kept: EndedKept, now_ms: int, batch: int) -> int:
        """See the port."""
        assert self._epoch is not None, "the store is not open"
        self._hook(Point.BEFORE_COMMIT)
        _prove_epoch(self.disk, self._epoch)
        gone = _outdated(self.disk, kept, now_ms)[:batch]
        for container_id in gone:
            del self.disk.ended[container_id]
        self._hook(Point.AFTER_COMMIT)
        return len(gone)

    async def close(self) -> None:
        """Let go.  Closing twice is harmless."""
        self._epoch = None


def read(disk: MemoryDisk) -> Snapshot:
    """Return the content that a store opened now would find; the disk must have been opened once."""
    assert disk.identity is not None, "nothing was ever stored"
    return snapshot_of(
        disk.identity,
        queues=disk.queues.values(),
        nodes=disk.nodes.values(),
        applications=disk.applications.values(),
        attempts=disk.attempts.values(),
        containers=disk.containers.values(),
        master_keys=[(purpose, key) for (purpose, _), key in disk.master_keys.items()],
        delegation_tokens=disk.delegation_tokens.values(),
        scheduler_conf=disk.scheduler_conf,
        past_usage=disk.past_usage.values(),
    )


def _prove_epoch(disk: MemoryDisk, epoch: int) -> ClusterIdentity:
    if disk.identity is None or disk.identity.epoch != epoch:
        raise FencedOut(f"Another ResourceManager opened the store after us (our epoch is {epoch})")
    return disk.identity


def _count(disk: MemoryDisk, commit: Commit) -> None:
    """The identity's numbers, which never go back."""
    assert disk.identity is not None
    disk.identity = replace(
        disk.identity,
        application_sequence=max(disk.identity.application_sequence, commit.application_sequence or 0),
        delegation_sequence=max(disk.identity.delegation_sequence, commit.delegation_sequence or 0),
        last_commit=max(disk.identity.last_commit, commit.number or 0),
    )


def _refuse_orphans(disk: MemoryDisk, rows: Sequence[Row]) -> None:
    """Refuse rows without their parents before anything is written, as foreign keys do in a database."""
    applications = disk.applications.keys() | {row.id for row in rows if isinstance(row, Application)}
    attempts = disk.attempts.keys() | {row.id for row in rows if isinstance(row, Attempt)}
    for row in rows:
        if isinstance(row, Attempt) and row.id.application_id not in applications:
            raise OrphanRow(row.id)
        if isinstance(row, Container) and row.id.attempt_id not in attempts:
            raise OrphanRow(row.id)
        if isinstance(row, PastUsage) and row.id.application_id not in applications:
            raise OrphanRow(row.id)


def _write(disk: MemoryDisk, rows: Sequence[Row]) -> None:
    for row in rows:
        match row:
            case Queue():
                disk.queues[row.path] = row
            case Node():
                disk.nodes[row.id] = row
            case Application():
                disk.applications[row.id] = row
            case Attempt():
                disk.attempts[row.id] = row
            case Container():
                disk.containers[row.id] = row
            case DelegationToken():
                disk.delegation_tokens[row.sequence] = row
            case SchedulerConf():
                disk.scheduler_conf = row
            case PastUsage():
                disk.past_usage[row.id] = row


def _write_changes(disk: MemoryDisk, commit: Commit) -> None:
    disk.tree_changes |= {change.version: change for change in commit.tree_changes}
    gone = surplus(disk.tree_changes.values(), commit.tree_changes_kept) if commit.tree_changes else ()
    disk.tree_changes |= {change.version: change for change in folded(disk.tree_changes, gone)}
    for version, _ in gone:
        del disk.tree_changes[version]


def _remove(disk: MemoryDisk, commit: Commit) -> None:
    for sequence in commit.removed_delegation_tokens:
        disk.delegation_tokens.pop(sequence, None)
    for path in commit.removed_queues:
        disk.queues.pop(path, None)
    for key in commit.removed_master_keys:
        disk.master_keys.pop(key, None)
    for container_id in (*commit.removed_containers, *(row.id for row in commit.ended_containers)):
        disk.containers.pop(container_id, None)
    for application_id in commit.removed_applications:
        disk.applications.pop(application_id, None)
    if commit.removed_applications:
        known = disk.applications
        disk.ended = {key: row for key, row in disk.ended.items() if key.application_id in known}
        disk.past_usage = {key: row for key, row in disk.past_usage.items() if key.application_id in known}
    gone = set(commit.removed_attempts)
    if commit.removed_applications:
        gone |= {attempt_id for attempt_id in disk.attempts if attempt_id.application_id not in disk.applications}
    for attempt_id in gone:
        disk.attempts.pop(attempt_id, None)
    if gone:
        disk.containers = {key: row for key, row in disk.containers.items() if key.attempt_id not in gone}


def _by_end(row: Container) -> tuple[int, ...]:
    """Their end, then their id in numbers, which compare faster."""
    attempt_id = row.id.attempt_id
    application_id = attempt_id.application_id
    return (
        row.finished_ms,
        application_id.cluster_timestamp_ms,
        application_id.sequence,
        attempt_id.attempt,
        row.id.number,
    )


def _outdated(disk: MemoryDisk, kept: EndedKept, now_ms: int) -> list[ContainerId]:
    """Oldest first: of all that are too old, too many, or too many of one application."""
    rows = sorted(disk.ended.values(), key=_by_end)
    old = [row for row in rows if row.finished_ms < now_ms - kept.age_s * 1000]
    gone = {row.id: None for row in [*old, *rows[: max(0, len(rows) - kept.in_all)]]}
    by_application: dict[ApplicationId, list[ContainerId]] = {}
    for row in rows:
        if row.id not in gone:
            by_application.setdefault(row.id.application_id, []).append(row.id)
    for ids in by_application.values():
        gone |= dict.fromkeys(ids[: max(0, len(ids) - kept.per_application)])
    return list(gone)
