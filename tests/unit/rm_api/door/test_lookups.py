"""A caller over HTTP is looked up before any route asks for the groups."""

from __future__ import annotations

import pytest

from tests.support.fakes import NoUsers
from tests.support.rest_world import RestWorld
from yodel.errors import Unavailable

PATH = "/ws/v1/cluster/info"


async def test_callers_with_a_name_are_looked_up(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def look_up(_: NoUsers, user: str) -> None:
        asked.append(user)

    monkeypatch.setattr(NoUsers, "look_up", look_up)
    assert (await world.client.get(PATH)).status_code == 200
    assert (await world.client.get(f"{PATH}?user.name=alice")).status_code == 200
    assert asked == ["alice"]


async def test_callers_whose_lookup_fails_may_come_again(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_up(_: NoUsers, user: str) -> None:
        raise Unavailable(f"user {user} could not be looked up in 10 s")

    monkeypatch.setattr(NoUsers, "look_up", look_up)
    answer = await world.client.get(f"{PATH}?user.name=alice")
    assert answer.status_code == 503
    assert "could not be looked up" in answer.text
