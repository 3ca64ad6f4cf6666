"""Only what the contract suite (tests/contract/test_store.py) does not say of every store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.support.records import a_container, an_application, an_attempt
from yodel.errors import InvalidValue
from yodel.ports.store import Commit
from yodel.store import prepared
from yodel.store.migrating import migrate
from yodel.store.prepared import ROWS_A_STATEMENT, run_on_driver
from yodel.store.sql_store import WRITTEN_AT_ONCE, SqlStore


async def test_commit_needs_an_open_store(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/yodel.db"
    await migrate(url)
    store = SqlStore(url)
    with pytest.raises(AssertionError, match="not open"):
        await store.commit(Commit())

    await store.open(now_ms=1, default_queues=())
    await store.close()
    with pytest.raises(AssertionError, match="not open"):
        await store.commit(Commit())


async def test_many_rows_are_written_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty thousand containers in one go kept the loop for half a second."""
    url = f"sqlite+aiosqlite:///{tmp_path}/yodel.db"
    await migrate(url)
    store = SqlStore(url)
    await store.open(now_ms=1, default_queues=())
    written: list[int] = []

    def counted(connection: Connection, statement: str, parameters: Sequence[tuple[object, ...]]) -> int:
        if statement.startswith("INSERT INTO containers"):
            written.append(len(parameters))
        return run_on_driver(connection, statement, parameters)

    monkeypatch.setattr(prepared, "run_on_driver", counted)
    containers = [a_container(container=n) for n in range(2, 3 * WRITTEN_AT_ONCE)]
    await store.commit(Commit(rows=[an_application(), an_attempt(), *containers]))
    found = await store.open(now_ms=2, default_queues=())
    await store.close()
    whole = WRITTEN_AT_ONCE // ROWS_A_STATEMENT
    assert written == [whole, whole, whole - 1, 1]
    assert sorted(found.containers, key=lambda row: row.id) == containers


def test_bare_postgres_url_is_refused() -> None:
    with pytest.raises(InvalidValue):
        SqlStore("postgresql://localhost/yodel")
