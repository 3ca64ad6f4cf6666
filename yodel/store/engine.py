"""Connects to the database: the URL, the connection's settings, its failures, and the version of its tables.

Only ``sqlite+aiosqlite`` and ``postgresql+asyncpg`` are served (the first by Python's own driver, whose name a settings
file need not change for), and the URL has to say so: what a bare ``postgresql://``
means changes with SQLAlchemy's version.  An SQLite database is a file (a memory one would lose the intent with the
process) which only its owner may read, since master keys are inside.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from yodel.errors import InvalidValue, Unavailable
from yodel.ports.store import OutcomeUnknown
from yodel.store.prepared import run_on_driver

SQLITE = "sqlite+aiosqlite"
POSTGRES = "postgresql+asyncpg"
DRIVERS = (SQLITE, POSTGRES)

STATEMENT_TIMEOUT_S = 10.0
FULL_BYTES = 1 << 20
"""Free bytes below which an error of SQLite's is put down to its disk: a commit is a few pages at a time."""

ResultT = TypeVar("ResultT")
BUGS = (exc.IntegrityError, exc.DataError, exc.ProgrammingError, exc.NotSupportedError)
"""Errors which say that our statement is wrong: trying again does not help, so they are not Unavailable."""


def parsed_url(url: str) -> URL:
    """The URL, checked.

    Raises:
        InvalidValue: not a URL, no or another driver, no file for SQLite.  Never shows a password.
    """
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise InvalidValue("store URL", "(unreadable)", "a database URL such as sqlite+aiosqlite:///yodel.db") from None
    shown = parsed.render_as_string(hide_password=True)
    if parsed.drivername not in DRIVERS:
        raise InvalidValue("store URL", shown, f"a URL that begins with {' or '.join(f'{d}://' for d in DRIVERS)}")
    if parsed.drivername == SQLITE and (not parsed.database or parsed.database.startswith((":", "file:"))):
        raise InvalidValue(
            "store URL", shown, "the path of a file, such as in sqlite+aiosqlite:////var/lib/yodel/yodel.db"
        )
    return parsed


def is_shared(url: str) -> bool:
    """Return True if processes of several machines can use it: PostgreSQL.  Raises as ``parsed_url`` does."""
    return parsed_url(url).drivername == POSTGRES


class Database:
    """Runs plain functions of a connection, one after another, because there is one writer.

    SQLite blocks, so its functions run in a thread, of which a transaction needs one turn; PostgreSQL's run on the
    event loop, which goes on while they wait.  With ``is_reader`` nothing can be written.  PostgreSQL lists connections
    by ``application_name``.  For SQLite, makes the file (mode 0600) and the folders that are missing (0700).

    Raises:
        InvalidValue: see ``parsed_url``.
        Unavailable: the file cannot be made.
    """

    def __init__(
        self,
        url: str,
        *,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
        lock_timeout_s: float = STATEMENT_TIMEOUT_S,
        foreign_keys: bool = True,
        application_name: str = "yodel",
        is_reader: bool = False,
    ) -> None:
        parsed = parsed_url(url)
        if parsed.drivername == SQLITE:
            self.engine = _sqlite_engine(parsed, lock_timeout_s, foreign_keys, is_reader)
            self._side: _Thread | _Loop = _Thread(self.engine)
        else:
            engine = postgres_engine(
                parsed, statement_timeout_s, lock_timeout_s, application_name, connections=1, is_reader=is_reader
            )
            self.engine, self._side = engine.sync_engine, _Loop(engine)

    async def run(self, what: str, timeout_s: float, work: Callable[[Connection], ResultT]) -> ResultT:
        """Return what the function does with a connection; what it does not commit is rolled back.

        Raises:
            Unavailable: see ``answering``.
        """
        async with answering(what, timeout_s, self.engine.url):
            return await self._side.run(work)

    async def transact(self, what: str, timeout_s: float, work: Callable[[Connection], ResultT]) -> ResultT:
        """Return what the function does with a connection, once that is committed.

        Raises:
            Unavailable: the database does not answer; nothing was written.
            OutcomeUnknown: it does not answer and was told to commit.
        """
        decision = threading.Lock()  # taken once: by who commits, or by who has stopped waiting for that

        def transaction(connection: Connection) -> ResultT:
            begun = connection.begin()
            result = work(connection)
            if not decision.acquire(blocking=False):
                raise TimeoutError
            try:
                begun.commit()
            except BaseException:
                connection.invalidate()  # it may still be in its transaction
                raise
            return result

        try:
            return await self.run(what, timeout_s, transaction)
        except Unavailable as silence:
            if not decision.acquire(blocking=False):
                raise OutcomeUnknown(str(silence)) from silence.__cause__
            raise
        except asyncio.CancelledError:
            decision.acquire(blocking=False)
            raise

    async def close(self) -> None:
        """Close the connections.  Closing twice is harmless."""
        await self._side.close()


