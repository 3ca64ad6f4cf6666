"""Applications count which of their containers were preempted.  A release that knows none of it leaves zeros."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NAMES = ("masters", "others", "memory_mib", "vcores", "memory_mib_s", "vcore_s")


def upgrade() -> None:
    for name in NAMES:
        column = sa.Column(f"preempted_{name}", sa.BigInteger(), server_default="0", nullable=False)
        op.add_column("past_usage", column)
