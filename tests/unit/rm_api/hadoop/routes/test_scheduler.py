"""The queue tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.queues.amounts import said_in
from yodel.domain.queues.queue import Ordering, Queue, QueueState, default_queues
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, ContainerState, ContainerType, NodeState

TREE = (
    Queue(path="root", is_leaf=False),
    Queue(path="root.etl", is_leaf=False, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(path="root.etl.night", capacity_percent=50.0, maximum_capacity_percent=50.0, state=QueueState.STOPPED),
    Queue(path="root.default", capacity_percent=40.0),
)


def find(queue: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a queue's child as exporters walk the tree: parents have ``queues.queue``, leaves have none."""
    found = [child for child in queue.get("queues", {}).get("queue", []) if child["queueName"] == name]
    return found[0]


async def put_load(world: RestWorld, queue: str) -> None:
    node = a_node(state=NodeState.RUNNING, capability=Resource(10_000, 10))
    submission = a_submission(queue=queue)
    app = an_application(1, state=ApplicationState.RUNNING, current_attempt=1, submission=submission)
    am = a_container(
        container=1,
        type=ContainerType.APPLICATION_MASTER,
        capability=Resource(1000, 1),
        state=ContainerState.RUNNING,
        node_id=node.id,
        queue=queue,
    )
    task = a_container(capability=Resource(500, 1), state=ContainerState.RUNNING, node_id=node.id, queue=queue)
    waiting = an_application(2, submission=submission, current_attempt=1)
    await world.put(node, app, an_attempt(1), am, task, waiting, an_attempt(2))


async def test_default_tree_is_a_root_with_a_leaf(world: RestWorld) -> None:
    info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
    assert (info["type"], info["queueName"], info["capacity"]) == ("capacityScheduler", "root", 100.0)
    leaf = find(info, "default")
    assert (leaf["type"], leaf["state"]) == ("capacitySchedulerLeafQueueInfo", "RUNNING")
    assert (leaf["users"], "queues" in leaf) == ({}, False)


@pytest.mark.parametrize("path", ["root.etl.night"])
async def test_load_counts_up_the_tree(path: str) -> None:
    async with rest_world(queues=TREE) as world:
        await put_load(world, path)
        info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
    parent = find(info, "etl")
    leaf = find(parent, "night")
    assert "type" not in parent
    assert info["usedCapacity"] == 15.0
    assert (parent["absoluteUsedCapacity"], parent["usedCapacity"]) == (15.0, 25.0)
    assert (leaf["absoluteCapacity"], leaf["absoluteMaxCapacity"], leaf["usedCapacity"]) == (30.0, 40.0, 50.0)
    assert (leaf["state"], leaf["minEffectiveCapacity"]["memory"], leaf["maxApplications"]) == ("DRAINING", 3000, 3000)
    for queue in (parent, leaf):
        assert (queue["resourcesUsed"]["memory"], queue["allocatedContainers"], queue["numApplications"]) == (
            1500,
            2,
            2,
        )
    assert (leaf["numActiveApplications"], leaf["numPendingApplications"], leaf["numContainers"]) == (1, 1, 2)
    assert leaf["usedAMResource"]["memory"] == 1000
    (user,) = leaf["users"]["user"]
    assert (user["username"], user["resourcesUsed"]["memory"], user["AMResourceUsed"]["memory"]) == (
        "alice",
        1500,
        1000,
    )
    assert find(info, "default")["resourcesUsed"]["memory"] == 0


async def test_cluster_without_nodes_divides_by_nothing(world: RestWorld) -> None:
    info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
    assert (info["usedCapacity"], find(info, "default")["absoluteUsedCapacity"]) == (0.0, 0.0)


async def test_overview(world: RestWorld) -> None:
    shown = (await world.json("/scheduler-overview"))["scheduler"]
    assert (shown["schedulerType"], shown["schedulingResourceType"]) == (
        "Capacity Scheduler",
        "memory-mb (unit=Mi),vcores",
    )
    assert (shown["minimumAllocation"]["memory"], shown["maximumAllocation"]["vCores"]) == (256, 8)
    assert shown["applicationPriority"] == 10


async def test_access_to_a_queue_follows_its_lists() -> None:
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    root, leaf = default_queues()
    own = replace(root, administer_acl="boss", submit_acl="alice")
    async with rest_world(queues=(own, leaf), rules=rules) as world:
        path = "/queues/root.default/access?user.name=boss"
        assert (await world.json(f"{path}&user=alice"))["allowed"] is True
        refused = await world.json(f"{path}&user=alice&queue-acl-type=ADMINISTER_QUEUE")
        text = "User=alice doesn't have access to queue=root.default with acl-type=ADMINISTER_QUEUE"
        assert refused == {"allowed": False, "user": "alice", "diagnostics": text}
        world.client.cookies.clear()
        assert (await world.get("/queues/root.default/access?user=alice")).status_code == 403


