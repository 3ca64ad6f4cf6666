"""Stores to test: a place where a store's data is kept, on which any number of stores can be opened.

Opening a second one is a restart or a takeover, as it is in production.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.later_schema import expanded
from tests.support.postgres import PostgresServer
from yodel.ports.store import Store
from yodel.store.memory_store import MemoryDisk, MemoryStore
from yodel.store.migrating import migrate
from yodel.store.sql_store import SqlStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``new_store`` makes another store on the same data; ``url`` is None for the one in memory."""

    new_store: Callable[[], Store]
    url: str | None


def in_memory() -> Place:
    disk = MemoryDisk()
    return Place(new_store=lambda: MemoryStore(disk), url=None)


def at(url: str) -> Place:
    """A migrated database."""
    return Place(new_store=lambda: SqlStore(url), url=url)


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with empty tables, to copy."""
    path = tmp_path_factory.mktemp("store") / "template.db"
    asyncio.run(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The name of a PostgreSQL database with empty tables, to copy."""
    name = postgres_server.new_database()
    asyncio.run(migrate(postgres_server.url(name)))
    return name


@pytest.fixture
def sqlite_url(migrated_sqlite: Path, tmp_path: Path) -> str:
    """A migrated SQLite file of the test's own."""
    path = tmp_path / "yodel.db"
    shutil.copy(migrated_sqlite, path)
    return f"sqlite+aiosqlite:///{path}"


@pytest.fixture
def postgres_url(migrated_postgres: str, postgres_server: PostgresServer) -> str:
    """A migrated PostgreSQL database of the test's own."""
    return postgres_server.url(postgres_server.new_database(template=migrated_postgres))


@pytest.fixture(params=["sqlite", "postgres"])
def sql_url(request: pytest.FixtureRequest) -> str:
    """A migrated database, on each of the two."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["memory", "sqlite", "sqlite-expanded", "postgres", "postgres-expanded"])
def place(request: pytest.FixtureRequest) -> Place:
    """A place with nothing stored yet, of each kind; the expanded ones have the tables of the release after this."""
    kind, _, schema = request.param.partition("-")
    if kind == "memory":
        return in_memory()
    url: str = request.getfixturevalue(f"{kind}_url")
    return at(expanded(url) if schema else url)
