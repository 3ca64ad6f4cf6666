"""Arming, reading and asking wrongly, with the shapes recorded from a real Hadoop 3.5.0 ResourceManager."""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
from typing import Any

import pytest

from tests.support.records import a_node, a_submission, an_application, an_attempt, an_attempt_id
from tests.support.rest_world import RestWorld
from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ExecutionType, NodeState
from yodel.services.writer.outbox import AttemptOutbox

MEASURED = re.compile(r"(?<=<timestamp>)\d+|(?<=<dateTime>)[^<]+|application_\d+_\d+")
GOLDEN = pathlib.Path(__file__).parents[4] / "conformance" / "golden" / "rest"
NODE = NodeId("rm-host", 8041)
APP = an_application(1).id
KEY = AskKey(5, -1, ExecutionType.GUARANTEED, Resource(4096, 1))


def recorded(name: str) -> Any:
    """Recorded from a real Hadoop 3.5.0 ResourceManager."""
    return json.loads((GOLDEN / f"{name}.txt").read_text().partition("<\n")[2])


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(value[0])] if isinstance(value, list) else type(value)


async def put_node(world: RestWorld, node_id: NodeId = NODE, memory_mib: int = 1024) -> None:
    await world.put(a_node(id=node_id, state=NodeState.RUNNING, capability=Resource(memory_mib, 4)))


async def put_wish(world: RestWorld, queue: str = "root.default") -> None:
    """An application that runs and wants what no node has."""
    application = an_application(
        1, state=ApplicationState.RUNNING, current_attempt=1, submission=a_submission(queue=queue, priority=2)
    )
    await world.put(application, an_attempt(1, state=AttemptState.RUNNING, am_container_id=None))
    runtime = world.rm.state.masters.expect(an_attempt_id(1), 0.0, AttemptOutbox())
    runtime.dialogue.found_registered()
    runtime.wishes.asks.replace(Ask(key=KEY, resource_name=ANY, count=3))


async def tick(world: RestWorld) -> None:
    await world.rm.scheduler.tick()


async def test_idle_cluster_is_shown_as_recorded(world: RestWorld) -> None:
    await put_node(world)
    assert await world.json("/scheduler/activities") == {"activities": {"diagnostic": "waiting for next allocation"}}
    await tick(world)
    ours, theirs = await world.json("/scheduler/activities"), recorded("scheduler-activities")
    assert shape(ours) == shape(theirs)
    for body in (ours, theirs):
        del body["activities"]["timestamp"], body["activities"]["dateTime"]
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "path"),
    [("scheduler-activities.xml", "/scheduler/activities"), ("app-activities.xml", f"/scheduler/app-activities/{APP}")],
)
async def test_xml_is_as_recorded(world: RestWorld, name: str, path: str) -> None:
    await put_node(world)
    headers = {"Accept": "application/xml"}
    if name.startswith("scheduler"):
        await world.get(path, headers=headers)
        await tick(world)
    else:
        await put_wish(world)
    ours = await world.get(path, headers=headers)
    assert ours.headers["content-type"] == "application/xml;charset=utf-8"
    theirs = (GOLDEN / f"{name}.txt").read_text().partition("<\n")[2].strip()
    assert MEASURED.sub("", ours.text) == MEASURED.sub("", theirs)


async def test_time_is_javas(world: RestWorld) -> None:
    await put_node(world)
    await world.json("/scheduler/activities")
    world.clock.elapsed_ms += 1795250629806 - world.clock.now_ms()
    await tick(world)
    found = (await world.json("/scheduler/activities"))["activities"]
    assert (found["timestamp"], found["dateTime"]) == (1795250629806, "Sat Nov 21 08:43:49 UTC 2026")


