"""The web proxy, against an ApplicationMaster made of a function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from tests.support.records import a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.states import ApplicationState, AttemptState, NodeState
from yodel.errors import InvalidValue
from yodel.rm_api.proxy.web_proxy import APPLICATION_FETCHES_MAX, Target, WebProxy

APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
HERE = f"/proxy/{APP.id}"
Answer = Callable[[httpx2.Request], httpx2.Response]


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """A body as a network gives it."""
    for part in parts:
        yield part


def page(text: str) -> httpx2.Response:
    return httpx2.Response(200, content=chunks(*(text[n : n + 2].encode() for n in range(0, len(text), 2))))


class Am:
    """Remembers what it was asked; ``answer`` is what it says."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answer: Answer = lambda _: page("hello")

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        return self.answer(request)


@pytest.fixture
async def am(world: RestWorld) -> Am:
    made = with_am(world)
    await register(world, "http://node-1:4040")
    return made


def with_am(world: RestWorld) -> Am:
    made = Am()
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(made), follow_redirects=False)
    world.app.state.proxy.web_proxy = WebProxy(client)
    return made


async def register(world: RestWorld, tracking_url: str, host: str = "node-1") -> None:
    attempt = an_attempt(1, state=AttemptState.RUNNING, host=host, tracking_url=tracking_url)
    await world.put(a_node(state=NodeState.RUNNING), APP, attempt)


async def test_page_is_fetched_with_path_query_and_user(world: RestWorld, am: Am) -> None:
    answer = await world.client.get(f"{HERE}/jobs/a%2Fb%20c/?id=1&user.name=alice", headers={"Cookie": "secret=1"})
    assert (answer.status_code, answer.text) == (200, "hello")
    (request,) = am.requests
    assert str(request.url) == "http://node-1:4040/jobs/a%2Fb%20c/?id=1&user.name=alice"
    assert request.headers["cookie"] == "proxy-user=alice"


async def test_callers_cookies_and_credentials_stay_here(world: RestWorld, am: Am) -> None:
    headers = {"Cookie": "secret=1", "Authorization": "Basic x", "X-Forwarded-For": "1.2.3.4", "Accept": "text/css"}
    await world.client.get(f"{HERE}/", headers=headers)
    sent = am.requests[0].headers
    assert not {"authorization", "x-forwarded-for"} & set(sent)
    assert sent["cookie"] == "proxy-user=dr.who"
    assert sent["accept"] == "text/css"


@pytest.mark.parametrize("name", ["delegation", "%64elegation"])
async def test_callers_delegation_token_stays_here(world: RestWorld, am: Am, name: str) -> None:
    cookie = (await world.get("/info?user.name=alice")).headers["set-cookie"].partition(";")[0]
    query, headers = f"a=%2F+b&{name}=secret&&c", {"Cookie": cookie}
    await world.client.get(httpx2.URL(f"http://rm-host:8088{HERE}/jobs?{query}"), headers=headers)
    assert am.requests[0].url.raw_path == b"/jobs?a=%2F+b&&c"
    row = an_application(1, state=ApplicationState.FINISHED, current_attempt=1, finished_ms=5)
    await world.put(row, an_attempt(1, tracking_url="http://history:19888/job_1"))
    answer = await world.client.get(httpx2.URL(f"http://rm-host:8088{HERE}/?{query}"), headers=headers)
    assert (answer.headers["location"], "secret" in answer.text) == ("http://history:19888/job_1?a=%2F+b&&c", False)


async def test_body_and_method_go_through(world: RestWorld, am: Am) -> None:
    await world.client.post(f"{HERE}/jobs/kill", content=b"id=1", headers={"Content-Type": "application/x-www-form"})
    assert (am.requests[0].method, am.requests[0].content) == ("POST", b"id=1")


async def test_headers_of_the_connection_stay_behind(world: RestWorld, am: Am) -> None:
    am.answer = lambda _: httpx2.Response(
        203,
        content=chunks(b"x"),
        headers=[
            ("Connection", "x-hop, close"),
            ("X-Hop", "1"),
            ("Keep-Alive", "5"),
            ("ETag", "e"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("Set-Cookie", "hadoop.auth=forged"),
        ],
    )
    answer = await world.client.get(f"{HERE}/")
    assert (answer.status_code, answer.headers["etag"]) == (203, "e")
    assert not {"x-hop", "keep-alive", "connection"} & set(answer.headers)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("given", "followed"),
    [
        ("http://node-1:4040/jobs/", f"{HERE}/jobs/"),
        ("/jobs/", f"{HERE}/jobs/"),
        (f"{HERE}/jobs/", f"{HERE}/jobs/"),
        ("jobs/", "jobs/"),
        ("//elsewhere/x", "//elsewhere/x"),
        ("http://elsewhere/x", "http://elsewhere/x"),
        ("http://node-1:40401/x", "http://node-1:40401/x"),
        ("HTTP://NODE-1:4040/jobs/?a=1", f"{HERE}/jobs/?a=1"),
        ("http://node-1:99999/", f"{HERE}/"),
        (f"http://rm-host:8088/proxy/redirect/{APP.id}/jobs", f"/cluster/failure/{APP.id}"),
    ],
)
async def test_redirect_is_handed_on_and_never_followed(world: RestWorld, am: Am, given: str, followed: str) -> None:
    am.answer = lambda _: httpx2.Response(302, headers={"Location": given}, content=chunks())
    answer = await world.client.get(f"{HERE}/")
    assert (answer.status_code, answer.headers["location"]) == (302, followed)
    assert len(am.requests) == 1


