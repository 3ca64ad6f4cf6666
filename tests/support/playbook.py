"""A ResourceManager without network, disk or time: real services over a store in memory, driven step by step.

Nothing happens by itself.  ``World`` holds what outlives a ResourceManager (disk, Kubernetes, node agents, the clock),
``ResourceManager`` one life of it.  ``settle`` works until nothing is left to do; ``restart`` begins another life on
the same disk.  A ``Crash`` can be planned for any step at which a process may die.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, TypeVar

from tests.support.laws import check_nothing_is_owed
from tests.support.records import CLUSTER_TIMESTAMP_MS
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.decide import AllocationLimits
from yodel.domain.application import Application, Submission
from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.ask_rules import DEFAULT_RULES, AskRules
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, pod_name
from yodel.domain.pod import PodHolding, PodObservation, PodPhase
from yodel.domain.queues.queue import Queue, default_queues
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType, FinalApplicationStatus
from yodel.errors import Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.node_agents import AmStart
from yodel.ports.pods import Manifest
from yodel.ports.store import Commit, EndedKept, Row, Snapshot, Store
from yodel.services import recovery
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.launcher import AmLauncher
from yodel.services.applications.log_aggregation import LogAggregation
from yodel.services.applications.submission import SubmissionLimits, SubmissionService
from yodel.services.keys.delegation import DelegationSettings, DelegationTokens
from yodel.services.keys.masters import MasterKeys, RollingSettings
from yodel.services.keys.tokens import TokenIssuer, missing_keys
from yodel.services.liveness import Liveness, LivenessSettings
from yodel.services.masters.allocate import AllocateRequest, AllocateResult, Registration
from yodel.services.masters.service import MasterService
from yodel.services.nodes.agents import ContainerReport, Heartbeat, HeartbeatAnswer, NodeRegistration, NodeService
from yodel.services.nodes.decommission import Decommission
from yodel.services.nodes.topology import Topology
from yodel.services.performer import EffectPerformer
from yodel.services.pods.binder import Binder
from yodel.services.pods.forgetting import Forgetting
from yodel.services.pods.reconciler import Reconciler, ReconcilerSettings
from yodel.services.scheduling.misfits import ConstraintsHandler, Misfits
from yodel.services.scheduling.scheduler import Scheduler
from yodel.services.scheduling.surroundings import NodeNames, Surroundings
from yodel.services.views.queries import Queries
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState
from yodel.store.memory_store import MemoryDisk, MemoryStore, Point
from yodel.translator import names
from yodel.translator.dialects import dialect
from yodel.translator.node_fit import requests_of
from yodel.translator.placement import Landmarks
from yodel.translator.pod_spec import PodSettings, manifest

WEB_ADDRESS = "rm:8088"
ROUNDS_MAX = 5_000
"""Steps ``settle`` may take: more is a loop that never comes to rest."""
NODE = NodeId("node-1", 8041)
NODE_SIZE = Resource(16_384, 16)
LIMITS = AllocationLimits(minimum=Resource(1024, 1), maximum=Resource(8192, 4))
SMALL = Resource(1024, 1)
ResultT = TypeVar("ResultT")


class Crash(BaseException):
    """The process died here.  Not an Exception: nothing may handle it."""


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.elapsed_ms = 0
        self.skew_ms = 0
        """What the wall clock was set forward, or back."""

    def now_ms(self) -> int:
        return CLUSTER_TIMESTAMP_MS + self.elapsed_ms + self.skew_ms

    def monotonic_s(self) -> float:
        return self.elapsed_ms / 1000

    def advance(self, seconds: float) -> None:
        self.elapsed_ms += round(seconds * 1000)


class FakePods:
    """Kubernetes: keeps pods, remembers what was asked of it, and tells of changes when ``events`` are delivered."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self._step = step
        self.pods: dict[str, PodObservation] = {}
        self.manifests: dict[str, Manifest] = {}
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.events: list[tuple[str, PodObservation]] = []
        self.create_errors: list[Exception] = []
        """Raised by the next calls, one each."""
        self.delete_errors: list[Exception] = []
        self.resize_errors: list[Exception] = []
        self.resized: list[str] = []
        self._version = 0

    async def create(self, manifest: Manifest) -> None:
        self._step("before pod creation")
        if self.create_errors:
            raise self.create_errors.pop(0)
        metadata = manifest["metadata"]
        name = metadata["name"]
        self.created.append(name)
        self.manifests[name] = manifest
        if name not in self.pods:
            earlier = self.created.count(name) - 1
            self.put(
                PodObservation(
                    name=name,
                    uid=f"uid-{name}-{earlier}" if earlier else f"uid-{name}",
                    resource_version="",
                    labels=dict(metadata["labels"]),
                    node_name=manifest["spec"].get("nodeName"),
                )
            )
        self._step("after pod creation")

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        self._step("before pod deletion")
        if self.delete_errors:
            raise self.delete_errors.pop(0)
        self.deleted.append(name)
        self.remove(name)
        self._step("after pod deletion")

    async def resize(self, manifest: Manifest) -> None:
        self._step("before pod resize")
        if self.resize_errors:
            raise self.resize_errors.pop(0)
        name = manifest["metadata"]["name"]
        if name in self.pods:
            self.resized.append(name)
            self.manifests[name] = manifest
        self._step("after pod resize")

    async def get(self, name: str) -> PodObservation | None:
        return self.pods.get(name)

    # --- what happens in the cluster -----------------------------------------------------------------------------

    def put(self, pod: PodObservation) -> None:
        self._version += 1
        self.pods[pod.name] = replace(pod, resource_version=str(self._version))
        self.events.append(("seen", self.pods[pod.name]))

    def remove(self, name: str) -> None:
        """Gone at once, whoever asked for it."""
        pod = self.pods.pop(name, None)
        if pod is not None:
            self.events.append(("gone", replace(pod, deletion_requested=True)))

    def change(self, name: str, **changes: Any) -> None:
        self.put(replace(self.pods[name], **changes))

    def bind_all(self, node_name: str = NODE.host) -> None:
        for pod in list(self.pods.values()):
            if pod.node_name is None:
                self.change(pod.name, node_name=node_name, phase=PodPhase.RUNNING)

    def finish(self, name: str, exit_code: int, **changes: Any) -> None:
        phase = PodPhase.SUCCEEDED if exit_code == 0 else PodPhase.FAILED
        self.change(name, phase=phase, exit_code=exit_code, **changes)


