"""The reasons why applications wait, for all who show them, come from the last decision and from Kubernetes' words.

Reads committed state and the book of what waits; never waits itself.  Who holds what is read from the same books that
the decision read, at most one look later.  Of an application that the asker may not see nothing is told but that there
is one more.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.application import Application, capped_priority_note
from yodel.domain.ask_book import AskKey
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.queues.queue import Ordering
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerState
from yodel.domain.waiting import UNSERVED_MAX, Hindrance, Obstacles, Unserved
from yodel.domain.waiting_words import Cause, cause_of, change_of
from yodel.errors import InvalidValue
from yodel.pb_convert.reports import diagnostics_of
from yodel.pb_convert.submission import asked_priority
from yodel.pb_convert.times import user_time
from yodel.services.views.noticed import Noticed, NoticeView
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.translator import refusals

LINES_MAX = 5
"""In the diagnostics of an application whose asks wait."""
USERS_MAX = 5
"""Users of one resource that are listed, largest first; the others are only counted."""
AHEAD_MAX = 5
"""Applications named that are served before."""
SAID_MAX = 3
"""Different words of Kubernetes' scheduler about pods of one ask."""
INT_MAX = 2**31 - 1
DEFAULT_PARTITION = "<DEFAULT_PARTITION>"
MayView = Callable[[Application], bool]
"""Whether the asker may see an application."""
_NAMED = re.compile(r"(application_[0-9]{1,19}_[0-9]{1,10})(?: \([^()]{1,200}\))?")
"""An application in a reason, with what is said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUser:
    """Uses a part of a limited resource: a ``kind`` of user (of a queue), queue or application."""

    kind: str
    name: str
    queue: str
    used: Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Describes one reason why a request is pending; ``change`` is what would unblock it."""

    cause: Cause
    text: str
    change: str
    queue: str = ""
    user: str = ""
    limit: Resource | None = None
    used: Resource | None = None
    used_by: tuple[ResourceUser, ...] = ()
    more_users: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskView:
    """Containers of one size that an application waits for; ``size`` is rounded as it will be taken.

    ``is_under_way``: their pods are made, and have no node yet.  ``priority`` is None of what is no ask of an
    ApplicationMaster.
    """

    name: str
    priority: int | None
    allocation_request_id: int | None
    count: int
    size: Resource
    is_under_way: bool
    chain: tuple[Obstacle, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyView:
    application: Application
    summary: str
    looked_at_ms: int
    asks: tuple[AskView, ...] = ()
    more_asks: int = 0
    notices: tuple[NoticeView, ...] = ()
    """Notices of its own containers."""


class WaitExplainer:
    """Reads; one instance for the process."""

    def __init__(self, state: ClusterState, quotas: Quotas, noticed: Noticed) -> None:
        self._state, self._quotas, self._noticed = state, quotas, noticed
        self.look: Callable[[], Awaitable[None]] = _nothing
        """Has the scheduler look where its last look is older than a second."""
        self.max_priority: Callable[[], int] = lambda: INT_MAX
        """The highest that an application may have."""

    # --- diagnostics ------------------------------------------------------------------------------------------------

    def diagnostics(self, app: Application) -> str:
        """Return why the ApplicationMaster does not run yet, or no longer, or why some of what it asked for does not,
        and which of its containers are to go; empty when nothing is known to keep it.  Before it runs also what became
        of its priority, as its client looks here."""
        if app.state not in (ApplicationState.ACCEPTED, ApplicationState.RUNNING):
            return ""
        found = self._of_waiting(app)
        note = _capped(app, self.max_priority()) if app.state is ApplicationState.ACCEPTED else ""
        waiting = f"{found} {note}" if found and note else found or note
        lines = [self._of_ended_master(app), waiting, *(notice.text for notice in self._noticed.of_application(app.id))]
        return "\n".join(line for line in lines if line)

    def _of_ended_master(self, app: Application) -> str:
        """Return the note that the end is shown once the node agent has reported it; empty: it is not awaited."""
        attempt = self._state.attempts.get(app.current_attempt_id)
        master = self._state.containers.get(attempt.am_container_id) if attempt and attempt.am_container_id else None
        if master is None or not master.awaits_agent:
            return ""
        return (
            f"ApplicationMaster container {master.id} has ended: {master.diagnostics}. Waiting for the node agent of "
            f"{master.node_id} to report its last output; the application ends then, or when that node is lost."
        )

    def _of_waiting(self, app: Application) -> str:
        attempt_id, reasons = app.current_attempt_id, self._state.reasons
        is_over_parallel_limit = app.id in self._state.queue_use.over_parallel_limit
        if not reasons.has_any and not is_over_parallel_limit:
            return ""
        attempt = self._state.attempts.get(attempt_id)
        if attempt is None:
            return ""
        waits, told = reasons.waits, self.told(app, attempt)
        # Whoever may see this one reads it, and maybe no other: of those `why` tells.
        return self.without_others(self._diagnostics(app, attempt, waits, told), lambda other: other.id == app.id)

    def _diagnostics(
        self, app: Application, attempt: Attempt, waits: Mapping[ContainerId, str], told: Sequence[Obstacles]
    ) -> str:
        own = [c for c in self._state.containers_of(attempt.id) if c.id in waits] if waits else []
        if app.state is ApplicationState.ACCEPTED:
            return next((waits[c.id] for c in own if c.is_am), self._of_master(app, attempt, told[0]) if told else "")
        lines = [one.reason for one in told if one.is_placeless]
        # A limit of the queue or of the user is one line, however many wishes it keeps waiting.
        lines += dict.fromkeys(one.reason for one in told if not one.is_placeless)
        lines += [waits[c.id] for c in own]
        more = f"\n… and {len(lines) - LINES_MAX} more" if len(lines) > LINES_MAX else ""
        return "\n".join(lines[:LINES_MAX]) + more

    def told(self, app: Application, attempt: Attempt) -> Sequence[Obstacles]:
        """Return the findings of the last decision; of an application over the limit of running ones, that limit."""
        if app.id not in self._state.queue_use.over_parallel_limit:
            return self._state.reasons.waiting.told(attempt.id)
        runtime = self._state.masters.runtimes.get(attempt.id)
        wishes = runtime.wishes.asks.wishes() if runtime is not None else []
        chain = tuple(self._quotas.ledger().too_many(app.submission.queue, NONE)) if wishes else ()
        unserved = [Unserved(wish.key, wish.number, wish.key.capability) for wish in wishes[:UNSERVED_MAX]]
        return [Obstacles(one, chain) for one in unserved] if chain else ()

    def _of_master(self, app: Application, attempt: Attempt, told: Obstacles) -> str:
        """Return the text of SchedulerApplicationAttempt.AMState and
        FiCaSchedulerApp.getActivedAppDiagnosticMessage."""
        nearest = told.chain[0]
        if nearest.masters is not None or nearest.hurdle is Hurdle.PARALLEL or told.is_placeless:
            return told.reason
        return (
            f"[{user_time(attempt.started_ms)}] Application is Activated, waiting for resources to be assigned for AM. "
            f"{told.reason} {self._details(app)}"
        )

    def _details(self, app: Application) -> str:
        path, label = app.submission.queue, app.submission.am_node_label
        share = self._quotas.tree.shares.get(path)
        if share is None:
            return ""
        use = self._state.queue_use.by_queue.get(path)
        used, whole = use.resource if use is not None else NONE, share.whole
        part = used.memory_mib / whole.memory_mib if whole.memory_mib else 0.0
        return (
            f"Details : AM Partition = {label or DEFAULT_PARTITION} ; Partition Resource = {whole} ; "
            f"Queue's Absolute capacity = {share.capacity * 100:.1f} % ; Queue's Absolute used capacity = "
            f"{part * 100:.1f} % ; Queue's Absolute max capacity = {share.maximum_capacity * 100:.1f} % ; "
            f"Queue's capacity (absolute resource) = {share.guaranteed} ; Queue's used capacity (absolute resource) = "
            f"{used} ; Queue's max capacity (absolute resource) = {share.maximum} ; "
        )

    # --- the whole answer -------------------------------------------------------------------------------------------

    async def asked(self, app: Application, may_view: MayView = lambda _: True) -> WhyView:
        """The chain of what is in the way of all that an application waits for, as it was within the last second."""
        if not app.state.is_final:
            await self.look()
        return self.of(self._state.applications.get(app.id, app), may_view)

    def of(self, app: Application, may_view: MayView = lambda _: True) -> WhyView:
        """The same of the last look."""
        attempt = self._state.attempts.get(app.current_attempt_id)
        waiting = self._state.reasons.waiting
        asks: list[AskView] = []
        kept = None
        if attempt is not None and not app.state.is_final and not attempt.state.is_final:
            kept = waiting.of(attempt.id)
            asks = [*self._not_planned(app, self.told(app, attempt), may_view), *self.under_way(attempt)]
        return WhyView(
            application=app,
            summary=" ".join(filter(None, (self._summary(app, attempt, asks), _capped(app, self.max_priority())))),
            looked_at_ms=waiting.looked_at_ms,
            asks=tuple(asks),
            more_asks=kept.more if kept is not None else 0,
            notices=tuple(self._noticed.of_application(app.id)),
        )

    def _summary(self, app: Application, attempt: Attempt | None, asks: Sequence[AskView]) -> str:
        if app.state.is_final:
            return f"Nothing is pending: the application has ended ({app.state.value})."
        if asks:
            count = sum(ask.count for ask in asks)
            containers = "1 container" if count == 1 else f"{count} containers"
            what = "its ApplicationMaster" if app.state is ApplicationState.ACCEPTED else containers
            return f"Waiting for {what}: {asks[0].chain[0].text}"
        if attempt is None or attempt.state in (AttemptState.ALLOCATED, AttemptState.LAUNCHED):
            said = diagnostics_of(app, attempt).strip()
            return said or "The ApplicationMaster is starting."
        if app.state in (ApplicationState.KILLING, ApplicationState.FINISHING):
            return "Nothing is pending: the application is ending."
        return "Nothing is pending: every requested container has been allocated."

    def _not_planned(self, app: Application, all_told: Sequence[Obstacles], may_view: MayView) -> Iterator[AskView]:
        """Yield the pending requests; the users of a limit are looked up once for all requests that it affects."""
        used: dict[tuple[Cause, str, str], Sequence[ResourceUser]] = {}
        is_limited = any(map(_is_limited, all_told))
        beside = list[Obstacle]()
        if is_limited:
            beside = [*self._ahead(app, may_view), *self._queues_ahead(app), *self._given_back(app, may_view)]
        for told in all_told:
            chain = [self.link(app, hindrance, used, may_view) for hindrance in told.chain]
            yield self._ask(told, [*chain, *beside] if _is_limited(told) else chain)

    def _ask(self, told: Obstacles, chain: Sequence[Obstacle]) -> AskView:
        unserved, what = told.unserved, told.unserved.what
        return AskView(
            name=unserved.name,
            priority=what.priority if isinstance(what, AskKey) else None,
            allocation_request_id=what.allocation_request_id if isinstance(what, AskKey) else None,
            count=unserved.number,
            size=unserved.size,
            is_under_way=False,
            chain=tuple(chain),
        )

    def link(
        self,
        app: Application,
        hindrance: Hindrance,
        used: dict[tuple[Cause, str, str], Sequence[ResourceUser]],
        may_view: MayView,
    ) -> Obstacle:
        cause = cause_of(hindrance)
        which = cause, hindrance.path, hindrance.user
        if which not in used:
            used[which] = sorted(self._users(app, cause, hindrance), key=_size, reverse=True)
        shown = self._shown(used[which], may_view)
        has_figures = cause is Cause.POOL_FULL or (hindrance.path != "" and cause is not Cause.PARALLEL_APPLICATIONS)
        return Obstacle(
            cause=cause,
            text=self.without_others(hindrance.text.strip(), may_view),
            change=change_of(cause, hindrance.path, hindrance.user),
            queue=hindrance.path,
            user=hindrance.user,
            limit=hindrance.limit if has_figures else None,
            used=hindrance.used if has_figures else None,
            used_by=shown,
            more_users=len(used[which]) - len(shown),
        )

    def _shown(self, users: Sequence[ResourceUser], may_view: MayView) -> tuple[ResourceUser, ...]:
        """Return the largest users, without applications that the caller may not view."""
        return tuple(one for one in users[:USERS_MAX] if one.kind != "application" or self._is_seen(one.name, may_view))

    def _is_seen(self, name: str, may_view: MayView) -> bool:
        try:
            other = self._state.applications.get(ApplicationId.parse(name))
        except InvalidValue:
            return False
        return other is not None and may_view(other)

    def without_others(self, text: str, may_view: MayView) -> str:
        """A reason without what it says of applications that the asker may not see."""
        return _NAMED.sub(lambda one: one[0] if self._is_seen(one[1], may_view) else "another application", text)

    # --- who uses it ------------------------------------------------------------------------------------------------

    def _users(self, app: Application, cause: Cause, hindrance: Hindrance) -> Iterator[ResourceUser]:
        path, by_user = hindrance.path, self._state.queue_use.by_user
        match cause:
            case Cause.QUEUE_MAX_CAPACITY | Cause.WINDOW:
                for (queue, user), usage in by_user.items():
                    if queue == path or queue.startswith(f"{path}."):
                        yield ResourceUser(kind="user", name=user, queue=queue, used=usage.resource)
            case Cause.POOL_FULL:
                pools = self._state.pools.pools
                own = pools.of(app.submission.queue)
                leaves: dict[str, Resource] = {}
                for (queue, _), usage in by_user.items():
                    if pools.of(queue) == own:
                        leaves[queue] = leaves.get(queue, NONE) + usage.resource
                for queue, used in leaves.items():
                    yield ResourceUser(kind="queue", name=queue, queue=queue, used=used)
            case Cause.PARALLEL_APPLICATIONS:
                yield from self._applications(path, "", is_am=True)
            case Cause.USER_LIMIT | Cause.USER_AM_LIMIT | Cause.QUEUE_AM_LIMIT:
                yield from self._applications(app.submission.queue, hindrance.user, is_am=cause is not Cause.USER_LIMIT)

    def _applications(self, queue: str, user: str, *, is_am: bool) -> Iterator[ResourceUser]:
        """Yield the applications of a queue and below it, if ``user`` is set those of that user.

        Counted is what their containers use, or with ``is_am`` their ApplicationMasters.
        """
        for application_id, usage in self._state.usage.by_application.items():
            submission = self._state.applications[application_id].submission
            used = usage.am_resource if is_am else usage.resource
            if used != NONE and f"{submission.queue}.".startswith(f"{queue}.") and user in ("", submission.user):
                yield ResourceUser(kind="application", name=str(application_id), queue=submission.queue, used=used)

    def _ahead(self, app: Application, may_view: MayView) -> Iterator[Obstacle]:
        """Applications of the queue that wait too, and are served before."""
        path = app.submission.queue
        row = self._state.queues.get(path)
        if row is None or row.ordering is not Ordering.FIFO or not self._quotas.is_enforced:
            return
        ids = (attempt_id.application_id for attempt_id in self._state.reasons.waiting)
        waiting = (self._state.applications[i] for i in ids if i in self._state.applications)
        before = [one for one in waiting if one.submission.queue == path and _turn(one) < _turn(app)]
        if not before:
            return
        first = [one for one in heapq.nsmallest(AHEAD_MAX, before, key=_turn) if may_view(one)]
        names = ", ".join(f"{one.id} (priority {one.submission.priority})" for one in first)
        more = f" and {len(before) - len(first)} more" if len(before) > len(first) else ""
        if not first:
            more = f"{len(before)} {'other' if len(before) == 1 else 'others'}"
        text = f"Served first in queue {path}, and also waiting: {names}{more}."
        yield Obstacle(cause=Cause.PRIORITY, text=text, change=change_of(Cause.PRIORITY), queue=path)

    def _queues_ahead(self, app: Application) -> Iterator[Obstacle]:
        """Queues of a higher priority beside its own, or beside one above that, in which others wait too."""
        queues, path = self._state.queues, app.submission.queue
        if not self._quotas.is_enforced or not any(queue.is_by_priority for queue in queues.values()):
            return
        ids = (attempt_id.application_id for attempt_id in self._state.reasons.waiting)
        waiting = {self._state.applications[i].submission.queue for i in ids if i in self._state.applications}
        ledger = self._quotas.ledger()
        for own, above in pairwise(accumulate(path.split("."), "{}.{}".format)):
            row = queues.get(above)
            if own not in queues or row is None or not queues[own].is_by_priority:
                continue
            rank = ledger.serving_rank(above)
            before = [
                queue
                for queue in queues.values()
                if queue.parent_path == own
                and queue.priority > row.priority
                and ledger.serving_rank(queue.path) < rank
                and any(f"{other}.".startswith(f"{queue.path}.") for other in waiting)
            ]
            if before:
                first = heapq.nsmallest(AHEAD_MAX, before, key=lambda queue: (-queue.priority, queue.path))
                names = ", ".join(f"{queue.path} (priority {queue.priority})" for queue in first)
                more = f" and {len(before) - len(first)} more" if len(before) > len(first) else ""
                text = f"Served before {above} (priority {row.priority}), and also waiting: {names}{more}."
                yield Obstacle(
                    cause=Cause.QUEUE_PRIORITY, text=text, change=change_of(Cause.QUEUE_PRIORITY, above), queue=above
                )

    def _given_back(self, app: Application, may_view: MayView) -> Iterator[Obstacle]:
        """Yield an obstacle for containers of others that will be preempted for its queue."""
        path = app.submission.queue
        notices, last_s = self._noticed.for_queue(path)
        used: dict[ApplicationId, Resource] = {}
        for container_id in notices:
            container = self._state.containers.get(container_id)
            if container is not None:
                own = container_id.application_id
                used[own] = used.get(own, NONE) + container.reserved
        if not used:
            return
        users = [
            ResourceUser(
                kind="application", name=str(one), queue=self._state.applications[one].submission.queue, used=amount
            )
            for one, amount in used.items()
        ]
        shown = self._shown(heapq.nlargest(USERS_MAX, users, key=_size), may_view)
        which = "1 container" if len(notices) == 1 else f"{len(notices)} containers"
        text = f"{which} of others will be preempted for queue {path} within {last_s:.0f} s."
        yield Obstacle(
            cause=Cause.PREEMPTION,
            text=text,
            change=change_of(Cause.PREEMPTION),
            queue=path,
            used_by=shown,
            more_users=len(users) - len(shown),
        )

    # --- what is planned --------------------------------------------------------------------------------------------

    def under_way(self, attempt: Attempt) -> Iterator[AskView]:
        """Containers whose pods have no node yet, with what Kubernetes says of them."""
        state, runtime = self._state, self._state.masters.runtimes.get(attempt.id)
        wishes: list[tuple[AskKey | None, Iterable[ContainerId]]] = []
        if attempt.am_container_id is not None:
            wishes.append((None, (attempt.am_container_id,)))
        if runtime is not None:
            wishes += runtime.wishes.in_flight.items()
        for key, container_ids in wishes:
            found = [state.containers[i] for i in sorted(container_ids) if i in state.containers]
            planned = [container for container in found if container.state is ContainerState.PLANNED]
            if planned:
                yield self._pods(key, planned)

    def _pods(self, key: AskKey | None, planned: Sequence[Container]) -> AskView:
        waits = self._state.reasons.waits
        said = list(dict.fromkeys(waits[container.id] for container in planned if container.id in waits))
        links = [Obstacle(cause=Cause.UNSCHEDULABLE, text=text, change=_change_of_pod(text)) for text in said]
        if not links:
            text = "The pod has been created and is not scheduled to a node yet."
            links = [Obstacle(cause=Cause.SCHEDULING, text=text, change=change_of(Cause.SCHEDULING))]
        return AskView(
            name="the ApplicationMaster" if key is None else f"priority {key.priority}",
            priority=key.priority if key is not None else None,
            allocation_request_id=key.allocation_request_id if key is not None else None,
            count=len(planned),
            size=planned[0].reserved,
            is_under_way=True,
            chain=tuple(links[:SAID_MAX]),
        )


def _change_of_pod(text: str) -> str:
    """Return what would help a pod, by the message of Kubernetes: it was not scheduled, or not created."""
    return refusals.meaning_of(text).until or change_of(Cause.UNSCHEDULABLE)


async def _nothing() -> None:
    """Do nothing: without a scheduler there is nothing to check."""


def _size(user: ResourceUser) -> tuple[int, int, str]:
    return user.used.memory_mib, user.used.vcores, user.name


def _turn(app: Application) -> tuple[int, int, ApplicationId]:
    return -app.submission.priority, app.submitted_ms, app.id


def _is_limited(told: Obstacles) -> bool:
    """Return True if limits or room are in the way, which others hold and may give back."""
    return told.unserved.own is None or told.unserved.own.hurdle is Hurdle.PIECES


def _capped(app: Application, most: int) -> str:
    """Return the note that the priority was reduced at submission; empty: it was not."""
    has = app.submission.priority
    asked = has if app.state.is_final or has != most else asked_priority(app.submission.context)
    return "" if asked <= most else capped_priority_note(asked, has)
