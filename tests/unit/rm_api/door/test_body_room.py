"""Bodies share one room, and their beginnings another."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld
from yodel.errors import Unavailable
from yodel.rm_api.door.body_room import SMALL_BYTES, BodyRoom

PATH = "/ws/v1/cluster/apps?user.name=alice"
JSON = {"Content-Type": "application/json"}


def test_what_is_held_is_given_back_however_the_reading_ends() -> None:
    room = BodyRoom(100, 0)
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


def test_small_ones_are_taken_however_much_the_large_hold() -> None:
    room = BodyRoom(100, 2 * SMALL_BYTES)
    with room.reading() as large, room.reading() as small:
        large(SMALL_BYTES)
        large(100)
        with pytest.raises(Unavailable):
            large(1)
        small(SMALL_BYTES - 1)
        small(1)
        with pytest.raises(Unavailable):
            small(1)
        with room.reading() as third, pytest.raises(Unavailable):
            third(1)
    with room.reading() as large, room.reading() as small:
        large(SMALL_BYTES + 100)
        small(SMALL_BYTES)


async def test_request_of_usual_size_is_read_beside_large_ones_that_never_end(world: RestWorld) -> None:
    room = world.app.state.door.body_room = BodyRoom(1024 * 1024)
    with room.reading() as slow:
        slow(1024 * 1024 + SMALL_BYTES)
        assert (await world.client.post(PATH, content=b" " * 10_000 + b"{}", headers=JSON)).status_code == 400
        assert (await world.client.post(PATH, content=b" " * 100_000 + b"{}", headers=JSON)).status_code == 503


async def test_who_finds_no_room_may_come_again(world: RestWorld) -> None:
    room = world.app.state.door.body_room = BodyRoom(100, 0)
    with room.reading() as somebody:
        somebody(99)
        answer = await world.client.post(PATH, content=b"{}", headers=JSON)
        assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (503, "IOException")
    assert (await world.client.post(PATH, content=b"{}", headers=JSON)).status_code == 400


async def test_bodies_that_never_end_leave_nothing_behind(world: RestWorld) -> None:
    room = world.app.state.door.body_room = BodyRoom(2 * 1024 * 1024)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65536

    assert (await world.client.post(PATH, content=endless(), headers=JSON)).status_code == 503
    with room.reading() as whole:
        whole(2 * 1024 * 1024)
