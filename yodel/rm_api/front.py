"""The ASGI rim of the web side: who calls, one spelling of every path, and the headers every answer carries.

A plain ASGI shell and no BaseHTTPMiddleware: answers stream through it untouched.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.errors import InvalidValue
from yodel.rm_api.auth import Caller, CookieSigner, caller_of
from yodel.rm_api.context import Api
from yodel.rm_api.errors import forbidden, not_authenticated, translated
from yodel.rm_api.negotiate import answer_error

REST_PREFIX = "/ws/v1/"
ALWAYS = (
    ("Cache-Control", "no-cache"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
)
_CALLER = "yodel.caller"


class Front:
    """Wraps the application; ``api`` gives settings and the clock."""

    def __init__(self, app: ASGIApp, api: Api) -> None:
        self._app, self._api = app, api
        settings = api.services.settings
        self._signer = CookieSigner(settings.cookie_secret, settings.cookie_validity_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = Caller(user=None)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS:
                    headers.setdefault(name, value)
                if caller.cookie is not None:
                    headers.append("Set-Cookie", caller.cookie)
            await send(message)

        cookie_header = Headers(scope=scope).get("cookie", "")
        try:
            caller = caller_of(scope["query_string"], cookie_header, self._signer, self._api.services.clock.now_ms())
        except InvalidValue as error:
            await answer_error(translated(error))(scope, receive, send_with_headers)
            return
        if caller.user is None and not self._api.services.settings.anonymous_allowed:
            refusal = answer_error(forbidden("Anonymous requests are disallowed"))
            refusal.headers["WWW-Authenticate"] = "PseudoAuth"
            await refusal(scope, receive, send_with_headers)
            return
        inner = {**scope, _CALLER: caller}
        if scope["path"].startswith(REST_PREFIX):
            inner["path"] = scope["path"].rstrip("/")
        await self._app(inner, receive, send_with_headers)


def reader(request: Request, api: Api) -> str:
    """Who reads: somebody without a name is the static user (StaticUserWebFilter)."""
    return _caller(request).user or api.services.settings.static_user


def writer(request: Request, api: Api) -> str:
    """Who changes something.

    Raises:
        RestError: 401 for somebody without a name.
    """
    settings = api.services.settings
    user = _caller(request).user
    if user is None and settings.may_static_user_write:
        return settings.static_user
    if user is None:
        raise not_authenticated()
    return user


def _caller(request: Request) -> Caller:
    caller = request.scope[_CALLER]
    assert isinstance(caller, Caller)
    return caller


def named_user(request: Request) -> str | None:
    """The name somebody gave, if any."""
    return _caller(request).user
