"""The tables, one an entity, with a column for every field of its record.

Primary keys are the identifiers' text forms, so that a row can be found by what users type.  A resource is three
columns: memory, vcores and the further types as JSON.  Lists are JSON arrays.  Every number is 64 bits wide, whatever
the wire says.  A change here needs a migration: a test compares both.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    TypedColumns,
    false,
)

from yodel.store.columns import AnyText

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

IDENTITY_ROW = 1
"""The identity table has this one row, and so have the leadership, the scheduler's configuration, the schema window."""


class IdentityColumns(TypedColumns):
    id = Column(SmallInteger, primary_key=True, autoincrement=False)
    cluster_timestamp_ms = Column(BigInteger, nullable=False)
    epoch = Column(BigInteger, nullable=False)
    application_sequence = Column(BigInteger, nullable=False)
    delegation_sequence = Column(BigInteger, nullable=False)
    last_commit = Column(BigInteger, nullable=False, server_default="0")


class SchemaWindowColumns(TypedColumns):
    """Records which releases may use these tables (``yodel.store.schema``)."""

    id = Column(SmallInteger, primary_key=True, autoincrement=False)
    oldest_head = Column(Text, nullable=False)
    """The newest migration of the oldest release that may."""


class LeadershipColumns(TypedColumns):
    """PostgreSQL only: times are by the database's clock (``yodel.store.leadership``)."""

    id = Column(SmallInteger, primary_key=True, autoincrement=False)
    holder = Column(AnyText, nullable=False)
    expires_ms = Column(BigInteger, nullable=False)
    successor_until_ms = Column(BigInteger, nullable=False)


class QueueColumns(TypedColumns):
    path = Column(AnyText, primary_key=True)
    state = Column(Text, nullable=False)
    capacity_percent = Column(Double, nullable=False)
    maximum_capacity_percent = Column(Double, nullable=False)
    is_leaf = Column(Boolean, nullable=False)
    maximum_lifetime_s = Column(BigInteger, nullable=False)
    default_lifetime_s = Column(BigInteger, nullable=False)
    submit_acl = Column(AnyText)
    administer_acl = Column(AnyText)
    limits = Column(JSON(none_as_null=True))
    """The limits that are not as a row without limits has them (``yodel.store.queue_rows``)."""
    said = Column(JSON(none_as_null=True))
    """Pairs of a property and its text, as they were said."""


class QueueChangeColumns(TypedColumns):
    """Changes of the queue tree.  ``before`` and ``after`` are pairs of a property and its text."""

    version = Column(BigInteger, primary_key=True, autoincrement=False)
    author = Column(AnyText, nullable=False)
    time_ms = Column(BigInteger, nullable=False)
    reason = Column(AnyText, nullable=False)
    before = Column(JSON, nullable=False)
    after = Column(JSON, nullable=False)
    size = Column(BigInteger, nullable=False)
    """Characters of all of it: the oldest go when all together have too many."""
    since = Column(BigInteger)
    """The version before a change by an administrator of queues; null of all others."""


class NodeColumns(TypedColumns):
    id = Column(AnyText, primary_key=True)
    state = Column(Text, nullable=False)
    http_port = Column(BigInteger, nullable=False)
    capability_memory_mib = Column(BigInteger, nullable=False)
    capability_vcores = Column(BigInteger, nullable=False)
    capability_extras = Column(JSON, nullable=False)
    rack = Column(AnyText, nullable=False)
    labels = Column(JSON, nullable=False)
    kubernetes_node_name = Column(AnyText, nullable=False)
    version = Column(AnyText, nullable=False)
    health_report = Column(AnyText, nullable=False)
    last_health_ms = Column(BigInteger, nullable=False)
    decommissioning_since_ms = Column(BigInteger, nullable=False)
    decommissioning_timeout_s = Column(BigInteger, nullable=False)
    shuffle_clients = Column(JSON(none_as_null=True))
    is_node_manager = Column(Boolean, nullable=False, server_default=false())
    ordered_capability_memory_mib = Column(BigInteger, nullable=False)
    ordered_capability_vcores = Column(BigInteger, nullable=False)
    ordered_capability_extras = Column(JSON, nullable=False)
    lent_limit_cpu_milli = Column(BigInteger)
    lent_limit_memory_mib = Column(BigInteger)
    """Both null: no administrator has limited what it lends."""


