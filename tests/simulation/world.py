"""Nodes, sizes and settings of the storms; in a ``BoundCluster`` the ResourceManager chooses the nodes, in a
``LendingCluster`` one of two queues draws on what the nodes publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from tests.support.actors import Cluster, Job
from tests.support.fakes import NODE
from tests.support.lending import colocation, known_node, lends_as, node_watch
from tests.support.loans import report
from tests.support.rm_options import NODE_SIZE, SMALL, Options
from yodel.domain.colocation.properties import PREFIX
from yodel.domain.colocation.report import LoanReport, WrittenReport
from yodel.domain.host_lists import HostLists
from yodel.domain.ids import NodeId
from yodel.domain.notices import Teller
from yodel.domain.pod import PodHolding, PodPhase
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.pools import NATIVE
from yodel.domain.queues.queue import Queue, leaves_under_root
from yodel.domain.queues.window import Window
from yodel.domain.resource import NONE, Resource, total_of
from yodel.domain.scheduler_conf import ConfUpdate
from yodel.errors import Unavailable
from yodel.pb_convert import colocation as colocation_pb
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.liveness import LivenessSettings
from yodel.services.nodes.container_reports import ContainerReport
from yodel.services.nodes.heartbeat import HeartbeatAnswer
from yodel.services.nodes.node_managers import NodeManagerRules
from yodel.translator.node_fit import is_selected

CORES = 4
JOBS, NODES = 5, 3
OPTIONS = Options(liveness=LivenessSettings(am_expiry_s=120, node_expiry_s=60, container_expiry_s=90))
BUSY_OPTIONS = Options(
    liveness=LivenessSettings(am_expiry_s=120, node_expiry_s=60, container_expiry_s=12),
    queues=leaves_under_root(["default", "other"], maximum_lifetime_s=-1, default_lifetime_s=-1),
    submission=SubmissionLimits(max_priority=10),
    preemption=PreemptionRules(
        is_enabled=True,
        max_wait_before_kill_s=2.0,
        max_ignored_over_capacity=0.0,
        natural_termination_factor=1.0,
        is_intra_queue_enabled=True,
    ),
)


BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
LENDING_OPTIONS = Options(
    liveness=LivenessSettings(am_expiry_s=120, node_expiry_s=60, container_expiry_s=90),
    queues=leaves_under_root(["default", "batch"], maximum_lifetime_s=-1, default_lifetime_s=-1),
    dialects={"root.batch": "koordinator"},
)


WINDOW = Window(name="often", cron="*/2 * * * *", duration_s=60, maximum_percent=5.0, stop_new_before_s=10, stages=2)
"""Open in every other minute, from its begin on."""
WINDOW_RULES = PreemptionRules(max_wait_before_kill_s=2.0, monitoring_interval_s=1.0)
WINDOW_OPTIONS = Options(
    liveness=LivenessSettings(am_expiry_s=120, node_expiry_s=60, container_expiry_s=90),
    queues=(
        Queue(path="root", is_leaf=False),
        Queue(path="root.default", capacity_percent=50.0, user_limit_factor=-1.0),
        Queue(path="root.night", capacity_percent=50.0, user_limit_factor=-1.0, windows=(WINDOW,)),
    ),
    preemption=WINDOW_RULES,
)


class WindowCluster(Cluster):
    """The queue ``night`` may hold less in every other minute."""

    night = "root.night"

    def __init__(self, jobs: list[Job], nodes: int, options: Options) -> None:
        super().__init__(jobs, nodes, options)
        self.held_at_night = NONE
        """At the last look (``tests.simulation.laws``)."""

    @property
    def second(self) -> float:
        """Since the window opened last; it is open in the first sixty of 120."""
        return self.clock.now_ms() / 1000 % 120

    def at_night(self) -> Resource:
        """Return what the queue's containers hold."""
        return total_of(c.reserved for c in self.rm.state.live_containers() if c.queue == self.night)

    def left_at_night(self) -> Resource:
        """Return what the queue's containers may hold while the window is open."""
        part, whole = WINDOW.maximum_percent / 100, self.rm.state.usable_resource
        return Resource(int(whole.memory_mib * part), int(whole.vcores * part))


