"""The agent's RPC port, where ApplicationMasters start containers: its callers and its limits."""

from __future__ import annotations

import base64
import secrets

from nm_plugin.keys.token_secrets import TokenSecrets
from nm_plugin.rpc.container_protocol import ContainerService, container_management
from yodel.domain.tokens import NM_TOKEN_KIND
from yodel.errors import InvalidToken
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.framing import MIB
from yodel.rpc_io.dispatch import CallLimits, Dispatcher
from yodel.rpc_io.server import RpcServer, ServerSecurity, TokenGrant, rpc_limits
from yodel.rpc_io.unfinished_frames import UnfinishedFrames
from yodel.settings.rpc import AgentRpcSettings
from yodel.telemetry.limits import AGENT_FRAME

NONCE_BYTES = 30


def container_management_port(
    settings: AgentRpcSettings, service: ContainerService, token_secrets: TokenSecrets
) -> RpcServer:
    """Not listening yet.  Who calls shows an NM token."""

    def passwords(identifier: bytes) -> TokenGrant | None:
        try:
            identity, password = token_secrets.nm_password(identifier)
        except InvalidToken as error:
            raise RemoteFault(faults.INVALID_TOKEN, str(error)) from error
        return TokenGrant(password=password, user=str(identity.attempt_id), kind=NM_TOKEN_KIND)

    return RpcServer(
        name="container-management",
        dispatcher=Dispatcher(
            [container_management(service)],
            fault_for=lambda error: RemoteFault(faults.YARN_EXCEPTION, str(error)),
            retry_cache=None,
            call_limits=CallLimits(fields_max=settings.call_fields_max, items_max=settings.call_items_max),
        ),
        security=ServerSecurity(allow_simple=False, token_passwords=passwords),
        limits=rpc_limits(settings, settings.frame_mib_max, AGENT_FRAME),
        unfinished=UnfinishedFrames(settings.unfinished_frames_mib_max * MIB),
        nonce=lambda: base64.b64encode(secrets.token_bytes(NONCE_BYTES)).decode("ascii"),
    )
