"""Containers that ended and were forgotten, and what they used: two tables more, and nothing else changes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _ended_containers()
    _past_usage()


def _ended_containers() -> None:
    op.create_table(
        "ended_containers",
        sa.Column("application_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("capability_extras", sa.JSON(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("allocation_request_id", sa.BigInteger(), nullable=False),
        sa.Column("allocation_tags", sa.JSON(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=False),
        sa.Column("exit_status", sa.BigInteger(), nullable=False),
        sa.Column("diagnostics", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["applications.id"], name=op.f("fk_ended_containers_application_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("application_id", "attempt", "number", name=op.f("pk_ended_containers")),
    )
    op.create_index(
        op.f("ix_ended_containers_application_id_finished_ms"),
        "ended_containers",
        ["application_id", "finished_ms"],
        unique=False,
    )
    op.create_index(op.f("ix_ended_containers_finished_ms"), "ended_containers", ["finished_ms"], unique=False)


def _past_usage() -> None:
    op.create_table(
        "past_usage",
        sa.Column("application_id", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("containers", sa.BigInteger(), nullable=False),
        sa.Column("memory_mib_s", sa.BigInteger(), nullable=False),
        sa.Column("vcore_s", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["applications.id"], name=op.f("fk_past_usage_application_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("application_id", "node_id", name=op.f("pk_past_usage")),
    )
