"""``/containers/{id}/signal/{command}``; and ``/delegation-token``, which needs Kerberos to say yes.

Both answer in plain text that calls itself JSON, as Hadoop does; clients show it.
"""

from __future__ import annotations

from enum import IntEnum

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.rm_api.context import api_of
from yodel.rm_api.errors import forbidden
from yodel.rm_api.front import writer
from yodel.rm_api.negotiate import JSON_UTF8
from yodel.rm_api.routes.attempts import container_id

NOT_OVER_HTTP = (
    "Delegation token operations can only be carried out on a Kerberos authenticated channel. "
    "Expected auth type is kerberos, got type SIMPLE"
)


class SignalContainerCommand(IntEnum):
    """SignalContainerCommandProto."""

    OUTPUT_THREAD_DUMP = 1
    GRACEFUL_SHUTDOWN = 2
    FORCEFUL_SHUTDOWN = 3


async def signal(request: Request) -> Response:
    api = api_of(request)
    user = writer(request, api)
    command = request.path_params["command"].upper()
    known = SignalContainerCommand.__members__
    if command not in known:
        return _text(f"Invalid command: {command[:128]}, valid commands are: [{', '.join(known)}]", 400)
    asked = container_id(request)
    state = api.services.queries.state
    application, container = state.applications.get(asked.application_id), state.containers.get(asked)
    if application is None or container is None or not container.is_live:
        return _text(f"Trying to signal an absent container {asked}", 500)
    if not api.services.submission.may_modify(application, user):
        raise forbidden(f"User {user} cannot perform operation MODIFY_APP on {application.id}")
    api.services.nodes.signal(asked, known[command])
    return _text("signal success", 200)


async def delegation_token(request: Request) -> Response:
    """Tokens are given over RPC; over HTTP a caller's name is not proven."""
    writer(request, api_of(request))
    return _text(NOT_OVER_HTTP, 403)


def _text(text: str, status: int) -> Response:
    return Response(text, status, media_type=JSON_UTF8)


ROUTES = (
    Route("/ws/v1/cluster/containers/{container_id}/signal/{command}", signal, methods=["POST"]),
    Route("/ws/v1/cluster/delegation-token", delegation_token, methods=["POST", "DELETE"]),
    Route("/ws/v1/cluster/delegation-token/expiration", delegation_token, methods=["POST"]),
)
