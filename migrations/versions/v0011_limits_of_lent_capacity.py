"""A node keeps its limits of lent capacity, which administrators set; a release that knows none leaves them there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("lent_limit_cpu_milli", "lent_limit_memory_mib"):
        op.add_column("nodes", sa.Column[int](name, sa.BigInteger(), nullable=True))
