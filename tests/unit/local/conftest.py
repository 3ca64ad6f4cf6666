"""A cluster's parts without its server: a store in a directory of the test, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from yodel.local.journal import Journal
from yodel.local.objects import ObjectStore
from yodel.local.registry import Registry


class FakeClock:
    """Wall-clock time that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2024, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    journal = Journal(tmp_path / "objects.log")
    store = ObjectStore(journal)
    yield store
    store.close()


@pytest.fixture
def registry(store: ObjectStore, clock: FakeClock) -> Registry:
    registry = Registry(store, clock)
    registry.create("namespaces", "", {"metadata": {"name": "default"}})
    return registry
