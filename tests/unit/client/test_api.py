"""Calls: pages put together, problems and silence as words that help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from tests.support.api_rows import FAILED, RUNNING
from tests.support.rest_world import RestWorld
from yodel import cli
from yodel.client import api
from yodel.client.api import ApiRefused, RmClient
from yodel.errors import Unavailable, YodelError
from yodel.local import running


def to(world: RestWorld, user: str = "alice") -> RmClient:
    return RmClient("http://rm-host:8088", user, httpx2.ASGITransport(app=world.app))


def answering(handler: Callable[[httpx2.Request], httpx2.Response]) -> RmClient:
    return RmClient("http://rm-host:8088", "alice", httpx2.MockTransport(handler))


async def test_list_is_put_together_of_its_pages(filled: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PAGE_LIMIT", 1)
    async with to(filled) as client:
        ids = [app["id"] for app in await client.items("/applications")]
        assert ids == [str(FAILED.id), str(RUNNING.id)]
        assert [app["id"] for app in await client.items("/applications", count_max=1)] == ids[:1]


async def test_filters_are_passed_on_and_what_is_not_given_is_not(filled: RestWorld) -> None:
    async with to(filled) as client:
        found = await client.items("/applications", {"state": ["RUNNING", "KILLED"], "user": (), "name": None})
        assert [app["id"] for app in found] == [str(RUNNING.id)]


async def test_caller_is_named(filled: RestWorld) -> None:
    async with to(filled) as client:
        killed = await client.post(f"/applications/{RUNNING.id}/kill", {"diagnostics": ""})
        assert killed["id"] == str(RUNNING.id)
    assert "killed by user alice" in filled.rm.state.applications[RUNNING.id].diagnostics


async def test_problem_is_told_with_what_to_do(filled: RestWorld) -> None:
    async with to(filled, "mallory") as client:
        with pytest.raises(ApiRefused) as found:
            await client.post(f"/applications/{RUNNING.id}/kill", {"diagnostics": ""})
    assert found.value.status == 403
    assert str(found.value) == (
        f"User mallory cannot perform operation MODIFY_APP on {RUNNING.id}\n"
        "  Ask the owner, or an administrator of the cluster."
    )


async def test_parameter_that_is_refused_is_named_as_the_option_that_it_was(filled: RestWorld) -> None:
    async with to(filled) as client:
        with pytest.raises(ApiRefused, match=r"^--state: Input should be 'ACCEPTED', 'RUNNING', "):
            await client.items("/applications", {"state": ["RUNING"]})


async def test_silence_names_the_server_and_the_ways_out() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    async with answering(refuse) as client:
        with pytest.raises(Unavailable, match=r"(?s)no answer from http://rm-host:8088 \(refused\).*YODEL_SERVER"):
            await client.get("/nodes")
        with pytest.raises(Unavailable, match="no answer"):
            async with client.stream("/events/stream", {}, {}):
                pass


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx2.Response(503, text="This is standby RM: waits"), r"This is standby RM: waits \(HTTP 503\)"),
        (httpx2.Response(404, text="<html>"), "answered HTTP 404, and not in the format of this API"),
        (httpx2.Response(200, text="<html>"), "answered HTTP 200, and not in the format of this API"),
        (
            httpx2.Response(400, text="[]", headers={"content-type": "application/problem+json"}),
            "answered HTTP 400, and not in the format of this API",
        ),
    ],
)
async def test_somebody_elses_server_is_told_as_such(answer: httpx2.Response, words: str) -> None:
    async with answering(lambda _: answer) as client:
        with pytest.raises(Unavailable, match=words) as found:
            await client.get("/nodes")
    assert "user.name" not in str(found.value)


async def test_refused_stream_is_a_problem(filled: RestWorld) -> None:
    async with to(filled) as client:
        with pytest.raises(ApiRefused) as found:
            async with client.stream("/events/stream", {"kind": "x"}, {}):
                pass
    assert found.value.status == 400


def test_caller_is_hadoops_user_or_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    assert api.caller() == "alice"
    monkeypatch.delenv("HADOOP_USER_NAME")
    monkeypatch.setattr(api.getpass, "getuser", lambda: "bob")
    assert api.caller() == "bob"


def test_refusals_are_expected_errors() -> None:
    assert isinstance(ApiRefused(400, "x", None), YodelError)
    assert str(ApiRefused(400, "x", None)) == "x"


def test_a_token_goes_to_a_server_that_was_named_and_to_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        shown.append(request.headers.get("authorization"))
        return httpx2.Response(503, text="starting")

    (tmp_path / "token").write_text("secret-of-sixteen\n")
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=httpx2.MockTransport(answer)))
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setattr(running, "running_locals", list)
    for server in ("http://rm:8088", None):
        env = {"YODEL_TOKEN_FILE": str(tmp_path / "token"), "YODEL_SERVER": server}
        assert CliRunner(env=env).invoke(cli.app, ["colocation", "status"]).exit_code == 1
    assert shown == ["Bearer secret-of-sixteen", None]
    done = CliRunner(env={"YODEL_TOKEN_FILE": "/nowhere", "YODEL_SERVER": "http://rm:8088"}).invoke(
        cli.app, ["colocation", "status"]
    )
    assert (done.exit_code, "YODEL_TOKEN_FILE" in done.output) == (2, True)
