"""Filters requests before every route: cross-origin headers, callers, forgery by foreign pages, token operations by
``op``.

The order is that of Hadoop's filters.  A refusal looks as it does there: Jetty's page where a filter calls
``sendError``, a RemoteException where it uses HttpExceptionUtils.  A plain ASGI shell: answers stream through it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.domain.browser_rules import HostNames
from yodel.errors import InvalidValue, Unavailable
from yodel.hadoop_http.added_headers import add_headers
from yodel.hadoop_http.errors import RestError, forbidden, translated
from yodel.hadoop_http.jetty import refused_by_filter
from yodel.rm_api.door import token_operations
from yodel.rm_api.door.authentication import Authenticator, FilterRefusal, RequestIdentity, Unauthenticated
from yodel.rm_api.door.caller import NOBODY, Caller, with_caller
from yodel.rm_api.door.own_pages import OwnPages
from yodel.rm_api.door.services import DoorServices
from yodel.serving.http_cookie import CookieSigner

MARK = "x-yodel-proxied"
"""A header of every call that the web proxy makes, so that a ResourceManager knows one that came back to it by whatever
way."""
OPEN_PREFIX = "/health/"
"""For Kubernetes' probes, which have no name: they are told alive or not, nothing else."""


class Filters:
    """Wraps the application; ``own_names`` are the hosts of its own addresses."""

    def __init__(self, app: ASGIApp, door: DoorServices, own_names: Sequence[str]) -> None:
        callers, cookies, browsers = door.rules.callers, door.rules.cookies, door.rules.browsers
        self._app, self._cross_origin, self._frames = app, browsers.cross_origin, browsers.frame_options
        self._rights = door.rights
        self._own_pages = OwnPages(
            hosts=HostNames.of((*browsers.host_names.names, *own_names)),
            cross_origin=browsers.cross_origin,
            csrf=browsers.csrf,
            may_anonymous_write=callers.may_static_user_write,
        )
        self._signer = CookieSigner(
            secret=cookies.cookie_secret,
            validity_s=cookies.cookie_validity_s,
            token_type=f"{callers.authentication}-dt",
            domain=cookies.cookie_domain,
            is_persistent=cookies.is_cookie_persistent,
        )
        self._authenticator = Authenticator(
            kind=callers.authentication,
            is_anonymous_allowed=callers.anonymous_allowed,
            signer=self._signer,
            tokens=door.delegation_tokens,
            proxy_users=door.proxy_users,
            acceptor=door.acceptor,
            now_ms=door.clock.now_ms,
            admin_token=callers.admin_token,
            admin=callers.login_user,
        )
        self._operations = token_operations.TokenOperations(self._authenticator, door.delegation_tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        added = self._cross_origin_headers(headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                if self._frames:
                    answered["X-Frame-Options"] = self._frames
                add_headers(answered, added)
            await send(message)

        try:
            if MARK in headers:
                raise forbidden(
                    "Requests of the ResourceManager's own web proxy are not served: it is not an ApplicationMaster"
                )
            asked = RequestIdentity.of(scope)
            if token_operations.is_operation(scope["method"], asked):
                self._own_pages.check(scope, headers, asked, is_named=True)
            refusal = await self._operations.answer(scope["method"], asked)
            caller = NOBODY if refusal is not None else await self._caller(scope, asked)
            added += caller.headers
            if refusal is None:
                self._own_pages.check(scope, headers, asked, is_named=caller.user is not None)
        except (FilterRefusal, RestError, InvalidValue, Unavailable) as error:
            refusal = self._refused(scope, headers, error)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(with_caller(scope, caller), receive, send_with_headers)

    async def _caller(self, scope: Scope, asked: RequestIdentity) -> Caller:
        if scope["path"].startswith(OPEN_PREFIX):
            return NOBODY
        caller = await self._authenticator.caller(asked)
        if caller.user is not None:
            await self._rights.look_up(caller.user)
        return caller

    def _refused(
        self, scope: Scope, headers: Headers, error: FilterRefusal | RestError | InvalidValue | Unavailable
    ) -> Response:
        accept = headers.get("accept", "")
        if not isinstance(error, FilterRefusal):
            told = translated(error)  # HttpExceptionUtils: JSON, whatever is accepted
            return Response(msgspec.json.encode(told.body), told.status, told.headers, media_type="application/json")
        page = refused_by_filter(scope["method"], scope["path"], accept, error.status, error.message)
        if isinstance(error, Unauthenticated):
            page.headers["Set-Cookie"] = self._signer.cleared(is_secure=scope.get("scheme") == "https")
            if error.challenge:
                page.headers["WWW-Authenticate"] = error.challenge
        return page

    def _cross_origin_headers(self, headers: Headers) -> tuple[tuple[str, str], ...]:
        if self._cross_origin is None or "origin" not in headers:
            return ()
        return self._cross_origin.headers_for(
            headers["origin"],
            headers.get("access-control-request-method"),
            headers.get("access-control-request-headers"),
        )
