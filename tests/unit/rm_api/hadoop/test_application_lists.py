"""Long lists: page by page, what lives in between, filtered and limited."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from starlette.requests import Request
from starlette.types import Message

from tests.support.records import a_submission, an_application
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState
from yodel.rm_api.hadoop.application_lists import VisibleApplications, listed
from yodel.rm_api.hadoop.rendered import RenderedApplications
from yodel.services.views.queries import ApplicationFilter
from yodel.services.writer.application_index import PAGE_MAX


@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
async def test_long_list_is_whole_and_in_order(world: RestWorld, accept: str) -> None:
    """Page by page, with one that lives on the oldest page, plain and compressed, whole and limited."""
    count = 2 * PAGE_MAX + 7
    rows = [an_application(n, state=ApplicationState.FAILED, finished_ms=2000) for n in range(1, count + 1)]
    rows[3] = an_application(4, state=ApplicationState.RUNNING)
    await world.put(*rows)
    expected = [str(row.id) for row in reversed(rows)]
    for limit in (17, PAGE_MAX, PAGE_MAX + 7, count - 1, count, count + 1):
        for encoding in ("identity", "gzip"):
            headers = {"Accept": accept, "Accept-Encoding": encoding}
            answer = await world.get(f"/apps?limit={limit}", headers=headers)
            assert answer.headers.get("content-encoding", "identity") == encoding
            ids = re.findall(r"<id>(.*?)</id>", answer.text) or [app["id"] for app in answer.json()["apps"]["app"]]
            assert ids == expected[:limit]


async def test_filters_choose_within_pages(world: RestWorld) -> None:
    rows = [
        an_application(n, state=ApplicationState.FAILED, finished_ms=n, submission=a_submission(name=f"even{n % 2}"))
        for n in range(1, 2 * PAGE_MAX + 1)
    ]
    await world.put(*rows)
    apps = (await world.json("/apps?name=even0"))["apps"]["app"]
    assert [app["id"] for app in apps] == [str(row.id) for row in reversed(rows) if row.id.sequence % 2 == 0]
    assert apps == [app for app in (await world.json("/apps"))["apps"]["app"] if app["name"] == "even0"]


async def test_application_forgotten_while_the_list_is_sent_is_left_out(world: RestWorld) -> None:
    rows = [an_application(n, state=ApplicationState.RUNNING, finished_ms=0) for n in range(1, PAGE_MAX + 1)]
    await world.put(*rows)
    services = world.app.state.hadoop
    wanted = VisibleApplications(wanted=ApplicationFilter(), left_out=frozenset(), may_view=None, is_filtered=False)
    request = Request({"type": "http", "method": "GET", "headers": []})
    answer = await listed(request, services, wanted, "application/json")
    world.rm.state.remove_application(rows[0].id)
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    await answer(request.scope, receive, send)
    assert len(json.loads(b"".join(sent))["apps"]["app"]) == PAGE_MAX - 1


async def test_living_ones_are_found_wherever_they_are(world: RestWorld) -> None:
    rows = [an_application(n, state=ApplicationState.FAILED, finished_ms=2000) for n in range(1, 2 * PAGE_MAX + 1)]
    for sequence, state in ((3, ApplicationState.RUNNING), (90, ApplicationState.KILLING)):
        rows[sequence - 1] = an_application(sequence, state=state, launched_ms=1)
    rows[6] = an_application(7, state=ApplicationState.FINISHING, finished_ms=5)  # FINISHED to who asks
    await world.put(*rows)
    for query, expected in (
        ("?states=RUNNING,ACCEPTED", [90, 3]),
        ("?states=RUNNING&limit=1", [90]),
        ("?states=RUNNING,FINISHED", [90, 7, 3]),
    ):
        apps = (await world.json(f"/apps{query}"))["apps"]["app"]
        assert [app["id"] for app in apps] == [str(rows[n - 1].id) for n in expected]


async def test_readers_hold_no_pages_when_too_many_are_held(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.put(*(an_application(n, state=ApplicationState.FAILED, finished_ms=2000) for n in range(1, 100)))
    plain = {"Accept-Encoding": "identity"}
    held = await world.get("/apps", headers=plain)
    monkeypatch.setattr(RenderedApplications, "is_crowded", True)
    made = await world.get("/apps", headers=plain)
    assert "content-length" in held.headers
    assert "content-length" not in made.headers
    assert made.content == held.content
