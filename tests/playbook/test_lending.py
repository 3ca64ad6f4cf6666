"""Measured capacity is lent: an agent's beat becomes a patch of node status, and a queue grows by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.fakes import NODE, Crash
from tests.support.loans import POLICY, measured_report, report
from tests.support.playbook import World, ask, complete, running
from tests.support.rm_options import SMALL, Options
from yodel.domain.colocation.properties import PREFIX
from yodel.domain.colocation.switch import OFF, Colocation
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import ConfUpdate
from yodel.domain.states import ContainerExitStatus
from yodel.errors import AccessDenied, InvalidQueues, Refused, Unavailable
from yodel.services.nodes.publishing import AT_ONCE, GROWTH_WAITS_S, PAUSE_S
from yodel.translator.names import PUBLISHED

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
ROOT = Queue(path="root", is_leaf=False)
QUEUES = (
    ROOT,
    Queue(path="root.day", capacity_percent=50.0, user_limit_factor=-1.0),
    Queue(path="root.batch", capacity_percent=50.0, user_limit_factor=-1.0),
)
ON = Colocation(policy=POLICY)
GIB = 1 << 30


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """One node of sixteen cores, with an agent that has reported nothing."""
    async with World(Options(queues=QUEUES, dialects={"root.batch": "koordinator"})) as world:
        world.statuses.put(NODE.host)
        await world.register_node()
        world.rm.use_colocation(ON)
        await world.settle()
        yield world


async def say(world: World, cores: int, node_id: NodeId = NODE, **changes: object) -> None:
    """The agent's next beat, and what comes of it."""
    fields = {"proved_name": node_id.host, "policy_version": "one", "capacity": report(cores), **changes}
    await world.beat(node_id=node_id, **fields)
    await quiet(world)


async def quiet(world: World) -> None:
    await world.settle()
    await world.pass_time(1.0)  # what was to wait for its turn


def published(world: World, node: str = NODE.host) -> tuple[int, int] | None:
    """Cores and GiB; None: neither name is there."""
    found = world.statuses.nodes[node]
    assert {name: found.capacity.get(name) for name in (CPU, MEMORY)} == {
        name: found.allocatable.get(name) for name in (CPU, MEMORY)
    }
    if CPU not in found.capacity and MEMORY not in found.capacity:
        return None
    return int(found.capacity[CPU]) // 1000, int(found.capacity[MEMORY]) // GIB


def held(world: World) -> int:
    use = world.rm.state.queue_use.by_queue.get("root.batch")
    return use.resource.vcores if use is not None else 0


async def test_a_beat_becomes_a_patch_and_the_queue_grows(world: World) -> None:
    assert published(world) is None
    await say(world, 4)
    assert published(world) == (4, 4)
    am = await world.running_am(queue="batch")
    assert (await am.beat(ask(40))).headroom == SMALL * 3
    await world.settle()
    assert held(world) == 4
    await say(world, 9)
    assert published(world) == (9, 9)
    assert held(world) == 9, "grown by what came back by the watch"


async def test_an_agent_hears_the_policy_once(world: World) -> None:
    assert (await world.beat()).policy == POLICY
    assert (await world.beat(policy_version="other")).policy == POLICY
    assert not (await world.beat(policy_version="one")).is_policy_news
    world.rm.use_colocation(OFF)
    answer = await world.beat(policy_version="one")
    assert (answer.is_policy_news, answer.policy) == (True, None), "it is to stop"
    assert not (await world.beat(policy_version="")).is_policy_news


async def test_published_is_never_below_what_the_pods_ask_for(world: World) -> None:
    await say(world, 6)
    am = await world.running_am(queue="batch")
    granted = await am.obtain(5)
    await say(world, 2)
    assert published(world) == (6, 6)
    assert world.rm.state.closed_for("root.batch") == {NODE.host}
    assert world.rm.state.closed_for("root.day") == frozenset(), "another pool"
    for left, one in enumerate(granted, 1):
        await am.beat(ask(3))
        await world.beat(complete(one))
        world.pods.finish(world.container(one).pod, 0)
        await quiet(world)
        assert published(world) == (max(2, 6 - left),) * 2
        assert held(world) == max(2, 6 - left), "nothing new while it is below"
    assert world.rm.state.closed_for("root.batch") == frozenset()


# --- switched on and off ----------------------------------------------------------------------------------------------


def words(**said: str | None) -> ConfUpdate:
    return ConfUpdate(overall={f"{PREFIX}{name.replace('_', '-')}": text for name, text in said.items()})


