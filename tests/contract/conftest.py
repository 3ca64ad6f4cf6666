"""Fixtures of the contract suites: one PostgreSQL for the whole run, and stores of every kind."""

from __future__ import annotations

import pytest

from tests.support.postgres import postgres_server
from tests.support.store_opening import open_store
from tests.support.stores import migrated_postgres, migrated_sqlite, place, postgres_url, sql_url, sqlite_url

NEEDS = ("postgres_server", "postgres_url", "migrated_postgres")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs a PostgreSQL is marked: the others of the stores' tests are quick ones (tests/runs/parts.toml)."""
    for item in items:
        fixtures, called = getattr(item, "fixturenames", ()), getattr(item, "callspec", None)
        parameters = () if called is None else called.params.values()
        if {*fixtures} & {*NEEDS} or any(str(value).startswith("postgres") for value in parameters):
            item.add_marker("postgres")


__all__ = [
    "migrated_postgres",
    "migrated_sqlite",
    "open_store",
    "place",
    "postgres_server",
    "postgres_url",
    "sql_url",
    "sqlite_url",
]
