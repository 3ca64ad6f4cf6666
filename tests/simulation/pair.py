"""Two ResourceManagers on one store, each a whole ``Core`` with the real ``Leadership`` over a lease in memory.

A ``Process`` has its own clock, and may stand still, be cut off from the store, or have a commit under way whose answer
is not there yet.  Whoever calls may reach the one that led before: connections outlive a lead.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from tests.support.actors import Cluster, Job
from tests.support.fakes import Crash, FakeClock
from tests.support.playbook import ROUNDS_MAX, check_nothing_is_owed
from tests.support.rm_options import Options
from yodel.domain.queues.queue import Queue
from yodel.errors import Unavailable
from yodel.ports.pods import Pods
from yodel.ports.store import Commit, FencedOut, OutcomeUnknown, Snapshot, Store
from yodel.services.core import Core, Ports
from yodel.store.errors import LeadLost
from yodel.store.leadership import Leadership, LeaseTimes
from yodel.store.memory_store import Hook, MemoryDisk, MemoryStore

ResultT = TypeVar("ResultT")
TIMES = LeaseTimes(lease_s=12)
RATES = (0.92, 1.08)
"""How much faster than the database's a process's clock may run; the sixth of a lease that its holder gives up covers
it (``LeaseTimes.leading_s``)."""
DIGESTION = 50
"""Turns of the loop in which a process that goes on does what it found."""


class SkewedClock:
    """A process's own: its wall clock is off, and it counts durations by another crystal."""

    def __init__(self, base: FakeClock, rate: float, offset_ms: int) -> None:
        self._base, self._rate, self._offset_ms = base, rate, offset_ms

    def now_ms(self) -> int:
        return self._base.now_ms() + self._offset_ms

    def monotonic_s(self) -> float:
        return self._base.monotonic_s() * self._rate


@dataclass(slots=True)
class LeaseRow:
    """Keep the lease by the database's clock, as ``yodel.store.sql_lease`` does."""

    clock: FakeClock
    holder: str = ""
    expires_s: float = 0
    successor_until_s: float = 0

    def is_of(self, holder: str) -> bool:
        return self.holder == holder and self.expires_s > self.clock.monotonic_s()


