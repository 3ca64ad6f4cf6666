"""Reclaims lent capacity of nodes that lend less than is used there: containers get notices, and are stopped at their
deadlines.

Each second nodes that are closed because of their lent capacity are checked.  The choice is pure
(``yodel.domain.colocation.taking_back``), less containers that have a notice from anybody; an unnecessary notice is
withdrawn.  It also works with preemption off and where quotas are not enforced: the node's own services come first.
``publishing`` keeps new containers away until usage fits.

An administrator may leave a node less than its agent reports (``evict``), until usage fits and a minute after that; the
order is in the node's row, so that a restarted ResourceManager continues.  Once colocation is off, an administrator may
stop all containers on lent capacity; not before, because they would start again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from yodel.domain.colocation.emergency import COOL_DOWN_MS
from yodel.domain.colocation.node import Intake
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, RESOURCES
from yodel.domain.colocation.taking_back import (
    CPU_VICTIMS_MAX,
    CPU_VICTIMS_WITHIN_S,
    Amounts,
    deficit,
    for_cores_alone,
    in_order,
    shortest_run,
    victims,
)
from yodel.domain.container import Container
from yodel.domain.events import NodeLendingLimited
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.domain.queues.pools import NATIVE
from yodel.errors import AccessDenied, Refused, Unavailable
from yodel.ports.clock import Clock
from yodel.services.access.rights import Rights
from yodel.services.nodes.facts import Change, Facts, NodeFacts
from yodel.services.nodes.holdings import Holdings
from yodel.services.writer.engine import Engine
from yodel.services.writer.preempting import preempt, tell_masters
from yodel.services.writer.transaction import Transaction
from yodel.translator.publishing import LentAmounts

LOOK_S = 1.0
NODES_SLICE = 50
"""Nodes looked at in one turn of the loop."""
SLICE = 500
"""Containers looked at in one turn of the loop, and ended in one transaction."""
SWITCHED_OFF = "colocation was switched off"
log = structlog.get_logger("yodel.colocation")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimPlan:
    """Holds the effect of a reclaim order.  ``victims`` are in the order of preemption; ``fits``: without them usage is
    within what is left."""

    kubernetes_node: str
    held: Amounts
    victims: Sequence[ReclaimVictim]
    notice_s: int
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimVictim:
    container: Container
    queue: str
    why: str


class TakingBack:
    """Takes back in one task.  ``noticed`` is called with new notices."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        facts: Facts,
        holdings: Holdings,
        rights: Rights,
        noticed: Callable[[Mapping[ContainerId, PreemptionNotice]], None],
    ) -> None:
        self._engine, self._clock, self._facts, self._holdings = engine, clock, facts, holdings
        self._rights, self._noticed = rights, noticed
        self.given_count = 0
        """Notices that were given since the start."""
        self.ended_count = 0
        """Containers that were ended."""
        self._turn = asyncio.Lock()
        """The turn of looks: one after the other."""

    # --- what runs -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Unavailable as error:
                log.warning("containers not preempted, will retry", error=str(error))
            except Exception as error:  # a bug in a look: nothing is taken back, and all that runs goes on
                log.error("preemption failed unexpectedly, will retry", exc_info=error)

    async def look(self) -> None:
        """Give and withdraw notices, and stop the containers whose time is over.  Raises Unavailable."""
        async with self._turn:
            await self._look()

    async def _look(self) -> None:
        now_s, state = self._clock.monotonic_s(), self._engine.state
        self._holdings.begin_anew()
        self._tell_of_emergencies()
        self._end_limits()
        before = state.notices.of_teller(Teller.LOANS)
        notices: dict[ContainerId, PreemptionNotice] = {}
        due: list[ContainerId] = []
        for number, name in enumerate(self._closed(), 1):
            if number % NODES_SLICE == 0:
                await asyncio.sleep(0)
            node = self._facts.of(name)
            if node is not None and node.judgement.lent is not None:
                found, over = self._judged(node, node.judgement.lent.by_type, now_s)
                notices |= found
                due += over
        notices = {one: notice for one, notice in notices.items() if one in state.container_index.live}
        state.notices.tell(Teller.LOANS, notices)
        fresh = {one: notice for one, notice in notices.items() if one not in before}
        if fresh:
            self.given_count += len(fresh)
            tell_masters(state, fresh)
            self._noticed(fresh)
            for container_id, notice in fresh.items():
                log.info(
                    "container will be preempted", container_id=str(container_id), reason=notice.reason, why=notice.why
                )
        if due:
            await self._end({one: notices[one].why for one in due if one in notices})

    def _closed(self) -> list[str]:
        """Nodes that take nothing new of the pool that is lent."""
        intakes, pool = self._engine.state.intakes, self._holdings.pool
        names = intakes.closed(pool) if pool is not None else ()
        return [name for name in names if pool is not None and intakes.of(pool, name) is Intake.CLOSED]

    def _judged(
        self, node: NodeFacts, lent: Amounts, now_s: float
    ) -> tuple[dict[ContainerId, PreemptionNotice], list[ContainerId]]:
        """Return the notices on a node, and the containers whose time is over."""
        name, row = node.name, self._engine.state.node_index.of_kubernetes(node.name)
        if row is None:
            return {}, []
        notice_s = self._facts.terms.colocation.notice_s
        ordered = self._holdings.on(row.id)
        held = self._holdings.held(name, ordered)
        before = self._engine.state.notices.of_teller(Teller.LOANS)
        own = [one for one in ordered if one.id in before]
        going = [one for one in ordered if one.id not in before and self._goes_before(one.id, now_s + notice_s)]
        kept = shortest_run(own, deficit(held, lent, going))
        short = deficit(held, lent, [*going, *kept])
        rest = [one for one in ordered if one.id not in before and one not in going]
        lately = [given_s for given_s in node.cpu_victims_s if now_s - given_s < CPU_VICTIMS_WITHIN_S]
        fresh = victims(rest, short, CPU_VICTIMS_MAX - len(lately))
        node.cpu_victims_s = [*lately, *(now_s for _ in for_cores_alone(fresh, short))]
        notices = {one.id: before[one.id] for one in kept}
        why = _why(name, held, lent, is_limited=row.lent_limit is not None)
        for one in fresh:
            notices[one.id] = PreemptionNotice(
                node_id=row.id,
                reason=NoticeReason.LENT_CAPACITY,
                why=why,
                given_s=now_s,
                deadline_s=now_s + notice_s,
                is_master=one.is_master,
            )
        over = [one for one in [*kept, *fresh] if notices[one.id].deadline_s <= now_s]
        over_ids = {one.id for one in over}
        others_stay = any(not one.is_master and one.id not in over_ids for one in ordered)
        return notices, [one.id for one in in_order(over) if not (one.is_master and others_stay)]

    def _goes_before(self, container_id: ContainerId, deadline_s: float) -> bool:
        """Return True if a notice for another reason than lent capacity stops the container by ``deadline_s``."""
        notices = self._engine.state.notices.all_of(container_id)
        others = (one for one in notices if one.reason is not NoticeReason.LENT_CAPACITY)
        return any(notice.deadline_s <= deadline_s for notice in others)

    def _tell_of_emergencies(self) -> None:
        """Give notices for containers that agents ended and whose rows do not show it yet."""
        state, now_s = self._engine.state, self._clock.monotonic_s()
        notices: dict[ContainerId, PreemptionNotice] = {}
        for declared in [facts.declared for facts in self._facts.all() if facts.declared is not None]:
            for container_id in declared.emergency.containers:
                container = state.containers.get(container_id)
                if container is not None and container.is_live and container.node_id == declared.node_id:
                    notices[container_id] = PreemptionNotice(
                        node_id=declared.node_id,
                        reason=NoticeReason.EMERGENCY,
                        why=declared.emergency.reason,
                        given_s=now_s,
                        deadline_s=now_s,
                        is_master=container.is_am,
                    )
        state.notices.tell(Teller.AGENTS, notices)

    # --- what administrators order ---------------------------------------------------------------------------------

    async def evict(self, user: str, node_id: NodeId, left: LentAmounts, *, is_dry_run: bool) -> ReclaimPlan:
        """Leave a node so much of what it lends, until what is held there fits.

        Raises:
            AccessDenied: the user is no administrator.
            Refused: the node lends nothing.
            Unavailable: some may have been ended.
        """
        self._require_admin(user, "nothing is preempted")
        row = self._engine.state.nodes.get(node_id)
        name = row.kubernetes_node_name if row is not None else ""
        node = self._facts.of(name)
        if node is None or node.judgement.lent is None or self._facts.terms.measures is None:
            raise Refused(f"Node {node_id} lends no capacity: there is nothing to reclaim")
        found = self._eviction(name, node.judgement.lent, node_id, left)
        if not is_dry_run:
            limit = LentLimit(cpu_milli=left.cpu_milli, memory_mib=left.memory_mib)
            await self._limit(node_id, limit)
            log.info("lent capacity of node limited", user=user, node=name, **left.by_type, victims=len(found.victims))
            await self.look()
        return found

    async def withdraw(self, user: str, node_id: NodeId) -> None:
        """A node lends what its agent reports again.

        Raises:
            AccessDenied: the user is no administrator.
            Refused: the node was not limited.
            Unavailable: it may have been.
        """
        self._require_admin(user, "nothing is withdrawn")
        row = self._engine.state.nodes.get(node_id)
        if row is None or row.lent_limit is None:
            raise Refused(f"Node {node_id} has no eviction in progress: there is nothing to withdraw")
        await self._limit(node_id, None)
        log.info("lent capacity of node no longer limited", user=user, node=row.kubernetes_node_name)

    async def publish_again(self, user: str, node_id: NodeId) -> str:
        """Publish on a node that is left to another program; return its name in Kubernetes.

        Raises:
            AccessDenied: the user is no administrator.
            Refused: colocation is off, or nobody else publishes there.
        """
        self._require_admin(user, "nothing is published")
        names, row = self._facts.terms.names, self._engine.state.nodes.get(node_id)
        name = row.kubernetes_node_name if row is not None else ""
        facts = self._facts.of(name)
        if not names:
            raise Refused("Colocation is off: nothing is published on any node")
        if facts is None or facts.published is None or not facts.published.other:
            raise Refused(f"Node {node_id} is not left to another program: its lent capacity is published already")
        log.info("published again", user=user, node=name, other=facts.published.other)
        facts.published.claim(names)
        self._facts.tell(Change.TOLD, (name,))
        return name

    async def _limit(self, node_id: NodeId, limit: LentLimit | None) -> None:
        await self._engine.do(lambda tx: tx.tell(node_id, NodeLendingLimited(limit)))
        name = self._engine.state.nodes[node_id].kubernetes_node_name
        self._facts.at(name).fits_since_s = None
        self._facts.tell(Change.TOLD, (name,))

    def _eviction(self, name: str, offered: LentAmounts, node_id: NodeId, left: LentAmounts) -> ReclaimPlan:
        lent = {kind: min(amount, left.by_type[kind]) for kind, amount in offered.by_type.items()}
        ordered = self._holdings.on(node_id)
        held = self._holdings.held(name, ordered)
        chosen = shortest_run(ordered, deficit(held, lent))
        state = self._engine.state
        return ReclaimPlan(
            kubernetes_node=name,
            held=held,
            victims=[
                ReclaimVictim(
                    container=state.containers[one.id],
                    queue=state.applications[one.id.application_id].submission.queue,
                    why=one.standing,
                )
                for one in chosen
            ],
            notice_s=self._facts.terms.colocation.notice_s,
            fits=not deficit(held, lent, chosen),
        )

    def _end_limits(self) -> None:
        """A while after what is used fits; at once where colocation is off, or the Kubernetes node is gone."""
        now_s = self._clock.monotonic_s()
        for row in [row for row in self._engine.state.nodes.values() if row.lent_limit is not None]:
            node = self._facts.of(row.kubernetes_node_name)
            if self._is_over(node, now_s):
                log.info("lent capacity of node no longer limited", node=row.kubernetes_node_name)
                self._engine.tell_later(row.id, NodeLendingLimited(None))

    def _is_over(self, node: NodeFacts | None, now_s: float) -> bool:
        if not self._facts.terms.colocation.is_on:
            return True
        if node is None or node.published is None:
            return self._facts.are_listed
        found = node.judgement.publication
        if found is None or node.judgement.lent is None or found.is_closed:
            node.fits_since_s = None
        elif node.fits_since_s is None:
            node.fits_since_s = now_s
        return node.fits_since_s is not None and (now_s - node.fits_since_s) * 1000 >= COOL_DOWN_MS

    async def end_containers(self, user: str) -> int:
        """End what runs on names that are left of a loan; how many that were.

        Raises:
            AccessDenied: the user is no administrator.
            Refused: colocation is on.
            Unavailable: some may have been ended.
        """
        self._require_admin(user, "containers on lent capacity are not stopped")
        if self._facts.terms.colocation.is_on:
            raise Refused("Colocation is on: switch it off first, or stopped containers would start again")
        wanted: list[ContainerId] = []
        for number, container in enumerate(list(self._engine.state.live_containers())):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            if self._is_on_loan(container):
                wanted.append(container.id)
        await self._end(dict.fromkeys(wanted, SWITCHED_OFF))
        log.info("containers on lent capacity stopped", user=user, containers=len(wanted))
        return len(wanted)

    def _is_on_loan(self, container: Container) -> bool:
        state = self._engine.state
        node = state.nodes.get(container.node_id) if container.node_id is not None else None
        facts = self._facts.of(node.kubernetes_node_name) if node is not None else None
        pool = state.pools.pools.of(container.queue)
        if facts is None or facts.published is None or pool == NATIVE:
            return False
        return bool(facts.published.ours.intersection(state.pools.resources(pool)))

    def _require_admin(self, user: str, outcome: str) -> None:
        if not self._rights.is_admin(user):
            raise AccessDenied(f"User {user} is not an administrator: {outcome}")

    async def _end(self, why_of: Mapping[ContainerId, str]) -> None:
        """Stop containers in this order, with exit status PREEMPTED."""
        wanted = list(why_of.items())
        for first in range(0, len(wanted), SLICE):
            some = wanted[first : first + SLICE]
            self.ended_count += await self._engine.do(lambda tx, some=some: _end_some(tx, some))  # type: ignore[misc]
        for container_id, why in wanted[:SLICE]:
            log.info("container preempted", container_id=str(container_id), why=why)


def _end_some(tx: Transaction, some: Sequence[tuple[ContainerId, str]]) -> int:
    return sum(preempt(tx, container_id, why) for container_id, why in some)


def _why(name: str, held: Amounts, lent: Amounts, *, is_limited: bool) -> str:
    cpu = f"{lent[CPU_MILLI] / 1000:g} of the {held[CPU_MILLI] / 1000:g} cores"
    memory = f"{lent[MEMORY_MIB]} of the {held[MEMORY_MIB]} MiB of memory"
    texts = {CPU_MILLI: cpu, MEMORY_MIB: memory}
    short = [texts[kind] for kind in RESOURCES if held[kind] > lent[kind]]
    ordered = " (ordered by an administrator)" if is_limited else ""
    return f"{name} offers {' and '.join(short)} in use by batch{ordered}"
