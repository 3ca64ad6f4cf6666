"""Only what the contract suite (tests/contract/test_store.py) does not say of every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.errors import InvalidValue
from yodel.ports.store import Commit
from yodel.store.migrating import migrate
from yodel.store.sql_store import SqlStore


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


def test_bare_postgres_url_is_refused() -> None:
    with pytest.raises(InvalidValue):
        SqlStore("postgresql://localhost/yodel")
