"""Finding out who calls (AuthenticationFilter, DelegationTokenAuthenticationHandler, PseudoAuthenticationHandler).

The administrator's token of ``web.admin_token_file`` comes first; Hadoop has nothing like it.  Then in Hadoop's order:
a cookie of ours is believed before anything else is looked at; then a delegation token; then ``user.name`` without
proof, or SPNEGO with one.  Somebody found by name may speak for another (``doAs``), as the rules of
``hadoop.proxyuser`` allow.  A bad cookie is as good as none; a bad token is refused.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import parse_qsl

from starlette.types import Scope

from yodel.errors import AccessDenied, InvalidToken, InvalidValue, YodelError
from yodel.hadoop_http.errors import RestError
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.gssapi import Acceptor
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert.delegation_tokens import delegation_content
from yodel.rm_api.door.caller import NOBODY, Caller
from yodel.rm_api.door.token_text import from_text
from yodel.services.keys.delegation import DelegationTokens
from yodel.serving.http_cookie import CookieSigner, checked_user
from yodel.serving.proxy_users import ProxyUserRules
from yodel.telemetry.further_limits import REST_QUERY_FIELDS
from yodel.telemetry.limits import REFUSALS

SCHEME = "Negotiate"
"""SPNEGO's (KerberosAuthenticationHandler)."""
TOKEN_HEADERS = ("x-hadoop-delegation-token", "hadoop-yarn-auth-delegation-token")
"""The newer one first: RMAuthenticationFilter reads the other when this is empty."""
TOKEN_PARAMETER = "delegation"
QUERY_FIELDS_MAX = 1000
AUTHENTICATION_EXCEPTION = "org.apache.hadoop.security.authentication.client.AuthenticationException"
_LOOKED_AT = frozenset(name.encode() for name in (*TOKEN_HEADERS, "cookie", "authorization"))


