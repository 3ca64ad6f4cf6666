"""Applications' pages on an origin of their own: another port, or another name, than the ResourceManager's.

A browser lets the scripts of a page call everything of the page's own origin, in the viewer's name.  Whoever submits an
application writes its pages; kept apart, they can neither read the API (no answer names their origin) nor change
anything by it (``own_pages``).  The ResourceManager's port sends who asks for such a page there, and the port of the
pages serves nothing else but the pictures that such pages name (``pictures``).  Hadoop's form of this is a proxy
server of its own (``yarn.web-proxy.address``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from yodel.domain.browser_rules import host_of
from yodel.rm_api.proxy import pictures

PROXIED = "/proxy/"
PAGES = ("/cluster",)
"""The paths that pages of applications link to and may send their readers back to."""
READING = ("GET", "HEAD")
NOTHING_HERE = (
    "This address serves only applications' pages, below /proxy/; for anything else use the ResourceManager's."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxiedOrigin:
    """``port`` is listened on; 0 is any free one.  ``address`` is ``host[:port]`` as browsers reach it, empty for the
    name that they call the ResourceManager by.  On the ResourceManager's own port the address's name tells."""

    port: int
    address: str = ""

    def bound_to(self, port: int) -> ProxiedOrigin:
        return replace(self, port=port)

    def is_asked(self, scope: Scope, headers: Headers, web_port: int) -> bool:
        """Return True if a request is for this origin, and not for the ResourceManager's."""
        if self.port == web_port:
            return host_of(headers.get("host", "")) == host_of(self.address)
        server = scope.get("server")
        return server is not None and server[1] == self.port

    def authority(self, headers: Headers) -> str:
        return self.address or f"{_name(headers)}:{self.port}"


class OriginSplit:
    """Wraps the application.  ``origins`` tells the origin of the pages, or None, and the ResourceManager's address."""

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        proxied = self._origins.proxied
        answer = None if proxied is None or scope["type"] != "http" else self._sent_on(scope, proxied)
        await (self._app if answer is None else answer)(scope, receive, send)

    def _sent_on(self, scope: Scope, proxied: ProxiedOrigin) -> Response | None:
        """None for what is served where it is asked."""
        headers, path = Headers(scope=scope), scope["path"]
        web_host, _, web_port = self._origins.web_address.rpartition(":")
        is_page = path.startswith(PROXIED)
        if not proxied.is_asked(scope, headers, int(web_port)):
            return _moved(scope, proxied.authority(headers)) if is_page else None
        is_reading = scope["method"] in READING
        if is_page or (is_reading and path in pictures.PATHS):
            return None
        if not is_reading or not path.startswith(PAGES):
            return PlainTextResponse(NOTHING_HERE, 404)
        return _moved(scope, f"{web_host if proxied.address else _name(headers)}:{web_port}")


@dataclass(slots=True)
class Origins:
    """Holds the origins with their bound ports."""

    web_address: str
    """Host and port of the ResourceManager's pages."""
    proxied: ProxiedOrigin | None
    web_ports: frozenset[int] = frozenset()

    @property
    def proxied_port(self) -> int | None:
        """Return the proxy's own port, if it has one besides the ResourceManager's."""
        web_port = int(self.web_address.rpartition(":")[2])
        proxied = self.proxied
        return None if proxied is None or (proxied.port == web_port and proxied.port) else proxied.port

    def bound_to(self, port: int, proxied_port: int | None = None) -> None:
        """The ports listened on, for addresses that were given with port 0."""
        self.web_ports = frozenset({port} if proxied_port is None else {port, proxied_port})
        host, _, given = self.web_address.rpartition(":")
        if given == "0":
            self.web_address = f"{host}:{port}"
        if proxied_port is not None and self.proxied is not None:
            self.proxied = self.proxied.bound_to(proxied_port)


def _moved(scope: Scope, authority: str) -> Response:
    """The same path and query there, as they came; a change stays what it is."""
    raw = scope.get("raw_path") or scope["path"].encode()
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    target = (raw.partition(b"?")[0] + query).decode("latin-1")
    status = 302 if scope["method"] in READING else 307
    return RedirectResponse(f"{scope.get('scheme', 'http')}://{authority}{target}", status)


def _name(headers: Headers) -> str:
    host = host_of(headers.get("host", ""))
    return f"[{host}]" if ":" in host else host
