"""Node labels: read as they are, changed nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.records import a_node
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState

AS_ADMIN = {"user.name": "admin"}


@pytest.fixture
async def labelled() -> AsyncIterator[RestWorld]:
    async with rest_world(are_labels_enabled=True) as world:
        size = Resource(8192, 8)
        await world.put(
            a_node(state=NodeState.RUNNING, capability=size, labels=("gpu",)),
            a_node("node-2", state=NodeState.LOST, capability=size, labels=("gpu",)),
            a_node("node-3", state=NodeState.RUNNING, capability=Resource(4096, 4)),
        )
        yield world


async def test_labels_show_what_their_live_nodes_give(labelled: RestWorld) -> None:
    (label,) = (await labelled.json("/get-node-labels"))["nodeLabelInfo"]
    assert (label["name"], label["exclusivity"], "activeNMs" in label) == ("gpu", True, False)
    assert label["partitionInfo"]["resourceAvailable"]["memory"] == 8192


async def test_partitions_have_the_default_one(labelled: RestWorld) -> None:
    default, gpu = (await labelled.json("/get-rm-node-labels"))["nodeLabelInfo"]
    assert (default["name"], default["activeNMs"]) == ("<DEFAULT_PARTITION>", 1)
    assert default["partitionInfo"]["resourceAvailable"]["memory"] == 4096
    assert (gpu["name"], gpu["activeNMs"]) == ("gpu", 1)


async def test_nodes_and_their_labels_both_ways(labelled: RestWorld) -> None:
    short = {"name": "gpu", "exclusivity": True}
    entry = (await labelled.json("/get-node-to-labels"))["nodeToLabels"]["entry"]
    assert entry == [{"key": f"{host}:8041", "value": {"nodeLabelInfo": [short]}} for host in ("node-1", "node-2")]
    for query, expected in (("", 1), ("?labels=gpu", 1), ("?labels=none&labels=gpu", 1)):
        entries = (await labelled.json(f"/label-mappings{query}"))["labelsToNodes"]["entry"]
        assert len(entries) == expected
        assert (entries[0]["key"], entries[0]["value"]["nodes"]) == (short, ["node-1:8041", "node-2:8041"])
    assert await labelled.json("/label-mappings?labels=none") == {}


@pytest.mark.parametrize(
    ("node", "names"), [("node-1:8041", ["gpu"]), ("node-1", ["gpu"]), ("node-3:8041", []), ("nobody", [])]
)
async def test_labels_of_one_node(labelled: RestWorld, node: str, names: list[str]) -> None:
    found = await labelled.json(f"/nodes/{node}/get-labels")
    assert [label["name"] for label in found.get("nodeLabelInfo", [])] == names


async def test_malformed_node_is_refused(labelled: RestWorld) -> None:
    assert (await labelled.get("/nodes/a:b/get-labels")).status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({}, 200, ""),
        ({"nodeLabelInfo": [{"name": "gpu"}]}, 200, ""),
        ({"nodeLabelInfo": {"name": "gpu", "exclusivity": "true"}}, 200, ""),
        ({"nodeLabelInfo": [{"name": "gpu", "exclusivity": False}]}, 400, "Exclusivity cannot be modified"),
        ({"nodeLabelInfo": [{"name": "-x"}]}, 400, "label name should only contains"),
        ({"nodeLabelInfo": [{"name": "fpga"}]}, 400, "Cannot add label=fpga"),
        ({"nodeLabelInfo": [7]}, 400, "Invalid node label"),
    ],
)
async def test_adding(labelled: RestWorld, body: Any, status: int, text: str) -> None:
    answer = await labelled.post("/add-node-labels", body, params=AS_ADMIN)
    assert answer.status_code == status
    assert text in answer.text


async def test_adding_in_xml(labelled: RestWorld) -> None:
    label = b"<nodeLabelInfo><name>gpu</name><exclusivity>true</exclusivity></nodeLabelInfo>"
    content = b"<nodeLabelsInfo>" + label + b"</nodeLabelsInfo>"
    path = "/ws/v1/cluster/add-node-labels?user.name=admin"
    answer = await labelled.client.post(path, content=content, headers={"Content-Type": "application/xml"})
    assert (answer.status_code, answer.content) == (200, b"")


async def test_removing_and_replacing_are_refused(labelled: RestWorld) -> None:
    removed = await labelled.client.post("/ws/v1/cluster/remove-node-labels?labels=gpu&user.name=admin")
    unknown = await labelled.client.post("/ws/v1/cluster/remove-node-labels?labels=x&user.name=admin")
    assert (removed.status_code, unknown.status_code) == (400, 400)
    assert "to be removed doesn't existed in cluster node labels collection." in unknown.text
    for path, body in (("/replace-node-to-labels", {}), ("/nodes/node-1/replace-labels?labels=x", None)):
        answer = await labelled.post(path, body, params=AS_ADMIN)
        assert (answer.status_code, answer.json()["RemoteException"]["javaClassName"]) == (404, "java.io.IOException")


CHANGES = ("/add-node-labels", "/remove-node-labels", "/replace-node-to-labels", "/nodes/node-1/replace-labels")


@pytest.mark.parametrize("path", CHANGES)
async def test_only_administrators_change_labels(world: RestWorld, path: str) -> None:
    assert (await world.post(path, {})).status_code == 401
    refused = await world.post(path, {}, params={"user.name": "bob"})
    error = refused.json()["RemoteException"]
    assert (refused.status_code, error["exception"]) == (401, "AuthorizationException")
    assert error["message"].startswith("User bob not authorized for post to ...")


@pytest.mark.parametrize("path", CHANGES)
async def test_without_labels_nothing_is_changed(world: RestWorld, path: str) -> None:
    answer = await world.post(path, {}, params=AS_ADMIN)
    text = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
    assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, text)


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/get-node-labels", "nodeLabelsInfo"),
        ("/get-node-to-labels", "nodeToLabelsInfo"),
        ("/label-mappings", "labelsToNodesInfo"),
    ],
)
async def test_nothing_is_an_empty_object(world: RestWorld, path: str, root: str) -> None:
    assert await world.json(path) == {}
    xml = await world.get(path, headers={"Accept": "application/xml"})
    assert xml.text == f'<?xml version="1.0" encoding="UTF-8"?><{root}/>'
