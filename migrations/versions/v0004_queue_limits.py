"""Limits of queues.  Capacities that were stored before limited nothing, so a tree of several queues goes on as it was,
until ``queue_enforcement`` says otherwise."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("queues", sa.Column("limits", sa.JSON(), nullable=True))
    queues = sa.table("queues", sa.column("path", sa.Text()), sa.column("limits", sa.JSON()))
    paths = set(op.get_bind().execute(sa.select(queues.c.path)).scalars())
    if paths - {"root", "root.default"}:
        op.execute(queues.update().where(queues.c.path == "root").values(limits={"enforcement": "observe"}))
