"""The schema of a release to come: a migration that only adds, and one that takes away what the first made needless.

They are run by hand, since Alembic only knows this release's; a release that meets them sees what it would see then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text

from yodel.store.engine import Database
from yodel.store.migrating import MIGRATION_STATEMENT_TIMEOUT_S

EXPANDED, CONTRACTED = "9001", "9002"


def expand(connection: Connection) -> None:
    """Columns that may be null or have a default, a table, an index: a release that knows none of them goes on."""
    op = Operations(MigrationContext.configure(connection))
    op.add_column("applications", sa.Column("shade", sa.Text(), nullable=True))
    for table in ("identity", "queues", "nodes", "applications", "attempts", "containers", "master_keys"):
        op.add_column(table, sa.Column("weight", sa.BigInteger(), server_default="7", nullable=False))
    op.create_table("shades", sa.Column("id", sa.Text(), primary_key=True))
    op.create_index("ix_applications_shade", "applications", ["shade"])
    _set_version(connection, EXPANDED)


def contract(connection: Connection) -> None:
    """Drop what only older releases used; the window shows it."""
    op = Operations(MigrationContext.configure(connection))
    op.drop_column("applications", "diagnostics")
    connection.execute(text("UPDATE schema_window SET oldest_head = :head"), {"head": EXPANDED})
    _set_version(connection, CONTRACTED)


def _set_version(connection: Connection, revision: str) -> None:
    connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


async def run_steps(url: str, *steps: Callable[[Connection], None]) -> None:
    def run(connection: Connection) -> None:
        for step in steps:
            step(connection)

    database = Database(url)
    try:
        await database.transact("change its tables", MIGRATION_STATEMENT_TIMEOUT_S, run)
    finally:
        await database.close()


def expanded(url: str) -> str:
    """The URL, once its migrated database has the tables of the release after this one."""
    asyncio.run(run_steps(url, expand))
    return url


def contracted(url: str) -> str:
    """The URL, once its migrated database has the tables of a release that does without what this one uses."""
    asyncio.run(run_steps(url, expand, contract))
    return url
