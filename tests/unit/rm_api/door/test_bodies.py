"""Bodies are read within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld, rest_world
from yodel.rm_api.door.xml_bodies import TURN_BYTES
from yodel.telemetry.limits import REFUSALS

JSON = {"Content-Type": "application/json"}
PATH = "/ws/v1/cluster/apps?user.name=alice"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b'{"a": "\xff"}', b"[" * 40_000, b'{"a": 1e999}']
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


@pytest.mark.parametrize(
    ("content", "media_type", "limit"),
    [
        pytest.param(b" " * (4 * 1024 * 1024 + 1), "application/json", "rest_body_bytes is 4194305", id="bytes"),
        pytest.param(b'{"a":[' + b"1," * 50_000 + b"1]}", "application/json", "rest_values is 50002", id="json"),
        pytest.param(b"<a>" + b"<b/>" * 50_000 + b"</a>", "application/xml", "rest_values is 50001", id="xml"),
        pytest.param(
            b"<a " + b'b="" ' * 20_001 + b"/>", "application/xml", "rest_attributes is 20001", id="attributes"
        ),
    ],
)
async def test_what_is_too_much_is_told_and_counted(
    world: RestWorld, content: bytes, media_type: str, limit: str
) -> None:
    before = REFUSALS.counts()
    answer = await world.client.post(PATH, content=content, headers={"Content-Type": media_type})
    assert answer.status_code == 413
    assert limit in answer.text
    name = limit.partition(" ")[0]
    assert REFUSALS.counts() == {**before, name: before[name] + 1}


async def test_others_have_their_turns_while_a_document_is_read(world: RestWorld) -> None:
    """The loop has turns, which a task counts that only waits for its next one."""
    document = b"<application-submission-context>" + b"<b/>" * 40_000 + b"</application-submission-context>"
    turns, is_over = 0, asyncio.Event()

    async def count() -> None:
        nonlocal turns
        while not is_over.is_set():
            turns += 1
            await asyncio.sleep(0)

    async def turns_of(content: bytes) -> int:
        nonlocal turns
        turns = 0
        await world.client.post(PATH, content=content, headers={"Content-Type": "application/xml"})
        return turns

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(count())
        short = await turns_of(b"<application-submission-context/>")
        assert await turns_of(document) - short >= len(document) // TURN_BYTES
        is_over.set()
