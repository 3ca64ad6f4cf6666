"""The API against its own description: what it says of itself is so, whatever is asked."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import json_schema
from tests.support.api_rows import MASTER, NODE, RUNNING
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain import states
from yodel.domain.queues import queue
from yodel.rm_api.v1 import models, problems
from yodel.services.applications.log_aggregation import LogAggregationStatus
from yodel.serving.proxy_users import ProxyUserRule, ProxyUserRules

ENDLESS = "/events/stream"


async def described(world: RestWorld) -> dict[str, Any]:
    answer = await world.client.get("/api/openapi.json")
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json()
    return document


async def test_old_names_are_marked_as_deprecated(world: RestWorld) -> None:
    schemas = (await described(world))["components"]["schemas"]
    fields = (
        (shape, name, field) for shape, found in schemas.items() for name, field in found.get("properties", {}).items()
    )
    assert {(shape, name) for shape, name, field in fields if field.get("deprecated")} == {
        ("CapacityBound", "put_back"),
        ("Colocation", "put_backs"),
        ("Eviction", "held"),
        ("Limits", "node_counts"),
        ("Link", "held_by"),
        ("Link", "more_holders"),
        ("Link", "what"),
        ("Node", "lending"),
        ("NodeDetails", "lending"),
        ("NodeLimits", "state"),
        ("Notice", "reason"),
        ("ResourceCapacity", "held"),
        ("ResourceUser", "held"),
        ("WaitingAsk", "is_under_way"),
        ("WaitingNode", "held"),
    }


async def test_document_describes_every_call(world: RestWorld) -> None:
    document = await described(world)
    assert document["servers"] == [{"url": "/api/v1"}]
    assert {f"{method} {path}" for path, methods in document["paths"].items() for method in methods} == {
        "get /applications",
        "get /applications/{application_id}",
        "get /applications/{application_id}/containers",
        "get /applications/{application_id}/containers/{container_id}",
        "get /applications/{application_id}/containers/{container_id}/logs",
        "get /applications/{application_id}/containers/{container_id}/logs/{file}",
        "get /applications/{application_id}/failure",
        "get /applications/{application_id}/timeline",
        "get /applications/{application_id}/logs",
        "get /applications/{application_id}/why",
        "post /applications/{application_id}/kill",
        "get /queues",
        "post /queues",
        "patch /queues",
        "get /queues/{path}",
        "get /queues/{path}/why",
        "get /queues/{path}/users",
        "patch /queues/{path}",
        "delete /queues/{path}",
        "post /queues/{path}/move",
        "get /nodes/{node_id}/capacity",
        "get /colocation",
        "get /colocation/nodes",
        "post /colocation/end-containers",
        "post /nodes/{node_id}/evict",
        "delete /nodes/{node_id}/evict",
        "post /nodes/{node_id}/publish",
        "get /queues/{path}/windows",
        "post /queues/{path}/windows",
        "put /queues/{path}/windows/{name}",
        "delete /queues/{path}/windows/{name}",
        "get /queue-configuration",
        "put /queue-configuration",
        "get /queue-history",
        "get /queue-history/{version}",
        "post /queue-history/{version}/revert",
        "get /pools",
        "get /attention",
        "get /me",
        "get /cluster",
        "get /settings",
        "get /nodes",
        "get /nodes/{node_id}",
        "get /events",
        "get /events/stream",
    }


async def test_every_call_refuses_a_parameter_that_would_do_nothing(world: RestWorld) -> None:
    document = await described(world)
    values = {
        "application_id": str(RUNNING.id),
        "container_id": str(MASTER.id),
        "file": "stdout",
        "node_id": str(NODE.id),
        "path": "root.default",
        "version": "1",
        "name": "night",
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            url = f"/api/v1{path.format(**values)}"
            known = sorted(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")
            headers = {"If-Match": "*"}
            json = {} if method in ("post", "put", "patch") else None
            answer = await world.client.request(
                method, f"{url}?sorting=name&user.name=alice", headers=headers, json=json
            )
            refusal = answer.json()
            assert (answer.status_code, refusal["errors"][0]["where"]) == (400, "query.sorting"), (method, path)
            assert all(name in refusal["detail"] for name in known), (method, path)


async def test_the_nearest_parameter_is_told_and_who_calls_is_none_of_them(filled: RestWorld) -> None:
    answer = await filled.client.get("/api/v1/applications?sate=RUNNING&limit=1")
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"where": "query.sate", "message": "unknown parameter; did you mean state?"}]
    many = await filled.client.get("/api/v1/nodes/node-1:8041?" + "&".join(f"x{number}=1" for number in range(900)))
    assert (many.status_code, len(many.content) < 20_000) == (400, True)
    hue = {"hue": ProxyUserRule(hosts=frozenset(("*",)), users=frozenset(("alice",)))}
    async with rest_world(proxy_users=ProxyUserRules(hue)) as world:
        for asker in ("user.name=alice", "user.name=hue&doAs=alice", "user.name=hue&DOAS=alice"):
            world.client.cookies.clear()
            assert (await world.client.get(f"/api/v1/applications?{asker}")).status_code == 200, asker
        token = await world.client.get("/api/v1/applications?delegation=nonsense")
        assert "query." not in token.text
    assert "query.User.Name" in (await filled.client.get("/api/v1/applications?User.Name=alice")).text


async def test_every_refusal_is_described_as_a_problem(world: RestWorld) -> None:
    document = await described(world)
    assert set(document["components"]["schemas"]["Problem"]["required"]) == set(models.Problem.model_fields)
    for methods in document["paths"].values():
        for operation in methods.values():
            assert "422" not in operation["responses"]
            for status, answer in operation["responses"].items():
                is_refusal = int(status) >= 400
                assert (list(answer["content"]) == ["application/problem+json"]) == is_refusal


@pytest.mark.parametrize(
    ("ours", "domains"),
    [
        (models.FinalStatus, states.FinalApplicationStatus),
        (models.NodeStatus, states.NodeState),
        (models.QueueStatus, queue.QueueState),
        (models.LogAggregation, LogAggregationStatus),
    ],
)
def test_words_are_those_of_the_domain(ours: Any, domains: Any) -> None:
    assert {word.value for word in ours} == {member.name for member in domains}


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        self.links |= {value for name in ("href", "src") if (value := found.get(name))}


async def test_page_is_whole_in_itself(world: RestWorld) -> None:
    answer = await world.client.get("/api/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    page = Page()
    page.feed(answer.text)
    assert page.tags.isdisjoint({"script", "link", "img", "iframe"})
    assert {link for link in page.links if not link.startswith("#")} == {"/cluster", "/api/openapi.json"}
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids
    assert {kind.slug for kind in problems.KINDS.values()} <= page.ids
    document = await described(world)
    assert all(f"/api/v1{path}" in answer.text for path in document["paths"])
    assert all(f"shape-{quote(name)}" in page.ids for name in document["components"]["schemas"])


VALUES = st.one_of(
    st.sampled_from(["", "0", "-1", "1", "500", "501", "9" * 30, "RUNNING", "application", "root.default", "node-1"]),
    st.sampled_from([str(RUNNING.id), str(NODE.id), "application_1_0001", "W10", "0-1", "\x00", "%", "é", "//", ".."]),
    st.text(max_size=20),
)


@st.composite
def requests(draw: st.DrawFn, document: dict[str, Any]) -> tuple[str, str, str, Any]:
    """Method, path with its query, the described path, and a body: some as described, most not."""
    path = draw(st.sampled_from(sorted(set(document["paths"]) - {ENDLESS})))
    method = draw(st.sampled_from(sorted(document["paths"][path])))
    operation = document["paths"][path][method]
    asked = re.sub(r"{\w+}", lambda _: quote(draw(VALUES.filter(_is_segment)), safe=""), path)
    names = [p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"]
    given_names = draw(st.lists(st.sampled_from([*names, "user.name"]), max_size=3))
    query = "&".join(f"{name}={quote(draw(VALUES), safe='')}" for name in given_names)
    body = None
    if "requestBody" in operation:
        body = draw(
            st.none() | st.dictionaries(st.sampled_from(["diagnostics", "x"]), st.none() | VALUES | st.integers())
        )
    return method, f"/api/v1{asked}?{query}", path, body


def _is_segment(text: str) -> bool:
    """Clients resolve dots, and an empty segment is another path."""
    return text not in ("", ".", "..") and "/" not in text


@pytest.fixture
async def document(world: RestWorld) -> dict[str, Any]:
    return await described(world)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_answers_are_as_described_whatever_is_asked(
    filled: RestWorld, document: dict[str, Any], data: st.DataObject
) -> None:
    method, asked, path, body = data.draw(requests(document))
    answer = await filled.client.request(method, asked, json=body)
    responses = document["paths"][path][method]["responses"]
    assert str(answer.status_code) in responses, (asked, answer.text)
    (media_type,) = responses[str(answer.status_code)]["content"]
    assert answer.headers["content-type"].partition(";")[0] == media_type
    schema = responses[str(answer.status_code)]["content"][media_type]["schema"]
    assert json_schema.faults(answer.json(), schema, document) == []
