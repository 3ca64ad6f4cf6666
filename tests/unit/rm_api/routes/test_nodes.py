"""Nodes."""

from __future__ import annotations

import pytest

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, ContainerState, NodeState


@pytest.fixture
async def two(world: RestWorld) -> RestWorld:
    live = a_node(state=NodeState.RUNNING, http_port=8042, capability=Resource(8192, 8), labels=("b", "a"))
    await world.put(live, a_node("node-2", state=NodeState.LOST, http_port=8042, health_report="gone"))
    app = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
    await world.put(app, an_attempt(1), a_container(state=ContainerState.RUNNING, node_id=live.id))
    return world


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["node-1:8041", "node-2:8041"]),
        ("?states=running", ["node-1:8041"]),
        ("?states=LOST,UNHEALTHY", ["node-2:8041"]),
        ("?states=LOST&states=RUNNING", ["node-1:8041", "node-2:8041"]),
    ],
)
async def test_nodes_are_found_by_state(two: RestWorld, query: str, expected: list[str]) -> None:
    assert [node["id"] for node in (await two.json(f"/nodes{query}"))["nodes"]["node"]] == expected


async def test_no_node_is_an_empty_object(two: RestWorld) -> None:
    assert await two.json("/nodes?states=SHUTDOWN") == {"nodes": {}}


async def test_node_shows_what_is_used(two: RestWorld) -> None:
    node = (await two.json("/nodes/node-1:8041"))["node"]
    assert (node["usedMemoryMB"], node["availMemoryMB"], node["totalResource"]["memory"]) == (2048, 6144, 8192)
    assert (node["usedVirtualCores"], node["availableVirtualCores"], node["numContainers"]) == (2, 6, 1)
    assert (node["nodeHTTPAddress"], node["nodeLabels"]) == ("node-1:8042", ["a", "b"])


async def test_node_that_is_gone_has_no_web_address(two: RestWorld) -> None:
    node = (await two.json("/nodes/node-2:8041"))["node"]
    assert (node["nodeHTTPAddress"], node["state"], node["healthReport"]) == ("", "LOST", "gone")
    assert "nodeLabels" not in node


async def test_malformed_and_unknown_nodes_are_told_apart(two: RestWorld) -> None:
    malformed, unknown = await two.get("/nodes/nohost"), await two.get("/nodes/nohost:1")
    assert malformed.json()["RemoteException"]["message"] == "Invalid NodeId [nohost]. Expected host:port"
    assert (malformed.status_code, unknown.status_code) == (400, 404)
    assert unknown.json()["RemoteException"]["message"] == "nodeId, nohost:1, is not found"


async def test_unknown_state_is_refused(two: RestWorld) -> None:
    answer = await two.get("/nodes?states=bad")
    expected = "No enum constant org.apache.hadoop.yarn.api.records.NodeState.BAD"
    assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, expected)
