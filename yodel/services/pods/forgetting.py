"""Containers that are over leave memory, and what is kept of them does not grow for ever.

A container is forgotten when whoever has to hear of its end has heard (the ApplicationMaster; a node agent repeats
itself and needs no row to be answered) and its pod is gone.  It goes into the table of those that ended, for people to
look up, and what it used is added to its application, in one transaction.  An ApplicationMaster's own container stays
as long as its attempt: reports name its node.

Attempts stay as long as their application, but only the last of them: one whose ApplicationMaster always fails again,
after its failures have become too old to count, or by no fault of its own, would have them without end.

It decides nothing twice: what cannot be forgotten yet is told of again, by the acknowledgement, by the end of the
attempt or by the pod that goes; and ``look_at_all`` finds whatever was missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import structlog

from yodel.domain.attempt import Attempt
from yodel.domain.events import ContainerCompletionAcknowledged
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.ports.store import EndedKept, Store
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

INTERVAL_S = 1.0
"""Between rounds: what ended meanwhile shares a transaction."""
BATCH_MAX = 100
"""Containers forgotten, and rows pruned, in one transaction: a few milliseconds of the loop's time."""
PRUNE_INTERVAL_S = 60.0
"""By how much the table may be late."""
ATTEMPTS_KEPT = 20
"""The attempts kept of a live application, the last ones; as many as may fail where these are more.  Hadoop's store
keeps only as many as may fail (RMAppImpl.removeExcessAttempts), its memory all."""
log = structlog.get_logger("yodel.forgetting")


class Forgetting:
    """``may_go`` is told of candidates, ``run`` forgets them.  ``has_pod`` is of what was seen last."""

    def __init__(
        self, engine: Engine, store: Store, clock: Clock, kept: EndedKept, has_pod: Callable[[ContainerId], bool]
    ) -> None:
        self._engine, self._store, self._clock, self._kept, self._has_pod = engine, store, clock, kept, has_pod
        self._candidates: dict[ContainerId, None] = {}
        self._acknowledged: set[ContainerId] = set()
        """Candidates whose acknowledgement is not written yet."""
        self._prune_at_s = clock.monotonic_s()

    def may_go(self, container_id: ContainerId) -> None:
        """Its pod is gone, or nobody has to hear of its end any more: look whether it can be forgotten."""
        if container_id in self._engine.state.containers:
            self._candidates[container_id] = None

    def acknowledged(self, container_ids: Sequence[ContainerId]) -> None:
        """An ApplicationMaster has been notified of their end.  It is written with the next round: should it be lost,
        the ApplicationMaster is notified again, as after RMAppAttemptImpl's recovery."""
        self._acknowledged.update(container_ids)
        self._candidates |= dict.fromkeys(container_ids)

    def look_at_all(self) -> None:
        """Whatever is over is a candidate."""
        self._candidates |= dict.fromkeys(self._engine.state.container_index.ended)

    async def run(self) -> None:
        """Until cancelled.  A store that does not answer is asked again."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                await self.round()
            except Unavailable as error:
                log.warning("ended containers are kept in memory until the store answers", error=str(error))

    async def round(self) -> None:
        """Forget what can be forgotten; now and then, prune what is kept.

        Raises:
            Unavailable: the store did not answer; what is left is tried again.
        """
        while self._candidates:
            batch = list(islice(self._candidates, BATCH_MAX))
            heard = [container_id for container_id in batch if container_id in self._acknowledged]
            ids = [container_id for container_id in batch if self._is_forgettable(container_id)]
            if heard or ids:
                await self._engine.do(partial(_forget, heard, ids), may_wait=True)
            for container_id in batch:
                self._candidates.pop(container_id, None)
                self._acknowledged.discard(container_id)
            await asyncio.sleep(0)
        if self._clock.monotonic_s() >= self._prune_at_s:
            await self._prune()

    async def _prune(self) -> None:
        """All that is too much, a batch at a time; the next one later, even if this one fails."""
        self._prune_at_s = self._clock.monotonic_s() + PRUNE_INTERVAL_S
        self.look_at_all()
        await self._forget_attempts()
        gone = BATCH_MAX
        while gone == BATCH_MAX:
            gone = await self._store.prune_ended(self._kept, self._clock.now_ms(), BATCH_MAX)

    async def _forget_attempts(self) -> None:
        state = self._engine.state
        for application_id in list(state.index.live):
            application = state.applications.get(application_id)
            if application is None:
                continue
            kept = max(ATTEMPTS_KEPT, application.submission.max_attempts)
            excess = min(state.attempt_count(application_id) - kept, BATCH_MAX)
            if excess > 0:
                oldest = state.attempts_of(application_id)[:excess]
                ids = [attempt.id for attempt in oldest if self._is_attempt_forgettable(attempt)]
                await self._engine.do(partial(_forget_attempts, ids), may_wait=True)

    def _is_attempt_forgettable(self, attempt: Attempt) -> bool:
        """It has ended, and so has all that it had, which is forgotten or its ApplicationMaster's without a pod."""
        held = self._engine.state.containers_of(attempt.id)
        return attempt.state.is_final and all(
            container.is_am and not (container.is_live or container.awaits_agent or self._has_pod(container.id))
            for container in held
        )

    def _is_forgettable(self, container_id: ContainerId) -> bool:
        state = self._engine.state
        container = state.containers.get(container_id)
        if container is None or container.is_am:
            return False
        is_heard = container_id in self._acknowledged or state.is_heard_of(container)
        return is_heard and not self._has_pod(container_id)


def _forget(heard: Sequence[ContainerId], forgotten: Sequence[ContainerId], tx: Transaction) -> None:
    """Write that some ends are known, and forget containers; those that went with their application meanwhile are
    skipped."""
    for container_id in heard:
        if tx.has(container_id):
            tx.tell(container_id, ContainerCompletionAcknowledged())
    for container_id in forgotten:
        if tx.has(container_id):
            tx.forget(container_id)


def _forget_attempts(attempt_ids: Sequence[ApplicationAttemptId], tx: Transaction) -> None:
    """Forget attempts; those that went with their application meanwhile are skipped."""
    for attempt_id in attempt_ids:
        if tx.has(attempt_id):
            tx.forget_attempt(attempt_id)
