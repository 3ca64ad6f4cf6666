"""``/scheduler-conf``: the scheduler's configuration read, judged, changed and put back; ``/scheduler/logs``.

Answers to changes and refusals are plain text under the type that was asked for, as Hadoop's are.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.queues.bounds import OutOfBounds
from yodel.domain.scheduler_conf import ConfUpdate
from yodel.errors import AccessDenied, InvalidQueues, QueuesInUse, Refused, YodelError
from yodel.hadoop_http.errors import RestError, bad_request, forbidden, illegal_argument
from yodel.hadoop_http.long_answers import answer_many
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.rm_api.door.admin_network import administrative
from yodel.rm_api.door.bodies import read_bytes, read_object
from yodel.rm_api.door.rim import reader, writer
from yodel.rm_api.door.services import door_of
from yodel.rm_api.hadoop.given import answer_text, is_given
from yodel.rm_api.hadoop.services import HadoopServices, services_of
from yodel.rm_api.hadoop.wire import scheduler_conf as wire

BODY_BYTES_MAX = 4 * 1024 * 1024
FORM_BYTES_MAX = 4096
LOGS_MAX_S = 3600
ONLY_ADMINS = "Only admins can carry out this operation."
NO_UPDATE = (
    'Cannot invoke "org.apache.hadoop.yarn.webapp.dao.SchedConfUpdateInfo.getRemoveQueueInfo()" '
    'because "mutationInfo" is null'
)
CHANGED = "Configuration change successfully applied."
FORMATTED = "Configuration under store successfully formatted."
INVALID = "CapacityScheduler configuration validation failed:java.io.IOException: "
LOGS_MADE = "Capacity scheduler logs are being created."
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


async def get(request: Request) -> Response:
    services = services_of(request)
    _require_admin(services, reader(request))
    _, found = await services.scheduler_conf.read()
    return await answer_many(request, wire.properties(found))


async def version(request: Request) -> Response:
    services = services_of(request)
    _require_admin(services, reader(request))
    return answer(request, wire.version(services.scheduler_conf.version))


async def put(request: Request) -> Response:
    services = services_of(request)
    user = writer(request)
    _require_admin(services, user)
    require_acceptable(request)
    if not is_given(request):
        raise RestError(HTTPStatus.SERVICE_UNAVAILABLE, "java.lang.NullPointerException", NO_UPDATE)
    try:
        services.scheduler_conf.require_administrator(user)
        await services.scheduler_conf.update(user, await _update(request, services))
    except (Refused, AccessDenied) as error:
        return answer_text(request, _words(error), HTTPStatus.BAD_REQUEST)
    return answer_text(request, CHANGED)


async def validate(request: Request) -> Response:
    """Answer the configuration that would result from the change; nothing is changed."""
    services = services_of(request)
    user = writer(request)
    _require_admin(services, user)
    require_acceptable(request)
    try:
        services.scheduler_conf.require_administrator(user)
        found = await services.scheduler_conf.validated(await _update(request, services))
    except AccessDenied as error:
        return answer_text(request, str(error), HTTPStatus.BAD_REQUEST)
    except Refused as error:
        return answer_text(request, INVALID + _words(error), HTTPStatus.BAD_REQUEST)
    return await answer_many(request, wire.properties(found))


async def format_(request: Request) -> Response:
    """A GET that changes something, as in Hadoop: so it takes who may write."""
    services = services_of(request)
    user = writer(request)
    _require_admin(services, user)
    require_acceptable(request)
    try:
        await services.scheduler_conf.format(user)
    except (Refused, AccessDenied) as error:
        return answer_text(request, _words(error), HTTPStatus.BAD_REQUEST)
    return answer_text(request, FORMATTED)


async def logs(request: Request) -> Response:
    """Log for so many seconds what each scheduling cycle could not serve, and why."""
    services = services_of(request)
    _require_admin(services, writer(request))
    require_acceptable(request)
    body = await read_bytes(request, FORM_BYTES_MAX)
    text = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True)).get("time")
    if text is None or _INTEGER.fullmatch(text) is None:
        said = "Cannot parse null string: null" if text is None else f'For input string: "{text[:80]}"'
        raise illegal_argument(said, "java.lang.NumberFormatException")
    if int(text) <= 0:
        raise bad_request("Period must be greater than 0")
    services.activities.log_for(min(int(text), LOGS_MAX_S))
    return answer_text(request, LOGS_MADE)


def _words(error: YodelError) -> str:
    """Return the error as CapacityScheduler.reinitialize reports an error in the queues."""
    is_of_queues = isinstance(error, InvalidQueues | QueuesInUse) and not isinstance(error, OutOfBounds)
    return f"Failed to re-init queues : {error}" if is_of_queues else str(error)


async def _update(request: Request, services: HadoopServices) -> ConfUpdate:
    bytes_max = min(BODY_BYTES_MAX, door_of(request).rules.body_bytes_max)
    return wire.update(await read_object(request, bytes_max, wire.ROOT))


def _require_admin(services: HadoopServices, user: str) -> None:
    """Check the right to administer, if yarn.acl.enable is on (RMWebServices.initForWritableEndpoints)."""
    service = services.scheduler_conf
    if service.are_acls_enabled and not service.is_admin(user):
        raise forbidden(ONLY_ADMINS)


_CONF = "/ws/v1/cluster/scheduler-conf"
ROUTES = (
    Route(_CONF, get),
    Route(_CONF, administrative(put), methods=["PUT"]),
    Route(f"{_CONF}/validate", administrative(validate), methods=["POST"]),
    Route(f"{_CONF}/version", version),
    Route(f"{_CONF}/format", administrative(format_)),
    Route("/ws/v1/cluster/scheduler/logs", administrative(logs), methods=["POST"]),
)
