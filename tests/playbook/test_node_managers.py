"""NodeManagers of Hadoop may register, hold what counts, are chosen for containers, and end them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.playbook.test_placement_constraints import NOT_ZK, requests
from tests.playbook.test_pools import publish
from tests.support.fakes import NODE
from tests.support.playbook import Am, World, address_of, ask, complete, running
from tests.support.rm_options import LIMITS, NODE_SIZE, SMALL, Options
from yodel.domain.allocation.locality import LocalityDelays
from yodel.domain.ask_rules import AskRules
from yodel.domain.container import Container
from yodel.domain.container_update import UpdateRequest
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import NodeId
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.pools import NATIVE, YARN, PoolName
from yodel.domain.queues.queue import Queue, leaves_under_root
from yodel.domain.resource import NONE, Resource
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.states import ContainerExitStatus, ContainerState, ContainerUpdateType, ExecutionType, NodeState
from yodel.errors import AccessDenied, InvalidResourceRequest, InvalidValue, Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.kube import inspection as kube_inspection
from yodel.services.nodes.node_managers import NodeManagerRules
from yodel.services.pods import inspection

HOST = "hadoop-1"
NM, OTHER = NodeId(HOST, 8041), NodeId("hadoop-2", 8041)
LET_IN = NodeManagerRules(allowed="network")
LENT = PoolName("koordinator")
QUEUES = leaves_under_root(
    ("default", "yarn"),
    maximum_lifetime_s=-1,
    default_lifetime_s=-1,
    pool_of=lambda path: YARN if path == "root.yarn" else NATIVE,
)


def lent_pool_of(path: str) -> PoolName:
    return LENT if path == "root.batch" else NATIVE


def options(rules: NodeManagerRules = LET_IN, **changes: Any) -> Options:
    """``root.yarn`` draws on NodeManagers, ``root.default`` on pods."""
    return Options(node_managers=rules, **{"queues": QUEUES, "dialects": {"root.yarn": "yarn"}, **changes})


def shared(**changes: Any) -> Options:
    """NodeManagers are nodes of the pool of pods."""
    return Options(node_managers=NodeManagerRules(allowed="network", **changes), node_managers_pool=NATIVE)


def let_in(world: World, *hosts: str) -> None:
    world.rm.nodes.lists = HostLists(included=frozenset((NODE.host, HOST, OTHER.host, *hosts)))


async def register(world: World, node_id: NodeId = NM, **changes: Any) -> str:
    """Register a node and return why it was refused; empty: it was not."""
    refusal = await world.register_node(node_id, **{"is_node_manager": True, **changes})
    await world.settle()
    return refusal


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Build a node of pods and a NodeManager, each with a pool of its own."""
    async with World(options()) as made:
        let_in(made)
        await made.register_node()
        assert await register(made) == ""
        yield made


async def master_on(world: World, queue: str = "yarn") -> Am:
    """Return a registered ApplicationMaster whose container the NodeManager runs."""
    application_id = await world.submit(queue=queue)
    await world.settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    assert am.container.node_id == NM
    await world.beat(running(am.container.id), node_id=NM)
    await am.register()
    return am


async def tasks_of(am: Am, count: int, label: str = "", **changes: Any) -> list[Container]:
    """Return the containers that its ApplicationMaster has been given."""
    await am.beat(replace(ask(count, **changes), node_label=label))
    await am.world.settle()
    return await granted_to(am)


async def granted_to(am: Am) -> list[Container]:
    return [am.world.container(one.container.id) for one in (await am.beat()).granted]


# --- capacity without a launcher counts nowhere ----------------------------------------------------------------------


@pytest.mark.parametrize("are_nodes_watched", [True, False])
async def test_node_manager_counts_in_no_pool_of_pods(are_nodes_watched: bool) -> None:
    async with World(Options(node_managers=LET_IN, are_nodes_watched=are_nodes_watched)) as world:
        let_in(world)
        await world.register_node()
        await register(world, capability=Resource(32_768, 32))
        pool = world.rm.state.pools.of(NATIVE)
        assert (pool.size, pool.ever, pool.largest, pool.total) == (NODE_SIZE,) * 4
        assert world.rm.state.pools.size == NODE_SIZE
        maximum = world.rm.submission._maximum
        with pytest.raises(InvalidResourceRequest):
            maximum.require_a_node(Resource(20_000, 1), "root.default")


