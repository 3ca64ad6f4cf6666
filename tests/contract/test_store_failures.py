"""A store on a real database fails with a reason when the database is away, busy or not ours."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from tests.support.postgres import PostgresServer
from tests.support.records import an_application
from yodel.domain.queues.queue import default_queues
from yodel.errors import Unavailable
from yodel.ports.store import Commit
from yodel.store.errors import SchemaNotAtHead
from yodel.store.migrating import migrate
from yodel.store.schema import look
from yodel.store.sql_store import SqlStore

PATIENCE_S = 2.0


@pytest.fixture
async def impatient(sql_url: str) -> AsyncIterator[SqlStore]:
    """An open store with a short patience."""
    store = SqlStore(sql_url, statement_timeout_s=PATIENCE_S)
    await store.open(now_ms=1, default_queues=default_queues())
    yield store
    await store.close()


@contextlib.contextmanager
def locked(url: str) -> Iterator[None]:
    """Another process is in the middle of a transaction."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        assert parsed.database is not None
        connection = sqlite3.connect(parsed.database, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.close()
        return
    with psycopg.connect(parsed.set(drivername="postgresql").render_as_string(hide_password=False)) as other:
        other.execute("UPDATE identity SET epoch = epoch")
        yield
        other.rollback()


async def test_commit_behind_a_lock_is_unavailable_in_time_and_names_its_cause(
    impatient: SqlStore, sql_url: str
) -> None:
    with locked(sql_url), pytest.raises(Unavailable) as raised:
        async with asyncio.timeout(60):
            await impatient.commit(Commit(rows=[an_application()]))

    assert raised.value.__cause__ is not None
    assert "commit" in str(raised.value)


async def test_store_works_on_when_the_lock_is_gone(impatient: SqlStore, sql_url: str) -> None:
    with locked(sql_url), pytest.raises(Unavailable):
        await impatient.commit(Commit(rows=[an_application()]))

    await impatient.commit(Commit(rows=[an_application()]))


async def test_takeover_behind_a_lock_is_unavailable(sql_url: str) -> None:
    await open_and_close(sql_url)
    with locked(sql_url), pytest.raises(Unavailable):
        await open_and_close(sql_url)


async def open_and_close(url: str) -> None:
    store = SqlStore(url, statement_timeout_s=PATIENCE_S)
    try:
        await store.open(now_ms=1, default_queues=default_queues())
    finally:
        await store.close()


async def test_cancelled_commit_leaves_the_store_usable(sql_url: str) -> None:
    """The store is a patient one: on a busy machine a new connection takes longer than the short patience."""
    store = SqlStore(sql_url)
    await store.open(now_ms=1, default_queues=default_queues())
    commit = Commit(rows=[an_application(n) for n in range(1, 500)])
    for turns in range(12):
        task = asyncio.create_task(store.commit(commit))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    await store.commit(Commit(rows=[an_application()]))
    await store.close()


async def test_failure_shows_neither_parameters_nor_password(impatient: SqlStore, sql_url: str) -> None:
    with locked(sql_url), pytest.raises(Unavailable) as raised:
        await impatient.commit(Commit(rows=[an_application(diagnostics="do not show this")]))

    assert "do not show this" not in f"{raised.value} {raised.value.__cause__!r}"


async def test_commit_survives_a_connection_that_was_cut(postgres_url: str, postgres_server: PostgresServer) -> None:
    """One commit may fail; the next one has a new connection."""
    store = SqlStore(postgres_url)
    await store.open(now_ms=1, default_queues=default_queues())
    postgres_server.execute(
        sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(
            sql.Literal(make_url(postgres_url).database)
        )
    )
    with pytest.raises(Unavailable):
        await store.commit(Commit(rows=[an_application()]))

    await store.commit(Commit(rows=[an_application()]))
    await store.close()


async def test_server_that_is_not_there_is_unavailable(unused_tcp_port: int) -> None:
    url = f"postgresql+asyncpg://yodel:very-secret@127.0.0.1:{unused_tcp_port}/yodel"
    store = SqlStore(url)
    for attempt in (store.open(now_ms=1, default_queues=()), migrate(url), look(url)):
        with pytest.raises(Unavailable) as raised:
            await attempt
        assert "very-secret" not in str(raised.value)
    await store.close()


async def test_database_that_does_not_exist_is_unavailable(postgres_server: PostgresServer) -> None:
    store = SqlStore(postgres_server.url("nothing_here"))
    with pytest.raises(Unavailable, match="nothing_here"):
        await store.open(now_ms=1, default_queues=())
    await store.close()


async def test_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader, this is not a database. " * 100)
    store = SqlStore(f"sqlite+aiosqlite:///{tmp_path}/letter.txt")
    with pytest.raises(Unavailable, match="not a database"):
        await store.open(now_ms=1, default_queues=())
    await store.close()


async def test_database_without_tables_says_to_run_migrate(tmp_path: Path, postgres_server: PostgresServer) -> None:
    for url in (f"sqlite+aiosqlite:///{tmp_path}/new.db", postgres_server.url(postgres_server.new_database())):
        store = SqlStore(url)
        with pytest.raises(SchemaNotAtHead, match="yodel migrate"):
            await store.open(now_ms=1, default_queues=())
        await store.close()
