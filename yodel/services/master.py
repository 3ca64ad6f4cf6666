"""The ApplicationMaster's dialogue: register, allocate, finish (ApplicationMasterService).

A heartbeat records and collects; it never waits for Kubernetes and decides nothing: the tick does.  What goes out is on
disk first: containers are ACQUIRED by a commit before the response leaves.  A beat that brings nothing and finds
nothing touches neither disk nor queue and is answered synchronously.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from yodel.domain.application import Application
from yodel.domain.ask_book import Ask
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.effects import Tell
from yodel.domain.events import (
    AmRegistered,
    AmUnregistered,
    ContainerAcquired,
    ContainerCompletionAcknowledged,
    StopRequested,
    TrackingUrlChanged,
)
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.resource import Resource
from yodel.domain.states import (
    AttemptState,
    ContainerExitStatus,
    ContainerState,
    FinalApplicationStatus,
)
from yodel.domain.tokens import Token
from yodel.errors import (
    AlreadyRegistered,
    ApplicationAttemptNotFound,
    InvalidResourceRequest,
    InvalidResponseId,
    InvalidValue,
    NotRegistered,
)
from yodel.ports.clock import Clock
from yodel.services.engine import Engine, Transaction
from yodel.services.state import AttemptRuntime, ask_key
from yodel.services.tokens import TokenIssuer

RESPONSE_ID_MASK = 0x7FFFFFFF  # ApplicationMasterService: response ids wrap at 31 bits
ASKS_PER_BEAT_MAX = 20_000
RELEASES_PER_BEAT_MAX = 20_000
BLACKLIST_MAX = 10_000
GRANTS_PER_BEAT_MAX = 1_000
TEXT_LENGTH_MAX = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateRequest:
    response_id: int
    asks: Sequence[Ask] = ()
    releases: Sequence[ContainerId] = ()
    blacklist_additions: Sequence[str] = ()
    blacklist_removals: Sequence[str] = ()
    progress: float = 0.0
    tracking_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A container in an allocate response, with the right to start it."""

    container: Container
    node: Node
    token: Token


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateResult:
    response_id: int
    headroom: Resource
    node_count: int
    priority: int
    pending_count: int = 0
    granted: Sequence[Granted] = ()
    nm_tokens: Sequence[tuple[NodeId, Token]] = ()
    completed: Sequence[Container] = ()
    changed_nodes: Sequence[Node] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    application: Application
    maximum_capability: Resource
    previous_containers: Sequence[Granted] = field(default=())
    nm_tokens: Sequence[tuple[NodeId, Token]] = field(default=())


