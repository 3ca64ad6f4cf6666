"""Reads the queues of a database for somebody who is not its writer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from yodel.domain.queues.queue import Queue
from yodel.store import queue_rows, tables
from yodel.store.engine import STATEMENT_TIMEOUT_S, Database


async def stored_queues(url: str) -> Sequence[Queue]:
    """Raises Unavailable: the database does not answer, or has no such table."""
    database = Database(url)
    try:
        found = await database.run(
            "report its queues",
            STATEMENT_TIMEOUT_S,
            lambda connection: connection.execute(select(tables.queues)).mappings().all(),
        )
    finally:
        await database.close()
    return queue_rows.linked(map(queue_rows.queue_from, found))
