"""The single writer.  Every change of a row goes through here: decide on an overlay, commit, publish, perform.

Work items queue up while a commit is under way and share the next one (group commit), each with an overlay of its own,
so that one that fails leaves no trace.  Persist, then act, then answer: effects are performed, and callers resumed,
only after the rows that caused them are on disk.

Every batch has a number that is written with it.  When the store's answer to a batch is lost, nothing else is decided
until the store has told whether that number is there: a caller is told what is so, and memory follows the disk.  As
long as the store is silent callers who come are refused, which their protocol retries.

Work that nobody waits for at the other end of a wire (a pod was bound) may say so.  The first is written at once; while
more of it comes, it is written every ``company_s``, or with whatever is in a hurry: a commit costs as much as ten rows.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import structlog

from yodel.domain.application import APPLICATION_MACHINE, Application, tracking_page_hint
from yodel.domain.attempt import ATTEMPT_MACHINE, Attempt
from yodel.domain.container import CONTAINER_MACHINE, Container
from yodel.domain.effects import (
    CleanUpApplication,
    ExpectAttempt,
    OutsideEffect,
    StartAttempt,
    StopContainers,
    StopContainersOnNode,
    Tell,
)
from yodel.domain.events import AmContainerCompleted, StopRequested
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import NODE_MACHINE, Node
from yodel.domain.past import PastUsage, PastUsageId, remembered
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState
from yodel.errors import ApplicationAttemptNotFound, ApplicationNotFound, ContainerNotFound, NodeNotFound, Unavailable
from yodel.ports.clock import Clock
from yodel.ports.store import Commit, FencedOut, OutcomeUnknown, Row, Store
from yodel.services.row_changes import QueueChanges, SecretChanges
from yodel.services.state import ClusterState
from yodel.services.submission_room import without_launch_context

QUEUE_MAX = 10_000
"""Work items that may wait; beyond it callers are refused, which their protocol retries."""
BATCH_MAX = 512
ASK_AGAIN_S = 0.5
"""Between two questions whether a batch was written."""
TELLS_MAX = 100_000
"""Events one work item may cause; a cycle between tables would otherwise spin for ever."""

TargetId = ApplicationId | ApplicationAttemptId | ContainerId | NodeId
EntityId = TargetId | PastUsageId
ResultT = TypeVar("ResultT")
log = structlog.get_logger("yodel.engine")


Follower = Callable[[Sequence[Row], Sequence[ApplicationId]], None]
"""Gets rows that are committed and applications that were forgotten.  Returns at once and raises nothing."""


class Performer(Protocol):
    """Performs effects after their rows are committed.  Returns at once; anything slow is queued by it."""

    def perform(self, effect: OutsideEffect) -> None: ...


class Transaction:
    """One work item's view: committed rows under its own changes."""

    def __init__(
        self, state: ClusterState, below: dict[EntityId, Row], now_ms: int, contexts_below: Counter[str] | None = None
    ) -> None:
        """``contexts_below``: by how much the batch so far changes ``ClusterState.context_bytes``."""
        self._state, self._below = state, below
        self._contexts_below = contexts_below if contexts_below is not None else Counter()
        self.context_bytes: Counter[str] = Counter()
        self.now_ms = now_ms
        self.rows: dict[EntityId, Row] = {}
        self.effects: list[OutsideEffect] = []
        self.application_sequence: int | None = None
        self.queues = QueueChanges()
        self.removed_applications: list[ApplicationId] = []
        self.forgotten: list[Container] = []
        self.secrets = SecretChanges()

    def application(self, application_id: ApplicationId) -> Application:
        row = self._find(application_id, self._state.applications)
        if row is None:
            raise ApplicationNotFound(application_id)
        return cast(Application, row)

    def attempt(self, attempt_id: ApplicationAttemptId) -> Attempt:
        row = self._find(attempt_id, self._state.attempts)
        if row is None:
            raise ApplicationAttemptNotFound(attempt_id)
        return cast(Attempt, row)

    def container(self, container_id: ContainerId) -> Container:
        row = self._find(container_id, self._state.containers)
        if row is None:
            raise ContainerNotFound(container_id)
        return cast(Container, row)

    def node(self, node_id: NodeId) -> Node:
        row = self._find(node_id, self._state.nodes)
        if row is None:
            raise NodeNotFound(node_id)
        return cast(Node, row)

    def has(self, entity_id: EntityId) -> bool:
        return entity_id in self.rows or entity_id in self._below or entity_id in _table(self._state, entity_id)

    def put(self, row: Application | Attempt | Container | Node) -> None:
        if isinstance(row, Application):
            row = without_launch_context(row)
            self._weigh(row)
        self.rows[row.id] = row

    def live_context_bytes(self, user: str) -> int:
        """Of the user's applications that have not ended, with all that this batch changes."""
        return self._state.context_bytes[user] + self._contexts_below[user] + self.context_bytes[user]

    def _weigh(self, row: Application) -> None:
        before = self._find(row.id, self._state.applications)
        for application, sign in ((before, -1), (row, 1)):
            if isinstance(application, Application) and not application.state.is_final:
                self.context_bytes[application.submission.user] += sign * len(application.submission.context)

    def forget(self, container_id: ContainerId) -> None:
        """One that has ended leaves memory; its application keeps what it used.  Once a container and a batch."""
        container = self.container(container_id)
        usage_id = PastUsageId(container_id.application_id, container.node_id)
        usage = self._find(usage_id, self._state.past_usage)
        self.rows[usage_id] = cast(PastUsage, usage or PastUsage(id=usage_id)).plus(container)
        self.forgotten.append(remembered(container))

    def tell(self, target: TargetId, event: Any) -> None:
        """Deliver an event and, in order, all that it causes within this transaction.

        Raises:
            NotFound: no such entity.
            IllegalTransition: the entity's table forbids it.
        """
        pending: list[Tell] = [Tell(target, event)]
        for _ in range(TELLS_MAX):
            if not pending:
                return
            told = pending.pop(0)
            for effect in self._step(told.target, told.event):
                if isinstance(effect, Tell):
                    pending.append(self._with_hint(effect))
                elif isinstance(effect, StopContainers | StopContainersOnNode):
                    pending += self._stops(effect)
                elif isinstance(effect, CleanUpApplication):
                    # An application that has ended has no live container, whichever attempt of it they are of.
                    pending += self._stops_of_all(effect.application_id)
                    self.effects.append(effect)
                elif isinstance(effect, StartAttempt):
                    self.start_attempt(effect.application_id)
                else:
                    self.effects.append(effect)
        raise RuntimeError(f"more than {TELLS_MAX} events from one {type(event).__name__}")

    def start_attempt(self, application_id: ApplicationId) -> Attempt:
        """Make the next attempt.  An unmanaged AM has no container and counts as launched (RMAppAttemptImpl)."""
        application = self.application(application_id)
        attempt_id = ApplicationAttemptId(application_id, application.current_attempt + 1)
        is_unmanaged = application.submission.is_unmanaged
        epoch = self._state.identity.epoch
        attempt = Attempt(
            id=attempt_id,
            state=AttemptState.LAUNCHED if is_unmanaged else AttemptState.SCHEDULED,
            am_container_id=None if is_unmanaged else ContainerId.of(attempt_id, 1, epoch),
            started_ms=self.now_ms,
            container_sequence=1,
            keeps_containers=application.submission.keep_containers_across_attempts and not is_unmanaged,
        )
        self.put(attempt)
        self.put(replace(application, current_attempt=attempt_id.attempt))
        self.effects.append(ExpectAttempt(attempt_id))
        return attempt

    def _step(self, target: TargetId, event: Any) -> tuple[Any, ...]:
        if isinstance(target, ContainerId):
            container = CONTAINER_MACHINE.apply(self.container(target), event)
            self.put(container.entity)
            return container.effects
        if isinstance(target, ApplicationAttemptId):
            attempt = ATTEMPT_MACHINE.apply(self.attempt(target), event)
            self.put(attempt.entity)
            return attempt.effects
        if isinstance(target, ApplicationId):
            application = APPLICATION_MACHINE.apply(self.application(target), event)
            self.put(application.entity)
            return application.effects
        node = NODE_MACHINE.apply(self.node(target), event)
        self.put(node.entity)
        return node.effects

    def _with_hint(self, told: Tell) -> Tell:
        """The end of an AM names the page that tells more: only here is its address known."""
        if not isinstance(told.event, AmContainerCompleted) or not isinstance(told.target, ApplicationAttemptId):
            return told
        hint = tracking_page_hint(self._state.web_address, told.target.application_id)
        return replace(told, event=replace(told.event, diagnostics=told.event.diagnostics + hint))

    def _stops(self, effect: StopContainers | StopContainersOnNode) -> list[Tell]:
        event = StopRequested(effect.exit_status, effect.diagnostics, self.now_ms)
        if isinstance(effect, StopContainers):
            committed: Iterable[Container] = self._state.containers_of(effect.attempt_id)
        else:
            committed = self._state.live_containers()
        ids = {c.id for c in committed}
        for rows in (self._below, self.rows):
            ids |= {i for i in rows if isinstance(i, ContainerId)}
        live = (c for c in map(self.container, sorted(ids)) if c.state is not ContainerState.COMPLETED)
        return [Tell(c.id, event) for c in live if _is_meant(effect, c)]

    def _stops_of_all(self, application_id: ApplicationId) -> list[Tell]:
        status, text = ContainerExitStatus.KILLED_AFTER_APP_COMPLETION, "Container of a completed application"
        ids = (
            ApplicationAttemptId(application_id, n + 1) for n in range(self.application(application_id).current_attempt)
        )
        return [stop for i in ids if self.has(i) for stop in self._stops(StopContainers(i, status, text))]

    def _find(self, entity_id: EntityId, table: dict[Any, Any]) -> Row | None:
        row = self.rows.get(entity_id) or self._below.get(entity_id)
        return row if row is not None else table.get(entity_id)


