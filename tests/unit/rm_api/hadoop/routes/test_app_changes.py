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
from yodel.domain.queues.queue import Queue
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


@pytest.fixture
async def unguarded() -> AsyncIterator[RestWorld]:
    """Serve without yarn.acl.enable, which hides queues that are not there behind those that are not the caller's."""
    async with rest_world(queues=QUEUES) as world:
        await world.put(APP, an_attempt(1, state=AttemptState.RUNNING), OVER)
        yield world


async def put(world: RestWorld, what: str, body: Any, user: str = "alice", app: object = APP.id) -> httpx2.Response:
    path = f"/ws/v1/cluster/apps/{app}/{what}"
    return await world.client.put(path, json=body, params={"user.name": user} if user else {})


@pytest.mark.parametrize("body", [{"queue": "alpha"}, {"queue": "root.alpha"}])
async def test_moved_application_is_in_the_other_queue(running: RestWorld, body: Any) -> None:
    answer = await put(running, "queue", body)
    assert (answer.status_code, answer.json()) == (200, {"queue": "root.alpha"})
    assert await running.json(f"/apps/{APP.id}/queue") == {"queue": "root.alpha"}


async def test_move_to_where_it_is_changes_nothing(running: RestWorld) -> None:
    version = running.rm.queries.version
    assert (await put(running, "queue", {"queue": "default"})).json() == {"queue": "root.default"}
    assert running.rm.queries.version == version


async def test_priority_is_answered_as_it_has_become(running: RestWorld) -> None:
    assert await running.json(f"/apps/{APP.id}/priority") == {"priority": 3}
    assert (await put(running, "priority", {"priority": 7})).json() == {"priority": 7}
    assert (await put(running, "priority", {"priority": 99})).json() == {"priority": 10}
    assert (await put(running, "priority", {"priority": "4"})).json() == {"priority": 4}
    assert (await put(running, "priority", {})).json() == {"priority": 0}


async def test_priority_that_it_has_is_no_change_and_nobodys_secret(running: RestWorld) -> None:
    answer = await put(running, "priority", {"priority": 3}, user="mallory")
    assert (answer.status_code, answer.json()) == (200, {"priority": 3})


async def test_lifetime_is_set_and_shown(running: RestWorld) -> None:
    expires = iso_8601(running.clock.now_ms() + 60_500)
    answer = await put(running, "timeout", {"timeout": {"type": "LIFETIME", "expiryTime": expires}})
    shown = {"type": "LIFETIME", "expiryTime": expires, "remainingTimeInSeconds": 60}
    assert (answer.status_code, answer.json()) == (200, {"timeout": shown})
    assert await running.json(f"/apps/{APP.id}/timeouts") == {"timeouts": {"timeout": [shown]}}
    assert await running.json(f"/apps/{APP.id}/timeouts/lifetime") == {"timeout": shown}
    running.clock.advance(61)
    (timeout,) = (await running.json(f"/apps/{APP.id}/timeouts"))["timeouts"]["timeout"]
    assert timeout["remainingTimeInSeconds"] == 0


async def test_only_the_application_itself_shows_that_it_is_over(running: RestWorld) -> None:
    """RMWebServices.constructAppTimeoutDao asks for the time alone, AppInfo for the state too."""
    await running.put(replace(OVER, expires_ms=running.clock.now_ms() + 60_000))
    timeout = (await running.json(f"/apps/{OVER.id}/timeouts/LIFETIME"))["timeout"]
    (shown,) = (await running.json(f"/apps/{OVER.id}"))["app"]["timeouts"]["timeout"]
    assert (timeout["remainingTimeInSeconds"], shown["remainingTimeInSeconds"]) == (60, 0)


async def test_lifetime_of_what_is_over_stays_as_it_is(running: RestWorld) -> None:
    body = {"timeout": {"type": "LIFETIME", "expiryTime": "not even a time"}}
    answer = await put(running, "timeout", body, app=OVER.id)
    shown = {"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}
    assert (answer.status_code, answer.json()) == (200, {"timeout": shown})


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("queue", {"queue": "nosuch"}, 503, "The specified Queue: nosuch doesn't exist"),
        ("queue", {}, 503, "The specified Queue: null doesn't exist"),
        ("queue", {"appqueue": {"queue": "alpha"}}, 503, "The specified Queue: null doesn't exist"),
        ("queue", {"queue": 5}, 503, "The specified Queue: 5 doesn't exist"),
        ("queue", {"queue": {}}, 400, None),
        ("priority", {"priority": "high"}, 400, None),
        ("priority", {"priority": 2**31}, 400, None),
        ("priority", {"priority": True}, 400, None),
        ("timeout", {"timeout": {"type": "LIFETIME"}}, 503, "Text 'UNLIMITED' could not be parsed at index 0"),
        (
            "timeout",
            {"timeout": {"type": "LIFETIME", "expiryTime": "x"}},
            503,
            "Text 'x' could not be parsed at index 0",
        ),
        (
            "timeout",
            {"timeout": {"type": "LIFETIME", "expiryTime": "2001-01-01 00:00"}},
            503,
            "Text '2001-01-01 00:00' could not be parsed at index 10",
        ),
        (
            "timeout",
            {"timeout": {"type": "LIFETIME", "expiryTime": "2001-01-01T00:00:00.000+0000Z"}},
            503,
            "Text '2001-01-01T00:00:00.000+0000Z' could not be parsed, unparsed text found at index 28",
        ),
        (
            "timeout",
            {"timeout": {"type": "LIFETIME", "expiryTime": "2001-13-01T00:00:00.000+0000"}},
            503,
            "Text '2001-13-01T00:00:00.000+0000' could not be parsed: a field is out of range",
        ),
    ],
)
async def test_what_is_wrong_is_said(
    unguarded: RestWorld, what: str, body: Any, status: int, message: str | None
) -> None:
    answer = await put(unguarded, what, body)
    assert (answer.status_code, answer.json()["RemoteException"].get("message")) == (status, message)