async def test_node_manager_that_is_away_adds_to_no_maximum(world: World) -> None:
    await register(world, OTHER, capability=Resource(32_768, 32))
    await world.run(world.rm.registration.unregister(OTHER, peer=(address_of(OTHER.host), 1)))
    await world.settle()
    maximum = world.rm.submission._maximum
    with pytest.raises(InvalidResourceRequest):
        maximum.require_a_node(Resource(20_000, 1), "root.default")
    maximum.require_a_node(Resource(20_000, 1), "root.yarn")


async def test_node_manager_counts_in_the_lent_pool_that_the_setting_names_and_in_no_other() -> None:
    queues = leaves_under_root(("default", "batch"), maximum_lifetime_s=-1, default_lifetime_s=-1, pool_of=lent_pool_of)
    lent = Options(node_managers=LET_IN, node_managers_pool=LENT, queues=queues, dialects={"root.batch": "koordinator"})
    async with World(lent) as world:
        let_in(world)
        await world.register_node()
        await register(world, capability=Resource(4096, 4))
        pools = world.rm.state.pools
        assert (NM in pools.of(LENT).lenders, NM in pools.of(NATIVE).lenders) == (True, False)
        assert pools.of(LENT).size == Resource(4096, 4)
        await master_on(world, "batch")


async def test_agent_of_a_node_that_kubernetes_does_not_have_counts_nowhere() -> None:
    async with World() as world:
        await world.register_node()
        await world.register_node(OTHER)
        pool = world.rm.state.pools.of(NATIVE)
        assert pool.size == NODE_SIZE * 2, "what Kubernetes has is not known yet"
        world.statuses.put(NODE.host)
        world.relist()
        assert (pool.size, pool.ever, pool.lender_count) == (NODE_SIZE, NODE_SIZE, 1)
        world.statuses.put(OTHER.host)
        await world.settle()
        assert (pool.size, pool.lender_count) == (NODE_SIZE * 2, 2)


async def test_agent_has_to_name_its_node(world: World) -> None:
    with pytest.raises(InvalidValue, match="kubernetes_node_name"):
        await world.register_node(OTHER, kubernetes_node_name="")


async def test_each_pool_has_its_own_nodes(world: World) -> None:
    pools = world.rm.state.pools
    assert (pools.of(NATIVE).size, pools.of(YARN).size) == (NODE_SIZE, NODE_SIZE)
    assert [*pools.of(NATIVE).lenders] == [NODE]
    assert [*pools.of(YARN).lenders] == [NM]
    views = {view.name: view for view in world.rm.queries.pools()}
    assert (views["yarn"].nodes, views["yarn"].queues) == (1, ("root.yarn",))


# --- who may register ------------------------------------------------------------------------------------------------


async def test_node_managers_are_refused_unless_the_settings_say_otherwise() -> None:
    async with World() as world:
        let_in(world)
        assert 'node_managers = "refused"' in await register(world)
        assert NM not in world.rm.state.nodes


async def test_only_listed_hosts_are_let_in(world: World) -> None:
    stranger = NodeId("stranger", 8041)
    assert "nodes_include_path" in await register(world, stranger)
    world.rm.nodes.lists = HostLists()
    assert "nodes_include_path" in await register(world), "without a list nobody is vouched for"
    world.rm.nodes.lists = HostLists(included=frozenset((HOST,)), excluded={HOST: None})
    assert "nodes_include_path" in await register(world)
    assert stranger not in world.rm.state.nodes, "strangers leave no rows"


async def test_host_has_to_call_from_its_own_address(world: World) -> None:
    assert "10.6.6.6 is none of this host" in await register(world, OTHER, peer=("10.6.6.6", 1))
    assert OTHER not in world.rm.state.nodes


