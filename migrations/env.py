"""Alembic runs this for every command.  It takes the connection it is given and reads no ini file.

``yodel.store.engine.migrate`` gives ``connection`` and ``applied``, a list that gets the revisions as they are applied.
"""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection

from yodel.store.tables import metadata


def run_migrations(connection: Connection, applied: list[str]) -> None:
    """Upgrade the connected database."""

    def remember(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
        applied.extend(step.up_revision_ids)

    context.configure(
        connection=connection,
        target_metadata=metadata,
        # True for SQLite as well, where transactions are begun by us and hold DDL too.
        transactional_ddl=True,
        transaction_per_migration=True,
        on_version_apply=remember,
    )
    with context.begin_transaction():
        context.run_migrations()


attributes = context.config.attributes
if "connection" not in attributes:
    raise RuntimeError("Run `yodel migrate`: it knows which database to connect to")
run_migrations(attributes["connection"], attributes["applied"])
