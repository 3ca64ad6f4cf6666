"""``/apps/{id}/queue``, ``/priority``, ``/timeouts`` and ``/timeout``: seen by everybody, changed by who may modify.

What only the scheduler finds wrong comes from Hadoop as 503 with an UndeclaredThrowableException, and so it does here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import ApplicationId
from yodel.errors import AccessDenied, ApplicationNotFound, Refused
from yodel.pb_convert.times import iso_8601, parse_iso_8601
from yodel.rm_api.bodies import read_object
from yodel.rm_api.context import Api, api_of
from yodel.rm_api.errors import RestError, bad_request, forbidden, malformed_body, undeclared
from yodel.rm_api.front import writer
from yodel.rm_api.negotiate import answer, require_acceptable
from yodel.rm_api.routes.apps import found_application, no_such_application
from yodel.rm_api.wire.apps import lifetime
from yodel.services.changes import ACTIVE, LIFETIME

INT_MAX = 2**31 - 1
TEXT_LENGTH_MAX = 4096
_TIME_FIELDS = (r"\d{4}", r"-\d\d", r"-\d\d", r"T\d\d", r":\d\d", r":\d\d", r"\.\d{3}", r"[+-]\d{4}")
T = TypeVar("T")


async def get_queue(request: Request) -> Response:
    return answer(request, {"queue": found_application(request).application.submission.queue})


async def put_queue(request: Request) -> Response:
    """A move; to the queue it is in already is nothing to do."""
    api, user, body = await _change(request, "appqueue")
    application = found_application(request).application
    target = body.get("queue")
    if not isinstance(target, str) or not target or len(target) > TEXT_LENGTH_MAX:
        raise malformed_body()
    queue = application.submission.queue
    if target not in (queue, queue.rpartition(".")[2]):
        if application.state not in ACTIVE:
            raise bad_request(f"App in {application.state.name} state cannot be moved.")
        asked = api.services.changes.move(application.id, user, target)
        queue = await _changed(asked, application.id, user, "move")
    return answer(request, {"queue": queue})


async def get_priority(request: Request) -> Response:
    return answer(request, {"priority": found_application(request).application.submission.priority})


async def put_priority(request: Request) -> Response:
    """Answered with what it has become: the cluster's maximum is less than many ask for."""
    api, user, body = await _change(request, "apppriority")
    application = found_application(request).application
    wanted = body.get("priority")
    if not isinstance(wanted, int) or isinstance(wanted, bool) or abs(wanted) > INT_MAX:
        raise malformed_body()
    asked = api.services.changes.set_priority(application.id, user, wanted)
    return answer(request, {"priority": await _changed(asked, application.id, user, "update priority of")})


async def get_timeouts(request: Request) -> Response:
    application = found_application(request).application
    now_ms = api_of(request).services.clock.now_ms()
    return answer(request, {"timeouts": {"timeout": [lifetime(application, now_ms)]}})


async def get_timeout(request: Request) -> Response:
    application = found_application(request).application
    _timeout_type(request.path_params["timeout_type"])
    return answer(request, {"timeout": lifetime(application, api_of(request).services.clock.now_ms())})


async def put_timeout(request: Request) -> Response:
    api, user, body = await _change(request, "timeout")
    application = found_application(request).application
    kind, expires = body.get("type"), body.get("expiryTime")
    if not isinstance(kind, str) or not isinstance(expires, str) or not kind or not expires:
        raise bad_request("Timeout type or ExpiryTime is null.")
    kind = _timeout_type(kind)
    _require_time(expires[:TEXT_LENGTH_MAX])
    asked = api.services.changes.set_timeouts(application.id, user, {kind: expires})
    expires_ms = parse_iso_8601((await _changed(asked, application.id, user, "update timeout of"))[kind])
    remaining_s = max(0, expires_ms - api.services.clock.now_ms()) // 1000
    shown = {"type": kind, "expiryTime": iso_8601(expires_ms), "remainingTimeInSeconds": remaining_s}
    return answer(request, {"timeout": shown})


async def _change(request: Request, root: str) -> tuple[Api, str, dict[str, object]]:
    """Who changes, and the fields of the body; the root element of XML's shape may be there."""
    api = api_of(request)
    user = writer(request, api)
    require_acceptable(request)
    body = await read_object(request, api.services.settings.body_bytes_max)
    inner = body.get(root)
    return api, user, inner if isinstance(inner, dict) else body


async def _changed(asked: Awaitable[T], application_id: ApplicationId, user: str, what: str) -> T:
    """Raises RestError for what went wrong, in RMWebServices' words."""
    try:
        return await asked
    except AccessDenied as error:
        raise forbidden(f"Unauthorized attempt to {what} appid {application_id} by remote user {user}") from error
    except ApplicationNotFound as error:
        raise no_such_application(application_id) from error
    except Refused as error:
        raise undeclared(str(error)) from error


def _timeout_type(text: str) -> str:
    """In any case, as RMWebServices.parseTimeoutType; the text names another thing there too."""
    if text.upper() != LIFETIME:
        raise bad_request(f"Invalid application-state {text[:128]} specified. It should be one of [{LIFETIME}]")
    return LIFETIME


def _require_time(text: str) -> None:
    """java.time's words: the index is where the first field that is wrong begins."""
    position = 0
    for field in _TIME_FIELDS:
        found = re.compile(field, re.ASCII).match(text, position)
        if found is None:
            raise _unparsed(text, f"could not be parsed at index {position}")
        position = found.end()
    if position < len(text):
        raise _unparsed(text, f"could not be parsed, unparsed text found at index {position}")
    try:
        parse_iso_8601(text)
    except Refused as error:
        raise _unparsed(text, "could not be parsed: a field is out of range") from error


def _unparsed(text: str, why: str) -> RestError:
    return RestError(503, "java.time.format.DateTimeParseException", f"Text '{text}' {why}")


_APP = "/ws/v1/cluster/apps/{application_id}"
ROUTES = (
    Route(f"{_APP}/queue", get_queue),
    Route(f"{_APP}/queue", put_queue, methods=["PUT"]),
    Route(f"{_APP}/priority", get_priority),
    Route(f"{_APP}/priority", put_priority, methods=["PUT"]),
    Route(f"{_APP}/timeouts", get_timeouts),
    Route(f"{_APP}/timeouts/{{timeout_type}}", get_timeout),
    Route(f"{_APP}/timeout", put_timeout, methods=["PUT"]),
)
