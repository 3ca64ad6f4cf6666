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
from yodel.errors import ApplicationAttemptNotFound, ApplicationNotFound, ContainerNotFound, InvalidValue
from yodel.hadoop_http.errors import JAX_RS, RestError, bad_request, not_found
from yodel.hadoop_http.long_answers import answer_many
from yodel.hadoop_http.many import Many
from yodel.hadoop_http.negotiate import answer
from yodel.rm_api.door.rim import reader
from yodel.rm_api.hadoop.routes.apps import application_id, found_application
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire import apps as wire
from yodel.rm_api.hadoop.wire.containers import container as container_shape


async def attempts(request: Request) -> Response:
    """List those of an application that the caller may not view without their AM."""
    view = found_application(request)
    services = services_of(request)
    may_view = services.rights.may_view(view.application, reader(request))
    found = services.queries.attempts(view.application.id)
    shown = [wire.attempt(row, _master(services, row) if may_view else None) for row in found]
    return answer(request, {"appAttempts": {"appAttempt": shown} if shown else {}})


async def attempt(request: Request) -> Response:
    services = services_of(request)
    found = _found_attempt(request, _attempt_id(request), "attempt")
    return answer(request, {"appAttempt": wire.one_attempt(found, services.web_address)}, root="appAttempt")


async def containers(request: Request) -> Response:
    """Answer the live containers; the lists of ended attempts are empty, as in Hadoop."""
    services = services_of(request)
    attempt = _found_attempt(request, _attempt_id(request), "application")
    found = services.queries.containers(attempt.id)
    shown = {"container": Many(found, lambda container: _shown(services, container))} if found else {}
    return await answer_many(request, shown, root="containers")


async def container(request: Request) -> Response:
    """One that lives: the ResourceManager knows no other (ClientRMService.getContainerReport)."""
    services = services_of(request)
    attempt_id = _attempt_id(request, is_checked=False)
    asked = container_id(request)
    _require_of_application(request, attempt_id)
    if asked.attempt_id != attempt_id:
        raise not_found("appAttemptId and containerId don't match")
    _found_attempt(request, attempt_id, "application")
    try:
        found = services.queries.container(asked)
        if not found.is_live or found.node_id is None:
            raise ContainerNotFound(asked)
    except ContainerNotFound as error:
        raise not_found(f"Container with id '{asked}' doesn't exist in RM.") from error
    return answer(request, {"container": _shown(services, found)})


def container_id(request: Request) -> ContainerId:
    """The path's container.  Raises RestError 400."""
    text = request.path_params["container_id"]
    try:
        return ContainerId.parse(text)
    except InvalidValue as error:
        raise bad_request(invalid("ContainerId", "container_", text)) from error


def _attempt_id(request: Request, *, is_checked: bool = True) -> ApplicationAttemptId:
    """The path's attempt, one of the path's application if ``is_checked``.  Raises RestError 400 or 404."""
    application_id(request)
    text = request.path_params["attempt_id"]
    try:
        asked = ApplicationAttemptId.parse(text)
    except InvalidValue as error:
        raise bad_request(invalid("AppAttemptId", "appattempt_", text)) from error
    if is_checked:
        _require_of_application(request, asked)
    return asked


def _require_of_application(request: Request, asked: ApplicationAttemptId) -> None:
    """WebServices.validateIds, which needs neither to exist.  Raises RestError 404."""
    if asked.application_id != application_id(request):
        raise not_found("appId and appAttemptId don't match")


def _found_attempt(request: Request, asked: ApplicationAttemptId, what: str) -> Attempt:
    """Raises RestError 404, or 503 for who may not view it: ClientRMService's YarnException, in its words."""
    services = services_of(request)
    user = reader(request)
    try:
        application = services.queries.application(asked.application_id).application
        if not services.rights.may_view(application, user):
            whose = asked if what == "attempt" else asked.application_id
            text = f"User {user} does not have privilege to see this {what} {whose}"
            raise RestError(503, JAX_RS + "WebApplicationException", text)
        return services.queries.attempt(asked)
    except ApplicationNotFound as error:
        raise not_found(str(error)) from error
    except ApplicationAttemptNotFound as error:
        raise not_found(f"ApplicationAttempt with id '{asked}' doesn't exist in RM.") from error


def invalid(kind: str, prefix: str, text: str) -> str:
    """ApplicationAttemptId.fromString and ContainerId.fromString."""
    return f"Invalid {kind}{'' if text.startswith(prefix) else ' prefix'}: {text[:128]}"


def _master(services: HadoopServices, row: Attempt) -> wire.Master | None:
    queries = services.queries
    container = queries.rows.master_of(row)
    if container is None:
        return None
    node = queries.rows.node_of(container)
    unwanted = sorted(queries.rows.blacklist_of(row.id)) if not row.state.is_final else ()
    return wire.Master(container=container, node=node, log_url=queries.log_url(container), blacklist=unwanted)


def _shown(services: HadoopServices, row: Container) -> dict[str, object]:
    queries = services.queries
    node = queries.rows.node_of(row)
    return container_shape(row, node, queries.log_url(row), services.clock.now_ms())


ATTEMPTS = "/ws/v1/cluster/apps/{application_id}/appattempts"
ROUTES = (
    Route(ATTEMPTS, attempts),
    Route(ATTEMPTS + "/{attempt_id}", attempt),
    Route(ATTEMPTS + "/{attempt_id}/containers", containers),
    Route(ATTEMPTS + "/{attempt_id}/containers/{container_id}", container),
)
