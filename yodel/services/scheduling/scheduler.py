"""The tick: looks at what is wanted and what there is, and writes plans.

Woken by changes and otherwise asleep; a heartbeat only records.  What to plan is decided by ``domain.allocation``; here
plans become container rows in one transaction, and the reconciler makes the pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Protocol

import structlog

from yodel.domain.allocation.backoffs import Backoffs, Tried
from yodel.domain.allocation.by_pool import PoolPart, decide_by_pool
from yodel.domain.allocation.demands import AllocationLimits, Capacity, Decision, Demand, Plan, TakeBack
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.allocation.rounds import Rounds
from yodel.domain.container import Container
from yodel.domain.effects import Planned, Reconcile
from yodel.domain.events import IncreaseDecided, NodeManagerChosen, StopRequested
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, dns_name
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import Resource, total_of
from yodel.domain.states import ContainerExitStatus, ContainerState, ContainerType, ExecutionType
from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.ports.store import Row
from yodel.services.scheduling.activities import Activities, ActivityRequests
from yodel.services.scheduling.demands import Demands
from yodel.services.scheduling.fresh_decision import FreshDecision
from yodel.services.scheduling.holder import NodeReserver
from yodel.services.scheduling.misfits import Misfits
from yodel.services.scheduling.placement_inputs import PlacementInputs
from yodel.services.writer.engine import Engine
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.transaction import Transaction
from yodel.services.writer.waiting_book import WaitingBook

AM_PRIORITY = 0  # RMAppAttemptImpl.AM_CONTAINER_PRIORITY
TICK_INTERVAL_MIN_S = 0.01
RETRY_S = 1.0
READ_AT_ONCE = 100
"""Applications whose wishes are read in one go: five milliseconds, with 20 wishes each."""
NODES_AT_ONCE = 1000
"""Nodes that are read in one go: two milliseconds."""
NOT_PLACED = "Kubernetes did not schedule it on the node that was reserved for it"
STRANDED = "No node that satisfied the placement constraint is left"
log = structlog.get_logger("yodel.scheduler")


class NodeGiver(Protocol):
    """Chooses the nodes of containers that need no pod, in the commit that plans them."""

    def give(self, container: Container) -> NodeId | None:
        """Return the container's node, where it counts until it is ``written``; None: it needs a pod, or waits."""

    def written(self, container_id: ContainerId) -> None:
        """The container's row has the node, or was not written."""


