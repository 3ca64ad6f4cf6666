"""New application ids, submissions and kills (ClientRMService, RMAppManager).

A submission is committed before it is answered, and answered before anything runs.  The same id again is success
without a second application, as Hadoop's clients expect when they retry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from yodel.domain import ask_rules
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.application import Application, Submission
from yodel.domain.ask_rules import DEFAULT_RULES, AskRules
from yodel.domain.events import AttemptKillRequested, KillRequested
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.queues import queue as queues
from yodel.domain.queues.mapping import NO_RULES, MappingRules, RejectedByRule, Submitted, placed
from yodel.domain.resource import Resource, rounded_up
from yodel.domain.states import ApplicationState, FinalApplicationStatus
from yodel.errors import (
    AccessDenied,
    ApplicationNotFound,
    InvalidValue,
    Refused,
    TooMuchAsked,
)
from yodel.ports.store import Row
from yodel.services.access.rights import Rights
from yodel.services.applications.given_ids import Asker, GivenIds
from yodel.services.writer.engine import Engine
from yodel.services.writer.maximum import MaximumAllocation
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.submission_room import SubmissionRoom
from yodel.services.writer.transaction import Transaction
from yodel.telemetry.limits import EXTRA_RESOURCE_AMOUNT, REFUSALS

ID_BLOCK = 100
"""Application numbers reserved on disk at a time: a crash skips at most this many, and none is given twice."""
TAGS_MAX, TAG_LENGTH_MAX = 10, 100  # YarnConfiguration.APPLICATION_MAX_TAGS, APPLICATION_MAX_TAG_LENGTH
TYPE_LENGTH_MAX = 20  # YarnConfiguration.APPLICATION_TYPE_LENGTH
NAME_LENGTH_MAX = 1024
FORGOTTEN_MAX = 20
"""Finished applications that one commit forgets: after the maximum was lowered there are many too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionLimits:
    """``max_attempts`` is yarn.resourcemanager.am.max-attempts, ``completed_max`` …max-completed-applications."""

    max_attempts: int = 2
    max_priority: int = 0
    completed_max: int = 1000
    room: SubmissionRoom = field(default_factory=SubmissionRoom)


class InvalidTags(InvalidValue):
    """ClientRMService.checkTags; the Java exception is wrapped, so that its class is a part of the text."""

    def __init__(self, tags: object, text: str) -> None:
        super().__init__("applicationTags", tags, text)
        self.args = (f"java.lang.IllegalArgumentException: {text}",)


class AbsentApplication(ApplicationNotFound):
    """forceKillApplication has words of its own for an application that it does not know."""

    def __init__(self, application_id: ApplicationId) -> None:
        super().__init__(application_id)
        self.args = (f"Trying to kill an absent application {application_id}",)


