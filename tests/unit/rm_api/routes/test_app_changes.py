"""Queue, priority and timeouts over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.support.records import a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.queue import Queue
from yodel.domain.states import ApplicationState, AttemptState
from yodel.pb_convert.times import iso_8601

APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1, submission=a_submission(priority=3))
OVER = an_application(2, state=ApplicationState.FINISHED, finished_ms=5)
QUEUES = (Queue(path="root", is_leaf=False), Queue(path="root.default"), Queue(path="root.alpha"))


@pytest.fixture
async def running() -> AsyncIterator[RestWorld]:
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(queues=QUEUES, rules=rules) as world:
        await world.put(APP, an_attempt(1, state=AttemptState.RUNNING), OVER)
        yield world


async def put(world: RestWorld, what: str, body: Any, user: str = "alice", app: object = APP.id) -> httpx2.Response:
    path = f"/ws/v1/cluster/apps/{app}/{what}"
    return await world.client.put(path, json=body, params={"user.name": user} if user else {})


@pytest.mark.parametrize("body", [{"queue": "alpha"}, {"appqueue": {"queue": "root.alpha"}}])
async def test_moved_application_is_in_the_other_queue(running: RestWorld, body: Any) -> None:
    answer = await put(running, "queue", body)
    assert (answer.status_code, answer.json()) == (200, {"queue": "root.alpha"})
    assert await running.json(f"/apps/{APP.id}/queue") == {"queue": "root.alpha"}


async def test_move_to_where_it_is_changes_nothing(running: RestWorld) -> None:
    version = running.queries.version
    assert (await put(running, "queue", {"queue": "default"})).json() == {"queue": "root.default"}
    assert running.queries.version == version


async def test_priority_is_answered_as_it_has_become(running: RestWorld) -> None:
    assert await running.json(f"/apps/{APP.id}/priority") == {"priority": 3}
    assert (await put(running, "priority", {"priority": 7})).json() == {"priority": 7}
    assert (await put(running, "priority", {"priority": 99})).json() == {"priority": 10}


async def test_lifetime_is_set_and_shown(running: RestWorld) -> None:
    expires = iso_8601(running.clock.now_ms() + 60_500)
    answer = await put(running, "timeout", {"timeout": {"type": "lifetime", "expiryTime": expires}})
    shown = {"type": "LIFETIME", "expiryTime": expires, "remainingTimeInSeconds": 60}
    assert (answer.status_code, answer.json()) == (200, {"timeout": shown})
    assert await running.json(f"/apps/{APP.id}/timeouts") == {"timeouts": {"timeout": [shown]}}
    assert await running.json(f"/apps/{APP.id}/timeouts/lifetime") == {"timeout": shown}
    running.clock.advance(61)
    (timeout,) = (await running.json(f"/apps/{APP.id}/timeouts"))["timeouts"]["timeout"]
    assert timeout["remainingTimeInSeconds"] == 0


async def test_application_that_is_over_has_no_time_left(running: RestWorld) -> None:
    await running.put(replace(OVER, expires_ms=running.clock.now_ms() + 60_000))
    timeout = (await running.json(f"/apps/{OVER.id}/timeouts/LIFETIME"))["timeout"]
    assert timeout["remainingTimeInSeconds"] == 0


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("queue", {"queue": "nosuch"}, 503, "The specified Queue: nosuch doesn't exist"),
        ("queue", {}, 400, None),
        ("priority", {"priority": "high"}, 400, None),
        ("priority", {"priority": True}, 400, None),
        ("timeout", {"timeout": {"type": "LIFETIME"}}, 400, "Timeout type or ExpiryTime is null."),
        (
            "timeout",
            {"type": "NOPE", "expiryTime": "x"},
            400,
            "Invalid application-state NOPE specified. It should be one of [LIFETIME]",
        ),
        ("timeout", {"type": "LIFETIME", "expiryTime": "x"}, 503, "Text 'x' could not be parsed at index 0"),
        (
            "timeout",
            {"type": "LIFETIME", "expiryTime": "2001-01-01 00:00"},
            503,
            "Text '2001-01-01 00:00' could not be parsed at index 10",
        ),
        (
            "timeout",
            {"type": "LIFETIME", "expiryTime": "2001-01-01T00:00:00.000+0000Z"},
            503,
            "Text '2001-01-01T00:00:00.000+0000Z' could not be parsed, unparsed text found at index 28",
        ),
        (
            "timeout",
            {"type": "LIFETIME", "expiryTime": "2001-13-01T00:00:00.000+0000"},
            503,
            "Text '2001-13-01T00:00:00.000+0000' could not be parsed: a field is out of range",
        ),
    ],
)
async def test_what_is_wrong_is_said(
    running: RestWorld, what: str, body: Any, status: int, message: str | None
) -> None:
    answer = await put(running, what, body)
    assert (answer.status_code, answer.json()["RemoteException"].get("message")) == (status, message)


@pytest.mark.parametrize(
    ("what", "body", "words"),
    [
        ("queue", {"queue": "alpha"}, "move"),
        ("priority", {"priority": 1}, "update priority of"),
        ("timeout", {"type": "LIFETIME", "expiryTime": "2099-01-01T00:00:00.000+0000"}, "update timeout of"),
    ],
)
async def test_stranger_and_nobody_change_nothing(running: RestWorld, what: str, body: Any, words: str) -> None:
    answer = await put(running, what, body, user="mallory")
    message = answer.json()["RemoteException"]["message"]
    assert (answer.status_code, message) == (
        403,
        f"Unauthorized attempt to {words} appid {APP.id} by remote user mallory",
    )
    running.client.cookies.clear()
    assert (await put(running, what, body, user="")).status_code == 401
    assert (await put(running, what, body, app="application_1_0001")).status_code == 404


async def test_what_is_over_stays_where_it_was(running: RestWorld) -> None:
    moved = await put(running, "queue", {"queue": "alpha"}, app=OVER.id)
    message = moved.json()["RemoteException"]["message"]
    assert (moved.status_code, message) == (400, "App in FINISHED state cannot be moved.")
    assert (await put(running, "priority", {"priority": 5}, app=OVER.id)).json() == {"priority": 0}