class FilterRefusal(YodelError):
    """Reports that a filter refuses by ``sendError``: the servlet container's own page."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


class Unauthenticated(FilterRefusal):
    """Reports that the caller is unknown, or not who they claim; their cookie is deleted.  A challenge shows how to try
    again."""

    def __init__(self, status: int, message: str, challenge: str = "") -> None:
        self.challenge = challenge
        super().__init__(status, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestIdentity:
    """Holds the parts of a request that identify the caller."""

    query: tuple[tuple[str, str], ...] = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    remote_host: str
    is_secure: bool = False

    @classmethod
    def of(cls, scope: Scope) -> RequestIdentity:
        """Raises InvalidValue: the query has too many fields."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in _LOOKED_AT:
                headers.setdefault(name.decode(), value.decode("latin-1"))
        client = scope.get("client")
        return cls(
            query=_fields(scope["query_string"]),
            headers=headers,
            remote_host=client[0] if client else "",
            is_secure=scope.get("scheme") == "https",
        )

    def parameter(self, name: str) -> str | None:
        """The first of this name."""
        return next((value for key, value in self.query if key == name), None)

    @property
    def do_as(self) -> str | None:
        return next((value for key, value in self.query if key.lower() == "doas"), None)

    @property
    def delegation_token(self) -> str | None:
        in_header = next((found for name in TOKEN_HEADERS if (found := self.headers.get(name))), None)
        return in_header or self.parameter(TOKEN_PARAMETER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """``kind`` is hadoop.http.authentication.type; without an ``acceptor`` Kerberos lets in tokens only."""

    kind: Literal["simple", "kerberos"]
    is_anonymous_allowed: bool
    signer: CookieSigner
    tokens: DelegationTokens
    proxy_users: ProxyUserRules
    acceptor: Acceptor | None
    now_ms: Callable[[], int]
    admin_token: bytes = field(default=b"", repr=False)
    admin: str = ""
    """Who shows that token is this user."""

    async def caller(self, asked: RequestIdentity) -> Caller:
        """Return the caller of a request.

        Raises:
            Unauthenticated: nobody who may call.
            RestError: 403 for a token that is not good, or a name that the caller may not use.
            InvalidValue: a name no account could have.
        """
        if (admin := self._by_admin_token(asked)) is not None:
            return admin
        user = self._user_of_cookie(asked)
        if user is None:
            token = asked.delegation_token
            return (
                self._by_token(token) if token is not None else self.in_place_of(asked, await self._by_handler(asked))
            )
        return self.in_place_of(asked, Caller(user=user))

    async def by_credentials(self, asked: RequestIdentity) -> Caller:
        """Return the caller by other credentials than a delegation token; a name is required."""
        user = self._user_of_cookie(asked)
        found = Caller(user=user) if user is not None else await self._by_handler(asked)
        if found.user is None:
            raise self._challenge()
        return self.in_place_of(asked, found)

    def by_cookie_or(self, asked: RequestIdentity, token: WireToken) -> Caller:
        """Return the caller of a request; without a cookie, the owner of a token.

        Raises:
            InvalidToken, RestError, InvalidValue.
        """
        user = self._user_of_cookie(asked)
        return self._owner(token) if user is None else self.in_place_of(asked, Caller(user=user))

    def in_place_of(self, asked: RequestIdentity, caller: Caller) -> Caller:
        """The caller, or whom the caller speaks for.  Raises RestError, InvalidValue."""
        user = asked.do_as
        if not user or caller.user is None:
            return caller
        checked_user("doAs", user)
        try:
            self.proxy_users.authorize(real_user=caller.user, user=user, remote_host=asked.remote_host)
        except RemoteFault as fault:
            raise RestError(403, fault.java_class, fault.message) from fault
        return replace(caller, user=user, real_user=caller.user)

    def _by_admin_token(self, asked: RequestIdentity) -> Caller | None:
        scheme, _, text = asked.headers.get("authorization", "").partition(" ")
        if not self.admin_token or scheme.lower() != "bearer":
            return None
        if not hmac.compare_digest(text.strip().encode("latin-1"), self.admin_token):
            raise Unauthenticated(403, "The bearer token is not that of this ResourceManager's administrator")
        return Caller(user=self.admin, is_by_admin_token=True)

    def _user_of_cookie(self, asked: RequestIdentity) -> str | None:
        return self.signer.user_in(asked.headers.get("cookie", ""), self.now_ms())

    def _by_token(self, text: str) -> Caller:
        try:
            return self._owner(from_text(text))
        except (InvalidToken, InvalidValue) as error:
            raise RestError(403, AUTHENTICATION_EXCEPTION, as_java(error)) from error

    def _owner(self, token: WireToken) -> Caller:
        found = self.tokens.accepted(token.identifier)
        if not hmac.compare_digest(found.password, token.password):
            raise InvalidToken(f"token ({delegation_content(token.identifier)}) is invalid, password doesn't match")
        return Caller(user=found.owner, real_user=found.real_user, is_by_token=True)

    async def _by_handler(self, asked: RequestIdentity) -> Caller:
        if self.kind == "kerberos":
            return await self._by_negotiation(asked)
        name = asked.parameter("user.name")
        if not name:
            if self.is_anonymous_allowed:
                return NOBODY
            raise self._challenge()
        user = checked_user("user.name", name)
        return self._remembered(asked, Caller(user=user), user)

    async def _by_negotiation(self, asked: RequestIdentity) -> Caller:
        scheme, _, text = asked.headers.get("authorization", "").partition(" ")
        if scheme != SCHEME or self.acceptor is None:
            raise self._challenge()
        try:
            token = base64.b64decode(text.strip(), validate=True)
            result = await self.acceptor.accept(token)
        except (binascii.Error, AccessDenied) as error:
            raise Unauthenticated(403, str(error)) from error
        answer = f"{SCHEME} {base64.b64encode(result.answer).decode()}".strip()
        if not result.user:
            raise Unauthenticated(401, "Authentication required", answer)
        caller = Caller(user=result.user, headers=(("WWW-Authenticate", answer),) if result.answer else ())
        return self._remembered(asked, caller, result.principal)

    def _remembered(self, asked: RequestIdentity, caller: Caller, principal: str) -> Caller:
        assert caller.user is not None
        cookie = self.signer.issue(caller.user, self.now_ms(), principal=principal, is_secure=asked.is_secure)
        return replace(caller, headers=(*caller.headers, ("Set-Cookie", cookie)))

    def _challenge(self) -> Unauthenticated:
        if self.kind == "simple":
            return Unauthenticated(401, "Authentication required", "PseudoAuth")
        if self.acceptor is None:
            text = "Authentication required: Kerberos tickets are not accepted here, delegation tokens are"
            return Unauthenticated(401, text, SCHEME)
        return Unauthenticated(401, "Authentication required", SCHEME)


def as_java(error: YodelError) -> str:
    """An exception's toString."""
    if isinstance(error, InvalidToken):
        return f"{faults.INVALID_TOKEN}: {error}"
    if isinstance(error, AccessDenied):
        return f"{faults.ACCESS_CONTROL}: {error}"
    return f"{faults.IO_EXCEPTION}: {error}"


def _fields(query: bytes) -> tuple[tuple[str, str], ...]:
    if not query:
        return ()
    try:
        return tuple(parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX))
    except ValueError as error:
        fields = query.count(b"&") + 1
        REFUSALS.tell(REST_QUERY_FIELDS, caller="", value=fields, maximum=QUERY_FIELDS_MAX)
        words = REST_QUERY_FIELDS.words(fields, QUERY_FIELDS_MAX)
        raise InvalidValue("query", f"<{len(query)} bytes>", f"fewer fields: {words}") from error