class ApplicationColumns(TypedColumns):
    id = Column(Text, primary_key=True)
    sequence = Column(BigInteger, nullable=False)
    # What the submitter asked for.
    name = Column(AnyText, nullable=False)
    user = Column(AnyText, nullable=False)
    queue = Column(AnyText, nullable=False)
    application_type = Column(AnyText, nullable=False)
    tags = Column(JSON, nullable=False)
    priority = Column(BigInteger, nullable=False)
    max_attempts = Column(BigInteger, nullable=False)
    global_max_attempts = Column(BigInteger, nullable=False)
    attempt_failures_validity_interval_ms = Column(BigInteger, nullable=False)
    keep_containers_across_attempts = Column(Boolean, nullable=False)
    is_unmanaged = Column(Boolean, nullable=False)
    am_capability_memory_mib = Column(BigInteger, nullable=False)
    am_capability_vcores = Column(BigInteger, nullable=False)
    am_capability_extras = Column(JSON, nullable=False)
    am_asked_capability_memory_mib = Column(BigInteger, nullable=False)
    am_asked_capability_vcores = Column(BigInteger, nullable=False)
    am_asked_capability_extras = Column(JSON, nullable=False)
    am_node_label = Column(AnyText, nullable=False)
    node_label = Column(AnyText, nullable=False)
    view_acl = Column(AnyText, nullable=False)
    modify_acl = Column(AnyText, nullable=False)
    lifetime_s = Column(BigInteger, nullable=False)
    context = Column(LargeBinary, nullable=False)
    # What became of it.
    state = Column(Text, nullable=False)
    final_status = Column(Text, nullable=False)
    diagnostics = Column(AnyText, nullable=False)
    current_attempt = Column(BigInteger, nullable=False)
    failure_times_ms = Column(JSON, nullable=False)
    submitted_ms = Column(BigInteger, nullable=False)
    launched_ms = Column(BigInteger, nullable=False)
    finished_ms = Column(BigInteger, nullable=False)
    expires_ms = Column(BigInteger, nullable=False)


class AttemptColumns(TypedColumns):
    id = Column(Text, primary_key=True)
    application_id = Column(Text, ForeignKey("applications.id", ondelete="CASCADE"), nullable=False, index=True)
    attempt = Column(BigInteger, nullable=False)
    state = Column(Text, nullable=False)
    am_container_id = Column(Text)
    host = Column(AnyText, nullable=False)
    rpc_port = Column(BigInteger, nullable=False)
    tracking_url = Column(AnyText, nullable=False)
    final_status = Column(Text, nullable=False)
    diagnostics = Column(AnyText, nullable=False)
    started_ms = Column(BigInteger, nullable=False)
    finished_ms = Column(BigInteger, nullable=False)
    container_sequence = Column(BigInteger, nullable=False)
    """Read by releases that gave a container the next number of its attempt, over restarts too."""
    keeps_containers = Column(Boolean, nullable=False)
    shuffle = Column(JSON(none_as_null=True))
    """The words of its queue on remote shuffle; null: none."""
    awaits_agent = Column(Boolean, nullable=False, server_default=false())
    client_key = Column(LargeBinary)
    """Null without security."""


class ContainerColumns(TypedColumns):
    id = Column(Text, primary_key=True)
    attempt_id = Column(Text, ForeignKey("attempts.id", ondelete="CASCADE"), nullable=False, index=True)
    number = Column(BigInteger, nullable=False)
    type = Column(Text, nullable=False)
    user = Column(AnyText, nullable=False)
    queue = Column(AnyText, nullable=False)
    capability_memory_mib = Column(BigInteger, nullable=False)
    capability_vcores = Column(BigInteger, nullable=False)
    capability_extras = Column(JSON, nullable=False)
    asked_capability_memory_mib = Column(BigInteger, nullable=False)
    asked_capability_vcores = Column(BigInteger, nullable=False)
    asked_capability_extras = Column(JSON, nullable=False)
    priority = Column(BigInteger, nullable=False)
    allocation_request_id = Column(BigInteger, nullable=False)
    execution_type = Column(Text, nullable=False)
    asked_execution_type = Column(Text, nullable=False)
    placement_hosts = Column(JSON, nullable=False)
    placement_racks = Column(JSON, nullable=False)
    placement_is_strict = Column(Boolean, nullable=False)
    placement_avoid = Column(JSON, nullable=False)
    placement_node_label = Column(AnyText, nullable=False)
    placement_nodes = Column(JSON, nullable=False)
    placement_rules = Column(JSON, nullable=False)
    allocation_tags = Column(JSON, nullable=False)
    state = Column(Text, nullable=False)
    target = Column(Text, nullable=False)
    node_id = Column(AnyText)
    created_ms = Column(BigInteger, nullable=False)
    finished_ms = Column(BigInteger, nullable=False)
    exit_status = Column(BigInteger, nullable=False)
    diagnostics = Column(AnyText, nullable=False)
    is_acknowledged = Column(Boolean, nullable=False)
    version = Column(BigInteger, nullable=False)
    resize_to_memory_mib = Column(BigInteger, nullable=False)
    resize_to_vcores = Column(BigInteger, nullable=False)
    resize_to_extras = Column(JSON, nullable=False)
    update_type = Column(Text)
    confirmed_memory_mib = Column(BigInteger, nullable=False)
    confirmed_vcores = Column(BigInteger, nullable=False)
    confirmed_extras = Column(JSON, nullable=False)
    pod = Column(AnyText)
    """Null where the release before wrote the row."""
    awaits_agent = Column(Boolean, nullable=False, server_default=false())