class FakeNodeAgents:
    """Accepts every ApplicationMaster unless told otherwise.  ``meanwhile`` happens before the answer is out."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self._step = step
        self.started: list[AmStart] = []
        self.errors: list[Exception] = []
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def start_am(self, start: AmStart) -> None:
        self._step("before AM start")
        if self.errors:
            raise self.errors.pop(0)
        self.started.append(start)
        if self.meanwhile is not None:
            await self.meanwhile()
        self._step("after AM start")


@dataclass(slots=True)
class Due:
    """A keyed queue whose rounds are taken by ``settle``: when each key is due, in monotonic seconds."""

    clock: FakeClock
    at_s: dict[Any, float] = field(default_factory=dict)

    def add(self, key: Any) -> None:
        self.at_s[key] = self.clock.monotonic_s()

    def later(self, key: Any, delay_s: float) -> None:
        self.at_s.setdefault(key, self.clock.monotonic_s() + delay_s)

    def take(self) -> Any | None:
        now_s = self.clock.monotonic_s()
        for key, due_s in self.at_s.items():
            if due_s <= now_s:
                del self.at_s[key]
                return key
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What tests vary of a ResourceManager's settings."""

    allocation: AllocationLimits = LIMITS
    submission: SubmissionLimits = field(default_factory=SubmissionLimits)
    liveness: LivenessSettings = field(default_factory=LivenessSettings)
    reconciler: ReconcilerSettings = field(default_factory=lambda: ReconcilerSettings(explanation_wait_s=0))
    delegation: DelegationSettings = field(default_factory=lambda: DelegationSettings(login_user="yarn"))
    queues: Sequence[Queue] = field(default_factory=default_queues)
    rolling: RollingSettings = field(default_factory=RollingSettings)
    admin_acl: str = "admin"
    acl_enable: bool = False
    log_aggregation_enable: bool = True
    is_binding: bool = False
    """Nodes are chosen by the ResourceManager, from ``World.kube_nodes``."""
    ask_rules: AskRules = DEFAULT_RULES
    constraints_handler: ConstraintsHandler = "scheduler"
    ended_kept: EndedKept = field(default_factory=EndedKept)


