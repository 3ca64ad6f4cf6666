"""Compression of the answers that are ours, as Jetty does it in front of Hadoop's."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

COMPRESSED_PREFIXES = ("/ws/", "/jmx", "/conf", "/prom", "/api/", "/stacks", "/logs")
"""Not what the proxy passes on: an application's page may be a stream that must not wait for a compressor."""
COMPRESSED_FROM_BYTES = 500
COMPRESSION_LEVEL = 4
"""Most of the gain for a quarter of the time: answers are repetitive JSON."""
_REFUSED = re.compile(r"\bgzip\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$)", re.IGNORECASE)


class Compressed:
    """gzip for who asks for it, on paths whose answers are ours.  Whoever names it looks as if they asked, so what is
    named only to be refused (``gzip;q=0``) is taken away: lists that compress themselves see that too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressing = GZipMiddleware(app, COMPRESSED_FROM_BYTES, COMPRESSION_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_ours = scope["type"] == "http" and scope["path"].startswith(COMPRESSED_PREFIXES)
        if is_ours and _REFUSED.search(Headers(scope=scope).get("accept-encoding", "")):
            kept = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            scope = {**scope, "headers": kept}
        await (self._compressing if is_ours else self._app)(scope, receive, send)
