"""One application, many, and their attempts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.api_rows import api_get
from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, a_container_id, a_node, an_application, an_attempt
from tests.support.records import a_submission as submission_of
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.ask_book import Ask, AskKey, SchedulingAsk
from yodel.domain.constraints import Single, TagTarget
from yodel.domain.node import Node
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerExitStatus,
    ContainerState,
    ContainerType,
    ExecutionType,
    NodeState,
)
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.services.applications.log_aggregation import LogAggregationReport, LogAggregationStatus
from yodel.services.writer.outbox import AttemptOutbox


def a_live_node() -> Node:
    return a_node(state=NodeState.RUNNING, http_port=8042, capability=Resource(8192, 8))


async def put_running(world: RestWorld, **submission: object) -> None:
    """Application 1 runs: its AM, one task."""
    app = an_application(
        1,
        state=ApplicationState.RUNNING,
        current_attempt=1,
        submitted_ms=CLUSTER_TIMESTAMP_MS,
        launched_ms=CLUSTER_TIMESTAMP_MS + 1,
        submission=submission_of(**submission),
    )
    attempt = an_attempt(1, state=AttemptState.RUNNING, host="node-1", rpc_port=4000, tracking_url="http://node-1:4040")
    am = a_container(
        1,
        container=1,
        type=ContainerType.APPLICATION_MASTER,
        capability=Resource(1024, 1),
        state=ContainerState.RUNNING,
        node_id=a_live_node().id,
        created_ms=CLUSTER_TIMESTAMP_MS,
    )
    task = a_container(
        1, state=ContainerState.RUNNING, node_id=a_live_node().id, created_ms=CLUSTER_TIMESTAMP_MS + 5000
    )
    await world.put(a_live_node(), app, attempt, am, task)


async def test_running_application_shows_where_and_how_much(world: RestWorld) -> None:
    await put_running(world)
    world.clock.advance(10)
    app = (await world.json(f"/apps/{an_application(1).id}"))["app"]
    assert app["trackingUI"] == "ApplicationMaster"
    assert app["trackingUrl"] == f"http://rm-host:8088/proxy/{app['id']}/"
    assert app["amContainerLogs"] == f"http://node-1:8042/node/containerlogs/{a_container_id()}/alice"
    assert (app["amHostHttpAddress"], app["amRPCAddress"]) == ("node-1:8042", "node-1:4000")
    assert (app["allocatedMB"], app["allocatedVCores"], app["runningContainers"]) == (3072, 3, 2)
    assert (app["elapsedTime"], app["memorySeconds"]) == (10_000, 1024 * 10 + 2048 * 5)
    assert (app["clusterUsagePercentage"], app["queueUsagePercentage"]) == (37.5, 37.5)


async def test_what_was_taken_back_is_told_apart(world: RestWorld) -> None:
    await put_running(world)
    ended_ms = CLUSTER_TIMESTAMP_MS + 9000
    taken = {"state": ContainerState.COMPLETED, "exit_status": ContainerExitStatus.PREEMPTED, "finished_ms": ended_ms}
    master = a_container(
        container=8, type=ContainerType.APPLICATION_MASTER, created_ms=CLUSTER_TIMESTAMP_MS + 4000, **taken
    )
    task = a_container(container=9, capability=Resource(512, 1), created_ms=CLUSTER_TIMESTAMP_MS + 7000, **taken)
    await world.put(master, task)
    path, v1 = f"/apps/{an_application(1).id}", f"/api/v1/applications/{an_application(1).id}"
    app = (await world.json(path))["app"]
    figures = {name: value for name, value in app.items() if "reempted" in name}
    assert figures == {
        "preemptedResourceMB": 2048 + 512,
        "preemptedResourceVCores": 3,
        "numNonAMContainerPreempted": 1,
        "numAMContainerPreempted": 1,
        "preemptedMemorySeconds": 2048 * 5 + 512 * 2,
        "preemptedVcoreSeconds": 2 * 5 + 2,
    }
    found = await api_get(world, v1)
    assert (found["preempted_containers"], found["preempted"]) == (2, {"memory_mib": 2560, "vcores": 3, "others": {}})


async def test_elapsed_time_of_a_running_application_is_never_from_a_cache(world: RestWorld) -> None:
    await put_running(world)
    for seconds in (1, 2):
        world.clock.advance(1)
        (app,) = (await world.json("/apps"))["apps"]["app"]
        assert app["elapsedTime"] == seconds * 1000


async def test_outstanding_asks_are_listed(world: RestWorld) -> None:
    await put_running(world)
    runtime = world.rm.state.masters.expect(an_attempt(1).id, 0.0, AttemptOutbox())
    key = AskKey(3, 7, ExecutionType.GUARANTEED, Resource(512, 1))
    runtime.wishes.asks.replace(Ask(key=key, resource_name="*", count=2))
    app = (await world.json(f"/apps/{an_application(1).id}"))["app"]
    (request,) = app["resourceRequests"]
    assert (request["priority"], request["allocationRequestId"], request["numContainers"]) == (3, 7, 2)
    assert (request["resourceName"], request["capability"]["memory"]) == ("*", 512)
    pending = app["resourceInfo"]["resourceUsagesByPartition"][0]["pending"]
    assert (pending["memory"], pending["vCores"]) == (1024, 2)
    without = (await world.json(f"/apps/{an_application(1).id}?deSelects=resourceRequests"))["app"]
    assert "resourceRequests" not in without


async def test_outstanding_scheduling_requests_are_listed_with_their_constraint(world: RestWorld) -> None:
    await put_running(world)
    runtime = world.rm.state.masters.expect(an_attempt(1).id, 0.0, AttemptOutbox())
    for number, constraint in ((7, Single(maximum=0, targets=(TagTarget("zk"),))), (8, None)):
        key = AskKey(3, number, ExecutionType.GUARANTEED, Resource(512, 1))
        runtime.wishes.asks.request(SchedulingAsk(key=key, count=2, tags=("zk",), constraint=constraint))
    apart, plain = (await world.json(f"/apps/{an_application(1).id}"))["app"]["resourceRequests"]
    assert (apart["allocationRequestId"], apart["numContainers"], apart["allocationTags"]) == (7, 2, ["zk"])
    assert apart["placementConstraint"] == "notin,node,zk"
    assert not {"resourceName", "nodeLabelExpression"} & {*apart}
    assert "placementConstraint" not in plain


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (AttemptState.SCHEDULED, "waiting for resources to be assigned for AM"),
        (AttemptState.ALLOCATED, "waiting for AM container to be launched"),
        (AttemptState.LAUNCHED, "waiting for AM container to Register with RM"),
    ],
)
async def test_waiting_application_says_for_what(world: RestWorld, state: AttemptState, text: str) -> None:
    await world.put(an_application(1, current_attempt=1), an_attempt(1, state=state))
    app = (await world.json(f"/apps/{an_application(1).id}"))["app"]
    assert text in app["diagnostics"]
    assert (app["trackingUI"], "trackingUrl" in app) == ("UNASSIGNED", False)


async def test_ended_application_has_no_live_amounts(world: RestWorld) -> None:
    await world.put(
        an_application(1, state=ApplicationState.KILLED, current_attempt=1, finished_ms=1500),
        an_attempt(1, state=AttemptState.KILLED),
    )
    app = (await world.json(f"/apps/{an_application(1).id}"))["app"]
    names = ("allocatedMB", "allocatedVCores", "reservedMB", "reservedVCores", "runningContainers")
    assert [app[name] for name in names] == [-1] * 5
    assert (app["trackingUI"], app["trackingUrl"]) == ("History", f"http://rm-host:8088/cluster/app/{app['id']}")
    assert app["elapsedTime"] == 500


async def test_lifetime_is_shown_with_what_remains(world: RestWorld) -> None:
    await put_running(world)
    await world.put(replace(world.rm.state.applications[an_application(1).id], expires_ms=1_700_003_600_000))
    world.clock.advance(600)
    app = (await world.json(f"/apps/{an_application(1).id}"))["app"]
    (timeout,) = app["timeouts"]["timeout"]
    assert timeout == {
        "type": "LIFETIME",
        "expiryTime": "2023-11-14T23:13:20.000+0000",
        "remainingTimeInSeconds": 3000,
    }


async def test_who_may_not_view_sees_that_it_exists_and_zeros() -> None:
    async with rest_world(rules=AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)) as world:
        await put_running(world)
        taken = {"state": ContainerState.COMPLETED, "exit_status": ContainerExitStatus.PREEMPTED}
        await world.put(a_container(container=9, finished_ms=CLUSTER_TIMESTAMP_MS + 9000, **taken))
        path = f"/apps/{an_application(1).id}"
        mine = (await world.json(f"{path}?user.name=alice"))["app"]
        world.client.cookies.clear()
        theirs = (await world.json(f"{path}?user.name=mallory"))["app"]
    assert mine["allocatedMB"] == 3072
    assert set(mine) - set(theirs) == {"amContainerLogs", "amHostHttpAddress", "amRPCAddress", "logAggregationStatus"}
    assert (mine["masterNodeId"], theirs["masterNodeId"]) == ("node-1:8041", "")
    zeros = ("startedTime", "launchTime", "elapsedTime", "allocatedMB", "allocatedVCores", "runningContainers")
    assert [theirs[name] for name in (*zeros, "preemptedResourceMB", "numNonAMContainerPreempted")] == [0] * 8
    assert (mine["preemptedResourceMB"], mine["numNonAMContainerPreempted"]) == (2048, 1)


async def test_lists_may_hold_only_what_a_caller_may_view() -> None:
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(rules=rules, are_lists_filtered=True) as world:
        await world.put(an_application(1), an_application(2, submission=submission_of(user="bob")))
        for accept in ("application/json", "application/xml"):
            answer = await world.get("/apps?user.name=bob", headers={"accept": accept})
            assert str(an_application(2).id) in answer.text
            assert str(an_application(1).id) not in answer.text


async def test_label_is_shown_when_its_submitter_named_one(world: RestWorld) -> None:
    named = pb.ApplicationSubmissionContextProto(node_label_expression="").SerializeToString()
    await world.put(
        an_application(1, submission=submission_of(context=b"")),
        an_application(2, submission=submission_of(context=named)),
        an_application(3, submission=submission_of(context=b"", node_label="ssd", is_unmanaged=True)),
    )
    third, second, first = (await world.json("/apps"))["apps"]["app"]
    assert "appNodeLabelExpression" not in first
    assert (second["appNodeLabelExpression"], third["appNodeLabelExpression"]) == ("", "ssd")
    assert (first["amNodeLabelExpression"], "amNodeLabelExpression" in third) == ("", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app_x", "Invalid ApplicationId prefix: app_x. The valid ApplicationId should start with prefix application"),
        ("application_1", "Invalid ApplicationId: application_1"),
        ("application_1_x", "Invalid ApplicationId: application_1_x"),
    ],
)
async def test_malformed_id_is_refused(world: RestWorld, text: str, message: str) -> None:
    for path in (f"/apps/{text}", f"/apps/{text}/state", f"/apps/{text}/appattempts"):
        answer = await world.get(path)
        assert (answer.status_code, answer.json()["RemoteException"]["message"]) == (400, message)


async def test_attempts_show_their_am(world: RestWorld) -> None:
    await put_running(world)
    (attempt,) = (await world.json(f"/apps/{an_application(1).id}/appattempts"))["appAttempts"]["appAttempt"]
    assert attempt["containerId"] == str(a_container_id())
    assert attempt["nodeId"] == "node-1:8041"
    assert attempt["logsLink"] == f"http://node-1:8042/node/containerlogs/{a_container_id()}/alice"


async def test_kept_bodies_follow_the_rows(world: RestWorld) -> None:
    ended = an_application(1, state=ApplicationState.FAILED, diagnostics="first", finished_ms=2000)
    await world.put(ended)
    first = (await world.get("/apps")).content
    assert (await world.get("/apps")).content == first
    await world.put(an_application(1, state=ApplicationState.FAILED, diagnostics="second", finished_ms=2000))
    assert json.loads((await world.get("/apps")).content)["apps"]["app"][0]["diagnostics"] == "second"
    assert (await world.json(f"/apps/{ended.id}"))["app"]["diagnostics"] == "second"


async def test_log_aggregation_is_told_as_nodes_report_it(world: RestWorld) -> None:
    node_id = a_live_node().id
    row = an_application(
        1, state=ApplicationState.FINISHED, current_attempt=1, submitted_ms=1, finished_ms=world.clock.now_ms()
    )
    await world.put(row, an_attempt(1))
    for status in (LogAggregationStatus.NOT_START, LogAggregationStatus.RUNNING, LogAggregationStatus.SUCCEEDED):
        world.rm.log_aggregation.record(node_id, [LogAggregationReport(application_id=row.id, status=status)])
        (listed,) = (await world.json("/apps"))["apps"]["app"]
        shown = (await world.json(f"/apps/{row.id}"))["app"]
        assert shown["logAggregationStatus"] == listed["logAggregationStatus"] == status.name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?states=finished,killed", [("FINISHED", "*", 1), ("KILLED", "*", 0)]),
        ("?states=RUNNING&applicationTypes=Spark", [("RUNNING", "spark", 1)]),
        ("?states=FINISHED&applicationTypes=SPARK", [("FINISHED", "spark", 0)]),
    ],
)
async def test_statistics_count_by_state(world: RestWorld, query: str, expected: list[tuple[str, str, int]]) -> None:
    await put_running(world, application_type="SPARK")
    await world.put(an_application(2, state=ApplicationState.FINISHED, finished_ms=1500))
    items = (await world.json(f"/appstatistics{query}"))["appStatInfo"]["statItem"]
    assert [(item["state"], item["type"], item["count"]) for item in items] == expected


async def test_statistics_of_all_states_are_eight_and_of_two_types_none(world: RestWorld) -> None:
    assert len((await world.json("/appstatistics"))["appStatInfo"]["statItem"]) == 8
    answer = await world.get("/appstatistics?applicationTypes=a,b")
    assert answer.json()["RemoteException"]["message"] == (
        "# of applicationTypes = 2, we temporarily support at most one applicationType"
    )
    assert (await world.get("/appstatistics?states=NOPE")).status_code == 400
