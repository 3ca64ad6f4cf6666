"""The ResourceManager's web side in memory: answers are looked at as callers get them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld, rest_world


@pytest.fixture
async def world() -> AsyncIterator[RestWorld]:
    async with rest_world() as made:
        yield made
