"""The servlet container answers some paths itself."""

from __future__ import annotations

import pathlib

import pytest

from tests.support.rest_world import RestWorld

GOLDEN = pathlib.Path(__file__).parents[2] / "conformance" / "golden" / "rest"


def recorded_body(name: str) -> str:
    """Recorded from a real Hadoop 3.5.0 ResourceManager; its servlet has a name of its own."""
    body = (GOLDEN / f"{name}.txt").read_text().partition("\n<\n")[2]
    return body.replace("org.glassfish.jersey.servlet.ServletContainer-49601f82", "yodel").strip()


@pytest.mark.parametrize(
    ("path", "accept", "media_type", "name"),
    [
        ("/ws/v1/cluster/nope", "application/json", "application/json", "err-no-such-path"),
        ("/ws/v1/", "*/*", "text/html;charset=iso-8859-1", "rm-ws-v1"),
        ("/ws/v1/", "text/html, application/json", "text/html;charset=iso-8859-1", "rm-ws-v1"),
    ],
)
async def test_unknown_path_is_jettys_page(
    world: RestWorld, path: str, accept: str, media_type: str, name: str
) -> None:
    answer = await world.client.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (404, media_type)
    assert answer.headers["cache-control"] == "must-revalidate,no-cache,no-store"
    assert answer.text.strip() == recorded_body(name)


async def test_page_shows_the_path_and_runs_nothing(world: RestWorld) -> None:
    answer = await world.client.get("/%3Cscript%3E")
    assert "<td>/&lt;script&gt;</td>" in answer.text or "<td>/%3Cscript%3E</td>" in answer.text
    assert "<script>" not in answer.text


async def test_who_takes_no_page_gets_none(world: RestWorld) -> None:
    answer = await world.client.get("/nope", headers={"Accept": "application/xml"})
    assert (answer.status_code, answer.content) == (404, b"")
    answer = await world.client.get("/nope", headers={"Accept": "text/plain"})
    assert answer.text.startswith("HTTP ERROR 404 Not Found\nURI: /nope\n")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_other_methods_than_three_are_not_told_why(world: RestWorld, method: str) -> None:
    answer = await world.client.request(method, "/ws/v1/cluster/nope", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.content, answer.headers.get("content-type")) == (404, b"", None)


async def test_a_servlet_has_methods_of_its_own(world: RestWorld) -> None:
    page = await world.client.post("/jmx", headers={"Accept": "application/json"})
    assert (page.status_code, page.json()["message"]) == (405, "HTTP method POST is not supported by this URL")
    assert (await world.client.delete("/jmx")).content == b""
