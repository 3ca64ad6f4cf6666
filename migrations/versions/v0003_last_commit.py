"""The number of the last commit, and which releases may use the tables: see ``yodel.store.schema``."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("identity", sa.Column("last_commit", sa.BigInteger(), server_default="0", nullable=False))
    window = op.create_table(
        "schema_window",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("oldest_head", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_schema_window_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_window")),
    )
    op.bulk_insert(window, [{"id": 1, "oldest_head": revision}])
