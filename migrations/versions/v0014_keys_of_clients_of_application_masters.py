"""Adds the key that signs clients' tokens for an attempt's ApplicationMaster.  Null: started without security."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column[bytes]("client_key", sa.LargeBinary(), nullable=True))
