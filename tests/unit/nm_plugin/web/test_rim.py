"""Paths, OPTIONS and headers of the node's web port."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from nm_plugin.web.rim import RimSettings, WebRim, caller_of
from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.serving.http_cookie import CookieSigner
from yodel.serving.node_calls import HEADER, CallJudge, call_header
from yodel.telemetry.further_limits import REST_QUERY_FIELDS
from yodel.telemetry.limits import REFUSALS

PAGE = {"Origin": "http://ui.example.com"}
SIGNER = CookieSigner(secret=b"k", validity_s=10, token_type="simple")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers the path, and who calls."""
    request = Request(scope)
    await PlainTextResponse(f"{request.url.path} {caller_of(request)}".strip())(scope, receive, send)


def client(**settings: Any) -> httpx2.AsyncClient:
    rim = WebRim(echo, RimSettings(signer=SIGNER, now_ms=lambda: 1000, **settings))
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=rim), base_url="http://node:8042")


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/ws/v1/node/apps/", "/ws/v1/node/apps"),
        ("/ws/v1/node/", "/ws/v1/node"),
        ("/node/", "/node"),
        ("/jmx//", "/jmx"),
        ("/", "/"),
        ("//", "/"),
    ],
)
async def test_trailing_slash_is_dropped(path: str, seen: str) -> None:
    async with client() as web:
        assert (await web.get(path)).text == seen


async def test_every_answer_carries_the_headers() -> None:
    async with client(frame_options="DENY") as web:
        for answer in (await web.get("/node"), await web.options("/node")):
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"


async def test_other_origins_read_only_where_that_is_switched_on() -> None:
    async with client() as web:
        assert "access-control-allow-origin" not in (await web.get("/node", headers=PAGE)).headers
    async with client(cross_origin=CrossOriginRules()) as web:
        preflight = await web.options("/node", headers={**PAGE, "Access-Control-Request-Method": "GET"})
        assert preflight.headers["access-control-allow-origin"] == PAGE["Origin"]
        assert "access-control-allow-origin" not in (await web.get("/node")).headers


async def test_name_is_answered_with_a_cookie_that_beats_other_names() -> None:
    async with client() as web:
        first = await web.get("/node?a=1&user.name=alice&user.name=bob")
        assert (first.text, first.headers["set-cookie"]) == ("/node alice", SIGNER.issue("alice", 1000))
        cookie = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
        web.cookies.clear()
        second = await web.get("/node?user.name=bob", headers=cookie)
        assert (second.text, "set-cookie" in second.headers) == ("/node alice", False)


async def test_options_are_answered_with_the_cookie_that_clients_come_for() -> None:
    async with client() as web:
        answer = await web.options("/ws/v1/node?user.name=alice")
        assert (answer.status_code, answer.content, answer.headers["allow"]) == (200, b"", "GET, HEAD, OPTIONS")
        assert answer.headers["set-cookie"].startswith('hadoop.auth="u=alice&p=alice&t=simple&')


@pytest.mark.parametrize("query", ["", "user=alice", "user.name="])
async def test_who_gives_no_name_is_nobody(query: str) -> None:
    async with client() as web:
        answer = await web.get(f"/node?{query}", headers={"Cookie": "hadoop.auth=forged"})
        assert (answer.text, "set-cookie" in answer.headers) == ("/node", False)


@pytest.mark.parametrize("query", ["user.name=a%3Ab", "user.name=a%0d%0ab", "user=1&" * 1001])
async def test_impossible_name_or_query_is_refused(query: str) -> None:
    async with client() as web:
        answer = await web.get(f"/node?{query}")
        assert answer.status_code == 400
        assert answer.json()["RemoteException"]["exception"] == "BadRequestException"


NOBODYS = ["", "user=alice", "user.name="]


@pytest.mark.parametrize("query", NOBODYS)
@pytest.mark.parametrize("path", ["/node", "/ws/v1/node/containers", "/ws/v1/node/containers/c/logs/stdout"])
async def test_nobody_is_refused_where_a_name_has_to_be_given(path: str, query: str) -> None:
    async with client(anonymous_allowed=False) as web:
        answer = await web.get(f"{path}?{query}", headers={"Cookie": "hadoop.auth=forged"})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "PseudoAuth")
        assert "<h2>HTTP ERROR 401 Authentication required</h2>" in answer.text
        assert answer.headers["set-cookie"] == SIGNER.cleared()


async def test_names_and_their_cookies_are_believed_where_one_has_to_be_given() -> None:
    async with client(anonymous_allowed=False) as web:
        first = await web.get("/node?user.name=alice")
        cookie = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
        web.cookies.clear()
        assert [first.text, (await web.get("/node", headers=cookie)).text] == ["/node alice"] * 2
        assert (await web.options("/ws/v1/node")).status_code == 401


