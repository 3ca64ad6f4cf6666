"""A node's loan is published by one at a time, in order: this ResourceManager, the next one, or somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.lending import (
    AT_ONCE,
    CPU,
    GIB,
    GROWTH_WAITS_S,
    MEMORY,
    ON,
    PAUSE_S,
    CapacityState,
    colocation,
    held,
    lending_world,
    lent_node,
    published,
    publisher,
    put_backs,
    quiet,
    say,
    words,
)
from tests.support.loans import report
from tests.support.playbook import World, ask, complete, running
from tests.support.rm_options import SMALL
from yodel.domain.colocation.switch import OFF
from yodel.domain.ids import NodeId
from yodel.errors import Refused, Unavailable
from yodel.translator.names import PUBLISHED


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        yield made


# --- another life -----------------------------------------------------------------------------------------------------


async def test_nothing_is_granted_before_a_report_and_a_listing(world: World) -> None:
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled="true", preset="static")))
    policy = colocation(world).policy
    assert policy is not None
    await say(world, 6, capacity=report(6, version=policy.version))
    am = await world.running_am(queue="batch")
    await world.stop()
    listed = world.relist
    world.relist = lambda: None  # type: ignore[method-assign]
    await world.start()
    world.relist = listed  # type: ignore[method-assign]
    await world.register_node(containers=[running(am.container.id)])
    await am.register()
    await am.beat(ask(9))
    before = len(world.statuses.patches)
    await quiet(world)
    await say(world, 6, capacity=report(6, version=policy.version))
    assert held(world) == 1, "a report, and no listing"
    world.relist()
    await quiet(world)
    await world.bind_and_settle()
    assert held(world) == 6, "both"
    granted = (await am.beat()).granted

    await world.restart()
    await world.register_node(containers=[running(one.container.id) for one in granted])
    await am.register()
    await am.beat(ask(9))
    container = granted[0].container
    await world.beat(complete(container.id))
    world.pods.finish(container.pod, 0)
    await quiet(world)
    assert held(world) == 5, "a listing, and no report"
    assert world.rm.state.closed_for("root.batch") == {NODE.host}
    assert world.statuses.patches[before:] == [], "what was published before stays meanwhile"
    await world.pass_time(180)
    await quiet(world)
    assert published(world) == (5, 5), "nobody speaks for the node"


async def test_lead_that_is_lost_between_beat_and_patch_publishes_nothing(world: World) -> None:
    await say(world, 4)
    world.statuses.errors.append(Unavailable("this process does not lead"))
    await say(world, 9)
    assert published(world) == (4, 4)
    assert lent_node(world, NODE.host).problem == "this process does not lead"
    await world.pass_time(5)
    await quiet(world)
    assert published(world) == (9, 9), "it leads again"


@pytest.mark.parametrize("step", ["before node status", "after node status"])
async def test_a_process_that_dies_at_a_patch_leaves_what_the_next_one_makes_right(world: World, step: str) -> None:
    await say(world, 4)
    world.crash_at_step = len(world.steps) + (step == "after node status")
    with pytest.raises(Crash):
        await say(world, 9)
    world.crash_at_step = None
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node()
    await say(world, 9)
    assert published(world) == (9, 9)


# --- others who publish -----------------------------------------------------------------------------------------------


async def test_names_of_another_engine_are_read_and_never_written(world: World) -> None:
    world.rm.use_colocation(OFF)
    world.statuses.write(NODE.host, {CPU: 5000, MEMORY: 5 * GIB}, "koord-manager")
    await world.settle()
    world.rm.use_colocation(ON)
    await say(world, 2)
    assert published(world) == (5, 5)
    assert world.statuses.patches == []
    assert lent_node(world, NODE.host).other == "koord-manager"
    am = await world.running_am(queue="batch")
    assert (await am.beat(ask(1))).headroom == SMALL * 4, "queues count by what it publishes"
    world.statuses.write(NODE.host, {CPU: None, MEMORY: None}, "koord-manager")
    await quiet(world)
    assert published(world) == (2, 2), "it went, and the node is ours"


async def test_names_without_a_manager_are_ours_where_the_annotation_says_so(world: World) -> None:
    world.rm.use_colocation(OFF)
    amounts = {"cpu": "16", "memory": "16Gi", CPU: "5000", MEMORY: str(5 * GIB)}
    world.statuses.put(NODE.host, capacity=amounts, allocatable=amounts)
    await world.settle()
    world.rm.use_colocation(ON)
    await say(world, 2)
    assert (published(world), lent_node(world, NODE.host).other) == ((5, 5), "somebody")
    world.statuses.change(NODE.host, annotations={PUBLISHED: f"{CPU},{MEMORY}"})
    await quiet(world)
    assert published(world) == (2, 2)


async def test_a_foreign_value_is_put_back_five_times_in_ten_minutes(world: World) -> None:
    await say(world, 4)
    for _ in range(5):
        world.statuses.write(NODE.host, {CPU: 0}, "kubectl-edit")
        await quiet(world)
        assert published(world) == (4, 4)
    world.statuses.write(NODE.host, {CPU: 1000}, "kubectl-edit")
    await quiet(world)
    await say(world, 6)
    assert published(world) == (1, 4), "it is the other's from now on"
    node = lent_node(world, NODE.host)
    assert (node.other, node.has_yielded) == ("kubectl-edit", True)
    assert put_backs(world) == 5


async def test_five_times_are_counted_within_ten_minutes(world: World) -> None:
    await say(world, 4)
    for _ in range(12):
        world.statuses.write(NODE.host, {CPU: 0}, "kubectl-edit")
        await quiet(world)
        await world.pass_time(119)
        await say(world, 4)
    assert published(world) == (4, 4)
    assert not lent_node(world, NODE.host).has_yielded


async def test_a_node_that_is_made_anew_is_published_anew(world: World) -> None:
    await say(world, 4)
    world.statuses.put(NODE.host, uid="another")
    await quiet(world)
    assert published(world) == (4, 4)
    assert put_backs(world) == 0, "nobody has changed anything"
    zeroed = {"cpu": "16", "memory": "16Gi", CPU: "0", MEMORY: "0"}
    managers = dict.fromkeys((CPU, MEMORY), "kubelet")
    world.statuses.change(NODE.host, capacity=zeroed, allocatable=zeroed, capacity_managers=managers)
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node()
    await say(world, 4)
    assert published(world) == (4, 4), "zeroed by a kubelet whose machine was started; the annotation says whose it is"


async def test_what_shrinks_is_written_before_what_grows(world: World) -> None:
    """More is due than may be written at once."""
    nodes = [NodeId(f"machine-{number}", 8041) for number in range(2 * AT_ONCE)]
    for node_id in nodes:
        world.statuses.put(node_id.host)
        await world.register_node(node_id)
        await say(world, 4, node_id)
    before = len(world.statuses.patches)
    for number, node_id in enumerate(nodes):
        said = report(5 if number < AT_ONCE else 3)
        await world.beat(node_id=node_id, proved_name=node_id.host, policy_version="one", capacity=said)
    await world.settle()
    first = [node for node, _ in world.statuses.patches[before:]]
    assert first == [node_id.host for node_id in nodes[AT_ONCE:]]
    await world.pass_time(PAUSE_S)
    assert {published(world, node_id.host) for node_id in nodes} == {(5, 5), (3, 3)}


async def test_what_grows_has_its_turn_though_others_shrink_all_the_time(world: World) -> None:
    nodes = [NodeId(f"machine-{number}", 8041) for number in range(2 * AT_ONCE)]
    for node_id in nodes:
        world.statuses.put(node_id.host)
        await world.register_node(node_id)
        await say(world, 16, node_id)
    await say(world, 4)
    await world.beat(proved_name=NODE.host, policy_version="one", capacity=report(5))
    for cores in range(15, 0, -1):
        for node_id in nodes:
            await world.beat(node_id=node_id, proved_name=node_id.host, policy_version="one", capacity=report(cores))
        await world.pass_time(PAUSE_S)
        assert published(world) == (4, 4), "others shrink"
    await world.pass_time(GROWTH_WAITS_S)
    for node_id in nodes:
        await world.beat(node_id=node_id, proved_name=node_id.host, policy_version="one", capacity=report(0))
    await world.pass_time(PAUSE_S)
    assert published(world) == (5, 5)


async def test_a_name_that_went_is_anybodys(world: World) -> None:
    await say(world, 4)
    await world.pass_time(200)
    await quiet(world)
    assert published(world) is None
    world.statuses.write(NODE.host, {CPU: 5000, MEMORY: 5 * GIB}, "koord-manager")
    await quiet(world)
    await say(world, 2)
    node = lent_node(world, NODE.host)
    assert (published(world), node.other, put_backs(world)) == ((5, 5), "koord-manager", 0)


@pytest.mark.parametrize("amount", [None, 1000])
async def test_off_takes_away_an_annotation_that_names_nothing_of_ours(world: World, amount: int | None) -> None:
    """Somebody took the names away, or over, before this life."""
    world.rm.use_colocation(OFF)
    world.statuses.write(NODE.host, {CPU: amount, MEMORY: amount}, "koord-manager")
    world.statuses.change(NODE.host, annotations={PUBLISHED: f"{CPU},{MEMORY}"})
    await quiet(world)
    await quiet(world)
    found = world.statuses.nodes[NODE.host]
    assert (PUBLISHED in found.annotations, found.capacity.get(CPU)) == (False, str(amount) if amount else None)
    assert world.statuses.patches == [(NODE.host, {})], "once, and what is another's stays"
    assert world.rm.capacities.view(1).counts == {CapacityState.OFF: 1}


async def test_a_patch_that_failed_is_no_problem_once_nothing_is_to_be_written(world: World) -> None:
    await say(world, 4)
    world.rm.use_colocation(OFF)
    world.statuses.errors.append(Refused("nodes/status: forbidden"))
    await quiet(world)
    assert world.rm.capacities.view(1).counts == {CapacityState.FAILED: 1}
    world.statuses.write(NODE.host, {CPU: None, MEMORY: None}, "kubectl-patch")
    world.statuses.change(NODE.host, annotations={})
    await quiet(world)
    assert world.rm.capacities.view(1).counts == {CapacityState.OFF: 1}


@pytest.mark.looptime
async def test_the_task_publishes_within_two_seconds_and_rests_when_a_patch_fails(world: World) -> None:
    """The task runs on the loop's own clock, as it does in a process."""
    rounds = 0
    publishing = publisher(world)
    whole = publishing.round

    async def counted() -> None:
        nonlocal rounds
        rounds += 1
        await whole()

    publishing.round = counted  # type: ignore[method-assign]
    task = asyncio.create_task(publishing.run())
    world.statuses.errors.append(Refused("nodes/status: forbidden"))
    await world.beat(proved_name=NODE.host, policy_version="one", capacity=report(4))
    await asyncio.sleep(3)
    assert rounds < 10, "it waits, and does not turn round and round"
    world.clock.advance(5)
    await asyncio.sleep(2)
    task.cancel()
    assert published(world) == (4, 4)
