"""Migrations: Alembic's, run from the ``migrations`` package by ``yodel migrate`` and by the embedded default.

Opening a store never migrates.  This module is apart from ``schema`` because Alembic is slow to import, and a
restarting ResourceManager whose tables are up to date has no need of it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from yodel.store.engine import Database

MIGRATION_STATEMENT_TIMEOUT_S = 600.0
"""Long enough to rewrite a large table; a migration should not."""
MIGRATION_LOCK_TIMEOUT_S = 30.0
"""How long a migration may wait for tables in use, or for another migrator, before it gives up and changes nothing."""
MIGRATION_LOCK_KEY = 0x796F64656C  # "yodel": PostgreSQL's advisory locks are numbers


async def migrate(url: str, *, revision: str = "head") -> list[str]:
    """Bring the tables to a revision; returns the revisions applied, in order, none when there is nothing to do.

    On PostgreSQL every migration is one transaction and an advisory lock keeps a second migrator waiting; on SQLite all
    are one transaction together, whose write lock does the same.  Going back is not offered: restore a backup.

    Raises:
        Unavailable: the database does not answer, or something holds its locks too long.
    """
    database = Database(
        url,
        statement_timeout_s=MIGRATION_STATEMENT_TIMEOUT_S,
        lock_timeout_s=MIGRATION_LOCK_TIMEOUT_S,
        # SQLite changes tables by copying and dropping them; with foreign keys on, the drop would cascade.
        foreign_keys=False,
    )
    try:
        return await database.run(
            "migrate", MIGRATION_STATEMENT_TIMEOUT_S, lambda connection: _upgrade(connection, revision)
        )
    finally:
        await database.close()


def head_revision() -> str:
    """The newest migration of this version."""
    head = ScriptDirectory.from_config(_alembic()).get_current_head()
    assert head is not None, "the migrations package is empty"
    return head


def _upgrade(connection: Connection, revision: str) -> list[str]:
    applied: list[str] = []
    config = _alembic(connection=connection, applied=applied)
    if connection.dialect.name == "postgresql":
        # The lock is the session's, not a transaction's: it outlives the migrations' own and goes with the connection.
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK_KEY})
        connection.commit()
        command.upgrade(config, revision)
    else:
        with connection.begin():
            command.upgrade(config, revision)
            broken = connection.execute(text("PRAGMA foreign_key_check")).all()
            assert not broken, f"a migration left rows without their parents: {broken[:3]}"
    return applied


def _alembic(**attributes: Any) -> Config:
    """Alembic's configuration without an ini file: the scripts are found where the package is installed."""
    spec = importlib.util.find_spec("migrations")
    assert spec is not None, "the migrations package is part of the installation"
    assert spec.origin is not None, "the migrations package is a folder with an __init__.py"
    config = Config()
    config.set_main_option("script_location", str(Path(spec.origin).parent).replace("%", "%%"))
    config.attributes.update(attributes)
    return config
