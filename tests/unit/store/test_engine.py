from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, event, exc

from yodel.errors import InvalidValue, Unavailable
from yodel.ports.store import OutcomeUnknown
from yodel.store.engine import Database, answering, is_shared, parsed_url, use_write_ahead_log
from yodel.store.migrating import head_revision, migrate


@pytest.mark.parametrize(
    "url", ["sqlite+aiosqlite:////var/lib/yodel.db", "postgresql+asyncpg://u:p@h:5432/d?ssl=require"]
)
def test_url_with_its_driver_is_taken(url: str) -> None:
    assert parsed_url(url).render_as_string(hide_password=False) == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:very-secret@h/d",
        "postgresql+psycopg://u:very-secret@h/d",
        "sqlite:///file.db",
        "mysql+aiomysql://u:very-secret@h/d",
        "sqlite+aiosqlite://",
        "sqlite+aiosqlite:///:memory:",
        "sqlite+aiosqlite:///file::memory:?cache=shared",
        "very-secret",
        "postgresql+asyncpg://u:very-secret@h:port/d",
        "",
    ],
)
def test_other_url_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        parsed_url(url)

    assert "very-secret" not in f"{raised.value} {raised.value.value!r}"


def test_only_postgres_is_shared_by_machines() -> None:
    assert is_shared("postgresql+asyncpg://u:p@h/d")
    assert not is_shared("sqlite+aiosqlite:////var/lib/yodel.db")
    with pytest.raises(InvalidValue):
        is_shared("mysql://h/d")


def test_bare_postgres_url_is_told_which_drivers_there_are() -> None:
    with pytest.raises(InvalidValue, match=r"sqlite\+aiosqlite:// or postgresql\+asyncpg://"):
        parsed_url("postgresql://h/d")


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


async def test_sqlite_file_and_its_companions_are_private(tmp_path: Path) -> None:
    file = tmp_path / "made" / "here" / "yodel.db"
    database = Database(f"sqlite+aiosqlite:///{file}")
    await database.transact("make t", 5, lambda connection: connection.exec_driver_sql("CREATE TABLE t (x integer)"))

    assert {path.name: mode(path) for path in file.parent.iterdir()} == {
        "yodel.db": "0o600",
        "yodel.db-wal": "0o600",
        "yodel.db-shm": "0o600",
    }
    assert (mode(file.parent), mode(file.parent.parent)) == ("0o700", "0o700")
    await database.close()


async def test_sqlite_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "yodel.db"
    file.touch(mode=0o644)
    file.chmod(0o644)
    Database(f"sqlite+aiosqlite:///{file}")

    assert mode(file) == "0o600"


def test_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Database(f"sqlite+aiosqlite:///{tmp_path}/yodel.db")

    assert mode(tmp_path) == "0o755"


def test_file_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable):
        Database(f"sqlite+aiosqlite:///{tmp_path}/file/yodel.db")


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 2500)]
)
async def test_sqlite_connection_is_durable_and_strict(tmp_path: Path, pragma: str, value: object) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/yodel.db", lock_timeout_s=2.5)
    found = await database.run("ask", 5, lambda connection: connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one())
    await database.close()

    assert found == value


def test_sqlite_lock_of_this_process_outlives_another_engine(tmp_path: Path) -> None:
    """A process that closes a file loses all its locks on it (fcntl(2))."""
    file = tmp_path / "yodel.db"
    held = sqlite3.connect(file, isolation_level=None)
    held.execute("CREATE TABLE t (x integer)")
    held.execute("BEGIN IMMEDIATE")
    Database(f"sqlite+aiosqlite:///{file}")

    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    other = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=False)
    held.close()
    assert "database is locked" in other.stderr


def test_where_no_log_can_be_written_ahead_the_journal_stays_as_it_is() -> None:
    class Counting(sqlite3.Cursor):
        count = 0

        def execute(self, *asked: Any) -> sqlite3.Cursor:
            self.count += 1
            assert self.count < 5
            return super().execute(*asked)

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        use_write_ahead_log(connection.cursor(Counting), timeout_s=5)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("memory",)


async def tables_of(database: Database) -> list[object]:
    return await database.run("look", 60, lambda c: [*map(tuple, c.exec_driver_sql("SELECT name FROM sqlite_master"))])


async def test_sqlite_ddl_is_rolled_back_with_its_transaction(tmp_path: Path) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/yodel.db")
    await database.run("make t", 5, lambda connection: connection.exec_driver_sql("CREATE TABLE t (x integer)"))
    tables = await tables_of(database)
    await database.close()

    assert tables == []


