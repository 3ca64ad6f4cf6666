"""The scheduler's configuration, read and changed while the ResourceManager runs (MutableCSConfigurationProvider).

A change is put together and judged whole, written with its queues in one transaction, and only then in force and
answered: before the commit nothing happened, after it a restart finds the same.  Who may is asked by the caller's
protocol first (an administrator, where yarn.acl.enable is on) and here for every change, as Hadoop's
DefaultConfigurationMutationACLPolicy does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import accumulate

import structlog

from yodel.domain.queues.properties import MAXIMUM_AM_SHARE, described, properties_of, require_passable
from yodel.domain.queues.queue import Queue, differing, with_enforcement
from yodel.domain.scheduler_conf import ConfUpdate, SchedulerConf, assembled
from yodel.errors import AccessDenied, Refused
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

NOT_ADMIN = "User is not admin of all modified queues."
NOT_PASSABLE = "Failed to re-init queues : "
"""CapacityScheduler.reinitialize puts it before what is wrong with the queues."""
log = structlog.get_logger("yodel.scheduler_conf")


class SchedulerConfService:
    """One instance for the process.  ``initial`` reads the queues of the settings, ``am_share`` their
    maximum-am-resource-percent; ``use_am_share`` puts another in force.  ``are_acls_enabled``: yarn.acl.enable."""

    def __init__(
        self,
        engine: Engine,
        initial: Callable[[], Awaitable[Sequence[Queue]]],
        am_share: float,
        use_am_share: Callable[[float], None],
        is_admin: Callable[[str], bool],
        *,
        are_acls_enabled: bool = False,
    ) -> None:
        self._engine, self._initial, self._am_share = engine, initial, am_share
        self._use_am_share, self.is_admin, self.are_acls_enabled = use_am_share, is_admin, are_acls_enabled
        self._turn = asyncio.Lock()

    def start(self) -> None:
        """Put in force what is stored."""
        if self._conf.is_ours:
            share = self._conf.mapping().get(MAXIMUM_AM_SHARE)
            self._use_am_share(self._am_share if share is None else float(share))

    @property
    def version(self) -> int:
        return self._conf.version

    def properties(self) -> Mapping[str, str]:
        """By full names, what is in force."""
        if self._conf.is_ours:
            return self._conf.mapping()
        return properties_of(self._engine.state.queues.values(), self._am_share)

    def validated(self, update: ConfUpdate) -> Mapping[str, str]:
        """What the configuration would be.

        Raises:
            Refused: it would be refused.
        """
        return self._judged(update)[0]

    async def update(self, user: str, update: ConfUpdate) -> None:
        """Raises AccessDenied, Refused, Unavailable: nothing is changed."""
        self._require_admin(user)

        def work(tx: Transaction) -> float | None:
            properties, queues, am_share = self._judged(update)
            self._write(tx, self._conf.next(properties), queues)
            return am_share

        async with self._turn:
            am_share = await self._engine.do(work)
            self._use_am_share(am_share or self._am_share)
        log.info("scheduler configuration changed", user=user, version=self.version, **_summary(update))

    async def format(self, user: str) -> None:
        """Back to the queues of the settings, which count from then on until the next change.

        Raises:
            AccessDenied, InvalidValue, Refused, Unavailable: nothing is changed.
        """
        self._require_admin(user)
        initial = await self._initial()

        def work(tx: Transaction) -> None:
            self._require_passable(initial)
            self._write(tx, self._conf.next({}), initial)

        async with self._turn:
            await self._engine.do(work)
            self._use_am_share(self._am_share)
        log.info("scheduler configuration formatted", user=user, version=self.version)

    @property
    def _conf(self) -> SchedulerConf:
        return self._engine.state.scheduler_conf

    def _judged(self, update: ConfUpdate) -> tuple[dict[str, str], Sequence[Queue], float | None]:
        properties = assembled(self.properties(), update)
        try:
            found = described(properties)
        except Refused as error:
            raise Refused(NOT_PASSABLE + str(error)) from error
        self._require_passable(found.queues)
        return properties, found.queues, found.am_share

    def _require_passable(self, queues: Sequence[Queue]) -> None:
        """Only the rows are looked at: a queue that goes is stopped since an earlier commit, so nothing comes to it."""
        state = self._engine.state
        used: set[str] = set()
        for path in {a.submission.queue for a in state.applications.values() if not a.state.is_final}:
            used.update(accumulate(path.split("."), "{}.{}".format))
        try:
            require_passable(state.queues, {queue.path: queue for queue in queues}, used)
        except Refused as error:
            raise Refused(NOT_PASSABLE + str(error)) from error

    def _write(self, tx: Transaction, conf: SchedulerConf, queues: Sequence[Queue]) -> None:
        present = self._engine.state.queues
        queues = with_enforcement(queues, present, None)
        wanted = {queue.path for queue in queues}
        stay = [queue for path, queue in present.items() if path in wanted]
        tx.queues.rows += [conf, *differing(stay, queues)]
        tx.queues.removed += [path for path in present if path not in wanted]

    def _require_admin(self, user: str) -> None:
        if not self.is_admin(user):
            log.warning("change of the scheduler configuration refused", user=user)
            raise AccessDenied(NOT_ADMIN)


def _summary(update: ConfUpdate) -> dict[str, object]:
    """For the audit: names of queues and properties."""
    return {
        "removed": list(update.removed),
        "added": [change.path for change in update.added],
        "updated": {change.path: sorted(change.properties) for change in update.updated},
        "overall": sorted(update.overall or ()),
    }