@pytest.mark.parametrize(
    "body",
    [
        {"timeout": {"type": "NOPE", "expiryTime": "x"}},
        {"timeout": {"type": "lifetime", "expiryTime": "x"}},
        {"timeout": {"type": "LIFETIME", "expiryTime": None}},
        {"timeout": {}},
        {"type": "LIFETIME", "expiryTime": "x"},
    ],
)
async def test_timeout_of_no_type_or_time_is_refused_in_a_bare_text(running: RestWorld, body: Any) -> None:
    answer = await put(running, "timeout", body)
    assert (answer.status_code, answer.text) == (400, "Timeout type or ExpiryTime is null.")


@pytest.mark.parametrize(
    ("what", "exception", "message"),
    [
        ("queue", "NullPointerException", 'AppQueue.getQueue()" because "targetQueue" is null'),
        ("priority", "YarnException", "Target Priority cannot be null"),
        ("timeout", "NullPointerException", 'AppTimeoutInfo.getTimeoutType()" because "appTimeout" is null'),
    ],
)
async def test_call_without_a_body_falls_over_as_hadoop_does(
    running: RestWorld, what: str, exception: str, message: str
) -> None:
    path = f"/ws/v1/cluster/apps/{APP.id}/{what}?user.name=alice"
    answer = await running.client.put(path)
    inner = answer.json()["RemoteException"]
    assert (answer.status_code, inner["exception"], inner["message"].endswith(message)) == (503, exception, True)
    assert (await running.client.put(path.replace(str(APP.id), "application_1_0001"))).status_code == 404


async def test_empty_timeout_is_none(running: RestWorld) -> None:
    answer = await put(running, "timeout", {})
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (503, "NullPointerException")


async def test_lifetime_may_be_set_in_xml(running: RestWorld) -> None:
    expires = iso_8601(running.clock.now_ms() + 60_000)
    answer = await running.client.put(
        f"/ws/v1/cluster/apps/{APP.id}/timeout?user.name=alice",
        content=f"<timeout><type>LIFETIME</type><expiryTime>{expires}</expiryTime></timeout>",
        headers={"content-type": "application/xml"},
    )
    assert (answer.status_code, answer.json()["timeout"]["expiryTime"]) == (200, expires)


@pytest.mark.parametrize(
    ("what", "body", "words"),
    [
        ("queue", {"queue": "alpha"}, "move appid"),
        ("priority", {"priority": 1}, "change priority of appid"),
        (
            "timeout",
            {"timeout": {"type": "LIFETIME", "expiryTime": "2099-01-01T00:00:00.000+0000"}},
            "change timeout of app",
        ),
    ],
)
async def test_stranger_and_nobody_change_nothing(running: RestWorld, what: str, body: Any, words: str) -> None:
    answer = await put(running, what, body, user="mallory")
    assert (answer.status_code, answer.text) == (
        403,
        f"Unauthorized attempt to {words} {APP.id} by remote user mallory",
    )
    running.client.cookies.clear()
    assert (await put(running, what, body, user="")).status_code == 401
    assert (await put(running, what, body, app="application_1_0001")).status_code == 404


async def test_what_is_over_stays_where_it_was(running: RestWorld) -> None:
    same = await put(running, "queue", {"queue": "default"}, app=OVER.id)
    assert (same.status_code, same.text) == (400, "App in FINISHED state cannot be moved.")
    assert (await put(running, "queue", {"queue": "root.default"}, app=OVER.id)).json() == {"queue": "root.default"}
    moved = await put(running, "queue", {"queue": "alpha"}, app=OVER.id)
    assert (moved.status_code, moved.text) == (400, "App in FINISHED state cannot be moved.")
    assert (await put(running, "priority", {"priority": 5}, app=OVER.id)).json() == {"priority": 0}
