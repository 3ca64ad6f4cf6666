"""The scheduler's configuration, read and changed while the ResourceManager runs (MutableCSConfigurationProvider).

The queues' rows are the configuration.  A change is put together and judged whole, written with its version and what is
kept of it in one transaction, and only then in force and answered: before the commit nothing happened, after it a
restart finds the same.  Who may is asked by the caller's protocol first (an administrator, where yarn.acl.enable is on)
and here for every change, as Hadoop's QueueAdminConfigurationMutationACLPolicy does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import structlog

from yodel.domain.application import Application
from yodel.domain.queues.delegation import not_delegated
from yodel.domain.queues.history import TreeChange, change_between, undone
from yodel.domain.queues.mapping import NO_RULES, MappingRules
from yodel.domain.queues.mapping_properties import mapping_of
from yodel.domain.queues.pools import Pools
from yodel.domain.queues.properties import MAXIMUM_AM_SHARE, Described, described, properties_of, require_passable
from yodel.domain.queues.queue import Queue, differing, with_enforcement
from yodel.domain.queues.words import are_said, said_properties, with_words
from yodel.domain.scheduler_conf import ConfUpdate, assembled
from yodel.errors import AccessDenied, ChangeNotFound, InvalidQueues, Refused, StaleVersion, YodelError
from yodel.ports.store import QueueHistory
from yodel.services.access.rights import Rights
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

NOT_ADMIN = "User is not admin of all modified queues."
NOT_PASSABLE = "Failed to re-init queues : "
"""CapacityScheduler.reinitialize puts it before what is wrong with the queues."""
HISTORY_PAGE = 100
log = structlog.get_logger("yodel.scheduler_conf")

Wanted = Callable[[Mapping[str, str]], Mapping[str, str]]
"""The configuration that somebody wants, made from the present one.  Raises Refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change that was judged and may be made.  ``properties`` None: from now on the settings speak."""

    properties: Mapping[str, str] | None
    queues: Sequence[Queue]
    am_share: float | None
    change: TreeChange
    mapping: MappingRules = NO_RULES
    is_needed: bool = True
    """Something would be different afterwards."""


def _description(properties: Mapping[str, str], pools: Pools) -> Described:
    """With the words of each queue.  Raises Refused."""
    found = described(properties, pools)
    return replace(found, queues=tuple(with_words(found.queues, properties)))


def assembling(update: ConfUpdate) -> Wanted:
    """As scheduler-conf changes it."""
    return lambda present: assembled(present, update)


def replacing(properties: Mapping[str, str]) -> Wanted:
    """These properties and nothing else."""
    return lambda _: properties


class SchedulerConfService:
    """One instance for the process.  ``initial`` reads the queues of the settings, ``am_share`` their
    maximum-am-resource-percent; ``use_am_share`` puts another in force, ``use_mapping`` other mapping rules."""

    def __init__(
        self,
        engine: Engine,
        history: QueueHistory,
        initial: Callable[[], Awaitable[Sequence[Queue]]],
        am_share: float,
        use_am_share: Callable[[float], None],
        use_mapping: Callable[[MappingRules], None],
        rights: Rights,
    ) -> None:
        self._engine, self._history, self._initial, self._am_share = engine, history, initial, am_share
        self._use_am_share, self._use_mapping, self._rights = use_am_share, use_mapping, rights
        self._turn = asyncio.Lock()
        self._ahead: tuple[Mapping[str, str], Pools, Described | Refused] | None = None
        """What was described last, of which pools, and what came of it."""

    def start(self) -> None:
        """Put in force what is stored."""
        if are_said(self._queues.values()):
            properties, queues = self.properties(), self._queues.values()
            share = properties.get(MAXIMUM_AM_SHARE)
            self._use_am_share(self._am_share if share is None else float(share))
            leaves = [queue.path for queue in queues if queue.is_leaf]
            self._use_mapping(mapping_of(properties, leaves, [q.path for q in queues if not q.is_leaf]))

    @property
    def version(self) -> int:
        return self._engine.state.scheduler_conf.version

    @property
    def are_acls_enabled(self) -> bool:
        """yarn.acl.enable."""
        return self._rights.are_acls_enabled

    def is_admin(self, user: str) -> bool:
        """Of the cluster."""
        return self._rights.is_admin(user)

    def properties(self) -> Mapping[str, str]:
        """By full names, what is in force."""
        rows = self._queues.values()
        return said_properties(rows) if are_said(rows) else properties_of(rows, self._am_share)

    async def validated(self, update: ConfUpdate) -> Mapping[str, str]:
        """What the configuration would be.

        Raises:
            Refused: it would be refused.
        """
        async with self._turn, self._described_ahead(assembling(update)):
            wanted = assembling(update)(self.properties())
            self._judged(wanted)
        return wanted

    async def update(self, user: str, update: ConfUpdate) -> None:
        """Raises AccessDenied, Refused, Unavailable: nothing is changed."""
        await self.change(user, assembling(update), is_always_new=True)

    async def planned(
        self, user: str, wanted: Wanted, *, expected: int | None = None, reason: str = "", may_empty_go: bool = False
    ) -> Plan:
        """What the change would be; nothing is changed.  Raises as ``change``."""
        self._require_administrator(user)
        async with self._turn, self._described_ahead(wanted):
            now_ms = self._engine.clock.now_ms()
            return self._plan(user, wanted, expected, reason, now_ms, () if may_empty_go else None)

    async def change(
        self,
        user: str,
        wanted: Wanted,
        *,
        expected: int | None = None,
        reason: str = "",
        is_always_new: bool = False,
        may_empty_go: bool = False,
    ) -> Plan:
        """``expected`` is the version that the change is made from; None: whatever there is.  What changes nothing
        leaves the version as it is, unless it ``is_always_new``.  ``may_empty_go``: queues without an application may
        go at once, and need not be stopped before.

        Raises:
            AccessDenied: not for this user.
            StaleVersion: somebody was faster.
            InvalidQueues: what is wanted is no configuration.
            Refused: not in the present state.
            Unavailable: nothing is changed.
        """

        def work(tx: Transaction) -> Plan:
            beside = tx.new_applications() if may_empty_go else None
            plan = self._plan(user, wanted, expected, reason, tx.now_ms, beside)
            if plan.is_needed or is_always_new:
                self._write(tx, plan)
            return plan

        self._require_administrator(user)
        async with self._turn, self._described_ahead(wanted):
            plan = await self._engine.do(work)
            self._use_am_share(plan.am_share or self._am_share)
            self._use_mapping(plan.mapping)
        log.info("queues changed", user=user, version=self.version, properties=len(plan.change.names), reason=reason)
        return plan

    async def as_of(self, version: int) -> tuple[int, Mapping[str, str]]:
        """The configuration as it was at a version, and the present version.

        Raises:
            ChangeNotFound: that is not known any more, or never was.
            Unavailable: the store does not answer.
        """
        now, found = self.version, self.properties()
        if not 0 < version <= now:
            raise ChangeNotFound(version)
        reached = now
        while reached > version:
            page = await self._history.tree_changes(reached + 1, min(HISTORY_PAGE, reached - version))
            if [change.version for change in page] != list(range(reached, reached - len(page), -1)) or not page:
                raise ChangeNotFound(version)
            found = undone(found, page)
            reached -= len(page)
        return now, found

    async def format(self, user: str) -> None:
        """Back to the queues of the settings, which count from then on until the next change.

        Raises:
            AccessDenied, InvalidValue, Refused, Unavailable: nothing is changed.
        """
        if not self.is_admin(user):
            raise self._denied(user, NOT_ADMIN)
        initial = await self._initial()

        def work(tx: Transaction) -> None:
            self._require_passable(initial)
            change = change_between(
                self.properties(),
                properties_of(initial, self._am_share),
                version=self.version + 1,
                author=user,
                time_ms=tx.now_ms,
                reason="back to the settings",
            )
            self._write(tx, Plan(properties=None, queues=initial, am_share=None, change=change))

        async with self._turn:
            await self._engine.do(work)
            self._use_am_share(self._am_share)
            self._use_mapping(NO_RULES)
        log.info("scheduler configuration formatted", user=user, version=self.version)

    def require_reader(self, user: str) -> None:
        """Raises AccessDenied: the words of the configuration are for administrators where yarn.acl.enable is on."""
        if self.are_acls_enabled and not self.is_admin(user) and not self._administers_any(user):
            raise self._denied(user, NOT_ADMIN)

    @property
    def _queues(self) -> Mapping[str, Queue]:
        return self._engine.state.queues

    def _plan(
        self,
        user: str,
        wanted: Wanted,
        expected: int | None,
        reason: str,
        now_ms: int,
        beside: Collection[Application] | None,
    ) -> Plan:
        """``beside`` are applications that are accepted and not committed yet; None: no queue goes that is not
        stopped."""
        self._require_administrator(user)
        if expected is not None and expected != self.version:
            raise StaleVersion(expected, self.version)
        before = self.properties()
        properties = wanted(before)
        change = change_between(
            before, properties, version=self.version + 1, author=user, time_ms=now_ms, reason=reason
        )
        if not self.is_admin(user):
            self._require_delegated(user, change)
        found = self._judged(properties, beside)
        is_needed = bool(change.names) or not are_said(self._queues.values())
        return Plan(
            properties=properties,
            queues=found.queues,
            am_share=found.am_share,
            mapping=found.mapping,
            change=change,
            is_needed=is_needed,
        )

    def _judged(self, properties: Mapping[str, str], beside: Collection[Application] | None = None) -> Described:
        pools = self._engine.state.pools.pools
        try:
            if self._ahead is not None and self._ahead[1] is pools and self._ahead[0] == properties:
                found = self._ahead[2]
            else:
                found = _description(properties, pools)
            if isinstance(found, Refused):
                raise found
        except Refused as error:
            text = " ".join((str(error), *getattr(error, "__notes__", ())))
            raise InvalidQueues(NOT_PASSABLE + text) from error
        self._require_passable(found.queues, beside)
        return found

    @asynccontextmanager
    async def _described_ahead(self, wanted: Wanted) -> AsyncIterator[None]:
        """A large tree takes longer than others should wait, so a thread describes it before the transaction begins,
        which finds it here; what has changed since is described there."""
        try:
            properties, pools = wanted(self.properties()), self._engine.state.pools.pools
        except YodelError:  # said by the transaction
            yield
            return
        try:
            found: Described | Refused = await asyncio.to_thread(_description, properties, pools)
        except Refused as error:
            found = error
        self._ahead = properties, pools, found
        try:
            yield
        finally:
            self._ahead = None

    def _require_administrator(self, user: str) -> None:
        """Of the cluster or of some queue."""
        if not self.is_admin(user) and not self._administers_any(user):
            raise self._denied(user, NOT_ADMIN)

    def _require_passable(self, queues: Sequence[Queue], beside: Collection[Application] | None = None) -> None:
        """A queue that is stopped since an earlier commit gets nothing more, so rows are enough; else ``beside`` are
        those that are on their way to one."""
        state = self._engine.state
        used: set[str] = set()
        for path in (*state.queue_use.live_by_queue, *(row.submission.queue for row in beside or ())):
            used.update(accumulate(path.split("."), "{}.{}".format))
        try:
            wanted = {queue.path: queue for queue in queues}
            require_passable(state.queues, wanted, used, may_empty_go=beside is not None)
        except Refused as error:
            raise Refused(NOT_PASSABLE + str(error)) from error

    def _write(self, tx: Transaction, plan: Plan) -> None:
        """The copy in the version's row is for the release before, which looks for the configuration there."""
        present = self._queues
        queues = with_enforcement(plan.queues, present, None)
        wanted = {queue.path for queue in queues}
        stay = [queue for path, queue in present.items() if path in wanted]
        conf = self._engine.state.scheduler_conf.next(plan.properties or {})
        tx.queues.rows += [conf, *differing(stay, queues)]
        tx.queues.removed += [path for path in present if path not in wanted]
        tx.queues.history.append(plan.change)

    def _administers_any(self, user: str) -> bool:
        administers = self._rights.queue_administrator(user)
        return any(queue.administer_acl is not None and administers(path) for path, queue in self._queues.items())

    def _require_delegated(self, user: str, change: TreeChange) -> None:
        name = not_delegated(change, set(self._queues), self._rights.queue_administrator(user))
        if name is not None:
            raise self._denied(user, f"{NOT_ADMIN} It takes an administrator of the cluster to change {name}.")

    def _denied(self, user: str, text: str) -> AccessDenied:
        log.warning("change of the scheduler configuration refused", user=user)
        return AccessDenied(text)
