"""``POST /apps/new-application`` and ``POST /apps``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.application import capped_priority_note
from yodel.domain.resource import Resource
from yodel.errors import AccessDenied, InvalidValue, Refused
from yodel.hadoop_http.errors import RestError, bad_request, illegal_argument
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.pb_convert import rest_submission
from yodel.pb_convert.rest_submission import InvalidReservationId
from yodel.rm_api.door.audited import note
from yodel.rm_api.door.bodies import read_bytes, reading_object
from yodel.rm_api.door.rim import asker, writer
from yodel.rm_api.door.services import door_of
from yodel.rm_api.hadoop.given import answer_text, is_given, null_pointer
from yodel.rm_api.hadoop.services import services_of
from yodel.rm_api.hadoop.wire.resources import resource

T = TypeVar("T")
DISABLED = "App submission via REST is disabled."
ACCESS_CONTROL = "org.apache.hadoop.security.AccessControlException"


async def new_application(request: Request) -> Response:
    services = services_of(request)
    if not services.rules.are_submissions_enabled:
        return answer_text(request, DISABLED, HTTPStatus.FORBIDDEN)
    writer(request)
    require_acceptable(request)
    await read_bytes(request, door_of(request).rules.body_bytes_max)
    submission = services.submission
    application_id = await submission.give_id(asker(request))
    maximum = resource(submission.maximum_capability)
    value = {"application-id": str(application_id), "maximum-resource-capability": maximum}
    return answer(request, value, root="NewApplication")


async def submit(request: Request) -> Response:
    """202 says it is on disk; a queue that cannot take it shows in the application's own state."""
    services = services_of(request)
    if not services.rules.are_submissions_enabled:
        return answer_text(request, DISABLED, HTTPStatus.FORBIDDEN)
    user = writer(request)
    require_acceptable(request)
    if not is_given(request):
        raise null_pointer("ApplicationSubmissionContextInfo.getApplicationId()", "newApp")
    service = services.submission
    try:
        async with reading_object(request, door_of(request).rules.body_bytes_max, rest_submission.ROOT) as body:
            application_id, submission = await in_turns(rest_submission.submission_in_turns(body, user))
        note(request.scope, app_id=str(application_id))
        _require_fits(submission.am_asked_capability, service.configured_maximum)
        await service.submit_given(application_id, submission, asker(request))
    except InvalidReservationId as error:
        raise _no_reservation(error) from error
    except AccessDenied as error:
        # No 403: RMAppManager's exception comes wrapped, with its class in its text.
        raise bad_request(f"{ACCESS_CONTROL}: {error}") from error
    except (InvalidValue, Refused) as error:
        raise bad_request(str(error)) from error
    location = request.url.replace(path=f"/ws/v1/cluster/apps/{application_id}", query="")
    headers = {"Location": str(location)}
    if submission.priority > (has := service.capped_priority(submission.priority)):
        headers["Warning"] = f'299 - "{capped_priority_note(submission.priority, has)}"'
    return Response(status_code=202, headers=headers)


async def in_turns(steps: Iterator[T | None]) -> T:
    """Return the result of the last step; other callers are answered between steps."""
    found = list[T]()
    for step in steps:
        if step is not None:
            found.append(step)
        await asyncio.sleep(0)
    return found[-1]


def _no_reservation(error: InvalidReservationId) -> RestError:
    """ReservationId.parseReservationId, as its exceptions come out of Hadoop's handler."""
    text = error.text
    parts = text[:128].split("_")
    if not text.startswith("reservation_"):
        return RestError(404, "java.io.IOException", f"The specified reservation id is invalid: {text[:128]}")
    if len(parts) != 3:
        return RestError(404, "java.io.IOException", f"The specified reservation id is not parseable: {text[:128]}")
    for part in parts[1:]:
        if re.fullmatch(r"[+-]?\d{1,19}", part, re.ASCII) is None:
            return illegal_argument(f'For input string: "{part}"', "java.lang.NumberFormatException")
    return bad_request(str(error))


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
