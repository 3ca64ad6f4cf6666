"""SchedulingRequests: containers together, apart, and no more than so many on one node, as pods say it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import Am, World, key, running
from tests.support.rm_options import Options
from yodel.domain.ask_book import SchedulingAsk
from yodel.domain.constraints import AnyOf, Constraint, Namespace, NamespaceKind, Single, TagTarget
from yodel.domain.container import Container
from yodel.domain.ids import NodeId, dns_name
from yodel.domain.pod import PodPhase
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.domain.waiting import WAITS_FOR_NEIGHBOURS
from yodel.errors import InvalidResourceRequest
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.masters.allocate import AllocateResult

NODES = (NODE, NodeId("node-2", 8041), NodeId("node-3", 8041))
NOT_ZK = Single(maximum=0, targets=(TagTarget("zk"),))
WITH_ZK = Single(minimum=1, targets=(TagTarget("zk"),))


def machine(name: str) -> NodeObservation:
    return NodeObservation(
        name=name,
        uid=f"uid-{name}",
        resource_version="1",
        ready=True,
        labels={"kubernetes.io/hostname": name},
        allocatable={"cpu": "8", "memory": "64Gi", "pods": "110"},
    )


def requests(tag: str, count: int, constraint: Constraint | None, first_id: int = 1) -> list[SchedulingAsk]:
    """Return requests as the distributed shell makes them: one a container, each with an id of its own."""
    return [
        SchedulingAsk(key=key(allocation_request_id=first_id + n), count=1, tags=(tag,), constraint=constraint)
        for n in range(count)
    ]


async def three_nodes(world: World) -> Am:
    am = await world.running_am()
    for node_id in NODES[1:]:
        await world.register_node(node_id)
    await world.settle()
    return am


async def ask(am: Am, *asked: SchedulingAsk) -> AllocateResult:
    answer = await am.beat(scheduling_asks=asked)
    await am.world.settle()
    return answer


def tasks(world: World, tag: str) -> list[Container]:
    return [c for c in sorted(world.live_tasks(), key=lambda c: c.id) if tag in c.allocation_tags]


def spec_of(world: World, container: Container) -> Any:
    return world.pods.manifests[dns_name(container.id)]["spec"]


async def bind(world: World, *containers: Container, nodes: tuple[NodeId, ...] = NODES) -> None:
    for container, node_id in zip(containers, nodes, strict=False):
        world.pods.change(dns_name(container.id), node_name=node_id.host)
    await world.settle()


async def admit_all(world: World) -> None:
    """Kubelets take the pods of their nodes."""
    for pod in list(world.pods.pods.values()):
        if pod.node_name is not None and pod.phase is PodPhase.PENDING:
            world.pods.change(pod.name, phase=PodPhase.RUNNING, is_ready=True)
    await world.settle()


async def test_apart_is_anti_affinity_and_no_more_pods_than_nodes(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("zk", 5, NOT_ZK))
    found = tasks(world, "zk")
    assert len(found) == 3
    (term,) = spec_of(world, found[0])["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert world.pods.manifests[dns_name(found[0].id)]["metadata"]["labels"]["tag.yodel.io/zk"] == ""

    def told() -> str:
        return world.rm.queries.application(am.application_id).application.diagnostics

    assert told() == WAITS_FOR_NEIGHBOURS  # until it is known where they are
    await bind(world, *found)
    assert told().count("no node satisfies the placement constraint notin,node,zk") == 2


async def test_what_was_kept_out_comes_in_when_a_node_is_free_of_the_tag(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("zk", 4, NOT_ZK))
    first, *_ = found = tasks(world, "zk")
    await bind(world, *found)
    granted = (await am.beat()).granted
    assert [g.container.allocation_tags for g in granted] == [("zk",)] * 3
    await am.beat(releases=[first.id])
    await world.settle()
    assert len(tasks(world, "zk")) == 3
    assert world.rm.state.reasons.misfits == {}


async def test_together_is_affinity_once_the_company_is_there(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("hbase", 2, WITH_ZK, 10), *requests("zk", 1, NOT_ZK))
    assert (len(tasks(world, "zk")), len(tasks(world, "hbase"))) == (1, 2)
    affinity = spec_of(world, tasks(world, "hbase")[0])["affinity"]
    assert "podAffinity" in affinity
    assert "podAntiAffinity" not in affinity


async def test_company_that_never_comes_is_told(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("hbase", 1, WITH_ZK))
    assert tasks(world, "hbase") == []
    told = world.rm.queries.application(am.application_id).application.diagnostics
    assert told.endswith("no node satisfies the placement constraint in,node,zk")


async def test_at_most_so_many_on_a_node_by_slots(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("web", 8, Single(maximum=1, targets=(TagTarget("web"),))))
    found = tasks(world, "web")
    assert len(found) == 6  # two a node: one may be there already
    labels = [world.pods.manifests[dns_name(c.id)]["metadata"]["labels"]["slot.yodel.io/web"] for c in found]
    assert sorted(labels) == ["0", "0", "0", "1", "1", "1"]


async def test_alternatives_are_kept_by_us_one_container_after_another(world: World) -> None:
    am = await three_nodes(world)
    either = AnyOf((NOT_ZK, Single(minimum=1, targets=(TagTarget("hbase"),))))
    await ask(am, *requests("zk", 2, either))
    (first,) = tasks(world, "zk")
    assert first.placement.nodes == ("node-1", "node-2", "node-3")
    await bind(world, first)
    first, second = tasks(world, "zk")
    assert second.placement.nodes == ("node-2", "node-3")
    assert "podAntiAffinity" not in spec_of(world, second)["affinity"]
    required = spec_of(world, second)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["node-2", "node-3"]


async def test_container_whose_named_nodes_are_all_gone_is_planned_anew(world: World) -> None:
    am = await three_nodes(world)
    either = AnyOf((NOT_ZK, Single(minimum=1, targets=(TagTarget("hbase"),))))
    await ask(am, *requests("zk", 3, either))
    await bind(world, *tasks(world, "zk"))
    await bind(world, tasks(world, "zk")[1], nodes=NODES[1:])
    *_, third = tasks(world, "zk")
    assert third.placement.nodes == ("node-3",)
    await world.run(world.rm.registration.unregister(NODES[2]))
    await world.settle()
    assert third.id not in [task.id for task in tasks(world, "zk")]
    assert "no node satisfies" in world.rm.queries.application(am.application_id).application.diagnostics
    await world.register_node(NodeId("node-4", 8041))
    await world.settle()
    assert tasks(world, "zk")[-1].placement.nodes == ("node-4",)


async def test_where_we_bind_constraints_are_kept_by_us() -> None:
    world = World(Options(is_binding=True))
    world.kube_nodes = [machine(node_id.host) for node_id in NODES]
    async with world:
        for node_id in NODES:
            await world.register_node(node_id)
        application_id = await world.submit()
        await world.settle()
        await admit_all(world)
        am = Am(world, world.application(application_id).current_attempt_id)
        await world.beat(running(am.container.id), node_id=am.container.node_id or NODE)
        await am.register()
        await ask(am, *requests("zk", 4, NOT_ZK))
        for _ in NODES:
            await admit_all(world)
        found = tasks(world, "zk")
        assert {task.node_id for task in found} == {*NODES}
        assert all(task.placement.nodes and not task.placement.rules for task in found)


async def test_registered_constraint_counts_for_requests_with_its_tag(world: World) -> None:
    await world.register_node()
    application_id = await world.submit()
    await world.settle()
    await world.bind_and_settle()
    am = Am(world, world.application(application_id).current_attempt_id)
    constraints = [(("zk",), NOT_ZK), (("a", "b"), NOT_ZK)]
    await world.run(world.rm.master.register(am.attempt_id, "h", 1, "", constraints))
    await ask(am, *requests("zk", 2, None))
    assert len(tasks(world, "zk")) == 1
    assert set(world.rm.state.masters.runtimes[am.attempt_id].dialogue.constraints) == {"zk"}


async def test_applications_do_not_count_each_other_unless_they_say_so(world: World) -> None:
    one = await three_nodes(world)
    await ask(one, *requests("zk", 3, NOT_ZK))
    await bind(world, *tasks(world, "zk"))
    other = await world.running_am()
    await ask(other, *requests("zk", 1, NOT_ZK))
    assert len(tasks(world, "zk")) == 4
    everybody = Single(maximum=0, targets=(TagTarget("zk", Namespace(NamespaceKind.ALL)),))
    await ask(other, *requests("zk", 1, everybody, 50))
    assert len(tasks(world, "zk")) == 4


async def test_tags_are_known_after_a_restart(world: World) -> None:
    am = await three_nodes(world)
    await ask(am, *requests("zk", 3, NOT_ZK))
    await bind(world, *tasks(world, "zk"))
    await am.beat()
    await world.restart()
    for node_id in NODES:
        await world.register_node(node_id)
    await am.register()
    await ask(am, *requests("zk", 1, NOT_ZK, 77))
    assert len(tasks(world, "zk")) == 3
    assert len(world.rm.state.reasons.misfits) == 1


async def test_request_with_a_count_is_absolute_and_can_be_taken_back(world: World) -> None:
    am = await three_nodes(world)
    asked = SchedulingAsk(key=key(), count=3, tags=("zk",), constraint=NOT_ZK)
    await ask(am, asked)
    await ask(am, asked)
    assert len(tasks(world, "zk")) == 3
    await ask(am, SchedulingAsk(key=key(), count=1, tags=("zk",), constraint=NOT_ZK))
    assert len(tasks(world, "zk")) == 1
    assert world.rm.state.containers[max(world.rm.state.containers)].exit_status == ContainerExitStatus.ABORTED


async def test_requests_over_the_maximum_are_refused(world: World) -> None:
    am = await three_nodes(world)
    too_large = SchedulingAsk(key=key(capability=Resource(9000, 1)), count=1)
    with pytest.raises(InvalidResourceRequest, match="greater than maximum allowed allocation"):
        await ask(am, too_large)
