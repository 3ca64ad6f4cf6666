"""Changes of the queue tree: who made which, when and why, and how to go back.  Pure.

A change says of every property that changed what it was and what it became; what was not there has no text.  The
version is the tree's after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from yodel.domain.scheduler_conf import SchedulerProperty

REASON_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One change.  ``before`` and ``after`` hold the properties that changed, sorted by name."""

    version: int
    author: str
    time_ms: int
    reason: str = ""
    before: tuple[SchedulerProperty, ...] = ()
    after: tuple[SchedulerProperty, ...] = ()

    @property
    def size(self) -> int:
        """Characters, about what it takes to keep."""
        said = (*self.before, *self.after)
        return len(self.author) + len(self.reason) + sum(len(one.name) + len(one.value) for one in said)

    @property
    def names(self) -> list[str]:
        """Of all properties that changed."""
        return sorted({one.name for one in (*self.before, *self.after)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesKept:
    """How much of the history is kept; the newest change always is."""

    count: int = 1000
    size: int = 64 * 1024 * 1024
    """Of all together, in characters: one import of 5,000 queues has some five million."""


def change_between(
    before: Mapping[str, str], after: Mapping[str, str], *, version: int, author: str, time_ms: int, reason: str
) -> TreeChange:
    """The change from one configuration to the other."""

    def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[SchedulerProperty, ...]:
        return tuple(SchedulerProperty(name, text) for name, text in sorted(ours.items()) if theirs.get(name) != text)

    return TreeChange(
        version=version,
        author=author,
        time_ms=time_ms,
        reason=reason,
        before=differing(before, after),
        after=differing(after, before),
    )


def undone(properties: Mapping[str, str], changes: Iterable[TreeChange]) -> dict[str, str]:
    """The configuration as it was before these changes, which come newest first."""
    found = dict(properties)
    for change in changes:
        for made in change.after:
            found.pop(made.name, None)
        found |= {was.name: was.value for was in change.before}
    return found


def outdated(changes: Iterable[TreeChange], kept: ChangesKept) -> list[int]:
    """Versions of the changes that go, of these."""
    gone, size = [], 0
    for place, change in enumerate(sorted(changes, key=lambda change: -change.version)):
        size += change.size
        if place and (place >= kept.count or size > kept.size):
            gone.append(change.version)
    return gone
