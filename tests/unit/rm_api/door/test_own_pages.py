"""A page of another site cannot make a browser change anything, and programs do as before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.routing import Route

from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.rm_api import app
from yodel.rm_api.door.csrf import CsrfRules

NEW = "/ws/v1/cluster/apps/new-application"
APPS = "/ws/v1/cluster/apps"
HERE = "http://rm-host:8088"
BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux) Chrome/140", "Accept-Language": "en"}
REBOUND = {**BROWSER, "Host": "evil.example:8088", "Origin": "http://evil.example:8088", "X-XSRF-Header": "x"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def local() -> AsyncIterator[RestWorld]:
    """Serve as ``yodel local`` does: a plain curl may submit."""
    names = HostNames.of(("rm-host",))
    async with rest_world(static_user="alice", may_static_user_write=True, host_names=names) as made:
        yield made


async def post(world: RestWorld, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    content = None if body is None else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await world.client.post(path, content=content, headers=named)


def a_body(application_id: str) -> dict[str, Any]:
    return {"application-id": application_id, "am-container-spec": {"commands": {"command": "id > /tmp/pwned"}}}


@pytest.mark.parametrize("path", [APPS, f"{APPS}?user.name=alice", NEW, "/api/v1/applications/application_1_0001/kill"])
async def test_body_without_a_type_is_refused_whoever_calls(local: RestWorld, path: str) -> None:
    answer = await post(local, path, a_body("application_1_0001"))
    assert answer.status_code == 415
    assert local.rm.state.applications == {}


async def test_body_of_unknown_length_without_a_type_is_refused(local: RestWorld) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"{}"

    answer = await local.client.put(f"{APPS}/application_1_0001/state", content=chunks())
    assert (answer.status_code, answer.json()["RemoteException"]["exception"]) == (415, "NotSupportedException")


@pytest.mark.parametrize(
    "declared", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ";", " "]
)
async def test_types_that_any_page_may_send_are_no_json(local: RestWorld, declared: str) -> None:
    answer = await post(local, APPS, a_body(await local.new_id()), Content_Type=declared)
    assert answer.status_code == 415


async def test_curl_without_a_name_goes_on_where_that_is_allowed(local: RestWorld) -> None:
    answer = await post(local, NEW, User_Agent="curl/8.5.0")
    assert answer.status_code == 200
    body = a_body(answer.json()["application-id"])
    assert (await post(local, APPS, body, **JSON, User_Agent="curl/8.5.0")).status_code == 202


async def test_program_with_a_name_may_call_us_what_it_likes(world: RestWorld) -> None:
    answer = await post(world, f"{NEW}?user.name=alice", Host="yarn.example.org:8088", User_Agent="Java/17")
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "page",
    [
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", **BROWSER},
        {"Origin": "http://evil.example", **BROWSER},
        {"Sec-Fetch-Site": "cross-site", **BROWSER},
        {"Origin": "http://rm-host:9999", "Sec-Fetch-Site": "same-site", **BROWSER},
        {"Origin": "null", **BROWSER},
        {"Origin": "http://evil.example", "User-Agent": "page/1"},
    ],
)
@pytest.mark.parametrize("path", [NEW, f"{NEW}?user.name=alice", "/proxy/application_1_0001/kill"])
async def test_page_of_another_site_changes_nothing(local: RestWorld, path: str, page: dict[str, str]) -> None:
    answer = await local.client.post(path, headers={**page, "X-XSRF-Header": "x"})
    assert answer.status_code == 403
    assert "only pages of this ResourceManager" in answer.json()["RemoteException"]["message"]


async def test_own_page_changes_something(local: RestWorld) -> None:
    page = {"Origin": HERE, "Sec-Fetch-Site": "same-origin", **BROWSER}
    assert (await local.client.post(NEW, headers=page)).status_code == 200
    assert (await local.client.post(NEW, headers={"Origin": HERE, **BROWSER})).status_code == 200


async def test_other_origin_that_is_let_in_changes_something() -> None:
    rules = CrossOriginRules(origins=("http://hue.example",))
    async with rest_world(cross_origin=rules, host_names=HostNames.of(("rm-host",))) as world:
        for origin, status in (("http://hue.example", 200), ("http://evil.example", 403)):
            page = {"Origin": origin, "Sec-Fetch-Site": "cross-site", **BROWSER}
            answer = await world.client.post(f"{NEW}?user.name=alice", headers=page)
            assert answer.status_code == status, origin


async def test_name_that_was_made_to_lead_here_changes_nothing(local: RestWorld) -> None:
    for path in (NEW, f"{NEW}?user.name=alice"):
        answer = await local.client.post(path, headers=REBOUND)
        assert answer.status_code == 403
        message = answer.json()["RemoteException"]["message"]
        assert "Host 'evil.example:8088' is not a name of this ResourceManager" in message
        assert "web.host_names" in message


async def test_nobody_changes_nothing_by_another_name_even_with_a_programs_words(local: RestWorld) -> None:
    assert (await local.client.post(NEW, headers={"Host": "evil.example"})).status_code == 403


async def test_page_by_another_name_reads_nothing_where_nobody_needs_a_name(local: RestWorld) -> None:
    assert (await local.client.get(APPS, headers={**BROWSER, "Host": "evil.example"})).status_code == 403
    assert (await local.client.get(APPS, headers={**BROWSER, "Host": "127.0.0.1:8088"})).status_code == 200
    assert (await local.client.get(APPS, headers={"Host": "evil.example"})).status_code == 200
    async with rest_world() as named:
        assert (await named.client.get(APPS, headers={**BROWSER, "Host": "evil.example"})).status_code == 200


async def test_browser_that_says_nothing_of_its_page_needs_the_header_where_nobody_needs_a_name(
    local: RestWorld, world: RestWorld
) -> None:
    old = {"User-Agent": "Mozilla/5.0 (old)"}
    answer = await local.client.post(NEW, headers={**old, "Accept": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "Missing Required Header for CSRF Vulnerability Protection",
    )
    assert (await local.client.post(NEW, headers={**old, "X-XSRF-Header": "x"})).status_code == 200
    asked = {**old, "Host": "127.0.0.1"}
    assert (await world.client.post(f"{NEW}?user.name=alice", headers=asked)).status_code == 200


async def test_page_of_another_site_gets_no_token_and_sets_no_level(local: RestWorld) -> None:
    page = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", **BROWSER}
    for path in ("/logLevel?log=yodel&level=DEBUG&user.name=admin", f"{APPS}?op=GETDELEGATIONTOKEN&user.name=alice"):
        answer = await local.client.get(path, headers=page)
        assert (answer.status_code, [*answer.json()]) == (403, ["RemoteException"]), path
    assert (await local.client.get("/logLevel", headers=page)).status_code == 200


async def test_token_is_got_by_a_program_whatever_it_calls_us(world: RestWorld) -> None:
    answer = await world.client.get(f"{APPS}?op=GETDELEGATIONTOKEN&user.name=alice", headers={"Host": "yarn.example"})
    assert answer.status_code == 200


async def test_links_from_elsewhere_lead_here(local: RestWorld) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Referer": "http://wiki.example/", **BROWSER}
    for path in ("/cluster", "/proxy/application_1_0001/?op=show"):
        assert (await local.client.get(path, headers=link)).status_code in (200, 302, 404)


CHANGED_BY_GET = sorted(
    route.path
    for module in app.ROUTES
    for route in module.ROUTES
    if isinstance(route, Route) and "GET" in (route.methods or ()) and hasattr(route.endpoint, "is_administrative")
)
"""Calls that administer by GET, each asked so that it changes something."""
AS_ADMIN = "?log=yodel&level=INFO&user.name=admin"
IMAGE = {"Referer": "http://evil.example/", **BROWSER}


@pytest.mark.parametrize(
    "page",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image", **BROWSER},
        {"Origin": "http://evil.example", **BROWSER},
        {"Origin": "null", **BROWSER},
        {"Origin": "http://evil.example:8088", "Host": "evil.example:8088", **BROWSER},
        {"Sec-Fetch-Site": "same-origin", "Host": "evil.example:8088", **BROWSER},
        IMAGE,
        BROWSER,
        {**IMAGE, "Referer": "http://rm-host:8088.evil.example/"},
    ],
    ids=["an image", "a fetch", "a sandbox", "rebound", "rebound image", "over HTTP", "without Referer", "alike"],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", CHANGED_BY_GET)
async def test_page_of_another_site_administers_nothing_by_get(
    world: RestWorld, path: str, method: str, page: dict[str, str]
) -> None:
    answer = await world.client.request(method, path + AS_ADMIN, headers=page)
    assert answer.status_code == 403
    assert (await world.json("/scheduler-conf/version"))["configversion"]["versionID"] == 1


@pytest.mark.parametrize(
    "caller",
    [
        {"User-Agent": "curl/8.5.0"},
        {"Sec-Fetch-Site": "none", **BROWSER},
        {"Referer": f"{HERE}/logLevel?log=yodel", **BROWSER},
        {"X-XSRF-Header": "", **BROWSER},
    ],
)
@pytest.mark.parametrize("path", CHANGED_BY_GET)
async def test_programs_and_own_pages_administer_by_get(world: RestWorld, path: str, caller: dict[str, str]) -> None:
    answer = await world.client.get(path + AS_ADMIN, headers={"Host": "rm-host:8088", **caller})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", CHANGED_BY_GET)
async def test_header_against_forgery_is_asked_of_a_get_that_changes_something(path: str) -> None:
    page = {"Host": "rm-host:8088", "Sec-Fetch-Site": "same-origin", **BROWSER}
    async with rest_world(csrf=CsrfRules(), host_names=HostNames.of(("rm-host",))) as world:
        assert (await world.client.get(path + AS_ADMIN, headers=page)).status_code == 400
        assert (await world.client.get(path + AS_ADMIN, headers={**page, "X-XSRF-Header": "x"})).status_code == 200
