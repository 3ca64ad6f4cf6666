"""The web proxy's HTTP half: fetch from an ApplicationMaster, stream back, and go nowhere else.

An AM's tracking URL is untrusted: whoever submits an application chooses it.  It is fetched only when its host is a
node of this cluster or the host the AM registered with; redirects are never followed, they are handed to the browser
and rewritten when they stay at the AM.  The caller's cookies and credentials stay here; the AM is told the user in the
cookie its AmIpFilter reads (WebAppProxyServlet).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

import httpx2
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from yodel.errors import InvalidValue, Unavailable

FETCHES_MAX = 64
"""At a time, over all applications: one slow AM must not hold every file descriptor."""
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 60.0  # …proxy.connection.timeout: 60000 ms
HEADERS_MAX = 100
PROXY_PATH, FAILURE_PATH, BOUNCED = "/proxy/", "/cluster/failure/", "/proxy/redirect/"
USER_COOKIE = "proxy-user"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
"""Hadoop's own proxy knows GET and PUT only, which Flink's and Spark's pages have outgrown."""

_TO_AM = (
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "accept-charset",
    "content-type",
    "origin",
    "range",
    "if-modified-since",
    "if-none-match",
    "access-control-request-method",
    "access-control-request-headers",
    "x-requested-with",
)
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "server",
        "date",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An AM's pages: where they are, and the path they have here (``/proxy/<application id>``)."""

    origin: str
    """``scheme://host:port``."""
    base_path: str
    """The tracking URL's own path, without a slash at the end."""
    here: str

    @classmethod
    def of(cls, tracking_url: str, here: str, allowed_hosts: Collection[str]) -> Target:
        """A tracking URL that may be fetched; one without a scheme is http.

        Raises:
            InvalidValue: not http(s), malformed, or on a host that is none of the cluster's.
        """
        parts = split_url(tracking_url)
        host = (parts.hostname or "").lower()
        if host not in {allowed.lower() for allowed in allowed_hosts}:
            raise InvalidValue("tracking URL", tracking_url[:200], "a host of this cluster")
        port = f":{parts.port}" if parts.port is not None else ""
        shown_host = f"[{host}]" if ":" in host else host
        return cls(origin=f"{parts.scheme}://{shown_host}{port}", base_path=parts.path.rstrip("/"), here=here)

    def url(self, raw_rest: str, query: str) -> str:
        """Where a path below ``here`` is fetched; ``raw_rest`` is percent-encoded as it came."""
        path = f"{self.base_path}/{raw_rest.lstrip('/')}"
        return f"{self.origin}{path}" + (f"?{query}" if query else "")

    def location(self, given: str) -> str:
        """A redirect of the AM as the browser has to follow it.

        An AM that bounces us has not taken us for its proxy: following would go round for ever (AmIpFilter).
        """
        if urlsplit(given).path.startswith(BOUNCED):
            return self.here.replace(PROXY_PATH, FAILURE_PATH, 1)
        if given.startswith(self.origin):
            given = given[len(self.origin) :] or "/"
        if not given.startswith("/") or given.startswith("//"):
            return given
        if given == self.here or given.startswith((f"{self.here}/", f"{self.here}?")):
            return given
        if self.base_path and given.startswith(self.base_path):
            given = given[len(self.base_path) :] or "/"
        return self.here + given


class _Streamed(StreamingResponse):
    """An answer on its way through.  The connection and the slot are let go however the sending ends."""

    def __init__(self, answer: httpx2.Response, target: Target, slots: asyncio.Semaphore) -> None:
        super().__init__(answer.aiter_raw(), answer.status_code)
        self.raw_headers = _headers_to_caller(answer, target)
        self._answer, self._slots = answer, slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            # The head is sent: breaking the connection off is the only way left to say so.
            raise Unavailable(f"The ApplicationMaster broke off: {error!r}") from error
        finally:
            self._slots.release()
            await self._answer.aclose()


class WebProxy:
    """One HTTP client for all applications, made when first needed; closed with the application."""

    def __init__(self, client: httpx2.AsyncClient | None = None) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(FETCHES_MAX)

    async def forward(self, request: Request, url: str, target: Target, user: str | None, body: bytes) -> Response:
        """The AM's answer, streamed.

        Raises:
            Unavailable: the AM does not answer, or too many fetches are under way.
        """
        if self._slots.locked():
            raise Unavailable(f"{FETCHES_MAX} pages are being fetched already")
        await self._slots.acquire()
        try:
            outgoing = self._opened().build_request(
                request.method, url, headers=_headers_to_am(request, user), content=body or None
            )
            answer = await self._opened().send(outgoing, stream=True, follow_redirects=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            self._slots.release()
            raise Unavailable(f"The ApplicationMaster at {target.origin} does not answer: {error!r}") from error
        except BaseException:
            self._slots.release()
            raise

        return _Streamed(answer, target, self._slots)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                limits=httpx2.Limits(max_connections=FETCHES_MAX, max_keepalive_connections=16),
                trust_env=False,
                follow_redirects=False,
            )
        return self._client


def split_url(tracking_url: str) -> SplitResult:
    """The parts of a tracking URL; without a scheme it is http, as the AM's host and port often come.

    Raises:
        InvalidValue: not http(s), or malformed.
    """
    text = tracking_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InvalidValue("tracking URL", tracking_url[:200], "an http or https URL") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not text.isprintable():
        raise InvalidValue("tracking URL", tracking_url[:200], "an http or https URL")
    return parts


def _headers_to_am(request: Request, user: str | None) -> list[tuple[str, str]]:
    """A closed list; never the caller's cookies, which are the keys to this RM."""
    found = [(name, request.headers[name]) for name in _TO_AM if name in request.headers]
    if user is not None:
        found.append(("cookie", f"{USER_COOKIE}={quote(user, safe='')}"))
    return found


def _headers_to_caller(answer: httpx2.Response, target: Target) -> list[tuple[bytes, bytes]]:
    """All but those of the connection itself; an AM must not set the cookie that names users here."""
    named = {name.strip().lower() for name in answer.headers.get("connection", "").split(",")}
    found: list[tuple[bytes, bytes]] = []
    for raw_name, value in answer.headers.raw[:HEADERS_MAX]:
        name = raw_name.decode("latin-1").lower()
        if name in _HOP_BY_HOP or name in named or (name == "set-cookie" and b"hadoop.auth" in value):
            continue
        if name == "location":
            value = target.location(value.decode("latin-1")).encode("latin-1")
        found.append((name.encode("latin-1"), value))
    return found
