"""The migrations make the tables that ``yodel.store.tables`` describes, on both databases, once, whoever else tries."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, make_url, text

import migrations.versions
from tests.support.later_schema import CONTRACTED, EXPANDED, contracted, expanded
from tests.support.postgres import PostgresServer
from tests.support.records import a_container, an_application, an_attempt, an_attempt_id
from yodel.domain.ids import ContainerId, dns_name
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.errors import Unavailable
from yodel.ports.store import Commit
from yodel.store import migrating
from yodel.store.engine import Database
from yodel.store.errors import SchemaNotAtHead
from yodel.store.migrating import MIGRATION_LOCK_KEY, head_revision, migrate
from yodel.store.schema import HEAD_REVISION, look, migrate_if_behind, wait_until_usable
from yodel.store.sql_store import SqlStore
from yodel.store.tables import metadata

VERSION_TABLE = "alembic_version"


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/empty.db"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(server.new_database())


@pytest.fixture
def another_empty_url(empty_url: str, request: pytest.FixtureRequest) -> str:
    """Another of the same kind."""
    if empty_url.startswith("sqlite"):
        return empty_url.replace("empty.db", "another.db")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(server.new_database())


def schema_of(connection: Connection) -> dict[str, Any]:
    """All that a database says of its tables, in a form to compare."""
    inspector = inspect(connection)
    return {
        name: {
            "columns": {c["name"]: (str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(name)},
            "primary key": inspector.get_pk_constraint(name),
            "foreign keys": inspector.get_foreign_keys(name),
            "indexes": inspector.get_indexes(name),
            "unique": inspector.get_unique_constraints(name),
            "checks": inspector.get_check_constraints(name),
        }
        for name in inspector.get_table_names()
        if name != VERSION_TABLE
    }


async def inspected(url: str, what: Any) -> Any:
    database = Database(url)
    try:
        return await database.transact("be inspected", 60, what)
    finally:
        await database.close()


async def test_migrations_make_the_tables_that_the_code_describes(empty_url: str, another_empty_url: str) -> None:
    await migrate(empty_url)
    await inspected(another_empty_url, metadata.create_all)

    assert await inspected(empty_url, schema_of) == await inspected(another_empty_url, schema_of)


async def test_alembic_finds_nothing_left_to_migrate(empty_url: str) -> None:
    await migrate(empty_url)

    def differences(connection: Connection) -> Any:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)

    assert await inspected(empty_url, differences) == []


async def test_migrate_tells_what_it_applied_and_does_nothing_the_second_time(empty_url: str) -> None:
    applied, again = await migrate(empty_url), await migrate(empty_url)

    assert applied[-1] == head_revision()
    assert again == []


async def test_a_database_says_what_it_has_before_and_after(empty_url: str) -> None:
    before = await look(empty_url)
    await migrate(empty_url)

    assert (before.current, before.is_usable, before.is_behind) == (None, False, True)
    after = await look(empty_url)
    assert (after.current, after.is_usable, after.is_behind) == (head_revision(), True, False)


async def test_of_migrators_at_the_same_moment_one_applies_and_all_succeed(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_url) for _ in range(3)))

    assert sorted(map(len, applied))[:2] == [0, 0]
    assert (await look(empty_url)).current == head_revision()


async def test_nobody_is_lost_when_an_sqlite_file_is_made_by_several(tmp_path: Path) -> None:
    """Once, of a hundred rounds, 19 lost one: SQLite does not wait for who sets the journal's mode."""
    for round_ in range(20):
        url = f"sqlite+aiosqlite:///{tmp_path}/{round_}.db"
        applied = await asyncio.gather(*(migrate(url) for _ in range(3)))
        assert sorted(map(len, applied))[:2] == [0, 0]


async def test_migrator_that_cannot_get_the_lock_gives_up_and_changes_nothing(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "MIGRATION_LOCK_TIMEOUT_S", 0.2)
    other = another_migrator(empty_url)
    try:
        with pytest.raises(Unavailable, match="migrate"):
            await migrate(empty_url)
    finally:
        other.close()

    assert (await look(empty_url)).current is None


@pytest.mark.parametrize(
    ("leaf", "enforcement"), [("root.default", LimitEnforcement.LIMIT), ("root.etl", LimitEnforcement.OBSERVE)]
)
async def test_only_a_tree_that_had_several_queues_goes_on_without_limits(
    empty_url: str, leaf: str, enforcement: LimitEnforcement
) -> None:
    await migrate(empty_url)
    store = SqlStore(empty_url)
    await store.open(now_ms=1, default_queues=(Queue(path="root", is_leaf=False), Queue(path=leaf)))
    await store.close()
    await take_back_to("0003", empty_url)
    await migrate(empty_url)
    store = SqlStore(empty_url)
    found = await store.open(now_ms=2, default_queues=())
    await store.close()
    assert {queue.path: queue.enforcement for queue in found.queues}["root"] is enforcement


