"""Giving back: every few seconds a round finds who has to go; their ApplicationMasters hear of it, then they end.

Follows SchedulingMonitor and ProportionalCapacityPreemptionPolicy: what a round chooses is on notice; what a later one
chooses still when its time is over ends with exit status PREEMPTED, which is nobody's failure.  What goes for one
container is a claim: all of it is told in one round, has one deadline, and is withdrawn together when the claim is
over.  What else is not chosen any more is forgotten after twice that time.  Notices are in memory: after a restart
everybody gets the whole time again.  A pod that no node was found for for a while is taken back at once: nothing runs
there, and the wish is kept.

What a queue holds above the maximum of an open window goes in the window's stages, in the same way, also where queues
give nothing to each other.  Stages too are counted in memory, from when their limit was first seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from yodel.domain.allocation.backoffs import Tried
from yodel.domain.container import Container
from yodel.domain.events import StopRequested
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.domain.preemption.round import Held, victims_of
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.preemption.unplaced import unplaced_of
from yodel.domain.preemption.victims import Candidate, Claim, Victim, lowers
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName, above_of
from yodel.domain.queues.queue import ROOT
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerExitStatus, ContainerState
from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.services.scheduling.ceilings import Ceilings
from yodel.services.scheduling.scheduler import Scheduler
from yodel.services.writer.engine import Engine
from yodel.services.writer.preempting import preempt, tell_masters
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.transaction import Transaction

FORGOTTEN_AFTER = 2
"""Times max_wait_before_kill (ProportionalCapacityPreemptionPolicy.cleanupStaledPreemptionCandidates)."""
SLICE = 1000
"""Containers looked at in one turn of the loop."""
log = structlog.get_logger("yodel.preemption")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Since when, by the monotonic clock, a window leaves its queue so little."""

    name: str
    maximum_percent: float
    since_s: float


