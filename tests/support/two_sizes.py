"""A cluster of two nodes where short small tasks come and go, and somebody else wants large containers.

Kubernetes' scheduler is one that keeps to node affinity and room, and of the nodes that fit takes any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.support.playbook import Am, World, ask, complete, running
from tests.support.rm_options import LIMITS, NODE_SIZE, Options
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.pod import PodPhase
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import NONE, Resource, total_of
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes.container_reports import ContainerReport
from yodel.translator.node_fit import refusal

GIB = Resource(1024, 1)
NODES = [NodeId(f"node-{number}", 8041) for number in (1, 2)]
OVER = (PodPhase.SUCCEEDED, PodPhase.FAILED)
DEFAULTS = PreemptionRules(is_enabled=True)


def options(rules: PreemptionRules, *, is_binding: bool = False, queues: Sequence[Queue] = ()) -> Options:
    halves = [Queue(path=f"root.{name}", capacity_percent=50.0, user_limit_factor=-1.0) for name in "ab"]
    return Options(
        queues=(Queue(path="root", is_leaf=False), *(queues or halves)),
        preemption=rules,
        is_binding=is_binding,
        allocation=replace(LIMITS, maximum=NODE_SIZE),
    )


@dataclass
class TwoSizes:
    """``life_s`` is how long a small task lasts; ``lives`` draws where pods go and how long tasks had run before."""

    world: World
    life_s: int = 30
    nodes: Sequence[NodeId] = tuple(NODES)
    lives: Random = field(default_factory=lambda: Random(1))
    now_s: int = 0
    ends: dict[ContainerId, int] = field(default_factory=dict)
    small: Am = field(init=False)
    """The ApplicationMaster of queue b: always wants more."""
    large: Am = field(init=False)
    """The ApplicationMaster of queue a."""
    granted: list[tuple[int, ContainerId]] = field(default_factory=list)
    """Large ones, with the second of each."""
    closed_to_us: set[str] = field(default_factory=set)
    """Nodes that Kubernetes' scheduler finds full, of others' pods."""

    async def begin(self) -> None:
        world = self.world
        for node_id in self.nodes:
            await world.register_node(node_id, NODE_SIZE)
        world.kube_nodes = [self.node(node_id) for node_id in self.nodes]
        world.relist()
        self.large, self.small = await self.master("a"), await self.master("b")
        await self.small.beat(ask(100))
        for _ in range(3):
            await self.second()
        for container_id in self.ends:
            self.ends[container_id] = self.now_s + self.lives.randint(1, self.life_s)

    def node(self, node_id: NodeId) -> NodeObservation:
        labels = {"kubernetes.io/hostname": node_id.host}
        allocatable = {"cpu": "16", "memory": "16Gi", "pods": "110"}
        return NodeObservation(
            name=node_id.host, uid="u", resource_version="1", ready=True, labels=labels, allocatable=allocatable
        )

    async def master(self, queue: str) -> Am:
        application_id = await self.world.submit(queue=queue, user=queue)
        am = Am(self.world, self.world.application(application_id).current_attempt_id)
        await self.world.settle()
        self.place()
        await self.world.settle()
        await self._beat_node(am.container.id, running(am.container.id))
        await am.register()
        return am

    async def _beat_node(self, container_id: ContainerId, report: ContainerReport) -> None:
        node_id = self.world.container(container_id).node_id
        assert node_id is not None
        await self.world.beat(report, node_id=node_id)

    async def second(self) -> None:
        """One second: tasks end, pods are placed, ApplicationMasters take what they were given, everybody looks."""
        world = self.world
        self.now_s += 1
        for container_id in [one for one, end_s in self.ends.items() if end_s <= self.now_s]:
            del self.ends[container_id]
            if world.container(container_id).is_live:
                await self._beat_node(container_id, complete(container_id))
                world.pods.finish(world.container(container_id).pod, 0)
        await world.settle()
        self.place()
        await world.settle()
        for granted in (await self.small.beat()).granted:
            self.ends[granted.container.id] = self.now_s + self.life_s
            await self._beat_node(granted.container.id, running(granted.container.id))
        await self.small.beat(ask(100))
        for granted in (await self.large.beat()).granted:
            self.granted.append((self.now_s, granted.container.id))
            await self._beat_node(granted.container.id, running(granted.container.id))
        await world.pass_time(1)

    def place(self) -> None:
        pods = self.world.pods
        for pod in list(pods.pods.values()):
            if pod.node_name is not None:
                if pod.phase is PodPhase.PENDING:
                    pods.change(pod.name, phase=PodPhase.RUNNING)
                continue
            spec = pods.manifests[pod.name]["spec"]
            fits = [
                node_id.host
                for node_id in self.nodes
                if node_id.host not in self.closed_to_us
                and not refusal(spec, self.node(node_id))
                and self.size_of(pod.name).fits_in(self.free_on(node_id))
            ]
            if fits:
                pods.change(pod.name, node_name=self.lives.choice(fits), phase=PodPhase.RUNNING)

    def size_of(self, pod_name: str) -> Resource:
        container_id = self.world.rm.state.container_index.of_pod(pod_name)
        return self.world.container(container_id).capability if container_id is not None else NONE

    def free_on(self, node_id: NodeId) -> Resource:
        pods = self.world.pods.pods.values()
        return NODE_SIZE - total_of(
            self.size_of(pod.name) for pod in pods if pod.node_name == node_id.host and pod.phase not in OVER
        )

    @property
    def killed(self) -> int:
        return self.world.rm.preemption.preempted_count
