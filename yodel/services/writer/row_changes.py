"""Rows of a work item that have no table of states: tokens, keys, queues.  They are written and removed as they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.domain.delegation_token import DelegationToken
from yodel.domain.queues.history import TreeChange
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.tokens import MasterKey


@dataclass(slots=True)
class SecretChanges:
    """Delegation tokens and master keys that a work item writes and removes; nothing of them is in the state."""

    tokens: list[DelegationToken] = field(default_factory=list)
    last_sequence: int | None = None
    removed_tokens: list[int] = field(default_factory=list)
    keys: list[tuple[str, MasterKey]] = field(default_factory=list)
    removed_keys: list[tuple[str, int]] = field(default_factory=list)

    def add(self, later: SecretChanges) -> None:
        self.tokens += later.tokens
        self.removed_tokens += later.removed_tokens
        self.keys += later.keys
        self.removed_keys += later.removed_keys
        if later.last_sequence is not None:
            self.last_sequence = later.last_sequence


@dataclass(slots=True)
class QueueChanges:
    """Queues, and the version of their tree, written whole; queues to remove, by path; what is kept of the change."""

    rows: list[Queue | SchedulerConf] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    history: list[TreeChange] = field(default_factory=list)

    def add(self, later: QueueChanges) -> None:
        self.rows += later.rows
        self.removed += later.removed
        self.history += later.history
