"""A small ApplicationMaster: registers, and then ends as its argument says.  No JVM, so it starts at once.

``python -m tests.conformance.rest.master finish`` unregisters at once; ``hold`` asks for one container and goes on
until it is killed.  The port of the ResourceManager comes in ``AM_PORT``, the token where Hadoop puts it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from pathlib import Path

from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import parse_credentials
from yodel.rpc_io.client import RpcClient

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
TOKEN_KIND = "YARN_AM_RM_TOKEN"
HEARTBEAT_S = 1.0
HEARTBEATS_MAX = 900
CONTAINER_MIB = 256


async def main(how: str) -> None:
    client = _client()
    try:
        register = msg.RegisterApplicationMasterRequestProto(host="localhost", rpc_port=0, tracking_url="")
        await client.call("registerApplicationMaster", register, msg.RegisterApplicationMasterResponseProto)
        if how == "hold":
            await _hold(client)
        done = msg.FinishApplicationMasterRequestProto(
            diagnostics="all done", tracking_url="", final_application_status=pb.APP_SUCCEEDED
        )
        answer = msg.FinishApplicationMasterResponseProto()
        while not answer.isUnregistered:
            answer = await client.call("finishApplicationMaster", done, msg.FinishApplicationMasterResponseProto)
            await asyncio.sleep(HEARTBEAT_S / 10)
    finally:
        await client.close()


async def _hold(client: RpcClient) -> None:
    """Heartbeats; the first one asks."""
    ask = pb.ResourceRequestProto(
        priority=pb.PriorityProto(priority=1), resource_name="*", num_containers=1, relax_locality=True
    )
    ask.capability.memory, ask.capability.virtual_cores = CONTAINER_MIB, 1
    last = 0
    for number in range(HEARTBEATS_MAX):
        beat = msg.AllocateRequestProto(ask=[ask] if number == 0 else [], response_id=last, progress=0.5)
        answer = await client.call("allocate", beat, msg.AllocateResponseProto)
        last = answer.response_id
        await asyncio.sleep(HEARTBEAT_S)


def _client() -> RpcClient:
    found = parse_credentials(Path(os.environ["HADOOP_TOKEN_FILE_LOCATION"]).read_bytes())
    token = next(token for _, token in found.tokens if token.kind == TOKEN_KIND)
    return RpcClient(
        host="127.0.0.1",
        port=int(os.environ["AM_PORT"]),
        protocol=PROTOCOL,
        user=os.environ.get("USER", "master"),
        token=token,
        client_id=secrets.token_bytes(16),
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
