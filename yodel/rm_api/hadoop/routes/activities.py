"""``/scheduler/activities``, ``/scheduler/bulk-activities``, ``/scheduler/app-activities/{id}``: why nothing is given.

Asking arms the scheduler; what its next tick found is in the next answer.  What is asked wrongly is answered with 200
and a diagnostic, as Hadoop does; only the bulk call has errors.  Unlike in Hadoop, applications that the caller may not
view are left out, and asking for one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.activities import Look, NodeActivity, RequestActivity
from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId, NodeId
from yodel.errors import AccessDenied, InvalidValue, Unavailable
from yodel.hadoop_http.errors import bad_request, illegal_argument, not_found
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire import activities as wire
from yodel.services.scheduling.activities import of_node

BULK_DEFAULT, BULK_MAX = 10, 500  # RMWebServices.DEFAULT_ACTIVITIES_COUNT, MAX_ACTIVITIES_COUNT
BULK_TIMEOUT_S = 10.0
WATCH_DEFAULT_S, WATCH_MAX_S = 3.0, 3600.0
PARTS_MAX = 1000
"""Values of one list parameter that are looked at."""
NO_NODES = "No node manager running in the cluster"
NO_SUCH_NODE = "Cannot find node manager with given node id"
NO_SUCH_APPLICATION = "Cannot find application with given appId"
APPLICATION_ENDED = "fail to get application activities after finished"
ACTIONS = ("REFRESH", "GET")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{0,15})?")


class _AskedWrongly(Exception):
    """Reports a wrong parameter, in Hadoop's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Holds the parameters of an app-activities call; empty sets and no limit: everything."""

    is_grouped: bool
    actions: tuple[str, ...]
    priorities: frozenset[int]
    request_ids: frozenset[int]
    limit: int | None
    duration_s: float
    is_summarized: bool


async def activities(request: Request) -> Response:
    services = services_of(request)
    require_acceptable(request)
    asked = request.query_params.get("nodeId")
    try:
        is_grouped = _is_grouped(request)
        node_id = _node(services, asked)
    except _AskedWrongly as wrong:
        return answer(request, wire.refused(str(wrong), asked))
    service = services.activities
    look = service.last(node_id)
    service.arm(node_id)
    if look is not None:
        look = _visible(request, services, look if node_id is None else of_node(look, node_id))
    return answer(request, wire.activities(look, node_id, is_grouped=is_grouped))


async def bulk_activities(request: Request) -> Response:
    """One look at the cluster, told of each node apart.  Hadoop waits for as many heartbeats as were asked for."""
    services = services_of(request)
    require_acceptable(request)
    try:
        is_grouped = _is_grouped(request)
        if not _usable_nodes(services):
            raise _AskedWrongly(NO_NODES)
    except _AskedWrongly as wrong:
        raise bad_request(str(wrong)) from wrong
    text = request.query_params.get("activitiesCount", str(BULK_DEFAULT))
    if _INTEGER.fullmatch(text) is None:
        raise not_found("HTTP 404 Not Found")
    count = int(text)
    look = await services.activities.next(BULK_TIMEOUT_S)
    if look is None:
        raise Unavailable(f"The scheduler did not look at the cluster within {BULK_TIMEOUT_S:g} s")
    node_ids = look.node_ids[: min(count if count > 0 else BULK_DEFAULT, BULK_MAX)]
    look = _visible(request, services, look)
    looks = ((node_id, of_node(look, node_id)) for node_id in node_ids)
    return answer(request, wire.bulk(looks, is_grouped=is_grouped))


async def app_activities(request: Request) -> Response:
    services = services_of(request)
    require_acceptable(request)
    text = request.path_params["application_id"]
    now_ms = services.clock.now_ms()
    try:
        wanted = _wanted(request)
        application = _live_application(services, text)
    except _AskedWrongly as wrong:
        return answer(request, wire.application_refused(str(wrong), text, now_ms))
    application_id, user = application.id, reader(request)
    if not services.rights.may_view(application, user):
        raise AccessDenied(f"User {user} does not have privilege to see this application {application_id}")
    service = services.activities
    kept = service.of_application(application_id)
    if "REFRESH" in wanted.actions:
        service.watch(application_id, wanted.duration_s)
    if "GET" not in wanted.actions:
        word = "action" if len(wanted.actions) == 1 else "actions"
        said = f"Successfully received {word}: {','.join(wanted.actions)}"
        return answer(request, wire.application_refused(said, text, now_ms))
    if kept is None:
        return answer(request, wire.application_refused(wire.WAITING_FOR_NODE, text, now_ms))
    looks = [_visible(request, services, look) for look in _chosen(kept, wanted)]
    return answer(request, wire.application(text, looks, is_grouped=wanted.is_grouped))


# --- what is asked for


def _is_grouped(request: Request) -> bool:
    text = request.query_params.get("groupBy")
    if text is not None and text.upper() != "DIAGNOSTIC":
        raise _AskedWrongly(f"Got invalid groupBy: {text}, valid groupBy types: [DIAGNOSTIC]")
    return text is not None


def _usable_nodes(services: HadoopServices) -> list[NodeId]:
    return [node.id for node in services.queries.rows.nodes.values() if node.is_usable]