async def test_name_that_does_not_resolve_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(host: str) -> list[str]:
        raise OSError("no such host")

    monkeypatch.setattr(world.rm.registration._admission, "_addresses_of", fail)
    assert "does not resolve: no such host" in await register(world, OTHER)


async def test_whoever_has_a_node_token_is_no_node_manager(world: World) -> None:
    assert "its node token belongs to node-1" in await register(world, OTHER, proved_name="node-1")


async def test_beats_come_from_the_address_that_registered(world: World) -> None:
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    for stranger in ({"peer": ("10.6.6.6", 1)}, {"proved_name": "node-1"}):
        answer = await world.beat(complete(task.id), node_id=NM, response_id=1, **stranger)
        assert (answer.must_resync, answer.response_id) == (True, 0)
    assert world.container(task.id).is_live
    with pytest.raises(AccessDenied):
        await world.run(world.rm.registration.unregister(NM, peer=("10.6.6.6", 1)))
    assert world.rm.state.nodes[NM].state is NodeState.RUNNING


async def test_without_a_token_nobody_is_an_agent_where_agents_have_tokens(world: World) -> None:
    """A NodeManager's way in is none for who says that he is an agent, or speaks for one."""
    world.rm.nodes.is_proof_required = True
    refused = await world.register_node(OTHER, kubernetes_node_name="node-1", peer=(address_of(OTHER.host), 1))
    assert "its node token belongs to no node, but it registers as node-1" in refused
    answer = await world.beat()
    assert answer.must_shut_down
    assert "its node token belongs to no node" in answer.diagnostics
    with pytest.raises(AccessDenied):
        await world.run(world.rm.registration.unregister(NODE))
    assert (await world.beat(proved_name=NODE.host)).must_shut_down is False


async def test_node_manager_does_not_take_the_id_of_an_agent(world: World) -> None:
    assert "this id is registered by a node agent" in await register(world, NODE)
    assert not world.rm.state.nodes[NODE].is_node_manager


async def test_kind_changes_without_containers_and_when_the_other_is_gone(world: World) -> None:
    am = await master_on(world)
    agent = await world.register_node(NM)
    assert "this id is registered by a NodeManager" in agent
    await am.finish()
    await world.beat(complete(am.container.id), node_id=NM)
    await world.settle()
    assert "or is connected" in (await world.register_node(NM))
    world.rm.heartbeats.closed(NM, (address_of(HOST), 40_000))
    assert (await world.register_node(NM)) == ""
    await world.settle()
    row = world.rm.state.nodes[NM]
    assert (row.is_node_manager, row.kubernetes_node_name) == (False, HOST)
    assert world.rm.state.pools.of(YARN).size == NONE


async def test_both_kinds_run_on_one_host() -> None:
    async with World(options()) as world:
        let_in(world)
        await world.register_node()
        second = NodeId(NODE.host, 9999)
        assert await register(world, second) == ""
        assert {row.id: row.is_node_manager for row in world.rm.state.nodes.values()} == {NODE: False, second: True}
        assert world.rm.state.node_index.of_kubernetes(NODE.host) == world.rm.state.nodes[NODE]
        assert world.rm.topology.hostname_label(NODE.host) == NODE.host


# --- containers without pods -----------------------------------------------------------------------------------------


async def test_containers_of_its_queue_run_without_pods(world: World) -> None:
    am = await master_on(world)
    tasks = await tasks_of(am, 3)
    assert len(tasks) == 3
    assert {task.node_id for task in tasks} == {NM}
    assert {task.pod for task in (*tasks, am.container)} == {""}
    assert world.pods.pods == {}
    assert world.rm.state.pools.of(YARN).held_on(NM) == SMALL * 4
    await world.beat(*(running(task.id) for task in tasks), node_id=NM)
    await world.beat(complete(tasks[0].id, 1, "it failed"), node_id=NM)
    await world.settle()
    ended = world.container(tasks[0].id)
    assert (ended.state, ended.exit_status, ended.diagnostics) == (ContainerState.COMPLETED, 1, "it failed")
    assert not any("pod" in step for step in world.steps)


