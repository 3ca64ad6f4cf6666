"""Changes the queue, priority or lifetime of a running application, for clients.

Follows ClientRMService, RMAppManager and CapacityScheduler, with their messages.  A change is on disk before it is
answered.  An application that has ended is not changed: a new priority or lifetime is answered with the present one, a
move is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.domain.queues import queue as queues
from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.states import ApplicationState
from yodel.errors import AccessDenied, Refused
from yodel.pb_convert.times import iso_8601, parse_iso_8601
from yodel.services.access.rights import Rights
from yodel.services.writer.engine import Engine
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.transaction import Transaction

LIFETIME = "LIFETIME"
"""The only ApplicationTimeoutType there is."""
ACTIVE = (ApplicationState.ACCEPTED, ApplicationState.RUNNING)


class ApplicationChanges:
    """``capped_priority`` is the highest that a wanted one may become."""

    def __init__(self, engine: Engine, rights: Rights, capped_priority: Callable[[int], int], quotas: Quotas) -> None:
        self._engine, self._rights, self._capped_priority = engine, rights, capped_priority
        self._quotas = quotas

    async def move(self, application_id: ApplicationId, user: str, target: str) -> str:
        """Move to another leaf queue, by its path or its leaf name; return the path of the queue it is in now.

        Raises:
            ApplicationNotFound, AccessDenied: as everywhere.
            Refused: the application is over, or the target is no leaf queue, or has as many applications as it may
                (AbstractLeafQueue.validateSubmitApplication).
        """

        def work(tx: Transaction) -> str:
            application = self._modifiable(tx, application_id, user)
            self._require_visible(target, user, application_id)
            if application.state not in ACTIVE:
                raise Refused(f"App in {application.state.name} state cannot be moved.")
            leaf = self._leaf(target, application_id)
            path, owner = leaf.path, application.submission.user
            if path != application.submission.queue:
                refusal = self._quotas.refusal_of_move(leaf, owner, application_id, tx.new_applications())
                if refusal is not None:
                    raise Refused(refusal)
            tx.put(replace(application, submission=replace(application.submission, queue=path)))
            return path

        return await self._engine.do(work)

    async def set_priority(self, application_id: ApplicationId, user: str, priority: int) -> int:
        """The priority it has now: the cluster's maximum when more was wanted, the old one when it is over.

        Raises:
            ApplicationNotFound, AccessDenied.
        """

        def work(tx: Transaction) -> int:
            application = self._modifiable(tx, application_id, user)
            if application.state not in ACTIVE:
                return application.submission.priority
            capped = self._capped_priority(priority)
            tx.put(replace(application, submission=replace(application.submission, priority=capped)))
            return capped

        return await self._engine.do(work)

    async def set_timeouts(
        self, application_id: ApplicationId, user: str, timeouts: Mapping[str, str]
    ) -> dict[str, str]:
        """Set when it has to end, as ISO 8601 by type; return the values in force, which the queue's maximum may have
        shortened.

        Raises:
            ApplicationNotFound, AccessDenied.
            Refused: no timeout is given, one is in another format, or it is in the past.
        """

        def work(tx: Transaction) -> dict[str, str]:
            application = self._modifiable(tx, application_id, user)
            if not timeouts:
                raise Refused("At least one ApplicationTimeoutType should be configured for updating timeouts.")
            if application.state not in ACTIVE:
                return dict(timeouts)
            effective = dict(timeouts)
            wanted_ms = {kind: _future_ms(text, tx.now_ms) for kind, text in timeouts.items()}
            expires_ms = wanted_ms.get(LIFETIME)
            if expires_ms is not None:
                latest_ms = self._latest_end_ms(application)
                if latest_ms is not None and expires_ms > latest_ms:
                    expires_ms, effective[LIFETIME] = latest_ms, iso_8601(latest_ms)
                tx.put(replace(application, expires_ms=expires_ms))
            return effective

        return await self._engine.do(work)

    def _modifiable(self, tx: Transaction, application_id: ApplicationId, user: str) -> Application:
        application = tx.application(application_id)
        self._rights.require_modify(application, user)
        return application

    def _require_visible(self, target: str, user: str, application_id: ApplicationId) -> None:
        """Tell of a queue that is not there, with ACLs, as of one without access."""
        if not self._rights.are_acls_enabled:
            return
        queue = queues.find(self._engine.state.queues.values(), target)
        if queue is None or not self._rights.may_submit(queue.path, user):
            raise AccessDenied(
                f"User {user} cannot submit applications to target queue or the target queue doesn't exist: {target} "
                f"while moving {application_id}"
            )

    def _leaf(self, target: str, application_id: ApplicationId) -> Queue:
        queue = queues.find(self._engine.state.queues.values(), target)
        if queue is None:
            raise Refused(f"The specified Queue: {target} doesn't exist")
        if not queue.is_leaf:
            raise Refused(f"The specified Queue: {target} is not a Leaf Queue.")
        if queue.state is not QueueState.RUNNING:
            # A YarnException around the AccessControlException there, not one of its own.
            raise Refused(f"org.apache.hadoop.security.AccessControlException: {queues.stopped(queue, application_id)}")
        return queue

    def _latest_end_ms(self, application: Application) -> int | None:
        queue = self._engine.state.queues.get(application.submission.queue)
        if queue is None or queue.maximum_lifetime_s <= 0:
            return None
        return application.submitted_ms + queue.maximum_lifetime_s * 1000


def _future_ms(text: str, now_ms: int) -> int:
    expires_ms = parse_iso_8601(text)
    if expires_ms < now_ms:
        raise Refused(
            f"Expire time is less than current time, current-time={iso_8601(now_ms)} expire-time={iso_8601(expires_ms)}"
        )
    return expires_ms
