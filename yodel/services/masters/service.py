"""The ApplicationMaster's dialogue: register, allocate, finish (ApplicationMasterService).

A heartbeat records and collects; it never waits for Kubernetes and decides nothing: the tick does.  What goes out is on
disk first: containers are ACQUIRED by a commit before the response leaves.  A beat that has nothing to write touches
neither disk nor queue and is answered synchronously.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from yodel.domain.application import Application
from yodel.domain.ask_rules import DEFAULT_RULES, AskRules
from yodel.domain.attempt import Attempt
from yodel.domain.constraints import Constraint
from yodel.domain.container import Container
from yodel.domain.container_update import SizeLimits, UpdateError, Updates, judge
from yodel.domain.effects import Tell
from yodel.domain.events import (
    AmRegistered,
    AmUnregistered,
    ContainerAcquired,
    ContainerUpdateAcknowledged,
    DecreaseRequested,
    StopRequested,
    TrackingUrlChanged,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerExitStatus,
    ContainerState,
    ContainerUpdateType,
    FinalApplicationStatus,
)
from yodel.domain.tokens import Token
from yodel.errors import (
    AlreadyRegistered,
    AttemptNotServed,
    InvalidResourceRequest,
    InvalidResponseId,
    InvalidValue,
    NotRegistered,
    UnknownToCache,
)
from yodel.pb_convert.submission import log_aggregation_context
from yodel.ports.clock import Clock
from yodel.services.keys.tokens import TokenIssuer, told_of
from yodel.services.masters.allocate import AllocateRequest, AllocateResult, Granted, MasterRegistration
from yodel.services.masters.beat import NO_CHANGE, BeatJudge, JudgedBeat
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.dialogue import Sizes
from yodel.services.writer.engine import Engine
from yodel.services.writer.maximum import MaximumAllocation
from yodel.services.writer.outbox import AttemptOutbox
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ask_key
from yodel.services.writer.transaction import Transaction
from yodel.telemetry.further_limits import CONSTRAINTS_REGISTERED
from yodel.telemetry.limits import REFUSALS

RESPONSE_ID_MASK = 0x7FFFFFFF  # ApplicationMasterService: response ids wrap at 31 bits
GRANTS_PER_BEAT_MAX = 1_000
CONSTRAINTS_MAX = 1_000
"""Constraints that one ApplicationMaster may register."""
FINISHING = AttemptState.FINISHING
SERVED = (AttemptState.RUNNING, FINISHING)
"""Attempts whose heartbeats are answered."""
HELD = (ContainerState.ACQUIRED, ContainerState.RUNNING)
TEXT_LENGTH_MAX = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Holds counts of the whole cluster, valid until a row changes."""

    version: int = -1
    cores: int = 0