class SubmissionService:
    """Everything that makes or ends an application from outside."""

    def __init__(
        self,
        engine: Engine,
        rights: Rights,
        limits: SubmissionLimits,
        allocation: AllocationLimits,
        maximum: MaximumAllocation,
        quotas: Quotas,
        asks: AskRules = DEFAULT_RULES,
        require_runnable: Callable[[str, str, bytes], None] = lambda *_: None,
    ) -> None:
        """``require_runnable`` raises Refused for a user, in a queue, with a launch context, whose pods could not be
        made; the user has been looked up."""
        self._require_runnable = require_runnable
        self._engine, self._rights = engine, rights
        self._limits, self._allocation, self._asks = limits, allocation, asks
        self._maximum, self._quotas, self._mapping = maximum, quotas, NO_RULES
        identity = engine.state.identity
        self._next = self._reserved = identity.application_sequence
        self.ids = GivenIds(engine.clock, ApplicationId(identity.cluster_timestamp_ms, self._next))

    def use_mapping(self, rules: MappingRules) -> None:
        """Use these mapping rules for submissions from now on."""
        self._mapping = rules

    def use_max_priority(self, max_priority: int) -> None:
        """Use this maximum for submissions and changes from now on (refreshClusterMaxPriority)."""
        self._limits = replace(self._limits, max_priority=max_priority)

    @property
    def maximum_capability(self) -> Resource:
        """The largest container, in whatever queue."""
        return self._maximum.of_any

    @property
    def configured_maximum(self) -> Resource:
        return self._maximum.configured

    def id_at_hand(self, asker: Asker) -> ApplicationId | None:
        """Return the next id, which is this caller's to submit an application by; None if none is reserved on disk."""
        if self._next >= self._reserved:
            return None
        self._next += 1
        application_id = ApplicationId(self._engine.state.identity.cluster_timestamp_ms, self._next)
        self.ids.given(application_id, asker)
        return application_id

    async def give_id(self, asker: Asker) -> ApplicationId:
        """Return the next id as ``id_at_hand`` does, reserving a block of ids on disk if none is left.

        Raises Unavailable: the store did not answer."""
        while (application_id := self.id_at_hand(asker)) is None:  # again when others took the whole block meanwhile
            await self._reserve(self._reserved + ID_BLOCK)
        return application_id

    async def submit_given(self, application_id: ApplicationId, submission: Submission, asker: Asker) -> None:
        """Submit with an id that the caller has received.  If the application exists, it was submitted with it.

        Raises:
            AccessDenied: the caller was not given this id; and as ``submit``.
        """
        self._check(submission)
        if application_id not in self._engine.state.applications:
            self.ids.require(application_id, asker)
        await self._accept(application_id, submission)
        self.ids.forget(application_id)

    async def _reserve(self, target: int) -> None:
        def work(tx: Transaction) -> None:
            tx.application_sequence = target

        await self._engine.do(work)
        self._reserved = max(self._reserved, target)

    async def submit(self, application_id: ApplicationId, submission: Submission) -> None:
        """Accept an application.  One for a queue that cannot take it is kept as FAILED with the reason, as in YARN.

        Raises:
            InvalidResourceRequest: the AM asks for more than the maximum or for a negative amount.
            InvalidLabelRequest: labels are off, or no node has the AM's.
            InvalidValue: tags, name or context over their limits.
            InvalidTags: in Hadoop's words.
            AccessDenied: the queue is not for this user (RMAppManager.createAndPopulateNewRMApp).
            Refused: the user's live applications hold too much already, or no pod of the user's could ever be made.
            Unavailable: who the user is could not be looked up.
        """
        self._check(submission)
        await self._accept(application_id, submission)

    async def _accept(self, application_id: ApplicationId, checked: Submission) -> None:
        if application_id not in self._engine.state.applications:
            await self._require_possible(checked)

        def work(tx: Transaction) -> None:
            if tx.has(application_id):
                return
            name = self._mapped(checked)
            refusal = queues.refusal(self._engine.state.queues.values(), name, checked.user, application_id)
            queue = queues.find(self._engine.state.queues.values(), name)
            if refusal is None and queue is not None:
                refusal = self._quotas.refusal(queue, checked.user, application_id, tx.new_applications())
            if refusal is not None or queue is None:
                kept = self._as_kept(checked, checked.queue, self._rounded(checked))
                tx.put(_refused(application_id, kept, refusal or "", tx.now_ms))
                return
            if not self._rights.may_submit(queue.path, checked.user):
                raise AccessDenied(
                    f"User {checked.user} does not have permission to submit {application_id} to queue {name}"
                )
            size = self._rounded(checked) if checked.is_unmanaged else self._require_size(checked, queue.path)
            self._limits.room.require_room(checked, tx.live_context_bytes(checked.user))
            lifetime_s = queues.lifetime_s(queue, checked.lifetime_s)
            tx.start_attempt(
                Application(
                    id=application_id,
                    submission=self._as_kept(checked, queue.path, size),
                    current_attempt=1,
                    submitted_ms=tx.now_ms,
                    expires_ms=tx.now_ms + lifetime_s * 1000 if lifetime_s > 0 else 0,
                )
            )

        await self._engine.do(work)

    async def _require_possible(self, checked: Submission) -> None:
        """Refuse an application that could never run, so that it does not wait for ever.

        It is checked before the user is looked up, and the size again after that.  A caller who may not submit there
        learns nothing else.
        """
        queue = queues.find(self._engine.state.queues.values(), self._mapped(checked))
        if queue is None or not queue.is_leaf or not self._rights.may_submit(queue.path, checked.user):
            return
        if not checked.is_unmanaged:
            self._require_size(checked, queue.path)
        await self._rights.look_up(checked.user)
        self._require_runnable(checked.user, queue.path, checked.context)

    def _require_size(self, checked: Submission, path: str) -> Resource:
        """Return the size of its ApplicationMaster.  Raises InvalidResourceRequest: it is not allowed, or impossible
        there."""
        most, asked = self._maximum.of_queue(path), checked.am_asked_capability
        self._maximum.require_allowed(asked, most)
        size = rounded_up(asked, self._allocation.minimum, most)
        self._maximum.require_a_node(size, path)
        return size

    def _mapped(self, submission: Submission) -> str:
        """The queue by the mapping rules.  Raises Refused: a rule refuses the application."""
        if not self._mapping.rules:
            return submission.queue
        known = self._engine.state.queues

        def leaf(name: str) -> str | None:
            found = queues.find(known.values(), name)
            return found.path if found is not None and found.is_leaf else None

        asked = Submitted(
            user=submission.user,
            groups=self._rights.groups_of(submission.user),
            application=submission.name,
            queue=submission.queue,
        )
        try:
            return placed(self._mapping, asked, leaf, known.__contains__)
        except RejectedByRule as error:
            raise Refused(str(error)) from None

    async def kill(self, application_id: ApplicationId, user: str, diagnostics: str = "", host: str = "") -> bool:
        """Ask for the end.  True when it has come (forceKillApplication is repeated until then).

        Raises:
            ApplicationNotFound: no such application.
            AccessDenied: the user may not modify it.
        """
        application = self._engine.state.applications.get(application_id)
        if application is not None and application.state.is_final:
            self._rights.require_modify(application, user)
            return True
        text = f"Application {application_id} was killed by user {user}" + (f" at {host}" if host else "")
        text += f" with diagnostic message: {diagnostics.strip()}" if diagnostics.strip() else ""

        def work(tx: Transaction) -> None:
            if not tx.has(application_id):
                raise AbsentApplication(application_id)
            self._rights.require_modify(tx.application(application_id), user)
            tx.tell(application_id, KillRequested(text, tx.now_ms))

        await self._engine.do(work)
        killed = self._engine.state.applications[application_id]
        return killed.state.is_final or killed.submission.is_unmanaged

    async def fail_attempt(self, attempt_id: ApplicationAttemptId, user: str) -> None:
        """failApplicationAttempt: the attempt counts as failed; another may start.  Nothing when all is over.

        Raises:
            ApplicationNotFound, AccessDenied, ApplicationAttemptNotFound: checked in this order.
        """

        def work(tx: Transaction) -> None:
            self._rights.require_modify(tx.application(attempt_id.application_id), user)
            tx.attempt(attempt_id)
            tx.tell(attempt_id, AttemptKillRequested("Attempt failed by user.", tx.now_ms, is_failure=True))

        await self._engine.do(work)

    @property
    def max_priority(self) -> int:
        return self._limits.max_priority

    def capped_priority(self, priority: int) -> int:
        """No application has a higher one than yarn.cluster.max-application-priority."""
        return min(priority, self._limits.max_priority)

    def _check(self, submission: Submission) -> None:
        """Raises as ``submit``, by the submission alone."""
        self._limits.room.require_small(submission)
        if len(submission.name) > NAME_LENGTH_MAX:
            raise InvalidValue("application name", submission.name[:80], f"at most {NAME_LENGTH_MAX} characters")
        _check_tags(submission.tags)
        try:
            self._maximum.require_allowed(submission.am_asked_capability, self._maximum.configured)
        except TooMuchAsked as error:
            REFUSALS.tell(EXTRA_RESOURCE_AMOUNT, caller=submission.user, value=error.value, maximum=error.maximum)
            raise
        if not submission.is_unmanaged:
            ask_rules.check_known(submission.am_node_label, self._asks, self._engine.state.node_index.labels)

    def _rounded(self, submission: Submission) -> Resource:
        return rounded_up(submission.am_asked_capability, self._allocation.minimum)

    def _as_kept(self, submission: Submission, queue: str, am_capability: Resource) -> Submission:
        """Return a submission within the cluster's limits, with its queue and the size of its ApplicationMaster."""
        cluster_max = self._limits.max_attempts
        asked = submission.max_attempts
        return replace(
            submission,
            queue=queue,
            application_type=submission.application_type[:TYPE_LENGTH_MAX],
            max_attempts=asked if 0 < asked <= cluster_max else cluster_max,
            global_max_attempts=cluster_max,
            priority=self.capped_priority(submission.priority),
            am_capability=am_capability,
        )

    def largest(self, queue: str) -> Resource:
        """Return the maximum size of a container in a queue."""
        return self._maximum.of_queue(queue)

    def published(self, rows: Sequence[Row], removed: Sequence[ApplicationId]) -> None:
        """Keep at most ``completed_max`` finished applications, those that ended first out first, with every change
        until no more are left (RMAppManager.checkAppNumCompletedLimit, as applications end)."""
        finished = self._engine.state.index.finished
        excess = len(finished) - self._limits.completed_max
        if excess > 0 and (rows or removed):
            for application_id in islice(finished, min(excess, FORGOTTEN_MAX)):
                self._engine.forget_application(application_id)


def _check_tags(tags: Sequence[str]) -> None:
    if len(tags) > TAGS_MAX:
        raise InvalidTags(tags, f"Too many applicationTags, a maximum of only {TAGS_MAX} are allowed!")
    for tag in tags:
        if len(tag) > TAG_LENGTH_MAX:
            raise InvalidTags(tag, f"Tag {tag} is too long, maximum allowed length of a tag is {TAG_LENGTH_MAX}")
        if not all(" " <= character < "\x7f" for character in tag):
            raise InvalidTags(tag, f"A tag can only have ASCII characters! Invalid tag - {tag}")


def _refused(application_id: ApplicationId, submission: Submission, reason: str, now_ms: int) -> Application:
    return Application(
        id=application_id,
        submission=submission,
        state=ApplicationState.FAILED,
        final_status=FinalApplicationStatus.FAILED,
        diagnostics=reason,
        submitted_ms=now_ms,
        finished_ms=now_ms,
    )
