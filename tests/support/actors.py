"""Who talks to the ResourceManager, each as stubborn as its original: whatever is lost is said again.

A ``Cluster`` is a ``World`` with node agents, ApplicationMasters and clients that act one step at a time, in whatever
order a test or a seed chooses.  A step in which the ResourceManager dies ends with a restart; nobody else notices more
than an unanswered call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from tests.support.playbook import NODE_SIZE, Am, Crash, Options, World, a_submission, ask, complete, running
from yodel.domain.container import Container
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, pod_name
from yodel.domain.pod import PodPhase
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import AttemptState, ContainerState
from yodel.errors import ApplicationAttemptNotFound, InvalidResponseId, NotRegistered, Refused, Unavailable
from yodel.ports.node_agents import AmStart
from yodel.services.nodes import ContainerReport
from yodel.services.state import ClusterState
from yodel.store.memory_store import MemoryDisk, read

ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class Agent:
    """A node agent: containers that run there with None, that ended with their exit status.

    ``sizes`` has the capability that it works with, and the version of the token that said so.
    """

    node_id: NodeId
    is_registered: bool = False
    containers: dict[ContainerId, int | None] = field(default_factory=dict)
    sizes: dict[ContainerId, tuple[int, Resource]] = field(default_factory=dict)

    def take_size(self, container: Container) -> None:
        """A container token, from an ApplicationMaster or from the ResourceManager: the newest version counts."""
        known = self.sizes.get(container.id)
        if known is None or known[0] < container.version:
            self.sizes[container.id] = (container.version, container.capability)

    def reports(self) -> list[ContainerReport]:
        return [self._report(i, status) for i, status in self.containers.items()]

    def _report(self, container_id: ContainerId, status: int | None) -> ContainerReport:
        if status is not None:
            return complete(container_id, status)
        size = self.sizes.get(container_id)
        return running(container_id) if size is None else replace(running(container_id), capability=size[1])


@dataclass(slots=True)
class Job:
    """A client's job.  ``tasks`` containers have to end with 0 before its ApplicationMaster is content."""

    tasks: int
    keeps_containers: bool = False
    application_id: ApplicationId | None = None
    is_submitted: bool = False
    acknowledged: bool = False
    agreed: dict[str, object] = field(default_factory=dict)
    """What the ResourceManager said that the application's queue, priority and end are."""


@dataclass(slots=True)
class Master:
    """An ApplicationMaster's process.  Keeps what it was granted and what it heard of ends."""

    am: Am
    container_id: ContainerId
    tasks: int
    keeps_containers: bool = False
    is_registered: bool = False
    granted: set[ContainerId] = field(default_factory=set)
    ended: dict[ContainerId, int] = field(default_factory=dict)
    heard: list[ContainerId] = field(default_factory=list)
    """Every end that an answer brought, in order."""
    is_over: bool = False

    @property
    def succeeded(self) -> int:
        return sum(1 for status in self.ended.values() if status == 0)


