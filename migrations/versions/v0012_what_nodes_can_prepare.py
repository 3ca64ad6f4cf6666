"""Adds the shuffle services whose client a node's agent can prepare.  Null, as older releases leave it: not known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("shuffle_clients", sa.JSON(), nullable=True))
