"""Answers that are given again, and those that never are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from tests.support.fakes import FakeClock
from tests.support.records import an_application
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.states import ApplicationState
from yodel.rm_api.door import replay as replay_module
from yodel.rm_api.door.caller import NOBODY, Caller, with_caller
from yodel.rm_api.door.replay import Parts, PendingAnswer, Recording, Replay, again, asked_in, may_be_kept

HEAD = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
DEFAULTS = [(b"date", b"now")]
ENDED = an_application(1, state=ApplicationState.FAILED, finished_ms=2000)


@dataclass
class Versions:
    versions: tuple[int, ...] = (1, 1)

    def now(self) -> tuple[int, ...]:
        return self.versions


@pytest.fixture
def versions() -> Versions:
    return Versions()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def replay(versions: Versions, clock: FakeClock) -> Replay:
    return Replay(versions.now, clock.now_ms)


def asked(**changes: Any) -> PendingAnswer:
    return replace(PendingAnswer(HEAD, DEFAULTS, versions=(1, 1)), **changes)


def test_same_question_gets_the_same_answer_until_something_changes(replay: Replay, versions: Versions) -> None:
    assert replay.answer(HEAD, DEFAULTS) is None
    replay.keep(asked(), (b"an", b"swer"))
    assert replay.answer(HEAD, DEFAULTS) == (b"an", b"swer")
    assert replay.answer(HEAD.replace(b"host", b"cookie"), DEFAULTS) is None
    versions.versions = (1, 2)
    assert replay.answer(HEAD, DEFAULTS) is None


def test_no_answer_is_older_than_its_date(replay: Replay) -> None:
    replay.keep(asked(), (b"an", b"swer"))
    assert replay.answer(HEAD, list(DEFAULTS)) is None


def test_timed_answer_is_good_for_a_millisecond(replay: Replay, clock: FakeClock) -> None:
    replay.keep(asked(at_ms=clock.now_ms()), (b"an", b"swer"))
    assert replay.answer(HEAD, DEFAULTS) == (b"an", b"swer")
    clock.advance(0.001)
    assert replay.answer(HEAD, DEFAULTS) is None


def test_what_is_kept_is_bounded(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "ANSWERS_MAX", 2)
    monkeypatch.setattr(replay_module, "ANSWER_BYTES_MAX", 4)
    replay.keep(asked(), (b"lon", b"g."))
    replay.keep(asked(versions=None), (b"not",))
    assert replay.answer(HEAD, DEFAULTS) is None
    heads = [HEAD.replace(b"/x", b"/%d" % n) for n in range(3)]
    for head in heads:
        replay.keep(asked(head=head), (b"kept",))
    assert [replay.answer(head, DEFAULTS) for head in heads] == [None, None, (b"kept",)]
    monkeypatch.setattr(replay_module, "KEPT_BYTES_MAX", 6)
    replay.keep(asked(), (b"more",))
    assert [replay.answer(head, DEFAULTS) for head in (heads[2], HEAD)] == [None, (b"more",)]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (HEAD, True),
        (HEAD + HEAD, False),
        (HEAD[:-1], False),
        (HEAD.replace(b"GET", b"PUT"), False),
        (HEAD.replace(b"a\r", b"a" * 4096 + b"\r"), False),
    ],
)
def test_questions_are_whole_and_alone(head: bytes, expected: bool) -> None:
    assert may_be_kept(head) is expected


@pytest.mark.parametrize(
    ("headers", "version", "is_noted"),
    [
        ([(b"host", b"a"), (b"cookie", b"b"), (b"connection", b"Keep-Alive")], "1.1", True),
        ([], "1.0", False),
        ([(b"connection", b"close")], "1.1", False),
        ([(b"content-length", b"5")], "1.1", False),
        ([(b"upgrade", b"h2c")], "1.1", False),
    ],
)
def test_questions_with_more_to_them_are_not_noted(
    headers: list[tuple[bytes, bytes]], version: str, is_noted: bool
) -> None:
    scope: dict[str, Any] = {"http_version": version, "headers": headers}
    asked_in(scope, HEAD, DEFAULTS)
    assert (len(scope) == 3) is is_noted


@pytest.mark.parametrize(
    ("caller", "is_kept"),
    [
        (NOBODY, True),
        (Caller(user="alice"), True),
        (Caller(user="alice", headers=(("Set-Cookie", "x"),)), False),
        (Caller(user="alice", is_by_token=True), False),
        (Caller(user="alice", real_user="proxy"), False),
    ],
)
def test_who_may_lose_access_at_once_is_asked_each_time(replay: Replay, caller: Caller, is_kept: bool) -> None:
    scope = with_caller({"type": "http", "http_version": "1.1", "headers": []}, caller)
    asked_in(scope, HEAD, DEFAULTS)
    again(Request(scope), replay)
    assert (scope["yodel.asked"].versions is not None) is is_kept


async def recorded(replay: Replay, start: dict[str, Any], *bodies: Message) -> bytes | None:
    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, **start})
        for body in bodies:
            await send({"type": "http.response.body", **body})

    async def send(_: Message) -> None:
        return

    await Recording(app, replay)({"type": "http", "yodel.asked": asked()}, SimpleNamespace(), send)  # type: ignore[arg-type]
    found = replay.answer(HEAD, DEFAULTS)
    return b"".join(found) if found is not None else None


LENGTH = [(b"content-length", b"2")]


@pytest.mark.parametrize("bodies", [[{"body": b"ok"}], [{"body": b"o", "more_body": True}, {"body": b"k"}]])
async def test_answers_are_kept_as_they_are_sent(replay: Replay, bodies: list[Message]) -> None:
    found = await recorded(replay, {"headers": LENGTH}, *bodies)
    assert found == b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("start", "bodies"),
    [
        ({"headers": LENGTH, "status": 404}, [{"body": b"ok"}]),
        ({"headers": [*LENGTH, (b"set-cookie", b"x")]}, [{"body": b"ok"}]),
        ({"headers": []}, [{"body": b"ok"}]),
        ({"headers": LENGTH}, [{"body": b"o", "more_body": True}]),
        ({"headers": [(b"content-length", b"9999999")]}, [{"body": b"ok"}]),
    ],
)
async def test_other_answers_are_not_kept(replay: Replay, start: dict[str, Any], bodies: list[Message]) -> None:
    assert await recorded(replay, start, *bodies) is None


# --- with the routes --------------------------------------------------------------------------------------------------


@pytest.fixture
async def guarded() -> AsyncIterator[RestWorld]:
    """Applications are for their owners and ``admin``."""
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(rules=rules) as made:
        yield made


async def asked_twice(world: RestWorld, path: str, change: Any) -> tuple[Parts | None, Parts | None]:
    """Return what is kept for a question after it was answered, and after the change."""
    kept = world.app.state.door.replay
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": f"/ws/v1/cluster{path}",
        "query_string": b"",
        "headers": [(b"host", b"x")],
        "root_path": "",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    asked_in(scope, HEAD, DEFAULTS)

    async def ignored(_: Message) -> None:
        return

    await world.app(scope, SimpleNamespace(), ignored)  # type: ignore[arg-type]
    before = kept.answer(HEAD, DEFAULTS)
    await change()
    return before, kept.answer(HEAD, DEFAULTS)


@pytest.mark.parametrize("path", ["/info", "/metrics", "/scheduler", "/apps", f"/apps/{ENDED.id}"])
async def test_what_changed_is_not_given_again(world: RestWorld, path: str) -> None:
    async def change() -> None:
        await world.put(replace(ENDED, diagnostics="other"))

    await world.put(ENDED)
    before, after = await asked_twice(world, path, change)
    assert before is not None
    assert bytes(before[0]).startswith(b"HTTP/1.1 200 OK\r\n")
    assert after is None


async def test_time_passes_for_what_lives(world: RestWorld) -> None:
    async def change() -> None:
        world.clock.advance(0.001)

    await world.put(replace(ENDED, state=ApplicationState.RUNNING, finished_ms=0))
    for path in ("/apps", f"/apps/{ENDED.id}"):
        before, after = await asked_twice(world, path, change)
        assert before is not None
        assert after is None


async def test_pages_hold_nothing_of_what_somebody_may_not_view(guarded: RestWorld) -> None:
    await guarded.put(replace(ENDED, submitted_ms=77, finished_ms=2000))
    for path in (f"/apps/{ENDED.id}", "/apps"):
        for user, started in (("admin", 77), ("mallory", 0), ("alice", 77), ("mallory", 0)):
            guarded.client.cookies.clear()
            shown = (await guarded.json(f"{path}?user.name={user}")).popitem()[1]
            application = shown["app"][0] if "app" in shown else shown
            assert application["startedTime"] == started
