"""The rim: callers, slashes, headers."""

from __future__ import annotations

import pytest

from tests.support.rest_world import RestWorld, rest_world


async def test_every_answer_carries_the_headers(world: RestWorld) -> None:
    for path in ("/ws/v1/cluster/info", "/ws/v1/cluster/apps/nonsense", "/cluster"):
        headers = (await world.client.get(path)).headers
        assert headers["cache-control"] == ("private, no-cache" if path == "/cluster" else "no-cache")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert headers["x-xss-protection"] == "1; mode=block"
        assert (headers["pragma"], headers["expires"].endswith(" GMT")) == ("no-cache", True)


async def test_name_is_answered_with_a_cookie_that_stands_for_it(world: RestWorld) -> None:
    first = await world.get("/userinfo?user.name=alice")
    assert first.json()["requestedUser"] == "alice"
    assert first.headers["set-cookie"].startswith('hadoop.auth="u=alice&')
    world.client.cookies.clear()
    cookie = first.headers["set-cookie"].partition(";")[0]
    second = await world.get("/userinfo", headers={"Cookie": cookie})
    assert second.json()["requestedUser"] == "alice"
    assert "set-cookie" not in second.headers


async def test_reader_without_a_name_is_the_static_user(world: RestWorld) -> None:
    assert (await world.json("/userinfo")) == {"rmLoginUser": "yarn", "requestedUser": "dr.who"}


async def test_writer_without_a_name_is_refused(world: RestWorld) -> None:
    for answer in (await world.post("/apps/new-application"), await world.post("/apps", {})):
        assert answer.status_code == 401
        assert answer.json()["RemoteException"]["exception"] == "AuthorizationException"


async def test_static_user_may_write_where_that_is_switched_on() -> None:
    async with rest_world(may_static_user_write=True) as world:
        assert (await world.post("/apps/new-application")).status_code == 200


@pytest.mark.parametrize("path", ["", "/info", "/metrics", "/apps", "/nodes", "/scheduler"])
async def test_trailing_slash_changes_nothing(world: RestWorld, path: str) -> None:
    assert (await world.get(f"{path}/")).json() == (await world.get(path)).json()


async def test_wrong_method_is_405_with_what_is_right(world: RestWorld) -> None:
    answer = await world.client.delete("/ws/v1/cluster/info")
    assert (answer.status_code, answer.headers["allow"]) == (405, "HEAD,GET,OPTIONS")
    assert answer.json()["RemoteException"]["exception"] == "NotAllowedException"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/ws/v1/cluster/info", "HEAD,GET,OPTIONS"),
        ("/ws/v1/cluster/apps/application_1_0001/appattempts?user.name=alice", "HEAD,GET,OPTIONS"),
        ("/ws/v1/cluster/apps/application_1_0001/state", "HEAD,GET,OPTIONS,PUT"),
        ("/ws/v1/cluster/apps", "HEAD,POST,GET,OPTIONS"),
        ("/cluster/nodes", "HEAD,GET,OPTIONS"),
    ],
)
async def test_options_are_answered_on_every_path(world: RestWorld, path: str, methods: str) -> None:
    answer = await world.client.options(path)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (200, methods, b"")


async def test_head_is_get_without_a_body(world: RestWorld) -> None:
    answer = await world.client.head("/ws/v1/cluster/info")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json;charset=utf-8")