class EndedContainerColumns(TypedColumns):
    """Stores ended containers for reports; no decision reads them, and rows are deleted when they are too old or too
    many."""

    application_id = Column(Text, ForeignKey("applications.id", ondelete="CASCADE"), primary_key=True)
    attempt = Column(BigInteger, primary_key=True, autoincrement=False)
    number = Column(BigInteger, primary_key=True, autoincrement=False)
    type = Column(Text, nullable=False)
    user = Column(AnyText, nullable=False)
    queue = Column(AnyText, nullable=False)
    capability_memory_mib = Column(BigInteger, nullable=False)
    capability_vcores = Column(BigInteger, nullable=False)
    capability_extras = Column(JSON, nullable=False)
    priority = Column(BigInteger, nullable=False)
    allocation_request_id = Column(BigInteger, nullable=False)
    allocation_tags = Column(JSON, nullable=False)
    node_id = Column(AnyText)
    created_ms = Column(BigInteger, nullable=False)
    finished_ms = Column(BigInteger, nullable=False, index=True)
    exit_status = Column(BigInteger, nullable=False)
    diagnostics = Column(AnyText, nullable=False)
    pod = Column(AnyText)


class PastUsageColumns(TypedColumns):
    """``node_id`` is empty for containers that never had a node."""

    application_id = Column(Text, ForeignKey("applications.id", ondelete="CASCADE"), primary_key=True)
    node_id = Column(AnyText, primary_key=True)
    containers = Column(BigInteger, nullable=False)
    memory_mib_s = Column(BigInteger, nullable=False)
    vcore_s = Column(BigInteger, nullable=False)
    preempted_masters = Column(BigInteger, nullable=False, server_default="0")
    preempted_others = Column(BigInteger, nullable=False, server_default="0")
    preempted_memory_mib = Column(BigInteger, nullable=False, server_default="0")
    preempted_vcores = Column(BigInteger, nullable=False, server_default="0")
    preempted_memory_mib_s = Column(BigInteger, nullable=False, server_default="0")
    preempted_vcore_s = Column(BigInteger, nullable=False, server_default="0")


class MasterKeyColumns(TypedColumns):
    purpose = Column(AnyText, primary_key=True)
    key_id = Column(BigInteger, primary_key=True, autoincrement=False)
    secret = Column(LargeBinary, nullable=False)
    position = Column(BigInteger, nullable=False)
    """Grows with every new key: key ids start at random and may wrap, so they do not say which is newest."""


class DelegationTokenColumns(TypedColumns):
    sequence = Column(BigInteger, primary_key=True, autoincrement=False)
    identifier = Column(LargeBinary, nullable=False)
    expires_ms = Column(BigInteger, nullable=False)


class SchedulerConfColumns(TypedColumns):
    """Stores the changes of the scheduler's configuration: one row, which is read and written whole."""

    id = Column(SmallInteger, primary_key=True, autoincrement=False)
    version = Column(BigInteger, nullable=False)
    properties = Column(JSON, nullable=False)


identity = Table("identity", metadata, IdentityColumns, CheckConstraint(f"id = {IDENTITY_ROW}", name="one_row"))
schema_window = Table(
    "schema_window", metadata, SchemaWindowColumns, CheckConstraint(f"id = {IDENTITY_ROW}", name="one_row")
)
leadership = Table("leadership", metadata, LeadershipColumns, CheckConstraint(f"id = {IDENTITY_ROW}", name="one_row"))
queues = Table("queues", metadata, QueueColumns)
queue_changes = Table("queue_changes", metadata, QueueChangeColumns)
nodes = Table("nodes", metadata, NodeColumns)
applications = Table("applications", metadata, ApplicationColumns)
attempts = Table("attempts", metadata, AttemptColumns)
containers = Table("containers", metadata, ContainerColumns)
ended_containers = Table(
    "ended_containers", metadata, EndedContainerColumns, Index(None, "application_id", "finished_ms")
)
past_usage = Table("past_usage", metadata, PastUsageColumns)
master_keys = Table("master_keys", metadata, MasterKeyColumns)
delegation_tokens = Table("delegation_tokens", metadata, DelegationTokenColumns)
scheduler_conf = Table(
    "scheduler_conf", metadata, SchedulerConfColumns, CheckConstraint(f"id = {IDENTITY_ROW}", name="one_row")
)
