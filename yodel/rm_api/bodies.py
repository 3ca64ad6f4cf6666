"""Reading request bodies: never more than the maximum, never for longer than the deadline, JSON or XML."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from yodel.errors import InvalidValue
from yodel.rm_api.context import api_of
from yodel.rm_api.xml_bodies import parse_object
from yodel.rpc_io.rest.errors import RestError, body_too_large, malformed_body, malformed_xml
from yodel.rpc_io.rest.negotiate import XML, declared_type

READ_TIMEOUT_S = 60.0
"""For a whole body: a submission that takes longer to arrive holds a connection for nothing."""
JSON_VALUES_MAX = 200_000
"""As many as XML may have elements: a list of empty lists takes twenty times its text in memory."""


async def read_bytes(request: Request, bytes_max: int) -> bytes:
    """The body.

    Raises:
        RestError: 413 over the maximum, 408 when it does not arrive in time.
        Unavailable: all bodies that are being read are too large together.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise body_too_large(bytes_max)
    chunks: list[bytes] = []
    size = 0
    try:
        with api_of(request).body_room.reading() as hold:
            async with asyncio.timeout(READ_TIMEOUT_S):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > bytes_max:
                        raise body_too_large(bytes_max)
                    hold(len(chunk))
                    chunks.append(chunk)
    except (TimeoutError, ClientDisconnect) as error:
        raise RestError(408, "java.io.IOException", "The request's body did not arrive") from error
    return b"".join(chunks)


async def read_object(request: Request, bytes_max: int, root: str | None = None) -> dict[str, Any]:
    """A JSON object, or an XML document as the same object; ``root`` is the element that XML has to have.

    Raises:
        RestError: 415 for another media type, 413, 408, 400 for what is not an object.
    """
    is_xml = declared_type(request) == XML
    data = await read_bytes(request, bytes_max)
    try:
        value = parse_object(data, root) if is_xml else _decoded(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidValue) as error:
        raise (malformed_xml() if is_xml else malformed_body()) from error
    if not isinstance(value, dict):
        raise malformed_body()
    return value


def _decoded(data: bytes) -> Any:
    """Raises InvalidValue for what has too many values; these marks count each of them, and more in texts."""
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > JSON_VALUES_MAX:
        raise InvalidValue("body", "too many values", f"at most {JSON_VALUES_MAX}")
    return msgspec.json.decode(data)