ADDED = {
    "0014": ("ALTER TABLE attempts DROP COLUMN client_key",),
    "0013": ("ALTER TABLE nodes DROP COLUMN is_node_manager",),
    "0012": ("ALTER TABLE nodes DROP COLUMN shuffle_clients",),
    "0011": (
        "ALTER TABLE nodes DROP COLUMN lent_limit_cpu_milli",
        "ALTER TABLE nodes DROP COLUMN lent_limit_memory_mib",
    ),
    "0010": ("ALTER TABLE containers DROP COLUMN awaits_agent", "ALTER TABLE attempts DROP COLUMN awaits_agent"),
    "0009": ("ALTER TABLE attempts DROP COLUMN shuffle",),
    "0008": ("ALTER TABLE queue_changes DROP COLUMN since",),
    "0004": ("ALTER TABLE queues DROP COLUMN limits",),
    "0005": ("ALTER TABLE queues DROP COLUMN said", "DROP TABLE queue_changes"),
    "0006": ("ALTER TABLE containers DROP COLUMN pod", "ALTER TABLE ended_containers DROP COLUMN pod"),
    "0007": tuple(
        f"ALTER TABLE past_usage DROP COLUMN preempted_{name}"
        for name in ("masters", "others", "memory_mib", "vcores", "memory_mib_s", "vcore_s")
    ),
}
"""Statements that take a migration back: a database becomes what an older release would have left."""


async def take_back_to(revision: str, url: str) -> None:
    statements = [statement for added, back in ADDED.items() if added > revision for statement in back]

    def take_back(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})

    await inspected(url, take_back)


async def test_containers_of_the_release_before_have_the_pods_that_it_made(empty_url: str) -> None:
    """The migration writes their names down; a row that the other release writes afterwards means the same."""
    await migrate(empty_url)
    store = SqlStore(empty_url)
    await store.open(now_ms=1, default_queues=())
    ids = [ContainerId.of(an_attempt_id(attempt=104), 1_234_567, epoch=epoch) for epoch in (0, 3, 104)]
    rows = [a_container(id=container_id, pod="another") for container_id in ids]
    await store.commit(Commit(rows=[an_application(), an_attempt(attempt=104, am_container_id=None), *rows]))
    await store.close()
    await take_back_to("0005", empty_url)
    await migrate(empty_url)
    filled = await inspected(empty_url, lambda connection: connection.execute(text(PODS)).all())
    assert dict(filled) == {str(found): dns_name(found) for found in ids}

    await inspected(empty_url, lambda connection: connection.execute(text("UPDATE containers SET pod = NULL")))
    store = SqlStore(empty_url)
    found = await store.open(now_ms=2, default_queues=())
    await store.close()
    assert {container.id: container.pod for container in found.containers} == {i: dns_name(i) for i in ids}


PODS = "SELECT id, pod FROM containers"


def another_migrator(url: str) -> sqlite3.Connection | psycopg.Connection[Any]:
    """A connection that holds what a migration holds."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        assert parsed.database is not None
        file = sqlite3.connect(parsed.database, isolation_level=None)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("BEGIN IMMEDIATE")
        return file
    server = psycopg.connect(parsed.set(drivername="postgresql").render_as_string(hide_password=False))
    server.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK_KEY])
    return server


async def test_failed_migration_leaves_no_table_behind(empty_url: str) -> None:
    """A table of the same name is in the way: everything made before it is undone."""
    await inspected(empty_url, lambda connection: connection.exec_driver_sql("CREATE TABLE master_keys (x integer)"))

    with pytest.raises(Exception, match="master_keys"):
        await migrate(empty_url)

    assert set(await inspected(empty_url, schema_of)) == {"master_keys"}
    assert (await look(empty_url)).current is None


def test_the_release_names_the_newest_migration() -> None:
    assert head_revision() == HEAD_REVISION


def test_tables_of_a_release_that_does_without_what_this_one_uses_are_refused(sql_url: str) -> None:
    store = SqlStore(contracted(sql_url))

    async def opened() -> None:
        try:
            await store.open(now_ms=1, default_queues=())
        finally:
            await store.close()

    with pytest.raises(SchemaNotAtHead, match=rf"at version {CONTRACTED}, for releases from {EXPANDED} on"):
        asyncio.run(opened())


def test_nobody_migrates_later_tables_backwards_or_waits_for_them(sql_url: str) -> None:
    expanded(sql_url)

    assert asyncio.run(migrate_if_behind(sql_url)) == []
    assert asyncio.run(wait_until_usable(sql_url, 1)) == EXPANDED


WINDOW_SINCE = "0003"
TAKES_AWAY = re.compile(r"\bop\.(drop_\w+|alter_column|rename_table|batch_alter_table)\(|\b(DROP|RENAME)\b")


def takes_away_silently(source: str) -> bool:
    """Return whether a migration may break the release before, and does not say from which release on it is."""
    return TAKES_AWAY.search(source) is not None and "schema_window" not in source


def test_a_migration_that_takes_away_says_whom_it_still_serves() -> None:
    folder = Path(migrations.versions.__path__[0])
    sources = {path.name: path.read_text() for path in folder.glob("v*.py") if path.name[1:5] > WINDOW_SINCE}
    assert [name for name, source in sources.items() if takes_away_silently(source)] == []
    assert takes_away_silently("op.drop_column('nodes', 'rack')")
    assert not takes_away_silently("op.drop_column('nodes', 'rack'); op.execute('UPDATE schema_window SET ...')")