@pytest.mark.parametrize(
    "tracking_url",
    [
        "http://169.254.169.254/latest",
        "http://localhost:9000",
        "http://node-1@evil:80/",
        "http://evil:80#node-1",
        "http://node-1.evil/",
        "file:///etc/passwd",
        "gopher://node-1/",
        "http://[::1/",
        "http://node-1:0/",
        "http://node-1:99999/",
    ],
)
async def test_only_the_clusters_own_hosts_are_fetched_from(world: RestWorld, am: Am, tracking_url: str) -> None:
    await register(world, tracking_url)
    answer = await world.client.get(f"{HERE}/")
    assert (answer.status_code, am.requests) == (502, [])


@pytest.mark.parametrize(
    ("tracking_url", "host", "fetched"),
    [
        ("node-1:4040", "N/A", "http://node-1:4040/x"),
        ("HTTP://NODE-1:4040/ui/", "N/A", "http://node-1:4040/ui/x"),
        ("https://driver-host:4443", "driver-host", "https://driver-host:4443/x"),
    ],
)
async def test_nodes_and_the_registered_host_are_fetched_from(
    world: RestWorld, am: Am, tracking_url: str, host: str, fetched: str
) -> None:
    await register(world, tracking_url, host)
    assert (await world.client.get(f"{HERE}/x")).status_code == 200
    assert str(am.requests[0].url) == fetched


@pytest.mark.parametrize("host", ["169.254.169.254", "localhost", "127.0.0.1", "[::1]", "2130706433", "0x7f000001"])
async def test_host_of_everybody_is_no_host_to_register(world: RestWorld, am: Am, host: str) -> None:
    await register(world, f"http://{host}:4040", host)
    assert ((await world.client.get(f"{HERE}/")).status_code, am.requests) == (502, [])


async def test_gateway_is_fetched_from_when_it_is_configured(am_of_gateway: Am) -> None:
    assert str(am_of_gateway.requests[0].url) == "http://gateway:4040/"


@pytest.fixture
async def am_of_gateway() -> AsyncIterator[Am]:
    async with rest_world(proxy_hosts=frozenset({"gateway"})) as world:
        made = with_am(world)
        await register(world, "http://gateway:4040")
        assert (await world.client.get(f"{HERE}/")).status_code == 200
        yield made


@pytest.mark.parametrize(
    "rest", ["@evil/", "//evil/", "/%2e%2e/%2e%2e/@evil", "%5c%5cevil", "..%2f..%2f//evil", ":80@evil"]
)
async def test_path_never_changes_the_host(world: RestWorld, am: Am, rest: str) -> None:
    await world.client.get(httpx2.URL(f"http://rm-host:8088{HERE}/{rest}"))
    assert [(request.url.host, request.url.port) for request in am.requests] == [("node-1", 4040)]


async def test_caller_that_names_no_encoding_gets_none(world: RestWorld, am: Am) -> None:
    request = world.client.build_request("GET", f"{HERE}/")
    del request.headers["accept-encoding"]
    await world.client.send(request)
    assert am.requests[0].headers["accept-encoding"] == "identity"


async def test_finishing_application_leads_to_its_history(world: RestWorld, am: Am) -> None:
    row = an_application(1, state=ApplicationState.FINISHING, current_attempt=1)
    await world.put(row, an_attempt(1, state=AttemptState.FINISHING, tracking_url="http://history:19888/job_1"))
    answer = await world.client.get(f"{HERE}/")
    assert (answer.status_code, answer.headers["location"]) == (302, "http://history:19888/job_1")
    assert "Content has moved" in answer.text


async def test_one_application_does_not_take_all_fetches(world: RestWorld, am: Am) -> None:
    may_answer, under_way = asyncio.Event(), asyncio.Event()

    async def slow(request: httpx2.Request) -> httpx2.Response:
        am.requests.append(request)
        if len(am.requests) == APPLICATION_FETCHES_MAX:
            under_way.set()
        await may_answer.wait()
        return page("late")

    world.app.state.proxy.web_proxy = WebProxy(httpx2.AsyncClient(transport=httpx2.MockTransport(slow)))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.client.get(f"{HERE}/")) for _ in range(APPLICATION_FETCHES_MAX)]
        await under_way.wait()
        assert (await world.client.get(f"{HERE}/")).status_code == 502
        may_answer.set()
    assert {task.result().text for task in tasks} == {"late"}
    assert (await world.client.get(f"{HERE}/")).text == "late"


