"""``/apps/{id}/state``: the RM's own state of an application, and the kill."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.errors import AccessDenied, ApplicationNotFound
from yodel.rm_api.bodies import read_object
from yodel.rm_api.context import api_of
from yodel.rm_api.errors import bad_request, forbidden
from yodel.rm_api.front import writer
from yodel.rm_api.negotiate import answer, require_acceptable
from yodel.rm_api.routes.apps import found_application, no_such_application

DIAGNOSTICS_LENGTH_MAX = 4096
ONLY_KILLED = "Only 'KILLED' is allowed as a target state."


async def get_state(request: Request) -> Response:
    return answer(request, {"state": found_application(request).application.state.name})


async def put_state(request: Request) -> Response:
    """202 with the state as it is now and a Location to ask; 200 when there was nothing to do."""
    api = api_of(request)
    user = writer(request, api)
    require_acceptable(request)
    body = await read_object(request, api.services.settings.body_bytes_max)
    application = found_application(request).application
    target, diagnostics = _target(body)
    if target == application.state.name:
        return answer(request, {"state": target})
    if target != "KILLED":
        raise bad_request(ONLY_KILLED)
    if application.state.is_final:
        return answer(request, {"state": application.state.name})
    try:
        await api.services.submission.kill(application.id, user, diagnostics)
        now = api.services.queries.application(application.id).application.state.name
    except AccessDenied as error:
        text = f"Unauthorized attempt to kill appid {application.id} by remote user {user}"
        raise forbidden(text) from error
    except ApplicationNotFound as error:
        raise no_such_application(application.id) from error
    return answer(request, {"state": now}, 202, str(request.url.replace(query="")))


def _target(body: dict[str, object]) -> tuple[str, str]:
    """The target and the diagnostics of a body; the root element of XML's shape may be there."""
    inner = body.get("appstate")
    fields = inner if isinstance(inner, dict) else body
    target, diagnostics = fields.get("state"), fields.get("diagnostics") or ""
    if not isinstance(target, str) or not target:
        raise bad_request("Invalid state: nothing given; expected 'KILLED'")
    if not isinstance(diagnostics, str) or len(diagnostics) > DIAGNOSTICS_LENGTH_MAX:
        raise bad_request(f"Invalid diagnostics; expected text of at most {DIAGNOSTICS_LENGTH_MAX} characters")
    return target, diagnostics


ROUTES = (
    Route("/ws/v1/cluster/apps/{application_id}/state", get_state),
    Route("/ws/v1/cluster/apps/{application_id}/state", put_state, methods=["PUT"]),
)
