"""Node agents without nodes: they register and beat as the ResourceManager tells them, and run nothing.

    python -m bench.placement_agents --tracker 127.0.0.1:8031 --nodes fake-0000,fake-0001

One process for all of them, over a few connections; a real agent has one of its own.  Prints a line once all have
registered and ends when its input does.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys

import uvloop

from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.rpc_io.client import RpcClient

PROTOCOL = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
PORT = 8041
CONNECTIONS = 16
CAPABILITY = Resource(1024 * 1024, 256)


class Agent:
    def __init__(self, rpc: RpcClient, name: str) -> None:
        self._rpc, self._name, self._response_id = rpc, name, 0
        self._node_id = ids.node_id_pb(NodeId(name, PORT))

    async def register(self) -> None:
        request = msg.RegisterNodeManagerRequestProto(
            node_id=self._node_id,
            http_port=8042,
            resource=ids.resource_pb(CAPABILITY),
            nm_version="bench",
            kubernetes_node_name=self._name,
        )
        await self._rpc.call("registerNodeManager", request, msg.RegisterNodeManagerResponseProto)

    async def beat(self) -> float:
        """Seconds until the next."""
        request = msg.NodeHeartbeatRequestProto()
        request.node_status.node_id.CopyFrom(self._node_id)
        request.node_status.response_id = self._response_id
        request.node_status.nodeHealthStatus.is_node_healthy = True
        answer = await self._rpc.call("nodeHeartbeat", request, msg.NodeHeartbeatResponseProto)
        self._response_id = answer.response_id
        return answer.nextHeartBeatInterval / 1000


async def run(host: str, port: int, names: list[str]) -> None:
    clients = [
        RpcClient(host=host, port=port, protocol=PROTOCOL, user="yarn", client_id=secrets.token_bytes(16))
        for _ in range(min(CONNECTIONS, len(names)))
    ]
    lines = [[Agent(rpc, name) for name in names[start :: len(clients)]] for start, rpc in enumerate(clients)]
    async with asyncio.TaskGroup() as tasks:
        for agents in lines:
            tasks.create_task(_register(agents))
    print("ready", flush=True)
    beating = [asyncio.create_task(_beat(agents)) for agents in lines]
    await asyncio.to_thread(sys.stdin.read)
    for task in beating:
        task.cancel()


async def _register(agents: list[Agent]) -> None:
    for agent in agents:
        await agent.register()


async def _beat(agents: list[Agent]) -> None:
    """One after the other, spread over the interval."""
    loop = asyncio.get_running_loop()
    due_s, interval_s = loop.time(), 1.0
    while True:
        for agent in agents:
            interval_s = await agent.beat()
            due_s = max(due_s + interval_s / len(agents), loop.time())
            await asyncio.sleep(due_s - loop.time())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", required=True)
    parser.add_argument("--nodes", required=True, help="names, with commas between")
    arguments = parser.parse_args()
    host, _, port = arguments.tracker.rpartition(":")
    uvloop.run(run(host, int(port), arguments.nodes.split(",")))


if __name__ == "__main__":
    main()
