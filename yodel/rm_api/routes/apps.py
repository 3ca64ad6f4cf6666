"""``GET /apps``, ``/apps/{id}`` and ``/appstatistics``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.domain.queue import absolute_percent
from yodel.domain.states import YarnApplicationState
from yodel.errors import ApplicationNotFound, InvalidValue
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.errors import RestError, bad_request, not_found
from yodel.rm_api.front import reader
from yodel.rm_api.negotiate import (
    JSON_UTF8,
    XML,
    answer,
    answer_encoded,
    answer_rendered,
    answer_xml_list,
    encode,
    representation,
    require_acceptable,
)
from yodel.rm_api.routes.filters import (
    application_filter,
    application_states,
    deselected,
    refused_when_listing,
    values,
)
from yodel.rm_api.wire import apps as wire
from yodel.services.log_aggregation import LogAggregationStatus
from yodel.services.queries import ApplicationView

STREAMED_FROM = 500
"""Longer lists are rendered and sent in parts, so that one caller does not hold up every other."""
PART = 100
SETTLED = (
    LogAggregationStatus.DISABLED,
    LogAggregationStatus.SUCCEEDED,
    LogAggregationStatus.FAILED,
    LogAggregationStatus.TIME_OUT,
)
"""Of an ended application's log aggregation: nothing changes any more."""


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
        return api_of(request).services.queries.application(asked)
    except ApplicationNotFound as error:
        raise no_such_application(asked) from error


async def one(request: Request) -> Response:
    require_acceptable(request)
    view = found_application(request)
    left_out = deselected(request.query_params)
    api = api_of(request)
    return answer_rendered(request, b'{"app":' + _rendered(api, view, reader(request, api), left_out) + b"}")


async def many(request: Request) -> Response:
    media_type = representation(request)
    api = api_of(request)
    queries, user = api.services.queries, reader(request, api)
    wanted = application_filter(request.query_params, queries)
    shown_to = api.services.submission.viewer(user) if api.services.settings.are_lists_filtered else None
    refusal = refused_when_listing(request.query_params)
    if refusal is not None:
        if queries.applications(replace(wanted, limit=1)):
            raise refusal
        return answer(request, {"apps": {}})
    left_out = deselected(request.query_params)
    if media_type == XML:
        found = queries.applications(wanted, shown_to)
        return answer_xml_list("apps", "app", (_rendered(api, view, user, left_out) for view in found))
    key: Hashable = (wanted, left_out, user)
    version = queries.version
    kept = api.rendered.list(key, version)
    if kept is not None:
        return answer_encoded(kept)
    views = queries.applications(wanted, shown_to)
    if not views:
        return answer_encoded(b'{"apps":{}}')
    if len(views) > STREAMED_FROM:
        return StreamingResponse(_parts(api, views, user, left_out), media_type=JSON_UTF8)
    body = b'{"apps":{"app":[' + b",".join(_rendered(api, view, user, left_out) for view in views) + b"]}}"
    if all(view.has_ended and _log_status(api, view) in SETTLED for view in views):
        api.rendered.keep_list(key, version, body)
    return answer_encoded(body)


async def statistics(request: Request) -> Response:
    """Counts by state, of all types or of one: zeros for the states asked for that nothing is in."""
    queries = api_of(request).services.queries
    states = application_states(values(request.query_params, "states")) or frozenset(YarnApplicationState)
    types = [kind.lower() for kind in values(request.query_params, "applicationTypes")] or ["*"]
    if len(types) > 1:
        text = f"# of applicationTypes = {len(types)}, we temporarily support at most one applicationType"
        raise bad_request(text)
    counts = Counter(
        application.yarn_state
        for application in queries.state.applications.values()
        if types[0] in ("*", application.submission.application_type.strip().lower())
    )
    items = [{"state": s.name, "type": types[0], "count": counts[s]} for s in YarnApplicationState if s in states]
    return answer(request, {"appStatInfo": {"statItem": items}})


async def _parts(
    api: Api, views: Sequence[ApplicationView], user: str, left_out: frozenset[str]
) -> AsyncIterator[bytes]:
    yield b'{"apps":{"app":['
    for start in range(0, len(views), PART):
        part = b",".join(_rendered(api, view, user, left_out) for view in views[start : start + PART])
        yield part if start == 0 else b"," + part
        await asyncio.sleep(0)
    yield b"]}}"


def _rendered(api: Api, view: ApplicationView, user: str, left_out: frozenset[str]) -> bytes:
    """One application as JSON.  Of an ended one nothing depends on the time, so its bytes are kept."""
    services = api.services
    may_view = services.submission.may_view(view.application, user)
    log_status = _log_status(api, view)
    is_kept = view.has_ended and may_view and not left_out and log_status in SETTLED
    body = api.rendered.application(view) if is_kept else None
    if body is not None:
        return body
    runtime = services.queries.state.runtimes.get(view.application.current_attempt_id)
    facts = wire.AppFacts(
        web_address=api.web_address,
        cluster_id=services.settings.cluster_id,
        queue_memory_mib=_queue_memory_mib(api, view.application),
        may_view=may_view,
        deselected=left_out,
        asks=runtime.asks.lines() if runtime is not None and not view.has_ended else (),
        now_ms=services.clock.now_ms(),
        log_aggregation_status=log_status.name,
    )
    body = encode(wire.app(view, facts))
    if is_kept:
        api.rendered.keep_application(view, body)
    return body


def _log_status(api: Api, view: ApplicationView) -> LogAggregationStatus:
    return api.services.log_aggregation.status_of(view.application)


def _queue_memory_mib(api: Api, application: Application) -> int:
    """What the queue is guaranteed of the cluster's memory."""
    state = api.services.queries.state
    queue = state.queues.get(application.submission.queue)
    share_percent = absolute_percent(state.queues, queue) if queue is not None else 100.0
    return int(state.usable_resource.memory_mib * share_percent / 100.0)


ROUTES = (
    Route("/ws/v1/cluster/apps", many),
    Route("/ws/v1/cluster/apps/{application_id}", one),
    Route("/ws/v1/cluster/appstatistics", statistics),
)
