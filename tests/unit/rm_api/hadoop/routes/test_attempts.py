"""Attempts and containers below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, ContainerType, NodeState
from yodel.services.writer.outbox import AttemptOutbox

NODE = a_node(state=NodeState.RUNNING, http_port=8042)
APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1, submitted_ms=CLUSTER_TIMESTAMP_MS)
AM = a_container(
    1,
    container=1,
    type=ContainerType.APPLICATION_MASTER,
    capability=Resource(1024, 1, (("yarn.io/gpu", 2),)),
    state=ContainerState.RUNNING,
    node_id=NODE.id,
    created_ms=CLUSTER_TIMESTAMP_MS,
)
ENDED = a_container(
    1, container=2, state=ContainerState.COMPLETED, node_id=NODE.id, created_ms=5, finished_ms=9, exit_status=-105
)
ATTEMPT = an_attempt(
    1,
    state=AttemptState.RUNNING,
    am_container_id=AM.id,
    host="node-1",
    rpc_port=4000,
    tracking_url="http://node-1:4040",
)
PATH = f"/apps/{APP.id}/appattempts"


async def test_application_that_is_not_there_is_missed_by_its_own_words(world: RestWorld) -> None:
    answer = await world.get("/apps/application_1_0001/appattempts/appattempt_1_0001_000001/containers")
    assert answer.status_code == 404
    assert answer.json()["RemoteException"]["message"] == (
        "Application with id 'application_1_0001' doesn't exist in RM. Please check that the job submission was "
        "successful."
    )


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (f"{ATTEMPT.id}", f"attempt {ATTEMPT.id}"),
        (f"{ATTEMPT.id}/containers", f"application {APP.id}"),
        (f"{ATTEMPT.id}/containers/{AM.id}", f"application {APP.id}"),
    ],
)
async def test_who_may_not_view_is_told_so_and_sees_no_am(path: str, what: str) -> None:
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as world:
        await world.put(NODE, APP, ATTEMPT, AM)
        refused = await world.get(f"{PATH.removeprefix('/ws/v1/cluster')}/{path}?user.name=mallory")
        inner = refused.json()["RemoteException"]
        assert (refused.status_code, inner["exception"]) == (503, "WebApplicationException")
        assert inner["message"] == f"User mallory does not have privilege to see this {what}"
        (listed,) = (await world.json(f"{PATH}?user.name=mallory"))["appAttempts"]["appAttempt"]
    assert (listed["containerId"], listed["logsLink"], listed["exportPorts"]) == ("", "", "")
    assert "nodesBlacklistedBySystem" not in listed


async def test_nodes_that_an_am_does_not_want_are_listed(running: RestWorld) -> None:
    running.rm.state.masters.expect(ATTEMPT.id, 0.0, AttemptOutbox()).wishes.avoid(frozenset({"node-3", "node-2"}))
    (attempt,) = (await running.json(PATH))["appAttempts"]["appAttempt"]
    assert attempt["blacklistedNodes"] == "node-2,node-3"


@pytest.fixture
async def running(world: RestWorld) -> RestWorld:
    await world.put(NODE, APP, ATTEMPT, AM, ENDED)
    return world


async def test_list_names_the_am_and_its_node(running: RestWorld) -> None:
    (attempt,) = (await running.json(PATH))["appAttempts"]["appAttempt"]
    assert (attempt["containerId"], attempt["nodeHttpAddress"]) == (str(AM.id), "node-1:8042")
    assert attempt["logsLink"] == f"http://node-1:8042/node/containerlogs/{AM.id}/alice"


async def test_one_attempt_says_where_its_pages_are(running: RestWorld) -> None:
    attempt = (await running.json(f"{PATH}/{ATTEMPT.id}"))["appAttempt"]
    assert attempt["trackingUrl"] == f"http://rm-host:8088/proxy/{APP.id}/"
    assert (attempt["originalTrackingUrl"], attempt["rpcPort"]) == ("http://node-1:4040", 4000)
    assert attempt["amContainerId"] == str(AM.id)


async def test_lost_attempt_is_shown_by_the_resource_manager_itself(running: RestWorld) -> None:
    """Also while another attempt of the same application runs."""
    lost = an_attempt(1, attempt=2, state=AttemptState.FAILED, host="node-1", rpc_port=4000, tracking_url="http://x")
    await running.put(lost)
    attempt = (await running.json(f"{PATH}/{lost.id}"))["appAttempt"]
    page = f"http://rm-host:8088/cluster/app/{APP.id}"
    assert (attempt["trackingUrl"], attempt["originalTrackingUrl"]) == (page, page)
    assert (attempt["host"], attempt["rpcPort"]) == ("N/A", -1)


@pytest.mark.parametrize(("given", "shown"), [("http://gateway:9", "http://gateway:9"), ("", "http://N/A")])
async def test_pages_of_an_unmanaged_am_are_its_own(running: RestWorld, given: str, shown: str) -> None:
    await running.put(replace(ATTEMPT, am_container_id=None, tracking_url=given))
    assert (await running.json(f"/apps/{APP.id}"))["app"]["trackingUrl"] == shown


async def test_only_what_lives_is_listed(running: RestWorld) -> None:
    (container,) = (await running.json(f"{PATH}/{ATTEMPT.id}/containers"))["container"]
    assert (container["containerId"], container["containerState"]) == (str(AM.id), "RUNNING")
    assert container["allocatedResources"]["entry"][-1] == {"key": "yarn.io/gpu", "value": 2}


async def test_ended_container_is_not_found_as_in_hadoop(running: RestWorld) -> None:
    answer = await running.get(f"{PATH}/{ATTEMPT.id}/containers/{ENDED.id}")
    assert answer.status_code == 404
    assert answer.json()["RemoteException"]["message"] == f"Container with id '{ENDED.id}' doesn't exist in RM."


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("nonsense", 400, "Invalid AppAttemptId prefix: nonsense"),
        ("appattempt_x", 400, "Invalid AppAttemptId: appattempt_x"),
        ("appattempt_1_0001_000001", 404, "appId and appAttemptId don't match"),
        (f"{ATTEMPT.id}/containers/nonsense", 400, "Invalid ContainerId prefix: nonsense"),
        (
            f"{ATTEMPT.id}/containers/{str(AM.id)[:-1]}9",
            404,
            f"Container with id '{str(AM.id)[:-1]}9' doesn't exist in RM.",
        ),
        (f"{str(ATTEMPT.id)[:-1]}9", 404, f"ApplicationAttempt with id '{str(ATTEMPT.id)[:-1]}9' doesn't exist in RM."),
        ("appattempt_1_0001_000001/containers/container_1_0001_01_000001", 404, "appId and appAttemptId don't match"),
        ("appattempt_1_0001_000001/containers/nonsense", 400, "Invalid ContainerId prefix: nonsense"),
        (f"{ATTEMPT.id}/containers/container_1_0001_01_000001", 404, "appAttemptId and containerId don't match"),
    ],
)
async def test_what_is_not_there_is_said(running: RestWorld, path: str, status: int, message: str) -> None:
    answer = await running.get(f"{PATH}/{path}")
    assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (status, message)
