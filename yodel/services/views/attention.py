"""Lists what needs somebody's attention in queues, requests and pods: facts that other views know too.

An entry is about something that has lasted for ``PATIENCE_S``; what passes by itself is not listed.  An application
that the asker may not view appears neither as an entry nor in a reason.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import StrEnum

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.queues.shares import dominant
from yodel.domain.resource import NONE
from yodel.domain.shuffle.words import ENDPOINTS
from yodel.domain.states import ContainerState
from yodel.services.views.why import MayView, WaitExplainer
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState
from yodel.serving.pieces import taking_turns

PATIENCE_S = 60
"""How long a queue is under its guarantee, or a request or pod waits, before it is listed."""
PIECE = 50
"""Attempts or pods that are looked at in one go: a millisecond."""


class AttentionKind(StrEnum):
    """Lists the kinds of entries, in the order in which they are shown."""

    DATABASE = "DATABASE"
    STANDBY = "STANDBY"
    NODE_EMERGENCY = "NODE_EMERGENCY"
    NODE_UNHEALTHY = "NODE_UNHEALTHY"
    NODE_STALE = "NODE_STALE"
    NODE_SUPPRESSED = "NODE_SUPPRESSED"
    NODE_NOT_PUBLISHED = "NODE_NOT_PUBLISHED"
    QUEUE_BELOW_GUARANTEE = "QUEUE_BELOW_GUARANTEE"
    REQUEST_NOT_PLACED = "REQUEST_NOT_PLACED"
    POD_NOT_SCHEDULED = "POD_NOT_SCHEDULED"
    POD_NOT_STARTED = "POD_NOT_STARTED"
    SHUFFLE_AWAY = "SHUFFLE_AWAY"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionEntry:
    """``since_ms`` is when it began, as far as that is known."""

    kind: AttentionKind
    text: str
    since_ms: int | None = None
    queue: str = ""
    application_id: ApplicationId | None = None
    node_id: NodeId | None = None


async def of_queues(
    state: ClusterState, quotas: Quotas, explainer: WaitExplainer, now_ms: int, may_view: MayView
) -> AsyncIterator[AttentionEntry]:
    """Yield leaf queues that use less than they are guaranteed, while a request of theirs is not served.

    The time is that of the longest waiting attempt: since it started, or got its last container.
    """
    if not quotas.is_enforced:
        return
    ledger, longest = quotas.ledger(), dict[str, tuple[int, Application, Attempt]]()
    async for attempt_id in taking_turns(list(state.reasons.waiting), PIECE):
        row, attempt = state.applications.get(attempt_id.application_id), state.attempts.get(attempt_id)
        share = ledger.tree.shares.get(row.submission.queue) if row is not None else None
        if row is None or attempt is None or share is None or share.guaranteed == NONE:
            continue
        path = row.submission.queue
        if dominant(ledger.used(path), share.guaranteed) < 1:
            since_ms = max([attempt.started_ms, *(one.created_ms for one in state.containers_of(attempt.id))])
            longest[path] = min(longest.get(path, (since_ms, row, attempt)), (since_ms, row, attempt), key=_since)
    for path, (since_ms, row, attempt) in sorted(longest.items()):
        if not _is_old(since_ms, now_ms):
            continue
        told = explainer.told(row, attempt) if may_view(row) else ()
        reason = f": {explainer.without_others(told[0].chain[0].text.strip(), may_view)}" if told else "."
        used, guaranteed = ledger.used(path).with_units, ledger.share(path).guaranteed.with_units
        text = f"Queue {path} uses {used} of the {guaranteed} that it is guaranteed, and its requests wait{reason}"
        yield AttentionEntry(kind=AttentionKind.QUEUE_BELOW_GUARANTEE, text=text, since_ms=since_ms, queue=path)


async def of_applications(state: ClusterState, now_ms: int, may_view: MayView) -> AsyncIterator[AttentionEntry]:
    """Yield one entry for an application and reason: requests that no node can serve, pods that get no node or are not
    created, and pods that do not start."""
    found: set[tuple[ApplicationId, str]] = set()
    for (attempt_id, _), misfit in list(state.reasons.misfits.items()):
        row, attempt = state.applications.get(attempt_id.application_id), state.attempts.get(attempt_id)
        if row is None or attempt is None or not _is_old(attempt.started_ms, now_ms) or not may_view(row):
            continue
        text = str(misfit)
        if (row.id, text) not in found:
            found.add((row.id, text))
            yield _of(row, AttentionKind.REQUEST_NOT_PLACED, text, None)
    async for container_id, reason in taking_turns(list(state.reasons.waits.items()), PIECE):
        container = state.containers.get(container_id)
        row = state.applications.get(container_id.application_id)
        if container is None or row is None or not _is_old(container.created_ms, now_ms) or not may_view(row):
            continue
        if (row.id, reason) not in found:
            found.add((row.id, reason))
            is_planned = container.state is ContainerState.PLANNED
            kind = AttentionKind.POD_NOT_SCHEDULED if is_planned else AttentionKind.POD_NOT_STARTED
            yield _of(row, kind, reason, container.created_ms)


def of_shuffle(state: ClusterState) -> Iterator[AttentionEntry]:
    """Yield queues that set endpoints of a shuffle service of which none accepts connections; those below that have
    them from there are left out."""
    for path, queue in sorted(state.queues.items()):
        is_own = any(word.name == ENDPOINTS and word.path == path for word in queue.shuffle)
        if is_own and (reason := state.endpoints.away(queue.shuffle)):
            text = f"Remote shuffle of queue {path} is not available: {reason}"
            yield AttentionEntry(kind=AttentionKind.SHUFFLE_AWAY, text=text, queue=path)


def _of(row: Application, kind: AttentionKind, text: str, since_ms: int | None) -> AttentionEntry:
    queue = row.submission.queue
    return AttentionEntry(kind=kind, text=text, since_ms=since_ms, queue=queue, application_id=row.id)


def _is_old(since_ms: int, now_ms: int) -> bool:
    return now_ms - since_ms > PATIENCE_S * 1000


def _since(found: tuple[int, Application, Attempt]) -> int:
    return found[0]
