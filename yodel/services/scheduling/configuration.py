"""The scheduler's configuration, read and changed while the ResourceManager runs (MutableCSConfigurationProvider).

The queues' rows are the configuration.  A change is put together and judged whole, written with its version and what is
kept of it in one transaction, and only then in force and answered: before the commit nothing happened, after it a
restart finds the same.  Who may is asked by the caller's protocol first (an administrator, where yarn.acl.enable is on)
and here for every change, as Hadoop's QueueAdminConfigurationMutationACLPolicy does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import structlog

from yodel.domain.colocation.properties import colocation_of
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.queues.bounds import OutOfBounds, require_path, require_properties, require_update
from yodel.domain.queues.delegation import IsRead, first_not_delegated, reading
from yodel.domain.queues.history import TreeChange, change_between, undone
from yodel.domain.queues.mapping import NO_RULES, MappingRules
from yodel.domain.queues.mapping_properties import mapping_of
from yodel.domain.queues.moving import moved
from yodel.domain.queues.pools import Pools
from yodel.domain.queues.properties import (
    MAXIMUM_AM_SHARE,
    NONE_PRESENT,
    Described,
    Present,
    described,
    properties_of,
    require_passable,
)
from yodel.domain.queues.queue import Queue, differing, with_enforcement
from yodel.domain.queues.removal import MARK, RemovalMark, empty, in_use, require_not_made, with_used
from yodel.domain.queues.words import are_said, said_properties
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, assembled
from yodel.errors import AccessDenied, ChangeNotFound, InvalidQueues, QueuesInUse, Refused, StaleVersion
from yodel.ports.store import QueueHistory
from yodel.services.access.rights import Rights
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

NOT_ADMIN = "User is not admin of all modified queues."
HISTORY_PAGE = 100
NAME_SHOWN_MAX = 200
"""The most characters of a property that its author is told."""
log = structlog.get_logger("yodel.scheduler_conf")

Wanted = Callable[[Mapping[str, str]], Mapping[str, str]]
"""The configuration that somebody wants, made from the present one.  Raises Refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationChange:
    """A change that was judged and may be made.  ``properties`` None: from now on the settings speak."""

    properties: Mapping[str, str] | None
    queues: Sequence[Queue]
    am_share: float | None
    change: TreeChange
    mapping: MappingRules = NO_RULES
    colocation: ColocationSwitch = OFF
    is_needed: bool = True
    """Something would be different afterwards."""
    warnings: Sequence[str] = ()
    """Warnings that its author should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Holds a requested change with its base: all that a thread needs to apply it."""

    user: str
    wanted: Wanted
    reason: str
    version: int
    rows: Sequence[Queue]
    queues_version: int
    """Grows with every row of a queue."""
    are_described: bool
    """True if this process made the rows of their properties: those of another release may lack fields."""
    pools: Pools
    am_share: float
    administers: Callable[[str], bool] | None
    """Which queues are the user's; None: all of the configuration is."""
    used: Set[str] | None
    """The queues in use where what is wanted is all there is to be and what it does not name goes.  None: it is a
    change of what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Holds the result of a change.  ``change`` has no time yet."""

    asked: _Asked
    properties: Mapping[str, str]
    found: Described
    change: TreeChange
    warnings: Sequence[str] = ()


def _judged(asked: _Asked) -> _Judged:
    """Puts a change together, asks whose it is, and only then describes the queues that it makes: a large tree takes
    longer than others should wait, so this runs in a thread.

    Raises:
        AccessDenied: not for this user.
        Refused, InvalidQueues: what is wanted is no configuration.
    """
    before = _properties(asked.rows, asked.am_share)
    try:
        properties = asked.wanted(before)
    except OutOfBounds as error:
        if error.name:  # what is wrong with a property that is not his is not told
            _require_delegated(asked, [error.name])
        raise
    change = _change(asked, before, properties)
    _require_delegated(asked, change.names)
    found = _described(asked, before, properties)
    if asked.used is not None:
        mark = RemovalMark(version=change.version, author=asked.user)
        try:
            kept = with_used(before, properties, asked.used, mark)
        except Refused as error:
            raise QueuesInUse(str(error)) from error
        if kept != properties:
            properties, change, found = kept, _change(asked, before, kept), _described(asked, before, kept)
    if asked.administers is not None:
        change = replace(change, since=asked.version)
    return _Judged(asked=asked, properties=properties, found=found, change=change)


