"""Refuses ``/reservation/…``: there is no reservation system (yarn.resourcemanager.reservation-system.enable)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.hadoop_http.errors import RestError, bad_request
from yodel.hadoop_http.negotiate import require_acceptable
from yodel.rm_api.door.rim import reader, writer

NOT_ENABLED = "Reservation is not enabled. Please enable & try again"
_BASE = "/ws/v1/cluster/reservation"


async def refuse(request: Request) -> Response:
    (reader if request.method == "GET" else writer)(request)
    require_acceptable(request)
    if request.url.path.endswith("/new-reservation"):
        raise RestError(503, "org.apache.hadoop.yarn.exceptions.YarnRuntimeException", NOT_ENABLED)
    raise bad_request(NOT_ENABLED)


ROUTES = (
    *(Route(f"{_BASE}/{what}", refuse, methods=["POST"]) for what in ("new-reservation", "submit", "update", "delete")),
    Route(f"{_BASE}/list", refuse),
)
