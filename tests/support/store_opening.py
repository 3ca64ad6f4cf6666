"""Opening stores on the same data, and reading what is there: the hands of the stores' contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.support.records import (
    an_application,
    an_attempt,
)
from tests.support.stores import Place
from yodel.domain.queues.queue import default_queues
from yodel.ports.store import Row, Snapshot, Store

Opened = tuple[Store, Snapshot]
Open = Callable[..., Awaitable[Opened]]


@pytest.fixture
async def open_store(place: Place) -> AsyncIterator[Open]:
    """Opens another store on the same data; all are closed at the end."""
    stores: list[Store] = []

    async def open_another(now_ms: int = 1_000) -> Opened:
        store = place.new_store()
        stores.append(store)
        return store, await store.open(now_ms=now_ms, default_queues=default_queues())

    yield open_another
    for store in stores:
        await store.close()


async def stored(open_store: Open) -> Snapshot:
    """Return what a restart finds."""
    _, snapshot = await open_store()
    return snapshot


def parents_of(row_sequence: int = 1) -> list[Row]:
    return [an_application(row_sequence), an_attempt(row_sequence)]
