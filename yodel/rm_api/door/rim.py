"""The ASGI rim of the web side: one spelling of every path, and the headers every answer carries; who calls was found
by ``filters``.

A plain ASGI shell and no BaseHTTPMiddleware: answers stream through it untouched.
"""

from __future__ import annotations

from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.hadoop_http.errors import not_authenticated
from yodel.rm_api.door.caller import caller_in
from yodel.rm_api.door.services import door_of
from yodel.services.applications.given_ids import Asker

REST_PREFIX = "/ws/v1/"
ALWAYS = (
    ("Cache-Control", "no-cache"),
    ("Pragma", "no-cache"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-XSS-Protection", "1; mode=block"),
)


class Rim:
    """Wraps the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS:
                    headers.setdefault(name, value)
                headers.setdefault("Expires", formatdate(usegmt=True))
            await send(message)

        if scope["path"].startswith(REST_PREFIX):
            scope = {**scope, "path": scope["path"].rstrip("/")}
        await self._app(scope, receive, send_with_headers)


def reader(request: Request) -> str:
    """Return the reader; without a name it is the static user (StaticUserWebFilter)."""
    return caller_in(request.scope).user or door_of(request).rules.callers.static_user


def writer(request: Request) -> str:
    """Return the user who makes a change.

    Raises:
        RestError: 401 for somebody without a name.
    """
    rules = door_of(request).rules.callers
    user = caller_in(request.scope).user
    if user is None and rules.may_static_user_write:
        return rules.static_user
    if user is None:
        raise not_authenticated()
    return user


def asker(request: Request) -> Asker:
    """Whom ids of applications are given to."""
    return Asker(user=named_user(request), host=request.client.host if request.client else "")


def named_user(request: Request) -> str | None:
    """The name somebody gave, if any."""
    return caller_in(request.scope).user
