"""Holds an agent's messages: orders, each sent once, and values that it keeps, sent again when they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto

from yodel.domain.ids import ApplicationId, ContainerId

SIGNALS_MAX = 1_000
FORGET_MAX = 10_000
"""Containers that an agent is told to forget in one answer; what is not told it forgets by a maximum of its own."""


@dataclass(slots=True)
class Outbox:
    """Orders that the next answer takes."""

    clean_up: dict[ContainerId, None] = field(default_factory=dict)
    forget: dict[ContainerId, None] = field(default_factory=dict)
    applications: dict[ApplicationId, None] = field(default_factory=dict)
    signals: list[tuple[ContainerId, int]] = field(default_factory=list)
    updates: dict[ContainerId, None] = field(default_factory=dict)
    """Containers whose size the agent does not know yet."""

    def may_forget(self, container_id: ContainerId) -> None:
        """Beyond ``FORGET_MAX`` the oldest are not told."""
        self.forget[container_id] = None
        if len(self.forget) > FORGET_MAX:
            del self.forget[next(iter(self.forget))]

    def signal(self, container_id: ContainerId, command: int) -> bool:
        """False: there are too many."""
        if len(self.signals) >= SIGNALS_MAX:
            return False
        self.signals.append((container_id, command))
        return True

    def clear(self) -> None:
        """All of it was told."""
        for table in (self.clean_up, self.forget, self.applications, self.signals, self.updates):
            if table:
                table.clear()


class Topic(StrEnum):
    """Lists the values that an agent keeps."""

    CAPABILITY = auto()
    POLICY = auto()
    RANKS = auto()
    ALLOCATABLE = auto()


@dataclass(slots=True)
class Told:
    """Records what an agent knows.  A lost answer is given again, so what was sent is known."""

    pods: dict[ContainerId, str] = field(default_factory=dict)
    _known: dict[Topic, object] = field(default_factory=dict)

    def knows(self, topic: Topic, value: object) -> None:
        """It said so itself, or it was told elsewhere."""
        self._known[topic] = value

    def is_news(self, topic: Topic, value: object) -> bool:
        """Return True if the agent has to be informed; from now on it knows the value."""
        if self._known.get(topic) == value:
            return False
        self._known[topic] = value
        return True

    def forget_pods(self) -> None:
        self.pods = {}

    def new_pods(self, uids: Mapping[ContainerId, str], *, are_all: bool) -> tuple[tuple[ContainerId, str], ...]:
        """Return the uids that the agent does not have.  ``are_all``: it needs to know of no others."""
        before = self.pods
        self.pods = dict(uids) if are_all else {**before, **uids} if uids else before
        return tuple((one, uid) for one, uid in uids.items() if before.get(one) != uid)
