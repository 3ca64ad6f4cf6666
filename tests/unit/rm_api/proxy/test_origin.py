"""Applications' pages on an origin of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.support.records import a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.states import ApplicationState, AttemptState, NodeState
from yodel.rm_api.proxy import pictures
from yodel.rm_api.proxy.origin import NOTHING_HERE, ProxiedOrigin
from yodel.rm_api.proxy.web_proxy import WebProxy
from yodel.rm_api.server import serve

APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
HERE = f"/proxy/{APP.id}"
PAGES = "http://rm-host:8089"
EVIL = "<script>fetch('/ws/v1/cluster/apps')</script>"
ALL_OF_AN_ORIGIN = (
    ("Set-Cookie", "hadoop.auth=forged; Path=/"),
    ("Set-Cookie", "other=1"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Credentials", "true"),
    ("Clear-Site-Data", '"cookies"'),
    ("Service-Worker-Allowed", "/"),
    ("Strict-Transport-Security", "max-age=99999999"),
    ("Alt-Svc", 'h2="evil.example:443"'),
    ("NEL", "{}"),
    ("Report-To", "{}"),
    ("WWW-Authenticate", "Basic realm=password"),
)


async def content() -> AsyncIterator[bytes]:
    yield EVIL.encode()


def answer(_: httpx2.Request) -> httpx2.Response:
    headers = [("Content-Type", "text/html"), ("ETag", "e"), *ALL_OF_AN_ORIGIN]
    return httpx2.Response(200, headers=headers, content=content())


async def fill(world: RestWorld) -> None:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    world.app.state.proxy.web_proxy = WebProxy(client)
    attempt = an_attempt(1, state=AttemptState.RUNNING, host="node-1", tracking_url="http://node-1:4040")
    await world.put(a_node(state=NodeState.RUNNING), APP, attempt)


@pytest.fixture
async def apart() -> AsyncIterator[RestWorld]:
    async with rest_world(proxied=ProxiedOrigin(port=8089)) as world:
        await fill(world)
        yield world


async def test_page_is_served_on_its_own_port_only(apart: RestWorld) -> None:
    moved = await apart.client.get(f"{HERE}/jobs/a%2Fb?x=1&user.name=alice")
    assert (moved.status_code, moved.headers["location"]) == (302, f"{PAGES}{HERE}/jobs/a%2Fb?x=1&user.name=alice")
    assert (await apart.client.get(moved.headers["location"])).text == EVIL
    posted = await apart.client.post(f"{HERE}/kill")
    assert (posted.status_code, posted.headers["location"]) == (307, f"{PAGES}{HERE}/kill")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/ws/v1/cluster/apps"),
        ("POST", "/ws/v1/cluster/apps/new-application?user.name=alice"),
        ("GET", "/api/v1/applications"),
        ("GET", "/jmx"),
        ("GET", "/"),
        ("POST", "/cluster"),
    ],
)
async def test_nothing_else_is_on_that_port(apart: RestWorld, method: str, path: str) -> None:
    refused = await apart.client.request(method, f"{PAGES}{path}")
    assert refused.status_code == 404
    assert NOTHING_HERE in refused.text or refused.headers["content-type"] == "application/problem+json"


async def test_page_there_changes_and_reads_nothing_here(apart: RestWorld) -> None:
    page = {"Origin": PAGES, "Sec-Fetch-Site": "same-site", "User-Agent": "Mozilla/5.0", "X-XSRF-Header": "x"}
    changed = await apart.client.post("/ws/v1/cluster/apps/new-application?user.name=alice", headers=page)
    assert changed.status_code == 403
    read = await apart.client.get("/ws/v1/cluster/apps", headers=page)
    assert "access-control-allow-origin" not in read.headers  # the browser keeps it from the page


async def test_page_there_changes_something_at_its_application(apart: RestWorld) -> None:
    page = {"Origin": PAGES, "Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0"}
    assert (await apart.client.post(f"{PAGES}{HERE}/kill", headers=page)).status_code == 200


async def test_links_to_the_resource_manager_lead_back(apart: RestWorld) -> None:
    back = await apart.client.get(f"{PAGES}/cluster/app/{APP.id}?a=1")
    assert (back.status_code, back.headers["location"]) == (302, f"http://rm-host:8088/cluster/app/{APP.id}?a=1")


async def test_reader_keeps_the_name_that_he_came_by(apart: RestWorld) -> None:
    for host, name in (("10.1.2.3:8088", "10.1.2.3"), ("[::1]:8088", "[::1]")):
        moved = await apart.client.get(f"{HERE}/", headers={"Host": host})
        assert moved.headers["location"] == f"http://{name}:8089{HERE}/"


async def test_origin_may_be_another_name_on_the_same_port() -> None:
    async with rest_world(proxied=ProxiedOrigin(port=8088, address="pages.example:8088")) as world:
        await fill(world)
        moved = await world.client.get(f"{HERE}/")
        assert moved.headers["location"] == f"http://pages.example:8088{HERE}/"
        there = {"Host": "pages.example:8088"}
        assert (await world.client.get(f"{HERE}/", headers=there)).text == EVIL
        assert (await world.client.get("/ws/v1/cluster/info", headers=there)).status_code == 404
        back = await world.client.get("/cluster", headers=there)
        assert back.headers["location"] == "http://rm-host:8088/cluster"
        own = {**there, "Origin": "http://pages.example:8088", "User-Agent": "Mozilla/5.0"}
        assert (await world.client.post(f"{HERE}/kill", headers=own)).status_code == 200


@pytest.mark.parametrize("path", sorted(pictures.PATHS))
async def test_pictures_that_pages_name_are_there_too(apart: RestWorld, path: str) -> None:
    shown = await apart.client.get(f"{PAGES}{path}")
    assert (shown.status_code, shown.headers["content-type"]) == (200, pictures.MEDIA_TYPE)
    assert (await apart.client.post(f"{PAGES}{path}")).status_code == 404


@pytest.mark.parametrize("base", ["http://rm-host:8088", PAGES])
async def test_what_speaks_for_a_whole_origin_stops_here(base: str) -> None:
    async with rest_world(proxied=ProxiedOrigin(port=8089) if base == PAGES else None) as world:
        await fill(world)
        shown = await world.client.get(f"{base}{HERE}/")
        assert (shown.text, shown.headers["etag"]) == (EVIL, "e")
        assert {name.lower() for name, _ in ALL_OF_AN_ORIGIN} & set(shown.headers) == set()


async def test_no_script_is_fetched_to_stay_in_the_browser(apart: RestWorld) -> None:
    for base in ("", PAGES):
        fetched = await apart.client.get(f"{base}{HERE}/sw.js", headers={"Service-Worker": "script"})
        assert fetched.status_code == (403 if base else 302)
        assert EVIL not in fetched.text


async def test_both_ports_are_listened_on_and_closed() -> None:
    async with rest_world(rm_web_address="127.0.0.1:0", proxied=ProxiedOrigin(port=0)) as world:
        await fill(world)
        server, port = await serve(world.app, "127.0.0.1", 0)
        origins = world.app.state.proxy.origins
        assert origins.proxied is not None
        assert origins.proxied.port not in (0, port)
        try:
            async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as browser:
                world.app.state.proxy.web_proxy = WebProxy(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))
                page = await browser.get(f"http://127.0.0.1:{port}{HERE}/")
                assert (page.text, page.url.port) == (EVIL, origins.proxied.port)
                api = await browser.get(f"http://127.0.0.1:{origins.proxied.port}/ws/v1/cluster/info")
                assert api.status_code == 404
        finally:
            await server.stop()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", origins.proxied.port)