class MasterService:
    """One instance serves all attempts; calls of one attempt are taken one after another."""

    def __init__(
        self,
        engine: Engine,
        tokens: TokenIssuer,
        clock: Clock,
        require_allowed: Callable[[Resource], None],
        maximum_capability: Resource,
        wake_scheduler: Callable[[], None],
    ) -> None:
        self._engine, self._tokens, self._clock = engine, tokens, clock
        self._require_allowed, self._maximum = require_allowed, maximum_capability
        self._wake_scheduler = wake_scheduler
        self._busy: dict[ApplicationAttemptId, asyncio.Future[None]] = {}

    async def register(
        self, attempt_id: ApplicationAttemptId, host: str, rpc_port: int, tracking_url: str
    ) -> Registration:
        """registerApplicationMaster.

        Raises:
            ApplicationAttemptNotFound: the attempt has ended or never was.
            AlreadyRegistered: it registered before, in this life of the RM.
        """
        attempt, runtime = self._live(attempt_id)
        application = self._engine.state.applications[attempt_id.application_id]
        may_again = application.submission.is_unmanaged and application.submission.keep_containers_across_attempts
        if runtime.is_registered and not may_again:
            raise AlreadyRegistered(f"Application Master is already registered : {attempt_id.application_id}")
        for name, text in (("host", host), ("tracking_url", tracking_url)):
            if len(text) > TEXT_LENGTH_MAX:
                raise InvalidValue(name, text[:80], f"at most {TEXT_LENGTH_MAX} characters")
        await self._engine.tell(Tell(attempt.id, AmRegistered(host, rpc_port, tracking_url)))
        runtime.is_registered, runtime.response_id, runtime.last_response = True, 0, None
        runtime.last_seen_s = self._clock.monotonic_s()
        previous = self._previous_containers(application, attempt_id)
        return Registration(
            application=self._engine.state.applications[attempt_id.application_id],
            maximum_capability=self._maximum,
            previous_containers=previous,
            nm_tokens=self._nm_tokens(runtime, application.submission.user, previous),
        )

    def allocate(
        self, attempt_id: ApplicationAttemptId, request: AllocateRequest
    ) -> AllocateResult | asyncio.Future[None] | None:
        """The synchronous part of a beat: the result when nothing has to be written, else None: see ``allocate_slow``.

        Raises:
            ApplicationAttemptNotFound, NotRegistered, InvalidResponseId, InvalidResourceRequest: nothing was changed.
        """
        busy = self._busy.get(attempt_id)
        if busy is not None:
            return busy
        runtime, replay = self._enter(attempt_id, request)
        if replay is not None:
            return replay
        if self._has_work(runtime, request):
            return None
        self._record(runtime, request)
        return self._answer(runtime, (), (), (), ())

    async def allocate_slow(self, attempt_id: ApplicationAttemptId, request: AllocateRequest) -> AllocateResult:
        """A beat that writes.  Raises as ``allocate``."""
        while (busy := self._busy.get(attempt_id)) is not None:
            await asyncio.wait([busy])
        runtime, replay = self._enter(attempt_id, request)
        if replay is not None:
            return replay
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy[attempt_id] = future
        try:
            return await self._process(runtime, request)
        finally:
            del self._busy[attempt_id]
            future.set_result(None)

    async def finish(
        self,
        attempt_id: ApplicationAttemptId,
        final_status: FinalApplicationStatus,
        diagnostics: str,
        tracking_url: str,
    ) -> bool:
        """finishApplicationMaster: True once the end is stored; the first call says False, as Hadoop's does.

        Raises:
            ApplicationAttemptNotFound, NotRegistered.
        """
        attempt = self._engine.state.attempts.get(attempt_id)
        if attempt is not None and attempt.state in (AttemptState.FINISHING, AttemptState.FINISHED):
            return True
        attempt, runtime = self._live(attempt_id)
        if not runtime.is_registered:
            raise NotRegistered(
                f"Application Master is trying to unregister before registering for: {attempt_id.application_id}"
            )

        def work(tx: Transaction) -> None:
            event = AmUnregistered(final_status, diagnostics, tracking_url, tx.now_ms)
            tx.tell(attempt_id, event)

        await self._engine.do(work)
        return attempt.is_unmanaged

    def _live(self, attempt_id: ApplicationAttemptId) -> tuple[Attempt, AttemptRuntime]:
        attempt = self._engine.state.attempts.get(attempt_id)
        runtime = self._engine.state.runtimes.get(attempt_id)
        if attempt is None or runtime is None or attempt.state.is_final:
            raise ApplicationAttemptNotFound(attempt_id, "ApplicationMasterService cache")
        return attempt, runtime

    def _enter(
        self, attempt_id: ApplicationAttemptId, request: AllocateRequest
    ) -> tuple[AttemptRuntime, AllocateResult | None]:
        """Check who calls and the response id; a repeat of the last beat gets the stored response."""
        attempt, runtime = self._live(attempt_id)
        if not runtime.is_registered or attempt.state not in (AttemptState.RUNNING, AttemptState.FINISHING):
            raise NotRegistered(
                f"AM is not registered for known application attempt: {attempt_id} or RM had restarted "
                "after AM registered. AM should re-register."
            )
        runtime.last_seen_s = self._clock.monotonic_s()
        if request.response_id == runtime.response_id:
            self._check(request)
            return runtime, None
        stored = runtime.last_response
        if (request.response_id + 1) & RESPONSE_ID_MASK == runtime.response_id and isinstance(stored, AllocateResult):
            return runtime, stored
        raise InvalidResponseId(
            f"Invalid responseId in AllocateRequest from application attempt: {attempt_id}, expect responseId to be "
            f"{runtime.response_id}, but get {request.response_id}"
        )

    def _check(self, request: AllocateRequest) -> None:
        for name, items, most in (
            ("ask", request.asks, ASKS_PER_BEAT_MAX),
            ("release", request.releases, RELEASES_PER_BEAT_MAX),
            ("blacklist_additions", request.blacklist_additions, BLACKLIST_MAX),
        ):
            if len(items) > most:
                raise InvalidResourceRequest(f"{name}: {len(items)} entries in one allocate call; at most {most}")
        for ask in request.asks:
            if ask.count < 0:
                raise InvalidResourceRequest(f"Invalid ask: negative number of containers {ask.count}")
            self._require_allowed(ask.key.capability)

    def _has_work(self, runtime: AttemptRuntime, request: AllocateRequest) -> bool:
        attempt = self._engine.state.attempts[runtime.attempt_id]
        url_changed = bool(request.tracking_url) and request.tracking_url != attempt.tracking_url
        return (
            bool(request.releases or runtime.granted or runtime.completed or runtime.changed_nodes or runtime.delivered)
            or url_changed
        )

    def _record(self, runtime: AttemptRuntime, request: AllocateRequest) -> None:
        """What lives in memory only: asks, blacklist, progress."""
        for ask in request.asks:
            runtime.asks.replace(ask)
        if request.blacklist_additions or request.blacklist_removals:
            runtime.blacklist.update(request.blacklist_additions)
            runtime.blacklist.difference_update(request.blacklist_removals)
        progress = request.progress
        runtime.progress = 0.0 if progress != progress or progress < 0 else min(progress, 1.0)
        if request.asks:
            self._wake_scheduler()

    async def _process(self, runtime: AttemptRuntime, request: AllocateRequest) -> AllocateResult:
        self._record(runtime, request)
        acknowledged = tuple(runtime.delivered)
        offered = runtime.granted[:GRANTS_PER_BEAT_MAX]
        owner = runtime.attempt_id

        def work(tx: Transaction) -> list[ContainerId]:
            for container_id in acknowledged:
                if tx.has(container_id):
                    tx.tell(container_id, ContainerCompletionAcknowledged())
            for container_id in request.releases:
                if container_id.application_id == owner.application_id and tx.has(container_id):
                    event = StopRequested(ContainerExitStatus.ABORTED, "Container released by application", tx.now_ms)
                    tx.tell(container_id, event)
            taken = []
            for container_id in offered:
                state = tx.container(container_id).state if tx.has(container_id) else None
                if state is ContainerState.ALLOCATED:
                    tx.tell(container_id, ContainerAcquired())
                # Acquired and still offered: the beat that took it was given up before its answer was made.
                if state in (ContainerState.ALLOCATED, ContainerState.ACQUIRED):
                    taken.append(container_id)
            if request.tracking_url:
                tx.tell(owner, TrackingUrlChanged(request.tracking_url[:TEXT_LENGTH_MAX]))
            return taken

        taken = await self._engine.do(work)
        granted = self._hand_over(runtime, offered, taken)
        completed, runtime.completed = runtime.completed, []
        runtime.delivered = completed
        changed, runtime.changed_nodes = list(runtime.changed_nodes), {}
        state = self._engine.state
        user = state.applications[owner.application_id].submission.user
        return self._answer(
            runtime,
            granted,
            self._nm_tokens(runtime, user, granted),
            [state.containers[i] for i in completed if i in state.containers],
            [state.nodes[i] for i in changed if i in state.nodes],
        )

    def _hand_over(
        self, runtime: AttemptRuntime, offered: Sequence[ContainerId], taken: Sequence[ContainerId]
    ) -> list[Granted]:
        gone = set(offered)
        runtime.granted = [i for i in runtime.granted if i not in gone]
        granted = []
        for container_id in taken:
            one = self._granted(container_id)
            if one is None:
                continue
            granted.append(one)
            key = ask_key(one.container)
            runtime.take_off(key, container_id)
            runtime.asks.handed_over(key, one.node.id.host, one.node.rack)
        return granted

    def _granted(self, container_id: ContainerId) -> Granted | None:
        state = self._engine.state
        container = state.containers.get(container_id)
        if container is None or container.node_id is None:
            return None
        node = state.nodes.get(container.node_id)
        if node is None:
            return None
        return Granted(
            container=container, node=node, token=self._tokens.container_token(container, self._clock.now_ms())
        )

    def _nm_tokens(self, runtime: AttemptRuntime, user: str, granted: Sequence[Granted]) -> list[tuple[NodeId, Token]]:
        """One token for each node the attempt has not had one for."""
        fresh = {g.node.id: None for g in granted if g.node.id not in runtime.nm_tokens_sent}
        runtime.nm_tokens_sent.update(fresh)
        return [(node_id, self._tokens.nm_token(runtime.attempt_id, node_id, user)) for node_id in fresh]

    def _previous_containers(self, application: Application, attempt_id: ApplicationAttemptId) -> list[Granted]:
        if not application.submission.keep_containers_across_attempts:
            return []
        found = []
        for attempt in self._engine.state.attempts_of(application.id):
            if attempt.id == attempt_id:
                continue
            live = (c for c in self._engine.state.containers_of(attempt.id) if c.is_live and not c.is_am)
            found += [g for g in (self._granted(c.id) for c in live) if g is not None]
        return found

    def _answer(
        self,
        runtime: AttemptRuntime,
        granted: Sequence[Granted],
        nm_tokens: Sequence[tuple[NodeId, Token]],
        completed: Sequence[Container],
        changed_nodes: Sequence[Node],
    ) -> AllocateResult:
        state = self._engine.state
        application = state.applications[runtime.attempt_id.application_id]
        result = AllocateResult(
            response_id=(runtime.response_id + 1) & RESPONSE_ID_MASK,
            headroom=(state.usable_resource - state.cluster_usage.resource).at_least_zero(),
            node_count=state.usable_count,
            priority=application.submission.priority,
            pending_count=runtime.asks.pending()[0],
            granted=granted,
            nm_tokens=nm_tokens,
            completed=completed,
            changed_nodes=changed_nodes,
        )
        runtime.response_id, runtime.last_response = result.response_id, result
        return result
