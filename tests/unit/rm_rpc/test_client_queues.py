from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import World
from tests.support.rm_options import NODE_SIZE, Options
from tests.support.rpc_calls import call, client_protocol, context
from yodel.domain.queues.queue import Queue, QueueState, leaves_under_root
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg


@pytest.fixture
async def world() -> AsyncIterator[World]:
    leaves = leaves_under_root(("default", "night"), maximum_lifetime_s=-1, default_lifetime_s=-1)
    async with World(Options(queues=leaves, acl_enable=True)) as world:
        yield world


async def info(world: World, name: str, user: str = "alice", **fields: bool) -> Any:
    request = msg.GetQueueInfoRequestProto(queueName=name, **fields)
    return (await call(client_protocol(world).protocol(), "getQueueInfo", context(user), request)).queueInfo


async def test_children_are_told_as_deep_as_asked(world: World) -> None:
    assert not (await info(world, "root")).childQueues
    root = await info(world, "root", includeChildQueues=True, recursive=True)
    assert [child.queuePath for child in root.childQueues] == ["root.default", "root.night"]
    assert [child.capacity for child in root.childQueues] == [0.5, 0.5]


async def test_applications_are_those_that_live_and_the_caller_may_see(world: World) -> None:
    ended, living = await world.running_am(), await world.running_am()
    await ended.finish()
    await ended.exit()
    shown = (await info(world, "default", includeApplications=True)).applications
    assert [report.applicationId.id for report in shown] == [living.application_id.sequence]
    assert not (await info(world, "default", "mallory", includeApplications=True)).applications
    assert not (await info(world, "night", includeApplications=True)).applications


async def test_statistics_and_amounts(world: World) -> None:
    await world.running_am()
    queue = await info(world, "default")
    statistics = queue.queueStatistics
    assert (statistics.numAppsRunning, statistics.allocatedContainers, statistics.allocatedMemoryMB) == (1, 1, 1024)
    assert statistics.availableMemoryMB == NODE_SIZE.memory_mib // 2 - 1024
    configured = queue.queueConfigurationsMap[0].queueConfigurations
    assert configured.effectiveMinCapacity.memory == NODE_SIZE.memory_mib // 2
    assert configured.effectiveMaxCapacity.memory == NODE_SIZE.memory_mib


async def test_weight_and_share_of_masters_are_the_queues_own() -> None:
    thirds = 100.0 / 3.0
    weighed = Queue(path="root.a", weight=1.0, capacity_percent=thirds, am_share=0.25, maximum_parallel_applications=4)
    queues = (Queue(path="root", is_leaf=False), weighed, Queue(path="root.b", weight=2.0, capacity_percent=2 * thirds))
    async with World(Options(queues=queues)) as world:
        await world.register_node()
        first, second = await info(world, "a"), await info(world, "b")
        assert (first.weight, second.weight) == (1.0, 2.0)
        assert (first.maxParallelApps, second.maxParallelApps) == (4, 2**31 - 1)
        shares = [q.queueConfigurationsMap[0].queueConfigurations for q in (first, second)]
        assert [share.maxAMPercentage for share in shares] == [0.25, world.rm.quotas.am_share]
        assert [share.effectiveMinCapacity.memory for share in shares] == [
            world.rm.quotas.tree.shares[path].guaranteed.memory_mib for path in ("root.a", "root.b")
        ]


async def test_everybody_may_submit_and_administer(world: World) -> None:
    answer = await call(client_protocol(world).protocol(), "getQueueUserAcls", context())
    assert [queue.queueName for queue in answer.queueUserAcls] == ["root", "root.default", "root.night"]
    assert all(
        list(queue.userAcls) == [pb.QACL_SUBMIT_APPLICATIONS, pb.QACL_ADMINISTER_QUEUE]
        for queue in answer.queueUserAcls
    )


GUARDED = (
    Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
    Queue(path="root.etl", is_leaf=False, capacity_percent=40.0, maximum_capacity_percent=50.0, administer_acl="carol"),
    Queue(path="root.etl.night", capacity_percent=50.0, submit_acl="alice", state=QueueState.STOPPED),
    Queue(path="root.default", capacity_percent=60.0),
)


async def test_rights_are_those_of_the_lists_along_the_path() -> None:
    async with World(Options(queues=GUARDED, acl_enable=True)) as world:

        async def rights(user: str) -> dict[str, list[int]]:
            answer = await call(client_protocol(world).protocol(), "getQueueUserAcls", context(user))
            return {queue.queueName: list(queue.userAcls) for queue in answer.queueUserAcls if queue.userAcls}

        both = [pb.QACL_SUBMIT_APPLICATIONS, pb.QACL_ADMINISTER_QUEUE]
        assert await rights("alice") == {"root.etl.night": [pb.QACL_SUBMIT_APPLICATIONS]}
        assert await rights("carol") == {"root.etl": both, "root.etl.night": both}
        assert await rights("admin") == dict.fromkeys((queue.path for queue in GUARDED), both)


async def test_queue_below_another_has_a_part_of_its_share() -> None:
    async with World(Options(queues=GUARDED)) as world:
        await world.register_node()
        configured = (await info(world, "night")).queueConfigurationsMap[0].queueConfigurations
        assert (configured.capacity, configured.maxCapacity) == (0.5, 1.0)
        assert (round(configured.absoluteCapacity, 6), configured.absoluteMaxCapacity) == (0.2, 0.5)
        assert configured.effectiveMinCapacity.memory == NODE_SIZE.memory_mib // 5


async def test_stopped_queue_with_an_application_drains(world: World) -> None:
    await world.running_am()
    stopped = replace(world.rm.state.queues["root.default"], state=QueueState.STOPPED)
    await world.run(world.rm.engine.do(lambda tx: tx.queues.rows.append(stopped)))
    assert (await info(world, "default")).state == pb.Q_DRAINING
