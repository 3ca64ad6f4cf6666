"""``/containers/{id}/signal/{command}``, answered in plain text that calls itself JSON, as Hadoop does."""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from yodel.domain.ids import ContainerId
from yodel.errors import InvalidValue
from yodel.rm_api.door.rim import writer
from yodel.rm_api.hadoop.given import answer_text
from yodel.rm_api.hadoop.routes.attempts import invalid
from yodel.rm_api.hadoop.services import HadoopServices, services_of


class SignalContainerCommand(IntEnum):
    """SignalContainerCommandProto."""

    OUTPUT_THREAD_DUMP = 1
    GRACEFUL_SHUTDOWN = 2
    FORCEFUL_SHUTDOWN = 3


async def signal(request: Request) -> Response:
    """Answer 500 with the exception's text for what goes wrong behind the checks of the path, whatever it is."""
    services = services_of(request)
    user = writer(request)
    command = request.path_params["command"].upper()
    known = SignalContainerCommand.__members__
    if command not in known:
        return answer_text(
            request,
            f"Invalid command: {command[:128]}, valid commands are: [{', '.join(known)}]",
            HTTPStatus.BAD_REQUEST,
        )
    refusal = _refusal(services, request.path_params["container_id"], user)
    if refusal:
        return answer_text(request, refusal, HTTPStatus.INTERNAL_SERVER_ERROR)
    services.nodes.signal(ContainerId.parse(request.path_params["container_id"]), known[command])
    return answer_text(request, "signal success")


def _refusal(services: HadoopServices, text: str, user: str) -> str:
    """Return why a container cannot be signalled (ClientRMService.signalToContainer); empty when it can."""
    try:
        asked = ContainerId.parse(text)
    except InvalidValue:
        return invalid("ContainerId", "container_", text)
    rows = services.queries.rows
    application, container = rows.application(asked.application_id), rows.container(asked)
    if application is not None and not services.rights.may_modify(application, user):
        return f"User {user} cannot perform operation MODIFY_APP on {application.id}"
    if application is None or container is None or not container.is_live:
        return f"Trying to signal an absent container {asked}"
    return ""


ROUTES = (Route("/ws/v1/cluster/containers/{container_id}/signal/{command}", signal, methods=["POST"]),)
