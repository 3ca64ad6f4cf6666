"""Changes of the queues say whether administrators of queues made them.  A release that knows none of it leaves null:
they count as those of the cluster's administrators."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("queue_changes", sa.Column("since", sa.BigInteger(), nullable=True))
