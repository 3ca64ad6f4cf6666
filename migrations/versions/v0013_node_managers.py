"""Adds whether a node is a NodeManager, which launches containers itself.  False, as older releases leave it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("is_node_manager", sa.Boolean(), nullable=False, server_default=sa.false()))
