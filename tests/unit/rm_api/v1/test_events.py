"""Events as a list, and where a stream begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.api_rows import FAILED, NODE, RUNNING, TASK, api_get
from tests.support.event_streams import opened
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, ContainerState
from yodel.services.views import transitions

LIST = "/api/v1/events"


async def test_events_are_listed_newest_first(filled: RestWorld) -> None:
    await filled.put(replace(TASK, state=ContainerState.COMPLETED, exit_status=0, finished_ms=7))
    event, *_ = (await api_get(filled, LIST))["items"]
    assert event == {
        "id": f"{filled.rm.transitions.epoch}-{filled.rm.transitions.last}",
        "at_ms": filled.clock.now_ms(),
        "kind": "container",
        "subject": str(TASK.id),
        "before": "RUNNING",
        "after": "COMPLETED",
        "application_id": str(RUNNING.id),
        "user": "alice",
        "queue": "root.default",
        "node_id": str(NODE.id),
        "exit_status": 0,
        "reason": "",
    }


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("kind=node", {"node"}),
        ("kind=node&kind=application", {"node", "application"}),
        (f"application={RUNNING.id}", {"application", "container"}),
        ("", {"application", "container", "node"}),
    ],
)
async def test_events_are_found_by_kind_and_application(filled: RestWorld, query: str, kinds: set[str]) -> None:
    items = (await api_get(filled, f"{LIST}?{query}"))["items"]
    assert {item["kind"] for item in items} == kinds
    if query.startswith("application"):
        assert {item["application_id"] for item in items} == {str(RUNNING.id)}


async def test_events_are_paged_while_others_come(filled: RestWorld) -> None:
    everything = [item["id"] for item in (await api_get(filled, LIST))["items"]]
    found, path = [], f"{LIST}?limit=2"
    while True:
        page = await api_get(filled, path)
        found += [item["id"] for item in page["items"]]
        await filled.put(replace(NODE, state=NODE.state.UNHEALTHY if len(found) % 4 else NODE.state.RUNNING))
        if page["next_cursor"] is None:
            break
        path = f"{LIST}?limit=2&cursor={page['next_cursor']}"
    assert found == everything


async def test_events_of_hidden_applications_are_hidden(guarded: RestWorld) -> None:
    items = (await api_get(guarded, f"{LIST}?user.name=bob"))["items"]
    assert {item["user"] for item in items} == {"bob", None}


@pytest.mark.parametrize("path", ["?application=x", "?kind=x", "/stream?application=x", "/stream?after=x"])
async def test_parameters_that_do_not_fit_are_refused(filled: RestWorld, path: str) -> None:
    await api_get(filled, LIST + path, 400)


async def test_malformed_last_event_id_is_refused(filled: RestWorld) -> None:
    answer = await filled.client.get(f"{LIST}/stream", headers={"Last-Event-ID": "yesterday"})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")


async def test_stream_begins_now(filled: RestWorld) -> None:
    async with opened(filled, "/api/v1/events/stream?kind=application") as stream:
        last = f"{filled.rm.transitions.epoch}-{filled.rm.transitions.last}"
        assert await stream.next() == f"retry: 3000\nid: {last}\n\n"
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        await filled.put(replace(RUNNING, state=ApplicationState.FINISHED))
        message = await stream.next()
        assert message.startswith(
            f"id: {filled.rm.transitions.epoch}-{filled.rm.transitions.last}\nevent: application\ndata: "
        )
        assert '"after":"FINISHED"' in message


async def test_stream_goes_on_after_the_last_event(filled: RestWorld) -> None:
    newest, older, *_ = (await api_get(filled, LIST))["items"]
    async with opened(filled, "/api/v1/events/stream", {"Last-Event-ID": older["id"]}) as stream:
        await stream.next()
        assert (await stream.next()).startswith(f"id: {newest['id']}\n")


@pytest.mark.parametrize("last", ["7-1", "0-999999"])
async def test_stream_that_cannot_go_on_says_so(filled: RestWorld, last: str) -> None:
    async with opened(filled, f"/api/v1/events/stream?after={last}") as stream:
        assert "event: gap\ndata: {" in await stream.next()
        await filled.put(replace(FAILED, state=ApplicationState.KILLED))
        assert "KILLED" in await stream.next()


async def test_streams_are_so_many(filled: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filled.rm.transitions, "_readers_max", 1)
    async with opened(filled, "/api/v1/events/stream") as stream:
        await stream.next()
        answer = await filled.client.get("/api/v1/events/stream")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    async with opened(filled, "/api/v1/events/stream") as stream:
        assert (await stream.next()).startswith("retry")


async def test_one_callers_streams_are_so_many(filled: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transitions, "READERS_OF_ONE_MAX", 1)
    path = "/api/v1/events/stream"
    async with opened(filled, path) as nobodys, opened(filled, f"{path}?user.name=alice") as alices:
        assert [(await stream.next())[:5] for stream in (nobodys, alices)] == ["retry", "retry"]
        for query in ("", "?user.name=alice"):
            filled.client.cookies.clear()
            answer = await filled.client.get(path + query)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert "of yours are already open" in answer.json()["detail"]
        async with opened(filled, f"{path}?user.name=bob") as bobs:
            assert (await bobs.next()).startswith("retry")


async def test_stream_holds_only_what_the_caller_may_see(guarded: RestWorld) -> None:
    async with opened(guarded, "/api/v1/events/stream?user.name=bob") as stream:
        await stream.next()
        await guarded.put(replace(RUNNING, state=ApplicationState.FINISHED))
        await guarded.put(replace(FAILED, state=ApplicationState.KILLED))
        message = await stream.next()
        assert str(FAILED.id) in message
        assert str(RUNNING.id) not in message
