"""The web proxy's HTTP half: fetch from an ApplicationMaster, stream back, and go nowhere else.

An AM's tracking URL is untrusted: whoever submits an application chooses it.  It is fetched only when its host is one
of those allowed (see ``proxy_hosts``), from an address that is judged (see ``proxy_addresses``) and the URL's own port,
whatever the path says; redirects are never followed, they are handed to the browser and rewritten when
they stay at the AM.  The caller's cookies and credentials stay here; the AM is told the user in the cookie its
AmIpFilter reads, and called from the address that filter expects (WebAppProxyServlet).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import httpx2
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from yodel.errors import InvalidValue, Unavailable
from yodel.hadoop_http.addresses import Resolve, resolved
from yodel.rm_api.door.caller import caller_in
from yodel.rm_api.door.filters import MARK
from yodel.rm_api.proxy.addresses import AddressRules
from yodel.rm_api.proxy.source import is_loopback, is_ours, source_address
from yodel.serving.sites import site_of
from yodel.telemetry.further_limits import (
    PROXY_ANSWER_BYTES,
    PROXY_FETCHES,
    PROXY_FETCHES_OF_ADDRESS,
    PROXY_FETCHES_OF_APPLICATION,
    PROXY_FETCHES_OF_CALLER,
)
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS

FETCHES_MAX = 64
"""At a time, over all applications: file descriptors are many others' as well."""
APPLICATION_FETCHES_MAX = 16
"""At a time for one application: a slow AM must not hold up the pages of all others.  A browser opens six."""
CALLER_FETCHES_MAX, ADDRESS_FETCHES_MAX = 16, 48
"""At a time for one caller, and for one address: names are only asserted in simple mode."""
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 60.0  # …proxy.connection.timeout: 60000 ms
FETCH_TIMEOUT_S = 600.0
"""A whole answer, however steadily it trickles: event logs are downloaded through here, streams have no end."""
ANSWER_BYTES_MAX = 4 * 1024**3
HEADERS_MAX = 100
PROXY_PATH, FAILURE_PATH, BOUNCED = "/proxy/", "/cluster/failure/", "/proxy/redirect/"
USER_COOKIE = "proxy-user"
DEFAULT_PORTS = {"http": 80, "https": 443}
NOT_PRIVATE = AddressRules(nodes=frozenset())
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


_OF_ORIGIN = frozenset(
    {
        *("set-cookie", "set-cookie2", "clear-site-data", "service-worker-allowed", "strict-transport-security"),
        *("alt-svc", "nel", "report-to", "reporting-endpoints", "accept-ch", "critical-ch", "origin-agent-cluster"),
        *("public-key-pins", "expect-ct", "p3p", "set-login", "activate-storage-access", "www-authenticate"),
    }
)
"""Headers that a browser keeps for an origin, or asks its user about for it.  Cookies do not go to the AM either."""
WORKER = "service-worker"
"""The request header with which a browser fetches a script that would stay between a page and its server."""


