"""A web side in memory that has something to show."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.api_rows import fill
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl


@pytest.fixture
async def filled(world: RestWorld) -> RestWorld:
    await fill(world)
    return world


@pytest.fixture
async def guarded() -> AsyncIterator[RestWorld]:
    """Serve with acl_enable: nobody sees the applications of others."""
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as made:
        await fill(made)
        yield made