class Cluster(World):
    """See the module's docstring."""

    def __init__(self, jobs: list[Job], nodes: int = 2, options: Options | None = None) -> None:
        super().__init__(options)
        self.jobs = jobs
        self.nodes = [Agent(NodeId(f"node-{n}", 8041)) for n in range(1, nodes + 1)]
        self.masters: dict[ApplicationAttemptId, Master] = {}
        self.ids_granted: list[ContainerId] = []
        self.crashes = 0
        self.loses_answer: Callable[[], bool] = lambda: False
        self.passes_on: Callable[[], bool] = lambda: True
        """Whether an ApplicationMaster tells the node agent of a new size."""
        self.wants: Callable[[Master], list[UpdateRequest]] = lambda _: []
        """The new sizes that an ApplicationMaster asks for in its next beat."""
        self._stored: list[object] = []
        self._stored_derived: dict[str, Any] = {}
        self.has_shrunk = False
        """The cluster was once smaller than what had been given out."""
        self.agents.start_am = self._start_am  # type: ignore[method-assign]

    # --- one step of everybody ------------------------------------------------------------------------------------

    async def round(self) -> None:
        """Everybody gets one turn."""
        for job in self.jobs:
            await self.survive(self.client_step(job))
        for agent in self.nodes:
            await self.survive(self.agent_step(agent))
        for master in list(self.masters.values()):
            await self.survive(self.master_step(master))
        await self.survive(self.settle())
        self.pods_step()
        for agent in self.nodes:
            for container_id, status in list(agent.containers.items()):
                if status is None and container_id not in self._am_containers():
                    self.end(agent, container_id, 0)

    async def survive(self, work: Coroutine[Any, Any, object]) -> None:
        """Take a step; should the ResourceManager die in it, start the next one."""
        try:
            await work
        except Crash:
            self.crashes += 1
            self.crash_at_step = None
            await self.restart()

    async def client_step(self, job: Job) -> None:
        """getNewApplication, submitApplication until it is answered, getApplicationReport."""
        if job.acknowledged:
            return
        try:
            if job.application_id is None:
                job.application_id = await self.run(self.rm.submission.new_application_id())
            submission = a_submission(max_attempts=9, keep_containers_across_attempts=job.keeps_containers)
            await self.run(self.rm.submission.submit(job.application_id, submission))
            job.acknowledged = True
        except Unavailable:
            return

    async def agent_step(self, agent: Agent) -> None:
        """Register, or beat and do as told."""
        reports = agent.reports()
        try:
            if not agent.is_registered:
                await self.register_node(agent.node_id, NODE_SIZE, reports)
                agent.is_registered = True
                return
            before = self.response_ids.get(agent.node_id, 0)
            answer = await self.beat(*reports, node_id=agent.node_id)
        except Unavailable:
            return
        if self.loses_answer():
            self.response_ids[agent.node_id] = before
            return
        if answer.must_resync:
            agent.is_registered = False
        if answer.must_shut_down:
            agent.is_registered = False
            for container_id in list(agent.containers):
                self.end(agent, container_id, 143)
        for container, _ in answer.updates:
            agent.take_size(container)
        for container_id in answer.containers_to_clean_up:
            if container_id in agent.containers:
                self.end(agent, container_id, 143)
        for container_id in answer.containers_to_forget:
            if agent.containers.get(container_id) is not None:
                del agent.containers[container_id]

    async def master_step(self, master: Master) -> None:
        """Register, ask for what is missing, start what is granted, unregister, exit."""
        if master.is_over:
            return
        try:
            if not master.is_registered:
                registration = await master.am.register()
                master.is_registered = True
                master.granted |= {granted.container.id for granted in registration.previous_containers}
            if master.succeeded >= master.tasks:
                if await master.am.finish():
                    self._exit(master, 0)
                return
            await self._beat(master)
        except NotRegistered:
            master.is_registered = False
        except ApplicationAttemptNotFound:
            self._exit(master, 1)
        except (Unavailable, InvalidResponseId, Refused):
            # A beat whose commit failed is repeated; one refused for its id means that the RM was restarted.
            return

    async def _beat(self, master: Master) -> None:
        missing = max(0, master.tasks - master.succeeded - len(master.granted - master.ended.keys()))
        before = master.am.response_id
        result = await master.am.beat(ask(missing), updates=self.wants(master))
        if self.loses_answer():
            master.am.response_id = before
            return
        for container in result.completed:
            master.heard.append(container.id)
            master.ended[container.id] = container.exit_status
        for granted in result.granted:
            container_id = granted.container.id
            self.ids_granted.append(container_id)
            master.granted.add(container_id)
            if container_id not in master.ended:
                agent = self.agent_of(granted.node.id)
                agent.containers[container_id] = None
                agent.take_size(granted.container)
        for _, granted in result.updated:
            if self.passes_on():
                self.agent_of(granted.node.id).take_size(granted.container)

    # --- what happens by itself -----------------------------------------------------------------------------------

    def pods_step(self) -> None:
        """Kubernetes binds what waits, round robin; a process does not outlive its pod."""
        for agent in self.nodes:
            for container_id, status in list(agent.containers.items()):
                if status is None and pod_name(container_id) not in self.pods.pods:
                    self.end(agent, container_id, 143)
        waiting = [pod.name for pod in self.pods.pods.values() if pod.node_name is None]
        for n, name in enumerate(sorted(waiting)):
            agent = self.nodes[n % len(self.nodes)]
            self.pods.change(name, node_name=agent.node_id.host, phase=PodPhase.RUNNING)

    def end(self, agent: Agent, container_id: ContainerId, status: int) -> None:
        """A process ends: its agent knows, and its pod's status follows."""
        if agent.containers.get(container_id) is None:
            agent.containers[container_id] = status
        for master in self.masters.values():
            master.is_over |= master.container_id == container_id
        name = pod_name(container_id)
        pod = self.pods.pods.get(name)
        if pod is not None and pod.exit_code is None:
            self.pods.finish(name, status)

    def agent_of(self, node_id: NodeId) -> Agent:
        return next(agent for agent in self.nodes if agent.node_id == node_id)

    async def _start_am(self, start: AmStart) -> None:
        self._step("before AM start")
        if self.agents.errors:
            raise self.agents.errors.pop(0)
        attempt_id = start.container_id.attempt_id
        if attempt_id not in self.masters:  # "started already" is success
            job = next(job for job in self.jobs if job.application_id == attempt_id.application_id)
            self.masters[attempt_id] = Master(
                am=Am(self, attempt_id),
                container_id=start.container_id,
                tasks=job.tasks,
                keeps_containers=job.keeps_containers,
            )
            self.agent_of(start.node_id).containers[start.container_id] = None
        self._step("after AM start")

    def _exit(self, master: Master, status: int) -> None:
        master.is_over = True
        for agent in self.nodes:
            if master.container_id in agent.containers:
                self.end(agent, master.container_id, status)

    def _am_containers(self) -> set[ContainerId]:
        return {master.container_id for master in self.masters.values()}

    # --- what must always hold ------------------------------------------------------------------------------------

    def check(self) -> None:
        """The invariants that hold between any two steps."""
        assert len(self.ids_granted) == len({*self.ids_granted}), "a container was granted twice"
        state = self.rm.state
        total = Resource(0, 0)
        for container in state.live_containers():
            total += container.reserved
        assert state.cluster_usage.resource == total, "usage is not the sum of live containers"
        for usage in (state.cluster_usage, *state.used_by_application.values(), *state.used_by_node.values()):
            amounts = (usage.resource.memory_mib, usage.resource.vcores, usage.am_resource.memory_mib)
            assert min(usage.containers, *amounts) >= 0, "a usage is negative"
        assert {*state.unconfirmed} == {c.id for c in state.live_containers() if c.confirmed != NONE}
        assert state.awaited_masters == sum(1 for a in state.attempts.values() if a.state is AttemptState.SCHEDULED)
        assert state.wanted.count == sum(runtime.asks.pending()[0] for runtime in state.runtimes.values())
        assert state.planned_count == sum(1 for c in state.live_containers() if c.state is ContainerState.PLANNED)
        is_whole = all(a.is_registered for a in self.nodes) and not self.has_shrunk
        assert total.fits_in(state.usable_resource) or not is_whole
        for job in self.jobs:
            if job.acknowledged:
                assert job.application_id in state.applications, "an acknowledged submission is lost"
                application = state.applications[job.application_id]
                now = {
                    "queue": application.submission.queue,
                    "priority": application.submission.priority,
                    "expires_ms": application.expires_ms,
                }
                assert {**now, **job.agreed} == now, "an acknowledged change is lost"
        for master in self.masters.values():
            assert self.crashes or len(master.heard) == len({*master.heard}), "an end was reported twice"
            assert master.granted <= state.containers.keys(), "a granted container is lost"
            held = len(master.granted - master.ended.keys()) + master.succeeded
            # Who takes containers over hears only in a beat which of them have ended, and may have asked too much.
            assert held <= master.tasks or master.keeps_containers, "more was granted than asked for"
        self.check_disk()

    def check_disk(self) -> None:
        """What the store holds is what is known.  It is read again when it has changed."""
        stored = shown(self.disk)
        if self._stored != stored:
            self._stored, self._stored_derived = stored, derived(ClusterState.of(read(self.disk)))
        assert self._stored_derived == derived(self.rm.state)

    def check_at_rest(self) -> None:
        """After quiet time nothing is orphaned."""
        for job in self.jobs:
            assert job.application_id is not None
            application = self.application(job.application_id)
            assert application.state.is_final, f"{application.id} is still {application.state}"
        assert list(self.rm.state.live_containers()) == []
        assert self.rm.state.runtimes == {}
        assert self.rm.state.wanted.count == 0
        for agent in self.nodes:
            assert all(status is not None for status in agent.containers.values()), "a process outlives its container"
        assert self.pods.pods == {}, "pods are left over"
        for master in self.masters.values():
            known = master.granted
            if master.keeps_containers:
                known = known.union(*(m.granted for m in self.masters.values() if is_same(m, master)))
            assert self.crashes or {*master.heard} <= known, "an end of a container that was never granted"

    def check_sizes(self) -> None:
        """Once nobody asks for sizes any more: no agent works with more than the row says."""
        for agent in self.nodes:
            for container_id, (_, size) in agent.sizes.items():
                container = self.rm.state.containers.get(container_id)
                if agent.is_registered and container is not None and container.is_live and container.confirmed == NONE:
                    assert size.fits_in(container.capability), "a container is larger than its row"