async def test_container_has_its_node_in_the_commit_that_plans_it(world: World) -> None:
    am = await master_on(world)
    await am.beat(ask(2))
    await world.run(world.rm.scheduler.tick())
    tasks = world.live_tasks()
    assert [(task.state, task.node_id, task.pod) for task in tasks] == [(ContainerState.ALLOCATED, NM, "")] * 2
    assert sorted(await granted_to(am), key=lambda one: one.id) == [world.container(task.id) for task in tasks]
    assert not any(task.id in world.rm.reconciles for task in tasks), "there is no pod to look after"


async def test_capacity_that_was_given_is_free_again_when_the_commit_failed(world: World) -> None:
    am = await master_on(world)
    await am.beat(ask(15))
    world.commit_errors.append(Unavailable("the database restarts"))
    with pytest.raises(Unavailable):
        await world.run(world.rm.scheduler.tick())
    assert world.live_tasks() == []
    world.rm.scheduler.wake()
    await world.settle()
    assert len(await granted_to(am)) == 15, "all that the node has"


async def test_object_of_its_application_names_its_nodes(world: World) -> None:
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    summary = inspection._summary(world.rm.state, world.application(am.application_id))
    assert summary.without_pods == ((str(am.container.id), str(NM)), (str(task.id), str(NM)))
    assert kube_inspection._application(summary, "c")["status"]["withoutPods"][1] == {
        "container": str(task.id),
        "node": str(NM),
    }
    await tasks_of(am, 14)
    await register(world, OTHER)
    await tasks_of(am, 10)
    summary = inspection._summary(world.rm.state, world.application(am.application_id))
    assert len(summary.without_pods) == inspection.WITHOUT_PODS_MAX


async def test_containers_of_other_queues_are_pods(world: World) -> None:
    am = await world.running_am(queue="default")
    assert am.container.node_id == NODE
    assert am.container.pod in world.pods.pods


async def test_its_queue_waits_for_room_and_goes_on(world: World) -> None:
    am = await master_on(world)
    await am.beat(ask(20))
    await world.settle()
    granted = [one.id for one in await granted_to(am)]
    assert len(granted) == 15
    await world.beat(*(running(one) for one in granted), node_id=NM)
    await world.beat(*(complete(one) for one in granted[:2]), node_id=NM)
    await world.settle()
    assert len((await am.beat()).granted) == 2
    assert world.pods.pods == {}


async def test_places_asked_for_come_first_then_the_emptiest(world: World) -> None:
    am = await master_on(world)
    await register(world, OTHER)
    on = [task.node_id for task in await tasks_of(am, 2)]
    assert on == [OTHER, OTHER], "the first runs the ApplicationMaster"
    await am.beat(ask(2, HOST), ask(2, "/default-rack"), ask(2))
    await world.settle()
    assert {one.node_id for one in await granted_to(am)} == {NM}


async def test_node_that_is_blacklisted_gets_nothing(world: World) -> None:
    am = await master_on(world)
    await register(world, OTHER)
    await am.beat(blacklist_additions=(OTHER.host,))
    assert {task.node_id for task in await tasks_of(am, 3)} == {NM}


async def test_rooms_given_in_one_turn_are_given_once(world: World) -> None:
    """Rows are written after the choice: what was chosen counts meanwhile."""
    am = await master_on(world)
    await register(world, OTHER, capability=SMALL)
    tasks = await tasks_of(am, 16)
    assert len(tasks) == 16
    assert sum(task.node_id == OTHER for task in tasks) == 1


async def test_containers_that_stand_apart_are_on_different_nodes(world: World) -> None:
    am = await master_on(world)
    await register(world, OTHER)
    await am.beat(scheduling_asks=requests("zk", 3, NOT_ZK))
    await world.settle()
    assert sorted(one.node_id for one in await granted_to(am)) == [NM, OTHER]
    assert world.live_tasks()[0].pod == "", "the third waits for a node"


