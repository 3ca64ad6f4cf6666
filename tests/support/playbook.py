"""A ResourceManager without network, disk or time: real services over a store in memory, driven step by step.

Nothing happens by itself.  ``World`` holds what outlives a ResourceManager (disk, Kubernetes, node agents, the clock),
``World.rm`` is one life of it: the services of a process, wired by the same hand.  ``settle`` works until nothing is
left to do; ``restart`` begins another life on the same disk.  A ``Crash`` can be planned for any step at which a
process may die.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

from tests.support.fakes import NODE, Crash, FakeClock, FakeEndpoints, FakeNodeAgents, FakePods, FakeStatuses, NoUsers
from tests.support.laws import check_nothing_is_owed
from tests.support.records import NOBODY
from tests.support.rm_options import NODE_SIZE, POD_SETTINGS, SMALL, Options
from yodel.domain.application import Application, Submission
from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, dns_name
from yodel.domain.pod import PodHolding, PodObservation, PodPhase
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType, FinalApplicationStatus
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.host.files import text_of
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.store import Store
from yodel.services import recovery
from yodel.services.core import Core, Ports
from yodel.services.masters.allocate import AllocateRequest, AllocateResult, MasterRegistration
from yodel.services.nodes.container_reports import ContainerReport
from yodel.services.nodes.heartbeat import Heartbeat, HeartbeatAnswer
from yodel.services.nodes.registration import NodeRegistration
from yodel.store.memory_store import MemoryDisk, MemoryStore, Point
from yodel.translator import names
from yodel.translator.node_fit import requests_of

WEB_ADDRESS = "rm:8088"
ROUNDS_MAX = 5_000
"""Steps ``settle`` may take: more is a loop that never comes to rest."""
ResultT = TypeVar("ResultT")


def address_of(host: str) -> str:
    """Return what the name of a host resolves to."""
    return f"address-of-{host}"


def _holds(pod: PodObservation) -> bool:
    return pod.node_name is not None and pod.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class World:
    """Simulates what outlives a ResourceManager, and moves it.  Use ``async with``."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.clock = FakeClock()
        self._drawn = itertools.count(1)
        self.disk = MemoryDisk()
        self.steps: list[str] = []
        self.crash_at_step: int | None = None
        """The number of the step (from 0, counted in ``steps``) that a Crash happens at."""
        self.crashed_at: list[int] = []
        """The numbers of the steps that one happened at."""
        self.commit_errors: list[Exception] = []
        """Raised by the next commits, one each: an OutcomeUnknown loses the answer of one that did not happen."""
        self.lost_answers: list[Exception] = []
        """Raised by the next commits after they have happened."""
        self.silences: list[Exception] = []
        """Raised by the next questions what was committed last."""
        self.pods = FakePods(self._step)
        self.statuses = FakeStatuses(self._step)
        """Kubernetes' nodes whose watch is heard by everybody; those of ``kube_nodes`` by the binder alone."""
        self.agents = FakeNodeAgents(self._step)
        self.endpoints = FakeEndpoints()
        self.response_ids: dict[NodeId, int] = {}
        self.kube_nodes: list[NodeObservation] = []
        self._rm: Core | None = None
        self._writer: asyncio.Task[None] | None = None
        self._scheduler_due_s = inf

    async def __aenter__(self) -> World:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def rm(self) -> Core:
        assert self._rm is not None, "no ResourceManager runs"
        return self._rm

    # --- lives ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin a life as ``yodel.wiring.process`` does: open, keys, runtimes, writer, what was under way.  A process
        whose store does not answer meanwhile ends, and its supervisor starts the next one."""
        while True:
            store = self.new_store()
            with suppress(Unavailable):
                stored = await recovery.opened(store, self.clock, self.options.queues, bytes)
                break
        rm = self._rm = Core.of(self.ports(store), self.options.limits(), stored)
        rm.state.served_at(WEB_ADDRESS)
        await rm.expect()
        await rm.shuffle_endpoints.begin()
        rm.scheduler.wake()
        self._scheduler_due_s = inf
        self._writer = asyncio.create_task(rm.engine.run(), name="engine")
        await rm.resume()
        self.relist()

    def new_store(self) -> Store:
        return MemoryStore(self.disk, hook=self._at_store)

    def ports(self, store: Store) -> Ports:
        async def have_all(_: object) -> None:
            return

        return Ports(
            store=store,
            clock=self.clock,
            timers=self.clock,
            random=lambda: 1.0,
            random_bytes=lambda size: next(self._drawn).to_bytes(size),
            pods=self.pods,
            statuses=self.statuses,
            see_holdings=lambda: None,
            require_kinds=have_all,
            events=None,
            board=None,
            agents=self.agents,
            endpoints=self.endpoints,
            users=NoUsers(),
            addresses_of=lambda host: (address_of(host),),
            read_settings=lambda: self.options.admin_settings(),
            text_of=text_of,
            reload_proxy_users=lambda: None,
        )

    async def stop(self) -> None:
        """The process is gone; nothing is said to anybody."""
        writer, self._rm, self._writer = self._writer, None, None
        if writer is not None:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def relist(self) -> None:
        """The watch begins with the whole truth."""
        self.pods.events.clear()
        self.rm.reconciler.pods_listed(list(self.pods.pods.values()))
        self.statuses.events.clear()
        if nodes := [*self.statuses.nodes.values()] or self.kube_nodes:  # a world without nodes has no watch of them
            self.rm.facts.nodes_listed(nodes)
        self.rm.binder.holdings_listed([self._holding(pod) for pod in self.pods.pods.values() if _holds(pod)])

    # --- driving --------------------------------------------------------------------------------------------------

    async def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Await a call; a crash of the writer ends it.

        Raises:
            Crash: the ResourceManager died under it.
        """
        assert self._writer is not None
        task = asyncio.create_task(work)
        await asyncio.wait({task, self._writer}, return_when=asyncio.FIRST_COMPLETED)
        while self.rm.engine.doubt is not None and not self._writer.done():  # noqa: ASYNC110 - the writer polls too
            await asyncio.sleep(0)  # only then do memory and disk agree
        if self._writer.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            error = self._writer.exception()
            assert error is not None
            raise error
        return task.result()

    async def settle(self) -> None:
        """Take every step that is due until nothing is."""
        for _ in range(ROUNDS_MAX):
            if not await self.step():
                check_nothing_is_owed(self.rm.scheduler)
                return
        raise AssertionError(f"still busy after {ROUNDS_MAX} steps")

    async def step(self) -> bool:
        """One round of somebody who has something to do; False when nobody has."""
        rm = self.rm
        if rm.engine.is_at_rest:
            await asyncio.sleep(0)
        else:
            with suppress(Unavailable):  # what waits is written first, or refused
                await self.run(rm.engine.do(lambda _: None))
        if self.pods.events:
            self.deliver_one_event()
        elif self.statuses.events:
            self.rm.facts.node_seen(self.statuses.events.pop(0))
        elif rm.publisher.is_due:
            await self.run(rm.publisher.round())
        elif rm.launches.is_ready:
            await self.run(rm.launches.round())
        elif rm.reconciles.is_ready:
            await self.run(rm.reconciles.round())
        elif rm.scheduler.is_woken or self.clock.monotonic_s() >= self._scheduler_due_s:
            await self._tick()
        else:
            return False
        return True

    async def _tick(self) -> None:
        """Run a scheduling cycle as the scheduler's own loop does; what is due at once is due a millisecond later, or
        time would stand still."""
        rm = self.rm
        try:
            more = await self.run(rm.scheduler.tick())
        except Unavailable:
            more = True
        self._scheduler_due_s = self.clock.monotonic_s() + max(rm.scheduler.again_in_s, 0.001)
        if more:
            rm.scheduler.wake()

    def deliver_one_event(self) -> None:
        kind, pod = self.pods.events.pop(0)
        sink = self.rm.reconciler
        (sink.pod_seen if kind == "seen" else sink.pod_gone)(pod)
        binder = self.rm.binder
        (binder.holding_seen if kind == "seen" and _holds(pod) else binder.holding_gone)(self._holding(pod))

    def _holding(self, pod: PodObservation) -> PodHolding:
        spec = self.pods.manifests.get(pod.name, {}).get("spec", {})
        return PodHolding(
            namespace=POD_SETTINGS.namespace,
            name=pod.name,
            uid=pod.uid,
            resource_version=pod.resource_version,
            node_name=pod.node_name or "",
            amounts=requests_of(spec),
            application=pod.labels.get(names.APPLICATION, ""),
        )

    async def pass_time(self, seconds: float) -> None:
        """Time goes by, and everybody looks at the clock."""
        self.clock.advance(seconds)
        await self.look_at_clock()

    async def look_at_clock(self) -> None:
        self.rm.liveness.look()
        self.rm.decommission.look()
        self.rm.binder.expire()
        self.rm.publisher.look()
        self.rm.window_edges.look()
        with suppress(Unavailable):  # as its task does
            await self.run(self.rm.preemption.look())
        with suppress(Unavailable):  # as its task does
            await self.run(self.rm.taking_back.look())
        with suppress(Unavailable):  # as its task does
            await self.run(self.rm.master_keys.look())
        await self.run(self.rm.marked_queues.look())
        await self.settle()
        with suppress(Unavailable):  # as its task does
            await self.run(self.rm.forgetting.round())

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if self.crash_at_step is not None and len(self.steps) - 1 == self.crash_at_step:
            self.crashed_at.append(self.crash_at_step)
            raise Crash(name)

    def _at_store(self, point: Point) -> None:
        if point is Point.BEFORE_COMMIT and self.commit_errors:
            raise self.commit_errors.pop(0)
        if point is not Point.OPENING:
            self._step(point.value)
        for at, errors in ((Point.AFTER_COMMIT, self.lost_answers), (Point.ASKED, self.silences)):
            if point is at and errors:
                raise errors.pop(0)

    # --- what people and agents do ---------------------------------------------------------------------------------

    async def submit(self, **changes: Any) -> ApplicationId:
        application_id = await self.run(self.rm.submission.give_id(NOBODY))
        await self.run(self.rm.submission.submit(application_id, a_submission(**changes)))
        return application_id

    async def register_node(
        self,
        node_id: NodeId = NODE,
        capability: Resource = NODE_SIZE,
        *,
        is_node_manager: bool = False,
        **changes: Any,
    ) -> str:
        """Register as a node's agent, or as a NodeManager; returns why it was refused, empty if it was not."""
        registration = self.registration(node_id, capability, is_node_manager=is_node_manager)
        found = await self.run(self.rm.registration.register(replace(registration, **changes)))
        self.response_ids[node_id] = 0
        return found.refusal

    def registration(
        self, node_id: NodeId, capability: Resource = NODE_SIZE, *, is_node_manager: bool = False
    ) -> NodeRegistration:
        """Return what an agent says, or a NodeManager at the address that its name resolves to (``World.ports``)."""
        return NodeRegistration(
            node_id=node_id,
            http_port=8042,
            capability=capability,
            kubernetes_node_name="" if is_node_manager else node_id.host,
            version="test",
            can_measure=not is_node_manager,
            is_node_manager=is_node_manager,
            peer=(address_of(node_id.host), 40_000) if is_node_manager else ("", 0),
        )

    async def beat(
        self, *containers: ContainerReport, node_id: NodeId = NODE, response_id: int | None = None, **changes: Any
    ) -> HeartbeatAnswer:
        """One heartbeat with the last response id that its node agent has heard, or with a given one."""
        last_id = self.response_ids.get(node_id, 0) if response_id is None else response_id
        row = self.rm.state.nodes.get(node_id)
        if row is not None and row.is_node_manager:
            changes = {"peer": (address_of(node_id.host), 40_000), **changes}
        beat = Heartbeat(node_id=node_id, response_id=last_id, containers=containers, **changes)
        answer = self.rm.heartbeats.take(beat) or await self.run(self.rm.heartbeats.slow(beat))
        self.response_ids[node_id] = answer.response_id
        return answer

    async def bind_and_settle(self, node_name: str = NODE.host) -> None:
        self.pods.bind_all(node_name)
        await self.settle()

    async def running_am(self, **changes: Any) -> Am:
        """An application up to its registered ApplicationMaster, on a registered node."""
        if NODE not in self.rm.state.nodes:
            await self.register_node()
        application_id = await self.submit(**changes)
        await self.settle()
        await self.bind_and_settle()
        am = Am(self, self.application(application_id).current_attempt_id)
        if not changes.get("is_unmanaged"):
            await self.beat(running(am.container.id))
        await am.register()
        return am

    # --- looking --------------------------------------------------------------------------------------------------

    def application(self, application_id: ApplicationId) -> Application:
        return self.rm.state.applications[application_id]

    def attempt(self, attempt_id: ApplicationAttemptId) -> Attempt:
        return self.rm.state.attempts[attempt_id]

    def container(self, container_id: ContainerId) -> Container:
        """Also one that ended and was forgotten, as it is kept for those who look it up."""
        return self.rm.state.containers.get(container_id) or self.disk.ended[container_id]

    def has_pod(self, container_id: ContainerId) -> bool:
        return dns_name(container_id) in self.pods.pods

    def live_tasks(self) -> list[Container]:
        return [c for c in self.rm.state.live_containers() if not c.is_am]


