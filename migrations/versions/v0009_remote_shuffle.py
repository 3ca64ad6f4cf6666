"""What an attempt's queue said of remote shuffle.  A release that knows none of it leaves null: nothing was said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("shuffle", sa.JSON(), nullable=True))
