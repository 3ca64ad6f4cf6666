"""Ask, grant, started: what an ApplicationMaster waits for one container, p50 and p99.

    python -m bench.latency [--containers 100]

One unmanaged AM asks for one container at a time, beats every 10 ms until it is granted, starts it on the node agent
and asks for its status until it runs.  Embedded: the pod is scheduled by the small Kubernetes and is a process here.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import statistics
import time

import uvloop

from bench.cluster import MASTER_PROTOCOL, Cluster, amrm_token, client, local_cluster, submit_unmanaged
from bench.machine import print_machine
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import WireToken
from yodel.rpc_io.client import RpcClient

CONTAINER_PROTOCOL = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
BEAT_S, LOOK_S, QUIET_S = 0.01, 0.002, 0.3


class Master:
    """The least an ApplicationMaster does."""

    def __init__(self, rpc: RpcClient) -> None:
        self.rpc, self.response_id = rpc, 0
        self.nm_tokens: dict[str, WireToken] = {}

    async def register(self) -> None:
        request = msg.RegisterApplicationMasterRequestProto(rpc_port=-1)
        await self.rpc.call("registerApplicationMaster", request, msg.RegisterApplicationMasterResponseProto)

    async def beat(self, ask: int | None = None, release: pb.ContainerIdProto | None = None) -> list[pb.ContainerProto]:
        request = msg.AllocateRequestProto(response_id=self.response_id)
        if ask is not None:
            entry = request.ask.add(resource_name="*", num_containers=ask, relax_locality=True)
            entry.priority.priority = 1
            entry.capability.memory, entry.capability.virtual_cores = 1024, 1
        if release is not None:
            request.release.add().CopyFrom(release)
        response = await self.rpc.call("allocate", request, msg.AllocateResponseProto)
        self.response_id = response.response_id
        for given in response.nm_tokens:
            token = given.token
            self.nm_tokens[f"{given.nodeId.host}:{given.nodeId.port}"] = WireToken(
                identifier=token.identifier, password=token.password, kind=token.kind, service=token.service
            )
        return list(response.allocated_containers)

    async def run_one(self) -> tuple[float, float]:
        """Seconds from ask to grant, and from grant to running."""
        took_s, container = await self.granted()
        granted_s = time.perf_counter()
        await self._start(container)
        started_s = time.perf_counter()
        await self.beat(ask=0, release=container.id)
        return took_s, started_s - granted_s

    async def granted(self, beat_s: float = BEAT_S) -> tuple[float, pb.ContainerProto]:
        """Seconds from ask to grant, and the container."""
        asked_s = time.perf_counter()
        granted = await self.beat(ask=1)
        while not granted:
            await asyncio.sleep(beat_s)
            granted = await self.beat()
        return time.perf_counter() - asked_s, granted[0]

    async def _start(self, container: pb.ContainerProto) -> None:
        node = container.nodeId
        agent = RpcClient(
            host=node.host,
            port=node.port,
            protocol=CONTAINER_PROTOCOL,
            user="",
            token=self.nm_tokens[f"{node.host}:{node.port}"],
            client_id=secrets.token_bytes(16),
        )
        request = msg.StartContainersRequestProto()
        entry = request.start_container_request.add(container_token=container.container_token)
        entry.container_launch_context.command.append("sleep 60")
        response = await agent.call("startContainers", request, msg.StartContainersResponseProto)
        if response.failed_requests:
            raise RuntimeError(response.failed_requests[0].exception.message)
        wanted = msg.GetContainerStatusesRequestProto(container_id=[container.id])
        while True:
            reply = await agent.call("getContainerStatuses", wanted, msg.GetContainerStatusesResponseProto)
            if reply.status and reply.status[0].container_sub_state == pb.CSS_RUNNING:  # C_RUNNING is said at once
                break
            await asyncio.sleep(LOOK_S)
        await agent.close()


async def registered(cluster: Cluster) -> Master:
    """Return the ApplicationMaster of an application of its own."""
    rpc = client(cluster)
    _, token = await amrm_token(rpc, await submit_unmanaged(rpc))
    await rpc.close()
    host, port = cluster.address("scheduler")
    master = Master(
        RpcClient(
            host=host, port=port, protocol=MASTER_PROTOCOL, user="", token=token, client_id=secrets.token_bytes(16)
        )
    )
    await master.register()
    return master


async def measure(cluster: Cluster, containers: int) -> list[tuple[float, float]]:
    master = await registered(cluster)
    await master.run_one()  # warm
    return [await master.run_one() for _ in range(containers)]


async def grants_s(cluster: Cluster, containers: int) -> list[float]:
    """Seconds from ask to grant, of containers that are released at once; each is asked for when all is quiet."""
    master = await registered(cluster)
    found = []
    for _ in range(containers + 1):
        await asyncio.sleep(QUIET_S)
        took_s, granted = await master.granted(LOOK_S)
        await master.beat(ask=0, release=granted.id)
        found.append(took_s)
    await master.rpc.close()
    return found[1:]


def row(name: str, seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"| {name} | p50 {statistics.median(ordered) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--containers", type=int, default=100)
    containers = parser.parse_args().containers
    with local_cluster("--nodes", "1") as cluster:
        measured = uvloop.run(measure(cluster, containers))
    print(row("ask to grant", [a for a, _ in measured]))
    print(row("grant to started", [b for _, b in measured]))
    print(row("ask to started", [a + b for a, b in measured]), flush=True)


if __name__ == "__main__":
    print_machine()
    main()