def is_same(one: Master, other: Master) -> bool:
    """Whether they are of one application."""
    return one.am.application_id == other.am.application_id


def shown(disk: MemoryDisk) -> list[object]:
    """Its rows, which never change themselves."""
    return [
        dict(value) if isinstance(value, dict) else value for value in (getattr(disk, f.name) for f in fields(disk))
    ]


def derived(state: ClusterState) -> dict[str, Any]:
    """Everything that follows from rows, without entries that say nothing."""

    def used(table: dict[Any, Any]) -> dict[Any, tuple[Any, ...]]:
        return {k: (u.resource, u.containers, u.am_resource) for k, u in table.items() if u.containers}

    return {
        "applications": state.applications,
        "attempts": state.attempts,
        "containers": state.containers,
        "nodes": state.nodes,
        "queues": state.queues,
        "cluster": (state.cluster_usage.resource, state.cluster_usage.containers, state.cluster_usage.am_resource),
        "by application": used(state.used_by_application),
        "by node": used(state.used_by_node),
        "seconds": {k: (s.memory_mib_s, s.vcore_s) for k, s in state.seconds_by_application.items()},
        "planned": state.planned_count,
        "usable": (state.usable_count, state.usable_resource),
        "containers of": {a: {c.id for c in state.containers_of(a)} for a in state.attempts},
    }


__all__ = ["Agent", "Cluster", "Job", "Master", "derived"]