def _change(asked: _Asked, before: Mapping[str, str], properties: Mapping[str, str]) -> TreeChange:
    return change_between(
        before, properties, version=asked.version + 1, author=asked.user, time_ms=0, reason=asked.reason
    )


def _described(asked: _Asked, before: Mapping[str, str], properties: Mapping[str, str]) -> Described:
    """Raises InvalidQueues."""
    try:
        if asked.used is None:
            require_not_made(before, properties)
        present = NONE_PRESENT
        if asked.are_described:
            present = Present(before, {queue.path: queue for queue in asked.rows})
        return described(properties, asked.pools, present)
    except Refused as error:
        raise InvalidQueues(" ".join((str(error), *getattr(error, "__notes__", ())))) from error


def _paths(queues: Iterable[Queue]) -> set[str]:
    return {queue.path for queue in queues}


def _properties(rows: Sequence[Queue], am_share: float) -> Mapping[str, str]:
    return said_properties(rows) if are_said(rows) else properties_of(rows, am_share)


def _require_delegated(asked: _Asked, names: Iterable[str]) -> None:
    """Raises AccessDenied."""
    if asked.administers is None:
        return
    name = first_not_delegated(names, {queue.path for queue in asked.rows}, asked.administers)
    if name is not None:
        text = f"{NOT_ADMIN} Only an administrator of the cluster may change {name[:NAME_SHOWN_MAX]}."
        raise _denied(asked.user, text)


def _denied(user: str, text: str) -> AccessDenied:
    log.warning("change of the scheduler configuration refused", user=user)
    return AccessDenied(text)


def assembling(update: ConfUpdate) -> Wanted:
    """Return the change that a scheduler-conf request makes."""

    def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
        require_update(update)
        return assembled(present, update)

    return wanted


def moving(path: str, to: str, update: ConfUpdate) -> Wanted:
    """A queue with all below it to another place, and then the rest of the change."""

    def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
        require_path(to)
        require_update(update)
        return assembled(moved(present, path, to), update)

    return wanted


def replacing(properties: Mapping[str, str]) -> Wanted:
    """These properties and nothing else."""

    def wanted(_: Mapping[str, str]) -> Mapping[str, str]:
        require_properties(properties.items())
        return properties

    return wanted


def _removing(mark: RemovalMark, paths: Iterable[str]) -> Wanted:
    """Return a change that removes those of the queues that still have the mark."""

    def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
        marked = [path for path in paths if present.get(f"{PREFIX}{path}.{MARK}") == str(mark)]
        return assembled(present, ConfUpdate(removed=marked))

    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """Applies properties of the whole scheduler.

    ``require_colocation`` raises Refused if the colocation settings cannot be applied, and Unavailable if that is not
    known; it returns warnings.
    """

    am_share: Callable[[float], None]
    mapping: Callable[[MappingRules], None]
    colocation: Callable[[ColocationSwitch], None]
    require_colocation: Callable[[ColocationSwitch], Awaitable[Sequence[str]]]


