"""The store on a SQL database: SQLite for one machine, PostgreSQL when a standby has to take over.

A commit is one transaction whose first statement is an update of the identity row *where the epoch is ours*: it proves
that nobody opened the store after us and, by its row lock, that nobody can until the transaction ends.  It takes the
database's default isolation for exactly that reason: nothing else is read in a commit.

That statement also writes the commit's number.  Whoever did not hear how a commit ended asks for the last number with
the row locked: a transaction that has got as far as COMMIT holds that lock until it has ended, one that has not got
there never will, since it is we who would send it.

It refuses to make or change tables (``yodel.store.migrating.migrate`` does) and never retries: the caller repeats a
commit, which is harmless because rows are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from sqlalchemy import (
    Case,
    Column,
    Connection,
    Delete,
    Insert,
    Table,
    bindparam,
    case,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.queues.history import ChangesKept, TreeChange, folded, surplus
from yodel.domain.queues.queue import Queue
from yodel.domain.tokens import MasterKey
from yodel.ports.store import ClusterIdentity, Commit, EndedKept, FencedOut, Row, Snapshot
from yodel.store import change_rows, ended_rows, queue_rows, rows, tables
from yodel.store.engine import STATEMENT_TIMEOUT_S, Database, answering
from yodel.store.errors import OrphanRow
from yodel.store.prepared import ROWS_A_STATEMENT, Prepared, PreparedUpsert
from yodel.store.schema import require_usable
from yodel.store.snapshots import snapshot_of
from yodel.store.sql_lease import LEADER_PREFIX, cut_off_others, require_lease
from yodel.store.values import Values

OPEN_TIMEOUT_S = 120.0
"""Reading everything: about 40 µs a row, so two orders of magnitude of room at ten thousand containers."""
STATEMENTS_IN_TIME = 3
"""A commit may last as long as this many statements: waiting for the lock, writing, syncing to disk."""
CLOSE_TIMEOUT_S = 10.0
REMOVED_FROM: Sequence[Table[Any]] = (
    tables.containers,
    tables.attempts,
    tables.applications,
    tables.delegation_tokens,
    tables.master_keys,
    tables.queues,
)
WRITTEN_AT_ONCE = 12 * ROWS_A_STATEMENT
"""Rows; six milliseconds of processor time of containers, half of it to make their values."""


class Lead(Protocol):
    """Describes the lead that a writer needs if there may be several."""

    @property
    def holder(self) -> str: ...

    def require(self) -> None:
        """Raises LeadLost."""


class SqlStore:
    """See ``yodel.ports.store.Store``.  ``url`` names its driver; no connection is made before ``open``.

    ``statement_timeout_s`` bounds every statement, and waiting for another process's lock.  With a ``lead``, which only
    PostgreSQL has, nothing is opened or written without it.

    Raises:
        InvalidValue: the URL is not one of the two kinds served.
        Unavailable: the SQLite file cannot be made.
    """

    def __init__(self, url: str, *, statement_timeout_s: float = STATEMENT_TIMEOUT_S, lead: Lead | None = None) -> None:
        self._database = Database(
            url,
            statement_timeout_s=statement_timeout_s,
            lock_timeout_s=statement_timeout_s,
            application_name="yodel" if lead is None else f"{LEADER_PREFIX}{lead.holder}",
        )
        self._readers = Database(
            url, statement_timeout_s=statement_timeout_s, lock_timeout_s=statement_timeout_s, is_reader=True
        )
        """A connection of its own for pages of what ended: whoever reads them keeps no commit waiting."""
        self._statement_timeout_s = statement_timeout_s
        self._lead = lead
        self._commit_timeout_s = STATEMENTS_IN_TIME * statement_timeout_s
        dialect = self._database.engine.dialect
        self._dialect = dialect.name
        self._upserts = {kind: PreparedUpsert(kind.table, dialect) for kind in rows.KINDS}
        self._upsert_ended = PreparedUpsert(tables.ended_containers, dialect)
        self._upsert_change = PreparedUpsert(tables.queue_changes, dialect)
        self._upsert_master_key = Prepared(_master_key_upsert(dialect.name), dialect)
        self._epoch_proof = Prepared(_EPOCH_PROOF, dialect)
        self._removals = {table: Prepared(_removal(table), dialect) for table in REMOVED_FROM}
        self._epoch: int | None = None

    async def open(self, *, now_ms: int, default_queues: Sequence[Queue]) -> Snapshot:
        """Take the store over and read everything.

        Raises:
            SchemaNotAtHead: the tables are missing, or too old or too new for this release.
            LeadLost: another leads by now.
            Unavailable: the database does not answer.
        """
        snapshot = await self._database.transact(
            "open", OPEN_TIMEOUT_S, lambda connection: self._open(connection, now_ms, default_queues)
        )
        self._epoch = snapshot.identity.epoch
        return snapshot

    def _open(self, connection: Connection, now_ms: int, default_queues: Sequence[Queue]) -> Snapshot:
        require_usable(connection)
        if self._lead is not None:
            self._lead.require()
            cut_off_others(connection, self._lead.holder)
        identity = self._take_over(connection, now_ms)
        if self._lead is not None:
            # With the identity locked: whoever claims the lease after this opens the store after us, and fences us.
            require_lease(connection, self._lead.holder)
        if identity.epoch == 0:
            self._write(connection, default_queues)
        return _read(connection, identity)

    async def commit(self, commit: Commit) -> None:
        """Write one transaction.  Rows are written before removals: what is both written and removed is gone.

        Raises:
            LeadLost: the lease has ended; nothing was tried.
            FencedOut: the epoch in the store is not the one we opened.
            OrphanRow: an attempt without its application, a container without its attempt.
            Unavailable: the database does not answer; nothing was written.
            OutcomeUnknown: it does not answer and has been told to commit.
        """
        assert self._epoch is not None, "the store is not open"
        if self._lead is not None:
            self._lead.require()
        epoch = self._epoch
        try:
            await self._database.transact(
                "commit", self._commit_timeout_s, lambda connection: self._commit(connection, epoch, commit)
            )
        except IntegrityError as error:
            raise OrphanRow from error

    def _commit(self, connection: Connection, epoch: int, commit: Commit) -> None:
        self._prove_epoch(connection, epoch, commit)
        gone = {row.id for row in commit.ended_containers}
        self._write(connection, [row for row in commit.rows if not (isinstance(row, Container) and row.id in gone)])
        self._write_master_keys(connection, commit.master_keys)
        self._write_ended(connection, commit.ended_containers)
        self._remove(connection, tables.containers, commit.removed_containers)
        self._remove(connection, tables.attempts, commit.removed_attempts)
        self._remove(connection, tables.applications, commit.removed_applications)
        self._remove(connection, tables.delegation_tokens, commit.removed_delegation_tokens)
        self._remove(connection, tables.master_keys, commit.removed_master_keys)
        self._remove(connection, tables.queues, commit.removed_queues)
        self._write_changes(connection, commit)

    async def last_commit(self) -> int:
        """The number of the last commit that happened; see the module's docstring.

        Raises:
            FencedOut: the epoch in the store is not the one we opened.
            Unavailable: the database does not answer, or a commit is still under way.
        """
        assert self._epoch is not None, "the store is not open"
        row = await self._database.run(
            "report its last commit",
            self._commit_timeout_s,
            lambda connection: connection.execute(_LAST_COMMIT).mappings().one(),
        )
        if row["epoch"] != self._epoch:
            raise _fenced_out(self._epoch)
        return int(row["last_commit"])

    async def ended_page(
        self, application_id: ApplicationId, after: ContainerId | None, limit: int
    ) -> Sequence[Container]:
        """See the port."""
        statement = ended_rows.page(application_id, after, limit)
        found = await self._readers.run(
            "read ended containers",
            self._statement_timeout_s,
            lambda connection: connection.execute(statement).mappings().all(),
        )
        return [ended_rows.ended_from(row) for row in found]

    async def tree_changes(self, before: int | None, limit: int) -> Sequence[TreeChange]:
        """See the port."""
        found = await self._readers.run(
            "read changes of queues",
            self._statement_timeout_s,
            lambda connection: connection.execute(change_rows.page(before, limit)).mappings().all(),
        )
        return [change_rows.change_from(row) for row in found]

    async def prune_ended(self, kept: EndedKept, now_ms: int, batch: int) -> int:
        """See the port.  Raises as ``commit`` does."""
        assert self._epoch is not None, "the store is not open"
        if self._lead is not None:
            self._lead.require()
        epoch = self._epoch

        def prune(connection: Connection) -> int:
            self._prove_epoch(connection, epoch, Commit())
            return _prune(connection, kept, now_ms, batch)

        return await self._database.transact("prune", self._commit_timeout_s, prune)

    async def close(self) -> None:
        """Let go.  Closing twice is harmless."""
        self._epoch = None
        async with answering("close", CLOSE_TIMEOUT_S):
            await self._readers.close()
            await self._database.close()

    def _take_over(self, connection: Connection, now_ms: int) -> ClusterIdentity:
        """Make the identity if there is none, then count this opening."""
        first = _insert(self._dialect, tables.identity).values(
            id=tables.IDENTITY_ROW,
            cluster_timestamp_ms=now_ms,
            epoch=-1,
            application_sequence=0,
            delegation_sequence=0,
            last_commit=0,
        )
        connection.execute(first.on_conflict_do_nothing())
        # The update locks the row: of two that open at once, the second counts from what the first wrote.
        connection.execute(update(tables.identity).values(epoch=tables.identity.c.epoch + 1))
        row = (connection.execute(select(tables.identity))).mappings().one()
        return ClusterIdentity(
            cluster_timestamp_ms=row["cluster_timestamp_ms"],
            epoch=row["epoch"],
            application_sequence=row["application_sequence"],
            delegation_sequence=row["delegation_sequence"],
            last_commit=row["last_commit"],
        )

    def _prove_epoch(self, connection: Connection, epoch: int, commit: Commit) -> None:
        """One update both reserves numbers (never fewer than before) and fences."""
        numbers = {
            "our_epoch": epoch,
            "application_number": commit.application_sequence or 0,
            "delegation_number": commit.delegation_sequence or 0,
            "commit_number": commit.number or 0,
        }
        if self._epoch_proof.execute(connection, [numbers]) != 1:
            raise _fenced_out(epoch)

    def _write(self, connection: Connection, records: Sequence[Row]) -> None:
        for kind, some in rows.by_kind(records):
            _execute_many(connection, self._upserts[kind], map(kind.to_values, some))

    def _write_ended(self, connection: Connection, containers: Sequence[Container]) -> None:
        _execute_many(connection, self._upsert_ended, map(ended_rows.ended_values, containers))
        self._remove(connection, tables.containers, [row.id for row in containers])

    def _write_changes(self, connection: Connection, commit: Commit) -> None:
        if commit.tree_changes:
            self._upsert_change.execute(connection, list(map(change_rows.change_values, commit.tree_changes)))
            self._remove_surplus(connection, commit.tree_changes_kept)

    def _remove_surplus(self, connection: Connection, kept: ChangesKept) -> None:
        """The oldest changes; what is put together with a newer one is read first."""
        gone = surplus((connection.execute(change_rows.KEPT)).all(), kept)
        if not gone:
            return
        versions = {number for version, into in gone if into is not None for number in (version, into)}
        found = (connection.execute(change_rows.of_versions(versions))).mappings().all() if versions else []
        by_version = {row["version"]: change_rows.change_from(row) for row in found}
        if made := folded(by_version, gone):
            self._upsert_change.execute(connection, list(map(change_rows.change_values, made)))
        connection.execute(change_rows.without(version for version, _ in gone))

    def _remove(self, connection: Connection, table: Table[Any], keys: Sequence[object]) -> None:
        """Remove rows by primary keys; those that belong to them go with them, by the foreign keys."""
        if not keys:
            return
        names = [column.name for column in table.primary_key]
        parts = (key if isinstance(key, tuple) else (_plain(key),) for key in keys)
        _execute_many(connection, self._removals[table], (dict(zip(names, key, strict=True)) for key in parts))

    def _write_master_keys(self, connection: Connection, keys: Iterable[tuple[str, MasterKey]]) -> None:
        values = [{"purpose": purpose, "key_id": key.key_id, "secret": key.secret} for purpose, key in keys]
        _execute_many(connection, self._upsert_master_key, values)


def _fenced_out(epoch: int) -> FencedOut:
    return FencedOut(f"Another ResourceManager opened the store after us (our epoch is {epoch})")


def _execute_many(connection: Connection, statement: Prepared | PreparedUpsert, values: Iterable[Values]) -> None:
    """Values are made and bound a slice at a time: twenty thousand rows in one go keep the loop for half a second."""
    left = iter(values)
    while some := list(islice(left, WRITTEN_AT_ONCE)):
        statement.execute(connection, some)


def _prune(connection: Connection, kept: EndedKept, now_ms: int, batch: int) -> int:
    gone = (connection.execute(ended_rows.older_than(now_ms - kept.age_s * 1000, batch))).rowcount
    excess = (connection.execute(ended_rows.counted())).scalar_one() - kept.in_all
    if gone < batch and excess > 0:
        gone += (connection.execute(ended_rows.oldest(min(excess, batch - gone)))).rowcount
    if gone == batch:
        return gone
    crowded = (connection.execute(ended_rows.crowded(kept.per_application, batch))).all()
    for application_id, count in crowded:
        most = min(count - kept.per_application, batch - gone)
        if most > 0:
            gone += (connection.execute(ended_rows.oldest_of(application_id, most))).rowcount
    return gone


def _at_least(column: Column[int], number: str) -> Case[int]:
    """``number`` is the parameter's name."""
    wanted = bindparam(number, type_=column.type)
    return case((column < wanted, wanted), else_=column)


