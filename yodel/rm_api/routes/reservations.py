"""``/reservation/…``, answered as a scheduler without a plan does: what is wrong with a body first, then that there is
no reservation system (yarn.resourcemanager.reservation-system.enable is false there).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.hadoop_http.errors import RestError, bad_request, illegal_argument, malformed_body
from yodel.hadoop_http.negotiate import require_acceptable
from yodel.rm_api.context import api_of
from yodel.rm_api.given import given, null_pointer, scalar
from yodel.rm_api.rim import reader, writer

NOT_ENABLED = "Reservation is not enabled. Please enable & try again"
INTERPRETERS = 4
"""R_ANY, R_ALL, R_ORDER, R_ORDER_NO_GAP: a body names one by its number."""
NO_NUMBER = "org.glassfish.jersey.server.ParamException$QueryParamException"
_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)


async def new(request: Request) -> Response:
    writer(request, api_of(request))
    require_acceptable(request)
    raise RestError(503, "org.apache.hadoop.yarn.exceptions.YarnRuntimeException", NOT_ENABLED)


async def submit(request: Request) -> Response:
    body = await _given(request, "reservation-submission-context")
    if body is None:
        raise bad_request("Input ReservationSubmissionContext should not be null")
    _check_requests(_definition(body))
    _refuse(body)


async def update(request: Request) -> Response:
    body = await _given(request, "reservation-update-context")
    if body is None:
        raise bad_request("Input ReservationSubmissionContext should not be null")
    requests = _definition(body)
    if body.get("reservation-id") is None:
        raise bad_request("Update operations must specify an existing ReservationId")
    _check_requests(requests)
    _refuse(body)


async def delete(request: Request) -> Response:
    body = await _given(request, "reservation-delete-context")
    if body is None:
        raise null_pointer("ReservationDeleteRequestInfo.getReservationId()", "resContext")
    _refuse(body)


async def listed(request: Request) -> Response:
    """A time that is no number is a path that is not there, says JAX-RS; Hadoop's handler of exceptions makes 503."""
    reader(request, api_of(request))
    require_acceptable(request)
    for name in ("start-time", "end-time"):
        text = request.query_params.get(name, "0")
        if _NUMBER.fullmatch(text) is None:
            raise RestError(503, NO_NUMBER, f'For input string: "{text[:128]}"')
    raise bad_request(NOT_ENABLED)


async def _given(request: Request, root: str) -> dict[str, Any] | None:
    api = api_of(request)
    writer(request, api)
    require_acceptable(request)
    return await given(request, api, root, is_wrapped=True)


def _definition(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The requests of a reservation's definition, at least one.  Raises RestError 400."""
    definition = body.get("reservation-definition")
    if not isinstance(definition, Mapping):
        raise bad_request("Input ReservationDefinition should not be null")
    requests = definition.get("reservation-requests")
    if not isinstance(requests, Mapping) or not requests.get("reservation-request"):
        raise bad_request("The ReservationDefinition should contain at least one ReservationRequest")
    return requests


def _check_requests(requests: Mapping[str, Any]) -> None:
    """What Java falls over: an interpreter that is none, a request without its size.  Raises RestError 400 or 503."""
    number = requests.get("reservation-request-interpreter", 0)
    if not isinstance(number, (int, str)) or not _NUMBER.fullmatch(str(number).strip()):
        raise malformed_body()
    if not 0 <= int(number) < INTERPRETERS:
        text = f"Index {int(number)} out of bounds for length {INTERPRETERS}"
        raise RestError(503, "java.lang.ArrayIndexOutOfBoundsException", text)
    items = requests["reservation-request"]
    for item in items if isinstance(items, list) else [items]:
        if not isinstance(item, Mapping):
            raise malformed_body()
        if not isinstance(item.get("capability"), Mapping):
            raise null_pointer("ResourceInfo.getMemorySize()", "rInfo")


def _refuse(body: Mapping[str, Any]) -> NoReturn:
    """ReservationId.parseReservationId, whose IOException comes out as 404; then the truth.  Raises RestError."""
    text = scalar(body.get("reservation-id"))
    if text is not None:
        require_reservation_id(text)
    raise bad_request(NOT_ENABLED)


def require_reservation_id(text: str) -> None:
    """Raises RestError 404 or 400, as Hadoop's parser and its handler of exceptions come to."""
    parts = text[:128].split("_")
    if not text.startswith("reservation_"):
        raise RestError(404, "java.io.IOException", f"The specified reservation id is invalid: {text[:128]}")
    if len(parts) != 3:
        raise RestError(404, "java.io.IOException", f"The specified reservation id is not parseable: {text[:128]}")
    for part in parts[1:]:
        if _NUMBER.fullmatch(part) is None:
            raise illegal_argument(f'For input string: "{part}"', "java.lang.NumberFormatException")


_BASE = "/ws/v1/cluster/reservation"
ROUTES = (
    Route(f"{_BASE}/new-reservation", new, methods=["POST"]),
    Route(f"{_BASE}/submit", submit, methods=["POST"]),
    Route(f"{_BASE}/update", update, methods=["POST"]),
    Route(f"{_BASE}/delete", delete, methods=["POST"]),
    Route(f"{_BASE}/list", listed),
)