async def test_further_resource_types_are_its_own(world: World) -> None:
    gpu = Resource(1024, 1, (("yarn.io/gpu", 1),))
    am = await master_on(world)
    await register(world, OTHER, capability=Resource(16_384, 16, (("yarn.io/gpu", 2),)))
    assert world.rm.state.pools.of(YARN).size.extras == (("yarn.io/gpu", 2),)
    on = await tasks_of(am, 3, capability=gpu)
    assert [one.node_id for one in on] == [OTHER, OTHER], "although the node is reserved for the third by then"
    await world.beat(complete(on[0].id), node_id=OTHER)
    await world.settle()
    assert [one.node_id for one in await granted_to(am)] == [OTHER]


async def test_opportunistic_containers_are_guaranteed_ones_there_too(world: World) -> None:
    am = await master_on(world)
    plain = ask(1)
    await am.beat(replace(plain, key=replace(plain.key, execution_type=ExecutionType.OPPORTUNISTIC)))
    await world.settle()
    (granted,) = (await am.beat()).granted
    task = world.container(granted.container.id)
    assert (task.node_id, granted.container.execution_type) == (NM, ExecutionType.GUARANTEED)


LABELS = AskRules(are_node_labels_enabled=True)


async def test_racks_of_the_list_count_and_follow_it(world: World) -> None:
    """The ResourceManager knows the racks of NodeManagers, as on YARN; a node's containers stay."""
    am = await master_on(world)
    lists = replace(world.rm.nodes.lists, racks={OTHER.host: "/rack-2"})
    await world.run(world.rm.decommission.refresh(lists))
    await register(world, OTHER)
    assert [world.rm.state.nodes[one].rack for one in (NM, OTHER)] == ["/default-rack", "/rack-2"]
    await am.beat(ask(15, "/default-rack"), ask(15))
    await world.settle()
    assert {one.node_id for one in await granted_to(am)} == {NM}, "although the other has more memory free"
    await world.run(world.rm.decommission.refresh(replace(lists, racks={HOST: "/rack-2"})))
    assert [world.rm.state.nodes[one].rack for one in (NM, OTHER)] == ["/rack-2", "/default-rack"]
    assert am.container.is_live


async def test_labels_that_it_registers_with_count_in_placement() -> None:
    async with World(options(ask_rules=LABELS)) as world:
        let_in(world)
        await register(world)
        am = await master_on(world)
        await register(world, OTHER, labels=("gpu",))
        assert world.rm.state.nodes[OTHER].labels == ("gpu",)
        assert {one.node_id for one in await tasks_of(am, 3)} == {NM}, "a partition is for who asks for it"
        assert {one.node_id for one in await tasks_of(am, 2, label="gpu")} == {OTHER}
        await world.beat(node_id=OTHER, labels=())
        await world.settle()
        assert world.rm.state.nodes[OTHER].labels == ()
        await world.beat(node_id=OTHER, labels=None)
        await world.beat(node_id=OTHER, labels=("a", "b"))
        await world.settle()
        assert world.rm.state.nodes[OTHER].labels == ()


async def test_labels_that_do_not_count_are_refused_with_the_reason(world: World) -> None:
    """The node registers all the same, as on YARN."""
    registration = world.registration(OTHER, is_node_manager=True)
    found = await world.run(world.rm.registration.register(replace(registration, labels=("gpu",))))
    assert (found.refusal, "node_labels_enabled" in found.labels_refusal) == ("", True)
    assert world.rm.state.nodes[OTHER].labels == ()
    async with World(options(ask_rules=LABELS)) as second:
        let_in(second)
        for labels in (("gpu", "ssd"), ("-",), ("a" * 256,), ("é",)):
            registration = replace(second.registration(OTHER, is_node_manager=True), labels=labels)
            found = await second.run(second.rm.registration.register(registration))
            assert "expected at most one label" in found.labels_refusal, labels
        assert second.rm.state.nodes[OTHER].labels == ()


# --- one pool of both ------------------------------------------------------------------------------------------------


CELEBORN = (ShuffleProperty(name="service", text="celeborn", path="root.default"),)


def image_context(image: str) -> bytes:
    """Return a launch context that asks for an image."""
    context = pb.ApplicationSubmissionContextProto()
    for key, value in (("YARN_CONTAINER_RUNTIME_TYPE", "docker"), ("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", image)):
        context.am_container_spec.environment.add(key=key, value=value)
    return context.SerializeToString()