def _is_meant(effect: StopContainers | StopContainersOnNode, container: Container) -> bool:
    if isinstance(effect, StopContainers):
        is_kept = effect.are_running_kept and container.state is ContainerState.RUNNING and not container.is_am
        return container.id.attempt_id == effect.attempt_id and not is_kept
    return container.node_id == effect.node_id


def _table(state: ClusterState, entity_id: EntityId) -> dict[Any, Any]:
    if isinstance(entity_id, ContainerId):
        return state.containers
    if isinstance(entity_id, ApplicationAttemptId):
        return state.attempts
    if isinstance(entity_id, ApplicationId):
        return state.applications
    return state.past_usage if isinstance(entity_id, PastUsageId) else state.nodes


Work = Callable[[Transaction], ResultT]


@dataclass(frozen=True, slots=True)
class _Item:
    """A work item and who waits for its result."""

    work: Work[Any]
    future: asyncio.Future[Any]
    may_wait: bool = False


class Engine:
    """Runs work items one after another; see the module's docstring.  ``company_s`` 0: nothing waits for company."""

    def __init__(
        self,
        state: ClusterState,
        store: Store,
        clock: Clock,
        company_s: float = 0.0,
        *,
        ask_again_s: float = ASK_AGAIN_S,
    ) -> None:
        self.state, self._store, self._clock, self._company_s = state, store, clock, company_s
        self._ask_again_s = ask_again_s
        self._number = self._last_committed = state.identity.last_commit
        """Of the last batch that was tried, and of the last one that was written."""
        self.doubt: Unavailable | None = None
        """Why it is not known whether a batch was written, while the store is silent."""
        self._company_until_s = float("-inf")
        self._queue: asyncio.Queue[_Item] = asyncio.Queue(QUEUE_MAX)
        self._performer: Performer | None = None
        self._follower: Follower | None = None

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def waiting(self) -> int:
        """Changes that wait to be written."""
        return self._queue.qsize()

    def perform_with(self, performer: Performer) -> None:
        """Who performs effects.  Set once by the composition root, before ``run``."""
        self._performer = performer

    def follow_with(self, follower: Follower) -> None:
        """Who is told of committed rows beside the state.  Set once by the composition root, before ``run``."""
        self._follower = follower

    async def do(self, work: Work[ResultT], *, may_wait: bool = False) -> ResultT:
        """Run a work item and wait until it is on disk.  ``may_wait``: for company, see the module's docstring.

        Raises:
            Unavailable: too much is waiting, or the store did not answer; nothing was changed.
            Exception: whatever the work item raised; nothing was changed.
        """
        if self.doubt is not None:
            raise Unavailable(f"The store is silent: {self.doubt}") from self.doubt
        future: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait(_Item(work, future, may_wait))
        except asyncio.QueueFull as error:
            raise Unavailable(f"{QUEUE_MAX} changes are waiting to be written") from error
        return await future

    async def tell(self, *tells: Tell) -> None:
        """Deliver events in one transaction."""

        def work(tx: Transaction) -> None:
            for told in tells:
                tx.tell(told.target, told.event)

        await self.do(work)

    def forget_application(self, application_id: ApplicationId) -> None:
        """Remove a finished application with all its rows, in one of the next transactions."""

        def work(tx: Transaction) -> None:
            if tx.has(application_id) and tx.application(application_id).state.is_final:
                tx.removed_applications.append(application_id)

        self._later(work)

    def shrink_later(self, application_id: ApplicationId) -> None:
        """Write an application that has ended without what it was launched with, in one of the next transactions."""

        def work(tx: Transaction) -> None:
            if tx.has(application_id):
                tx.put(tx.application(application_id))

        self._later(work)

    def tell_later(self, target: TargetId, event: Any) -> None:
        """Deliver an event without waiting; for facts that will be seen again should the write fail."""

        def work(tx: Transaction) -> None:
            if tx.has(target):
                tx.tell(target, event)

        self._later(work)

    def _later(self, work: Work[None]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_log_failure)
        try:
            self._queue.put_nowait(_Item(work, future))
        except asyncio.QueueFull:
            log.warning("change dropped: it will be seen again", waiting=QUEUE_MAX)
            future.cancel()

    async def run(self) -> None:
        """The writer's loop.  Ends only by cancellation or when the store fences us out.

        Raises:
            FencedOut: the store is another's, or has forgotten what it had written: only a restart knows what is so.
        """
        while True:
            batch = [await self._queue.get()]
            self._take_waiting(batch)
            if all(item.may_wait for item in batch):
                await self._keep_company(batch)
            await self._run_batch(batch)

    def _take_waiting(self, batch: list[_Item]) -> None:
        while len(batch) < BATCH_MAX and not self._queue.empty():
            batch.append(self._queue.get_nowait())

    async def _keep_company(self, batch: list[_Item]) -> None:
        """Wait for more while the last of this kind were written a moment ago, and nobody is in a hurry."""
        loop = asyncio.get_running_loop()
        while len(batch) < BATCH_MAX and batch[-1].may_wait and self._company_until_s > loop.time():
            try:
                async with asyncio.timeout_at(self._company_until_s):
                    batch.append(await self._queue.get())
            except TimeoutError:
                break
        self._take_waiting(batch)
        self._company_until_s = loop.time() + self._company_s

    async def _run_batch(self, batch: list[_Item]) -> None:
        overlay: dict[EntityId, Row] = {}
        contexts: Counter[str] = Counter()
        effects: list[OutsideEffect] = []
        removed: list[ApplicationId] = []
        forgotten: list[Container] = []
        secrets = SecretChanges()
        queues = QueueChanges()
        sequence: int | None = None
        done: list[tuple[asyncio.Future[Any], Any]] = []
        for item in batch:
            tx = Transaction(self.state, overlay, self._clock.now_ms(), contexts)
            try:
                result = item.work(tx)
            except Exception as error:  # the caller's to handle: nothing of this item is kept
                if not item.future.done():
                    item.future.set_exception(error)
                continue
            overlay.update(tx.rows)
            contexts.update(tx.context_bytes)
            effects += tx.effects
            removed += tx.removed_applications
            forgotten += tx.forgotten
            secrets.add(tx.secrets)
            queues.add(tx.queues)
            sequence = tx.application_sequence if tx.application_sequence is not None else sequence
            done.append((item.future, result))
        commit = Commit(
            rows=[*queues.rows, *(row for row in overlay.values() if self._is_new(row)), *secrets.tokens],
            application_sequence=sequence,
            removed_applications=removed,
            ended_containers=forgotten,
            delegation_sequence=secrets.last_sequence,
            removed_delegation_tokens=secrets.removed_tokens,
            master_keys=secrets.keys,
            removed_master_keys=secrets.removed_keys,
            removed_queues=queues.removed,
        )
        try:
            if not commit.is_empty:
                await self._write(commit)
        except Unavailable as error:
            log.error("commit failed", works=len(done), error=str(error))
            for future, _ in done:
                if not future.done():
                    future.set_exception(error)
            return
        self._publish(commit, effects, done)

    async def _write(self, commit: Commit) -> None:
        """Returns when it was written, however long it takes to know.  Raises Unavailable: it was not."""
        self._number += 1
        try:
            await self._store.commit(replace(commit, number=self._number))
        except OutcomeUnknown as silence:
            log.warning("commit not answered", number=self._number, error=str(silence))
            last = await self._ask()
            if last == self._last_committed:
                raise
            if last != self._number:
                # As after a failover to a copy that was behind: what callers were told may be gone.
                raise FencedOut(f"The store's last commit is {last}, ours were {self._last_committed}") from silence
        self._last_committed = self._number

    async def _ask(self) -> int:
        """The number of the store's last commit.  Whoever waits meanwhile is refused, for all that is decided waits."""
        while True:
            try:
                last = await self._store.last_commit()
            except Unavailable as silence:
                log.warning("last commit not known", number=self._number, error=str(silence))
                self.doubt = silence
                self._refuse_waiting(silence)
                await asyncio.sleep(self._ask_again_s)
            else:
                self.doubt = None
                return last

    def _refuse_waiting(self, silence: Unavailable) -> None:
        while not self._queue.empty():
            waiting = self._queue.get_nowait().future
            if not waiting.done():
                waiting.set_exception(Unavailable(f"The store is silent: {silence}"))

    def _is_new(self, row: Row) -> bool:
        """An event that was ignored leaves the very same row: nothing to write."""
        entity_id = getattr(row, "id", None)
        return entity_id is None or _table(self.state, entity_id).get(entity_id) is not row

    def _publish(
        self, commit: Commit, effects: list[OutsideEffect], done: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        if commit.rows:
            self.state.publish(commit.rows)
        for container in commit.ended_containers:
            self.state.remove_container(container.id)
        for application_id in commit.removed_applications:
            self.state.remove_application(application_id)
        for path in commit.removed_queues:
            self.state.remove_queue(path)
        if self._follower is not None:
            self._follower(commit.rows, commit.removed_applications)
        assert self._performer is not None, "perform_with() comes before run()"
        for effect in effects:
            self._performer.perform(effect)
        for future, result in done:
            if not future.done():
                future.set_result(result)


def _log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("change failed", error=repr(error))