class SchedulerConfService:
    """One instance for the process.  ``initial`` reads the queues of the settings, ``am_share`` is their
    maximum-am-resource-percent."""

    def __init__(
        self,
        engine: Engine,
        history: QueueHistory,
        initial: Callable[[], Awaitable[Sequence[Queue]]],
        am_share: float,
        consequences: Consequences,
        rights: Rights,
    ) -> None:
        self._engine, self._history, self._initial, self._am_share = engine, history, initial, am_share
        self._use, self._rights = consequences, rights
        self._turn = asyncio.Lock()
        self._described_version = -1
        """The version of the queues' rows after the last change that was made here."""

    def start(self) -> None:
        """Put in force what is stored."""
        if are_said(self._queues.values()):
            properties, queues = self.properties(), self._queues.values()
            share = properties.get(MAXIMUM_AM_SHARE)
            self._use.am_share(self._am_share if share is None else float(share))
            self._use.colocation(colocation_of(properties))
            leaves = [queue.path for queue in queues if queue.is_leaf]
            self._use.mapping(mapping_of(properties, leaves, [q.path for q in queues if not q.is_leaf]))

    @property
    def version(self) -> int:
        return self._engine.state.scheduler_conf.version

    @property
    def are_acls_enabled(self) -> bool:
        """yarn.acl.enable."""
        return self._rights.are_acls_enabled

    def is_admin(self, user: str) -> bool:
        """Return True for an administrator of the cluster."""
        return self._rights.is_admin(user)

    def properties(self) -> Mapping[str, str]:
        """Return what is in force, by full names."""
        return _properties(list(self._queues.values()), self._am_share)

    async def read(self) -> tuple[int, Mapping[str, str]]:
        """Return the version and what is in force, by full names, put together in a thread: a large tree takes longer
        than others should wait."""
        version, rows = self.version, list(self._queues.values())
        return version, await asyncio.to_thread(_properties, rows, self._am_share)

    async def validated(self, update: ConfUpdate) -> Mapping[str, str]:
        """Return the resulting configuration.  Check the caller's rights before (``require_administrator``).

        Raises:
            Refused: it would be refused.
        """
        async with self._turn:
            judged = await self._judge(self._asked("", assembling(update), "", None, None))
            self._require_passable(judged.found.queues, self._in_use())
        return judged.properties

    async def update(self, user: str, update: ConfUpdate) -> None:
        """Raises AccessDenied, Refused, Unavailable: nothing is changed."""
        await self.change(user, assembling(update), is_always_new=True)

    async def planned(
        self, user: str, wanted: Wanted, *, expected: int | None = None, reason: str = "", is_whole: bool = False
    ) -> ConfigurationChange:
        """Return the result of a change without applying it.  Raises as ``change``."""
        return await self._plan(user, wanted, expected, reason, is_whole=is_whole)

    async def change(
        self,
        user: str,
        wanted: Wanted,
        *,
        expected: int | None = None,
        reason: str = "",
        is_always_new: bool = False,
        is_whole: bool = False,
    ) -> ConfigurationChange:
        """``expected`` is the version that the change is made from; None: whatever there is.  What changes nothing
        leaves the version as it is, unless it ``is_always_new``.  ``is_whole``: what is wanted is all there is to be,
        so queues that it does not name go, at once where no application is under way; the others stay, marked to go.

        Raises:
            AccessDenied: not for this user.
            StaleVersion: somebody was faster.
            InvalidQueues: what is wanted is no configuration.
            Refused: not in the present state.
            Unavailable: nothing is changed.
        """
        self.require_administrator(user)
        plan = await self._change(
            user,
            wanted,
            whose=lambda: self._whose(user),
            expected=expected,
            reason=reason,
            is_always_new=is_always_new,
            is_whole=is_whole,
        )
        log.info("queues changed", user=user, version=self.version, properties=len(plan.change.names), reason=reason)
        return plan

    async def remove_empty(self) -> None:
        """Remove the queues that are marked to go and that nothing is under way in any more, each by who marked it.

        Raises:
            Refused: one cannot go in the present state.
            Unavailable: the store does not answer.
        """
        for mark, paths in list(empty(self._queues, in_use(self._engine.state.queue_use.live_by_queue))):
            removal = _removing(mark, paths)
            reason = f"marked for removal by version {mark.version}, and the last application has left"
            await self._change(mark.author, removal, whose=lambda: None, reason=reason)
            log.info("marked queues removed", queues=paths, user=mark.author, version=self.version, marked=mark.version)

    async def _change(
        self,
        user: str,
        wanted: Wanted,
        *,
        whose: Callable[[], Callable[[str], bool] | None],
        expected: int | None = None,
        reason: str = "",
        is_always_new: bool = False,
        is_whole: bool = False,
    ) -> ConfigurationChange:
        """``whose`` tells which queues are the user's, when it is asked for; None: all."""

        def work(tx: Transaction) -> ConfigurationChange:
            self._require_version(expected)
            found, used = judged, self._in_use(tx.new_applications())
            if not self._is_fresh(found, used):  # settings, pools or use have changed while the thread was at it
                again = _judged(self._asked(user, wanted, reason, whose(), used if is_whole else None))
                found = replace(again, warnings=judged.warnings)
            plan = self._planned(found, tx.now_ms, used)
            if plan.is_needed or is_always_new:
                self._write(tx, plan)
            return plan

        async with self._turn:
            self._require_version(expected)
            judged = await self._judge(self._asked(user, wanted, reason, whose(), self._used(is_whole=is_whole)))
            plan = await self._engine.do(work)
            if plan.is_needed:
                self._described_version = self._engine.state.change_counters.queues
            self._use.am_share(plan.am_share or self._am_share)
            self._use.mapping(plan.mapping)
            self._use.colocation(plan.colocation)
        return plan

    async def as_of(self, version: int) -> tuple[int, Mapping[str, str]]:
        """The configuration as it was at a version, and the present version.

        Raises:
            ChangeNotFound: that is not known any more, or never was.
            Unavailable: the store does not answer.
        """
        now, found = await self.read()
        if not 0 < version <= now:
            raise ChangeNotFound(version)
        reached = now
        while reached > version:
            page = await self._history.tree_changes(reached + 1, min(HISTORY_PAGE, reached - version))
            if not page:
                raise ChangeNotFound(version)
            way: list[TreeChange] = []
            for change in page:
                if reached == version:
                    break
                if change.version != reached or change.version_before < version:  # forgotten, or put together
                    raise ChangeNotFound(version)
                way.append(change)
                reached = change.version_before
            found = undone(found, way)
        return now, found

    async def format(self, user: str) -> None:
        """Back to the queues of the settings, which count from then on until the next change.

        Raises:
            AccessDenied, InvalidValue, Refused, Unavailable: nothing is changed.
        """
        if not self.is_admin(user):
            raise _denied(user, NOT_ADMIN)
        initial = await self._initial()

        def work(tx: Transaction) -> None:
            self._require_passable(initial, self._in_use())
            change = change_between(
                self.properties(),
                properties_of(initial, self._am_share),
                version=self.version + 1,
                author=user,
                time_ms=tx.now_ms,
                reason="reset to the settings",
            )
            self._write(tx, ConfigurationChange(properties=None, queues=initial, am_share=None, change=change))

        async with self._turn:
            await self._engine.do(work)
            self._use.am_share(self._am_share)
            self._use.mapping(NO_RULES)
            self._use.colocation(OFF)
        log.info("scheduler configuration formatted", user=user, version=self.version)

    def read_by(self, user: str) -> IsRead | None:
        """Return a function that decides which properties the user may read; None: all.  If yarn.acl.enable is on, they
        are for administrators.

        Raises:
            AccessDenied: the user may read none of them.
        """
        if not self.are_acls_enabled or self.is_admin(user):
            return None
        self.require_administrator(user)
        return reading(set(self._queues), self._rights.queue_administrator(user))

    @property
    def _queues(self) -> Mapping[str, Queue]:
        return self._engine.state.queues

    async def _plan(
        self, user: str, wanted: Wanted, expected: int | None, reason: str, *, is_whole: bool
    ) -> ConfigurationChange:
        self.require_administrator(user)
        async with self._turn:
            self._require_version(expected)
            asked = self._asked(user, wanted, reason, self._whose(user), self._used(is_whole=is_whole))
            judged = await self._judge(asked)
            self._require_version(expected)
            return self._planned(judged, self._engine.clock.now_ms(), self._in_use())

    async def _judge(self, asked: _Asked) -> _Judged:
        """Compute a change in a thread, and check that colocation can be applied.

        Raises:
            InvalidQueues, Refused: it cannot be.
            Unavailable: it is not known.
        """
        judged = await asyncio.to_thread(_judged, asked)
        try:
            warnings = await self._use.require_colocation(judged.found.colocation)
        except Refused as error:
            raise InvalidQueues(str(error)) from error
        return replace(judged, warnings=warnings)

    def _asked(
        self,
        user: str,
        wanted: Wanted,
        reason: str,
        administers: Callable[[str], bool] | None,
        used: Set[str] | None,
    ) -> _Asked:
        state = self._engine.state
        return _Asked(
            user=user,
            wanted=wanted,
            reason=reason,
            version=self.version,
            rows=tuple(self._queues.values()),
            queues_version=state.change_counters.queues,
            are_described=state.change_counters.queues == self._described_version,
            pools=state.pools.pools,
            am_share=self._am_share,
            administers=administers,
            used=used,
        )

    def _whose(self, user: str) -> Callable[[str], bool] | None:
        """Return a function that is True for the user's queues; None: all are."""
        return None if self.is_admin(user) else self._rights.queue_administrator(user)

    def _is_fresh(self, judged: _Judged, used: Set[str]) -> bool:
        """Return True if the base of the change is unchanged, and no queue that it removes is in use."""
        state, asked = self._engine.state, judged.asked
        is_same_tree = (asked.version, asked.queues_version) == (self.version, state.change_counters.queues)
        if not is_same_tree or asked.pools is not state.pools.pools:
            return False
        return asked.used is None or not (used - asked.used) & (self._queues.keys() - _paths(judged.found.queues))

    def _planned(self, judged: _Judged, now_ms: int, used: Set[str]) -> ConfigurationChange:
        found = judged.found
        self._require_passable(found.queues, used, may_empty_go=judged.asked.used is not None)
        return ConfigurationChange(
            properties=judged.properties,
            queues=found.queues,
            am_share=found.am_share,
            mapping=found.mapping,
            colocation=found.colocation,
            change=replace(judged.change, time_ms=now_ms),
            is_needed=bool(judged.change.before or judged.change.after) or not are_said(self._queues.values()),
            warnings=judged.warnings,
        )

    def _require_version(self, expected: int | None) -> None:
        if expected is not None and expected != self.version:
            raise StaleVersion(expected, self.version)

    def require_administrator(self, user: str) -> None:
        """Check that the user administers the cluster or some queue; nothing is read for anybody else.  Raises
        AccessDenied."""
        if not self.is_admin(user) and not self._rights.administers_any_queue(user):
            raise _denied(user, NOT_ADMIN)

    def _in_use(self, beside: Iterable[tuple[str, str]] = ()) -> set[str]:
        """Queues with an application under way in them or below them.  ``beside``: queues and users of applications
        that are accepted and not committed yet."""
        return in_use((*self._engine.state.queue_use.live_by_queue, *(queue for queue, _ in beside)))

    def _used(self, *, is_whole: bool) -> set[str] | None:
        """Return the queues in use, for a change that replaces the whole configuration; None for others."""
        return self._in_use() if is_whole else None

    def _require_passable(self, queues: Sequence[Queue], used: Set[str], *, may_empty_go: bool = False) -> None:
        """A queue that was not stopped before goes only where the whole tree is said."""
        wanted = {queue.path: queue for queue in queues}
        try:
            require_passable(self._engine.state.queues, wanted, used, may_empty_go=may_empty_go)
        except Refused as error:
            raise QueuesInUse(str(error)) from error

    def _write(self, tx: Transaction, plan: ConfigurationChange) -> None:
        """The copy in the version's row is for the release before, which looks for the configuration there."""
        present = self._queues
        queues = with_enforcement(plan.queues, present, None)
        wanted = {queue.path for queue in queues}
        stay = [queue for path, queue in present.items() if path in wanted]
        conf = self._engine.state.scheduler_conf.next(plan.properties or {})
        tx.queues.rows += [conf, *differing(stay, queues)]
        tx.queues.removed += [path for path in present if path not in wanted]
        tx.queues.history.append(plan.change)
