"""The version of the tables: which one a database has, and which one this release needs."""

from __future__ import annotations

import asyncio

from sqlalchemy import Connection, inspect, text

from yodel.errors import Unavailable
from yodel.store.engine import STATEMENT_TIMEOUT_S, answering, engine_for
from yodel.store.errors import SchemaNotAtHead

HEAD_REVISION = "0002"
"""The newest migration; a test holds it to the migrations package."""
VERSION_TABLE = "alembic_version"
WAIT_POLL_S = 2.0


async def current_and_head(url: str) -> tuple[str | None, str]:
    """The revision of the database, None when it is empty, and the one this version needs.

    Raises:
        Unavailable: the database does not answer.
    """
    engine = engine_for(url, statement_timeout_s=STATEMENT_TIMEOUT_S, lock_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        async with answering("tell its version", STATEMENT_TIMEOUT_S), engine.connect() as connection:
            return await connection.run_sync(current_revision), HEAD_REVISION
    finally:
        await engine.dispose()


async def migrate_if_behind(url: str) -> list[str]:
    """Bring the tables up to date; costs one query when they are.  Returns the revisions applied."""
    current, head = await current_and_head(url)
    if current == head:
        return []
    from yodel.store.migrating import migrate  # slow to import, and seldom needed

    return await migrate(url)


async def wait_for_head(url: str, timeout_s: float) -> str:
    """Wait until somebody else has brought the tables up to date, or the database itself has come; the revision.

    Raises:
        Unavailable: not within ``timeout_s``; the text says what was missing at the last look.
    """
    missing = "no answer yet"
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    current, head = await current_and_head(url)
                except Unavailable as silence:
                    missing = str(silence)
                else:
                    if current == head:
                        return head
                    missing = f"its tables are at {current or 'nothing'}, not yet {head}"
                await asyncio.sleep(WAIT_POLL_S)
    except TimeoutError as late:
        raise Unavailable(f"the database was not ready within {timeout_s:g} s: {missing}") from late


def require_head(connection: Connection) -> None:
    """Raises SchemaNotAtHead."""
    current = current_revision(connection)
    if current != HEAD_REVISION:
        raise SchemaNotAtHead(current, HEAD_REVISION)


def current_revision(connection: Connection) -> str | None:
    """The migration a database is at; None before the first."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