async def test_wish_that_nothing_serves_is_a_tree_down_to_the_node(world: RestWorld) -> None:
    await put_node(world)
    await put_wish(world)
    await world.json("/scheduler/activities")
    await tick(world)
    found = (await world.json("/scheduler/activities"))["activities"]
    (allocation,) = found["allocations"]
    assert (found["nodeId"], allocation["finalAllocationState"]) == ("rm-host:8041", "SKIPPED")
    (queue,) = allocation["root"]["children"]
    (application,) = queue["children"]
    (request,) = application["children"]
    (node,) = request["children"]
    assert [queue["name"], application["name"], request["name"]] == ["root.default", str(APP), "request_5_-1"]
    assert (application["appPriority"], request["requestPriority"], request["allocationRequestId"]) == (2, 5, -1)
    assert request["diagnostic"] == (
        "4 GiB, 1 vcore is larger than every eligible node; the largest node has 1 GiB, 4 vcores"
    )
    assert list(node) == ["allocationState", "diagnostic", "nodeId"]
    assert node["diagnostic"].startswith("Node's total resource is insufficient for request")


async def test_several_nodes_are_named_below_the_request_only(world: RestWorld) -> None:
    await put_node(world)
    await put_node(world, NodeId("other", 1))
    await put_wish(world)
    await world.json("/scheduler/activities?groupBy=diagnostic")
    await tick(world)
    found = (await world.json("/scheduler/activities?groupBy=diagnostic"))["activities"]
    assert "nodeId" not in found
    (request,) = found["allocations"][0]["root"]["children"][0]["children"][0]["children"]
    (group,) = request["children"]
    assert (group["count"], sorted(group["nodeIds"])) == (2, ["other:1", "rm-host:8041"])
    assert "\n" not in group["diagnostic"]


@pytest.mark.parametrize("asked", ["rm-host:8041", "rm-host"])
async def test_node_by_address_or_host(world: RestWorld, asked: str) -> None:
    await put_node(world)
    await put_node(world, NodeId("other", 1))
    path = f"/scheduler/activities?nodeId={asked}"
    assert await world.json(path) == {"activities": {"diagnostic": "waiting for display"}}
    await tick(world)
    assert (await world.json(path))["activities"]["nodeId"] == "rm-host:8041"


@pytest.mark.parametrize(
    ("query", "diagnostic"),
    [
        ("?nodeId=elsewhere", "Cannot find node manager with given node id"),
        ("?groupBy=colour", "Got invalid groupBy: colour, valid groupBy types: [DIAGNOSTIC]"),
    ],
)
async def test_asked_wrongly_is_answered_with_a_diagnostic(world: RestWorld, query: str, diagnostic: str) -> None:
    await put_node(world)
    assert (await world.json(f"/scheduler/activities{query}"))["activities"]["diagnostic"] == diagnostic


async def test_cluster_without_nodes_says_so(world: RestWorld) -> None:
    text = "No node manager running in the cluster"
    assert await world.json("/scheduler/activities") == {"activities": {"diagnostic": text}}
    refused = await world.get("/scheduler/bulk-activities")
    assert (refused.status_code, refused.json()["RemoteException"]["message"]) == (400, text)


# --- bulk


async def bulk(world: RestWorld, query: str = "") -> Any:
    asking = asyncio.create_task(world.json(f"/scheduler/bulk-activities{query}"))
    for _ in range(20):
        await asyncio.sleep(0)
    await tick(world)
    return await asking


async def test_bulk_has_the_recorded_shape(world: RestWorld) -> None:
    await put_node(world)
    assert shape(await bulk(world, "?activitiesCount=1")) == shape(recorded("bulk-activities"))


@pytest.mark.parametrize(("query", "count"), [("", 2), ("?activitiesCount=1", 1), ("?activitiesCount=-1", 2)])
async def test_bulk_is_one_look_at_each_node(world: RestWorld, query: str, count: int) -> None:
    await put_node(world)
    await put_node(world, NodeId("other", 1))
    found = (await bulk(world, query))["bulkActivities"]["activities"]
    assert [one["nodeId"] for one in found] == ["rm-host:8041", "other:1"][:count]


async def test_bulk_asked_wrongly_is_refused(world: RestWorld) -> None:
    await put_node(world)
    assert (await world.get("/scheduler/bulk-activities?groupBy=x")).status_code == 400
    assert (await world.get("/scheduler/bulk-activities?activitiesCount=many")).status_code == 404


# --- of one application


async def test_application_is_waited_for_as_recorded(world: RestWorld) -> None:
    await put_node(world)
    await put_wish(world)
    ours, theirs = await world.json(f"/scheduler/app-activities/{APP}"), recorded("app-activities")
    assert shape(ours) == shape(theirs)
    assert ours["appActivities"]["diagnostic"] == theirs["appActivities"]["diagnostic"]


