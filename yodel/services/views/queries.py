"""Answers clients' queries: reports, metrics, queues.  Reads committed state only.

Both faces of the RM, RPC and REST, use these, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.past import NOTHING_PREEMPTED, Preempted
from yodel.domain.queues import queue as queues
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.window import Window
from yodel.domain.queues.windows import Phase
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    FinalApplicationStatus,
    NodeState,
    YarnApplicationState,
)
from yodel.domain.tokens import Token
from yodel.errors import ApplicationAttemptNotFound, ApplicationNotFound, ContainerNotFound, NodeNotFound
from yodel.ports.clock import Clock
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.views.attention import AttentionEntry, of_applications, of_queues, of_shuffle
from yodel.services.views.noticed import Noticed
from yodel.services.views.pools import PoolView, pool_views
from yodel.services.views.queue_views import (
    ClusterMetrics,
    QueueLoad,
    QueueUserView,
    QueueView,
    cluster_metrics,
    nodes_by_state,
    queue_loads,
    queue_users,
    queue_view,
)
from yodel.services.views.queue_why import QueueWhyView, why_queue_waits
from yodel.services.views.rows import Rows
from yodel.services.views.why import MayView, WaitExplainer
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.services.writer.usage import Usage

_UNUSED = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationView:
    """One application with what is derived.  Live amounts are -1 once it has ended, as in YARN.

    ``used`` has a node, what is ``starting`` has none yet, and what is ``pending`` is not planned; ``reserved`` is free
    on nodes that are held for it."""

    application: Application
    attempt: Attempt | None
    am_container: Container | None
    am_node: Node | None
    progress: float
    used: Resource
    running_containers: int
    memory_mib_s: int
    vcore_s: int
    preempted: Preempted
    pending_containers: int
    pending: Resource
    starting_containers: int
    starting: Resource
    reserved_containers: int
    reserved: Resource
    cluster_share_percent: float
    elapsed_ms: int
    amrm_token: Token | None = None
    """Only for an unmanaged AM that was launched and has not registered, and only for its owner."""

    @property
    def has_ended(self) -> bool:
        return self.application.state.is_final

    @property
    def waited_for(self) -> tuple[int, Resource]:
        """Return number and size of what Hadoop calls pending: containers without a node."""
        return self.pending_containers + self.starting_containers, self.pending + self.starting


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """``node.capability`` is what it has of all pools that queues draw on, ``published`` whose words that is: the names
    of what its Kubernetes node publishes, none where it is the node agent's own figure."""

    node: Node
    used: Resource
    containers: int
    published: tuple[str, ...] = ()

    @property
    def available(self) -> Resource:
        return (self.node.capability - self.used).at_least_zero()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationFilter:
    """Empty or None means "any".  Ranges are inclusive epoch milliseconds; types and tags compare in lower case."""

    states: frozenset[YarnApplicationState] = frozenset()
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    live_queues: frozenset[str] = frozenset()
    """Beside ``queues``: those of which only what has not ended counts."""
    name: str | None = None
    name_prefix: str = ""
    final_status: FinalApplicationStatus | None = None
    started_from_ms: int = 0
    started_to_ms: int | None = None
    finished_from_ms: int = 0
    finished_to_ms: int | None = None
    limit: int | None = None

    def accepts(self, app: Application) -> bool:
        """All but the limit."""
        submission = app.submission
        return (
            (not self.states or app.yarn_state in self.states)
            and (not self.types or submission.application_type.lower() in self.types)
            and (not self.tags or not self.tags.isdisjoint(submission.tags))
            and (not self.users or submission.user in self.users)
            and (not self.queues or submission.queue in self.queues or self._is_live_below(app))
            and (self.name is None or submission.name == self.name)
            and submission.name.startswith(self.name_prefix)
            and (self.final_status is None or app.final_status is self.final_status)
            and _within(app.submitted_ms, self.started_from_ms, self.started_to_ms)
            and _within(app.finished_ms, self.finished_from_ms, self.finished_to_ms)
        )

    def _is_live_below(self, app: Application) -> bool:
        return app.submission.queue in self.live_queues and not app.state.is_final


