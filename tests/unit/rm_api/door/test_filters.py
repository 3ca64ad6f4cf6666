"""The filters stand before every route, as one caller sees it."""

from __future__ import annotations

import pytest

from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.cross_origin import CrossOriginRules
from yodel.errors import Unavailable
from yodel.services.writer.engine import Engine


async def test_frame_options_are_what_is_set(world: RestWorld) -> None:
    assert (await world.get("/info")).headers["x-frame-options"] == "SAMEORIGIN"
    async with rest_world(frame_options="DENY") as strict:
        assert (await strict.get("/info")).headers["x-frame-options"] == "DENY"
    async with rest_world(frame_options="") as loose:
        assert "x-frame-options" not in (await loose.get("/info")).headers


async def test_other_origins_read_only_where_that_is_switched_on(world: RestWorld) -> None:
    page = {"Origin": "http://ui.example.com"}
    assert "access-control-allow-origin" not in (await world.get("/info", headers=page)).headers
    async with rest_world(cross_origin=CrossOriginRules(), anonymous_allowed=False) as opened:
        answer = await opened.get("/info", headers=page)
        assert answer.status_code == 401  # a page may read why
        assert answer.headers["access-control-allow-origin"] == "http://ui.example.com"
        assert "access-control-allow-origin" not in (await opened.get("/info?user.name=a")).headers


async def test_beans_name_one_origin_and_not_two() -> None:
    async with rest_world(cross_origin=CrossOriginRules()) as world:
        for headers, origin in (({}, "*"), ({"Origin": "http://ui.example.com"}, "http://ui.example.com")):
            answer = await world.client.get("/jmx?qry=a:b=c", headers=headers)
            assert answer.headers.get_list("access-control-allow-origin") == [origin]


async def test_refusal_is_a_page_of_the_form_that_was_asked_for() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        page = await world.get("/info", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["www-authenticate"]) == (401, "PseudoAuth")
        assert "HTTP ERROR 401 Authentication required" in page.text
        plain = await world.get("/info", headers={"Accept": "application/json"})
        assert (plain.json()["status"], plain.json()["message"]) == ("401", "Authentication required")
        assert plain.headers["set-cookie"] == "hadoop.auth=; Path=/; HttpOnly"
        assert plain.headers["x-content-type-options"] == "nosniff"


async def test_probes_have_no_name() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        assert (await world.client.get("/health/live")).status_code == 200
        assert (await world.client.get("/prom")).status_code == 401


async def test_too_many_fields_in_a_query_are_refused(world: RestWorld) -> None:
    answer = await world.get("/info?" + "a=1&" * 1001)
    assert answer.status_code == 400


@pytest.mark.parametrize(("method", "operation"), [("GET", "GET"), ("PUT", "RENEW"), ("PUT", "CANCEL")])
async def test_token_that_cannot_be_written_now_may_be_asked_for_again(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch, method: str, operation: str
) -> None:
    got = await world.get("/info?op=GETDELEGATIONTOKEN&user.name=alice&renewer=alice")
    token = got.json()["Token"]["urlString"]

    async def full(*_: object) -> None:
        raise Unavailable("10000 changes are waiting to be written")

    monkeypatch.setattr(Engine, "do", full)
    query = f"op={operation}DELEGATIONTOKEN&user.name=alice&token={token}"
    answer = await world.client.request(method, f"/ws/v1/cluster/info?{query}")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/json")
    assert answer.headers["Retry-After"] == "2"
    assert answer.json()["RemoteException"] == {
        "exception": "IOException",
        "message": "10000 changes are waiting to be written",
        "javaClassName": "java.io.IOException",
    }