async def test_the_switch_is_a_property_of_the_scheduler(world: World) -> None:
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled="true", preset="baidu")))
    policy = world.rm.publishing.colocation.policy
    assert policy is not None
    assert (await world.beat(policy_version="one")).policy == policy
    await world.restart()
    await world.register_node()
    assert world.rm.publishing.colocation.policy == policy
    assert world.rm.scheduler_conf.properties()[f"{PREFIX}preset"] == "baidu"
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled=None, preset=None)))
    assert world.rm.publishing.colocation == OFF
    assert not any(name.startswith(PREFIX) for name in world.rm.scheduler_conf.properties())


@pytest.mark.parametrize(
    ("said", "missing", "text"),
    [
        ({"enabled": "true"}, ["rbac.nodeStatus (patch)", "rbac.allPods (list)"], "rbac.nodeStatus .* rbac.allPods"),
        ({"enabled": "true", "dialect": "katalyst"}, [], "expected one of those that queues draw on: koordinator"),
        ({"enabled": "true", "cpu.share-percent": "101"}, [], "cpu.share-percent: '101'"),
    ],
)
async def test_what_cannot_be_lent_is_not_switched_on(
    world: World, said: dict[str, str], missing: list[str], text: str
) -> None:
    world.rm.use_colocation(OFF)
    world.statuses.missing = missing
    update = ConfUpdate(overall={PREFIX + name: value for name, value in said.items()})
    for change in (world.rm.scheduler_conf.update("admin", update), world.rm.scheduler_conf.validated(update)):
        with pytest.raises(InvalidQueues, match=text):
            await world.run(change)
    assert world.rm.publishing.colocation == OFF
    assert world.rm.scheduler_conf.version == 1


async def test_off_follows_the_pods_down_and_the_names_go_with_the_last(world: World) -> None:
    await say(world, 6)
    am = await world.running_am(queue="batch")
    (one,) = await am.obtain(1)
    world.rm.use_colocation(OFF)
    await am.beat(ask(4))
    await quiet(world)
    assert published(world) == (2, 2)
    assert held(world) == 2, "nothing new"
    for container_id in (one, am.container.id):
        await world.beat(complete(container_id))
        world.pods.finish(world.container(container_id).pod, 0)
        await quiet(world)
    assert published(world) is None
    assert world.statuses.nodes[NODE.host].annotations == {}
    assert {"cpu", "memory"} <= world.statuses.nodes[NODE.host].capacity.keys()


# --- agents that fall silent ------------------------------------------------------------------------------------------


async def test_a_silent_node_does_not_grow_and_then_lends_nothing_new(world: World) -> None:
    await say(world, 4)
    am = await world.running_am(queue="batch")
    await am.obtain(1)
    await world.pass_time(31)
    assert published(world) == (4, 4)
    await world.beat(proved_name=NODE.host, policy_version="one", capacity=report(9, age_ms=31_000))
    await quiet(world)
    assert published(world) == (4, 4), "figures that are as old as that"
    await world.pass_time(150)
    await quiet(world)
    assert published(world) == (2, 2), "what its pods ask for"
    await am.beat(ask(1))
    await quiet(world)
    assert held(world) == 2
    await say(world, 4)
    assert published(world) == (4, 4)
    assert held(world) == 3


async def test_a_node_that_left_lends_nothing_and_the_names_go(world: World) -> None:
    await say(world, 4)
    await world.run(world.rm.nodes.unregister(NODE))
    await quiet(world)
    assert published(world) is None


async def test_who_does_not_prove_its_node_lends_nothing(world: World) -> None:
    for proved in ("", "node-2"):
        await say(world, 4, proved_name=proved)
        assert published(world) is None
    assert world.rm.publishing.refused[NODE].startswith("its node token is of node-2, and it says that it is on node-1")
    await say(world, 4)
    assert (published(world), world.rm.publishing.refused) == ((4, 4), {})


async def test_a_second_agent_of_a_node_is_refused_while_the_first_lives(world: World) -> None:
    await say(world, 4)
    second = NodeId(NODE.host, 9999)
    await world.register_node(second)
    await say(world, 9, second)
    assert published(world) == (4, 4)
    assert "has another agent, node-1:8041" in world.rm.publishing.refused[second]
    await world.pass_time(30)
    await say(world, 9, second)
    assert published(world) == (9, 9), "the first is not heard of any more"


async def test_a_loan_is_no_more_than_the_machine(world: World) -> None:
    await say(world, 99)
    assert published(world) == (16, 16)


async def test_figures_by_another_policy_do_not_count(world: World) -> None:
    await say(world, 4)
    await say(world, 9, capacity=report(9, version="another"))
    assert published(world) == (4, 4)


# --- another life -----------------------------------------------------------------------------------------------------


async def test_nothing_is_granted_before_a_report_and_a_listing(world: World) -> None:
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled="true", preset="static")))
    policy = world.rm.publishing.colocation.policy
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
    assert world.rm.publishing.nodes[NODE.host].problem == "this process does not lead"
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
    assert world.rm.publishing.nodes[NODE.host].other == "koord-manager"
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
    assert (published(world), world.rm.publishing.nodes[NODE.host].other) == ((5, 5), "somebody")
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
    node = world.rm.publishing.nodes[NODE.host]
    assert (node.other, node.has_yielded) == ("kubectl-edit", True)
    assert world.rm.publishing.put_backs == 5


