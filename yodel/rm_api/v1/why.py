"""``/applications/{id}/why``: what an application waits for, what is in the way, who uses it, what would unblock it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from yodel.rm_api.v1 import why_models as models
from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, viewer, visible_application
from yodel.rm_api.v1.shapes import amount, on_notice
from yodel.services.views.why import AskView, Obstacle, ResourceUser, WhyView

router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])


@router.get("/{application_id}/why")
async def why_it_waits(request: Request, application_id: ApplicationPath) -> models.Why:
    """Why an application is waiting: for each pending request the chain of reasons.

    The answer is that of the scheduler's last check, at most a second ago.  If the application has ended or has all
    that it requested, `summary` shows that nothing is pending.
    """
    services, view = visible_application(request, application_id)
    found = await services.queries.why.asked(view.application, viewer(request))
    return shape(found)


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
    users = [_user(user) for user in link.used_by]
    return models.Link(
        cause=link.cause,
        what=models.FORMER_CAUSES.get(link.cause, link.cause),
        text=link.text,
        queue=link.queue or None,
        user=link.user or None,
        limit=amount(link.limit) if link.limit is not None else None,
        used=amount(link.used) if link.used is not None else None,
        used_by=users,
        more_users=link.more_users,
        held_by=users,
        more_holders=link.more_users,
        until=link.change,
    )


def _user(user: ResourceUser) -> models.ResourceUser:
    kind, used = models.ResourceUserKind(user.kind), amount(user.used)
    return models.ResourceUser(kind=kind, name=user.name, queue=user.queue, used=used, held=used)
