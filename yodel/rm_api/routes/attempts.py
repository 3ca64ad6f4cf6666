"""``/apps/{id}/appattempts``, one of them, its containers, and one container.

``yarn logs`` asks for the attempts of a running application here.  One attempt is shown in the fields of Hadoop's
AppAttemptInfo, which Hadoop 3.5 itself answers in XML only.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.errors import ApplicationAttemptNotFound, ContainerNotFound, InvalidValue
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.errors import bad_request, not_found
from yodel.rm_api.negotiate import answer
from yodel.rm_api.routes.apps import found_application
from yodel.rm_api.wire import apps as wire
from yodel.rm_api.wire.containers import container as container_shape


async def attempts(request: Request) -> Response:
    view = found_application(request)
    queries = api_of(request).services.queries
    shown = []
    for attempt in queries.attempts(view.application.id):
        container = queries.state.containers.get(attempt.am_container_id) if attempt.am_container_id else None
        node = queries.state.nodes.get(container.node_id) if container is not None and container.node_id else None
        log_url = queries.log_url(container) if container is not None else ""
        shown.append(wire.attempt(attempt, container, node, log_url))
    return answer(request, {"appAttempts": {"appAttempt": shown} if shown else {}})


async def attempt(request: Request) -> Response:
    api = api_of(request)
    found = _found_attempt(request)
    application = api.services.queries.application(found.id.application_id).application
    tracking_url = wire.tracking_url(application, api.web_address)
    return answer(request, {"appAttempt": wire.one_attempt(found, tracking_url)})


async def containers(request: Request) -> Response:
    """Those that live; the lists of attempts that are over are empty, as in Hadoop."""
    api = api_of(request)
    found = api.services.queries.containers(_found_attempt(request).id)
    shown = [_shown(api, container) for container in found]
    return answer(request, {"container": shown} if shown else {})


async def container(request: Request) -> Response:
    api = api_of(request)
    attempt_id = _found_attempt(request).id
    asked = container_id(request)
    if asked.attempt_id != attempt_id:
        raise not_found("appAttemptId and containerId don't match")
    try:
        found = api.services.queries.container(asked)
    except ContainerNotFound as error:
        raise not_found(f"container with id: {asked} not found") from error
    return answer(request, {"container": _shown(api, found)})


def container_id(request: Request) -> ContainerId:
    """The path's container.  Raises RestError 400."""
    text = request.path_params["container_id"]
    try:
        return ContainerId.parse(text)
    except InvalidValue as error:
        raise bad_request(_invalid("ContainerId", "container_", text)) from error


def _found_attempt(request: Request) -> Attempt:
    """Raises RestError 400 or 404."""
    view = found_application(request)
    text = request.path_params["attempt_id"]
    try:
        asked = ApplicationAttemptId.parse(text)
    except InvalidValue as error:
        raise bad_request(_invalid("AppAttemptId", "appattempt_", text)) from error
    if asked.application_id != view.application.id:
        raise not_found("appId and appAttemptId don't match")
    try:
        return api_of(request).services.queries.attempt(asked)
    except ApplicationAttemptNotFound as error:
        raise not_found(f"ApplicationAttempt with id '{asked}' doesn't exist in RM.") from error


def _invalid(kind: str, prefix: str, text: str) -> str:
    """ApplicationAttemptId.fromString and ContainerId.fromString."""
    return f"Invalid {kind}{'' if text.startswith(prefix) else ' prefix'}: {text[:128]}"


def _shown(api: Api, row: Container) -> dict[str, object]:
    queries = api.services.queries
    node = queries.state.nodes.get(row.node_id) if row.node_id is not None else None
    return container_shape(row, node, queries.log_url(row), api.services.clock.now_ms())


ATTEMPTS = "/ws/v1/cluster/apps/{application_id}/appattempts"
ROUTES = (
    Route(ATTEMPTS, attempts),
    Route(ATTEMPTS + "/{attempt_id}", attempt),
    Route(ATTEMPTS + "/{attempt_id}/containers", containers),
    Route(ATTEMPTS + "/{attempt_id}/containers/{container_id}", container),
)
