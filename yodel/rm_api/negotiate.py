"""Which representation a caller gets.  The one place that knows media types: XML comes in here and nowhere else."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from yodel.rm_api.errors import RestError, not_acceptable, unsupported_media_type

JSON = "application/json"
JSON_UTF8 = "application/json;charset=utf-8"
ACCEPT_LENGTH_MAX = 2048
_SERVED = frozenset({JSON, "application/*", "*/*"})
_encoder = msgspec.json.Encoder()

encode = _encoder.encode
"""Plain values to JSON bytes."""


def require_acceptable(request: Request) -> None:
    """Raises RestError 406 when the caller takes nothing that is served."""
    accept = request.headers.get("accept", "")
    if accept.strip() and not any(_is_served(part) for part in accept[:ACCEPT_LENGTH_MAX].split(",")):
        raise not_acceptable()


def require_json_body(request: Request) -> None:
    """Raises RestError 415 for a body declared as something else.  No declaration at all is read as JSON."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared and declared != JSON and not declared.endswith("+json"):
        raise unsupported_media_type()


def answer(request: Request, value: Any, status: int = 200, location: str | None = None) -> Response:
    """A value as the caller wants it."""
    require_acceptable(request)
    return answer_encoded(encode(value), status, location)


def answer_encoded(body: bytes, status: int = 200, location: str | None = None) -> Response:
    headers = {"Location": location} if location is not None else None
    return Response(body, status, headers, media_type=JSON_UTF8)


def answer_error(error: RestError) -> Response:
    """Errors are JSON whatever was asked for: a caller that cannot read it still sees the status."""
    return answer_encoded(encode(error.body), error.status)


def _is_served(part: str) -> bool:
    media_type, _, parameters = part.strip().lower().partition(";")
    refused = any(p.strip() in ("q=0", "q=0.0", "q=0.00", "q=0.000") for p in parameters.split(";"))
    return media_type.strip() in _SERVED and not refused
