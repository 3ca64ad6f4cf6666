"""The RM's calls to node agents (AMLauncher over ContainerManagementProtocol)."""

from __future__ import annotations

from collections.abc import Callable

from yodel.domain.tokens import Token
from yodel.errors import Refused, Unavailable
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.writable import WireToken
from yodel.pb_convert.tokens import token_to_pb
from yodel.ports.node_agents import AmStart
from yodel.rpc_io.client import RpcClient

NAME = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
STARTED_ALREADY = "Attempt to relaunch the same container"
"""The words of an agent that has it (ContainerManagerImpl): an answer, perhaps to an earlier life, was lost."""
CALL_TIMEOUT_S = 20.0
TRY_AGAIN = (faults.NM_NOT_YET_READY, faults.RETRIABLE, faults.STANDBY)
"""Faults of an agent that is not ready, which ServerProxy.createRetryPolicy repeats like a refused connection."""


class RpcNodeAgents:
    """See ``ports.node_agents.NodeAgents``.  One connection a call, as Hadoop's AMLauncher."""

    def __init__(self, new_client_id: Callable[[], bytes]) -> None:
        self._new_client_id = new_client_id

    async def start_am(self, start: AmStart) -> None:
        request = msg.StartContainersRequestProto()
        entry = request.start_container_request.add(container_token=token_to_pb(start.container_token))
        entry.container_launch_context.ParseFromString(start.launch_context)
        client = RpcClient(
            host=start.node_id.host,
            port=start.node_id.port,
            protocol=NAME,
            user=str(start.container_id.attempt_id),
            token=_wire(start.nm_token),
            call_timeout_s=CALL_TIMEOUT_S,
            client_id=self._new_client_id(),
        )
        try:
            response = await client.call("startContainers", request, msg.StartContainersResponseProto)
        except RemoteFault as error:
            if error.java_class in TRY_AGAIN:
                raise Unavailable(str(error)) from error
            raise Refused(f"{error.java_class}: {error}") from error
        finally:
            await client.close()
        for failed in response.failed_requests:
            if STARTED_ALREADY not in failed.exception.message:
                raise Refused(f"{failed.exception.class_name}: {failed.exception.message}")


def _wire(token: Token) -> WireToken:
    return WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service=token.service)
