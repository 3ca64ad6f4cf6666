"""A web side in memory."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.rest_world import RestWorld, rest_world


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts name times in the ResourceManager's own zone."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
async def world() -> AsyncIterator[RestWorld]:
    async with rest_world() as made:
        yield made
