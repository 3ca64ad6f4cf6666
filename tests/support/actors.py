"""Plays those who talk to the ResourceManager, each as stubborn as its original: whatever is lost is repeated.

A ``Cluster`` is a ``World`` with node agents, ApplicationMasters and clients that act one step at a time, in whatever
order a test or a seed chooses.  A step in which the ResourceManager dies ends with a restart; nobody else notices more
than an unanswered call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.support.fakes import Crash
from tests.support.playbook import Am, World, a_submission, ask, complete, running
from tests.support.records import NOBODY
from tests.support.rm_options import NODE_SIZE, SMALL, Options
from yodel.domain.container import Container
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, dns_name
from yodel.domain.pod import PodPhase
from yodel.domain.resource import Resource
from yodel.errors import ApplicationAttemptNotFound, InvalidResponseId, NotRegistered, Refused, Unavailable
from yodel.ports.node_agents import AmStart
from yodel.services.core import Core
from yodel.services.masters.allocate import MasterRegistration
from yodel.services.nodes.container_reports import ContainerReport
from yodel.translator.node_fit import requests_of

ResultT = TypeVar("ResultT")
MILLI_A_MIB = 1000 * 1024 * 1024


@dataclass(slots=True)
class Agent:
    """A node agent: containers that run there with None, that ended with their exit status.

    ``sizes`` has the capability that it works with, and the version of the token that said so.
    """

    node_id: NodeId
    is_registered: bool = False
    is_node_manager: bool = False
    """It launches containers itself, and has no pods."""
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
    """A client's job.  ``tasks`` containers of one size have to end with 0 before its ApplicationMaster is content."""

    tasks: int
    size: Resource = SMALL
    keeps_containers: bool = False
    queue: str = "default"
    application_id: ApplicationId | None = None
    is_submitted: bool = False
    acknowledged: bool = False
    agreed: dict[str, object] = field(default_factory=dict)
    """The application's queue, priority and end, as the ResourceManager told them."""


@dataclass(slots=True)
class Master:
    """An ApplicationMaster's process.  Keeps what it was granted and what it heard of ends."""

    am: Am
    container_id: ContainerId
    tasks: int
    size: Resource = SMALL
    keeps_containers: bool = False
    is_registered: bool = False
    granted: set[ContainerId] = field(default_factory=set)
    ended: dict[ContainerId, int] = field(default_factory=dict)
    heard: list[ContainerId] = field(default_factory=list)
    """Every end that an answer brought, in order."""
    is_over: bool = False
    registration: tuple[Core, MasterRegistration] | None = None
    """The answer to the last registration, and the life of the ResourceManager that gave it."""

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
        self.stored: list[object] = []
        self.stored_derived: dict[str, Any] = {}
        """The content of the store at the last look, and what follows from it (``tests.simulation.laws``)."""
        self.has_shrunk = False
        self.overtaken: set[NodeId] = set()
        """Nodes where a pod was placed before another one there had grown, as was reserved for it."""
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
                job.application_id = await self.run(self.rm.submission.give_id(NOBODY))
            submission = a_submission(
                max_attempts=9, keep_containers_across_attempts=job.keeps_containers, queue=job.queue
            )
            await self.run(self.rm.submission.submit(job.application_id, submission))
            job.acknowledged = not self.loses_answer()
        except Unavailable:
            return

    async def agent_step(self, agent: Agent) -> None:
        """Register, or beat and do as told."""
        reports = agent.reports()
        try:
            if not agent.is_registered:
                await self.register_node(
                    agent.node_id, NODE_SIZE, containers=reports, is_node_manager=agent.is_node_manager
                )
                agent.is_registered = not self.loses_answer()
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
                registration = await self._register(master)
                if self.loses_answer():
                    return
                master.is_registered = True
                master.granted |= {granted.container.id for granted in registration.previous_containers}
            if master.succeeded >= master.tasks:
                if await master.am.finish() and not self.loses_answer():
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

    async def _register(self, master: Master) -> MasterRegistration:
        """A repeat of the call gets the first one's reply, as from the port's cache, while the same life goes on."""
        if master.registration is None or master.registration[0] is not self.rm:
            master.registration = (self.rm, await master.am.register())
        return master.registration[1]

    async def _beat(self, master: Master) -> None:
        missing = max(0, master.tasks - master.succeeded - len(master.granted - master.ended.keys()))
        before = master.am.response_id
        result = await master.am.beat(ask(missing, capability=master.size), updates=self.wants(master))
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
        """Kubernetes binds what waits and finds room, round robin; a process does not outlive its pod."""
        for agent in self.nodes:
            for container_id, status in list(agent.containers.items()):
                if status is None and not agent.is_node_manager and dns_name(container_id) not in self.pods.pods:
                    self.end(agent, container_id, 143)
        self.bind("memory", self.sizes_mib())

    def sizes_mib(self) -> dict[str, int]:
        """Return the memory of the nodes of pods, by host."""
        return {agent.node_id.host: NODE_SIZE.memory_mib for agent in self.nodes if not agent.is_node_manager}

    def bind(self, resource: str, sizes_mib: Mapping[str, int]) -> None:
        """Pods that ask for this memory go where there is room; ``sizes_mib`` by host."""
        free = {host: size_mib - self.held_mib(host, resource) for host, size_mib in sizes_mib.items()}
        waiting = [pod.name for pod in self.pods.pods.values() if pod.node_name is None]
        for n, name in enumerate(sorted(waiting)):
            size_mib = self._size_mib(name, resource)
            hosts = [agent.node_id.host for agent in self.nodes if not agent.is_node_manager]
            turns = (hosts[(n + turn) % len(hosts)] for turn in range(len(hosts)))
            host = next((host for host in turns if 0 < size_mib <= free[host] and self.may_go(name, host)), None)
            if host is not None:
                free[host] -= size_mib
                self.pods.change(name, node_name=host, phase=PodPhase.RUNNING)

    def may_go(self, pod: str, host: str) -> bool:
        """Beside its room."""
        return True

    def held_mib(self, host: str, resource: str) -> int:
        held = (pod.name for pod in self.pods.pods.values() if pod.node_name == host and pod.exit_code is None)
        return sum(self._size_mib(name, resource) for name in held)

    def _size_mib(self, pod: str, resource: str) -> int:
        return requests_of(self.pods.manifests[pod]["spec"]).get(resource, 0) // MILLI_A_MIB

    def end(self, agent: Agent, container_id: ContainerId, status: int) -> None:
        """A process ends: its agent knows, and its pod's status follows."""
        if agent.containers.get(container_id) is None:
            agent.containers[container_id] = status
        for master in self.masters.values():
            master.is_over |= master.container_id == container_id
        name = dns_name(container_id)
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
                size=job.size,
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


__all__ = ["Agent", "Cluster", "Job", "Master"]
