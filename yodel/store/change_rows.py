"""Rows of changes of the queue tree: written with the queues, read in pages, the oldest removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Executable, Select, delete, select

from yodel.domain.queues.history import TreeChange
from yodel.domain.scheduler_conf import SchedulerProperty
from yodel.store import tables

_CHANGES = tables.queue_changes.c


def change_values(change: TreeChange) -> dict[str, Any]:
    return {
        "version": change.version,
        "author": change.author,
        "time_ms": change.time_ms,
        "reason": change.reason,
        "before": _pairs(change.before),
        "after": _pairs(change.after),
        "size": change.size,
        "since": change.since,
    }


def change_from(row: Mapping[Any, Any]) -> TreeChange:
    return TreeChange(
        version=row["version"],
        author=row["author"],
        time_ms=row["time_ms"],
        reason=row["reason"],
        before=_properties(row["before"]),
        after=_properties(row["after"]),
        since=row["since"],
    )


def page(before: int | None, limit: int) -> Select[Any]:
    """The newest changes, of versions below ``before``."""
    found = select(tables.queue_changes).order_by(_CHANGES.version.desc()).limit(limit)
    return found if before is None else found.where(_CHANGES.version < before)


KEPT = select(_CHANGES.version, _CHANGES.size, _CHANGES.since)
"""Selects the columns that decide whether a change is deleted (``yodel.domain.queues.history.HistoryEntry``)."""


def of_versions(versions: Iterable[int]) -> Select[Any]:
    return select(tables.queue_changes).where(_CHANGES.version.in_(list(versions)))


def without(versions: Iterable[int]) -> Executable:
    """Removes these changes."""
    return delete(tables.queue_changes).where(_CHANGES.version.in_(list(versions)))


def _pairs(said: Iterable[SchedulerProperty]) -> list[list[str]]:
    return [[one.name, one.value] for one in said]


def _properties(pairs: Sequence[tuple[str, str]]) -> tuple[SchedulerProperty, ...]:
    return tuple(SchedulerProperty(name, text) for name, text in pairs)