@pytest.mark.parametrize("query", [*NOBODYS, "user.name=alice", "user.name=a%3Ab", "delegation=x"])
async def test_names_are_not_believed_with_kerberos(query: str) -> None:
    async with client(authentication="kerberos") as web:
        answer = await web.get(f"/node?{query}", headers={"Accept": "text/plain", "Authorization": "Negotiate YII="})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Negotiate")
        assert "Kerberos tickets are not supported" in answer.text
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert answer.headers["set-cookie"] == SIGNER.cleared()


@pytest.mark.parametrize("settings", [{"authentication": "kerberos"}, {"anonymous_allowed": False}])
async def test_probes_without_a_name_are_told_what_the_node_is(settings: dict[str, Any]) -> None:
    async with client(**settings) as web:
        for path in ("/ws/v1/node/info", "/ws/v1/node/info/"):
            assert (await web.get(path)).text == "/ws/v1/node/info"
        for path in ("/ws/v1/node", "/ws/v1/node/infos", "/ws/v1/node/info/x", "//ws/v1/node/info"):
            assert (await web.get(f"http://node:8042{path}")).status_code == 401


async def test_other_sites_pages_can_read_why_they_are_refused() -> None:
    async with client(anonymous_allowed=False, cross_origin=CrossOriginRules()) as web:
        answer = await web.get("/node", headers=PAGE)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, PAGE["Origin"])


async def test_nothing_is_said_of_frames_where_that_is_switched_off() -> None:
    async with client(frame_options="") as web:
        assert "x-frame-options" not in (await web.get("/node")).headers


NAMES = HostNames.of(("node-1.example",))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8042", "node-1.example.evil", "127.0.0.1.evil.example", ""]
)
@pytest.mark.parametrize("mark", [{"User-Agent": "Mozilla/5.0"}, {"Sec-Fetch-Site": "same-origin"}, PAGE])
async def test_browser_that_was_led_here_by_a_foreign_name_reads_nothing(host: str, mark: dict[str, str]) -> None:
    async with client(host_names=NAMES) as web:
        for path in ("/node", "/node/containerlogs/c/alice/stdout", "/ws/v1/node/apps", "/ws/v1/node/info"):
            answer = await web.get(path, headers={**mark, "Host": host})
            assert (answer.status_code, f"Host {host!r}" in answer.text) == (403, True)
            assert "expected an address, localhost or node-1.example" in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8042", "[::1]:8042", "localhost:8042", "NODE-1.example.:8042"])
async def test_browser_comes_by_addresses_and_own_names(host: str) -> None:
    async with client(host_names=NAMES) as web:
        assert (await web.get("/node", headers={"User-Agent": "Mozilla/5.0", "Host": host})).text == "/node"


async def test_programs_and_ports_of_a_network_are_not_judged_by_the_name() -> None:
    async with client(host_names=NAMES) as web:
        assert (await web.get("/node", headers={"Host": "gateway.example"})).text == "/node"
    async with client() as web:
        answer = await web.get("/node", headers={"User-Agent": "Mozilla/5.0", "Host": "gateway.example"})
        assert answer.text == "/node"


async def test_query_of_too_many_fields_is_refused_by_a_limit_that_is_named_and_counted() -> None:
    before = REFUSALS.counts()[REST_QUERY_FIELDS.name]
    async with client() as web:
        answer = await web.get("/ws/v1/node/apps?" + "&".join(["user.name=a"] * 1001))
        assert (answer.status_code, "rest_query_fields is 1001, where at most 1000" in answer.text) == (400, True)
    assert REFUSALS.counts()[REST_QUERY_FIELDS.name] == before + 1


@pytest.mark.parametrize("authentication", ["simple", "kerberos"])
async def test_a_call_of_the_resourcemanager_names_its_user_once(authentication: str) -> None:
    secret = b"a secret of twenty bytes"
    calls = CallJudge(secret, "kube-1", lambda: 1000.0)
    async with client(authentication=authentication, calls=calls, anonymous_allowed=False) as web:
        headers = {HEADER: call_header(secret, "kube-1", "GET", "/a%2Fb?c=d%20e&user.name=bob", "alice", 1000.0)}
        first = await web.get("/a%2Fb?c=d%20e&user.name=bob", headers=headers)
        assert (first.status_code, first.text, "set-cookie" in first.headers) == (200, "/a/b alice", False)
        again = await web.get("/a%2Fb?c=d%20e&user.name=bob", headers=headers)
        assert (again.status_code, again.headers["www-authenticate"]) == (401, "YodelCall")
        put = {HEADER: call_header(secret, "kube-1", "PUT", "/a", "alice", 1000.0)}
        assert (await web.put("/a", headers=put)).status_code == 401


async def test_a_call_is_refused_where_no_secret_is_shared() -> None:
    async with client() as web:
        headers = {HEADER: call_header(b"a secret of twenty bytes", "kube-1", "GET", "/a", "alice", 1000.0)}
        assert (await web.get("/a?user.name=bob", headers=headers)).status_code == 401
