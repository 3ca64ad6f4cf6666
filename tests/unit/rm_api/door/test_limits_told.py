"""A refusal for being too much names the limit, the value and the setting, and is counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle

import httpx2
import pytest

from tests.support.records import a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, AttemptState, NodeState
from yodel.rm_api.door import body_turns
from yodel.rm_api.door.body_room import BodyRoom
from yodel.rm_api.proxy import web_proxy as proxy
from yodel.rm_api.proxy.web_proxy import ADDRESS_FETCHES_MAX, APPLICATION_FETCHES_MAX, CALLER_FETCHES_MAX, WebProxy
from yodel.telemetry.further_limits import (
    API_BODY_BYTES,
    PROXY_FETCHES,
    PROXY_FETCHES_OF_ADDRESS,
    PROXY_FETCHES_OF_APPLICATION,
    PROXY_FETCHES_OF_CALLER,
    REST_BODIES_HELD,
    REST_BODY_WAIT,
    REST_QUERY_FIELDS,
    WEB,
)
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS, TABLE

TYPED = {"Content-Type": "application/json"}
APPS = "/ws/v1/cluster/apps?user.name=alice"


@pytest.fixture
def counted() -> dict[str, int]:
    """Return how often each limit has refused somebody so far."""
    return REFUSALS.counts()


def require_told(limit: Limit, answer: httpx2.Response, before: dict[str, int], words: str) -> None:
    assert words in answer.text, answer.text
    assert REFUSALS.counts()[limit.name] == before[limit.name] + 1


@pytest.fixture
async def fetching(world: RestWorld) -> asyncio.Event:
    """Eight applications whose pages do not come before the event."""
    go_on = asyncio.Event()

    async def late() -> AsyncIterator[bytes]:
        yield b"late"

    async def slow(_: httpx2.Request) -> httpx2.Response:
        await go_on.wait()
        return httpx2.Response(200, content=late())

    world.app.state.proxy.web_proxy = WebProxy(httpx2.AsyncClient(transport=httpx2.MockTransport(slow)))
    await world.put(a_node(state=NodeState.RUNNING))
    for number in range(1, 9):
        running = an_application(number, state=ApplicationState.RUNNING, current_attempt=1)
        url = "http://node-1:4040"
        await world.put(running, an_attempt(number, state=AttemptState.RUNNING, host="node-1", tracking_url=url))
    return go_on


@pytest.mark.parametrize(
    ("limit", "maximum", "applications", "users"),
    [
        (PROXY_FETCHES_OF_APPLICATION, APPLICATION_FETCHES_MAX, 1, 8),
        (PROXY_FETCHES_OF_CALLER, CALLER_FETCHES_MAX, 8, 1),
        (PROXY_FETCHES_OF_CALLER, CALLER_FETCHES_MAX, 8, 0),
        (PROXY_FETCHES_OF_ADDRESS, ADDRESS_FETCHES_MAX, 8, 8),
        (PROXY_FETCHES, 40, 8, 8),
    ],
)
async def test_share_of_the_web_proxys_fetches_ends(
    world: RestWorld,
    fetching: asyncio.Event,
    counted: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    limit: Limit,
    maximum: int,
    applications: int,
    users: int,
) -> None:
    if limit is PROXY_FETCHES:
        monkeypatch.setattr(proxy, "FETCHES_MAX", maximum)
    numbers = cycle(range(applications))
    names = cycle([f"?user.name=user{user}" for user in range(users)] or [""])

    def page() -> str:
        return f"/proxy/{an_application(1 + next(numbers)).id}/{next(names)}"

    async with asyncio.TaskGroup() as group:
        pages = [group.create_task(world.client.get(page())) for _ in range(maximum)]
        for _ in range(20):
            await asyncio.sleep(0)
        refused = await world.client.get(page())
        assert refused.status_code == 502
        words = f"{limit.name} is {maximum + 1}, where at most {maximum} are allowed (fixed)"
        require_told(limit, refused, counted, words)
        fetching.set()
    assert {page.result().status_code for page in pages} == {200}
    assert (await world.client.get(page())).status_code == 200, "what is over takes no share"


async def test_room_for_bodies_that_ends(world: RestWorld, counted: dict[str, int]) -> None:
    world.app.state.door.body_room = BodyRoom(1000, 0)
    answer = await world.client.post(APPS, content=b" " * 2000, headers=TYPED)
    assert answer.status_code == 503
    require_told(REST_BODIES_HELD, answer, counted, "rest_bodies_held_bytes is 2000, where at most 1000 are allowed")


async def test_large_body_that_waits_for_too_long(
    world: RestWorld, counted: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_turns, "WAIT_S", 0.01)
    turns = world.app.state.door.body_turns = body_turns.BodyTurns(1)
    async with turns.turn("mallory"):
        answer = await world.client.post(APPS, content=b"{" + b" " * 100_000 + b"}", headers=TYPED)
    assert answer.status_code == 503
    require_told(REST_BODY_WAIT, answer, counted, "rest_body_wait_seconds is ")


async def test_query_of_too_many_fields(world: RestWorld, counted: dict[str, int]) -> None:
    answer = await world.get("/apps?" + "&".join(["a=1"] * 1001))
    assert answer.status_code == 400
    words = "rest_query_fields is 1001, where at most 1000 are allowed (fixed)"
    require_told(REST_QUERY_FIELDS, answer, counted, words)
    assert (await world.get("/apps?" + "&".join(["a=1"] * 1000))).status_code == 200


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_body_of_the_api(world: RestWorld, counted: dict[str, int], is_chunked: bool) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(65):
            yield b" " * 1024

    path = "/api/v1/applications/application_1_0001/kill?user.name=alice"
    content = parts() if is_chunked else b" " * 66_560
    answer = await world.client.post(path, content=content, headers=TYPED)
    assert answer.status_code == 413
    require_told(API_BODY_BYTES, answer, counted, "api_body_bytes is 66560, where at most 65536 are allowed (fixed)")


def test_all_of_them_are_in_the_table() -> None:
    assert {*WEB} <= {*TABLE}
