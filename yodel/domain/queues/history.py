"""Changes of the queue tree: who made which, when and why, and how to go back.  Pure.

A change says of every property that changed what it was and what it became; what was not there has no text.  The
version is the tree's after it.  Only so many are kept.  Those of the cluster's administrators outlive those of
administrators of queues, which are put together instead, so that the way back does not end there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from yodel.domain.scheduler_conf import SchedulerProperty

REASON_LENGTH_MAX = 1000
AUTHORS_MAX = 10
"""Named of changes that were put together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One change.  ``before`` and ``after`` hold the properties that changed, sorted by name."""

    version: int
    author: str
    time_ms: int
    reason: str = ""
    before: tuple[SchedulerProperty, ...] = ()
    after: tuple[SchedulerProperty, ...] = ()
    since: int | None = None
    """The version before a change by somebody who administers queues and not the cluster, and before those that were
    put together with it.  None of all others."""

    @property
    def version_before(self) -> int:
        return self.version - 1 if self.since is None else self.since

    @property
    def size(self) -> int:
        """Characters, about what it takes to keep."""
        said = (*self.before, *self.after)
        return len(self.author) + len(self.reason) + sum(len(one.name) + len(one.value) for one in said)

    @property
    def names(self) -> list[str]:
        """Return the names of all changed properties."""
        return sorted({one.name for one in (*self.before, *self.after)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesKept:
    """Limits the history that is kept; the newest change is always kept."""

    count: int = 1000
    size: int = 64 * 1024 * 1024
    """The most characters of all together: one import of 5,000 queues has some five million."""
    of_administrators: int = 200
    """The last so many of the cluster's administrators are kept whatever others do, within the size."""


def change_between(
    before: Mapping[str, str], after: Mapping[str, str], *, version: int, author: str, time_ms: int, reason: str
) -> TreeChange:
    """The change from one configuration to the other."""

    def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[SchedulerProperty, ...]:
        return tuple(SchedulerProperty(*one) for one in sorted(ours.items() - theirs.items()))

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


class HistoryEntry(Protocol):
    """Describes a change as far as it decides whether it is deleted."""

    @property
    def version(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def since(self) -> int | None: ...


def outdated(changes: Iterable[HistoryEntry], kept: ChangesKept) -> list[int]:
    """Versions of the changes that go, of these, the newest first."""
    return [version for version, _ in surplus(changes, kept)]


def surplus(changes: Iterable[HistoryEntry], kept: ChangesKept) -> list[tuple[int, int | None]]:
    """The same, each with the version of the change that it is put together with; None: there is no way back behind
    it, as nothing older is kept.

    A change goes when there are too many that are newer, or too large ones.  One that has to stay is of a cluster's
    administrator, or stands alone between two of these.
    """
    newest_first = sorted(changes, key=lambda change: -change.version)
    size, own_count, own_size = 0, 0, 0
    goes: list[bool] = []
    for place, change in enumerate(newest_first):
        size += change.size
        is_protected = False
        if change.since is None:
            own_count, own_size = own_count + 1, own_size + change.size
            is_protected = own_count <= min(kept.of_administrators, kept.count) and own_size <= kept.size
        goes.append(not is_protected and (place >= kept.count or size > kept.size))
    last = max(
        (place for place, change in enumerate(newest_first) if change.since is None and not goes[place]), default=0
    )
    found: list[tuple[int, int | None]] = []
    into: int | None = None
    reached = 0
    for place, change in enumerate(newest_first):
        if goes[place] and place > last:
            found.append((change.version, None))
        elif goes[place] and into is not None and reached == change.version:
            found.append((change.version, into))
        else:
            into = change.version if change.since is not None else None
        reached = change.version - 1 if change.since is None else change.since
    return found


def folded(changes: Mapping[int, TreeChange], gone: Iterable[tuple[int, int | None]]) -> list[TreeChange]:
    """Changes that others are put together with.  ``gone`` is as ``surplus`` says it."""
    made: dict[int, TreeChange] = {}
    for version, into in gone:
        if into is not None:
            made[into] = together(changes[version], made.get(into, changes[into]))
    return list(made.values())


def together(older: TreeChange, newer: TreeChange) -> TreeChange:
    """Two changes that follow each other as one, by both authors.  What came and went in between is not in it."""
    was = {one.name: one for one in newer.before} | {one.name: one for one in older.before}
    for name in {one.name for one in older.after} - {one.name for one in older.before}:
        was.pop(name, None)
    became = {one.name: one for one in older.after} | {one.name: one for one in newer.after}
    for name in {one.name for one in newer.before} - {one.name for one in newer.after}:
        became.pop(name, None)
    same = {name for name in was if became.get(name) == was[name]}
    authors = dict.fromkeys((*newer.author.split(", "), *older.author.split(", ")))
    return replace(
        newer,
        author=", ".join(list(authors)[:AUTHORS_MAX]),
        before=tuple(was[name] for name in sorted(was) if name not in same),
        after=tuple(became[name] for name in sorted(became) if name not in same),
        since=older.version_before,
    )
