"""Nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.ids import NodeId
from yodel.domain.node_load import NodeLoad, Utilization
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.services.nodes.registration import NodeRegistration


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
        ("?states=LOST&states=RUNNING", ["node-2:8041"]),
        ("?states=LOST,running,", ["node-1:8041", "node-2:8041"]),
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
    wordy = await two.get("/nodes/nohost:port")
    assert wordy.json()["RemoteException"]["message"] == 'For input string: "port"'
    assert (malformed.status_code, unknown.status_code) == (400, 404)
    assert unknown.json()["RemoteException"]["message"] == "nodeId, nohost:1, is not found"


async def test_unknown_state_is_refused(two: RestWorld) -> None:
    for given, shown in (("bad", "BAD"), ("", ""), ("LOST,,RUNNING", ""), ("LOST, RUNNING", " RUNNING")):
        answer = await two.get("/nodes", params={"states": given})
        expected = f"No enum constant org.apache.hadoop.yarn.api.records.NodeState.{shown}"
        assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, expected)


async def test_node_shows_what_its_agent_measures(two: RestWorld) -> None:
    await two.rm.registration.register(
        NodeRegistration(
            node_id=NodeId("node-1", 8041),
            http_port=8042,
            capability=Resource(8192, 8),
            kubernetes_node_name="node-1",
            version="3.5.0",
        )
    )
    use = Utilization(physical_mib=2048, virtual_mib=4096, cpu_cores=2.0)
    two.rm.nodes.runtimes[NodeId("node-1", 8041)].load = NodeLoad(node=use, health_ms=17)
    node = (await two.json("/nodes/node-1:8041"))["node"]
    assert (node["memUtilization"], node["cpuUtilization"], node["lastHealthUpdate"]) == (25.0, 25.0, 17)
    assert (node["resourceUtilization"]["nodePhysicalMemoryMB"], node["resourceUtilization"]["nodeCPUUsage"]) == (
        2048,
        2.0,
    )
    metrics = (await two.json("/metrics"))["clusterMetrics"]
    assert (metrics["utilizedMB"], metrics["utilizedMBPercent"], metrics["utilizedVirtualCores"]) == (2048, 25, 2)


RESOURCE = "/nodes/node-1:8041/resource"
WANTED = {"resource": {"memory": 4096, "vCores": 2}, "overCommitTimeout": 0}


async def test_administrator_says_what_a_node_gives(two: RestWorld) -> None:
    answer = await two.post(RESOURCE, WANTED, params={"user.name": "admin"})
    assert answer.status_code == 200
    assert (answer.json()["resourceInfo"]["memory"], answer.json()["resourceInfo"]["vCores"]) == (4096, 2)
    assert (await two.json("/nodes/node-1:8041"))["node"]["totalResource"]["memory"] == 4096


async def test_resource_in_xml_is_the_same(two: RestWorld) -> None:
    content = b"<resourceOption><resource><memory>4096</memory><vCores>2</vCores></resource></resourceOption>"
    headers = {"Content-Type": "application/xml", "Accept": "application/xml"}
    path = f"/ws/v1/cluster{RESOURCE}?user.name=admin"
    answer = await two.client.post(path, content=content, headers=headers)
    assert answer.text.startswith(
        '<?xml version="1.0" encoding="UTF-8"?><resourceInfo><memory>4096</memory><vCores>2</vCores>'
    )


async def test_no_resource_at_all_is_what_java_falls_over(two: RestWorld) -> None:
    answer = await two.client.post(f"/ws/v1/cluster{RESOURCE}?user.name=admin")
    told = answer.json()["RemoteException"]
    assert (answer.status_code, told["exception"]) == (503, "NullPointerException")
    assert 'ResourceOptionInfo.getResourceOption()" because "resourceOption" is null' in told["message"]


@pytest.mark.parametrize(
    ("path", "body", "user", "status"),
    [
        (RESOURCE, WANTED, None, 401),
        (RESOURCE, WANTED, "bob", 403),
        (RESOURCE, {}, "admin", 400),
        (RESOURCE, {"resource": {"memory": -1, "vCores": 1}}, "admin", 400),
        (RESOURCE, {"resource": {"memory": "much", "vCores": 1}}, "admin", 400),
        (RESOURCE, {"resource": {"memory": 2**70, "vCores": 1}}, "admin", 400),
        ("/nodes/nohost:1/resource", WANTED, "admin", 404),
        ("/nodes/nohost/resource", WANTED, "admin", 400),
    ],
)
async def test_refused_resources(two: RestWorld, path: str, body: Any, user: str | None, status: int) -> None:
    answer = await two.post(path, body, params={"user.name": user} if user else {})
    assert (answer.status_code, set(answer.json())) == (status, {"RemoteException"})