class Scheduler:
    """One task; ``wake`` may be called from anywhere in the loop's thread."""

    def __init__(
        self,
        engine: Engine,
        limits: AllocationLimits,
        clock: Clock,
        placement_inputs: PlacementInputs,
        misfits: Misfits,
        quotas: Quotas,
        wanted: asyncio.Event,
        node_managers: NodeGiver,
        binds_itself: Callable[[str], bool] = lambda _: False,
        hold_rules: HoldRules | None = None,
        holds_changed: Callable[[PoolName], object] = lambda _: None,
    ) -> None:
        """``wanted`` is set by whoever wants a tick.  ``node_managers`` gives containers without pods their nodes.
        ``binds_itself``: whether this RM chooses the nodes for a queue's pods; Kubernetes' scheduler keeps no
        constraints there."""
        self._engine, self.limits, self._clock = engine, limits, clock
        self._placement_inputs, self._misfits = placement_inputs, misfits
        self._quotas, self._node_managers = quotas, node_managers
        self.activities = Activities(engine.state, clock)
        """Told of what a tick decides and why, when somebody asked."""
        self.activities.wake = self.wake
        self.fresh_decision = FreshDecision(engine.state, clock, self.wake)
        """Made for those who ask why something waits."""
        self._wanted, self._decision_inputs = wanted, engine.state.change_counters.decision_inputs
        self._demands = Demands(engine.state, clock, placement_inputs, binds_itself)
        self._rounds, self._rules = Rounds(), object()
        rules = hold_rules or HoldRules()
        self.holder = NodeReserver(engine.state, clock, placement_inputs, self._rounds, rules, holds_changed)
        self._is_whole = True
        """All that the last round decided was written, or nothing."""
        self.backoffs = Backoffs()
        """Wishes that Kubernetes found no node for."""
        self._in_vain: list[ContainerId] = []
        """Containers that found no place on the nodes that were held for them."""
        self.again_in_s = inf
        """When the last tick wants another, whatever happens."""

    def wake(self) -> None:
        self._wanted.set()

    @property
    def is_woken(self) -> bool:
        """A tick is owed."""
        return self._wanted.is_set()

    def published(self, rows: Iterable[Row] = ()) -> None:
        """Rows were committed: whatever of them a decision reads wakes it.  Never waits."""
        if self.backoffs.is_any:
            for row in rows:
                if isinstance(row, Container) and row.node_id is not None and row.is_live:
                    self.backoffs.placed(Tried.of(row.id.application_id, row.capability, row.placement))
        if self._decision_inputs != self._engine.state.change_counters.decision_inputs:
            self._decision_inputs = self._engine.state.change_counters.decision_inputs
            self.wake()

    def use_limits(self, limits: AllocationLimits) -> None:
        """Use these limits from the next cycle on."""
        self.limits = limits
        self._quotas.use_am_share(limits.am_share)
        self.wake()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.again_in_s if self.again_in_s < inf else None):
                    await self._wanted.wait()
            try:
                more = await self.tick()
            except Unavailable as error:
                log.warning("scheduling cycle failed, will retry", error=str(error), retry_s=RETRY_S)
                await asyncio.sleep(RETRY_S)
                more = True
            except Exception as error:  # a bug in a decision: nothing starts, and all that runs goes on
                log.error("scheduling cycle failed unexpectedly, will retry", exc_info=error, retry_s=RETRY_S)
                await asyncio.sleep(RETRY_S)
                more = True
            if more:
                self._wanted.set()
            await asyncio.sleep(TICK_INTERVAL_MIN_S)

    async def tick(self) -> bool:
        """One round.  True when the per-tick limit cut it short."""
        self._wanted.clear()
        if self._engine.state.queue_use.over_parallel_limit:
            self._demands.let_run(self.ledger())
        for _ in self._placement_inputs.read_ahead(self._engine.state.pools.drawn_on, NODES_AT_ONCE):
            await asyncio.sleep(0)
        for _ in range(self._changed_application_count // READ_AT_ONCE):
            self._read(READ_AT_ONCE)
            await asyncio.sleep(0)
        self._in_vain = []
        decision, look = self._decide()
        is_held_anew = self._quotas.is_enforced and self.holder.add(self._quotas.ledger())
        self._quotas.note(decision)
        self._engine.state.reasons.explain_decision(decision, self._clock.now_ms())
        self.fresh_decision.made()
        again_in_s = self._misfits.note(self._rounds.demands, decision)
        now_s = self._clock.monotonic_s()
        backoffs_in_s = self.backoffs.next_s(now_s) - now_s
        self.again_in_s = min(
            decision.again_in_s, self.holder.again_in_s, backoffs_in_s, inf if again_in_s is None else again_in_s
        )
        stranded = self._stranded()
        in_vain = self._in_vain
        if not decision.plans and not decision.take_backs and not decision.increases and not stranded and not in_vain:
            if look is not None:
                self.activities.keep(*look)
            return decision.is_cut or is_held_anew
        self._is_whole = False
        planned = await self._written(decision, stranded, in_vain)
        self._is_whole = len(planned) == len(decision.plans)
        if look is not None:
            self.activities.keep(*look, planned)
        for plan, container_id in planned:
            if plan.is_held:
                self.holder.planned((plan.attempt_id, plan.key), container_id)
            runtime = self._engine.state.masters.runtimes.get(plan.attempt_id)
            if plan.is_local and plan.key is not None and runtime is not None:
                runtime.wishes.served_where_preferred(plan.key, self._clock.monotonic_s())
        for increase in decision.increases:
            for runtime in self._engine.state.masters.runtimes.values():
                runtime.wishes.increase_decided(increase.container_id, increase.target)
        return decision.is_cut or is_held_anew or len(decision.plans) >= self.limits.per_tick_max

    def _decide(self) -> tuple[Decision, tuple[ActivityRequests, Decision, Sequence[PoolPart]] | None]:
        """Decide about changed leaves only, if limits are enforced and no activities are recorded; else about all.
        Return also the activities to record."""
        self._read()
        self.backoffs.look((self._placement_inputs.version, self._engine.state.change_counters.queues))
        if self._quotas.is_enforced:
            self._in_vain = self.holder.review(self._quotas.ledger_without_holds())
        else:
            self.holder.drop_all()
        ledger = self.ledger()
        demands = self._rounds.demands.values()
        asked = self.activities.asked(demands)
        if asked is not None or ledger is None:
            if ledger is not None:
                self._rounds.note_users(ledger)
            parts = self.parts(demands)
            decision = decide_by_pool(parts, self.limits, asked.attempts if asked is not None else (), ledger)
            return decision, (asked, decision, parts) if asked is not None else None
        return self._round(ledger), None

    @property
    def _changed_application_count(self) -> int:
        """Applications that are to be read before the next round."""
        if self._rules_now != self._rules:
            self._demands.read_anew()
            self._rules = self._rules_now
        return len(self._engine.state.change_counters.changed_applications)

    @property
    def _rules_now(self) -> object:
        """Return the rules that determine the pool, with its name, and the limits of a demand."""
        pools = self._engine.state.pools
        return pools.pools, tuple(map(pools.words, pools.drawn_on)), self.limits, self._quotas.is_enforced

    def _read(self, at_most: int | None = None) -> None:
        """Read the demands of some of the changed applications, or of all of them."""
        if self._changed_application_count:
            for attempt_id, demand in self._demands.changed(at_most):
                self._rounds.put(attempt_id, demand, self._engine.state.pools.pools.of)

    def _round(self, ledger: UsageLedger) -> Decision:
        state = self._engine.state
        if not self._is_whole:
            self._rounds.wake_all()
            self._is_whole = True
        basis = (
            ledger.tree,
            ledger.am_share,
            self._quotas.windows_version,
            self._placement_inputs.version,
        )
        changed = state.queue_use.take_changed()
        turns = self._rounds.begin(self._rules, basis, changed, ledger, self._free_of, state.pools.pools.of)
        names = list(turns) or [state.pools.pools.default]
        capacities = {name: self._capacity(name, turns[name].particular if name in turns else ()) for name in names}
        return self._rounds.decide(turns, capacities, self.limits, ledger)

    def _free_of(self, pool: PoolName) -> Resource:
        state = self._engine.state
        held = total_of(hold.counted for hold in state.holds.of_pool(pool))
        return state.pools.of(pool).total - state.pools.used(pool).resource - held

    @property
    def kept_demands(self) -> Mapping[ApplicationAttemptId, Demand]:
        """Return by attempt what was wanted when the last round began."""
        return self._rounds.demands

    @property
    def changed_applications(self) -> Collection[ApplicationId]:
        """Return applications that the next round reads again."""
        return self._engine.state.change_counters.changed_applications

    @property
    def waiting(self) -> WaitingBook:
        """Return the requests that were not planned."""
        return self._engine.state.reasons.waiting

    def ledger(self) -> UsageLedger | None:
        """Return the limits of queues and users as a decision reads them; None if limits are only observed."""
        return self._quotas.ledger() if self._quotas.is_enforced else None

    def parts(self, demands: Iterable[Demand]) -> list[PoolPart]:
        """Return demands and capacity of each pool, as a decision reads them."""
        pools = self._engine.state.pools.pools
        by_pool: dict[PoolName, list[Demand]] = {}
        for demand in demands:
            by_pool.setdefault(pools.of(demand.queue), []).append(demand)
        by_pool = by_pool or {pools.default: []}
        return [PoolPart(demands=own, capacity=self._capacity(pool, own)) for pool, own in by_pool.items()]

    def part(self, pool: PoolName, demands: Sequence[Demand]) -> PoolPart:
        """The part of one pool, also where nothing is wanted of it."""
        own = [demand for demand in demands if self._engine.state.pools.pools.of(demand.queue) == pool]
        return PoolPart(demands=own, capacity=self._capacity(pool, own))

    def _capacity(self, pool: PoolName, demands: Sequence[Demand]) -> Capacity:
        state = self._engine.state
        growing = {increase.node_id for one in demands for increase in one.increases}
        usage = state.pools.used(pool)
        return Capacity(
            total=state.pools.of(pool).total,
            used=usage.resource,
            am_used=usage.am_resource,
            in_flight=state.container_index.planned_count,
            free_on={node_id: self._placement_inputs.free_on(node_id, pool) for node_id in growing},
            places=self._placement_inputs.places(is_locality_wanted=any(one.waited_s for one in demands), pool=pool),
            pool=state.pools.words(pool),
            holds=state.holds.of_pool(pool),
            avoided=self.holder.avoided.all,
            backoffs=self.backoffs,
            now_s=self._clock.monotonic_s(),
        )

    def demands(self) -> list[Demand]:
        """Return all requests, as a decision reads them."""
        return self._demands.all()

    def _stranded(self) -> list[ContainerId]:
        """Containers on their way to nodes that we named for a constraint, and of which none is left: others may do."""
        state = self._engine.state

        def may_go_to(host: str) -> bool:
            node = state.node_index.of_host(host)
            return node is not None and node.is_usable

        return [
            container.id
            for container in state.container_index.tagged.values()
            if container.state is ContainerState.PLANNED
            and container.placement.nodes
            and not any(map(may_go_to, container.placement.nodes))
        ]

    async def _written(
        self, decision: Decision, stranded: Sequence[ContainerId], in_vain: Sequence[ContainerId]
    ) -> list[tuple[Plan, ContainerId]]:
        """Commit what was decided, and return what was planned.  Raises as ``Engine.do`` does."""
        planned: list[tuple[Plan, ContainerId]] = []

        def work(tx: Transaction) -> None:
            # An attempt may have ended while this waited its turn.
            live = (p for p in decision.plans if tx.has(p.attempt_id) and not tx.attempt(p.attempt_id).state.is_final)
            for plan in live:
                planned.append((plan, self._new_id(tx, plan)))
                self._write_plan(tx, *planned[-1])
            self._write(tx, decision, stranded, in_vain)

        try:
            await self._engine.do(work)
        finally:
            for _, container_id in planned:
                self._node_managers.written(container_id)
        return planned

    def _write(
        self, tx: Transaction, decision: Decision, stranded: Sequence[ContainerId], in_vain: Sequence[ContainerId]
    ) -> None:
        for take_back in decision.take_backs:
            self._take_back(tx, take_back)
        for container_id in stranded:
            if tx.has(container_id):
                tx.tell(container_id, StopRequested(ContainerExitStatus.ABORTED, STRANDED, tx.now_ms))
        for container_id in in_vain:
            if tx.has(container_id) and tx.container(container_id).state is ContainerState.PLANNED:
                tx.tell(container_id, StopRequested(ContainerExitStatus.ABORTED, NOT_PLACED, tx.now_ms))
        for increase in decision.increases:
            if tx.has(increase.container_id):
                tx.tell(increase.container_id, IncreaseDecided(increase.target))

    def _new_id(self, tx: Transaction, plan: Plan) -> ContainerId:
        """Return the container's id; the next one of its attempt, unless it is an ApplicationMaster's.  No row keeps
        the number: a restart has another epoch."""
        attempt, state = tx.attempt(plan.attempt_id), self._engine.state
        if plan.key is None:
            assert attempt.am_container_id is not None
            return attempt.am_container_id
        return ContainerId.of(attempt.id, next(state.masters.runtimes[attempt.id].sequences), state.identity.epoch)

    def _write_plan(self, tx: Transaction, plan: Plan, container_id: ContainerId) -> None:
        """Write the row, with its node if a NodeManager runs it; else it is to be reconciled."""
        submission, key = tx.application(plan.attempt_id.application_id).submission, plan.key
        container = Container(
            id=container_id,
            pod=dns_name(container_id),
            type=ContainerType.APPLICATION_MASTER if key is None else ContainerType.TASK,
            user=submission.user,
            queue=submission.queue,
            capability=plan.capability,
            asked_capability=key.capability if key is not None else submission.am_asked_capability,
            priority=key.priority if key is not None else AM_PRIORITY,
            allocation_request_id=key.allocation_request_id if key is not None else -1,
            execution_type=ExecutionType.GUARANTEED,
            asked_execution_type=key.execution_type if key is not None else ExecutionType.GUARANTEED,
            placement=plan.placement,
            allocation_tags=plan.tags,
            created_ms=tx.now_ms,
        )
        tx.put(container)
        tx.effects.append(Planned(container_id))
        node_id = self._node_managers.give(container)
        if node_id is None:
            tx.effects.append(Reconcile(container_id))
        else:
            tx.tell(container_id, NodeManagerChosen(node_id))

    def _take_back(self, tx: Transaction, take_back: TakeBack) -> None:
        """The AM wants fewer: those without a node go first."""
        runtime = self._engine.state.masters.runtimes.get(take_back.attempt_id)
        if runtime is None:
            return
        ids = [i for i in runtime.wishes.in_flight.get(take_back.key, ()) if tx.has(i)]
        ids.sort(key=lambda i: (tx.container(i).state is not ContainerState.PLANNED, -i.number))
        for container_id in ids[: take_back.count]:
            text = "Container request was cancelled by application"
            tx.tell(container_id, StopRequested(ContainerExitStatus.ABORTED, text, tx.now_ms))
