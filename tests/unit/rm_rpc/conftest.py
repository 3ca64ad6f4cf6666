from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.playbook import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A cluster with a ResourceManager that has just started."""
    async with World() as world:
        yield world
