"""The single writer.  Every change of a row goes through here: decide on an overlay, commit, publish, perform.

Work items queue up while a commit is under way and share the next one (group commit), with those whose calls the loop
reads in the turns that follow; each has an overlay of its own, so that one that fails leaves no trace.  Persist, then
act, then answer: effects are performed, and callers resumed, only after the rows that caused them are on disk.

Every batch has a number that is written with it.  When the store's answer to a batch is lost, nothing else is decided
until the store has told whether that number is there: a caller is told what is so, and memory follows the disk.  As
long as the store is silent callers who come are refused, which their protocol retries.

What is large (the end of an application of many containers) is decided, gathered, taken over and performed in slices
between which others have the loop; nothing else is decided until it is done, so that it is what it would be in one go.
Of what memory takes over the first slice is everything but containers that have ended: those are seen as live for some
turns more.

Work that nobody waits for at the other end of a wire (a pod was bound) may say so.  The first is written at once; while
more of it comes, it is written every ``company_s``, or with whatever is in a hurry: a commit costs as much as ten rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import structlog

from yodel.domain.container import Container
from yodel.domain.effects import (
    OutsideEffect,
    Tell,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.ports.store import Commit, FencedOut, OutcomeUnknown, Row, Store
from yodel.services.writer.row_changes import QueueChanges, SecretChanges
from yodel.services.writer.state import ClusterState
from yodel.services.writer.transaction import EntityId, TargetId, Transaction, add, table_of

QUEUE_MAX = 10_000
"""Work items that may wait; beyond it callers are refused, which their protocol retries."""
BATCH_MAX = 512
TAKEN_OVER_AT_ONCE = 100
"""Containers that have ended; 5 ms of processor time."""
PERFORMED_AT_ONCE = 500
"""Effects, which are queued; 3 ms of processor time."""
GATHERED_AT_ONCE = 2_000
"""Rows that are looked at, whether they are new; 3 ms of processor time."""
ASK_AGAIN_S = 0.5
"""Between two questions whether a batch was written."""

ResultT = TypeVar("ResultT")
ItemT = TypeVar("ItemT")
log = structlog.get_logger("yodel.engine")


Follower = Callable[[Sequence[Row], Sequence[ApplicationId]], None]
"""Gets rows that are committed and applications that were forgotten.  Returns at once and raises nothing."""


class Performer(Protocol):
    """Performs effects after their rows are committed.  Returns at once; anything slow is queued by it."""

    def perform(self, effect: OutsideEffect) -> None: ...


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
        client_key: Callable[[], bytes] = bytes,
    ) -> None:
        """``client_key`` draws the key of an attempt that starts: empty without security."""
        self._client_key = client_key
        self.state, self._store, self._clock, self._company_s = state, store, clock, company_s
        self._ask_again_s = ask_again_s
        self._number = self._last_committed = state.identity.last_commit
        """The number of the last batch that was tried, and of the last one that was written."""
        self.doubt: Unavailable | None = None
        """Why it is not known whether a batch was written, while the store is silent."""
        self._company_until_s = float("-inf")
        self._queue: asyncio.Queue[_Item] = asyncio.Queue(QUEUE_MAX)
        self._performer: Performer | None = None
        self._follower: Follower | None = None
        self._is_writing = False

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def waiting(self) -> int:
        """Changes that wait to be written."""
        return self._queue.qsize()

    @property
    def is_at_rest(self) -> bool:
        """Nothing waits to be written, and nothing is being written."""
        return self._queue.empty() and not self._is_writing

    def perform_with(self, performer: Performer) -> None:
        """Set the performer of effects.  Called once by the composition root, before ``run``."""
        self._performer = performer

    def follow_with(self, follower: Follower) -> None:
        """Set the follower, which gets committed rows as the state does.  Called once by the composition root, before
        ``run``."""
        self._follower = follower

    async def do(self, work: Work[ResultT], *, may_wait: bool = False) -> ResultT:
        """Run a work item and wait until it is on disk.  ``may_wait``: for company, see the module's docstring.

        Raises:
            Unavailable: too much is waiting, or the store did not answer; nothing was changed.
            Exception: whatever the work item raised; nothing was changed.
        """
        if self.doubt is not None:
            raise Unavailable(f"The store does not answer: {self.doubt}") from self.doubt
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
        """Remove a finished application with all its rows, in one of the next transactions.  Ends that node agents have
        yet to explain are told first, and it is removed when it is asked for again."""

        def work(tx: Transaction) -> None:
            if not tx.has(application_id) or not tx.application(application_id).state.is_final:
                return
            attempts = self.state.attempts_of(application_id)
            rows = [row for attempt in attempts for row in self.state.containers_of(attempt.id) if row.awaits_agent]
            for row in rows:
                tx.tell(row.id, row.end_as_its_pod_told(tx.now_ms))
            if not rows:
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
            log.warning("change dropped, it will be reported again", waiting=QUEUE_MAX)
            future.cancel()

    async def run(self) -> None:
        """The writer's loop.  Ends only by cancellation or when the store fences us out.

        Raises:
            FencedOut: the store is another's, or has forgotten what it had written: only a restart knows what is so.
        """
        while True:
            self._is_writing = False
            batch = [await self._queue.get()]
            self._is_writing = True
            await self._gather(batch)
            if all(item.may_wait for item in batch):
                await self._keep_company(batch)
            await self._run_batch(batch)

    async def _gather(self, batch: list[_Item]) -> None:
        """Take what waits, and what the loop's next turns bring until one of them brings nothing."""
        while True:
            self._take_waiting(batch)
            await asyncio.sleep(0)
            if self._queue.empty() or len(batch) == BATCH_MAX:
                return

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
        contexts: dict[str, int] = {}
        new_live: dict[tuple[str, str], int] = {}
        effects: list[OutsideEffect] = []
        removed: dict[ApplicationId, None] = {}  # each once, however many found it too old
        removed_attempts: list[ApplicationAttemptId] = []
        forgotten: list[Container] = []
        secrets = SecretChanges()
        queues = QueueChanges()
        sequence: int | None = None
        done: list[tuple[asyncio.Future[Any], Any]] = []
        for item in batch:
            tx = Transaction(self.state, overlay, self._clock.now_ms(), contexts, self._client_key, new_live)
            try:
                result = item.work(tx)
                while not tx.is_told:
                    await asyncio.sleep(0)
                    tx.go_on()
            except Exception as error:  # the caller's to handle: nothing of this item is kept
                if not item.future.done():
                    item.future.set_exception(error)
                continue
            overlay.update(tx.rows)
            for user, size in tx.context_bytes.items():
                add(contexts, user, size)
            for where, count in tx.new_live.items():
                add(new_live, where, count)
            effects += tx.effects
            removed |= dict.fromkeys(tx.removed_applications)
            removed_attempts += tx.removed_attempts
            forgotten += tx.forgotten
            secrets.add(tx.secrets)
            queues.add(tx.queues)
            sequence = tx.application_sequence if tx.application_sequence is not None else sequence
            done.append((item.future, result))
        new: list[Row] = []
        async for some in _in_turns(list(overlay.values()), GATHERED_AT_ONCE):
            new += filter(self._is_new, some)
        commit = Commit(
            rows=[*queues.rows, *new, *secrets.tokens],
            application_sequence=sequence,
            removed_applications=list(removed),
            removed_attempts=removed_attempts,
            ended_containers=forgotten,
            delegation_sequence=secrets.last_sequence,
            removed_delegation_tokens=secrets.removed_tokens,
            master_keys=secrets.keys,
            removed_master_keys=secrets.removed_keys,
            removed_queues=queues.removed,
            tree_changes=queues.history,
            number=self._number + 1,
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
        await self._publish(commit, effects, done)

    async def _write(self, commit: Commit) -> None:
        """Return when it was written, however long it takes to know.  Raises Unavailable: it was not."""
        self._number += 1
        try:
            await self._store.commit(commit)
        except OutcomeUnknown as silence:
            log.warning("commit outcome unknown", number=self._number, error=str(silence))
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
                log.warning("last commit unknown", number=self._number, error=str(silence))
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
                waiting.set_exception(Unavailable(f"The store does not answer: {silence}"))

    def _is_new(self, row: Row) -> bool:
        """An event that was ignored leaves the very same row: nothing to write."""
        entity_id = getattr(row, "id", None)
        return entity_id is None or table_of(self.state, entity_id).get(entity_id) is not row

    async def _publish(
        self, commit: Commit, effects: list[OutsideEffect], done: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        rows: Sequence[Row] = commit.rows
        ended = [row for row in rows if isinstance(row, Container) and not row.is_live]
        if len(ended) > TAKEN_OVER_AT_ONCE:
            self._take_over([row for row in rows if not (isinstance(row, Container) and not row.is_live)])
            await asyncio.sleep(0)
            async for rows in _in_turns(ended, TAKEN_OVER_AT_ONCE):
                self._take_over(rows)
            rows = ()
        if rows:
            self.state.publish(rows)
        for container in commit.ended_containers:
            self.state.remove_container(container.id)
        for attempt_id in commit.removed_attempts:
            self.state.remove_attempt(attempt_id)
        for application_id in commit.removed_applications:
            self.state.remove_application(application_id)
        for path in commit.removed_queues:
            self.state.remove_queue(path)
        if self._follower is not None:
            self._follower(rows, commit.removed_applications)
        assert self._performer is not None, "perform_with() comes before run()"
        async for some in _in_turns(effects, PERFORMED_AT_ONCE):
            for effect in some:
                self._performer.perform(effect)
        for future, result in done:
            if not future.done():
                future.set_result(result)

    def _take_over(self, rows: Sequence[Row]) -> None:
        self.state.publish(rows)
        if self._follower is not None:
            self._follower(rows, ())


async def _in_turns(items: Sequence[ItemT], size: int) -> AsyncIterator[Sequence[ItemT]]:
    """Yield slices; others have the loop between two of them."""
    for start in range(0, len(items), size):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + size]


def _log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("change failed", error=repr(error))
