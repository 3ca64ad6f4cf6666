"""Adds what an attempt's queue said of remote shuffle; null, as an older release leaves it: nothing was said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("shuffle", sa.JSON(), nullable=True))
