"""``/apps/{id}/queue``, ``/priority``, ``/timeouts`` and ``/timeout``: seen by everybody, changed by who may modify.

What only the scheduler finds wrong comes from Hadoop as 503 with an UndeclaredThrowableException, and so it does here;
what the caller may not do, and a few mistakes, are bare texts there and here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.errors import AccessDenied, ApplicationNotFound, Refused
from yodel.hadoop_http.errors import RestError, bad_request, malformed_body, undeclared
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.pb_convert.times import parse_iso_8601
from yodel.rm_api.door.rim import writer
from yodel.rm_api.hadoop.given import answer_text, given, null_pointer, scalar
from yodel.rm_api.hadoop.routes.apps import application_id, found_application, no_such_application
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire.apps import timeout
from yodel.services.applications.changes import ACTIVE, LIFETIME

INT_MAX = 2**31 - 1
INTEGER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
NULL = "null"
"""How Java's texts name a queue that is not given."""
UNLIMITED = "UNLIMITED"
"""AppTimeoutInfo's own default, which no parser takes for a time."""
TEXT_LENGTH_MAX = 4096
_TIME_FIELDS = (r"\d{4}", r"-\d\d", r"-\d\d", r"T\d\d", r":\d\d", r":\d\d", r"\.\d{3}", r"[+-]\d{4}")
T = TypeVar("T")


async def get_queue(request: Request) -> Response:
    return answer(request, {"queue": found_application(request).application.submission.queue})


async def put_queue(request: Request) -> Response:
    """A move; to the queue it is in already is nothing to do."""
    services, user, body = await _change(request, "appqueue", null_pointer("AppQueue.getQueue()", "targetQueue"))
    application = found_application(request).application
    target = scalar(body.get("queue"))
    target = NULL if target is None else target[:TEXT_LENGTH_MAX]
    queue = application.submission.queue
    if target == queue:
        return answer(request, {"queue": queue})
    changes, rights = services.changes, services.rights
    if application.state not in ACTIVE and rights.may_modify(application, user):
        return answer_text(request, f"App in {application.state.name} state cannot be moved.", 400)
    if target == queue.rpartition(".")[2]:
        return answer(request, {"queue": queue})
    moved = await _changed(request, changes.move(application.id, user, target), f"move appid {application.id}", user)
    return moved if isinstance(moved, Response) else answer(request, {"queue": moved})


async def get_priority(request: Request) -> Response:
    return answer(request, {"priority": found_application(request).application.submission.priority})


async def put_priority(request: Request) -> Response:
    """Answered with what it has become: the cluster's maximum is less than many ask for."""
    absent = RestError(503, "org.apache.hadoop.yarn.exceptions.YarnException", "Target Priority cannot be null")
    services, user, body = await _change(request, "applicationpriority", absent)
    application = found_application(request).application
    wanted = _integer(body.get("priority", 0))  # AppPriority's own default
    if wanted == application.submission.priority:
        return answer(request, {"priority": wanted})
    asked = services.changes.set_priority(application.id, user, wanted)
    now = await _changed(request, asked, f"change priority of appid {application.id}", user)
    return now if isinstance(now, Response) else answer(request, {"priority": now})


async def get_timeouts(request: Request) -> Response:
    application = found_application(request).application
    now_ms = services_of(request).clock.now_ms()
    return answer(request, {"timeouts": {"timeout": [timeout(application, now_ms)]}})


async def get_timeout(request: Request) -> Response:
    application = found_application(request).application
    _timeout_type(request.path_params["timeout_type"])
    return answer(request, {"timeout": timeout(application, services_of(request).clock.now_ms())})


async def put_timeout(request: Request) -> Response:
    absent = null_pointer("AppTimeoutInfo.getTimeoutType()", "appTimeout")
    services, user, body = await _change(request, "timeout", absent, is_wrapped=True)
    application = found_application(request).application
    kind, expires = scalar(body.get("type")), scalar(body.get("expiryTime", UNLIMITED))
    if kind != LIFETIME or expires is None:
        return answer_text(request, "Timeout type or ExpiryTime is null.", 400)
    may_modify = services.rights.may_modify(application, user)
    if may_modify and application.state in ACTIVE:
        _require_time(expires[:TEXT_LENGTH_MAX])
    asked = services.changes.set_timeouts(application.id, user, {LIFETIME: expires})
    done = await _changed(request, asked, f"change timeout of app {application.id}", user)
    if isinstance(done, Response):
        return done
    now_ms = services.clock.now_ms()
    return answer(request, {"timeout": timeout(found_application(request).application, now_ms)})


async def _change(
    request: Request, root: str, absent: RestError, *, is_wrapped: bool = False
) -> tuple[HadoopServices, str, dict[str, Any]]:
    """Return services, user and fields of the body of a change.  Raises ``absent`` when there is none, but 404 before
    that."""
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    body = await given(request, root, is_wrapped=is_wrapped)
    if body is None:
        found_application(request)
        raise absent
    return services, user, body


async def _changed(request: Request, asked: Awaitable[T], what: str, user: str) -> T | Response:
    """Return the result of a change, or its failure in RMWebServices' words.  Raises RestError."""
    try:
        return await asked
    except AccessDenied:
        return answer_text(request, f"Unauthorized attempt to {what} by remote user {user}", 403)
    except ApplicationNotFound as error:
        raise no_such_application(application_id(request)) from error
    except Refused as error:
        raise undeclared(str(error)) from error


def _integer(value: object) -> int:
    """A Java int, in text too, as MOXy converts it.  Raises RestError 400."""
    if isinstance(value, str) and INTEGER.fullmatch(value.strip()):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -INT_MAX - 1 <= value <= INT_MAX:
        raise malformed_body()
    return value


def _timeout_type(text: str) -> str:
    """Check the type in any case, as RMWebServices.parseTimeoutType; the message names another thing there too."""
    if text.strip().upper() != LIFETIME:
        raise bad_request(f"Invalid application-state {text.strip()[:128]} specified. It should be one of [{LIFETIME}]")
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