class LendingCluster(Cluster):
    """Nodes publish what ``lent`` says, and Kubernetes places pods of each queue by what their resource has left."""

    def __init__(self, jobs: list[Job], nodes: int, options: Options) -> None:
        super().__init__(jobs, nodes, options)
        self.has_shrunk = True  # a node has what agents registered and what it lends: two pools of its own size
        self.lent = {agent.node_id.host: NODE_SIZE for agent in self.nodes}
        self.used: dict[str, Resource] = {}
        """The use of each pool at the last look (``tests.simulation.laws``)."""

    def publish(self, host: str, lent: Resource) -> None:
        self.lent[host] = lent
        node_watch(self).node_seen(self._node(host))

    def relist(self) -> None:
        super().relist()
        node_watch(self).nodes_listed([self._node(host) for host in self.lent])

    def pods_step(self) -> None:
        super().pods_step()
        self.bind(BATCH_MEMORY, {host: lent.memory_mib for host, lent in self.lent.items()})

    def _node(self, host: str) -> NodeObservation:
        lent = self.lent[host]
        batch = {BATCH_CPU: str(lent.vcores * 1000), BATCH_MEMORY: str(lent.memory_mib << 20)}
        allocatable = {"cpu": "16", "memory": "16Gi", **batch}
        return NodeObservation(name=host, uid="u", resource_version="1", ready=True, allocatable=allocatable)


MIXED_OPTIONS = replace(OPTIONS, node_managers=NodeManagerRules(allowed="network"), node_managers_pool=NATIVE)


class MixedCluster(Cluster):
    """The last node is a NodeManager, in the same pool as the nodes of pods, which are small."""

    def __init__(self, jobs: list[Job], nodes: int, options: Options) -> None:
        super().__init__(jobs, nodes, options)
        self.has_shrunk = True  # pods wait in vain for nodes that others fill
        self.node_manager = self.nodes[-1]
        self.node_manager.is_node_manager = True
        self.ran: Counter[bool] = Counter()
        """Containers that were seen with a node, by whether a NodeManager ran them."""

    async def start(self) -> None:
        await super().start()
        self.rm.nodes.lists = HostLists(included=frozenset(agent.node_id.host for agent in self.nodes))

    def pods_step(self) -> None:
        """Kubernetes has no node of the NodeManager's name, and says of pods that they wait."""
        super().pods_step()
        for name in [pod.name for pod in self.pods.pods.values() if pod.node_name is None]:
            self.pods.change(name, unschedulable_message="0/2 nodes are available: 2 Insufficient memory.")

    def sizes_mib(self) -> dict[str, int]:
        return dict.fromkeys(super().sizes_mib(), 2 * SMALL.memory_mib)

    def forget_containers(self) -> None:
        """The NodeManager starts again without recovery: what ran there is gone."""
        agent = self.node_manager
        for container_id in list(agent.containers):
            self.end(agent, container_id, 143)
        agent.containers.clear()
        agent.sizes.clear()
        agent.is_registered = False


ROLLED_EVERY = 25
"""Reports, after which agents and ResourceManagers are of another release."""


def over_the_wire(loan: LoanReport, number: int, *, is_apart: bool) -> tuple[LoanReport | None, WrittenReport | None]:
    """Pass a report as a release before sends and reads it, or as this one does: in one message, or in two."""
    written = WrittenReport(policy_version=loan.policy_version, groups=number % 3, best_effort="kubepods/besteffort")
    if not is_apart:
        return colocation_pb.capacity_report(colocation_pb.capacity_report_pb(loan, written))
    found = colocation_pb.loan_report(colocation_pb.loan_report_pb(loan))
    return found, colocation_pb.written_report(colocation_pb.written_report_pb(written))


SWITCHED_ON = ConfUpdate(overall={f"{PREFIX}enabled": "true", f"{PREFIX}preset": "static"})