class Preemption:
    """Preempts in one task.  Its notices are of containers that will be stopped and still run."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        scheduler: Scheduler,
        quotas: Quotas,
        noticed: Callable[[Mapping[ContainerId, PreemptionNotice]], None],
    ) -> None:
        """``noticed`` is called with new notices."""
        self._engine, self._clock, self._scheduler, self._quotas = engine, clock, scheduler, quotas
        self._noticed = noticed
        self.claims: list[Claim] = []
        """The claims, one for each container that room is made for; their victims are on notice too."""
        self._last_claim = 0
        self.given_count = 0
        """Notices that were given since the start."""
        self.preempted_count = 0
        """Containers that were ended."""
        self.withdrawn_count = 0
        """Pods that were taken back because no node was found for them."""
        self._judged: tuple[object, ...] = ()
        self._last_s = 0.0
        """When the last round chose, by the monotonic clock."""
        self._seen: dict[str, Seen] = {}
        """By path, of open windows."""
        self._ceilings = Ceilings(engine.state, quotas)

    @property
    def rules(self) -> PreemptionRules:
        return self._quotas.preemption

    @property
    def notices(self) -> Mapping[ContainerId, PreemptionNotice]:
        """Return the notices given for queues."""
        return self._engine.state.notices.of_teller(Teller.QUEUES)

    async def losers(self, excess_of: Mapping[str, Resource]) -> dict[str, dict[ApplicationId, int]]:
        """Return, by queue that would be asked for so much back, which applications there or below it would lose how
        many containers; nothing where queues do not give back."""
        state = self._engine.state
        if not excess_of or not self._quotas.is_enforced or not self.rules.is_enabled or self.rules.observe_only:
            return {}
        ledger = self._quotas.still_ledger()
        giving = {leaf for leaf in ledger.tree.shares if not excess_of.keys().isdisjoint(ledger.share(leaf).path)}
        found: list[Candidate] = []
        for number, container in enumerate(list(state.live_containers())):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            if not container.is_am and (one := self._candidate(container, giving, giving)) is not None:
                found.append(one)
        found.sort(key=lambda one: one.rank)
        left, lost = dict(excess_of), dict[str, Counter[ApplicationId]]()
        for one in found:
            for path in ledger.share(one.queue).path:
                if path in left and lowers(one.size, left[path]):
                    left[path] -= one.size
                    lost.setdefault(path, Counter())[one.id.application_id] += 1
        return {path: dict(counts) for path, counts in lost.items()}

    @property
    def ends_after_s(self) -> float:
        """Return the seconds from a change that needs preemption until the first containers are stopped."""
        return self.rules.monitoring_interval_s + self.rules.max_wait_before_kill_s

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self.rules.monitoring_interval_s)
            try:
                await self.look()
            except Unavailable as error:
                log.warning("preemption round failed, will retry", error=str(error))
            except Exception as error:  # a bug in a round: nobody gives back, and all that runs goes on
                log.error("preemption failed unexpectedly, will retry", exc_info=error)

    async def look(self) -> None:
        """One round.  None where nobody waits and nothing has changed."""
        self._ceilings.note()
        parts = self._parts()
        is_closing = self._quotas.is_enforced and self._quotas.is_any_over_window
        if self._quotas.is_enforced:
            await self._withdraw_unplaced()
        if not self._quotas.is_enforced or not (self.rules.is_enabled or is_closing):
            self._tell({})
            self.claims.clear()
            return
        self._forget_resting()
        if not self._is_due() and not is_closing:
            return
        demands = self._scheduler.demands()
        ledger = self._quotas.still_ledger()
        candidates, maxima = await self._candidates(ledger), self._ceilings.maxima()
        pools = self._engine.state.pools
        victims, claims = list[Victim](), list[Claim]()
        for name in pools.drawn_on:
            top = above_of(name) if len(pools.drawn_on) > 1 else ROOT
            part, held = self._scheduler.part(name, demands), self._held(name, candidates, parts, maxima, ledger)
            # Of a hundred thousand containers it takes a third of a second: beside the loop, on values that stay.
            found = await asyncio.to_thread(victims_of, part, top, ledger, held, self._scheduler.limits, self.rules)
            victims += found.victims
            claims += found.claims
        if self.rules.observe_only:
            _observe([*victims, *(victim for claim in claims for victim in claim.of_queue)])
            return
        await self._act(victims, claims)

    async def _withdraw_unplaced(self) -> None:
        """Pods that wait too long for a node, as far as queues under their guarantees want their share; whether queues
        give back or not."""
        state = self._engine.state
        waiting = [one for one in state.container_index.planned.values() if self._is_unplaced(one)]
        if not waiting or self.rules.observe_only:
            return
        demands, ledger, found = self._scheduler.demands(), self._quotas.still_ledger(), list[Victim]()
        paths = {one.queue for one in demands} | set(ledger.tree.shares)
        candidates = [one for each in waiting if (one := self._candidate(each, paths, paths)) is not None]
        for name in state.pools.drawn_on:
            part, held = self._scheduler.part(name, demands), self._held(name, candidates, {}, {}, ledger)
            found += await asyncio.to_thread(unplaced_of, part, ledger, held, self._scheduler.limits)
        if found:
            await self._take_back(found)

    async def _take_back(self, victims: Sequence[Victim]) -> None:
        """Their wishes are kept, and tried again after a while."""
        state, wait_s = self._engine.state, self._scheduler.holder.rules.placed_s
        rows = [state.containers[i] for one in victims if (i := one.candidate.id) in state.containers]
        said = {row.id: state.reasons.waits.get(row.id, "") for row in rows}
        await self._engine.do(lambda tx: self._end(tx, (), victims))
        now_s = self._clock.monotonic_s()
        for row in rows:
            tried = Tried.of(row.id.application_id, row.capability, row.placement)
            self._scheduler.backoffs.failed(tried, now_s, said[row.id])
        self._scheduler.wake()
        self.withdrawn_count += len(victims)
        for victim in victims:
            log.info("unscheduled pod withdrawn", **_fields(victim), waited_s=wait_s)

    def _is_due(self) -> bool:
        state = self._engine.state
        now = (
            state.change_counters.decision_inputs,
            state.queue_use.version,
            state.change_counters.queues,
            state.change_counters.nodes,
        )
        is_changed, self._judged = now != self._judged, now
        return bool(self.notices or state.masters.wanted.count or state.masters.awaited or is_changed)

    def _parts(self) -> dict[str, float]:
        """Return the part of each queue's excess over its open window's maximum that may have notices now.

        The parts are equal, one for each stage, of the excess at the beginning; a stage is as long as a notice and a
        round.
        """
        now_s = self._clock.monotonic_s()
        stage_s = self.rules.max_wait_before_kill_s + self.rules.monitoring_interval_s
        seen, parts = dict[str, Seen](), dict[str, float]()
        for path, hold in self._quotas.windows.holds.items():
            window = hold.open
            if window is None or not window.stages:
                continue
            one = self._seen.get(path)
            if one is None or (one.name, one.maximum_percent) != (window.name, window.maximum_percent):
                one = Seen(name=window.name, maximum_percent=window.maximum_percent, since_s=now_s)
            seen[path] = one
            parts[path] = 1.0 / max(1, window.stages - int((now_s - one.since_s) / stage_s))
        self._seen = seen
        return parts

    def _held(
        self,
        name: PoolName,
        candidates: Sequence[Candidate],
        parts: Mapping[str, float],
        maxima: Mapping[str, Resource],
        ledger: UsageLedger,
    ) -> Held:
        state = self._engine.state
        pool, pools = state.pools.of(name), state.pools.pools
        free_on = {}
        for node_id in pool.lenders:
            lent = pool.lent(node_id)
            if lent is not None:
                free_on[node_id] = lent.now - pool.held_on(node_id)
        own = [one for one in candidates if pools.of(one.queue) == name]
        used, holds = frozenset(state.queue_use.by_queue), state.holds.of_pool(name)
        return Held(
            used=used,
            candidates=own,
            free_on=free_on,
            parts=parts,
            maxima=maxima,
            holds=holds,
            holds_left=self._scheduler.holder.rules.most(len(free_on)) - len(holds),
            claims=[claim for claim in self.claims if pools.of(claim.short.queue) == name],
            without_node=self._without_node(ledger),
        )

    def _without_node(self, ledger: UsageLedger) -> dict[str, Resource]:
        """Return by queue, parents too, what counts as used and runs nothing."""
        state, found = self._engine.state, dict[str, Resource]()
        waiting = state.container_index.planned.values()
        amounts = [(self._queue_of(one), one.reserved) for one in waiting if self._is_unplaced(one)]
        amounts += [(hold.queue, hold.counted) for hold in state.holds.all]
        for path, amount in amounts:
            for above in ledger.share(path).path:
                found[above] = found.get(above, NONE) + amount
        return found

    def _queue_of(self, container: Container) -> str:
        return self._engine.state.applications[container.id.application_id].submission.queue

    async def _candidates(self, ledger: UsageLedger) -> list[Candidate]:
        """Containers of the queues that may have to give, a slice at a time."""
        state = self._engine.state
        giving = self._giving(ledger)
        closing = {path for path in giving if ledger.tree.open_over(path) is not None}
        found: list[Candidate] = []
        for number, container in enumerate(list(state.live_containers()) if giving else ()):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            candidate = self._candidate(container, giving, closing)
            if candidate is not None:
                found.append(candidate)
        return found

    def _giving(self, ledger: UsageLedger) -> set[str]:
        """Leaves that hold more than their guarantee; where priorities give within a queue, all that hold something."""
        paths = {path for path, share in ledger.tree.shares.items() if not ledger.tree.below.get(path)}
        paths |= {path for path, _ in self._engine.state.queue_use.by_user}
        if self.rules.is_intra_queue_enabled:
            return paths
        return {path for path in paths if not ledger.used(path).fits_in(ledger.share(path).guaranteed)}

    def _candidate(self, container: Container, giving: set[str], closing: set[str]) -> Candidate | None:
        application = self._engine.state.applications.get(container.id.application_id)
        if application is None or not container.is_live or application.submission.queue not in giving:
            return None
        may_wait = container.is_am and application.submission.queue not in closing
        if container.node_id is None and (may_wait or not self._is_unplaced(container)):
            return None
        return Candidate(
            id=container.id,
            queue=application.submission.queue,
            size=container.reserved,
            node_id=container.node_id,
            priority=application.submission.priority,
            submitted_ms=application.submitted_ms,
            request_priority=container.priority,
            is_am=container.is_am,
            is_marked=self._engine.state.notices.is_noted(container.id),
        )

    def _is_unplaced(self, container: Container) -> bool:
        """Give up those on their way to a node that is held for them, with it."""
        if container.state is not ContainerState.PLANNED or container.id in self._engine.state.holds.containers:
            return False
        return self._clock.now_ms() - container.created_ms >= self._scheduler.holder.rules.placed_s * 1000

    async def _act(self, alone: Sequence[Victim], claims: Sequence[Claim]) -> None:
        now_s = self._last_s = self._clock.monotonic_s()
        self._keep(claims, now_s)
        victims = [*alone, *(victim for claim in self.claims for victim in claim.of_queue)]
        claim_of = {one.id: claim for claim in self.claims for one in claim.victims}
        unplaced = [victim for victim in victims if victim.candidate.node_id is None]
        bound = [victim for victim in victims if victim.candidate.node_id is not None]
        before, wait_s = self.notices, self.rules.max_wait_before_kill_s
        # What was on notice for a claim that is over, or needs it no more, is not any more.
        notices = {one: replace(notice, is_resting=True) for one, notice in before.items() if not notice.claim}
        for victim in bound:
            claim, given = claim_of.get(victim.candidate.id), notices.get(victim.candidate.id)
            notices[victim.candidate.id] = self._notice(victim, claim, given.given_s if given is not None else now_s)
        self._tell(notices)
        fresh = [victim for victim in bound if victim.candidate.id not in before]
        self._note(fresh)
        over = [victim for victim in bound if notices[victim.candidate.id].deadline_s <= now_s]
        if unplaced:
            await self._take_back(unplaced)
        if over:
            await self._engine.do(lambda tx: self._end(tx, over, ()))
            self.preempted_count += len(over)
            for victim in over:
                log.info("container preempted", **_fields(victim))
            self.claims = [claim for claim in self.claims if now_s - claim.given_s < wait_s]

    def _notice(self, victim: Victim, claim: Claim | None, given_s: float) -> PreemptionNotice:
        one = victim.candidate
        assert one.node_id is not None
        given_s = given_s if claim is None else claim.given_s
        return PreemptionNotice(
            node_id=one.node_id,
            reason=NoticeReason.WINDOW if self._is_for_window(victim) else NoticeReason.QUEUE,
            why=_why(victim),
            given_s=given_s,
            deadline_s=given_s + self.rules.max_wait_before_kill_s,
            is_master=one.is_am,
            for_queue=victim.for_queue,
            claim=claim.id if claim is not None else 0,
            chosen_s=self._last_s,
        )

    def _is_for_window(self, victim: Victim) -> bool:
        queue = victim.candidate.queue
        return victim.for_queue == queue and any(f"{queue}.".startswith(f"{path}.") for path in self._seen)

    def _keep(self, claims: Sequence[Claim], now_s: float) -> None:
        """These are all there are.  A new one holds its node, if that has to be."""
        self.claims = []
        for claim in claims:
            if not claim.id:
                self._last_claim += 1
                claim = replace(claim, id=self._last_claim, given_s=now_s)
                if claim.is_held:
                    pool = self._engine.state.pools.pools.of(claim.short.queue)
                    self._scheduler.holder.hold(pool, claim.short, claim.node_id)
                    self._scheduler.wake()
                log.info("claim started", claim=claim.id, node_id=str(claim.node_id), victims=len(claim.victims))
            self.claims.append(claim)

    def _note(self, victims: Sequence[Victim]) -> None:
        for victim in victims:
            self.given_count += 1
            log.info("container will be preempted", **_fields(victim), deadline_s=self.rules.max_wait_before_kill_s)
        told = {victim.candidate.id: self.notices[victim.candidate.id] for victim in victims}
        tell_masters(self._engine.state, told)
        self._noticed(told)

    def _tell(self, notices: Mapping[ContainerId, PreemptionNotice]) -> None:
        """All there are."""
        self._engine.state.notices.tell(Teller.QUEUES, notices)

    def _end(self, tx: Transaction, over: Sequence[Victim], unplaced: Sequence[Victim]) -> None:
        for victim in over:
            preempt(tx, victim.candidate.id, _why(victim))
        for victim in unplaced:
            container = tx.container(victim.candidate.id) if tx.has(victim.candidate.id) else None
            if container is not None and container.state is ContainerState.PLANNED:
                _withdraw(tx, victim, self._scheduler.holder.rules.placed_s)

    def _forget_resting(self) -> None:
        """Withdraw the notices that no round has chosen for long."""
        after_s = self._clock.monotonic_s() - FORGOTTEN_AFTER * self.rules.max_wait_before_kill_s
        self._tell({one: notice for one, notice in self.notices.items() if notice.chosen_s > after_s})


def _withdraw(tx: Transaction, victim: Victim, waited_s: float) -> None:
    """An ApplicationMaster that is taken back counts as no failure: its application waits again."""
    one = victim.candidate
    if one.is_am:
        preempt(tx, one.id, _why(victim))
    else:
        text = f"No node was found for {waited_s:.0f} s, and queue {victim.for_queue} needs its share"
        tx.tell(one.id, StopRequested(ContainerExitStatus.ABORTED, text, tx.now_ms))


def _why(victim: Victim) -> str:
    own = victim.candidate.queue
    if victim.for_queue == own:
        return f"capacity of queue {own} is reclaimed"
    return f"capacity of queue {own} is reclaimed for queue {victim.for_queue}"


def _observe(victims: Sequence[Victim]) -> None:
    for victim in victims[:10]:
        log.info("container would be preempted (observe_only)", **_fields(victim), of=len(victims))


def _fields(victim: Victim) -> dict[str, str]:
    one = victim.candidate
    return {
        "container_id": str(one.id),
        "queue": one.queue,
        "for_queue": victim.for_queue,
        "capability": str(one.size),
        "node_id": str(one.node_id or ""),
    }