async def test_access_to_a_queue_is_everybodys(world: RestWorld) -> None:
    path = "/queues/default/access?user=root&queue-acl-type=SUBMIT_APPLICATIONS"
    assert await world.json(path) == {"allowed": True, "user": "root", "diagnostics": ""}
    xml = await world.get(path, headers={"Accept": "application/xml"})
    assert xml.text.startswith('<?xml version="1.0" encoding="UTF-8" standalone="yes"?><rmQueueAclInfo><allowed>true<')


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/queues/default/access?user=root&queue-acl-type=FLY", 400, "Specified queueAclType=FLY is not a valid type"),
        ("/queues/default/access", 400, "Null user"),
        ("/queues/nosuch/access?user=root", 403, "User=dr.who doesn't haven access to queue=nosuch so"),
    ],
)
async def test_access_that_cannot_be_told(world: RestWorld, path: str, status: int, text: str) -> None:
    answer = await world.get(path)
    assert (answer.status_code, answer.json()["RemoteException"]["message"].startswith(text)) == (status, True)


async def test_weights_and_users_of_a_fair_queue() -> None:
    root = Queue(path="root", is_leaf=False)
    fair = Queue(
        path="root.a",
        weight=3.0,
        capacity_percent=75.0,
        ordering=Ordering.FAIR,
        minimum_user_limit_percent=50.0,
        user_weights=(("bob", 2.0),),
    )
    async with rest_world(queues=(root, fair, Queue(path="root.b", weight=1.0, capacity_percent=25.0))) as world:
        for number, user in enumerate(("alice", "bob"), start=1):
            submission = a_submission(queue="root.a", user=user)
            app = an_application(number, state=ApplicationState.RUNNING, current_attempt=1, submission=submission)
            await world.put(app, an_attempt(number), a_container(number, state=ContainerState.RUNNING))
        await world.put(a_node(state=NodeState.RUNNING, capability=Resource(10_000, 10)))
        info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
        queue = find(info, "a")
        assert (queue["mode"], queue["weight"], queue["normalizedWeight"]) == ("weight", 3.0, 0.75)
        vector = queue["capacities"]["queueCapacitiesByPartition"][0]["queueCapacityVectorInfo"]
        assert vector["configuredCapacityVector"] == "[memory-mb=3.0w,vcores=3.0w]"
        assert queue["orderingPolicyInfo"] == "fair"
        users = {user["username"]: user for user in queue["users"]["user"]}
        assert {name: user["userWeight"] for name, user in users.items()} == {"alice": 1.0, "bob": 2.0}
        limits = {name: user["userResourceLimit"]["memory"] for name, user in users.items()}
        assert limits["bob"] == 2 * limits["alice"]


async def test_amounts_are_shown_as_they_were_said_and_as_what_they_come_to() -> None:
    root, leaf = default_queues()
    a = replace(leaf, path="root.a", capacity_percent=0.0, capacity_amounts=said_in("c", "[memory=2048,vcores=1]"))
    b = replace(leaf, path="root.b", maximum_amounts=said_in("m", "[memory=4096,vcores=4]"))
    async with rest_world(queues=(root, a, b)) as world:
        await world.put(a_node(state=NodeState.RUNNING, capability=Resource(8192, 10)))
        info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
        queue, other = find(info, "a"), find(info, "b")
        assert (queue["isAbsoluteResource"], queue["mode"], queue["capacity"]) == (True, "absolute", 25.0)
        partition = queue["capacities"]["queueCapacitiesByPartition"][0]
        assert partition["queueCapacityVectorInfo"]["configuredCapacityVector"] == "[memory-mb=2048.0,vcores=1.0]"
        assert partition["configuredMinResource"]["memory"] == 2048
        assert partition["effectiveMinResource"]["vCores"] == 1
        assert (other["capacity"], other["isAbsoluteResource"]) == (50.0, False)
        partition = other["capacities"]["queueCapacitiesByPartition"][0]
        assert partition["queueCapacityVectorInfo"]["configuredCapacityVector"] == "[memory-mb=100.0%,vcores=100.0%]"
        assert partition["configuredMaxResource"]["vCores"] == partition["effectiveMaxResource"]["vCores"] == 4


async def test_number_of_applications_that_may_run_is_shown() -> None:
    root, leaf = default_queues()
    async with rest_world(queues=(root, replace(leaf, maximum_parallel_applications=4))) as world:
        info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
        assert (info["maxParallelApps"], find(info, "default")["maxParallelApps"]) == (2**31 - 1, 4)


async def test_lifetimes_of_a_queue_are_shown() -> None:
    root, leaf = default_queues()
    async with rest_world(queues=(root, replace(leaf, maximum_lifetime_s=600, default_lifetime_s=60))) as world:
        shown = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]["queues"]["queue"][0]
        assert (shown["maxApplicationLifetime"], shown["defaultApplicationLifetime"]) == (600, 60)


async def test_used_part_of_the_root_is_of_the_nodes_that_take_containers(world: RestWorld) -> None:
    await put_load(world, "root.default")
    leaving = a_node("leaving", state=NodeState.DECOMMISSIONING, capability=Resource(10_000, 10))
    await world.put(
        leaving,
        a_container(
            container=3,
            state=ContainerState.RUNNING,
            node_id=leaving.id,
            queue="root.default",
            capability=Resource(500, 1),
        ),
    )
    assert world.rm.quotas.tree.total != world.rm.state.usable_resource
    info = (await world.json("/scheduler"))["scheduler"]["schedulerInfo"]
    assert info["usedCapacity"] == info["capacities"]["queueCapacitiesByPartition"][0]["absoluteUsedCapacity"] == 20.0
