"""A standby says on its web port that it does not lead."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import escape

import httpx2
import pytest

from yodel.rm_api.server import serve
from yodel.rm_api.standby import Led, standby_app
from yodel.store.errors import LeadLost

STARTED_MS = 1_700_000_000_000


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=standby_app(STARTED_MS, lambda: "rm-1 leads"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://rm-host:8088") as client:
        yield client


async def test_it_lives(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/health/live")).status_code == 200


async def test_it_is_not_ready_and_says_why(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/health/ready")
    assert (answer.status_code, answer.text) == (503, "standby: rm-1 leads")


async def test_it_is_not_active_in_hadoops_words(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/isActive")
    assert (answer.status_code, answer.text) == (405, "I am not Active!")


@pytest.mark.parametrize("path", ["/ws/v1/cluster", "/ws/v1/cluster/info", "/ws/v1/cluster/info/"])
async def test_it_tells_who_it_is(client: httpx2.AsyncClient, path: str) -> None:
    info = (await client.get(path)).json()["clusterInfo"]
    assert (info["haState"], info["state"], info["startedOn"]) == ("STANDBY", "STARTED", STARTED_MS)


async def test_it_tells_who_it_is_in_xml_too(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/ws/v1/cluster/info", headers={"Accept": "application/xml"})
    assert "<haState>STANDBY</haState>" in answer.text
    refused = await client.get("/ws/v1/cluster/info", headers={"Accept": "text/plain"})
    assert refused.status_code == 406


async def test_its_stacks_can_be_seen(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/stacks")).text.startswith("Process Thread Dump: ")


async def test_it_tells_prometheus_that_it_does_not_lead(client: httpx2.AsyncClient) -> None:
    assert "\nyodel_leader 0.0\n" in (await client.get("/prom")).text


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/", "/cluster", "/ws/v1/cluster/apps"])
async def test_everything_else_is_to_be_asked_again(client: httpx2.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.text == "This is standby RM: rm-1 leads"


@pytest.mark.parametrize(
    ("reason", "link"),
    [
        ("rm-1/0a1b leads", "http://rm-1:8088/cluster/apps"),
        ("<b>/0a1b leads", ""),
        ("the database does not answer", ""),
    ],
)
async def test_person_is_led_to_the_leader(reason: str, link: str) -> None:
    transport = httpx2.ASGITransport(app=standby_app(STARTED_MS, lambda: reason))
    async with httpx2.AsyncClient(transport=transport, base_url="http://rm-host:8088") as client:
        answer = await client.get("/cluster/apps", headers={"Accept": "text/html,*/*"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert escape(reason) in answer.text
        assert ([f'<a href="{link}"' in answer.text] if link else re.findall(r"No leader is known", answer.text)) != []
        assert ("kubectl port-forward pod/rm-1 8088" in answer.text) is bool(link)
        for path in re.findall(r'(?:href|src)="(/[^"]*\.(?:css|js|ico))"', answer.text):
            assert (await client.get(path)).status_code == 200


async def test_the_server_serves_it() -> None:
    server, port = await serve(standby_app(STARTED_MS, lambda: "x"), "127.0.0.1", 0)
    async with httpx2.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/health/live")
    await server.stop()
    assert answer.status_code == 200


async def test_our_own_api_is_refused_in_its_own_form(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/v1/applications")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert (answer.json()["detail"], answer.headers["Retry-After"]) == ("This is standby RM: rm-1 leads", "2")


async def test_who_led_and_stood_still_answers_no_more() -> None:
    lost: list[LeadLost] = []

    def require() -> None:
        for error in lost:
            raise error

    app = Led(standby_app(STARTED_MS, lambda: "nobody"), require)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://rm-host:8088") as client:
        assert (await client.get("/isActive")).status_code == 405
        lost.append(LeadLost("rm-1"))
        answer = await client.get("/isActive")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.text == "This is standby RM: rm-1 does not lead, or not any more"