@dataclass(slots=True)
class Am:
    """An ApplicationMaster: keeps the response id as Hadoop's AMRMClient does."""

    world: World
    attempt_id: ApplicationAttemptId
    response_id: int = 0

    @property
    def application_id(self) -> ApplicationId:
        return self.attempt_id.application_id

    @property
    def container(self) -> Container:
        container_id = self.world.attempt(self.attempt_id).am_container_id
        assert container_id is not None
        return self.world.container(container_id)

    async def register(self) -> MasterRegistration:
        self.response_id = 0
        master = self.world.rm.master
        return await self.world.run(master.register(self.attempt_id, "am-host", 4040, "http://am-host:4040"))

    async def beat(self, *asks: Ask, **changes: Any) -> AllocateResult:
        """One heartbeat with the response id that is next."""
        result = await self.allocate(AllocateRequest(response_id=self.response_id, asks=asks, **changes))
        self.response_id = result.response_id
        return result

    async def acknowledge(self) -> AllocateResult:
        """Beat, and let the round come that writes what the heartbeat acknowledges."""
        result = await self.beat()
        await self.world.run(self.world.rm.forgetting.round())
        return result

    async def allocate(self, request: AllocateRequest) -> AllocateResult:
        """Send a heartbeat as the port does: synchronous if possible, else with the queue."""
        result = self.world.rm.master.allocate(self.attempt_id, request)
        if isinstance(result, AllocateResult):
            return result
        return await self.world.run(self.world.rm.master.allocate_slow(self.attempt_id, request))

    async def finish(self, status: FinalApplicationStatus = FinalApplicationStatus.SUCCEEDED, text: str = "") -> bool:
        return await self.world.run(self.world.rm.master.finish(self.attempt_id, status, text, ""))

    async def obtain(self, count: int, **changes: Any) -> list[ContainerId]:
        """Ask, wait, and take the containers."""
        await self.beat(ask(count, **changes))
        await self.world.settle()
        await self.world.bind_and_settle()
        result = await self.beat()
        assert len(result.granted) == count
        return [granted.container.id for granted in result.granted]

    async def exit(self, status: int = 0, diagnostics: str = "") -> None:
        """The AM's process ends, and its node agent says so."""
        await self.world.beat(complete(self.container.id, status, diagnostics))
        await self.world.settle()


