"""Any history of commits, removals, restarts and takeovers leaves a database with what the twin in memory has."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import seed as beginning_at
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.support import records, seeds
from tests.support.postgres import PostgresServer
from yodel.domain.queues.queue import default_queues
from yodel.ports.store import Commit, FencedOut, Snapshot
from yodel.store.errors import OrphanRow
from yodel.store.memory_store import MemoryDisk, MemoryStore, read
from yodel.store.sql_store import SqlStore

application_ids = st.builds(records.an_application_id, st.integers(1, 3))
attempt_ids = st.builds(records.an_attempt_id, st.integers(1, 3), st.integers(1, 2))
container_ids = st.builds(records.a_container_id, st.integers(1, 3), st.integers(1, 2), st.integers(1, 3))
"""Few, so that rows meet their parents and their own earlier versions."""


def having(rows: st.SearchStrategy[Any], ids: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda row, row_id: replace(row, id=row_id), rows, ids)


rows = st.one_of(
    having(records.applications, application_ids),
    having(records.attempts, attempt_ids),
    having(records.containers, container_ids),
    having(records.nodes, st.sampled_from([records.a_node("a").id, records.a_node("b").id])),
    records.queues,
)
whole_applications = st.builds(
    lambda *family: list(family),
    having(records.applications, st.just(records.an_application_id(1))),
    having(records.attempts, st.builds(records.an_attempt_id, st.just(1), st.integers(1, 2))),
)
commits = st.builds(
    Commit,
    rows=st.lists(rows, max_size=4) | st.builds(lambda a, b: a + b, whole_applications, st.lists(rows, max_size=2)),
    master_keys=st.lists(st.tuples(st.sampled_from(["amrm", "nm"]), records.master_keys), max_size=2),
    application_sequence=st.none() | st.integers(0, 2**31),
    removed_applications=st.lists(application_ids, max_size=1),
    removed_attempts=st.lists(attempt_ids, max_size=1),
    removed_containers=st.lists(container_ids, max_size=2),
)


class History(RuleBasedStateMachine):
    """Does everything to both and compares the outcome; ``new_url`` gives an empty migrated database."""

    def __init__(self, new_url: Callable[[], str]) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.url = new_url()
        self.disk = MemoryDisk()
        self.sql: list[SqlStore] = []
        self.memory: list[MemoryStore] = []
        self.closed: list[SqlStore] = []

    @initialize()
    def first_opening(self) -> None:
        self.opened()

    @rule()
    def taken_over(self) -> None:
        self.opened()

    @rule()
    def restarted(self) -> None:
        self.runner.run(self.sql[-1].close())
        self.closed.append(self.sql[-1])
        self.opened()

    @rule(commit=commits)
    def committed(self, commit: Commit) -> None:
        assert self.outcome(self.sql[-1], commit) == self.outcome(self.memory[-1], commit)

    @precondition(lambda self: len(self.sql) > 1)
    @rule(commit=commits)
    def committed_by_one_that_was_fenced(self, commit: Commit) -> None:
        if self.sql[-2] not in self.closed:
            assert self.outcome(self.sql[-2], commit) is self.outcome(self.memory[-2], commit) is FencedOut

    def opened(self) -> Snapshot:
        self.sql.append(SqlStore(self.url))
        self.memory.append(MemoryStore(self.disk))
        found, expected = (
            self.runner.run(stores[-1].open(now_ms=len(stores), default_queues=default_queues()))
            for stores in (self.sql, self.memory)
        )
        assert found == expected
        return found

    def outcome(self, store: SqlStore | MemoryStore, commit: Commit) -> type[Exception] | None:
        try:
            self.runner.run(store.commit(commit))
        except (FencedOut, OrphanRow) as error:
            return type(error)
        return None

    def teardown(self) -> None:
        if self.memory:
            assert self.opened() == read(self.disk)
        for store in self.sql:
            self.runner.run(store.close())
        self.runner.close()


BOUNDED = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
def new_sqlite(migrated_sqlite: Path) -> Callable[[], str]:
    folder = Path(tempfile.mkdtemp(prefix="history-", dir=migrated_sqlite.parent))
    numbers = itertools.count()

    def new() -> str:
        path = folder / f"{next(numbers)}.db"
        shutil.copy(migrated_sqlite, path)
        return f"sqlite+aiosqlite:///{path}"

    return new


@pytest.fixture
def new_postgres(migrated_postgres: str, postgres_server: PostgresServer) -> Callable[[], str]:
    return lambda: postgres_server.url(postgres_server.new_database(template=migrated_postgres))


@pytest.mark.drawn("store history")
@pytest.mark.parametrize("seed", seeds.tried("store history"))
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_any_history_leaves_a_database_as_its_twin(database: str, seed: int, request: pytest.FixtureRequest) -> None:
    new_url = request.getfixturevalue(f"new_{database}")

    # Any factory will do, though only a class is declared.
    @beginning_at(seed)
    def history() -> History:
        return History(new_url)

    run_state_machine_as_test(history, settings=BOUNDED)  # type: ignore[arg-type]