async def shared_world(**changes: Any) -> World:
    world = World(shared(**changes))
    await world.start()
    let_in(world)
    await world.register_node()
    await register(world)
    return world


async def test_shared_pool_counts_both(world: World) -> None:
    shared_one = await shared_world()
    pools = shared_one.rm.state.pools
    assert pools.of(NATIVE).size == NODE_SIZE * 2
    assert {*pools.of(NATIVE).lenders} == {NODE, NM}
    await shared_one.stop()


async def test_pods_come_first_and_node_managers_take_the_rest() -> None:
    world = await shared_world()
    am = await world.running_am()
    assert am.container.pod
    await am.beat(ask(20))
    await world.settle()
    await world.bind_and_settle()
    granted = await granted_to(am)
    assert len(granted) == 20
    assert sum(one.node_id == NODE for one in granted) == 15
    assert sum(one.node_id == NM and one.pod == "" for one in granted) == 5
    await world.stop()


async def test_node_managers_come_first_where_the_settings_say_so() -> None:
    world = await shared_world(are_first=True)
    am = await master_on(world, "default")
    await am.beat(ask(20))
    await world.settle()
    assert sum(one.node_id == NM for one in world.live_tasks()) == 15
    assert len(world.pods.pods) == 5
    await world.stop()


async def test_pod_that_finds_no_node_becomes_a_container_of_a_node_manager() -> None:
    """Others took the nodes of pods: a NodeManager has room, so the container is planned again there."""
    world = await shared_world()
    am = await world.running_am()
    await am.beat(ask(1))
    await world.settle()
    (task,) = world.live_tasks()
    assert task.pod in world.pods.pods
    world.pods.change(task.pod, unschedulable_message="0/1 nodes are available: 1 Insufficient cpu.")
    await world.settle()
    for _ in range(3):
        await world.pass_time(1)
        await world.settle()
    (task,) = world.live_tasks()
    assert (task.node_id, task.pod) == (NM, "")
    assert set(world.pods.pods) == {am.container.pod}
    await world.stop()


async def test_what_needs_a_pod_is_none_of_a_node_manager_and_why_says_so() -> None:
    world = await shared_world(are_first=True)
    profiles = world.rm.maker.profiles
    world.rm.maker.use(replace(profiles, default=replace(profiles.default, needs_pod="image")))
    am = await world.running_am()
    assert am.container.node_id == NODE
    await am.beat(ask(1))
    await world.settle()
    (task,) = world.live_tasks()
    world.pods.change(task.pod, unschedulable_message="0/1 nodes are available: 1 Insufficient cpu.")
    await world.settle()
    assert world.rm.state.reasons.waits[task.id].endswith(
        "1 Insufficient cpu.; NodeManagers cannot run it: its queue sets image"
    )
    await world.stop()


@pytest.mark.parametrize(
    ("context", "shuffle", "why"),
    [
        (image_context("team/spark"), (), "it requests an image"),
        (b"", CELEBORN, "node agents prepare its queue's shuffle service, celeborn"),
        (b"", (), ""),
    ],
    ids=["image", "shuffle", "none"],
)
async def test_whether_a_pod_is_needed(context: bytes, shuffle: tuple[ShuffleProperty, ...], why: str) -> None:
    world = await shared_world()
    am = await world.running_am()
    state, application_id = world.rm.state, am.application_id
    row = state.applications[application_id]
    state.applications[application_id] = replace(row, submission=replace(row.submission, context=context))
    state.queues["root.default"] = replace(state.queues["root.default"], shuffle=shuffle)
    world.rm.maker._images_asked.clear()
    assert world.rm.maker.why_pod(am.container) == why
    await world.stop()


# --- life ------------------------------------------------------------------------------------------------------------