_EPOCH_PROOF = (
    update(tables.identity)
    .where(tables.identity.c.epoch == bindparam("our_epoch"))
    .values(
        application_sequence=_at_least(tables.identity.c.application_sequence, "application_number"),
        delegation_sequence=_at_least(tables.identity.c.delegation_sequence, "delegation_number"),
        last_commit=_at_least(tables.identity.c.last_commit, "commit_number"),
    )
)
_LAST_COMMIT = select(tables.identity.c.epoch, tables.identity.c.last_commit).with_for_update()


def _removal(table: Table[Any]) -> Delete:
    return delete(table).where(*(column == bindparam(column.name) for column in table.primary_key))


def _plain(key: object) -> object:
    return key if isinstance(key, int) else str(key)


def _read(connection: Connection, identity: ClusterIdentity) -> Snapshot:
    read = {kind: (connection.execute(select(kind.table))).mappings().all() for kind in rows.KINDS}
    key_rows = (connection.execute(select(tables.master_keys).order_by(tables.master_keys.c.position))).mappings()
    return snapshot_of(
        identity,
        queues=queue_rows.linked(map(queue_rows.queue_from, read[rows.QUEUES])),
        nodes=map(rows.node_from, read[rows.NODES]),
        applications=map(rows.application_from, read[rows.APPLICATIONS]),
        attempts=map(rows.attempt_from, read[rows.ATTEMPTS]),
        containers=map(rows.container_from, read[rows.CONTAINERS]),
        master_keys=map(rows.master_key_from, key_rows),
        delegation_tokens=map(rows.delegation_token_from, read[rows.DELEGATION_TOKENS]),
        past_usage=map(ended_rows.past_usage_from, read[rows.PAST_USAGE]),
        scheduler_conf=next(map(queue_rows.scheduler_conf_from, read[rows.SCHEDULER_CONF]), None),
    )


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def _master_key_upsert(dialect: str) -> Insert:
    """A new key goes last; one that is written again keeps its place."""
    table = tables.master_keys
    last = select(func.coalesce(func.max(table.c.position), 0)).scalar_subquery()
    statement = _insert(dialect, table).values(
        purpose=bindparam("purpose"), key_id=bindparam("key_id"), secret=bindparam("secret"), position=last + 1
    )
    return statement.on_conflict_do_update(
        index_elements=["purpose", "key_id"], set_={"secret": statement.excluded["secret"]}
    )
