"""Rows of changes of the queue tree: written with the queues, read in pages, the oldest removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Executable, Select, delete, func, or_, select

from yodel.domain.queues.history import ChangesKept, TreeChange
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
    }


def change_from(row: Mapping[Any, Any]) -> TreeChange:
    return TreeChange(
        version=row["version"],
        author=row["author"],
        time_ms=row["time_ms"],
        reason=row["reason"],
        before=_properties(row["before"]),
        after=_properties(row["after"]),
    )


def page(before: int | None, limit: int) -> Select[Any]:
    """The newest changes, of versions below ``before``."""
    found = select(tables.queue_changes).order_by(_CHANGES.version.desc()).limit(limit)
    return found if before is None else found.where(_CHANGES.version < before)


def surplus(kept: ChangesKept) -> Executable:
    """Removes what ``yodel.domain.queues.history.outdated`` names."""
    newest_first = _CHANGES.version.desc()
    counted = select(
        _CHANGES.version,
        func.row_number().over(order_by=newest_first).label("place"),
        func.sum(_CHANGES.size).over(order_by=newest_first).label("total"),
    ).subquery()
    is_outdated = or_(counted.c.place > kept.count, counted.c.total > kept.size)
    gone = select(counted.c.version).where(counted.c.place > 1, is_outdated)
    return delete(tables.queue_changes).where(_CHANGES.version.in_(gone))


def _pairs(said: Iterable[SchedulerProperty]) -> list[list[str]]:
    return [[one.name, one.value] for one in said]


def _properties(pairs: Sequence[tuple[str, str]]) -> tuple[SchedulerProperty, ...]:
    return tuple(SchedulerProperty(name, text) for name, text in pairs)
