"""Answers of the node's web port: JSON or XML as it is asked for, refusals as Hadoop writes them, simple pages."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

LONG_MAX = 2**63 - 1
HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN"}
_PACKAGES = {
    "IllegalArgumentException": "java.lang.",
    "NumberFormatException": "java.lang.",
    "NotAllowedException": "javax.ws.rs.",
    "ServiceStateException": "org.apache.hadoop.service.",
}
_WEBAPP = "org.apache.hadoop.yarn.webapp."
_XML_CONTROLS = "\t\n\r"


class Problem(Exception):
    """A refusal on its way to the edge: status, simple Java class name, message."""

    def __init__(self, status: int, java_class: str, message: str) -> None:
        self.status, self.java_class, self.message = status, java_class, message
        super().__init__(message)


def answer(request: Request, root: str, content: Any, xml_list: str = "") -> Response:
    """``content`` below its element; as XML a list is the element repeated, within ``xml_list`` if there is one."""
    accept = request.headers.get("accept", "")
    if "application/xml" in accept and "application/json" not in accept:
        body, standalone = _xml(root, content), ""
        if xml_list:
            body, standalone = f"<{xml_list}>{body}</{xml_list}>", ' standalone="yes"'  # the JDK's JAXB writes these
        return Response(
            f'<?xml version="1.0" encoding="UTF-8"{standalone}?>{body}',
            headers=HEADERS,
            media_type="application/xml;charset=utf-8",
        )
    return JSONResponse({root: content}, headers={**HEADERS, "Content-Type": "application/json;charset=utf-8"})


async def problem_response(request: Request, problem: Exception) -> Response:
    """Starlette's handler for ``Problem``."""
    assert isinstance(problem, Problem)
    content = {
        "exception": problem.java_class,
        "message": problem.message,
        "javaClassName": _PACKAGES.get(problem.java_class, _WEBAPP) + problem.java_class,
    }
    response = answer(request, "RemoteException", content)
    response.status_code = problem.status
    return response


async def wrong_method(request: Request, error: Exception) -> Response:
    """Starlette's handler for 405, which tells what is right."""
    problem = Problem(405, "NotAllowedException", "HTTP 405 Method Not Allowed")
    response = await problem_response(request, problem)
    assert isinstance(error, HTTPException)
    response.headers.update(error.headers or {})
    return response


def integer(request: Request, name: str) -> int | None:
    """A number in the query.  Raises Problem."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return max(-LONG_MAX, min(int(text), LONG_MAX))
    except ValueError as error:
        raise Problem(400, "NumberFormatException", f'For input string: "{text[:50]}"') from error


def page(title: str, body: str) -> str:
    """``body`` is HTML already, the title is not."""
    escaped = html.escape(title)
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{escaped}</title></head><body>{body}</body></html>'


def _xml(name: str, value: Any) -> str:
    if value == {}:
        return f"<{name}/>"
    if isinstance(value, Mapping):
        return f"<{name}>{''.join(_xml(key, inner) for key, inner in value.items())}</{name}>"
    if isinstance(value, list):
        return "".join(_xml(name, inner) for inner in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escape(''.join(c if c in _XML_CONTROLS or ord(c) >= 32 else chr(0xFFFD) for c in text))}</{name}>"
