"""Bodies are read within bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld, rest_world

JSON = {"Content-Type": "application/json"}
PATH = "/ws/v1/cluster/apps?user.name=alice"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b'{"a": "\xff"}', b"[" * 100_000, b'{"a": 1e999}']
)
async def test_what_is_no_json_object_is_refused_without_a_message(world: RestWorld, content: bytes) -> None:
    answer = await world.client.post(PATH, content=content, headers=JSON)
    assert answer.status_code == 400
    assert answer.json() == {
        "RemoteException": {
            "exception": "WebApplicationException",
            "javaClassName": "javax.ws.rs.WebApplicationException",
        }
    }


async def test_no_body_over_the_maximum_is_taken() -> None:
    async with rest_world(body_bytes_max=100) as world:
        answer = await world.client.post(PATH, content=b" " * 101, headers=JSON)
        assert answer.status_code == 413


async def test_body_of_unknown_length_is_read_no_further_than_the_maximum() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 1000:
            sent += 1
            yield b" " * 60

    async with rest_world(body_bytes_max=100) as world:
        answer = await world.client.post(PATH, content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sent <= 3
