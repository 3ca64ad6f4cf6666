"""Ends of containers and attempts say whether a node agent has yet to tell more of them.  A release that knows none of
it tells what pods told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("containers", "attempts"):
        op.add_column(table, sa.Column[bool]("awaits_agent", sa.Boolean(), server_default=sa.false(), nullable=False))