async def test_five_times_are_counted_within_ten_minutes(world: World) -> None:
    await say(world, 4)
    for _ in range(12):
        world.statuses.write(NODE.host, {CPU: 0}, "kubectl-edit")
        await quiet(world)
        await world.pass_time(119)
        await say(world, 4)
    assert published(world) == (4, 4)
    assert not world.rm.publishing.nodes[NODE.host].has_yielded


async def test_a_node_that_is_made_anew_is_published_anew(world: World) -> None:
    await say(world, 4)
    world.statuses.put(NODE.host, uid="another")
    await quiet(world)
    assert published(world) == (4, 4)
    assert world.rm.publishing.put_backs == 0, "nobody has changed anything"
    zeroed = {"cpu": "16", "memory": "16Gi", CPU: "0", MEMORY: "0"}
    managers = dict.fromkeys((CPU, MEMORY), "kubelet")
    world.statuses.change(NODE.host, capacity=zeroed, allocatable=zeroed, capacity_managers=managers)
    await world.restart()
    world.rm.use_colocation(ON)
    await world.register_node()
    await say(world, 4)
    assert published(world) == (4, 4), "zeroed by a kubelet whose machine was started; the annotation says whose it is"


# --- told to people ---------------------------------------------------------------------------------------------------


async def test_the_sum_can_be_added_up_to_what_is_published(world: World) -> None:
    await say(world, 0, capacity=measured_report(2_000, 4_000))
    am = await world.running_am(queue="batch")
    await am.obtain(3)
    for cpu, memory, state in ((2_100, 3_000, "LENDING"), (8_000, 9_000, "CLOSED")):
        await say(world, 0, capacity=measured_report(cpu, memory))
        found = world.rm.capacities.of(NODE.host)
        assert found is not None
        assert found.state == state
        for one in found.resources:
            assert one.loan is not None
            left = sum(term.amount for term in one.loan.terms)
            for step in (*one.loan.steps, *one.steps):
                assert step.before == left
                left = step.after
            assert left == one.wanted == one.published
            assert one.held == {CPU: 4_000, MEMORY: 4 * GIB}[one.name]


async def test_states_of_a_node_are_told_with_their_reason(world: World) -> None:
    def told() -> tuple[str, str]:
        found = world.rm.capacities.of(NODE.host)
        assert found is not None
        return found.state, found.why

    await say(world, 4)
    assert told()[0] == "LENDING"
    am = await world.running_am(queue="batch")
    await world.pass_time(40)
    assert told()[0] == "STALE"
    await world.pass_time(150)
    assert told()[0] == "GOING"
    world.statuses.errors.append(Refused("nodes/status: forbidden"))
    await say(world, 6)
    assert told() == ("FAILED", "publishing fails: nodes/status: forbidden")
    await world.pass_time(5)
    await quiet(world)
    world.rm.use_colocation(OFF)
    await quiet(world)
    assert told()[0] == "GOING"
    view = world.rm.capacities.view(10)
    assert [(node.kubernetes_node, [one.held for one in node.resources]) for node in view.nodes] == [
        (NODE.host, [1000, GIB])
    ]
    assert await world.run(world.rm.taking_back.end_containers("admin")) == 1
    await quiet(world)
    assert world.container(am.container.id).exit_status == ContainerExitStatus.PREEMPTED
    assert (told()[0], published(world)) == ("OFF", None)
    assert world.rm.capacities.gauges() == {}


async def test_containers_are_ended_by_administrators_and_only_while_it_is_off(world: World) -> None:
    await say(world, 4)
    batch, day = await world.running_am(queue="batch"), await world.running_am(queue="day")
    with pytest.raises(Refused, match="switch it off first"):
        await world.run(world.rm.taking_back.end_containers("admin"))
    world.rm.use_colocation(OFF)
    with pytest.raises(AccessDenied):
        await world.run(world.rm.taking_back.end_containers("alice"))
    assert await world.run(world.rm.taking_back.end_containers("admin")) == 1
    await quiet(world)
    assert not world.container(batch.container.id).is_live
    assert world.container(day.container.id).is_live, "it runs on ordinary capacity"


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
    node = world.rm.publishing.nodes[NODE.host]
    assert (published(world), node.other, world.rm.publishing.put_backs) == ((5, 5), "koord-manager", 0)


@pytest.mark.looptime
async def test_the_task_publishes_within_two_seconds_and_rests_when_a_patch_fails(world: World) -> None:
    """On the loop's own clock, as it runs in a process."""
    rounds = 0
    publishing = world.rm.publishing
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