class _Thread:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._thread = engine, ThreadPoolExecutor(1, thread_name_prefix="sqlite")

    async def run(self, work: Callable[[Connection], ResultT]) -> ResultT:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[Connection], ResultT]) -> ResultT:
        with self._engine.connect() as connection:
            return work(connection)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)


class _Loop:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def run(self, work: Callable[[Connection], ResultT]) -> ResultT:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        await self._engine.dispose()


@asynccontextmanager
async def answering(what: str, timeout_s: float, url: URL | None = None) -> AsyncIterator[None]:
    """Give the database this long; its failures become one exception, which says of the file of ``url`` whether its
    disk is full.

    Raises:
        Unavailable: no answer in time, or one that says "not now".  Whether a commit happened is then unknown.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except BUGS:
        raise
    except TimeoutError as error:
        raise Unavailable(f"The store did not {what} within {timeout_s:g} s") from error
    except (exc.DBAPIError, exc.TimeoutError, OSError) as error:
        raise Unavailable(f"The store could not {what}: {_reason(error)}{_full_disk(url)}") from error


def _full_disk(url: URL | None) -> str:
    """SQLite's words for it are many ("disk I/O error", where the write-ahead log cannot grow), and name no file."""
    if url is None or url.drivername != SQLITE or not url.database:
        return ""
    try:
        free_bytes = shutil.disk_usage(Path(url.database).absolute().parent).free
    except OSError:
        return ""
    return f" (no space is left on the disk of {url.database})" if free_bytes < FULL_BYTES else ""


def _reason(error: Exception) -> str:
    """The database's own words, without statement and parameters."""
    return str(error.orig if isinstance(error, exc.DBAPIError) else error)


# --- SQLite --------------------------------------------------------------------------------------------------------


def _sqlite_engine(url: URL, lock_timeout_s: float, foreign_keys: bool, is_reader: bool) -> Engine:
    assert url.database is not None
    try:
        _make_private(Path(url.database))
    except OSError as error:
        raise Unavailable(f"The store's file cannot be used: {error}") from error
    engine = create_engine(
        url.set(drivername="sqlite"),
        hide_parameters=True,
        pool_size=1,
        max_overflow=0,
        pool_timeout=lock_timeout_s,
        connect_args={"timeout": lock_timeout_s},
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # Python's sqlite3 would begin transactions by itself, late, and never before DDL: we say BEGIN ourselves.
        connection.isolation_level = None
        cursor = connection.cursor()
        use_write_ahead_log(cursor, lock_timeout_s)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        cursor.execute(f"PRAGMA query_only = {'ON' if is_reader else 'OFF'}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE takes the write lock at once: a transaction that has begun cannot fail for want of it.
        run_on_driver(connection, "BEGIN" if is_reader else "BEGIN IMMEDIATE", [()])

    return engine


def use_write_ahead_log(cursor: DBAPICursor, timeout_s: float) -> None:
    """The mode is the file's: the first connection sets it.  SQLite does not wait for others that set it at the same
    moment, whatever its timeout is.  Where the file system has no shared memory it stays as it was, which is slower."""
    give_up_at_s = time.monotonic() + timeout_s
    while True:
        cursor.execute("PRAGMA journal_mode")
        found = cursor.fetchone()
        if found is not None and found[0] == "wal":
            return
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= give_up_at_s:
                raise


def _make_private(path: Path) -> None:
    """Folders that exist are left as they are: they may be shared, and the file guards itself.

    SQLite gives its ``-wal`` and ``-shm`` files the mode of the database.
    """
    for folder in reversed([p for p in path.absolute().parents if not p.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        # It is not opened: to close it again would take away the locks that this process has on it (fcntl(2)).
        if not path.is_file():
            raise OSError(errno.EISDIR, "Not a file", str(path)) from None
        if not os.access(path, os.R_OK | os.W_OK):
            raise OSError(errno.EACCES, "Permission denied", str(path)) from None
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.exists() and stat.S_IMODE(file.stat().st_mode) != 0o600:
            file.chmod(0o600)


# --- PostgreSQL ----------------------------------------------------------------------------------------------------


def postgres_engine(
    url: URL,
    statement_timeout_s: float,
    lock_timeout_s: float,
    application_name: str = "yodel",
    *,
    connections: int,
    is_reader: bool = False,
) -> AsyncEngine:
    """Return an engine whose connections PostgreSQL lists by ``application_name``."""
    settings = {
        "application_name": application_name,
        "statement_timeout": _ms(statement_timeout_s),
        "lock_timeout": _ms(lock_timeout_s),
        # A writer that froze in the middle of a transaction would keep its successor from taking over.
        "idle_in_transaction_session_timeout": _ms(statement_timeout_s),
        "default_transaction_read_only": "on" if is_reader else "off",
    }
    return create_async_engine(
        url,
        hide_parameters=True,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=lock_timeout_s,
        connect_args={
            "timeout": statement_timeout_s,
            "command_timeout": statement_timeout_s,
            "server_settings": settings,
        },
    )


def _ms(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))
