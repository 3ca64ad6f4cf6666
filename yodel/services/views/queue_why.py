"""A queue's wait is explained by what its applications wait for, counted by what is nearest in their way.

It is the same decision and the same words as an application's own answer (``views.why``); each request counts once,
under the first of its reasons.  An application that the asker may not view is only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import NONE, Resource
from yodel.domain.waiting_words import Cause, cause_of
from yodel.services.views.queue_views import live_below
from yodel.services.views.why import MayView, Obstacle, WaitExplainer
from yodel.services.writer.state import ClusterState
from yodel.serving.turns import others_first

APPLICATIONS_MAX = 1_000
"""Waiting applications whose requests are looked at; of more it is shown how many there are."""
PIECE = 20
"""Waiting applications that are looked at in one go: each may have twenty requests, a millisecond."""


@dataclass(slots=True, kw_only=True)
class QueueCause:
    """Holds one cause with the requests that wait for it first of all.  ``obstacle`` is of the first of them."""

    obstacle: Obstacle
    containers: int = 0
    size: Resource = NONE
    applications: dict[ApplicationId, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWhyView:
    """``applications`` counts those with a cause, ``hidden`` those that the asker may not view, and ``more`` those that
    were not looked at."""

    queue: Queue
    looked_at_ms: int
    causes: tuple[QueueCause, ...]
    applications: int
    hidden: int
    more: int

    @property
    def summary(self) -> str:
        """Return the answer in one sentence."""
        if self.causes:
            count = sum(cause.containers for cause in self.causes)
            which = "1 container" if count == 1 else f"{count} containers"
            first = self.causes[0]
            part = f"; {first.containers} of them" if first.containers < count else ""
            return f"Waiting for {which}{part}: {first.obstacle.text}"
        if self.hidden:
            return f"Applications of {self.queue.path} are waiting that you may not view: {self.hidden}."
        return f"Nothing is pending in {self.queue.path}: every requested container has been allocated."


_Key = tuple[Cause, str, str, str]
_Request = tuple[_Key, int, Resource, Callable[[], Obstacle]]


async def why_queue_waits(
    state: ClusterState, explainer: WaitExplainer, queue: Queue, may_view: MayView
) -> QueueWhyView:
    """Return the causes of a queue and those below it, with most containers first, as of the last second."""
    await explainer.look()
    causes: dict[_Key, QueueCause] = {}
    looked_at = seen = hidden = more = 0
    async for app in live_below(state, queue.path):
        if not _waits(state, app):
            continue
        if not may_view(app):
            hidden += 1
            continue
        if looked_at == APPLICATIONS_MAX:
            more += 1
            continue
        looked_at += 1
        requests = list(_requests(state, explainer, app, may_view))
        seen += bool(requests)
        for key, count, size, obstacle in requests:
            cause = causes.get(key)
            if cause is None:
                cause = causes[key] = QueueCause(obstacle=obstacle())
            cause.containers += count
            cause.size += size * count
            cause.applications[app.id] = None
        if looked_at % PIECE == 0:
            await others_first()
    return QueueWhyView(
        queue=queue,
        looked_at_ms=state.reasons.waiting.looked_at_ms,
        causes=tuple(sorted(causes.values(), key=lambda cause: (-cause.containers, cause.obstacle.cause))),
        applications=seen,
        hidden=hidden,
        more=more,
    )


def _waits(state: ClusterState, app: Application) -> bool:
    """Return True if something of it is requested and has no node."""
    usage = state.usage.by_application.get(app.id)
    return (usage is not None and usage.starting_containers > 0) or state.pending_of(app.current_attempt_id)[0] > 0


def _requests(state: ClusterState, explainer: WaitExplainer, app: Application, may_view: MayView) -> Iterator[_Request]:
    """Yield each request with its nearest cause, which is put into words only if it is the first of its kind."""
    attempt = state.attempts.get(app.current_attempt_id)
    if attempt is None or attempt.state.is_final:
        return
    for told in explainer.told(app, attempt):
        near, unserved = told.chain[0], told.unserved
        cause = cause_of(near)
        of_pool = near.said if cause is Cause.POOL_FULL else ""
        key = cause, near.path, near.user, of_pool
        yield key, unserved.number, unserved.size, lambda near=near: explainer.link(app, near, {}, may_view)  # type: ignore[misc]
    for ask in explainer.under_way(attempt):
        first = ask.chain[0]
        yield (first.cause, "", "", ""), ask.count, ask.size, lambda first=first: first  # type: ignore[misc]
