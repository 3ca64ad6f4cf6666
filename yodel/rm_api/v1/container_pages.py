"""Pages of an application's containers: those in memory, and behind them what is kept of those that ended.

A page costs what it shows: the kept ones are read from the store a page at a time, behind the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ContainerId
from yodel.rm_api.context import Api
from yodel.rm_api.v1 import cursors

READ_MIN = 100
"""Kept rows read at once at least: few of them may be wanted."""


async def container_page(
    api: Api,
    application: Application,
    is_wanted: Callable[[Container], bool],
    limit: int,
    cursor: str | None,
    *,
    are_ended_wanted: bool = True,
) -> tuple[Sequence[Container], str | None]:
    """Of all attempts, in the order of their ids; and the cursor behind them.

    Raises:
        InvalidValue: a cursor of another list, or none.
        Unavailable: the store did not answer.
    """
    key = cursors.decoded("containers", cursor, str)
    after = ContainerId.parse(str(key[0])) if key is not None else None
    # Memory first: what leaves it meanwhile is then in both.
    found = {row.id: row for row in _in_memory(api, application) if (after is None or row.id > after)}
    found = {row.id: row for row in found.values() if is_wanted(row)}
    kept = await _kept(api, application, is_wanted, limit + 1, after) if are_ended_wanted else {}
    rows = sorted({**kept, **found}.values(), key=lambda row: row.id)
    return cursors.page(rows[: limit + 1], limit, lambda row: cursors.encoded("containers", str(row.id)))


async def kept_container(api: Api, container_id: ContainerId) -> Container | None:
    """One that ended and was forgotten; None when it is not kept.  Raises Unavailable: the store did not answer."""
    before = ContainerId(container_id.attempt_id, container_id.number - 1)
    rows = await api.services.ended_page(container_id.application_id, before, 1)
    return rows[0] if rows and rows[0].id == container_id else None


def _in_memory(api: Api, application: Application) -> list[Container]:
    queries = api.services.queries
    attempts = queries.attempts(application.id)
    return [row for attempt in attempts for row in queries.rows.containers_of(attempt.id)]


async def _kept(
    api: Api, application: Application, is_wanted: Callable[[Container], bool], count: int, after: ContainerId | None
) -> dict[ContainerId, Container]:
    """The first that are wanted, at least ``count`` if there are so many."""
    found: dict[ContainerId, Container] = {}
    size = max(count, READ_MIN)
    while len(found) < count:
        rows = await api.services.ended_page(application.id, after, size)
        found |= {row.id: row for row in rows if is_wanted(row)}
        if len(rows) < size:
            break
        after = rows[-1].id
    return found