def a_submission(**changes: Any) -> Submission:
    context = pb.ApplicationSubmissionContextProto()
    context.am_container_spec.command.append("run the AM")
    fields: dict[str, Any] = {
        "name": "pi",
        "user": "alice",
        "queue": "default",
        "am_capability": SMALL,
        "am_asked_capability": SMALL,
        "context": context.SerializeToString(),
    }
    return Submission(**{**fields, **changes})


def key(priority: int = 1, capability: Resource = SMALL, allocation_request_id: int = -1) -> AskKey:
    return AskKey(priority, allocation_request_id, ExecutionType.GUARANTEED, capability)


def ask(count: int, resource_name: str = ANY, *, relax_locality: bool = True, **of_key: Any) -> Ask:
    return Ask(key=key(**of_key), resource_name=resource_name, count=count, relax_locality=relax_locality)


def running(container_id: ContainerId) -> ContainerReport:
    return ContainerReport(container_id=container_id, is_running=True, is_complete=False)


def complete(container_id: ContainerId, exit_status: int = 0, diagnostics: str = "") -> ContainerReport:
    return ContainerReport(
        container_id=container_id,
        is_running=False,
        is_complete=True,
        exit_status=exit_status,
        diagnostics=diagnostics,
    )


def owner_label(pod: PodObservation) -> ContainerId | None:
    return names.container_of(pod.labels)