async def test_no_answer_in_time_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"did not commit within 0\.001 s") as raised:
        async with answering("commit", 0.001):
            await asyncio.Event().wait()

    assert isinstance(raised.value.__cause__, TimeoutError)


@pytest.mark.parametrize(
    "failure",
    [
        exc.OperationalError("SELECT secret", {}, Exception("disk I/O error")),
        exc.DBAPIError("SELECT secret", {}, Exception("disk I/O error")),
        exc.TimeoutError("disk I/O error"),
        ConnectionRefusedError("disk I/O error"),
    ],
)
async def test_failure_of_the_database_is_unavailable_in_its_own_words(failure: Exception) -> None:
    with pytest.raises(Unavailable, match="could not open: disk I/O error") as raised:
        async with answering("open", 5):
            raise failure

    assert raised.value.__cause__ is failure
    assert "SELECT" not in str(raised.value)


@pytest.mark.parametrize("kind", [exc.IntegrityError, exc.ProgrammingError, exc.DataError])
async def test_statement_that_is_wrong_is_not_called_unavailable(kind: type[exc.DBAPIError]) -> None:
    with pytest.raises(kind):
        async with answering("commit", 5):
            raise kind("INSERT", {}, Exception("wrong"))


async def test_migrate_works_in_a_folder_with_a_percent_sign(tmp_path: Path) -> None:
    assert (await migrate(f"sqlite+aiosqlite:///{tmp_path}/100%/yodel.db"))[-1] == head_revision()


async def test_failure_says_whether_the_disk_of_the_file_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known here of PostgreSQL's disk, and nothing of a folder that is gone."""
    free = {"bytes": (1 << 20) - 1}
    monkeypatch.setattr("yodel.store.engine.shutil.disk_usage", lambda path: _usage(path, free["bytes"]))

    async def said(url: str | None) -> str:
        with pytest.raises(Unavailable) as caught:
            async with answering("commit", 5, None if url is None else parsed_url(url)):
                raise OSError("disk I/O error")
        return str(caught.value)

    file = tmp_path / "rm.db"
    plain = "The store could not commit: disk I/O error"
    assert await said(f"sqlite+aiosqlite:///{file}") == f"{plain} (no space is left on the disk of {file})"
    assert await said("sqlite+aiosqlite:////nowhere/rm.db") == plain
    assert await said("postgresql+asyncpg://h/d") == await said(None) == plain
    free["bytes"] += 1
    assert await said(f"sqlite+aiosqlite:///{file}") == plain


def _usage(path: Path, free_bytes: int) -> SimpleNamespace:
    os.stat(path)
    return SimpleNamespace(free=free_bytes)


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_transaction_that_nobody_waits_for_any_more_is_not_committed(
    tmp_path: Path, is_cancelled: bool
) -> None:
    """A thread cannot be interrupted: what was reported as not written must not be written afterwards."""
    database, stuck, go_on = Database(f"sqlite+aiosqlite:///{tmp_path}/yodel.db"), threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE t (x integer)")
        stuck.set()
        go_on.wait(60)

    waiting = asyncio.create_task(database.transact("commit", 60 if is_cancelled else 0.5, slow))
    await asyncio.to_thread(stuck.wait, 60)
    if is_cancelled:
        waiting.cancel()
    await asyncio.wait([waiting])
    go_on.set()
    assert await tables_of(database) == []
    if not is_cancelled:
        error = waiting.exception()
        assert "did not commit within 0.5 s" in str(error)
        assert not isinstance(error, OutcomeUnknown)
    await database.close()


async def test_a_transaction_that_was_told_to_commit_may_have_been(tmp_path: Path) -> None:
    database, stuck, go_on = Database(f"sqlite+aiosqlite:///{tmp_path}/yodel.db"), threading.Event(), threading.Event()

    @event.listens_for(database.engine, "commit")
    def at_commit(_: Connection) -> None:
        stuck.set()
        go_on.wait(60)

    make = database.transact("commit", 0.5, lambda c: c.exec_driver_sql("CREATE TABLE t (x integer)"))
    with pytest.raises(OutcomeUnknown, match=r"did not commit within 0\.5 s"):
        await make
    assert stuck.is_set()
    go_on.set()
    assert await tables_of(database) == [("t",)]
    await database.close()
