"""Delegation tokens by ``op=`` on any address (DelegationTokenAuthenticationHandler.managementOperation).

``GETDELEGATIONTOKEN``, ``RENEWDELEGATIONTOKEN`` and ``CANCELDELEGATIONTOKEN`` are what Hadoop's own HTTP client sends.
The tokens are those of port 8032: got here they are good there, and the other way round.
"""

from __future__ import annotations

from enum import StrEnum

from starlette.responses import Response

from yodel.errors import AccessDenied, InvalidToken, InvalidValue, Refused
from yodel.hadoop_http.negotiate import JSON, encode
from yodel.hadoop_rpc.writable import WireToken
from yodel.rm_api.door.authentication import Authenticator, FilterRefusal, RequestIdentity, Unauthenticated, as_java
from yodel.rm_api.door.token_text import from_text, to_text
from yodel.services.keys.delegation import DelegationTokens

NOT_CANCELLED = "Invalid delegation token, cannot cancel"
RENEWER_LENGTH_MAX = 1024


class Operation(StrEnum):
    """DelegationTokenAuthenticator.DelegationTokenOperation."""

    GETDELEGATIONTOKEN = "GETDELEGATIONTOKEN"
    RENEWDELEGATIONTOKEN = "RENEWDELEGATIONTOKEN"
    CANCELDELEGATIONTOKEN = "CANCELDELEGATIONTOKEN"

    @property
    def method(self) -> str:
        return "GET" if self is Operation.GETDELEGATIONTOKEN else "PUT"


def is_operation(method: str, asked: RequestIdentity) -> bool:
    """Return True if a request is a token operation, instead of what its path names."""
    return bool(asked.query) and method != "OPTIONS" and (asked.parameter("op") or "").upper() in Operation.__members__


class TokenOperations:
    """Answers requests that carry one; leaves all others alone."""

    def __init__(self, authenticator: Authenticator, tokens: DelegationTokens) -> None:
        self._authenticator, self._tokens = authenticator, tokens

    async def answer(self, method: str, asked: RequestIdentity) -> Response | None:
        """None for a request that asks for none of these.

        Raises:
            FilterRefusal: it is refused, or the caller is not known.
            RestError, InvalidValue: as ``Authenticator.caller``.
        """
        named = (asked.parameter("op") or "").upper() if asked.query else ""
        if not is_operation(method, asked):
            return None
        operation = Operation(named)
        if method != operation.method:
            text = f"Wrong HTTP method [{method}] for operation [{operation}], it should be [{operation.method}]"
            raise FilterRefusal(400, text)
        match operation:
            case Operation.GETDELEGATIONTOKEN:
                return await self._issue(asked)
            case Operation.RENEWDELEGATIONTOKEN:
                return await self._renew(asked)
            case Operation.CANCELDELEGATIONTOKEN:
                return await self._cancel(asked)

    async def _issue(self, asked: RequestIdentity) -> Response:
        caller = await self._authenticator.by_credentials(asked)
        assert caller.user is not None
        renewer = asked.parameter("renewer")
        renewer = caller.user if renewer is None else renewer[:RENEWER_LENGTH_MAX]
        try:
            token = await self._tokens.issue(caller.user, renewer, caller.real_user, host=asked.remote_host)
        except Refused as error:
            raise Unauthenticated(403, as_java(error)) from error
        return _json({"Token": {"urlString": to_text(token, asked.parameter("service") or "")}})

    async def _renew(self, asked: RequestIdentity) -> Response:
        caller = await self._authenticator.by_credentials(asked)
        assert caller.user is not None
        try:
            token = _token(Operation.RENEWDELEGATIONTOKEN, asked)
            expires_ms = await self._tokens.renew(token.identifier, token.password, caller.user)
        except (InvalidToken, AccessDenied, InvalidValue) as error:
            raise Unauthenticated(403, as_java(error)) from error
        return _json({"long": expires_ms})

    async def _cancel(self, asked: RequestIdentity) -> Response:
        """Whoever has a token may end it: without a cookie, the token itself says who cancels."""
        try:
            token = _token(Operation.CANCELDELEGATIONTOKEN, asked)
            caller = self._authenticator.by_cookie_or(asked, token)
            assert caller.user is not None
            await self._tokens.cancel(token.identifier, caller.user)
        except (InvalidToken, AccessDenied, InvalidValue) as error:
            raise FilterRefusal(404, NOT_CANCELLED) from error
        return Response()


def _token(operation: Operation, asked: RequestIdentity) -> WireToken:
    """Raises FilterRefusal, InvalidValue."""
    text = asked.parameter("token")
    if text is None:
        raise FilterRefusal(400, f"Operation [{operation}] requires the parameter [token]")
    return from_text(text)


def _json(value: dict[str, object]) -> Response:
    return Response(encode(value) + b"\n", media_type=JSON)
