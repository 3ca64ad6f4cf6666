"""Asks a ResourceManager as a client with a ticket does (``yarn node -list``)."""

from __future__ import annotations

from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.gssapi import Ticket
from yodel.rm_rpc.client_protocol import NAME
from yodel.rpc_io.client import RpcClient

TIMEOUT_S = 10.0


async def node_managers_by_ticket(host: str, port: int, ticket: Ticket, client_id: bytes) -> int:
    """Return how many nodes the ResourceManager has.

    Raises:
        RemoteFault: it refused the ticket, or its owner.
        Unavailable: nobody answers there.
    """
    client = RpcClient(
        host=host,
        port=port,
        protocol=NAME,
        user="",
        ticket=ticket,
        client_id=client_id,
        connect_timeout_s=TIMEOUT_S,
        call_timeout_s=TIMEOUT_S,
    )
    try:
        request = msg.GetClusterMetricsRequestProto()
        answer = await client.call("getClusterMetrics", request, msg.GetClusterMetricsResponseProto)
    finally:
        await client.close()
    return answer.cluster_metrics.num_node_managers
