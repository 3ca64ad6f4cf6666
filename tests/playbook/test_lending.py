"""Measured capacity is lent: an agent's beat becomes a patch of node status, and a queue grows by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.lending import (
    CPU,
    GIB,
    MEMORY,
    colocation,
    held,
    lending_world,
    published,
    quiet,
    refused,
    say,
    words,
)
from tests.support.loans import POLICY, measured_report, report
from tests.support.playbook import Am, World, ask, complete
from tests.support.rm_options import SMALL
from yodel.domain.colocation.properties import PREFIX
from yodel.domain.colocation.switch import OFF
from yodel.domain.container import Container
from yodel.domain.ids import NodeId
from yodel.domain.pod import PodPhase
from yodel.domain.scheduler_conf import ConfUpdate
from yodel.domain.states import ContainerExitStatus, ContainerState
from yodel.errors import AccessDenied, InvalidQueues, Refused
from yodel.services.pods.binder import ADMISSION_S
from yodel.services.scheduling.configuration import assembling


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        yield made


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


async def test_the_switch_is_a_property_of_the_scheduler(world: World) -> None:
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled="true", preset="baidu")))
    policy = colocation(world).policy
    assert policy is not None
    assert (await world.beat(policy_version="one")).policy == policy
    await world.restart()
    await world.register_node()
    assert colocation(world).policy == policy
    assert world.rm.scheduler_conf.properties()[f"{PREFIX}preset"] == "baidu"
    await world.run(world.rm.scheduler_conf.update("admin", words(enabled=None, preset=None)))
    assert colocation(world) == OFF
    assert not any(name.startswith(PREFIX) for name in world.rm.scheduler_conf.properties())


@pytest.mark.parametrize(
    ("said", "missing", "text"),
    [
        ({"enabled": "true"}, ["rbac.nodeStatus (patch)", "rbac.allPods (list)"], "rbac.nodeStatus .* rbac.allPods"),
        ({"enabled": "true", "dialect": "katalyst"}, [], "expected a dialect that queues use: koordinator"),
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
    assert colocation(world) == OFF
    assert world.rm.scheduler_conf.version == 1


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        ({"": 0}, "enabled cannot be true: no PriorityClass with name koord-batch was found$"),
        (
            {"": 0, "koord-batch": 5500},
            "PriorityClass koord-batch of batch pods: priority 5500 is not below 0, that of pods without a Prio.*lower",
        ),
        ({"": -200, "koord-batch": -200}, "priority -200 is not below -200"),
    ],
)
async def test_nothing_is_lent_to_pods_that_cannot_be_or_would_not_give_way(
    world: World, classes: dict[str, int], text: str
) -> None:
    world.rm.use_colocation(OFF)
    world.pods.classes = classes
    with pytest.raises(InvalidQueues, match=text):
        await world.run(world.rm.scheduler_conf.update("admin", words(enabled="true")))
    assert colocation(world) == OFF
    world.pods.classes = {"": 0, "koord-batch": -1}
    plan = await world.run(world.rm.scheduler_conf.change("admin", assembling(words(enabled="true"))))
    assert (plan.warnings, colocation(world).is_on) == ((), True)
    world.pods.classes = {}
    await world.run(world.rm.scheduler_conf.update("admin", words(notice_s="5")))
    assert world.pods.created == [], "they are only tried"


async def test_what_cannot_be_told_of_pods_is_a_warning(world: World) -> None:
    world.rm.use_colocation(OFF)
    world.pods.try_errors = [Refused('pods "a" is forbidden: exceeded quota: all')]
    change = world.rm.scheduler_conf.change("admin", assembling(words(enabled="true", preset="baidu")))
    plan = await world.run(change)
    assert plan.warnings == (
        "cannot determine whether batch pods can be created and are evicted before services: exceeded quota: all",
    )
    assert colocation(world).is_on


async def test_a_reload_takes_no_class_above_services_while_something_is_lent(world: World) -> None:
    world.pods.classes = {"": 0, "koord-batch": 5500, "high": 7}  # as it was before anybody looked
    await world.run(world.rm.admin.refresh_queues())
    world.options = replace(world.options, priority_class_task="high")
    with pytest.raises(Refused, match="PriorityClass high of batch pods: priority 7 is not below 0"):
        await world.run(world.rm.admin.refresh_queues())
    assert {profile.priority_class_task for profile in world.rm.maker.profiles.all} == {""}
    world.rm.use_colocation(OFF)
    await world.run(world.rm.admin.refresh_queues())
    assert {profile.priority_class_task for profile in world.rm.maker.profiles.all} == {"high"}


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
    await world.run(world.rm.registration.unregister(NODE))
    await quiet(world)
    assert published(world) is None


async def test_who_does_not_prove_its_node_lends_nothing(world: World) -> None:
    await say(world, 4, proved_name="")
    assert published(world) is None
    assert refused(world)[NODE] == "its node token belongs to no node, but it reports from node-1"
    await say(world, 4)
    assert (published(world), refused(world)) == ((4, 4), {})


async def test_a_second_agent_of_a_node_is_refused_while_the_first_lives(world: World) -> None:
    await say(world, 4)
    second = NodeId(NODE.host, 9999)
    await world.register_node(second)
    for _ in range(31):
        await world.beat()
        await say(world, 9, second)
    assert published(world) == (4, 4), "the first beats: that it does not measure gives nobody its place"
    assert "has another agent, node-1:8041" in refused(world)[second]
    await world.beat(node_id=second, proved_name=NODE.host, capacity_problem="what is wrong with its own report")
    assert "has another agent, node-1:8041" in refused(world)[second]
    await world.pass_time(30)
    for _ in range(2):
        await say(world, 9, second)
    assert published(world) == (9, 9), "the first is not heard of any more"


async def test_a_loan_is_no_more_than_the_machine(world: World) -> None:
    await say(world, 99)
    assert published(world) == (16, 16)


async def test_figures_by_another_policy_do_not_count(world: World) -> None:
    await say(world, 4)
    await say(world, 9, capacity=report(9, version="another"))
    assert published(world) == (4, 4)


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
            for step in (*one.loan.steps, *one.steps, *one.last_steps):
                assert step.before == left
                left = step.after
            assert left == one.wanted == one.published
            assert one.held == {CPU: 4_000, MEMORY: 4 * GIB}[one.name]


async def test_states_of_a_node_are_told_with_their_reason(world: World) -> None:
    def told() -> tuple[str, str]:
        found = world.rm.capacities.of(NODE.host)
        assert found is not None
        return found.state, found.why

    for left in (report(0), replace(report(4), loans=report(4).loans[:1] + report(0).loans[1:])):
        await say(world, 0, capacity=left)
        assert told() == ("FULL", "the node agent is reporting, and no CPU or no memory can be lent")
    await say(world, 4)
    assert told()[0] == "LENDING"
    am = await world.running_am(queue="batch")
    await world.pass_time(40)
    assert told()[0] == "STALE"
    await world.pass_time(150)
    assert told()[0] == "GOING"
    world.statuses.errors.append(Refused("nodes/status: forbidden"))
    await say(world, 6)
    assert told() == ("FAILED", "the node status cannot be written: nodes/status: forbidden")
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


def refuse(world: World, name: str, uid: str) -> None:
    """Let the kubelet not admit a pod that was bound: its node lends less by now."""
    world.pods.change(name, uid=uid, node_name=NODE.host, phase=PodPhase.FAILED, reason="OutOfkubernetes.io/batch-cpu")


async def bound_task(world: World) -> tuple[Am, Container]:
    """Return an ApplicationMaster, and the container it asked for, whose pod has a node."""
    await say(world, 6)
    am = await world.running_am(queue="batch")
    await am.beat(ask(1))
    await world.settle()
    (planned,) = world.live_tasks()
    world.pods.change(planned.pod, node_name=NODE.host)
    await world.settle()
    return am, planned


async def test_a_container_whose_pod_its_kubelet_refuses_is_placed_anew_and_never_told(world: World) -> None:
    am, planned = await bound_task(world)
    assert not (await am.beat()).granted, "the kubelet has not decided yet"
    refuse(world, planned.pod, "first")
    await world.settle()
    await world.pass_time(2)
    heard = await am.beat()
    assert (heard.granted, heard.completed) == ((), ())
    assert world.pods.created.count(planned.pod) == 2
    world.pods.change(planned.pod, node_name=NODE.host, is_ready=False)
    await world.settle()
    assert [one.container.id for one in (await am.beat()).granted] == [planned.id]
    assert world.rm.reconciler.refused_count == 1


async def test_a_container_whose_pod_terminates_is_not_granted_with_it(world: World) -> None:
    """A node closes while a pod is bound to it, and is open again before its kubelet has ended the deleted pod."""
    am, planned = await bound_task(world)
    world.pods.change(planned.pod, deletion_requested=True, is_ready=False)
    await world.settle()
    unlocated = {"phase": PodPhase.FAILED, "exit_code": 137, "terminated_reason": "ContainerStatusUnknown"}
    world.pods.change(planned.pod, **unlocated)
    await world.pass_time(5)
    assert not (await am.beat()).granted
    world.pods.remove(planned.pod)
    await world.settle()
    await world.pass_time(1)
    assert world.pods.created.count(planned.pod) == 2
    world.pods.change(planned.pod, node_name=NODE.host)
    await world.settle()
    assert not (await am.beat()).granted, "the kubelet has its time for this pod, too"
    world.pods.change(planned.pod, is_ready=False)
    await world.settle()
    assert [one.container.id for one in (await am.beat()).granted] == [planned.id]


async def test_an_application_master_whose_pod_is_refused_fails_no_attempt(world: World) -> None:
    await say(world, 6)
    application_id = await world.submit(queue="batch")
    await world.settle()
    attempt_id = world.application(application_id).current_attempt_id
    (master,) = world.rm.state.containers_of(attempt_id)
    world.pods.change(master.pod, node_name=NODE.host)
    await world.settle()
    refuse(world, master.pod, "first")
    await world.settle()
    await world.pass_time(2)
    assert world.pods.created.count(master.pod) == 2
    await world.bind_and_settle()
    assert world.application(application_id).current_attempt_id == attempt_id
    assert world.container(master.id).state is ContainerState.ALLOCATED


async def test_a_kubelet_that_does_not_decide_delays_containers_by_seconds_only(world: World) -> None:
    am, planned = await bound_task(world)
    await world.pass_time(ADMISSION_S - 0.5)
    assert not (await am.beat()).granted
    await world.pass_time(0.6)
    assert [one.container.id for one in (await am.beat()).granted] == [planned.id]


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
