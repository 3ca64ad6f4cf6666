"""Fixtures of the contract suites: one PostgreSQL for the whole run, and stores of every kind."""

from __future__ import annotations

from tests.support.postgres import postgres_server
from tests.support.stores import migrated_postgres, migrated_sqlite, place, postgres_url, sql_url, sqlite_url

__all__ = [
    "migrated_postgres",
    "migrated_sqlite",
    "place",
    "postgres_server",
    "postgres_url",
    "sql_url",
    "sqlite_url",
]