def is_of_origin(name: str) -> bool:
    """Return True for an answer's header, in lower case, that affects more than the answer."""
    return name in _OF_ORIGIN or name.startswith("access-control-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An AM's pages: where they are, and the path they have here (``/proxy/<application id>``)."""

    origin: str
    """``scheme://host:port``."""
    host: str
    base_path: str
    """The tracking URL's own path, without a slash at the end."""
    here: str
    port: int
    addresses: AddressRules

    @classmethod
    def of(
        cls, tracking_url: str, here: str, allowed_hosts: Collection[str], addresses: AddressRules = NOT_PRIVATE
    ) -> Target:
        """A tracking URL that may be fetched; one without a scheme is http.

        Raises:
            InvalidValue: not http(s), malformed, or on a host that is none of the cluster's.
        """
        parts = split_url(tracking_url)
        host = (parts.hostname or "").lower()
        if host not in {allowed.lower() for allowed in allowed_hosts}:
            raise InvalidValue("tracking URL", tracking_url[:200], "a host of this cluster")
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        base_path = parts.path.rstrip("/")
        return cls(origin=_origin(parts), host=host, base_path=base_path, here=here, port=port, addresses=addresses)

    def url(self, raw_rest: str, query: str) -> str:
        """Return the URL of a path below ``here``; ``raw_rest`` is percent-encoded as it came."""
        path = f"{self.base_path}/{raw_rest.lstrip('/')}"
        return f"{self.origin}{path}" + (f"?{query}" if query else "")

    def location(self, given: str) -> str:
        """A redirect of the AM as the browser has to follow it.

        An AM that bounces us has not taken us for its proxy: following would go round for ever (AmIpFilter).
        """
        try:
            parts = urlsplit(given)
            origin = _origin(parts)
        except ValueError:
            return self.here + "/"
        if parts.path.startswith(BOUNCED):
            return self.here.replace(PROXY_PATH, FAILURE_PATH, 1)
        if parts.scheme and origin == self.origin:
            given = urlunsplit(parts._replace(scheme="", netloc="")) or "/"
        if not given.startswith("/") or given.startswith("//"):
            return given
        if given == self.here or given.startswith((f"{self.here}/", f"{self.here}?")):
            return given
        if self.base_path and given.startswith(self.base_path):
            given = given[len(self.base_path) :] or "/"
        return self.here + given


class Streamed(StreamingResponse):
    """An answer on its way through, with other headers.  The connection and the slot are let go however the sending
    ends; ``whose`` names who answers."""

    def __init__(
        self, answer: httpx2.Response, headers: list[tuple[bytes, bytes]], let_go: Callable[[], None], whose: str
    ) -> None:
        super().__init__(_bounded(answer, whose), answer.status_code)
        self.raw_headers = headers
        self._answer, self._let_go, self._whose = answer, let_go, whose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                await super().__call__(scope, receive, send)
        except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
            # The head is sent: breaking the connection off is the only way left to say so.
            raise Unavailable(f"{self._whose} closed the connection early: {error!r}") from error
        finally:
            self._let_go()
            await self._answer.aclose()


Shares = Sequence[tuple[Limit, str, int]]
"""Each a limit, whose it is, and how many at a time."""


class Slots:
    """Fetches under way, by limit."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[Limit, str]] = Counter()

    def take(self, shares: Shares, request: Request) -> Callable[[], None]:
        """Take a place; return the function that frees it.  Raises Unavailable when there are too many."""
        for limit, whose, maximum in shares:
            held = self._taken[limit, whose]
            if held >= maximum:
                caller = f"{caller_in(request.scope).user or ''}@{site_in(request)}"
                REFUSALS.tell(limit, caller=caller, value=held + 1, maximum=maximum)
                raise Unavailable(f"Too many pages are being fetched: {limit.words(held + 1, maximum)}; try again")
        keys = [(limit, whose) for limit, whose, _ in shares]
        self._taken.update(keys)

        def release() -> None:
            self._taken.subtract(keys)
            for key in keys:
                if not self._taken[key]:
                    del self._taken[key]

        return release


def site_in(request: Request) -> str:
    """Return the address, or the network, of who calls; empty if it is unknown."""
    return site_of(request.client.host) if request.client else ""


def caller_share(request: Request) -> str:
    """Return whose share a request takes: its user's, or that of its address for callers without a name."""
    named = caller_in(request.scope).user
    return site_in(request) if named is None else f"user {named}"


class WebProxy:
    """HTTP clients for all applications, made when first needed; closed with the web side.

    ``web_host`` is the host of the RM's web address: where ApplicationMasters expect the proxy's calls from.
    """

    def __init__(
        self, client: httpx2.AsyncClient | None = None, *, web_host: str = "", resolve: Resolve | None = None
    ) -> None:
        self._web_host = web_host
        self._resolve = resolve or (resolved if client is None else None)
        self._clients: dict[str | None, httpx2.AsyncClient] = {} if client is None else {None: client}
        self._source: str | None = None
        self._is_source_known = client is not None
        self._slots = Slots()

    async def forward(self, request: Request, url: str, target: Target, user: str | None, body: bytes) -> Response:
        """The AM's answer, streamed.

        Raises:
            Unavailable: the AM does not answer, or too many fetches are under way.
        """
        shares = (
            (PROXY_FETCHES, "", FETCHES_MAX),
            (PROXY_FETCHES_OF_APPLICATION, target.here, APPLICATION_FETCHES_MAX),
            (PROXY_FETCHES_OF_CALLER, caller_share(request), CALLER_FETCHES_MAX),
            (PROXY_FETCHES_OF_ADDRESS, site_in(request), ADDRESS_FETCHES_MAX),
        )
        let_go = self._slots.take(shares, request)
        try:
            answer = await self.sent(request.method, url, target, _headers_to_am(request, user), body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            let_go()
            raise Unavailable(f"The ApplicationMaster at {target.origin} does not answer: {error!r}") from error
        except BaseException:
            let_go()
            raise
        return Streamed(answer, _headers_to_caller(answer, target), let_go, "The ApplicationMaster")

    async def sent(
        self, method: str, url: str, target: Target, headers: list[tuple[str, str]], body: bytes
    ) -> httpx2.Response:
        """Asked at the first of the target's addresses that can be connected to; no name is resolved behind here.

        Raises:
            InvalidValue, Unavailable: it has no address, or none that may be connected to.
            httpx2.HTTPError, httpx2.InvalidURL: none answers.
        """
        addresses: list[str | None] = [None]
        if self._resolve is not None:
            found = await self._resolve(target.host, target.port)
            addresses = [*target.addresses.allowed(target.host, found, target.port)]
        for number, address in enumerate(addresses, 1):
            client = self._client(await self._source_towards(address))
            outgoing = client.build_request(method, url, headers=headers, content=body or None)
            assert (outgoing.url.host, outgoing.url.port or DEFAULT_PORTS[outgoing.url.scheme]) == (
                target.host,
                target.port,
            ), "a path changed the host"
            if address is not None:
                outgoing.url = outgoing.url.copy_with(host=address)
                outgoing.extensions["sni_hostname"] = target.host
            try:
                return await client.send(outgoing, stream=True, follow_redirects=False)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("a host that is allowed has an address")

    async def close(self) -> None:
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()

    async def _source_towards(self, address: str | None) -> str | None:
        """Return the source address for a connection to ``address``; None: any."""
        if not self._is_source_known:
            self._source = await source_address(self._web_host) if self._web_host else None
            self._is_source_known = True
        if self._source is None or address is None:
            return self._source
        if (":" in self._source) != (":" in address) or (is_loopback(self._source) and not is_ours(address)):
            return None
        return self._source

    def _client(self, source: str | None) -> httpx2.AsyncClient:
        """One for each of the at most two addresses called from."""
        if source not in self._clients:
            limits = httpx2.Limits(max_connections=FETCHES_MAX, max_keepalive_connections=16)
            self._clients[source] = httpx2.AsyncClient(
                transport=httpx2.AsyncHTTPTransport(local_address=source, limits=limits, trust_env=False),
                timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                trust_env=False,
                follow_redirects=False,
            )
        return self._clients[source]


async def _bounded(answer: httpx2.Response, whose: str) -> AsyncIterator[bytes]:
    """Raises Unavailable past the maximum."""
    size = 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            REFUSALS.tell(PROXY_ANSWER_BYTES, caller=answer.url.host, value=size, maximum=ANSWER_BYTES_MAX)
            raise Unavailable(f"The answer of {whose}: {PROXY_ANSWER_BYTES.words(size, ANSWER_BYTES_MAX)}")
        yield part


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


def _origin(parts: SplitResult) -> str:
    """``scheme://host:port`` in one spelling.  Raises ValueError for a port that is none."""
    host = (parts.hostname or "").lower()
    default = DEFAULT_PORTS.get(parts.scheme)
    port = f":{parts.port}" if parts.port not in (None, default) else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _headers_to_am(request: Request, user: str | None) -> list[tuple[str, str]]:
    """A closed list; never the caller's cookies, which are the keys to this RM."""
    found = [(name, request.headers[name]) for name in _TO_AM if name in request.headers]
    if "accept-encoding" not in request.headers:
        # Else the HTTP client names its own, and the caller gets bytes it did not ask for.
        found.append(("accept-encoding", "identity"))
    found.append((MARK, "true"))
    if user is not None:
        found.append(("cookie", f"{USER_COOKIE}={quote(user, safe='')}"))
    return found


def _headers_to_caller(answer: httpx2.Response, target: Target) -> list[tuple[bytes, bytes]]:
    """All but those of the connection itself, and those that speak for the whole origin, which is not the AM's."""
    named = {name.strip().lower() for name in answer.headers.get("connection", "").split(",")}
    found: list[tuple[bytes, bytes]] = []
    for raw_name, value in answer.headers.raw[:HEADERS_MAX]:
        name = raw_name.decode("latin-1").lower()
        if name in _HOP_BY_HOP or name in named or is_of_origin(name):
            continue
        if name == "location":
            value = target.location(value.decode("latin-1")).encode("latin-1")
        found.append((name.encode("latin-1"), value))
    return found
