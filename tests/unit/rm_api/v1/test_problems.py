"""Whatever is refused under /api is refused as problem details, whoever refuses it."""

from __future__ import annotations

import errno
from typing import Any

import pytest
import structlog.testing
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from tests.support.rest_world import RestWorld, rest_world
from yodel.errors import (
    AccessDenied,
    ApplicationNotFound,
    IllegalTransition,
    InvalidValue,
    NotSupported,
    Refused,
    Unavailable,
    YodelError,
)
from yodel.hadoop_http.errors import failed, not_authenticated
from yodel.rm_api.v1 import problems


def is_problem(answer: Any, status: int) -> bool:
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "hint", "errors"}
    return bool(
        (answer.status_code, body["status"]) == (status, status)
        and answer.headers["content-type"] == "application/problem+json"
    )


@pytest.mark.parametrize("path", ["/api/nope", "/api/v1/nope", "/api/v1", "/api/v1/", "/api/v1/nodes/"])
@pytest.mark.parametrize("accept", ["", "text/html", "application/xml", "application/json"])
async def test_unknown_paths(world: RestWorld, path: str, accept: str) -> None:
    answer = await world.client.get(path, headers={"Accept": accept} if accept else {})
    assert is_problem(answer, 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
async def test_wrong_methods_are_told_the_right_ones(world: RestWorld, method: str) -> None:
    answer = await world.client.request(method, "/api/v1/applications")
    assert is_problem(answer, 405)
    assert answer.headers["allow"] == "GET"


async def test_methods_of_all_routes_of_a_path_are_named(world: RestWorld) -> None:
    for method, path, allowed in (
        ("PUT", "/queues", "GET, PATCH, POST"),
        ("POST", "/queues/root.default", "DELETE, GET, PATCH"),
        ("DELETE", "/queue-configuration", "GET, PUT"),
    ):
        answer = await world.client.request(method, f"/api/v1{path}?user.name=admin")
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    asked = await world.client.options("/api/v1/queues")
    assert (asked.status_code, asked.headers["allow"]) == (204, "GET, PATCH, POST")


@pytest.mark.parametrize("path", ["/api/v1/queues", "/api/openapi.json", "/api/docs", "/api/v1/nope"])
async def test_head_is_get_without_a_body(world: RestWorld, path: str) -> None:
    head, get = await world.client.head(path), await world.client.get(path)
    assert (head.status_code, head.content, head.headers["content-type"]) == (
        get.status_code,
        b"",
        get.headers["content-type"],
    )


async def test_head_of_what_has_no_end_is_refused(world: RestWorld) -> None:
    assert (await world.client.head("/api/v1/events/stream")).status_code == 405


@pytest.mark.parametrize(
    ("path", "allowed"), [("/applications", "GET"), ("/applications/application_1_0001/kill", "POST")]
)
async def test_options_are_answered_on_every_path(world: RestWorld, path: str, allowed: str) -> None:
    answer = await world.client.options(f"/api/v1{path}")
    assert (answer.status_code, answer.headers["allow"]) == (204, allowed)


async def test_impossible_name(world: RestWorld) -> None:
    assert is_problem(await world.client.get("/api/v1/nodes?user.name=a%3Ab"), 400)


async def test_anonymous_callers_where_they_are_shut_out() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        refused = await world.client.get("/api/v1/nodes")
        assert is_problem(refused, refused.status_code)
        assert refused.status_code in (401, 403)
        assert (await world.client.get("/api/v1/nodes?user.name=alice")).status_code == 200


async def test_other_paths_keep_hadoops_form(world: RestWorld) -> None:
    answer = await world.get("/nodes/nohost")
    assert set(answer.json()) == {"RemoteException"}


async def test_headers_of_every_answer_are_there(world: RestWorld) -> None:
    for path in ("/api/v1/nodes", "/api/v1/nope"):
        assert (await world.client.get(path)).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("chunked", [False, True])
async def test_large_bodies_are_not_read(world: RestWorld, chunked: bool) -> None:
    async def parts() -> Any:
        for _ in range(70):
            yield b" " * 1024

    path = "/api/v1/applications/application_1_0001/kill?user.name=alice"
    content = parts() if chunked else b" " * 70_000
    answer = await world.client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 413)


async def test_bug_is_a_problem_without_its_trace(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret of the implementation")

    monkeypatch.setattr(type(world.rm.queries), "nodes", broken)
    with structlog.testing.capture_logs() as lines:
        answer = await world.client.get("/api/v1/nodes")
    assert is_problem(answer, 500)
    assert "secret" not in answer.text
    assert [(line["event"], line["path"]) for line in lines] == [("request failed", "/api/v1/nodes")]


async def test_what_the_system_refuses_is_told_by_its_reason(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, "x", "/secret")

    monkeypatch.setattr(type(world.rm.queries), "nodes", full)
    answer = await world.client.get("/api/v1/nodes")
    assert is_problem(answer, 503)
    assert answer.json()["detail"] == "Too many open files"
    told = failed(OSError(errno.EMFILE, "x", "/secret"))
    assert (told.status, told.java_class, told.message) == (503, "java.io.IOException", "Too many open files")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ApplicationNotFound("x"), 404),
        (AccessDenied("x"), 403),
        (InvalidValue("f", "v", "e"), 400),
        (NotSupported("x"), 400),
        (Refused("x"), 409),
        (Unavailable("x"), 503),
        (not_authenticated(), 401),
        (YodelError("x"), 500),
    ],
)
async def test_each_exception_has_its_status(error: YodelError, status: int) -> None:
    assert problems.status_of(error) == status
    assert status in problems.KINDS


def test_a_bug_of_the_state_tables_is_ours() -> None:
    assert problems.status_of(IllegalTransition("Machine", "S", "E")) == 500


def test_temporary_refusals_say_when_to_come_again() -> None:
    assert problems.answer(503, "x").headers["retry-after"] == "2"
    assert problems.answer(401, "x", headers={"www-authenticate": "Negotiate"}).headers.getlist("www-authenticate") == [
        "Negotiate"
    ]


async def test_body_that_grows_beyond_the_bound_is_given_up_on() -> None:
    async def endless() -> Message:
        return {"type": "http.request", "body": b"x" * 10_000, "more_body": True}

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(100):
            await receive()

    async def send(_: Message) -> None:
        return

    with pytest.raises(HTTPException) as found:
        await reading({}, problems._bounded({}, endless), send)
    assert found.value.status_code == 413


async def test_answer_that_broke_off_is_not_made_whole() -> None:
    async def breaking(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("broken")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    scope = {"type": "http", "method": "GET", "path": "/api/v1/x", "headers": []}
    with structlog.testing.capture_logs(), pytest.raises(RuntimeError):
        await problems.ProblemRim(breaking)(scope, receive, send)
    assert len(sent) == 2