async def test_lost_node_takes_its_containers_along(world: World) -> None:
    am = await master_on(world)
    await register(world, OTHER)
    (task,) = await tasks_of(am, 1)
    assert task.node_id == OTHER
    for _ in range(7):
        await world.pass_time(100)
        await am.beat()
        await world.beat(node_id=NM)
        await world.look_at_clock()
    await world.settle()
    assert world.rm.state.nodes[OTHER].state is NodeState.LOST
    lost = world.container(task.id)
    assert (lost.exit_status, lost.diagnostics) == (-100, "Container released on a *lost* node")


async def test_restart_with_recovery_goes_on_and_without_it_ends(world: World) -> None:
    am = await master_on(world)
    kept, lost = await tasks_of(am, 2)
    reports = [running(am.container.id), running(kept.id)]
    await world.beat(*reports, running(lost.id), node_id=NM)
    assert await register(world, containers=reports) == ""
    assert world.container(kept.id).state is ContainerState.RUNNING
    assert am.container.is_live
    assert world.container(lost.id).exit_status == ContainerExitStatus.ABORTED


async def test_containers_go_on_when_the_resource_manager_starts_again(world: World) -> None:
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    await world.beat(running(am.container.id), running(task.id), node_id=NM)
    await world.restart()
    let_in(world)
    assert (await world.beat(node_id=NM)).must_resync
    assert await register(world, containers=[running(am.container.id), running(task.id)]) == ""
    assert world.rm.state.nodes[NM].is_node_manager
    assert world.container(task.id).state is ContainerState.RUNNING
    assert world.rm.state.pools.of(YARN).held_on(NM) == SMALL * 2
    assert world.pods.pods == {}


async def test_resize_is_true_at_once_and_a_smaller_size_is_told_to_the_node(world: World) -> None:
    """Its ApplicationMaster brings a larger one there, as on YARN (yarn.resourcemanager.auto-update.containers)."""
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    reports, told = (running(am.container.id), running(task.id)), []
    larger, smaller = ContainerUpdateType.INCREASE_RESOURCE, ContainerUpdateType.DECREASE_RESOURCE
    for version, (kind, size) in enumerate(((larger, Resource(2048, 1)), (smaller, SMALL))):
        request = UpdateRequest(container_id=task.id, version=version, type=kind, capability=size)
        answer = await am.beat(updates=[request])
        await world.settle()
        told.append([one.id for one, _ in (await world.beat(*reports, node_id=NM)).updates])
        ((heard, granted),) = [*answer.updated, *(await am.beat()).updated]
        assert (heard, granted.container.capability) == (kind, size)
        assert world.rm.state.pools.of(YARN).held_on(NM) == SMALL + size
    assert told == [[], [task.id]]


async def test_pod_that_comes_true_late_goes(world: World) -> None:
    """Its creation was not answered, and the container went to a NodeManager."""
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    manifest = world.rm.maker.manifest_of(replace(task, pod="late"))
    await world.pods.create(manifest)
    await world.settle()
    assert world.pods.pods == {}
    assert world.container(task.id).is_live


@pytest.mark.parametrize("status", [137, 143])
async def test_end_by_a_signal_is_what_the_node_manager_says(world: World, status: int) -> None:
    """Kubernetes knows nothing of it, and is not asked."""
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    await world.beat(running(task.id), node_id=NM)
    await world.beat(complete(task.id, status, "killed"), node_id=NM)
    await world.settle()
    ended = world.container(task.id)
    assert (ended.exit_status, ended.diagnostics) == (status, "killed")


async def test_node_that_leaves_the_list_is_drained(world: World) -> None:
    am = await master_on(world)
    (task,) = await tasks_of(am, 1)
    await register(world, OTHER)
    lists = HostLists(included=frozenset((NODE.host, HOST, OTHER.host)), excluded={HOST: None})
    await world.run(world.rm.decommission.refresh(lists, is_graceful=True, timeout_s=3600))
    await world.settle()
    assert world.rm.state.nodes[NM].state is NodeState.DECOMMISSIONING
    assert world.container(task.id).is_live
    assert {one.node_id for one in await tasks_of(am, 2)} == {OTHER}
    await world.run(world.rm.decommission.refresh(lists, is_graceful=False))
    await world.settle()
    assert world.rm.state.nodes[NM].state is NodeState.DECOMMISSIONED
    assert world.container(task.id).exit_status == ContainerExitStatus.ABORTED
    assert (await world.beat(node_id=NM)).must_shut_down