class Queries:
    """Reads; one instance for the process."""

    def __init__(
        self, state: ClusterState, clock: Clock, tokens: TokenIssuer, limits: AllocationLimits, quotas: Quotas
    ) -> None:
        self._state, self._clock, self._tokens, self._limits = state, clock, tokens, limits
        self._quotas = quotas
        self.rows = Rows(state)
        self.losers: Callable[[Mapping[str, Resource]], Awaitable[Mapping[str, Mapping[ApplicationId, int]]]] = _nobody
        """Returns, for queues that are to give so much back, how many containers their applications would lose."""
        self.ends_after_s: Callable[[], float] = lambda: 0.0
        """From when so much is asked back to the first end."""
        self.noticed = Noticed(state, clock)
        """Which containers are to go."""
        self.why = WaitExplainer(state, quotas, self.noticed)
        """Why applications wait, as every view says it."""

    @property
    def limits(self) -> AllocationLimits:
        return self._limits

    @limits.setter
    def limits(self, limits: AllocationLimits) -> None:
        self._limits = limits
        self._state.change_counters.heartbeat_received()

    @property
    def version(self) -> int:
        """Changes whenever a committed row changed."""
        return self._state.change_counters.version

    def now_ms(self) -> int:
        """The clock that the answers are made by: epoch milliseconds."""
        return self._clock.now_ms()

    @property
    def cluster_timestamp_ms(self) -> int:
        return self._state.identity.cluster_timestamp_ms

    def application(self, application_id: ApplicationId, for_user: str | None = None) -> ApplicationView:
        """Raises ApplicationNotFound."""
        application = self._state.applications.get(application_id)
        if application is None:
            raise ApplicationNotFound(application_id)
        return self._view(application, for_user)

    def attempt(self, attempt_id: ApplicationAttemptId) -> Attempt:
        """Raises ApplicationNotFound, ApplicationAttemptNotFound."""
        self._require_application(attempt_id.application_id)
        attempt = self._state.attempts.get(attempt_id)
        if attempt is None:
            raise ApplicationAttemptNotFound(attempt_id)
        return attempt

    def attempts(self, application_id: ApplicationId) -> list[Attempt]:
        """Oldest first.  Raises ApplicationNotFound."""
        self._require_application(application_id)
        return self._state.attempts_of(application_id)

    def container(self, container_id: ContainerId) -> Container:
        """Raises ApplicationNotFound, ApplicationAttemptNotFound, ContainerNotFound."""
        self.attempt(container_id.attempt_id)
        container = self._state.containers.get(container_id)
        if container is None:
            raise ContainerNotFound(container_id)
        return container

    def containers(self, attempt_id: ApplicationAttemptId) -> list[Container]:
        """Live ones with a node, as the RM lists them.  Raises ApplicationNotFound, ApplicationAttemptNotFound."""
        self.attempt(attempt_id)
        return [c for c in self._state.containers_of(attempt_id) if c.is_live and c.node_id is not None]

    def node(self, node_id: NodeId) -> NodeView:
        """Raises NodeNotFound."""
        node = self._state.nodes.get(node_id)
        if node is None:
            raise NodeNotFound(node_id)
        return self._node_view(node)

    def nodes(self, states: Iterable[NodeState] = ()) -> list[NodeView]:
        wanted = frozenset(states)
        return [self._node_view(n) for n in self._state.nodes.values() if not wanted or n.state in wanted]

    def each_node(self) -> Iterator[NodeView]:
        """Yield each node in its state when it is read, for callers that read in pieces; one that has gone by then is
        left out."""
        for node_id in list(self._state.nodes):
            node = self._state.nodes.get(node_id)
            if node is not None:
                yield self._node_view(node)

    def as_lent(self, node: Node) -> Node:
        """The row with what it has of all pools that queues draw on."""
        capability = self._state.pools.capability(node)
        return node if capability == node.capability else replace(node, capability=capability)

    def pools(self) -> list[PoolView]:
        """Return the pools that queues use, by name."""
        return pool_views(self._state.pools, self._state.queues)

    def queue_paths(self) -> Iterable[str]:
        return self._state.queues

    def find_queue(self, name: str) -> Queue | None:
        return queues.find(self._state.queues.values(), name)

    async def queue(self, name: str) -> QueueView | None:
        """A queue with its children; None when there is none of that name.  Others have a turn between."""
        queue = self.find_queue(name)
        return None if queue is None else await queue_view(self._state, self._quotas, queue)

    async def queue_loads(self) -> Mapping[str, QueueLoad]:
        """Return what each queue and its users use and request, by path."""
        return await queue_loads(self._state, self._quotas.tree, queues.ROOT)

    async def queue_users(self, queue: Queue, may_view: MayView) -> tuple[list[QueueUserView], int]:
        """Return the users with unfinished applications there who may be shown, with amounts, and the number of
        others."""
        return await queue_users(self._state, self._quotas, queue, may_view)

    async def why_queue_waits(self, queue: Queue, may_view: MayView) -> QueueWhyView:
        """Return the causes for which applications of the queue and those below it wait."""
        return await why_queue_waits(self._state, self.why, queue, may_view)

    async def attention(self, may_view: MayView) -> AsyncIterator[AttentionEntry]:
        """Yield what needs attention in queues, requests and pods."""
        state, now_ms = self._state, self._clock.now_ms()
        async for one in of_queues(state, self._quotas, self.why, now_ms, may_view):
            yield one
        async for one in of_applications(state, now_ms, may_view):
            yield one
        for one in of_shuffle(state):
            yield one

    def ledger(self) -> UsageLedger:
        """Return usage and limits of queues and users, as the scheduler sees them."""
        return self._quotas.ledger()

    def guaranteed(self, path: str) -> Resource:
        """Return the guarantee of a queue; the whole cluster for a queue that is gone."""
        tree = self._quotas.tree
        share = tree.shares.get(path)
        return share.guaranteed if share is not None else tree.total

    def gives_back(self, queue: Queue) -> bool:
        """Return True if containers above the queue's guarantee may be preempted for other queues."""
        return self._quotas.gives_back(queue)

    def gives_back_within(self, queue: Queue) -> bool:
        """Return True if applications of the queue may be preempted for others of it."""
        return self._quotas.gives_back_within(queue)

    def window_phases(self, queue: Queue) -> list[tuple[Window, Phase]]:
        """Return the windows of a queue, with what each is now."""
        return self._quotas.phases(queue)

    def over_maximum(self, wanted: Iterable[Queue]) -> list[tuple[str, Resource, Resource]]:
        """Return the paths that would use more than their maximum with these queues, with what is used and allowed."""
        return self._quotas.over_maximum(wanted)

    async def metrics(self) -> ClusterMetrics:
        """Others have a turn between."""
        return await cluster_metrics(self._state)

    def nodes_by_state(self) -> Mapping[NodeState, int]:
        return nodes_by_state(self._state)

    def log_url(self, container: Container) -> str:
        """Return the URL of the container's logs on its node agent; empty while it has no node."""
        node = self._state.nodes.get(container.node_id) if container.node_id is not None else None
        if node is None:
            return ""
        return f"http://{node.http_address}/node/containerlogs/{container.id}/{quote(container.user, safe='@/$+')}"

    def _require_application(self, application_id: ApplicationId) -> None:
        if application_id not in self._state.applications:
            raise ApplicationNotFound(application_id)

    def _view(self, app: Application, for_user: str | None) -> ApplicationView:
        state, attempt_id = self._state, app.current_attempt_id
        attempt = state.attempts.get(attempt_id)
        am_container = state.containers.get(attempt.am_container_id) if attempt and attempt.am_container_id else None
        am_node = state.nodes.get(am_container.node_id) if am_container and am_container.node_id else None
        runtime = state.masters.runtimes.get(attempt_id)
        usage = state.usage.by_application.get(app.id, _UNUSED)
        used = usage.allocated
        pending_count, pending = state.pending_of(attempt_id)
        reserved_count, reserved = state.holds.of_application(app.id)
        done = state.usage.seconds.get(app.id)
        memory_mib_s, vcore_s = self._seconds(app)
        total = state.usable_resource.memory_mib
        now_ms = self._clock.now_ms()
        if wait := self.why.diagnostics(app):
            app = replace(app, diagnostics=wait)
        return ApplicationView(
            application=app,
            attempt=attempt,
            am_container=am_container,
            am_node=am_node,
            progress=_progress(app, runtime.dialogue.progress if runtime is not None else 0.0),
            used=used,
            running_containers=usage.allocated_containers,
            memory_mib_s=memory_mib_s,
            vcore_s=vcore_s,
            preempted=done.preempted if done is not None else NOTHING_PREEMPTED,
            pending_containers=pending_count,
            pending=pending,
            starting_containers=usage.starting_containers,
            starting=usage.starting,
            reserved_containers=reserved_count,
            reserved=reserved,
            cluster_share_percent=100.0 * used.memory_mib / total if total else 0.0,
            elapsed_ms=max(0, (app.finished_ms or now_ms) - app.submitted_ms),
            amrm_token=self._unmanaged_token(app, attempt, for_user),
        )

    def _unmanaged_token(self, app: Application, attempt: Attempt | None, for_user: str | None) -> Token | None:
        if attempt is None or not app.submission.is_unmanaged or for_user != app.submission.user:
            return None
        # Also while it runs: an unmanaged AM that was restarted fetches it again (RMAppImpl gives it to the owner).
        return self._tokens.amrm_token(attempt.id) if not attempt.state.is_final else None

    def _seconds(self, app: Application) -> tuple[int, int]:
        """Integrals of memory and cores over time: completed containers, and live ones up to now."""
        done = self._state.usage.seconds.get(app.id)
        memory, cores = (done.memory_mib_s, done.vcore_s) if done is not None else (0, 0)
        if not app.state.is_final and app.current_attempt:
            now_ms = self._clock.now_ms()
            for container in self._state.containers_of(app.current_attempt_id):
                if container.is_live:
                    duration_s = max(0, now_ms - container.created_ms) // 1000
                    memory += container.capability.memory_mib * duration_s
                    cores += container.capability.vcores * duration_s
        return memory, cores

    def _node_view(self, node: Node) -> NodeView:
        usage = self._state.usage.by_node.get(node.id, _UNUSED)
        pools = self._state.pools
        published = tuple(name for pool in pools.drawn_on if pools.is_published(pool) for name in pools.resources(pool))
        return NodeView(node=self.as_lent(node), used=usage.resource, containers=usage.containers, published=published)


async def _nobody(_: Mapping[str, Resource]) -> Mapping[str, Mapping[ApplicationId, int]]:
    return {}


def _within(value_ms: int, from_ms: int, to_ms: int | None) -> bool:
    return value_ms >= from_ms and (to_ms is None or value_ms <= to_ms)


def _progress(app: Application, reported: float) -> float:
    """0..1.  A finished application is whole; a failed or killed one shows what RMAppImpl shows."""
    if app.state in (ApplicationState.FINISHED, ApplicationState.FINISHING, ApplicationState.KILLED):
        return 1.0
    return reported
