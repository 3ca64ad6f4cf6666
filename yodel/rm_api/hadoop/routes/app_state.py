"""``/apps/{id}/state``: the RM's own state of an application, and the kill."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.states import ApplicationState
from yodel.errors import AccessDenied, ApplicationNotFound
from yodel.hadoop_http.errors import bad_request
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.rm_api.door.rim import writer
from yodel.rm_api.hadoop.given import answer_text, given, null_pointer, scalar
from yodel.rm_api.hadoop.routes.apps import found_application, no_such_application
from yodel.rm_api.hadoop.services import services_of

DIAGNOSTICS_LENGTH_MAX = 4096
ONLY_KILLED = "Only 'KILLED' is allowed as a target state."


async def get_state(request: Request) -> Response:
    return answer(request, {"state": found_application(request).application.state.name})


async def put_state(request: Request) -> Response:
    """202 with the state as it is now and a Location to ask; 200 when there was nothing to do."""
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    body = await given(request, "appstate")
    application = found_application(request).application
    if body is None:
        raise null_pointer("AppState.getState()", "targetState")
    target, diagnostics = scalar(body.get("state")), scalar(body.get("diagnostics")) or ""
    if target == application.state.name:
        return answer(request, {"state": target})
    if target != "KILLED":
        raise bad_request(ONLY_KILLED)
    if len(diagnostics) > DIAGNOSTICS_LENGTH_MAX:
        raise bad_request(f"Invalid diagnostics; expected text of at most {DIAGNOSTICS_LENGTH_MAX} characters")
    # RMAppImpl.isAppFinalStateStored; an unmanaged AM is told that all is done, lest it asks again.
    is_done = application.state.is_final or application.state is ApplicationState.FINISHING
    is_done = is_done or application.submission.is_unmanaged
    try:
        await services.submission.kill(application.id, user, diagnostics)
        now = services.queries.application(application.id).application.state.name
    except AccessDenied:
        return answer_text(request, f"Unauthorized attempt to kill appid {application.id} by remote user {user}", 403)
    except ApplicationNotFound as error:
        raise no_such_application(application.id) from error
    if is_done:
        return answer(request, {"state": now})
    return answer(request, {"state": now}, 202, str(request.url.replace(query="")))


ROUTES = (
    Route("/ws/v1/cluster/apps/{application_id}/state", get_state),
    Route("/ws/v1/cluster/apps/{application_id}/state", put_state, methods=["PUT"]),
)