async def test_application_says_why_each_request_waits(world: RestWorld) -> None:
    await put_node(world)
    await put_wish(world)
    path = f"/scheduler/app-activities/{APP}"
    await world.json(path)
    for _ in range(2):
        await tick(world)
        world.clock.elapsed_ms += 1000
    found = (await world.json(path))["appActivities"]
    newest, oldest = found["allocations"]
    assert newest["timestamp"] > oldest["timestamp"]
    assert (newest["queueName"], newest["appPriority"], newest["allocationState"]) == ("root.default", 2, "SKIPPED")
    (request,) = newest["children"]
    assert list(request) == ["requestPriority", "allocationRequestId", "allocationState", "diagnostic", "children"]
    assert len((await world.json(f"{path}?limit=1"))["appActivities"]["allocations"]) == 1
    assert len((await world.json(f"{path}?summarize=true"))["appActivities"]["allocations"]) == 1
    assert len((await world.json(f"{path}?requestPriorities=1,5"))["appActivities"]["allocations"]) == 2
    assert "allocations" not in (await world.json(f"{path}?allocationRequestIds=7"))["appActivities"]


async def test_summary_has_the_newest_of_every_request_and_node(world: RestWorld) -> None:
    await put_node(world)
    await put_wish(world)
    path = f"/scheduler/app-activities/{APP}"
    await world.json(path)
    await tick(world)
    world.rm.state.masters.runtimes[an_attempt_id(1)].wishes.take([Ask(key=KEY, resource_name=ANY, count=0)], 1)
    await tick(world)
    (summary,) = (await world.json(f"{path}?summarize=true"))["appActivities"]["allocations"]
    assert summary["diagnostic"] == "Application does not need more resource"
    assert [request["requestPriority"] for request in summary["children"]] == [5]


async def test_actions_may_be_asked_for_alone(world: RestWorld) -> None:
    await put_node(world)
    await put_wish(world)
    path = f"/scheduler/app-activities/{APP}"
    found = (await world.json(f"{path}?actions=get"))["appActivities"]
    assert found["diagnostic"] == "waiting for display"
    await tick(world)
    assert world.rm.scheduler.activities.of_application(APP) is None
    found = (await world.json(f"{path}?actions=refresh"))["appActivities"]
    assert found["diagnostic"] == "Successfully received action: REFRESH"
    await tick(world)
    assert len(world.rm.scheduler.activities.of_application(APP) or []) == 1


@pytest.mark.parametrize(
    ("query", "diagnostic"),
    [
        ("limit=x", "limit must be integer!"),
        ("limit=0", "limit must be greater than 0!"),
        ("requestPriorities=1,x", "request priorities must be integers!"),
        ("allocationRequestIds=", "allocation request Ids must be integers!"),
        ("actions=dance", "Got invalid action: dance, valid actions: [REFRESH, GET]"),
        ("groupBy=x", "Got invalid groupBy: x, valid groupBy types: [DIAGNOSTIC]"),
    ],
)
async def test_application_asked_for_wrongly(world: RestWorld, query: str, diagnostic: str) -> None:
    await put_wish(world)
    found = (await world.json(f"/scheduler/app-activities/{APP}?{query}"))["appActivities"]
    assert (found["applicationId"], found["diagnostic"]) == (str(APP), diagnostic)


async def test_application_that_is_not_there_or_over(world: RestWorld) -> None:
    await world.put(an_application(2, state=ApplicationState.FINISHED))
    over = "fail to get application activities after finished"
    for application_id, diagnostic in (
        (an_application(2).id, over),
        (an_application(9).id, over),
        ("application_x", "Cannot find application with given appId"),
    ):
        found = (await world.json(f"/scheduler/app-activities/{application_id}"))["appActivities"]
        assert found["diagnostic"] == diagnostic


async def test_time_that_is_no_number_is_a_bad_request(world: RestWorld) -> None:
    await put_wish(world)
    refused = await world.get(f"/scheduler/app-activities/{APP}?maxTime=long")
    assert refused.status_code == 400
    assert refused.json()["RemoteException"]["message"] == 'For input string: "long.0"'
