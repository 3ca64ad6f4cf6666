"""The version of the tables: which one a database has, and which ones this release can use.

A release can use the tables that it was made for, and later ones for as long as these say so: the row in
``schema_window`` has the newest migration of the oldest release that may use them.  A migration that only adds (tables,
columns that may be null or have a default, indexes) leaves the row alone, so that a ResourceManager of the release
before goes on, and its standby can still take over.  One that takes away or changes sets the row to the first release
that has stopped using what is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, select, text

from yodel.errors import Unavailable
from yodel.store import tables
from yodel.store.engine import STATEMENT_TIMEOUT_S, Database
from yodel.store.errors import SchemaNotAtHead

HEAD_REVISION = "0014"
"""The newest migration; a test holds it to the migrations package."""
VERSION_TABLE = "alembic_version"
WAIT_POLL_S = 2.0


@dataclass(frozen=True, slots=True)
class Schema:
    """Holds the database's schema version.  Migrations are numbered with a fixed width, so that later ones compare as
    greater."""

    current: str | None
    """The migration it is at; None when it is empty."""
    oldest_head: str | None
    """Releases before this one may not use it; None when it does not say."""

    @property
    def is_usable(self) -> bool:
        """Return True if this release can use the tables."""
        if self.current is None or self.current < HEAD_REVISION:
            return False
        return self.current == HEAD_REVISION or (self.oldest_head is not None and self.oldest_head <= HEAD_REVISION)

    @property
    def is_behind(self) -> bool:
        """Return True if the database lacks migrations of this release."""
        return self.current is None or self.current < HEAD_REVISION


async def look(url: str) -> Schema:
    """Return the database's schema.

    Raises:
        Unavailable: the database does not answer.
    """
    database = Database(url)
    try:
        return await database.run("report its version", STATEMENT_TIMEOUT_S, schema_of)
    finally:
        await database.close()


async def migrate_if_behind(url: str) -> list[str]:
    """Bring the tables up to date; costs one look when they are.  Returns the revisions applied."""
    if not (await look(url)).is_behind:
        return []
    from yodel.store.migrating import migrate  # slow to import, and seldom needed

    return await migrate(url)


async def wait_for_answer(url: str, timeout_s: float, say: Callable[[str], object]) -> None:
    """Wait until the database answers; ``say`` hears once what it is waited for.

    Raises:
        Unavailable: not within ``timeout_s``; the text says what was wrong at the last look.
    """
    missing = ""
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    await look(url)
                    return
                except Unavailable as silence:
                    if not missing:
                        say(f"waiting for the database: {silence}")
                    missing = str(silence)
                await asyncio.sleep(WAIT_POLL_S)
    except TimeoutError as late:
        raise Unavailable(f"the database did not answer within {timeout_s:g} s: {missing}") from late


async def wait_until_usable(url: str, timeout_s: float) -> str:
    """Wait until somebody else has brought the tables up to date, or the database itself has come; the revision.

    Raises:
        SchemaNotAtHead: the tables are of a release that this one cannot share them with.
        Unavailable: not within ``timeout_s``; the text says what was missing at the last look.
    """
    missing = "no answer yet"
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    found = await look(url)
                except Unavailable as silence:
                    missing = str(silence)
                else:
                    if found.is_usable:
                        return str(found.current)
                    if not found.is_behind:
                        raise SchemaNotAtHead(found.current, HEAD_REVISION, found.oldest_head)
                    missing = f"its tables are at {found.current or 'nothing'}, not yet {HEAD_REVISION}"
                await asyncio.sleep(WAIT_POLL_S)
    except TimeoutError as late:
        raise Unavailable(f"the database was not ready within {timeout_s:g} s: {missing}") from late


def require_usable(connection: Connection) -> None:
    """Raises SchemaNotAtHead."""
    found = schema_of(connection)
    if not found.is_usable:
        raise SchemaNotAtHead(found.current, HEAD_REVISION, found.oldest_head)


def schema_of(connection: Connection) -> Schema:
    """See ``look``.  The window is read only where there is one: tables from before it do not say."""
    inspector = inspect(connection)
    if not inspector.has_table(VERSION_TABLE):
        return Schema(None, None)
    current = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
    has_window = inspector.has_table(tables.schema_window.name)
    oldest_head = connection.scalar(select(tables.schema_window.c.oldest_head)) if has_window else None
    return Schema(current, oldest_head)
