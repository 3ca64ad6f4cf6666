"""Wraps every answer of the node's web port: authentication, one spelling of paths, headers for browsers.

A call of the ResourceManager for one of its users proves itself (``node_calls``).  Of others ``user.name`` is believed
without Kerberos, and the cookie that follows it, as AuthenticationFilter does; a cookie comes first.  With Kerberos
nobody is: tickets are not judged here, and an agent takes no delegation tokens, as a NodeManager.  Nobody in particular
is refused before any route, where names are needed.  A plain ASGI shell: logs stream through it untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.domain import browser_rules
from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.errors import InvalidValue, YodelError
from yodel.hadoop_http.added_headers import add_headers
from yodel.hadoop_http.errors import RestError, bad_request, forbidden
from yodel.hadoop_http.jetty import refused_by_filter
from yodel.hadoop_http.negotiate import answer_error
from yodel.serving.http_cookie import CookieSigner, checked_user
from yodel.serving.node_calls import HEADER, CallJudge
from yodel.telemetry.further_limits import REST_QUERY_FIELDS
from yodel.telemetry.limits import REFUSALS

ALWAYS = (
    ("Cache-Control", "no-cache"),
    ("Pragma", "no-cache"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-XSS-Protection", "1; mode=block"),
)
OPEN_PATH = "/ws/v1/node/info"
"""The path that Kubernetes' probes, which have no name, ask for: it tells what the node is, and nothing of its work."""
ALLOWED = "GET, HEAD, OPTIONS"
CALLS = ("GET", "HEAD")
"""Methods of the ResourceManager's calls for its users: it reads logs."""
QUERY_FIELDS_MAX = 1000
_CALLER = "yodel.caller"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RimSettings:
    """``authentication`` is hadoop.http.authentication.type, ``anonymous_allowed`` ….simple.anonymous.allowed.

    Without ``cross_origin`` no other site's page may read an answer, without ``frame_options`` nothing is said of
    frames.  ``now_ms`` is of the epoch.  ``host_names`` are the names that lead here, where a browser that comes by
    another one is refused (DNS rebinding); without them every name is good.
    """

    signer: CookieSigner
    now_ms: Callable[[], int]
    authentication: Literal["simple", "kerberos"] = "simple"
    anonymous_allowed: bool = True
    cross_origin: CrossOriginRules | None = None
    frame_options: str = "SAMEORIGIN"
    host_names: HostNames | None = None
    calls: CallJudge | None = None
    """Judges calls of the ResourceManager for its users; None: no secret is shared, and they are refused."""


class NotAuthenticated(YodelError):
    """Nobody who may call.  The challenge says how to try again."""

    def __init__(self, message: str, challenge: str) -> None:
        self.challenge = challenge
        super().__init__(message)


class WebRim:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, settings: RimSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope)
        added = list(self._cross_origin_headers(sent))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS:
                    headers.setdefault(name, value)
                if self._settings.frame_options:
                    headers["X-Frame-Options"] = self._settings.frame_options
                add_headers(headers, added)
            await send(message)

        path = scope["path"].rstrip("/") or "/"
        try:
            self._judge_name(sent)
            caller, cookie = self._caller(scope, sent)
            if not caller and path != OPEN_PATH:
                self._admit_nobody()
        except (InvalidValue, ValueError, RestError) as error:
            told = error if isinstance(error, RestError) else bad_request(str(error))
            refusal = answer_error(told, sent.get("accept", ""))
            await refusal(scope, receive, send_with_headers)
            return
        except NotAuthenticated as error:
            page = refused_by_filter(scope["method"], scope["path"], sent.get("accept", ""), 401, str(error))
            page.headers["Set-Cookie"] = self._settings.signer.cleared()
            page.headers["WWW-Authenticate"] = error.challenge
            await page(scope, receive, send_with_headers)
            return
        if cookie:
            added.append(("Set-Cookie", cookie))
        if scope["method"] == "OPTIONS":  # Hadoop's clients give their name with it, before they ask for anything
            await Response(headers={"Allow": ALLOWED})(scope, receive, send_with_headers)
            return
        await self._app({**scope, "path": path, _CALLER: caller}, receive, send_with_headers)

    def _judge_name(self, headers: Headers) -> None:
        """Raises RestError: a browser was led here by a name that is none of ours."""
        known, host = self._settings.host_names, headers.get("host", "")
        if known is None or not browser_rules.is_browser(headers) or known.knows(host):
            return
        own = " or ".join(("localhost", *sorted(known.names)))
        raise forbidden(f"Host {browser_rules.shown(host)} is not a name of this node; expected an address, {own}")

    def _caller(self, scope: Scope, headers: Headers) -> tuple[str, str]:
        """A name, empty for nobody's, and the cookie to answer with.  Raises InvalidValue, ValueError."""
        settings = self._settings
        if (call := headers.get(HEADER)) is not None:
            return self._called_for(scope, call), ""
        known = settings.signer.user_in(headers.get("cookie", ""), settings.now_ms())
        if known is not None or settings.authentication == "kerberos" or b"user" not in scope["query_string"]:
            return known or "", ""
        for name, value in _fields(scope):
            if name == "user.name":
                user = checked_user("user.name", value)
                return user, settings.signer.issue(user, settings.now_ms())
        return "", ""

    def _called_for(self, scope: Scope, call: str) -> str:
        """Return the user for whom the ResourceManager calls, with Kerberos too.  Raises NotAuthenticated."""
        path, query = bytes(scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0], scope["query_string"]
        target = (path + (b"?" + query if query else b"")).decode("latin-1")
        try:
            if self._settings.calls is None:
                raise InvalidValue(HEADER, "<HMAC>", "none: this node has no node token (node_token_file)")
            if scope["method"] not in CALLS:
                raise InvalidValue("method", scope["method"], "GET or HEAD")
            return self._settings.calls.user_of(scope["method"], target, call)
        except InvalidValue as error:
            log.warning("call_refused", path=scope["path"][:200], reason=str(error))
            raise NotAuthenticated(str(error), "YodelCall") from error

    def _admit_nobody(self) -> None:
        """Raises Unauthenticated: callers have to be somebody."""
        if self._settings.authentication == "kerberos":
            text = (
                "Authentication required: user names alone are not accepted, and Kerberos tickets are not supported "
                "here yet"
            )
            raise NotAuthenticated(text, "Negotiate")
        if not self._settings.anonymous_allowed:
            raise NotAuthenticated("Authentication required", "PseudoAuth")

    def _cross_origin_headers(self, headers: Headers) -> tuple[tuple[str, str], ...]:
        rules = self._settings.cross_origin
        if rules is None or "origin" not in headers:
            return ()
        asked = (headers.get("access-control-request-method"), headers.get("access-control-request-headers"))
        return rules.headers_for(headers["origin"], *asked)


def _fields(scope: Scope) -> list[tuple[str, str]]:
    """Raises InvalidValue: there are too many."""
    query = scope["query_string"]
    if (count := query.count(b"&") + 1) > QUERY_FIELDS_MAX:
        client = scope.get("client")
        REFUSALS.tell(REST_QUERY_FIELDS, caller=client[0] if client else "", value=count, maximum=QUERY_FIELDS_MAX)
        words = REST_QUERY_FIELDS.words(count, QUERY_FIELDS_MAX)
        raise InvalidValue("query", f"<{len(query)} bytes>", f"fewer fields: {words}")
    return parse_qsl(query.decode("latin-1"))


def caller_of(request: Request) -> str:
    """Return the caller's name; empty: none was given."""
    return str(request.scope.get(_CALLER, ""))