class MasterService:
    """One instance serves all attempts; calls of one attempt are taken one after another."""

    def __init__(
        self,
        engine: Engine,
        tokens: TokenIssuer,
        clock: Clock,
        maximum: MaximumAllocation,
        wake_scheduler: Callable[[], None],
        acknowledged: Callable[[Sequence[ContainerId]], object],
        quotas: Quotas,
        rules: AskRules = DEFAULT_RULES,
    ) -> None:
        """``acknowledged`` gets the containers of whose end an ApplicationMaster has been notified."""
        self._engine, self._tokens, self._clock, self._rules = engine, tokens, clock, rules
        self._acknowledged = acknowledged
        self._judge = BeatJudge(engine, rules, maximum.require_allowed)
        self._maximum = maximum
        self._wake_scheduler, self._quotas = wake_scheduler, quotas
        self._busy: dict[ApplicationAttemptId, asyncio.Future[None]] = {}
        self._counts = _Counts()
        self._log_contexts: dict[ApplicationId, bytes] = {}

    @property
    def minimum(self) -> Resource:
        """The minimum allocation."""
        return self._rules.minimum

    async def register(
        self,
        attempt_id: ApplicationAttemptId,
        host: str,
        rpc_port: int,
        tracking_url: str,
        constraints: Sequence[tuple[Sequence[str], Constraint]] = (),
    ) -> MasterRegistration:
        """registerApplicationMaster.  ``constraints`` are by allocation tag; as in Hadoop, one for several tags at once
        counts for nothing.

        Raises:
            UnknownToCache: the attempt has ended or never was.
            AlreadyRegistered: it registered before, in this life of the RM.
            InvalidResourceRequest: there are too many constraints.
        """
        attempt, runtime = self._live(attempt_id)
        if attempt is None or runtime is None:
            raise UnknownToCache(attempt_id)
        application = self._engine.state.applications[attempt_id.application_id]
        may_again = application.submission.is_unmanaged and application.submission.keep_containers_across_attempts
        if runtime.dialogue.is_registered and not may_again:
            raise AlreadyRegistered(f"Application Master is already registered : {attempt_id.application_id}")
        for name, text in (("host", host), ("tracking_url", tracking_url)):
            if len(text) > TEXT_LENGTH_MAX:
                raise InvalidValue(name, text[:80], f"at most {TEXT_LENGTH_MAX} characters")
        if (count := len(constraints)) > CONSTRAINTS_MAX:
            user = application.submission.user
            REFUSALS.tell(CONSTRAINTS_REGISTERED, caller=user, value=count, maximum=CONSTRAINTS_MAX)
            words = CONSTRAINTS_REGISTERED.words(count, CONSTRAINTS_MAX)
            raise InvalidResourceRequest(f"Too many placement constraints: {words}")
        # One that registers again asks for what an earlier life let it ask for, whatever nodes there are now.
        is_again = attempt.state in SERVED
        await self._engine.tell(Tell(attempt.id, AmRegistered(host, rpc_port, tracking_url)))
        by_tag = {tags[0]: constraint for tags, constraint in constraints if len(tags) == 1}
        queue = application.submission.queue
        told = self._maximum.of_queue(queue)
        sizes = Sizes(told=told, allowed=self._maximum.configured_of(queue) if is_again else told)
        runtime.dialogue.registered(self._clock.monotonic_s(), by_tag, sizes)
        previous = self._previous_containers(application)
        return MasterRegistration(
            application=self._engine.state.applications[attempt_id.application_id],
            maximum_capability=told,
            client_key=attempt.client_key,
            previous_containers=previous,
            nm_tokens=self._nm_tokens(runtime, application.submission.user, previous),
        )

    def allocate(
        self, attempt_id: ApplicationAttemptId, request: AllocateRequest
    ) -> AllocateResult | asyncio.Future[None] | None:
        """The synchronous part of a beat: the result when nothing has to be written, else None: see ``allocate_slow``.

        Raises:
            AttemptNotServed, NotRegistered, InvalidResponseId, InvalidResourceRequest, InvalidBlacklistRequest,
            InvalidReleaseRequest: nothing was changed.
        """
        if self._busy and (busy := self._busy.get(attempt_id)) is not None:
            return busy
        attempt, runtime, replay = self._enter(attempt_id, request)
        if replay is not None:
            return replay
        if self._writes(attempt, runtime, request):
            return None
        self._record(runtime, self._heard(attempt, runtime, request), request.progress)
        has_news = runtime.outbox.has_news
        return self._answer(runtime, self._with_news(runtime) if has_news else self._counted(runtime))

    async def allocate_slow(self, attempt_id: ApplicationAttemptId, request: AllocateRequest) -> AllocateResult:
        """A beat that writes.  Raises as ``allocate``."""
        while (busy := self._busy.get(attempt_id)) is not None:
            await asyncio.wait([busy])
        attempt, runtime, replay = self._enter(attempt_id, request)
        if replay is not None:
            return replay
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy[attempt_id] = future
        try:
            return await self._process(attempt, runtime, request)
        finally:
            del self._busy[attempt_id]
            future.set_result(None)

    def own_id(self, attempt_id: ApplicationAttemptId) -> ApplicationAttemptId:
        """Return the object that the attempt's row has as its id: a look-up by it compares no numbers."""
        attempt = self._engine.state.attempts.get(attempt_id)
        return attempt_id if attempt is None else attempt.id

    def answered_before(self, attempt_id: ApplicationAttemptId, response_id: int) -> AllocateResult | None:
        """The stored response when this is a repeat of the last beat.  Raises as ``allocate`` does of who calls."""
        return self._enter(attempt_id, AllocateRequest(response_id=response_id))[2]

    async def finish(
        self,
        attempt_id: ApplicationAttemptId,
        final_status: FinalApplicationStatus,
        diagnostics: str,
        tracking_url: str,
    ) -> bool:
        """finishApplicationMaster: True once the end is stored; the first call says False, as Hadoop's does.

        Raises:
            UnknownToCache, NotRegistered.
        """
        application = self._engine.state.applications.get(attempt_id.application_id)
        if application is not None and (application.state is ApplicationState.FINISHING or application.state.is_final):
            return True  # whatever the attempt (RMAppImpl.isAppFinalStateStored)
        attempt, runtime = self._live(attempt_id)
        if attempt is None or runtime is None:
            raise UnknownToCache(attempt_id)
        if not runtime.dialogue.is_registered:
            raise NotRegistered(
                f"Application Master is trying to unregister before registering for: {attempt_id.application_id}"
            )

        def work(tx: Transaction) -> None:
            event = AmUnregistered(final_status, diagnostics, tracking_url, tx.now_ms)
            tx.tell(attempt_id, event)

        await self._engine.do(work)
        return attempt.is_unmanaged

    def _live(self, attempt_id: ApplicationAttemptId) -> tuple[Attempt | None, AttemptRuntime | None]:
        """The attempt while it is served (the responseMap of ApplicationMasterService)."""
        attempt = self._engine.state.attempts.get(attempt_id)
        runtime = self._engine.state.masters.runtimes.get(attempt_id)
        return (None, None) if attempt is None or attempt.state.is_final else (attempt, runtime)

    def _enter(
        self, attempt_id: ApplicationAttemptId, request: AllocateRequest
    ) -> tuple[Attempt, AttemptRuntime, AllocateResult | None]:
        """Return the caller's attempt and runtime; for a repeated heartbeat also the stored response."""
        state = self._engine.state
        attempt, runtime = state.attempts.get(attempt_id), state.masters.runtimes.get(attempt_id)
        if attempt is None or runtime is None:
            raise AttemptNotServed(attempt_id)
        dialogue = runtime.dialogue
        if not dialogue.is_registered or attempt.state not in SERVED:
            if attempt.state.is_final:
                raise AttemptNotServed(attempt_id)
            raise NotRegistered(
                f"AM is not registered for known application attempt: {attempt_id} or RM had restarted "
                "after AM registered.  AM should re-register."
            )
        dialogue.heard(self._clock.monotonic_s())
        if request.response_id == dialogue.response_id:
            return attempt, runtime, None
        stored = dialogue.last_response
        if (request.response_id + 1) & RESPONSE_ID_MASK == dialogue.response_id and isinstance(stored, AllocateResult):
            return attempt, runtime, stored
        raise InvalidResponseId(
            f"Invalid responseId in AllocateRequest from application attempt: {attempt_id}, expect responseId to be "
            f"{dialogue.response_id}, but get {request.response_id}"
        )

    def _heard(self, attempt: Attempt, runtime: AttemptRuntime, request: AllocateRequest) -> JudgedBeat:
        """Judge a heartbeat.  Of an ApplicationMaster that has unregistered it is only a liveness signal, answered with
        EMPTY_ALLOCATION and the ended containers (DefaultAMSProcessor)."""
        beat = self._judge.judged(request, runtime)
        if attempt.state is not FINISHING:
            return beat
        runtime.outbox.withdraw_all()
        return NO_CHANGE

    def _writes(self, attempt: Attempt, runtime: AttemptRuntime, request: AllocateRequest) -> bool:
        """Return True if something has to be written before the answer: looked at before the beat is judged, which
        happens once."""
        url = request.tracking_url
        is_heard = attempt.state is not FINISHING
        return (
            bool(runtime.outbox.updates_delivered)
            or (is_heard and bool(request.releases or request.updates or runtime.outbox.granted))
            or (is_heard and bool(url) and url != attempt.tracking_url)
        )

    def _record(self, runtime: AttemptRuntime, beat: JudgedBeat, progress: float) -> None:
        """Record asks, blacklist, progress and what the heartbeat acknowledges, in memory only, and wake the scheduler
        if a decision depends on the change."""
        self._engine.state.change_counters.heartbeat_received()
        if acknowledged := runtime.outbox.take_delivered():
            self._acknowledged(acknowledged)
        if beat is not NO_CHANGE:
            is_changed = runtime.wishes.take(beat.asks, self._rules.count_max)  # or raises: nothing was changed so far
            if beat.blacklist is not None:
                is_changed |= runtime.wishes.avoid(beat.blacklist)
            if is_changed:
                self._wake_scheduler()
        runtime.dialogue.progressed(progress)

    async def _process(self, attempt: Attempt, runtime: AttemptRuntime, request: AllocateRequest) -> AllocateResult:
        owner, outbox, beat = runtime.attempt_id, runtime.outbox, self._heard(attempt, runtime, request)
        self._record(runtime, beat, request.progress)
        tracking_url = None if attempt.state is FINISHING else request.tracking_url
        seen_updates = dict(outbox.updates_delivered)
        offered = outbox.granted[:GRANTS_PER_BEAT_MAX]
        updates = self._judged_updates(runtime, beat)

        def work(tx: Transaction) -> list[ContainerId]:
            for container_id, version in seen_updates.items():
                if tx.has(container_id):
                    tx.tell(container_id, ContainerUpdateAcknowledged(version))
            for container_id, target in updates.decreases.items():
                if tx.has(container_id):
                    tx.tell(container_id, DecreaseRequested(target))
            for container_id in beat.releases:
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
            if tracking_url:
                tx.tell(owner, TrackingUrlChanged(tracking_url[:TEXT_LENGTH_MAX]))
            return taken

        taken = await self._engine.do(work)
        self._take_increases(runtime, updates)
        granted = self._hand_over(runtime, offered, taken)
        return self._answer(runtime, self._with_news(runtime, granted, updates.errors))

    def _preempted(self, outbox: AttemptOutbox, granted: Sequence[Granted]) -> list[Container]:
        found = map(self._engine.state.containers.get, outbox.take_preempted([one.container.id for one in granted]))
        return [container for container in found if container is not None and container.is_live]

    def _judged_updates(self, runtime: AttemptRuntime, beat: JudgedBeat) -> Updates:
        def own(container_id: ContainerId) -> Container | None:
            is_own = container_id.application_id == runtime.attempt_id.application_id
            return self._engine.state.containers.get(container_id) if is_own else None

        allowed = runtime.dialogue.sizes.allowed
        return judge(beat.updates, own, SizeLimits(minimum=self._rules.minimum, maximum=allowed))

    def _take_increases(self, runtime: AttemptRuntime, updates: Updates) -> None:
        runtime.wishes.resize(updates.increases, updates.withdrawn)
        if updates.increases:
            self._wake_scheduler()

    def _updated(self, runtime: AttemptRuntime) -> list[tuple[ContainerUpdateType, Granted]]:
        found = []
        for container_id in runtime.outbox.take_updated():
            granted = self._granted(container_id)
            kind = granted.container.update_type if granted is not None else None
            if granted is not None and kind is not None and granted.container.is_live:
                found.append((kind, granted))
        runtime.outbox.told_versions({g.container.id: g.container.version for _, g in found})
        return found

    def _hand_over(
        self, runtime: AttemptRuntime, offered: Sequence[ContainerId], taken: Sequence[ContainerId]
    ) -> list[Granted]:
        self._engine.state.change_counters.heartbeat_received()
        runtime.outbox.handed_over(offered)
        granted = []
        for container_id in taken:
            one = self._granted(container_id)
            if one is None:
                continue
            granted.append(one)
            runtime.wishes.handed_over(ask_key(one.container), container_id, one.node.id.host, one.node.rack)
        if granted:  # fewer lines of a wish may leave it another place to go
            self._wake_scheduler()
        return granted

    def _granted(self, container_id: ContainerId) -> Granted | None:
        state = self._engine.state
        container = state.containers.get(container_id)
        if container is None or container.node_id is None:
            return None
        node = state.nodes.get(container.node_id)
        if node is None:
            return None
        told = told_of(state.attempts.get(container_id.attempt_id))
        log_context = self._log_context(container_id)
        token = self._tokens.container_token(container, self._clock.now_ms(), log_context, told)
        return Granted(container=container, node=node, token=token)

    def _log_context(self, container_id: ContainerId) -> bytes:
        """Return the submission's context for log aggregation by node agents, read once per application."""
        application_id = container_id.application_id
        found = self._log_contexts.get(application_id)
        if found is None:
            live = self._engine.state.index.live
            self._log_contexts = {i: context for i, context in self._log_contexts.items() if i in live}
            found = log_aggregation_context(self._engine.state.applications[application_id].submission.context)
            self._log_contexts[application_id] = found
        return found

    def _nm_tokens(self, runtime: AttemptRuntime, user: str, granted: Sequence[Granted]) -> list[tuple[NodeId, Token]]:
        """One token for each node the attempt has not had one for, signed with the key in use (NMTokenCache)."""
        key_id = self._tokens.current("nm").key_id
        fresh = runtime.dialogue.tokens_due((g.node.id for g in granted), key_id)
        return [(node_id, self._tokens.nm_token(runtime.attempt_id, node_id, user)) for node_id in fresh]

    def _previous_containers(self, application: Application) -> list[Granted]:
        """Everything the application holds (AbstractYarnScheduler.getTransferredContainers): for an AM that registers
        again that is its own too, and an unmanaged one, whose attempt is the same, learns of it only here."""
        if not application.submission.keep_containers_across_attempts:
            return []
        found = []
        for attempt in self._engine.state.attempts_of(application.id):
            held = (c for c in self._engine.state.containers_of(attempt.id) if c.state in HELD and not c.is_am)
            found += [g for g in (self._granted(c.id) for c in held) if g is not None]
        return found

    def _counted(self, runtime: AttemptRuntime) -> AllocateResult:
        """The next answer, with nothing in it but counts."""
        state = self._engine.state
        submission = state.applications[runtime.attempt_id.application_id].submission
        return AllocateResult(
            response_id=(runtime.dialogue.response_id + 1) & RESPONSE_ID_MASK,
            headroom=self._quotas.headroom(submission.queue, submission.user),
            node_count=state.node_index.usable_count,
            priority=submission.priority,
            pending_count=state.masters.wanted.count + state.masters.awaited,
            active_cores=self._cluster_counts().cores,
        )

    def _answer(self, runtime: AttemptRuntime, result: AllocateResult) -> AllocateResult:
        runtime.dialogue.answered(result.response_id, result)
        return result

    def _with_news(
        self, runtime: AttemptRuntime, granted: Sequence[Granted] = (), errors: Sequence[UpdateError] = ()
    ) -> AllocateResult:
        """Return the next answer, with all that is to be told."""
        updated, state, outbox = self._updated(runtime), self._engine.state, runtime.outbox
        user = state.applications[runtime.attempt_id.application_id].submission.user
        return replace(
            self._counted(runtime),
            granted=granted,
            nm_tokens=self._nm_tokens(runtime, user, [*granted, *(g for _, g in updated)]),
            completed=[state.containers[i] for i in outbox.take_completed() if i in state.containers],
            changed_nodes=[state.nodes[i] for i in outbox.take_changed_nodes() if i in state.nodes],
            updated=updated,
            update_errors=[*errors, *outbox.take_update_errors()],
            rejected=outbox.take_rejected(),
            preempted=self._preempted(outbox, granted),
        )

    def _cluster_counts(self) -> _Counts:
        state = self._engine.state
        if self._counts.version != state.change_counters.version:
            total, used = state.total_resource, state.usage.cluster.resource
            self._counts = _Counts(version=state.change_counters.version, cores=max(total.vcores, used.vcores))
        return self._counts
