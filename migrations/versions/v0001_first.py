"""The first tables: identity, leadership, queues, nodes, applications, attempts, containers, keys and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _identity()
    _leadership()
    _queues()
    _nodes()
    _applications()
    _attempts()
    _containers()
    _master_keys()
    _delegation_tokens()
    _scheduler_conf()


def _identity() -> None:
    op.create_table(
        "identity",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("cluster_timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("application_sequence", sa.BigInteger(), nullable=False),
        sa.Column("delegation_sequence", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_identity_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity")),
    )


def _leadership() -> None:
    op.create_table(
        "leadership",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.Column("successor_until_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_leadership_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leadership")),
    )


def _queues() -> None:
    op.create_table(
        "queues",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("capacity_percent", sa.Double(), nullable=False),
        sa.Column("maximum_capacity_percent", sa.Double(), nullable=False),
        sa.Column("is_leaf", sa.Boolean(), nullable=False),
        sa.Column("maximum_lifetime_s", sa.BigInteger(), nullable=False),
        sa.Column("default_lifetime_s", sa.BigInteger(), nullable=False),
        sa.Column("submit_acl", sa.Text(), nullable=True),
        sa.Column("administer_acl", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_queues")),
    )


def _nodes() -> None:
    op.create_table(
        "nodes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("http_port", sa.BigInteger(), nullable=False),
        sa.Column("capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("capability_extras", sa.JSON(), nullable=False),
        sa.Column("rack", sa.Text(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("kubernetes_node_name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("health_report", sa.Text(), nullable=False),
        sa.Column("last_health_ms", sa.BigInteger(), nullable=False),
        sa.Column("decommissioning_since_ms", sa.BigInteger(), nullable=False),
        sa.Column("decommissioning_timeout_s", sa.BigInteger(), nullable=False),
        sa.Column("ordered_capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("ordered_capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("ordered_capability_extras", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
    )


def _applications() -> None:
    op.create_table(
        "applications",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("application_type", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("max_attempts", sa.BigInteger(), nullable=False),
        sa.Column("global_max_attempts", sa.BigInteger(), nullable=False),
        sa.Column("attempt_failures_validity_interval_ms", sa.BigInteger(), nullable=False),
        sa.Column("keep_containers_across_attempts", sa.Boolean(), nullable=False),
        sa.Column("is_unmanaged", sa.Boolean(), nullable=False),
        sa.Column("am_capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("am_capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("am_capability_extras", sa.JSON(), nullable=False),
        sa.Column("am_asked_capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("am_asked_capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("am_asked_capability_extras", sa.JSON(), nullable=False),
        sa.Column("am_node_label", sa.Text(), nullable=False),
        sa.Column("node_label", sa.Text(), nullable=False),
        sa.Column("view_acl", sa.Text(), nullable=False),
        sa.Column("modify_acl", sa.Text(), nullable=False),
        sa.Column("lifetime_s", sa.BigInteger(), nullable=False),
        sa.Column("context", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("final_status", sa.Text(), nullable=False),
        sa.Column("diagnostics", sa.Text(), nullable=False),
        sa.Column("current_attempt", sa.BigInteger(), nullable=False),
        sa.Column("failure_times_ms", sa.JSON(), nullable=False),
        sa.Column("submitted_ms", sa.BigInteger(), nullable=False),
        sa.Column("launched_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_applications")),
    )


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("application_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("am_container_id", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("rpc_port", sa.BigInteger(), nullable=False),
        sa.Column("tracking_url", sa.Text(), nullable=False),
        sa.Column("final_status", sa.Text(), nullable=False),
        sa.Column("diagnostics", sa.Text(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=False),
        sa.Column("container_sequence", sa.BigInteger(), nullable=False),
        sa.Column("keeps_containers", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["application_id"], ["applications.id"], name=op.f("fk_attempts_application_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_application_id"), "attempts", ["application_id"], unique=False)


def _containers() -> None:
    op.create_table(
        "containers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("capability_extras", sa.JSON(), nullable=False),
        sa.Column("asked_capability_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("asked_capability_vcores", sa.BigInteger(), nullable=False),
        sa.Column("asked_capability_extras", sa.JSON(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("allocation_request_id", sa.BigInteger(), nullable=False),
        sa.Column("execution_type", sa.Text(), nullable=False),
        sa.Column("asked_execution_type", sa.Text(), nullable=False),
        sa.Column("placement_hosts", sa.JSON(), nullable=False),
        sa.Column("placement_racks", sa.JSON(), nullable=False),
        sa.Column("placement_is_strict", sa.Boolean(), nullable=False),
        sa.Column("placement_avoid", sa.JSON(), nullable=False),
        sa.Column("placement_node_label", sa.Text(), nullable=False),
        sa.Column("placement_nodes", sa.JSON(), nullable=False),
        sa.Column("placement_rules", sa.JSON(), nullable=False),
        sa.Column("allocation_tags", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=False),
        sa.Column("exit_status", sa.BigInteger(), nullable=False),
        sa.Column("diagnostics", sa.Text(), nullable=False),
        sa.Column("is_acknowledged", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("resize_to_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("resize_to_vcores", sa.BigInteger(), nullable=False),
        sa.Column("resize_to_extras", sa.JSON(), nullable=False),
        sa.Column("update_type", sa.Text(), nullable=True),
        sa.Column("confirmed_memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("confirmed_vcores", sa.BigInteger(), nullable=False),
        sa.Column("confirmed_extras", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempts.id"], name=op.f("fk_containers_attempt_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_containers")),
    )
    op.create_index(op.f("ix_containers_attempt_id"), "containers", ["attempt_id"], unique=False)


def _master_keys() -> None:
    op.create_table(
        "master_keys",
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("purpose", "key_id", name=op.f("pk_master_keys")),
    )


def _delegation_tokens() -> None:
    op.create_table(
        "delegation_tokens",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("identifier", sa.LargeBinary(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_delegation_tokens")),
    )


def _scheduler_conf() -> None:
    op.create_table(
        "scheduler_conf",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_scheduler_conf_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduler_conf")),
    )
