"""Reads the body of a change, and writes answers that are texts.

Hadoop's resources get null for a call without a body and fail on it, each with its own message; and some of their
refusals are bare texts that are declared as JSON or XML.  Clients show both, so both are answered.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from yodel.hadoop_http.errors import RestError, malformed_body
from yodel.hadoop_http.negotiate import JSON_UTF8, XML, XML_UTF8, declared_type, representation
from yodel.rm_api.door.bodies import read_object
from yodel.rm_api.door.services import door_of

DAO = "org.apache.hadoop.yarn.server.resourcemanager.webapp.dao."


async def given(request: Request, root: str, *, is_wrapped: bool = False) -> dict[str, Any] | None:
    """The body's fields; None for a call that has no body at all.

    ``is_wrapped`` is for the classes of Hadoop's IncludeRootJSONProvider, whose JSON has the root element that XML
    always has: without it they are empty, and an empty object is none.

    Raises:
        RestError: as ``read_object``.
    """
    if not is_given(request):
        return None
    body = await read_object(request, door_of(request).rules.body_bytes_max, root)
    inner = body.get(root)
    if declared_type(request) == XML:
        return inner if isinstance(inner, dict) else body
    if not is_wrapped:
        return body
    if not body:
        return None
    return inner if isinstance(inner, dict) else {}


def scalar(value: object) -> str | None:
    """A field of text; a number is what it looks like.  Raises RestError 400 for an object or a list."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (int, float)):
        raise malformed_body()
    return str(value)


def is_given(request: Request) -> bool:
    """Return True if there is a body; an empty one with a declared type is malformed."""
    headers = request.headers
    return "content-type" in headers or headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def null_pointer(method: str, variable: str) -> RestError:
    """Java's words for a bean that is not there; ``method`` with the bean's class."""
    text = f'Cannot invoke "{DAO}{method}" because "{variable}" is null'
    return RestError(503, "java.lang.NullPointerException", text)


def answer_text(request: Request, text: str, status: int = 200) -> Response:
    """A bare text under the media type of the representation that was asked for, as Hadoop sends it."""
    return Response(text, status, media_type=XML_UTF8 if representation(request) == XML else JSON_UTF8)