class ResourceManager:
    """One life, from opening the store to the crash."""

    def __init__(self, world: World, state: ClusterState, tokens: TokenIssuer, store: Store, stored: Snapshot) -> None:
        options, clock = world.options, world.clock
        self.state, self.tokens, self._world = state, tokens, world
        self.reconciles, self.launches = Due(clock), Due(clock)
        self.scheduler_due_s = inf
        self.engine = Engine(state, store, clock, ask_again_s=0)
        self.topology = Topology(self.engine, wake_scheduler=self.wake)
        self.misfits = Misfits(state, clock, options.constraints_handler)
        surroundings = Surroundings(
            state,
            NodeNames(of=self.topology.names_of, version=lambda: self.topology.version),
            are_labels_enabled=options.ask_rules.are_node_labels_enabled,
        )
        self.scheduler = Scheduler(
            self.engine, options.allocation, clock, surroundings, self.misfits, lambda _: options.is_binding
        )
        rules = AccessRules(admin_acl=Acl.parse(options.admin_acl), is_view_checked=options.acl_enable)
        self.submission = SubmissionService(
            self.engine, NoGroups(), rules, options.submission, options.allocation, options.ask_rules
        )
        self.master = MasterService(
            self.engine,
            tokens,
            clock,
            self.submission.require_allowed,
            options.allocation.maximum,
            self.wake,
            options.ask_rules,
        )
        self.changes = ApplicationChanges(self.engine, self.submission, are_queues_guarded=options.acl_enable)
        self.delegation_tokens: DelegationTokens
        self.log_aggregation = LogAggregation(state, clock, is_enabled=options.log_aggregation_enable)
        self.queries = Queries(state, clock, tokens, options.allocation)
        self.binder = Binder(state, clock, POD_SETTINGS.namespace, lambda _: options.is_binding, self.reconciles.add)
        self.forgetting = Forgetting(
            self.engine, store, clock, options.ended_kept, lambda container_id: self.reconciler.has_pod(container_id)
        )
        self.reconciler = Reconciler(
            self.engine,
            world.pods,
            clock,
            self.manifest_of,
            options.reconciler,
            self.reconciles.add,
            self.binder,
            self.forgetting.may_go,
        )
        self.engine.follow_with(self._published)
        self.nodes = NodeService(self.engine, clock, self.reconciler.end_from_outside, self.topology.place_of)
        self.decommission = Decommission(self.engine, self.nodes, clock)
        self.master_keys = MasterKeys(self.engine, tokens, clock, bytes, options.rolling, stored.master_keys)
        self.launcher = AmLauncher(self.engine, world.agents, tokens, clock)
        self.liveness = Liveness(self.engine, self.nodes, clock, options.liveness)
        self.performer = EffectPerformer(state, self.nodes, clock, self.reconciles.add, self.launches.add)
        self.engine.perform_with(self.performer)
        self.writer: asyncio.Task[None] | None = None

    def wake(self) -> None:
        self.scheduler.wake()

    def _published(self, rows: Sequence[Row], _: Sequence[ApplicationId]) -> None:
        self.binder.published(rows)
        self.scheduler.published()

    def manifest_of(self, container: Container) -> Manifest:
        submission = self.state.applications[container.id.application_id].submission
        closed = () if self._world.options.is_binding else self.state.closed_nodes
        landmarks = Landmarks(
            hostname_of=self.topology.hostname_label,
            are_labels_enabled=self._world.options.ask_rules.are_node_labels_enabled,
        )
        settings = replace(POD_SETTINGS, landmarks=landmarks)
        return manifest(container, settings, None, submission.name, submission.application_type, closed)


def _holds(pod: PodObservation) -> bool:
    return pod.node_name is not None and pod.phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class NoGroups:
    def groups_of(self, user: str) -> Sequence[str]:
        return ()


POD_SETTINGS = PodSettings(
    cluster="test",
    namespace="yodel",
    image="busybox",
    dialect=dialect("native"),
    handover_dir="/var/lib/yodel/handover",
    host_paths=("/var/lib/yodel/local", "/var/log/yodel"),
)


