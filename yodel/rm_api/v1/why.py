"""``/applications/{id}/why`` and ``/queues/{path}/why`` tell what is in the way, who uses it, what would unblock it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from yodel.errors import QueueNotFound
from yodel.rm_api.v1 import why_models as models
from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, viewer, visible_application
from yodel.rm_api.v1.queue_changes import QueuePath
from yodel.rm_api.v1.services import services_of
from yodel.rm_api.v1.shapes import amount, on_notice
from yodel.services.views.queue_why import QueueCause, QueueWhyView
from yodel.services.views.why import AskView, Obstacle, ResourceUser, WhyView

NAMED_MAX = 5
"""Applications named for one cause, those that were submitted first."""
router = APIRouter(dependencies=[KNOWN])


@router.get("/applications/{application_id}/why", tags=["applications"])
async def why_it_waits(request: Request, application_id: ApplicationPath) -> models.Why:
    """Show why an application is waiting: for each pending request the chain of reasons.

    The answer is that of the scheduler's last check, at most a second ago.  If the application has ended or has all
    that it requested, `summary` shows that nothing is pending.
    """
    services, view = visible_application(request, application_id)
    found = await services.queries.why.asked(view.application, viewer(request))
    return shape(found)


@router.get("/queues/{path}/why", tags=["queues"])
async def why_queue_waits(request: Request, path: QueuePath) -> models.QueueWhy:
    """Show why applications of a queue and those below it are waiting, counted by the nearest cause of each request.

    Causes are those of `/applications/{id}/why`, as of the scheduler's last check, at most a second ago.  Applications
    that you may not view are only counted.
    """
    queries = services_of(request).queries
    queue = queries.find_queue(path)
    if queue is None:
        raise QueueNotFound(path)
    return queue_shape(await queries.why_queue_waits(queue, viewer(request)))


def queue_shape(view: QueueWhyView) -> models.QueueWhy:
    return models.QueueWhy(
        path=view.queue.path,
        is_waiting=view.applications > 0,
        summary=view.summary,
        looked_at_ms=view.looked_at_ms,
        applications=view.applications,
        hidden_applications=view.hidden,
        more_applications=view.more,
        causes=[_cause(cause) for cause in view.causes],
    )


def _cause(cause: QueueCause) -> models.QueueCause:
    return models.QueueCause(
        **_reason(cause.obstacle),
        containers=cause.containers,
        size=amount(cause.size),
        applications=list(map(str, islice(cause.applications, NAMED_MAX))),
        more_applications=max(0, len(cause.applications) - NAMED_MAX),
    )


def shape(view: WhyView) -> models.Why:
    row, submission = view.application, view.application.submission
    return models.Why(
        id=str(row.id),
        queue=submission.queue,
        user=submission.user,
        state=row.state,
        is_waiting=bool(view.asks),
        summary=view.summary,
        looked_at_ms=view.looked_at_ms,
        asks=[_ask(ask) for ask in view.asks],
        more_asks=view.more_asks,
        notices=[on_notice(one) for one in view.notices],
    )


def _ask(ask: AskView) -> models.WaitingAsk:
    return models.WaitingAsk(
        name=ask.name,
        priority=ask.priority,
        allocation_request_id=ask.allocation_request_id,
        containers=ask.count,
        size=amount(ask.size),
        is_scheduling=ask.is_under_way,
        is_under_way=ask.is_under_way,
        chain=[_link(link) for link in ask.chain],
    )


def _link(link: Obstacle) -> models.Link:
    fields = _reason(link)
    return models.Link(
        **fields,
        what=models.FORMER_CAUSES.get(link.cause, link.cause),
        held_by=fields["used_by"],
        more_holders=link.more_users,
    )


def _reason(link: Obstacle) -> dict[str, Any]:
    """Return the fields that every reason has."""
    return {
        "cause": link.cause,
        "text": link.text,
        "queue": link.queue or None,
        "user": link.user or None,
        "limit": amount(link.limit) if link.limit is not None else None,
        "used": amount(link.used) if link.used is not None else None,
        "used_by": [_user(user) for user in link.used_by],
        "more_users": link.more_users,
        "until": link.change,
    }


def _user(user: ResourceUser) -> models.ResourceUser:
    kind, used = models.ResourceUserKind(user.kind), amount(user.used)
    return models.ResourceUser(kind=kind, name=user.name, queue=user.queue, used=used, held=used)