def _node(services: HadoopServices, asked: str | None) -> NodeId | None:
    """Return the node named by ``host:port``, or by the host alone."""
    nodes = _usable_nodes(services)
    if not nodes:
        raise _AskedWrongly(NO_NODES)
    if asked is None:
        return None
    for node_id in nodes:
        if asked in (str(node_id), node_id.host):
            return node_id
    raise _AskedWrongly(NO_SUCH_NODE)


def _wanted(request: Request) -> _Wanted:
    query = request.query_params
    is_grouped = _is_grouped(request)
    actions = tuple(dict.fromkeys(_action(part) for part in _parts(request, "actions"))) or ACTIONS
    return _Wanted(
        is_grouped=is_grouped,
        actions=actions,
        priorities=_integers(request, "requestPriorities", "request priorities must be integers!"),
        request_ids=_integers(request, "allocationRequestIds", "allocation request Ids must be integers!"),
        limit=_limit(query.get("limit")),
        duration_s=_duration_s(query.get("maxTime")),
        is_summarized=query.get("summarize", "").lower() == "true",
    )


def _parts(request: Request, name: str) -> list[str]:
    """A list parameter may be given several times, and each with commas."""
    return [part for text in request.query_params.getlist(name) for part in text.split(",")][:PARTS_MAX]


def _action(text: str) -> str:
    if text.upper() not in ACTIONS:
        raise _AskedWrongly(f"Got invalid action: {text}, valid actions: [{', '.join(ACTIONS)}]")
    return text.upper()


def _integers(request: Request, name: str, refusal: str) -> frozenset[int]:
    parts = _parts(request, name)
    if not all(_INTEGER.fullmatch(part) for part in parts):
        raise _AskedWrongly(refusal)
    return frozenset(map(int, parts))


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise _AskedWrongly("limit must be integer!")
    if int(text) <= 0:
        raise _AskedWrongly("limit must be greater than 0!")
    return int(text)


def _duration_s(text: str | None) -> float:
    if text is None:
        return WATCH_DEFAULT_S
    if _NUMBER.fullmatch(text) is None:
        shown = text if "." in text else f"{text}.0"
        raise illegal_argument(f'For input string: "{shown}"', "java.lang.NumberFormatException")
    return min(float(text), WATCH_MAX_S)


def _live_application(services: HadoopServices, text: str) -> Application:
    try:
        application_id = ApplicationId.parse(text)
    except InvalidValue as error:
        raise _AskedWrongly(NO_SUCH_APPLICATION) from error
    application = services.queries.rows.application(application_id)
    if application is None or application.state.is_final:
        raise _AskedWrongly(APPLICATION_ENDED)
    return application


# --- what is shown of it


def _visible(request: Request, services: HadoopServices, look: Look) -> Look:
    """Return the look without applications that the caller may not view, and without what reasons say of them."""
    rows, rights, user = services.queries.rows, services.rights, reader(request)
    if rights.views_all(user):
        return look
    may_view, without_others = rights.viewer(user), services.queries.why.without_others
    seen = [
        replace(
            activity,
            requests=tuple(
                replace(one, diagnostic=without_others(one.diagnostic, may_view)) for one in activity.requests
            ),
        )
        for activity in look.applications
        if (owner := rows.application(activity.application_id)) is not None and may_view(owner)
    ]
    return replace(look, applications=tuple(seen))


def _chosen(looks: list[Look], wanted: _Wanted) -> list[Look]:
    if wanted.priorities or wanted.request_ids:
        looks = [filtered for look in looks if (filtered := _filtered(look, wanted)).applications[0].requests]
    if wanted.is_summarized and looks:
        looks = [_summary(looks, int(wanted.duration_s * 1000))]
    return looks[-wanted.limit :] if wanted.limit is not None else looks


def _filtered(look: Look, wanted: _Wanted) -> Look:
    (activity,) = look.applications
    requests = tuple(
        request
        for request in activity.requests
        if (not wanted.priorities or request.priority in wanted.priorities)
        and (not wanted.request_ids or request.allocation_request_id in wanted.request_ids)
    )
    return replace(look, applications=(replace(activity, requests=requests),))


def _summary(looks: list[Look], period_ms: int) -> Look:
    """The last look, with what those before it said of other requests and nodes (getSummarizedAppAllocation)."""
    last = looks[-1]
    requests: dict[tuple[int, int], RequestActivity] = {}
    for look in reversed(looks):
        if look.at_ms < last.at_ms - period_ms:
            break
        for request in look.applications[0].requests:
            key = (request.priority, request.allocation_request_id)
            known = requests.setdefault(key, request)
            requests[key] = replace(known, nodes=tuple(_first_of_each((*known.nodes, *request.nodes))))
    return replace(last, applications=(replace(last.applications[0], requests=tuple(requests.values())),))


def _first_of_each(nodes: Iterable[NodeActivity]) -> Iterable[NodeActivity]:
    found: dict[NodeId, NodeActivity] = {}
    for node in nodes:
        found.setdefault(node.node_id, node)
    return found.values()


_SCHEDULER = "/ws/v1/cluster/scheduler"
ROUTES = (
    Route(f"{_SCHEDULER}/activities", activities),
    Route(f"{_SCHEDULER}/bulk-activities", bulk_activities),
    Route(f"{_SCHEDULER}/app-activities/{{application_id}}", app_activities),
)
