"""Reads the queues of a database for somebody who is not its writer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from yodel.domain.queues.queue import Queue
from yodel.store import queue_rows, tables
from yodel.store.engine import STATEMENT_TIMEOUT_S, answering, engine_for


async def stored_queues(url: str) -> Sequence[Queue]:
    """Raises Unavailable: the database does not answer, or has no such table."""
    engine = engine_for(url, statement_timeout_s=STATEMENT_TIMEOUT_S, lock_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        async with answering("report its queues", STATEMENT_TIMEOUT_S), engine.connect() as connection:
            found = (await connection.execute(select(tables.queues))).mappings().all()
    finally:
        await engine.dispose()
    return queue_rows.linked(map(queue_rows.queue_from, found))
