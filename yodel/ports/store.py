"""The store: the intent, on disk.  One writer; every commit is one transaction, fenced by the epoch it was opened with.

A commit either happened wholly or not at all; a repeated commit of the same rows is harmless (they are whole rows).
One whose answer was lost may have happened: its number, which the identity row keeps, tells afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.node import Node
from yodel.domain.past import PastUsage
from yodel.domain.queues.history import ChangesKept, TreeChange
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.tokens import MasterKey
from yodel.errors import Unavailable, YodelError

Row = Application | Attempt | Container | Node | Queue | DelegationToken | SchedulerConf | PastUsage


class FencedOut(YodelError):
    """Another RM opened the store after us: stop writing at once."""


class OutcomeUnknown(Unavailable):
    """A commit was sent and not answered: it may have happened, wholly.  ``Store.last_commit`` tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentity:
    """Holds the identity that survives every restart.

    ``cluster_timestamp_ms`` is the RM's identifier in application ids and container tokens, made once with the store;
    ``epoch`` counts openings, from 0; ``application_sequence`` is the last one reserved.
    """

    cluster_timestamp_ms: int
    epoch: int
    application_sequence: int
    delegation_sequence: int = 0
    """The number of the delegation token given out last."""
    last_commit: int = 0
    """The number of the last commit that had one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All rows, as they were when the store was opened."""

    identity: ClusterIdentity
    queues: tuple[Queue, ...]
    applications: tuple[Application, ...]
    attempts: tuple[Attempt, ...]
    containers: tuple[Container, ...]
    nodes: tuple[Node, ...]
    master_keys: tuple[tuple[str, MasterKey], ...]
    """(purpose, key) with purpose one of ``amrm``, ``nm``, ``container``, ``delegation``; newest key last."""
    delegation_tokens: tuple[DelegationToken, ...] = ()
    past_usage: tuple[PastUsage, ...] = ()
    """The use of containers that were forgotten.  These themselves are never read whole."""
    scheduler_conf: SchedulerConf = field(default_factory=SchedulerConf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One transaction: rows to write whole (insert or replace) and rows to remove."""

    rows: Sequence[Row] = ()
    master_keys: Sequence[tuple[str, MasterKey]] = ()
    application_sequence: int | None = None
    """Reserve application numbers up to this one."""
    removed_applications: Sequence[ApplicationId] = ()
    """With their attempts and containers."""
    removed_containers: Sequence[ContainerId] = ()
    ended_containers: Sequence[Container] = ()
    """Containers that leave the others for the table of those that ended, as ``domain.past.remembered`` makes them.
    They go with their application; ``removed_attempts`` leaves them."""
    removed_attempts: Sequence[ApplicationAttemptId] = ()
    delegation_sequence: int | None = None
    """Delegation tokens up to this number were given out."""
    removed_delegation_tokens: Sequence[int] = ()
    """By sequence number."""
    removed_master_keys: Sequence[tuple[str, int]] = ()
    """(purpose, key id) of keys that sign nothing that is still valid."""
    removed_queues: Sequence[str] = ()
    """By path."""
    tree_changes: Sequence[TreeChange] = ()
    """Changes of the queues in this commit.  The oldest go in the same transaction, as ``tree_changes_kept`` says."""
    tree_changes_kept: ChangesKept = field(default_factory=ChangesKept)
    number: int | None = None
    """Greater than all before it; kept in the identity row by the very statement that proves the epoch."""

    @property
    def is_empty(self) -> bool:
        return not (
            self.rows
            or self.master_keys
            or self.application_sequence is not None
            or self.removed_applications
            or self.removed_containers
            or self.ended_containers
            or self.removed_attempts
            or self.delegation_sequence is not None
            or self.removed_delegation_tokens
            or self.removed_master_keys
            or self.removed_queues
            or self.tree_changes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedKept:
    """Limits the number and age of ended containers that are kept for reports."""

    per_application: int = 1_000
    in_all: int = 100_000
    age_s: int = 7 * 24 * 3600


class EndedContainers(Protocol):
    """Reads what is kept of containers that ended.  Raises Unavailable."""

    async def ended_page(
        self, application_id: ApplicationId, after: ContainerId | None, limit: int
    ) -> Sequence[Container]:
        """Return at most ``limit`` of an application's, by their ids, behind ``after``; none if it is unknown."""


class QueueHistory(Protocol):
    """Reads what is kept of changes of the queue tree.  Raises Unavailable."""

    async def tree_changes(self, before: int | None, limit: int) -> Sequence[TreeChange]:
        """Return at most ``limit``, the newest first, of versions below ``before``."""


class Store(EndedContainers, QueueHistory, Protocol):
    """Opened once by the composition root; closed at the end.

    Raises (all): yodel.errors.Unavailable when the database does not answer in time.
    """

    async def open(self, *, now_ms: int, default_queues: Sequence[Queue]) -> Snapshot:
        """Take the store over: bump the epoch (0 for a new store) and read everything.

        A new store gets ``now_ms`` as its cluster timestamp and the default queues.
        """

    async def commit(self, commit: Commit) -> None:
        """Write one transaction.

        Raises:
            FencedOut: the epoch in the store is not the one we opened.
            Unavailable: nothing was written, and nothing of it ever will be.
            OutcomeUnknown: all or nothing of it was written.
        """

    async def last_commit(self) -> int:
        """The number of the last commit that happened.  No earlier one is under way any more when this answers.

        Raises:
            FencedOut: the epoch in the store is not the one we opened.
        """

    async def prune_ended(self, kept: EndedKept, now_ms: int, batch: int) -> int:
        """One transaction that removes what is too old, then too many in all, then too many of one application, oldest
        ends first; at most ``batch`` rows.  Returns how many went: fewer than ``batch`` when nothing is left to remove.

        Raises:
            FencedOut: the epoch in the store is not the one we opened.
        """

    async def close(self) -> None:
        """Let go; nothing is lost by not calling it."""
