"""Pages of an application's containers: those in memory, and behind them what is kept of those that ended.

A page costs what it shows: the kept ones are read from the store a page at a time, behind the cursor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.errors import ContainerNotFound, NotFound
from yodel.rm_api.v1 import cursors
from yodel.services.views.queries import Queries
from yodel.serving.pieces import taking_turns

READ_MIN = 100
"""Kept rows read at once at least: few of them may be wanted."""
LOOKED_AT_ONCE = 500
"""Rows in memory of which it is asked in one go whether they are wanted: five milliseconds at most."""
_NUMBER = attrgetter("number")


@dataclass(slots=True, kw_only=True)
class ContainerSource:
    """Reads containers from memory and from the store."""

    queries: Queries
    ended_page: Callable[[ApplicationId, ContainerId | None, int], Awaitable[Sequence[Container]]]
    """Returns a page of an application's containers that were forgotten (``EndedContainers`` of the store's port)."""


async def container_page(
    source: ContainerSource,
    application: Application,
    is_wanted: Callable[[Container], bool],
    limit: int,
    cursor: str | None,
    *,
    are_ended_wanted: bool = True,
) -> tuple[Sequence[Container], str | None]:
    """Return a page of containers.

    Raises:
        InvalidValue: a cursor of another list, or none.
        Unavailable: the store did not answer.
    """
    key = cursors.decoded("containers", cursor, str)
    after = ContainerId.parse(str(key[0])) if key is not None else None
    # Memory first: what leaves it meanwhile is then in both.
    found = await _in_memory(source, application, is_wanted, limit + 1, after)
    kept = await _kept(source, application, is_wanted, limit + 1, after) if are_ended_wanted else {}
    rows = sorted({**kept, **found}.values(), key=lambda row: row.id)
    return cursors.page(rows[: limit + 1], limit, lambda row: cursors.encoded("containers", str(row.id)))


async def found_container(source: ContainerSource, application_id: ApplicationId, asked: str) -> Container:
    """Return a container of the application, in memory or kept of those that ended.

    Raises:
        InvalidValue: no id of a container.
        ContainerNotFound: there is none, or it is no longer kept.
        Unavailable: the store did not answer.
    """
    container_id = ContainerId.parse(asked)
    if container_id.application_id != application_id:
        raise ContainerNotFound(container_id)
    try:
        return source.queries.container(container_id)
    except NotFound:
        before = ContainerId(container_id.attempt_id, container_id.number - 1)
        rows = await source.ended_page(application_id, before, 1)
        if not rows or rows[0].id != container_id:
            raise
        return rows[0]


async def _in_memory(
    source: ContainerSource,
    application: Application,
    is_wanted: Callable[[Container], bool],
    count: int,
    after: ContainerId | None,
) -> dict[ContainerId, Container]:
    """The first that are wanted, as many as ``count`` if there are so many; no other is looked at."""
    rows, found = source.queries.rows, dict[ContainerId, Container]()
    async for container_id in taking_turns(_ids_behind(source, application, after), LOOKED_AT_ONCE):
        row = rows.container(container_id)
        if row is not None and is_wanted(row):
            found[row.id] = row
            if len(found) == count:
                break
    return found


def _ids_behind(source: ContainerSource, application: Application, after: ContainerId | None) -> Iterator[ContainerId]:
    """Yield the ids in their order, each attempt's when its turn comes."""
    queries = source.queries
    for attempt_id in sorted(attempt.id for attempt in queries.attempts(application.id)):
        if after is None or attempt_id > after.attempt_id:
            yield from sorted(queries.rows.container_ids_of(attempt_id), key=_NUMBER)
        elif attempt_id == after.attempt_id:
            behind = (i for i in queries.rows.container_ids_of(attempt_id) if i.number > after.number)
            yield from sorted(behind, key=_NUMBER)


async def _kept(
    source: ContainerSource,
    application: Application,
    is_wanted: Callable[[Container], bool],
    count: int,
    after: ContainerId | None,
) -> dict[ContainerId, Container]:
    """The first that are wanted, at least ``count`` if there are so many."""
    found: dict[ContainerId, Container] = {}
    size = max(count, READ_MIN)
    while len(found) < count:
        rows = await source.ended_page(application.id, after, size)
        found |= {row.id: row for row in rows if is_wanted(row)}
        if len(rows) < size:
            break
        after = rows[-1].id
    return found