async def test_strangers_page_is_shown_after_a_warning() -> None:
    async with rest_world(is_proxy_warning_shown=True) as world:
        made = with_am(world)
        await register(world, "http://node-1:4040")
        forged = await world.client.get(f"{HERE}/jobs/?proxyapproved=true&user.name=mallory")
        assert "WARNING: The following page may not be safe!" in forged.text
        assert f'href="{HERE}/jobs/?proxyapproved=true&amp;user.name=mallory&amp;proxyapproved=true"' in forged.text
        assert f"checked_{APP.id}=false; Path={HERE}; Max-Age=7200; HttpOnly" in forged.headers.get_list("set-cookie")
        assert made.requests == []
        cookie = {"Cookie": f"checked_{APP.id}=false"}
        agreed = await world.client.get(f"{HERE}/jobs/?proxyapproved=true&user.name=mallory", headers=cookie)
        assert agreed.text == "hello"
        assert f"checked_{APP.id}=true; Path={HERE}; Max-Age=7200; HttpOnly" in agreed.headers.get_list("set-cookie")
        world.client.cookies.clear()
        assert (await world.client.get(f"{HERE}/?user.name=alice")).text == "hello"


async def test_caller_bounced_by_the_am_is_served(world: RestWorld, am: Am) -> None:
    assert (await world.client.get(f"/proxy/redirect/{APP.id}/jobs")).text == "hello"
    assert am.requests[0].url.path == "/jobs"


async def test_address_without_a_slash_gets_one(world: RestWorld, am: Am) -> None:
    answer = await world.client.get(f"{HERE}?a=1")
    assert (answer.status_code, answer.headers["location"], am.requests) == (302, f"{HERE}/?a=1", [])


async def test_am_that_does_not_answer_is_a_bad_gateway_and_holds_no_slot(world: RestWorld, am: Am) -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    am.answer = refuse
    for _ in range(70):
        assert (await world.client.get(f"{HERE}/")).status_code == 502
    am.answer = lambda _: page("back")
    for _ in range(70):
        assert (await world.client.get(f"{HERE}/")).text == "back"


@pytest.mark.parametrize(
    ("state", "tracking_url", "location"),
    [
        (ApplicationState.FINISHED, "http://history:19888/job_1?q=1", "http://history:19888/job_1/below?q=1&a=2"),
        (ApplicationState.FINISHED, "", f"/cluster/app/{APP.id}"),
        (ApplicationState.FINISHED, "N/A", f"/cluster/app/{APP.id}"),
        (ApplicationState.FAILED, "http://node-1:4040", f"/cluster/app/{APP.id}"),
    ],
)
async def test_ended_application_leads_to_its_history(
    world: RestWorld, am: Am, state: ApplicationState, tracking_url: str, location: str
) -> None:
    row = an_application(1, state=state, current_attempt=1, finished_ms=5)
    await world.put(row, an_attempt(1, tracking_url=tracking_url))
    answer = await world.client.get(f"{HERE}/below?a=2")
    assert (answer.status_code, answer.headers["location"], am.requests) == (302, location, [])


@pytest.mark.parametrize(
    ("tracking_url", "shown"),
    [
        ("elsewhere:4040/jobs", '<a href="http://elsewhere:4040/jobs" rel="noreferrer">elsewhere:4040/jobs</a>'),
        ("file:///etc/passwd", "Its own address: file:///etc/passwd<"),
    ],
)
async def test_an_address_that_is_not_fetched_is_a_link_where_a_browser_can_follow_it(
    world: RestWorld, tracking_url: str, shown: str
) -> None:
    await register(world, tracking_url)
    assert shown in (await world.client.get(f"{HERE}/")).text


async def test_unknown_application_leads_to_its_page_and_nonsense_nowhere(world: RestWorld) -> None:
    unknown = await world.client.get("/proxy/application_1_0001/")
    assert (unknown.status_code, unknown.headers["location"]) == (302, "/cluster/app/application_1_0001")
    nonsense = await world.client.get("/proxy/nonsense/")
    assert (nonsense.status_code, "<h1>nonsense appears to be formatted incorrectly.</h1>" in nonsense.text) == (
        404,
        True,
    )
    nowhere = await world.client.get("/proxy/")
    assert (nowhere.status_code, "Your path appears to be formatted incorrectly." in nowhere.text) == (404, True)


def test_target_keeps_to_the_trackings_path() -> None:
    target = Target.of("http://node-1:4040/ui/", HERE, {"node-1"})
    assert target.url("/jobs", "") == "http://node-1:4040/ui/jobs"
    assert target.location("http://node-1:4040/ui/jobs") == f"{HERE}/jobs"


def test_no_host_allows_nothing() -> None:
    with pytest.raises(InvalidValue, match="a host of this cluster"):
        Target.of("http://node-1", HERE, ())
