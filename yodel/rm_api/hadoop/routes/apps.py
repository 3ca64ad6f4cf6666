"""``GET /apps``, ``/apps/{id}`` and ``/appstatistics``."""

from __future__ import annotations

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import ApplicationId
from yodel.domain.states import YarnApplicationState
from yodel.errors import ApplicationNotFound, InvalidValue
from yodel.hadoop_http.errors import RestError, bad_request, not_found
from yodel.hadoop_http.negotiate import JSON, answer, answer_rendered, representation, require_acceptable
from yodel.rm_api.door.replay import again
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.application_lists import VisibleApplications, listed, pages_of, rendered, without_separator
from yodel.rm_api.hadoop.routes.filters import (
    application_filter,
    application_states,
    deselected,
    refused_when_listing,
    values,
)
from yodel.rm_api.hadoop.services import services_of
from yodel.services.views.application_pages import Wanted, applications_page
from yodel.services.views.queries import ApplicationView


def application_id(request: Request) -> ApplicationId:
    """The path's application.

    Raises:
        RestError: 400 with Hadoop's words.
    """
    return parsed_id(request.path_params["application_id"])


def parsed_id(text: str) -> ApplicationId:
    """ApplicationId.fromString.  Raises RestError 400."""
    if not text.startswith("application_"):
        shown = text[:128]
        raise bad_request(
            f"Invalid ApplicationId prefix: {shown}. The valid ApplicationId should start with prefix application"
        )
    try:
        return ApplicationId.parse(text)
    except InvalidValue as error:
        raise bad_request(f"Invalid ApplicationId: {text[:128]}") from error


def no_such_application(asked: ApplicationId) -> RestError:
    return not_found(f"app with id: {asked} not found")


def found_application(request: Request) -> ApplicationView:
    """Raises RestError 400 or 404."""
    asked = application_id(request)
    try:
        return services_of(request).queries.application(asked)
    except ApplicationNotFound as error:
        raise no_such_application(asked) from error


async def one(request: Request) -> Response:
    require_acceptable(request)
    view = found_application(request)
    services = services_of(request)
    again(request, services.replay, is_timed=not view.has_ended)
    left_out = deselected(request.query_params)
    may_view = services.rights.may_view(view.application, reader(request))
    body = pages_of(services, JSON).application(view.application.id) if may_view and not left_out else None
    body = body or rendered(services, view, JSON, may_view=may_view, left_out=left_out)
    return answer_rendered(request, b'{"app":' + without_separator(body, JSON) + b"}")


async def many(request: Request) -> Response:
    media_type = representation(request)
    services = services_of(request)
    queries, user = services.queries, reader(request)
    again(request, services.replay, is_timed=queries.rows.has_live_applications)
    wanted = application_filter(request.query_params, queries)
    refusal = refused_when_listing(request.query_params)
    if refusal is not None:
        if (await applications_page(queries.rows, Wanted(filter=wanted, shows=lambda _: True, limit=1))).rows:
            raise refusal
        return answer(request, {"apps": {}})
    selection = VisibleApplications(
        wanted=wanted,
        left_out=deselected(request.query_params),
        may_view=None if services.rights.views_all(user) else services.rights.viewer(user),
        is_filtered=services.rules.are_lists_filtered,
    )
    return await listed(request, services, selection, media_type)


async def statistics(request: Request) -> Response:
    """Counts by state, of all types or of one: zeros for the states asked for that nothing is in."""
    queries = services_of(request).queries
    states = application_states(values(request.query_params, "states")) or frozenset(YarnApplicationState)
    types = [kind.lower() for kind in values(request.query_params, "applicationTypes")] or ["*"]
    if len(types) > 1:
        text = f"# of applicationTypes = {len(types)}, we temporarily support at most one applicationType"
        raise bad_request(text)
    counts: Counter[YarnApplicationState] = queries.rows.counts
    if types[0] != "*":
        counts = Counter(
            application.yarn_state
            for application in queries.rows.applications()
            if types[0] == application.submission.application_type.strip().lower()
        )
    items = [{"state": s.name, "type": types[0], "count": counts[s]} for s in YarnApplicationState if s in states]
    return answer(request, {"appStatInfo": {"statItem": items}})


ROUTES = (
    Route("/ws/v1/cluster/apps", many),
    Route("/ws/v1/cluster/apps/{application_id}", one),
    Route("/ws/v1/cluster/appstatistics", statistics),
)