async def test_size_set_by_an_administrator_is_told_to_the_node(world: World) -> None:
    await world.run(world.rm.admin.update_node_resource({NM: Resource(3072, 3)}))
    await world.settle()
    assert (await world.beat(node_id=NM)).capability == Resource(3072, 3)
    assert world.rm.state.pools.of(YARN).size == Resource(3072, 3)


# --- limits, delays and preemption are those of every pool -----------------------------------------------------------


async def test_asks_wait_for_room_on_the_hosts_they_name() -> None:
    limits = replace(LIMITS, delays=LocalityDelays(node_s=1.0, rack_s=0.0))
    async with World(options(allocation=limits)) as world:
        let_in(world)
        await register(world)
        am = await master_on(world)
        await register(world, OTHER, capability=SMALL * 2)
        await am.beat(ask(3, OTHER.host), ask(3))
        await world.settle()
        assert [one.node_id for one in await granted_to(am)] == [OTHER, OTHER]
        assert world.rm.scheduler.again_in_s == 1.0
        await world.pass_time(1.0)
        world.rm.scheduler.wake()
        await world.settle()
        assert [one.node_id for one in await granted_to(am)] == [NM]


def two_queues(**changes: Any) -> Options:
    """Sixteen small containers on one NodeManager, eight of them guaranteed to each of its queues."""
    queue = Queue(path="root.yarn", capacity_percent=50.0, user_limit_factor=-1.0)
    queues = (Queue(path="root", is_leaf=False), queue, replace(queue, path="root.other"))
    return options(queues=queues, dialects={"root.yarn": "yarn", "root.other": "yarn"}, **changes)


async def test_user_is_held_to_the_limit_of_the_queue() -> None:
    made = two_queues()
    root, queue, other = made.queues
    async with World(replace(made, queues=(root, replace(queue, user_limit_factor=0.5), other))) as world:
        let_in(world)
        await register(world)
        am = await master_on(world)
        assert len(await tasks_of(am, 9)) == 3
        why = world.rm.queries.application(am.application_id).application.diagnostics
        assert why.startswith("User capacity has reached its maximum limit, user limit is <memory:4096, vCores:4>")


async def test_newest_container_is_preempted_with_notice_and_history_keeps_it() -> None:
    rules = PreemptionRules(is_enabled=True, total_per_round=1.0, natural_termination_factor=1.0)
    async with World(two_queues(preemption=rules)) as world:
        let_in(world)
        await register(world)
        am = await master_on(world)
        tasks = [one.id for one in await tasks_of(am, 15)]
        await world.beat(running(am.container.id), *map(running, tasks), node_id=NM)
        await world.submit(queue="other")
        await world.settle()
        await world.run(world.rm.preemption.look())
        await world.settle()
        (noticed,) = [one.id for one in (await am.beat()).preempted]
        assert (noticed in tasks, world.container(noticed).is_live) == (True, True)
        await world.pass_time(15)
        await world.run(world.rm.preemption.look())
        await world.settle()
        assert world.container(noticed).exit_status == ContainerExitStatus.PREEMPTED
        assert noticed in (await world.beat(node_id=NM)).containers_to_clean_up
        assert world.rm.queries.application(am.application_id).preempted.others == 1
        await world.restart()
        assert world.rm.queries.application(am.application_id).preempted.others == 1


async def test_node_manager_is_in_no_maximum_of_a_published_pool() -> None:
    queues = leaves_under_root(("default", "batch"), maximum_lifetime_s=-1, default_lifetime_s=-1, pool_of=lent_pool_of)
    async with World(options(queues=queues, dialects={"root.batch": "koordinator"})) as world:
        let_in(world)
        await world.register_node()
        await register(world, capability=Resource(32_768, 32))
        publish(world, 8)
        await world.settle()
        pool = world.rm.state.pools.of(LENT)
        assert (pool.size, pool.ever, pool.largest) == (SMALL * 8, NODE_SIZE, NODE_SIZE), "the machine's, at most"
