"""Chooses the representation of an answer: the one place that knows media types, and Jersey's rules of choice.

Both forms come from the same plain values.  Where bytes of JSON are kept already, the XML is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from yodel.hadoop_http import xml
from yodel.hadoop_http.errors import RestError, not_acceptable, unsupported_media_type

JSON, XML = "application/json", "application/xml"
JSON_UTF8, XML_UTF8 = f"{JSON};charset=utf-8", f"{XML};charset=utf-8"
SERVED = (JSON, XML)
"""In the order of preference when a caller has none."""
ACCEPT_LENGTH_MAX = 2048
_UNTYPED = frozenset({405, 406, 415})
"""Answers that Jersey gives before it has chosen a type: they name none."""
_encoder = msgspec.json.Encoder()

encode = _encoder.encode
"""Plain values to JSON bytes."""


def preferred(accept: str) -> str | None:
    """The media type of an Accept header's choice; None when it takes nothing that is served.

    As Jersey chooses: the highest quality, then what is named over a wildcard, then the caller's order, then ours.
    """
    if not accept.strip():
        return JSON
    best: tuple[int, int] | None = None
    found = None
    for part in accept[:ACCEPT_LENGTH_MAX].split(","):
        media_type, _, parameters = part.strip().lower().partition(";")
        quality = _quality(parameters)
        matched = _matched(media_type.strip())
        if matched is None or quality == 0:
            continue
        served, wildcards = matched
        rank = (quality, -wildcards)
        if best is None or rank > best:
            best, found = rank, served
    return found


def representation(request: Request) -> str:
    """``JSON`` or ``XML``.  Raises RestError 406 when the caller takes neither."""
    found = preferred(request.headers.get("accept", ""))
    if found is None:
        raise not_acceptable()
    return found


def require_acceptable(request: Request) -> None:
    """Raises RestError 406 when the caller takes nothing that is served."""
    representation(request)


def declared_type(request: Request) -> str:
    """Return ``JSON`` or ``XML`` for the declared type of a body; JSON without a body.  A body without a declaration
    does not come this far.

    Raises:\n  RestError: 415 for a body declared as something else.
    """
    header = request.headers.get("content-type")
    declared = JSON if header is None else header.partition(";")[0].strip().lower()
    if declared == JSON or declared.endswith("+json"):
        return JSON
    if declared == XML:
        return XML
    raise unsupported_media_type()


def answer(
    request: Request,
    value: Mapping[str, Any],
    status: int = 200,
    location: str | None = None,
    *,
    root: str | None = None,
) -> Response:
    """A value as the caller wants it; ``root`` is the XML's root element where the JSON has none (see ``xml``)."""
    if representation(request) == XML:
        return answer_typed(xml.document(value, root), XML_UTF8, status, location)
    return answer_encoded(encode(value), status, location)


def answer_rendered(request: Request, body: bytes, *, root: str | None = None) -> Response:
    """JSON that is rendered already, in the form that the caller wants."""
    if representation(request) == XML:
        return answer_typed(xml.document(msgspec.json.decode(body), root), XML_UTF8)
    return answer_encoded(body)


def answer_encoded(body: bytes, status: int = 200, location: str | None = None) -> Response:
    """JSON, whatever was asked for."""
    return answer_typed(body, JSON_UTF8, status, location)


def answer_error(error: RestError, accept: str = "") -> Response:
    """A RemoteException in the form that ``accept`` prefers.  JSON for who takes neither: they still see the status."""
    media_type = preferred(accept) or JSON
    body = xml.document(error.body) if media_type == XML else encode(error.body)
    if error.status in _UNTYPED:
        return Response(body, error.status)
    found = answer_typed(body, f"{media_type};charset=utf-8", error.status)
    found.headers.update(error.headers)
    return found


def answer_typed(body: bytes, media_type: str, status: int = 200, location: str | None = None) -> Response:
    """A body that is rendered as ``media_type`` already."""
    headers = {"Location": location} if location is not None else None
    return Response(body, status, headers, media_type=media_type)


def _matched(media_type: str) -> tuple[str, int] | None:
    """Return our media type in a range, and its number of wildcards.  A lone ``*`` is what Java's own client sends."""
    if media_type in SERVED:
        return media_type, 0
    if media_type == "application/*":
        return JSON, 1
    return (JSON, 2) if media_type in ("*/*", "*") else None


def _quality(parameters: str) -> int:
    """Return the quality in thousandths; one that cannot be read is ignored."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return max(0, min(1000, round(float(value) * 1000)))
            except (ValueError, OverflowError):
                return 1000
    return 1000