class World:
    """What outlives a ResourceManager, and the hand that moves it.  Use ``async with``."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.clock = FakeClock()
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
        self.agents = FakeNodeAgents(self._step)
        self.response_ids: dict[NodeId, int] = {}
        self.kube_nodes: list[NodeObservation] = []
        self._rm: ResourceManager | None = None

    async def __aenter__(self) -> World:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def rm(self) -> ResourceManager:
        assert self._rm is not None, "no ResourceManager runs"
        return self._rm

    # --- lives ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin a life as ``yodel.wiring.process`` does: open, keys, runtimes, writer, what was under way."""
        store = self.new_store()
        snapshot = await store.open(now_ms=self.clock.now_ms(), default_queues=self.options.queues)
        new_keys = missing_keys(snapshot.master_keys, lambda count: bytes(count))
        if new_keys:
            await store.commit(Commit(master_keys=new_keys))
        tokens = TokenIssuer([*snapshot.master_keys, *new_keys], snapshot.identity.cluster_timestamp_ms)
        rm = self._rm = ResourceManager(self, ClusterState.of(snapshot), tokens, store, snapshot)
        rm.state.web_address = WEB_ADDRESS
        rm.delegation_tokens = DelegationTokens(
            rm.engine, self.clock, lambda count: bytes(count), self.options.delegation, snapshot
        )
        await recovery.expect_attempts(rm.engine, self.clock)
        rm.wake()
        rm.writer = asyncio.create_task(rm.engine.run(), name="engine")
        await recovery.resume(rm.engine, self.clock, rm.launches.add, rm.reconciles.add)
        self.relist()

    def new_store(self) -> Store:
        return MemoryStore(self.disk, hook=self._at_store)

    async def stop(self) -> None:
        """The process is gone; nothing is said to anybody."""
        rm, self._rm = self._rm, None
        if rm is not None and rm.writer is not None:
            rm.writer.cancel()
            await asyncio.gather(rm.writer, return_exceptions=True)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def relist(self) -> None:
        """The watch begins with the whole truth."""
        self.pods.events.clear()
        self.rm.reconciler.pods_listed(list(self.pods.pods.values()))
        self.rm.binder.nodes_listed(self.kube_nodes)
        self.rm.binder.holdings_listed([self._holding(pod) for pod in self.pods.pods.values() if _holds(pod)])

    # --- driving --------------------------------------------------------------------------------------------------

    async def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Await a call; a crash of the writer ends it.

        Raises:
            Crash: the ResourceManager died under it.
        """
        assert self.rm.writer is not None
        task = asyncio.create_task(work)
        await asyncio.wait({task, self.rm.writer}, return_when=asyncio.FIRST_COMPLETED)
        while self.rm.engine.doubt is not None and not self.rm.writer.done():  # noqa: ASYNC110 - the writer polls too
            await asyncio.sleep(0)  # only then do memory and disk agree
        if self.rm.writer.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            error = self.rm.writer.exception()
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
        elif (attempt_id := rm.launches.take()) is not None:
            await self._round(rm.launches, attempt_id, rm.launcher.launch(attempt_id))
        elif (container_id := rm.reconciles.take()) is not None:
            await self._round(rm.reconciles, container_id, rm.reconciler.reconcile(container_id))
        elif rm.scheduler.is_woken or self.clock.monotonic_s() >= rm.scheduler_due_s:
            await self._tick()
        else:
            return False
        return True

    async def _tick(self) -> None:
        """As the scheduler's own loop; what is due at once is due a millisecond later, or time would stand still."""
        rm = self.rm
        try:
            more = await self.run(rm.scheduler.tick())
        except Unavailable:
            more = True
        rm.scheduler_due_s = self.clock.monotonic_s() + max(rm.scheduler.again_in_s, 0.001)
        if more:
            rm.wake()

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

    async def _round(self, queue: Due, key: Any, work: Coroutine[Any, Any, float | None]) -> None:
        try:
            again_s = await self.run(work)
        except Unavailable:
            again_s = 1.0
        if again_s is not None:
            queue.later(key, again_s)

    async def pass_time(self, seconds: float) -> None:
        """Time goes by, and everybody looks at the clock."""
        self.clock.advance(seconds)
        self.rm.liveness.look()
        self.rm.decommission.look()
        self.rm.binder.expire()
        with suppress(Unavailable):  # as its task does
            await self.run(self.rm.master_keys.look())
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
        application_id = await self.run(self.rm.submission.new_application_id())
        await self.run(self.rm.submission.submit(application_id, a_submission(**changes)))
        return application_id

    async def register_node(
        self, node_id: NodeId = NODE, capability: Resource = NODE_SIZE, containers: Sequence[ContainerReport] = ()
    ) -> None:
        registration = NodeRegistration(
            node_id=node_id,
            http_port=8042,
            capability=capability,
            kubernetes_node_name=node_id.host,
            version="test",
            containers=containers,
        )
        await self.run(self.rm.nodes.register(registration))
        self.response_ids[node_id] = 0

    async def beat(
        self, *containers: ContainerReport, node_id: NodeId = NODE, response_id: int | None = None, **changes: Any
    ) -> HeartbeatAnswer:
        """One heartbeat with the last response id that its node agent has heard, or with a given one."""
        last_id = self.response_ids.get(node_id, 0) if response_id is None else response_id
        beat = Heartbeat(node_id=node_id, response_id=last_id, containers=containers, **changes)
        answer = self.rm.nodes.heartbeat(beat) or await self.run(self.rm.nodes.heartbeat_slow(beat))
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
        return pod_name(container_id) in self.pods.pods

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

    async def register(self) -> Registration:
        self.response_id = 0
        master = self.world.rm.master
        return await self.world.run(master.register(self.attempt_id, "am-host", 4040, "http://am-host:4040"))

    async def beat(self, *asks: Ask, **changes: Any) -> AllocateResult:
        """One heartbeat with the response id that is next."""
        result = await self.allocate(AllocateRequest(response_id=self.response_id, asks=asks, **changes))
        self.response_id = result.response_id
        return result

    async def allocate(self, request: AllocateRequest) -> AllocateResult:
        """As the port does: synchronous if possible, else with the queue."""
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
