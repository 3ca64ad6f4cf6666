"""Reading request bodies: never more than the maximum, never for longer than the deadline, JSON or XML.

A large body keeps its room until it is worked through, which is done a few at a time (``body_turns``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from yodel.errors import InvalidValue
from yodel.hadoop_http.errors import RestError, body_too_large, malformed_body, malformed_xml
from yodel.hadoop_http.negotiate import XML, declared_type
from yodel.rm_api.door.body_room import SMALL_BYTES
from yodel.rm_api.door.services import door_of
from yodel.rm_api.door.xml_bodies import ELEMENTS_MAX, TooMany, object_in_turns
from yodel.serving.sites import site_of
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS, REST_BODY_BYTES, REST_VALUES

READ_TIMEOUT_S = 60.0
"""For a whole body: a submission that takes longer to arrive holds a connection for nothing."""
JSON_VALUES_MAX = ELEMENTS_MAX
"""As many as XML may have elements: a list of empty lists takes twenty times its text in memory.  Their reading is one
call and takes 15 ms at most, as nothing of it can be bounded on the way."""


async def read_bytes(request: Request, bytes_max: int) -> bytes:
    """The body.

    Raises:
        RestError: 413 over the maximum, 408 when it does not arrive in time.
        Unavailable: all bodies that are being read are too large together.
    """
    with door_of(request).body_room.reading(_host(request)) as hold:
        return await _read(request, bytes_max, hold)


async def _read(request: Request, bytes_max: int, hold: Callable[[int], None]) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:19]) > bytes_max:
        raise _refused(request, REST_BODY_BYTES, int(declared[:19]), bytes_max)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            async for chunk in request.stream():
                size += len(chunk)
                if size > bytes_max:
                    raise _refused(request, REST_BODY_BYTES, size, bytes_max)
                hold(len(chunk))
                chunks.append(chunk)
    except (TimeoutError, ClientDisconnect) as error:
        raise RestError(408, "java.io.IOException", "The request's body did not arrive") from error
    return b"".join(chunks)


async def read_object(request: Request, bytes_max: int, root: str | None = None) -> dict[str, Any]:
    """A JSON object, or an XML document as the same object; ``root`` is the element that XML has to have.

    Raises:
        RestError: 415 for another media type, 413, 408, 400 for what is not an object.
        Unavailable: as ``read_bytes``, or others' large bodies take too long.
    """
    async with reading_object(request, bytes_max, root) as value:
        return value


@contextlib.asynccontextmanager
async def reading_object(request: Request, bytes_max: int, root: str | None = None) -> AsyncIterator[dict[str, Any]]:
    """Likewise, for who goes on working through it: its turn lasts as long.  Raises as ``read_object``."""
    door = door_of(request)
    is_xml = declared_type(request) == XML
    with door.body_room.reading(_host(request)) as hold:
        data = await _read(request, bytes_max, hold)
        if len(data) <= SMALL_BYTES:
            yield await _object(request, data, root, is_xml=is_xml)
            return
        async with door.body_turns.turn(site_of(_host(request))):
            yield await _object(request, data, root, is_xml=is_xml)


async def _object(request: Request, data: bytes, root: str | None, *, is_xml: bool) -> dict[str, Any]:
    try:
        value = await _document(data, root) if is_xml else _decoded(data)
    except TooMany as error:
        raise _refused(request, error.limit, error.count, error.maximum) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidValue) as error:
        raise (malformed_xml() if is_xml else malformed_body()) from error
    if not isinstance(value, dict):
        raise malformed_body()
    return value


async def _document(data: bytes, root: str | None) -> dict[str, Any]:
    turns = object_in_turns(data, root)
    while True:
        try:
            next(turns)
        except StopIteration as end:
            found: dict[str, Any] = end.value
            return found
        await asyncio.sleep(0)


def _refused(request: Request, limit: Limit, value: int, maximum: int) -> RestError:
    REFUSALS.tell(limit, caller=_host(request), value=value, maximum=maximum)
    return body_too_large(limit.name, value, maximum)


def _host(request: Request) -> str:
    return request.client.host if request.client else ""


def _decoded(data: bytes) -> Any:
    """Raises TooMany values; these marks count each of them, and more in texts."""
    if (count := sum(data.count(mark) for mark in (b",", b"[", b"{"))) > JSON_VALUES_MAX:
        raise TooMany(REST_VALUES, count, JSON_VALUES_MAX)
    return msgspec.json.decode(data)
