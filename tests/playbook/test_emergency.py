"""A node whose memory runs short: its agent says so with each beat, and nothing new starts until it has cooled down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.lending import CapacityState, emergency_on, held, lending_world, published, quiet, refused, say
from tests.support.playbook import World, ask, complete, running
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.switch import OFF
from yodel.domain.states import ContainerExitStatus

SHORT = MemoryEmergency(reason="node memory 1950 MiB of 2048 MiB (95 %)", cool_down_s=60)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        await say(made, 9)
        yield made


def closed(world: World) -> frozenset[str]:
    return world.rm.state.closed_for("root.batch")


async def test_nothing_new_starts_while_memory_runs_short_and_what_waits_starts_after_it(world: World) -> None:
    am = await world.running_am(queue="batch")
    await am.obtain(1)
    await say(world, 9, emergency=SHORT)
    assert (closed(world), world.rm.state.closed_for("root.day")) == ({NODE.host}, frozenset())
    found = world.rm.capacities.of(NODE.host)
    assert found is not None
    assert (found.state, SHORT.reason in found.why) == (CapacityState.CLOSED, True)
    await am.beat(ask(3))
    await quiet(world)
    assert held(world) == 2, "what is free there is not counted on"
    assert published(world) == (9, 9), "what runs is safe from a kubelet that starts again"
    await say(world, 9)
    assert (closed(world), held(world)) == (frozenset(), 5), "the agent says nothing of it any more"


async def test_an_agent_that_falls_silent_in_it_closes_the_node_until_it_has_cooled_down(world: World) -> None:
    await say(world, 9, emergency=SHORT)
    await world.pass_time(58)
    assert closed(world) == {NODE.host}
    await world.pass_time(2)
    await quiet(world)
    assert closed(world) == frozenset()


@pytest.mark.parametrize("emergency", [SHORT, None])
async def test_only_who_proved_to_be_on_a_node_speaks_for_it(world: World, emergency: MemoryEmergency | None) -> None:
    if emergency is None:
        await say(world, 9, emergency=SHORT)
    before = closed(world)
    await world.beat(proved_name="", policy_version="one", emergency=emergency)
    await quiet(world)
    assert closed(world) == before


async def test_one_that_is_refused_changes_nothing_of_what_was_said(world: World) -> None:
    await say(world, 9, emergency=SHORT)
    await say(world, 9, emergency_problem="emergency.reason: too long")
    assert refused(world)[NODE] == "emergency.reason: too long"
    assert closed(world) == {NODE.host}


async def test_off_forgets_it(world: World) -> None:
    await say(world, 9, emergency=SHORT)
    world.rm.use_colocation(OFF)
    await quiet(world)
    assert emergency_on(world, NODE.host) is None


async def test_what_an_agent_ends_is_nobodys_failure_and_counted_apart(world: World) -> None:
    am = await world.running_am(queue="batch")
    (task,) = await am.obtain(1)
    await world.beat(running(task))
    await say(world, 9, emergency=replace(SHORT, containers=(task,)))
    told = world.rm.queries.noticed.of(task)
    assert told is not None
    assert told.text == f"1 container will be stopped within 0 s (emergency): {SHORT.reason}."
    text = f"Container preempted by its node: {SHORT.reason}"
    await world.beat(complete(task, ContainerExitStatus.PREEMPTED, text))
    await world.beat(complete(am.container.id, ContainerExitStatus.PREEMPTED, text))
    await world.settle()
    assert world.rm.reports.preempted_count == 2
    assert world.application(am.application_id).failure_times_ms == ()


async def test_agents_hear_the_order_when_it_is_another(world: World) -> None:
    am = await world.running_am(queue="batch")
    first, second = await am.obtain(2)
    master = am.container.id
    await world.register_node()
    fields = {"proved_name": NODE.host, "policy_version": "one"}
    assert (await world.beat(**fields)).eviction_ranks == (second, first, master)
    assert (await world.beat(**fields)).eviction_ranks == ()
    told = (await world.beat(complete(second), **fields)).eviction_ranks
    await world.settle()
    assert told + (await world.beat(**fields)).eviction_ranks == (first, master), "once"