class ColocationCluster(Cluster):
    """Agents report what their nodes lend, the ResourceManager publishes it, and Kubernetes places pods by that."""

    def __init__(self, jobs: list[Job], nodes: int, options: Options) -> None:
        super().__init__(jobs, nodes, options)
        self.has_shrunk = True
        self.cores = {agent.node_id.host: NODE_SIZE.vcores for agent in self.nodes}
        """The cores that each agent reports, with a GiB each."""
        self.age_ms = dict.fromkeys(self.cores, 0)
        self.silent: set[str] = set()
        """Whose beats bring no report."""
        self.reports = 0
        self.noticed = 0
        """Notices that were looked at."""
        self.below: dict[str, int] = {}
        """Granted MiB of nodes that lent less at the last look (``tests.simulation.laws``)."""
        for host in self.cores:
            self.statuses.put(host)
        self._patch, self.statuses.publish = self.statuses.publish, self._publish  # type: ignore[method-assign]

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.run(self.rm.scheduler_conf.update("admin", SWITCHED_ON))
        return self

    async def beat(self, *containers: ContainerReport, node_id: NodeId = NODE, **changes: Any) -> HeartbeatAnswer:
        policy = colocation(self).policy
        if policy is not None and node_id.host not in self.silent:
            said = report(self.cores[node_id.host], policy.version, self.age_ms[node_id.host])
            self.reports += 1
            capacity, written = over_the_wire(said, self.reports, is_apart=self.reports // ROLLED_EVERY % 2 == 1)
            fields = {"proved_name": node_id.host, "policy_version": policy.version, "capacity": capacity}
            changes = {**fields, "written": written, **changes}
        return await super().beat(*containers, node_id=node_id, **changes)

    async def look_at_clock(self) -> None:
        await super().look_at_clock()
        before = self.rm.taking_back.ended_count
        try:
            await self.run(self.rm.taking_back.look())
        except Unavailable:
            return
        if self.rm.taking_back.ended_count == before:  # else more was committed meanwhile than it has looked at
            self.check_notices()

    def check_notices(self) -> None:
        """A law: no more goes than is needed, no ApplicationMaster while others stay, and what is short is covered."""
        state, live = self.rm.state, [*self.rm.state.live_containers()]
        noted = state.notices.of_teller(Teller.LOANS)
        for agent in self.nodes:
            node = known_node(self, agent.node_id.host)
            own = [c for c in live if c.queue == "root.batch" and c.node_id == agent.node_id]
            going = [c for c in own if c.id in noted]
            if node is None or node.lent is None or not lends_as(self):
                assert not going, "nobody knows what the node lends"
                continue
            over_mib = sum(c.reserved.memory_mib for c in own) - node.lent.memory_mib
            short_mib = over_mib - sum(c.reserved.memory_mib for c in going)
            is_closed = self.rm.state.is_closed_for("root.batch", agent.node_id.host)
            assert short_mib <= 0 or len(going) == len(own) or not is_closed, "less is on notice than is short"
            if any(c.is_am for c in going):
                assert len(going) >= sum(not c.is_am for c in own) + 1, "an ApplicationMaster goes and others stay"
            for one in [] if any(c.is_am for c in going) else going:
                assert short_mib + one.reserved.memory_mib > 0, "more is on notice than is short"
            self.noticed += len(going)

    def pods_step(self) -> None:
        super().pods_step()
        nodes = self.statuses.nodes.values()
        self.bind(BATCH_MEMORY, {node.name: int(node.allocatable.get(BATCH_MEMORY, 0)) >> 20 for node in nodes})

    def may_go(self, pod: str, host: str) -> bool:
        return is_selected(self.pods.manifests[pod]["spec"], self.statuses.nodes[host])

    def asked_for(self, host: str) -> int:
        """MiB that pods there ask for, whether the ResourceManager knows of them or not."""
        return self.held_mib(host, BATCH_MEMORY)

    async def _publish(self, node: str, amounts: Mapping[str, int | None]) -> str:
        """A law: never less than what the ResourceManager has seen of the pods that run there."""
        held = self.rm.binder.held_on(node)
        assert held is not None, "published before the pods were listed"
        for name, amount in amounts.items():
            assert (amount or 0) * 1000 >= held.get(name, 0), "published is below what pods ask for"
        return await self._patch(node, amounts)


class BoundCluster(Cluster):
    """Nodes of few cores with kubelets; every pod wants one core."""

    def __init__(self, jobs: list[Job], nodes: int, options: Options) -> None:
        super().__init__(jobs, nodes, options)
        allocatable = {"cpu": str(CORES), "memory": "64Gi", "pods": "110"}
        self.kube_nodes = [
            NodeObservation(name=agent.node_id.host, uid="u", resource_version="1", ready=True, allocatable=allocatable)
            for agent in self.nodes
        ]
        self.others: dict[str, int] = {}
        """Cores that pods of others have taken; the ResourceManager hears of them by its next listing."""
        self.refuses: Callable[[], bool] = lambda: False
        self.refused = 0

    def relist(self) -> None:
        super().relist()
        for host, cores in self.others.items():
            self.rm.binder.holding_seen(
                PodHolding(
                    namespace="others",
                    name=host,
                    uid="u",
                    resource_version="",
                    node_name=host,
                    amounts={"cpu": cores * 1000, "pods": 1000},
                )
            )

    def pods_step(self) -> None:
        """Kubelets take the pods of their nodes, or refuse them."""
        free = {node.name: CORES - self.others.get(node.name, 0) for node in self.kube_nodes}
        bound = [pod for pod in self.pods.pods.values() if pod.node_name is not None]
        for pod in bound:
            free[str(pod.node_name)] -= pod.phase is PodPhase.RUNNING
        for pod in bound:
            host = str(pod.node_name)
            if pod.phase is not PodPhase.PENDING:
                continue
            reason = "OutOfcpu" if free[host] < 1 else "UnexpectedAdmissionError" if self.refuses() else ""
            if reason:
                self.refused += 1
                self.pods.change(pod.name, phase=PodPhase.FAILED, reason=reason)
            else:
                free[host] -= 1
                self.pods.change(pod.name, phase=PodPhase.RUNNING, is_ready=True)
        super().pods_step()
