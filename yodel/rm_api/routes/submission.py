"""``POST /apps/new-application`` and ``POST /apps``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.resource import Resource
from yodel.errors import InvalidResourceRequest, InvalidValue
from yodel.pb_convert import rest_submission
from yodel.rm_api.bodies import read_bytes, read_object
from yodel.rm_api.context import api_of
from yodel.rm_api.errors import bad_request
from yodel.rm_api.front import writer
from yodel.rm_api.negotiate import answer, require_acceptable
from yodel.rm_api.wire.resources import resource


async def new_application(request: Request) -> Response:
    api = api_of(request)
    writer(request, api)
    require_acceptable(request)
    await read_bytes(request, api.services.settings.body_bytes_max)
    submission = api.services.submission
    application_id = await submission.new_application_id()
    maximum = resource(submission.maximum_capability)
    return answer(request, {"application-id": str(application_id), "maximum-resource-capability": maximum})


async def submit(request: Request) -> Response:
    """202 says it is on disk; a queue that cannot take it shows in the application's own state."""
    api = api_of(request)
    user = writer(request, api)
    require_acceptable(request)
    body = await read_object(request, api.services.settings.body_bytes_max)
    service = api.services.submission
    try:
        application_id, submission = rest_submission.submission(body, user)
        _require_fits(submission.am_asked_capability, service.maximum_capability)
        await service.submit(application_id, submission)
    except (InvalidValue, InvalidResourceRequest) as error:
        raise bad_request(str(error)) from error
    location = request.url.replace(path=f"/ws/v1/cluster/apps/{application_id}", query="")
    return Response(status_code=202, headers={"Location": str(location)})


def _require_fits(asked: Resource, maximum: Resource) -> None:
    """RMWebAppUtil's own texts for what is over the maximum."""
    for what, value, most in (
        ("memory", asked.memory_mib, maximum.memory_mib),
        ("cores", asked.vcores, maximum.vcores),
    ):
        if value > most:
            raise bad_request(f"Requested more {what} than configured max")


ROUTES = (
    Route("/ws/v1/cluster/apps/new-application", new_application, methods=["POST"]),
    Route("/ws/v1/cluster/apps", submit, methods=["POST"]),
)
