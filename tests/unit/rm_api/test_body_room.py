"""Bodies share one room."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld
from yodel.errors import Unavailable
from yodel.rm_api.body_room import BodyRoom

PATH = "/ws/v1/cluster/apps?user.name=alice"
JSON = {"Content-Type": "application/json"}


def test_what_is_held_is_given_back_however_the_reading_ends() -> None:
    room = BodyRoom(100)
    with room.reading() as first, room.reading() as second:
        first(60)
        second(40)
        with pytest.raises(Unavailable):
            first(1)
    with contextlib.suppress(RuntimeError), room.reading() as third:
        third(100)
        raise RuntimeError
    with room.reading() as fourth:
        fourth(100)


async def test_who_finds_no_room_may_come_again(world: RestWorld) -> None:
    room = world.app.state.api.body_room = BodyRoom(100)
    with room.reading() as somebody:
        somebody(99)
        answer = await world.client.post(PATH, content=b"{}", headers=JSON)
        assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (503, "IOException")
    assert (await world.client.post(PATH, content=b"{}", headers=JSON)).status_code == 400


async def test_bodies_that_never_end_leave_nothing_behind(world: RestWorld) -> None:
    room = world.app.state.api.body_room = BodyRoom(10 * 1024 * 1024)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536

    assert (await world.client.post(PATH, content=endless(), headers=JSON)).status_code == 503
    with room.reading() as whole:
        whole(10 * 1024 * 1024)
