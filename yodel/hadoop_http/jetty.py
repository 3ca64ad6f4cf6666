"""The servlet container's own answers below Hadoop's: for what no servlet knows and what a filter refuses."""

from __future__ import annotations

import html
import json

from starlette.requests import Request
from starlette.responses import Response

NO_STORE = {"Cache-Control": "must-revalidate,no-cache,no-store"}
SERVLET = "yodel"
EXPLAINED = ("GET", "POST", "HEAD")
_HTML = """<html>
<head>
<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>
<title>Error {status} {message}</title>
</head>
<body><h2>HTTP ERROR {status} {message}</h2>
<table>
<tr><th>URI:</th><td>{url}</td></tr>
<tr><th>STATUS:</th><td>{status}</td></tr>
<tr><th>MESSAGE:</th><td>{message}</td></tr>
<tr><th>SERVLET:</th><td>{servlet}</td></tr>
</table>

</body>
</html>
"""


def not_found(request: Request) -> Response:
    """Answer a path without a route."""
    url = request.scope.get("raw_path", b"").decode("ascii", "replace") or request.url.path
    return refused_by_filter(request.method, url, request.headers.get("accept", ""), 404, "Not Found")


def refused_by_filter(method: str, url: str, accept: str, status: int, message: str) -> Response:
    """``sendError`` for any method: only three of them are told why (ErrorHandler.errorPageForMethod)."""
    return error_page(url, accept, status, message) if method in EXPLAINED else Response(status_code=status)


def error_page(url: str, accept: str, status: int, message: str) -> Response:
    """Jetty's ErrorHandler, for what a filter refuses too: a page, JSON or text as asked for, else nothing."""
    for part in accept.split(",")[:16] if accept.strip() else ["text/html"]:
        match part.partition(";")[0].strip().lower():
            case "text/html" | "text/*" | "*/*":
                shown = {"url": html.escape(url), "status": status, "message": html.escape(message)}
                content = _HTML.format(**shown, servlet=SERVLET).encode("iso-8859-1", "xmlcharrefreplace")
                return Response(content, status, NO_STORE | {"Content-Type": "text/html;charset=iso-8859-1"})
            case "application/json" | "text/json":
                fields = {"servlet": SERVLET, "message": message, "url": url, "status": str(status)}
                lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in fields.items())
                return Response(f"{{\n{lines}\n}}", status, NO_STORE, media_type="application/json")
            case "text/plain":
                head = f"HTTP ERROR {status} {message}\nURI: {url}\nSTATUS: {status}\nMESSAGE: {message}\n"
                return Response(
                    f"{head}SERVLET: {SERVLET}\n", status, NO_STORE | {"Content-Type": "text/plain;charset=utf-8"}
                )
    return Response(status_code=status, headers=NO_STORE)
