"""What every answer of the node's web port has around it: one spelling of paths, OPTIONS, headers for browsers.

A plain ASGI shell: logs stream through it untouched.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.domain.cross_origin import CrossOriginRules

REST_PREFIX = "/ws/v1/"
ALWAYS = (
    ("Cache-Control", "no-cache"),
    ("Pragma", "no-cache"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-XSS-Protection", "1; mode=block"),
)
ALLOWED = "GET, HEAD, OPTIONS"


class WebRim:
    """Wraps the application.  Without ``cross_origin`` no other site's page may read an answer."""

    def __init__(self, app: ASGIApp, *, cross_origin: CrossOriginRules | None, frame_options: str) -> None:
        self._app, self._cross_origin, self._frame_options = app, cross_origin, frame_options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = self._cross_origin_headers(Headers(scope=scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS:
                    headers.setdefault(name, value)
                headers["X-Frame-Options"] = self._frame_options
                for name, value in added:
                    headers.append(name, value)
            await send(message)

        if scope["method"] == "OPTIONS":  # the command line asks with it whether it must authenticate
            await Response(headers={"Allow": ALLOWED})(scope, receive, send_with_headers)
            return
        if scope["path"].startswith(REST_PREFIX):
            scope = {**scope, "path": scope["path"].rstrip("/")}
        await self._app(scope, receive, send_with_headers)

    def _cross_origin_headers(self, headers: Headers) -> tuple[tuple[str, str], ...]:
        if self._cross_origin is None or "origin" not in headers:
            return ()
        asked = (headers.get("access-control-request-method"), headers.get("access-control-request-headers"))
        return self._cross_origin.headers_for(headers["origin"], *asked)
