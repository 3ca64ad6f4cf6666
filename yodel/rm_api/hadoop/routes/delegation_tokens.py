"""``/delegation-token``: given out, renewed and cancelled, for who proved with Kerberos who they are (RMWebServices).

With simple authentication all three are refused, as in Hadoop; there a token is got over RPC or by ``op=``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.delegation_token import DELEGATION_TOKEN_KIND
from yodel.errors import AccessDenied, InvalidToken, InvalidValue
from yodel.hadoop_http.errors import bad_request
from yodel.hadoop_http.negotiate import answer, require_acceptable
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert.delegation_tokens import delegation_content
from yodel.pb_convert.texts import text
from yodel.rm_api.door.bodies import read_object
from yodel.rm_api.door.caller import caller_in
from yodel.rm_api.door.rim import writer
from yodel.rm_api.door.services import door_of
from yodel.rm_api.door.token_text import from_text, to_text
from yodel.rm_api.hadoop.given import answer_text
from yodel.rm_api.hadoop.services import HadoopServices, services_of

PATH = "/ws/v1/cluster/delegation-token"
TOKEN_HEADER = "Hadoop-YARN-RM-Delegation-Token"
ROOT = "delegation-token"
RENEWER_LENGTH_MAX = 1024
NOT_BY_KERBEROS = (
    "Delegation token operations can only be carried out on a Kerberos authenticated channel. "
    "Expected auth type is kerberos, got type {}"
)
NOT_BY_TOKEN = "Delegation token operations cannot be carried out using delegation token authentication."


async def give(request: Request) -> Response:
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    if refusal := _refusal(request):
        return refusal
    body = await read_object(request, door_of(request).rules.body_bytes_max)
    if body.get("renewer") is None:
        raise bad_request("A delegation token needs a renewer")
    renewer = text("renewer", str(body["renewer"]), RENEWER_LENGTH_MAX)
    tokens = services.delegation_tokens
    token = await tokens.issue(user, renewer, host=request.client.host if request.client else "")
    content = delegation_content(token.identifier)
    shown = {
        "token": to_text(token),
        "renewer": renewer,
        "owner": content.owner,
        "kind": DELEGATION_TOKEN_KIND,
        "expiration-time": tokens.expires_ms(token.identifier),
        "max-validity": content.max_ms,
    }
    return answer(request, shown, root=ROOT)


async def renew(request: Request) -> Response:
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    if refusal := _refusal(request):
        return refusal
    return await _with_token(request, lambda token: _renewed(request, services, token, user))


async def _renewed(request: Request, services: HadoopServices, token: WireToken, user: str) -> Response:
    expires_ms = await services.delegation_tokens.renew(token.identifier, token.password, user)
    return answer(request, {"expiration-time": expires_ms}, root=ROOT)


async def cancel(request: Request) -> Response:
    services = services_of(request)
    user = writer(request)
    require_acceptable(request)
    if refusal := _refusal(request):
        return refusal
    return await _with_token(request, lambda token: _cancelled(services, token, user))


async def _cancelled(services: HadoopServices, token: WireToken, user: str) -> Response:
    await services.delegation_tokens.cancel(token.identifier, user)
    return Response()


async def _with_token(request: Request, change: Callable[[WireToken], Awaitable[Response]]) -> Response:
    """Return the result of a change of the header's token.  Raises RestError 400 for one that is invalid or no longer
    known."""
    token = _token(request)
    try:
        return await change(token)
    except InvalidToken as error:
        raise bad_request(str(error)) from error
    except AccessDenied as error:
        return answer_text(request, str(error), HTTPStatus.FORBIDDEN)


def _refusal(request: Request) -> Response | None:
    """createKerberosUserGroupInformation's; it names the filter's kind, and for nobody's request none."""
    caller, kind = caller_in(request.scope), door_of(request).rules.callers.authentication
    if kind != "kerberos":
        shown = "null" if caller.user is None else kind.upper()
        return answer_text(request, NOT_BY_KERBEROS.format(shown), HTTPStatus.FORBIDDEN)
    return answer_text(request, NOT_BY_TOKEN, HTTPStatus.FORBIDDEN) if caller.is_by_token else None


def _token(request: Request) -> WireToken:
    """Raises RestError 400."""
    encoded = request.headers.get(TOKEN_HEADER)
    if encoded is None:
        raise bad_request(f"Header '{TOKEN_HEADER}' containing encoded token not found")
    try:
        return from_text(encoded)
    except InvalidValue as error:
        raise bad_request("Could not decode encoded token") from error


ROUTES = (
    Route(PATH, give, methods=["POST"]),
    Route(PATH, cancel, methods=["DELETE"]),
    Route(f"{PATH}/expiration", renew, methods=["POST"]),
)
