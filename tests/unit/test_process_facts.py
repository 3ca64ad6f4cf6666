"""The facts that /api/v1 shows of the process are made of the settings, the lead and the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.playbook import World
from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest
from yodel.rm_api.v1.process_facts import Lead
from yodel.settings.rm import Settings
from yodel.wiring.gauges import process_facts

POSTGRESQL = "postgresql+asyncpg://yodel@db/yodel"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as world:
        yield world


class Api:
    """Allows all but patches."""

    async def call(self, request: ApiRequest) -> bytes:
        is_allowed = b'"patch"' not in (request.body or b"")
        return b'{"status":{"allowed":true}}' if is_allowed else b'{"status":{"allowed":false}}'


def facts(world: World, settings: Settings, lead: Any = None, api: Any = None) -> Any:
    kube: Any = SimpleNamespace(api=api)
    return process_facts(world.rm, settings, world.clock, kube, lead)


async def test_lead_and_database_are_those_of_the_process(world: World) -> None:
    alone = facts(world, Settings(client_port=1))
    assert (alone.database, alone.lead(), alone.started_ms) == ("SQLite", None, world.clock.now_ms())
    assert [one.name for one in alone.settings] == ["client_port"]
    assert not alone.is_database_silent()
    world.rm.engine.doubt = Unavailable("silence")
    assert alone.is_database_silent()
    world.rm.engine.doubt = None
    lead = SimpleNamespace(holder="rm-1", remaining_s=4.0, lease_s=6.0, has_successor=True)
    shared = facts(world, Settings(store_url=POSTGRESQL, leader_handover_s=15), lead)
    assert shared.database == "PostgreSQL"
    assert shared.lead() == Lead(
        holder="rm-1", remaining_s=4.0, lease_s=6.0, has_standby=True, is_standby_expected=True
    )
    assert not facts(world, Settings(store_url=POSTGRESQL), lead).lead().is_standby_expected


@pytest.mark.parametrize(("watch_nodes", "first"), [(False, ["rbac.nodes (the setting watch_nodes)"]), (True, [])])
async def test_missing_rights_are_those_of_the_check(world: World, watch_nodes: bool, first: list[str]) -> None:
    settings = Settings(watch_nodes=watch_nodes, node_token_file=Path("/etc/token"))
    missing = await facts(world, settings, api=Api()).missing_rights()
    assert missing == [*first, "rbac.nodeStatus (the right to patch nodes/status)"]