class MemoryLease:
    """``yodel.store.leadership.Lease`` over the row.  ``reach`` is the way there, called before what it does, ``back``
    the way back."""

    def __init__(
        self,
        row: LeaseRow,
        holder: str,
        reach: Callable[[], None],
        back: Callable[[], Awaitable[None]],
    ) -> None:
        self._row, self._holder, self._reach, self._back = row, holder, reach, back

    async def claim(self) -> str:
        self._reach()
        row, now_s = self._row, self._row.clock.monotonic_s()
        if row.expires_s <= now_s or row.holder == self._holder:
            row.holder, row.expires_s, row.successor_until_s = self._holder, now_s + TIMES.lease_s, 0
        else:
            row.successor_until_s = now_s + TIMES.successor_s
        return row.holder

    async def renew(self) -> bool | None:
        self._reach()
        row, now_s = self._row, self._row.clock.monotonic_s()
        is_ours = row.holder == self._holder
        if is_ours:
            row.expires_s = now_s + TIMES.lease_s
        has_successor = row.successor_until_s > now_s
        await self._back()
        return has_successor if is_ours else None

    async def release(self) -> None:
        self._reach()
        if self._row.holder == self._holder:
            self._row.expires_s = 0

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Process:
    """A ResourceManager's process, from standby to its end; its supervisor starts the next one in its place."""

    holder: str
    clock: SkewedClock
    leadership: Leadership
    core: Core | None = None
    writer: asyncio.Task[None] | None = None
    due_s: float = 0.0
    is_still: bool = False
    """Stopped: it does nothing, and notices nothing."""
    is_cut_off: bool = False
    """From the database."""
    holds_commit: bool = False
    """The next commit is under way for a while."""
    held: asyncio.Future[None] | None = None
    sent: tuple[LedStore, Commit] | None = None
    """The commit that is held: it may arrive when its process is gone."""
    is_held: asyncio.Event = field(default_factory=asyncio.Event)
    holds_answer: bool = False
    """The answer of the next renewal is under way for a while."""
    answer: asyncio.Future[None] | None = None
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def is_away(self) -> bool:
        """Nothing comes of what it does now."""
        return self.is_still or self.is_cut_off or self.held is not None or self.leadership.remaining_s <= 0

    def require_way(self) -> None:
        if self.is_cut_off:
            raise Unavailable("the database does not answer")

    async def answer_comes(self) -> None:
        if self.holds_answer:
            self.holds_answer, self.answer = False, asyncio.get_running_loop().create_future()
            await self.answer

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Nobody waits for it any more; it is not lost."""
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


class LedStore(MemoryStore):
    """Store as ``yodel.store.sql_store`` with a lead: each commit asks the clock first, the opening asks the lease."""

    def __init__(self, disk: MemoryDisk, process: Process, cluster: PairCluster, hook: Hook) -> None:
        super().__init__(disk, hook=hook)
        self._process, self._cluster = process, cluster

    async def open(self, *, now_ms: int, default_queues: Sequence[Queue]) -> Snapshot:
        """Ends the process where ``open`` fails, as ``yodel.wiring.process`` does."""
        try:
            self._process.require_way()
            self._process.leadership.require()
        except Unavailable as silence:
            raise Crash(str(silence)) from silence
        if not self._cluster.row.is_of(self._process.holder):
            raise Crash("the lease is another's by now")
        return await super().open(now_ms=now_ms, default_queues=default_queues)

    async def commit(self, commit: Commit) -> None:
        process = self._process
        process.leadership.require()
        process.require_way()
        if process.holds_commit:
            process.holds_commit, process.held = False, asyncio.get_running_loop().create_future()
            process.sent = (self, commit)
            process.is_held.set()
            await process.held
            process.sent = None
        if process.is_cut_off:
            raise OutcomeUnknown("the connection broke before the answer")
        await self.arrive(commit)

    async def arrive(self, commit: Commit) -> None:
        """Let the commit arrive at the database."""
        await super().commit(commit)
        assert self._epoch is not None
        self._cluster.writes.append((self._epoch, self._process.holder))

    async def last_commit(self) -> int:
        self._process.require_way()
        return await super().last_commit()


class LedPods:
    """Refuse as ``yodel.kube.led`` does: nothing is asked of Kubernetes by who does not lead."""

    def __init__(self, pods: Pods, require: Callable[[], None]) -> None:
        self._pods, self._require = pods, require

    def __getattr__(self, name: str) -> Any:
        self._require()
        return getattr(self._pods, name)


class PairCluster(Cluster):
    """``turn_to`` says which of the two the ``World`` moves; ``rm`` is that one's core."""

    def __init__(self, jobs: list[Job], nodes: int, options: Options, skew: Callable[[], tuple[float, int]]) -> None:
        """``skew`` draws rate and offset (ms) of a process's clock."""
        self.turn = cast(Process, SimpleNamespace())  # until there is one
        super().__init__(jobs, nodes, options)
        self.row = LeaseRow(self.clock)
        self._skew, self._names = skew, itertools.count(1)
        self.processes = [self._new_process(), self._new_process()]
        self.turn = self.processes[0]
        self.writes: list[tuple[int, str]] = []
        """The epoch and the holder of every commit."""
        self.late: list[tuple[LedStore, Commit]] = []
        """Commits on their way whose processes are gone."""
        self.takeovers = self.refused = self.fenced = 0
        """Openings of the store, calls that were refused since the lead was lost, and processes that met the fence."""

    def _new_process(self) -> Process:
        holder = f"rm-{next(self._names)}"
        clock = SkewedClock(self.clock, *self._skew())
        found: list[Process] = []
        lease = MemoryLease(self.row, holder, lambda: found[0].require_way(), lambda: found[0].answer_comes())
        found.append(Process(holder, clock, Leadership(lease, holder, TIMES, clock, lambda _: None)))
        return found[0]

    @property
    def _rm(self) -> Core | None:  # type: ignore[override]
        return self.turn.core

    @_rm.setter
    def _rm(self, core: Core | None) -> None:
        self.turn.core = core

    @property
    def _writer(self) -> asyncio.Task[None] | None:  # type: ignore[override]
        return self.turn.writer

    @_writer.setter
    def _writer(self, writer: asyncio.Task[None] | None) -> None:
        self.turn.writer = writer

    @property
    def _scheduler_due_s(self) -> float:  # type: ignore[override]
        return self.turn.due_s

    @_scheduler_due_s.setter
    def _scheduler_due_s(self, due_s: float) -> None:
        self.turn.due_s = due_s

    # --- which of the two ------------------------------------------------------------------------------------------

    def turn_to(self, process: Process) -> None:
        self.turn = process

    def up(self) -> list[Process]:
        return [process for process in self.processes if process.core is not None]

    def leader(self) -> Process | None:
        """Return who opened the store last, while its process is there."""
        identity = self.disk.identity
        for process in self.up():
            state = process.core.state if process.core is not None else None
            if identity is not None and state is not None and state.identity.epoch == identity.epoch:
                return process
        return None

    # --- lives -----------------------------------------------------------------------------------------------------

    def new_store(self) -> Store:
        return LedStore(self.disk, self.turn, self, self._at_store)

    def ports(self, store: Store) -> Ports:
        process = self.turn
        pods = LedPods(self.pods, process.leadership.require)
        return replace(super().ports(store), clock=process.clock, pods=pods)  # type: ignore[arg-type]

    def relist(self) -> None:
        if self._rm is not None:
            super().relist()

    async def start(self) -> None:
        await self.look_for_lead(self.processes[0])

    async def stop(self) -> None:
        for process in self.up():
            await self.die(process)

    async def restart(self) -> None:
        """The process that had its turn died."""
        await self.die(self.turn)

    async def die(self, process: Process) -> None:
        """Nothing is tidied up, and its supervisor starts the next one, which is a standby."""
        self.turn_to(process)
        self.crashes += 1
        if process.sent is not None:
            self.late.append(process.sent)
        await super().stop()
        for task in [*process.under_way]:
            task.cancel()
        await asyncio.gather(*process.under_way, return_exceptions=True)
        fresh = self._new_process()
        self.processes[self.processes.index(process)] = fresh
        self.turn_to(fresh)

    async def hand_over(self, process: Process) -> None:
        """An orderly end: the lease is given back."""
        leadership = process.leadership
        await self.die(process)
        await leadership.release()

    async def look_for_lead(self, process: Process) -> None:
        """A standby's look; who gains the lead begins its life."""
        if process.core is not None or process.is_still or not await process.leadership.try_to_gain():
            return
        self.turn_to(process)
        process.holds_commit = False  # nobody is there yet who could wait for it
        self.crashes += self.takeovers > 0  # for all others it is the same, whether the other is gone already or not
        self.takeovers += 1
        try:
            await super().start()
        except (Crash, Unavailable, FencedOut):
            await self.die(process)

    async def renew(self, process: Process) -> None:
        if process.core is None or process.is_still or process.leadership.remaining_s <= 0:
            return
        task = asyncio.create_task(process.leadership.renew())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not task.done():
            process.keep(task)
        elif isinstance(task.exception(), LeadLost):
            await self.die(process)

    async def watch_end(self, process: Process) -> None:
        """End the process as ``Leadership.keep`` does; one that stands still does not watch."""
        if process.core is not None and not process.is_still and process.leadership.remaining_s <= 0:
            await self.die(process)

    async def arrive_late(self) -> None:
        store, commit = self.late.pop(0)
        try:
            await store.arrive(commit)
        except FencedOut:
            self.fenced += 1
        except (Crash, Unavailable):
            return  # it never arrives

    async def go_on(self, process: Process) -> None:
        """Let what was held arrive, in whatever state the world is by now."""
        held, answer = process.held, process.answer
        process.held = process.answer = None
        process.is_still = process.holds_commit = process.holds_answer = False
        process.is_held.clear()
        for future in (held, answer):
            if future is not None and not future.done():
                future.set_result(None)
        for _ in range(DIGESTION):
            await asyncio.sleep(0)
        if process.writer is not None and process.writer.done():
            await self.die(process)

    # --- driving ---------------------------------------------------------------------------------------------------

    async def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Raises Unavailable also when the answer does not come."""
        process, writer = self.turn, self._writer
        assert writer is not None
        task, held = asyncio.create_task(work), asyncio.create_task(process.is_held.wait())
        if process.is_cut_off:  # what is in doubt stays so, and is asked about for ever
            await self._turns_until(lambda: task.done() or writer.done())
        else:
            await asyncio.wait({task, writer, held}, return_when=asyncio.FIRST_COMPLETED)
        held.cancel()
        if not writer.done() and not task.done():
            process.keep(task)
            raise Unavailable("no answer comes")
        await self._turns_until(lambda: self.rm.engine.doubt is None or writer.done())
        if not writer.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        error = writer.exception()
        assert error is not None
        raise error

    async def _turns_until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(DIGESTION):
            if is_so():
                return
            await asyncio.sleep(0)

    async def survive(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await super().survive(work)
        except FencedOut:
            self.fenced += 1
            await self.restart()
        except Unavailable:
            return

    async def settle(self) -> None:
        for _ in range(ROUNDS_MAX):
            if self.turn.is_away:
                return
            if not await self.step():
                check_nothing_is_owed(self.rm.scheduler)
                return
        raise AssertionError(f"still busy after {ROUNDS_MAX} steps")

    async def pass_time(self, seconds: float) -> None:
        """Whoever leads renews in time, whatever else it does."""
        left_s = seconds
        while left_s > 0:
            turn_s = min(left_s, TIMES.renewal_s)
            self.clock.advance(turn_s)
            left_s -= turn_s
            for number in range(len(self.processes)):
                for what in (self.renew, self.watch_end, self.look_for_lead):
                    await what(self.processes[number])
        for process in self.up():
            if not process.is_away:
                self.turn_to(process)
                with suppress(Unavailable):
                    await self.survive(self.look_at_clock())
