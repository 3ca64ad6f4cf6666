"""Containers that grow and shrink: the row, the pod, the node agent and the ApplicationMaster agree in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.playbook import Am, World, ask, running
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import ContainerId, dns_name
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerUpdateType
from yodel.errors import Refused
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.services.nodes.container_reports import ContainerReport

INCREASE, DECREASE = ContainerUpdateType.INCREASE_RESOURCE, ContainerUpdateType.DECREASE_RESOURCE
PROMOTE, DEMOTE = ContainerUpdateType.PROMOTE_EXECUTION_TYPE, ContainerUpdateType.DEMOTE_EXECUTION_TYPE
STEPS_OF_A_RESIZE = 8
"""In either direction, until nothing is left to do."""


def update(container_id: ContainerId, memory_mib: int, version: int = 0, kind: Any = INCREASE) -> UpdateRequest:
    return UpdateRequest(container_id=container_id, version=version, type=kind, capability=Resource(memory_mib, 1))


async def am_and_task(world: World, capability: Resource = Resource(2048, 1)) -> tuple[Am, ContainerId]:
    am = await world.running_am()
    (task,) = await am.obtain(1, capability=capability)
    await world.beat(running(task))
    return am, task


def reasons(result: Any) -> list[tuple[str, int]]:
    return [(e.reason, e.current_version) for e in result.update_errors]


async def test_increase_is_told_once_the_pod_is_larger(world: World) -> None:
    am, task = await am_and_task(world)
    at_once = await am.beat(updates=[update(task, 4096)])
    assert not at_once.updated
    assert not at_once.update_errors
    await world.settle()

    assert world.pods.resized == [dns_name(task)]
    limits = world.pods.manifests[dns_name(task)]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["memory"] == "4096Mi"
    ((kind, granted),) = (await am.beat()).updated
    assert (kind, granted.container.id, granted.container.version) == (INCREASE, task, 1)
    assert granted.container.capability == Resource(4096, 1)
    identifier = token_pb.ContainerTokenIdentifierProto.FromString(granted.token.identifier)
    assert (identifier.version, identifier.resource.memory) == (1, 4096)
    assert not (await am.beat()).updated
    assert world.disk.containers[task].update_type is None


async def test_increase_is_reserved_from_its_decision_on(world: World) -> None:
    am, task = await am_and_task(world)
    before = world.rm.state.usage.cluster.resource
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    assert world.rm.state.usage.cluster.resource - before == Resource(2048, 0)
    assert world.rm.state.usage.by_node[NODE].resource - before == Resource(2048, 0)


async def test_increase_waits_for_room_on_its_own_node(world: World) -> None:
    am, task = await am_and_task(world)
    (big, _) = await am.obtain(2, capability=Resource(6144, 1))
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    assert world.container(task).resize_to == NONE
    assert world.pods.resized == []

    await am.beat(releases=[big])
    await world.settle()
    assert [g.container.capability.memory_mib for _, g in (await am.beat()).updated] == [4096]


async def test_pod_that_cannot_grow_refuses_the_increase(world: World) -> None:
    am, task = await am_and_task(world)
    before = world.rm.state.usage.cluster.resource
    world.pods.resize_errors.append(Refused("only cpu and memory resources are mutable"))
    await am.beat(updates=[update(task, 4096)])
    await world.settle()

    answer = await am.beat()
    assert reasons(answer) == [("RESOURCE_OUTSIDE_ALLOWED_RANGE", 0)]
    assert not answer.updated
    assert world.container(task).version == 0
    assert world.rm.state.usage.cluster.resource == before
    assert reasons(await am.beat()) == []


async def test_decrease_is_true_at_once_and_its_node_agent_is_told(world: World) -> None:
    am, task = await am_and_task(world)
    before = world.rm.state.usage.cluster.resource
    ((kind, granted),) = (await am.beat(updates=[update(task, 1024, kind=DECREASE)])).updated
    assert (kind, granted.container.version, granted.container.capability.memory_mib) == (DECREASE, 1, 1024)
    assert before - world.rm.state.usage.cluster.resource == Resource(1024, 0)

    ((told, _),) = (await world.beat()).updates
    assert (told.id, told.version, told.capability.memory_mib) == (task, 1, 1024)
    assert (await world.beat()).updates == ()
    await world.settle()
    assert world.pods.resized == [dns_name(task)]


async def test_pod_that_cannot_shrink_stays_large_and_nobody_minds(world: World) -> None:
    am, task = await am_and_task(world)
    world.pods.resize_errors.append(Refused("memory limits cannot be decreased"))
    await am.beat(updates=[update(task, 1024, kind=DECREASE)])
    await world.settle()
    assert world.container(task).resize_to == NONE
    assert reasons(await am.beat()) == []


async def test_node_agent_that_registers_again_is_told_the_size(world: World) -> None:
    am, task = await am_and_task(world)
    await am.beat(updates=[update(task, 1024, kind=DECREASE)])
    await world.restart()
    await world.register_node(containers=[running(task)])
    assert [(c.id, c.version) for c, _ in (await world.beat()).updates] == [(task, 1)]


@pytest.mark.parametrize(
    ("request_of", "reason"),
    [
        (lambda i: update(i, 4096, version=7), ("INCORRECT_CONTAINER_VERSION_ERROR", 0)),
        (lambda i: update(ContainerId.of(i.attempt_id, 99), 4096), ("INVALID_CONTAINER_ID", -1)),
        (lambda i: update(i, 9000), ("RESOURCE_OUTSIDE_ALLOWED_RANGE", 0)),
        (lambda i: update(i, -1), ("RESOURCE_OUTSIDE_ALLOWED_RANGE", 0)),
        (lambda i: update(i, 1024), ("RESOURCE_OUTSIDE_ALLOWED_RANGE", 0)),
        (lambda i: update(i, 4096, kind=DECREASE), ("RESOURCE_OUTSIDE_ALLOWED_RANGE", 0)),
        (lambda i: update(i, 0, kind=DEMOTE), ("OPPORTUNISTIC_CONTAINERS_NOT_ENABLED", 0)),
    ],
)
async def test_impossible_updates_are_answered_and_the_beat_goes_on(
    world: World, request_of: Any, reason: tuple[str, int]
) -> None:
    am, task = await am_and_task(world)
    answer = await am.beat(ask(1), updates=[request_of(task)])
    assert reasons(answer) == [reason]
    assert answer.pending_count == 1
    await world.settle()
    assert world.pods.resized == []


async def test_two_updates_of_one_container_in_one_beat(world: World) -> None:
    am, task = await am_and_task(world)
    assert reasons(await am.beat(updates=[update(task, 3072), update(task, 4096)])) == [("UPDATE_OUTSTANDING_ERROR", 0)]
    await world.settle()
    assert [g.container.capability.memory_mib for _, g in (await am.beat()).updated] == [3072]


async def test_newer_increase_replaces_one_that_waits(world: World) -> None:
    am, task = await am_and_task(world)
    await am.beat(updates=[update(task, 3072)])
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    assert [g.container.capability.memory_mib for _, g in (await am.beat()).updated] == [4096]


async def test_promotion_of_a_guaranteed_container_is_nothing(world: World) -> None:
    am, task = await am_and_task(world)
    answer = await am.beat(updates=[update(task, 0, kind=PROMOTE)])
    assert (answer.updated, reasons(answer)) == ([], [])


async def test_strangers_container_cannot_be_resized(world: World) -> None:
    _, task = await am_and_task(world)
    other = await world.running_am()
    assert reasons(await other.beat(updates=[update(task, 1024, kind=DECREASE)])) == [("INVALID_CONTAINER_ID", -1)]


async def test_repeated_beat_gets_the_same_update(world: World) -> None:
    am, task = await am_and_task(world)
    before = am.response_id
    first = await am.beat(updates=[update(task, 1024, kind=DECREASE)])
    am.response_id = before
    again = await am.beat(updates=[update(task, 1024, kind=DECREASE)])
    assert again is first
    assert world.container(task).version == 1


async def test_container_that_ended_meanwhile_is_not_updated(world: World) -> None:
    am, task = await am_and_task(world)
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    answer = await am.beat(releases=[task])
    assert [c.id for c in answer.completed] == [task]
    assert answer.updated == []


@pytest.mark.parametrize("kind", [INCREASE, DECREASE])
@pytest.mark.parametrize("step", [None, *range(STEPS_OF_A_RESIZE)])
async def test_resize_is_whole_wherever_the_rm_dies(step: int | None, kind: ContainerUpdateType) -> None:
    """The AM asks again after it registered again, as AMRMClient does with what was not answered."""
    async with World() as world:
        am, task = await am_and_task(world)
        size = 4096 if kind is INCREASE else 1024
        wanted: list[UpdateRequest] = [update(task, size, kind=kind)]
        world.steps.clear()
        world.crash_at_step = step
        updates: list[int] = []
        for _ in range(6):
            try:
                if not world.rm.state.masters.runtimes[am.attempt_id].dialogue.is_registered:
                    await am.register()
                if NODE not in world.rm.nodes.runtimes:
                    await world.register_node(containers=[running(am.container.id), running(task)])
                answer = await am.beat(updates=wanted)
                wanted = []
                updates += [g.container.capability.memory_mib for _, g in answer.updated]
                await world.settle()
            except Crash:
                world.crash_at_step = None
                wanted = [] if updates else [update(task, size, kind=kind)]
                await world.restart()

        assert world.crashed_at == ([] if step is None else [step])
        assert step is not None or len(world.steps) == STEPS_OF_A_RESIZE
        container = world.container(task)
        assert {*updates} == {size}
        assert (container.capability.memory_mib, container.version, container.resize_to) == (size, 1, NONE)
        assert world.pods.manifests[dns_name(task)]["spec"]["containers"][0]["resources"]["limits"]["memory"] == (
            f"{size}Mi"
        )
        assert world.disk.containers[task] == container
        total = sum(c.capability.memory_mib for c in world.rm.state.live_containers())
        assert world.rm.state.usage.cluster.resource.memory_mib == total


async def grown(world: World) -> tuple[Am, ContainerId]:
    """A task of 2048 MiB whose ApplicationMaster has a token for 4096, and has not used it."""
    am, task = await am_and_task(world)
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    assert (await am.beat()).updated
    return am, task


def sized(container_id: ContainerId, memory_mib: int) -> ContainerReport:
    return replace(running(container_id), capability=Resource(memory_mib, 1))


async def live_for(world: World, am: Am, seconds: float, *reports: ContainerReport) -> list[Any]:
    """Everybody keeps beating, once in a hundred seconds; what the ApplicationMaster hears of sizes."""
    heard: list[Any] = []
    for _ in range(round(seconds / 100)):
        await world.pass_time(100)
        await world.beat(running(am.container.id), *reports)
        heard += (await am.beat()).updated
        await world.settle()
    return heard


async def test_increase_that_is_never_passed_on_is_taken_back(world: World) -> None:
    am, task = await am_and_task(world)
    before = world.rm.state.usage.cluster.resource
    await am.beat(updates=[update(task, 4096)])
    await world.settle()
    assert (await am.beat()).updated
    assert not await live_for(world, am, 600, sized(task, 2048))
    assert world.container(task).capability == Resource(4096, 1)

    ((kind, granted),) = await live_for(world, am, 200, sized(task, 2048))

    assert (kind, granted.container.version) == (DECREASE, 2)
    assert world.container(task).capability == Resource(2048, 1)
    assert (world.container(task).confirmed, world.container(task).resize_to) == (NONE, NONE)
    assert world.rm.state.usage.cluster.resource == before
    limits = world.pods.manifests[dns_name(task)]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["memory"] == "2048Mi"
    assert not await live_for(world, am, 1500, sized(task, 2048))
    assert world.container(task).version == 2


async def test_increase_that_the_node_agent_reports_stands(world: World) -> None:
    am, task = await grown(world)
    assert not await live_for(world, am, 500, sized(task, 2048))
    assert not await live_for(world, am, 2000, sized(task, 4096))
    assert world.container(task).capability == Resource(4096, 1)
    assert world.container(task).version == 1
    assert world.disk.containers[task].confirmed == NONE


async def test_taken_back_to_what_was_passed_on_last(world: World) -> None:
    am, task = await grown(world)
    await am.beat(updates=[update(task, 6144, version=1)])
    await world.settle()
    await live_for(world, am, 100, sized(task, 4096))
    assert world.container(task).confirmed == Resource(4096, 1)
    ((kind, _),) = await live_for(world, am, 800, sized(task, 4096))
    assert kind is DECREASE
    assert world.container(task).capability == Resource(4096, 1)


async def test_time_to_pass_an_increase_on_begins_anew_with_the_rm(world: World) -> None:
    am, task = await grown(world)
    await live_for(world, am, 500, sized(task, 2048))
    await world.restart()
    await world.register_node(containers=[running(am.container.id), sized(task, 2048)])
    await am.register()
    assert not await live_for(world, am, 500, sized(task, 2048))
    assert [kind for kind, _ in await live_for(world, am, 300, sized(task, 2048))] == [DECREASE]


async def test_smaller_wish_ends_the_wait(world: World) -> None:
    am, task = await grown(world)
    answer = await am.beat(updates=[update(task, 1024, version=1, kind=DECREASE)])
    assert [kind for kind, _ in answer.updated] == [DECREASE]
    assert not await live_for(world, am, 1500, sized(task, 1024))
    assert (world.container(task).capability, world.container(task).version) == (Resource(1024, 1), 2)
    assert not world.rm.state.container_index.unconfirmed


async def test_end_of_a_container_ends_the_wait(world: World) -> None:
    am, task = await grown(world)
    await am.beat(releases=[task])
    await world.settle()
    assert not world.rm.state.container_index.unconfirmed
    await live_for(world, am, 800)
    assert not world.container(task).is_live


async def test_each_new_size_has_the_whole_time_to_be_passed_on(world: World) -> None:
    am, task = await grown(world)
    assert not await live_for(world, am, 500, sized(task, 2048))
    await am.beat(updates=[update(task, 6144, version=1)])
    await world.settle()
    told = await live_for(world, am, 400, sized(task, 2048))
    assert DECREASE not in [kind for kind, _ in told]
    assert world.container(task).version == 2
    assert DECREASE in [kind for kind, _ in await live_for(world, am, 400, sized(task, 2048))]
