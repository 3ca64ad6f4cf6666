"""Two things that queues have to stand, on two nodes of 16 GiB and 16 vcores, with what they cost.

    python -m bench.queue_scenarios [sizes] [unplaced] [--keep] [--wait 170]

``sizes``: queue b fills the cluster with containers of 1 GiB that last 30 s each and wants more; queue a, which is
guaranteed half, asks for 2 x 8 GiB.  ``unplaced``: queue a, which is guaranteed a quarter, asks for 40 containers whose
pods Kubernetes places nowhere; queue b asks for 10.  Told is after how many seconds each container was granted, and how
many of others were ended for that.  ``--keep``: queues give nothing back.  ApplicationMasters are unmanaged ones.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import time
from dataclasses import dataclass, field

import uvloop

from bench.cluster import MASTER_PROTOCOL, Cluster, amrm_token, client, local_cluster, submit_unmanaged
from bench.latency import CONTAINER_PROTOCOL
from bench.machine import print_machine
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.writable import WireToken
from yodel.rpc_io.client import RpcClient

BEAT_S = 0.2
TASK_S = 30
PREEMPTED = -102
FIRST = 32
"""Containers that the cluster has room for."""
SETTLED_S = 15.0
"""For the queue that comes first to fill the cluster."""
NODES = ("--nodes", "2", "--memory-mib", "16384", "--vcores", "16")


@dataclass
class Master:
    """An ApplicationMaster that beats, and starts what it is given if ``task_s`` says how long that lasts."""

    rpc: RpcClient
    task_s: int = 0
    response_id: int = 0
    granted_s: list[float] = field(default_factory=list)
    """By the monotonic clock."""
    ended: list[int] = field(default_factory=list)
    """Exit statuses."""
    agents: dict[str, RpcClient] = field(default_factory=dict)

    async def register(self) -> None:
        request = msg.RegisterApplicationMasterRequestProto(rpc_port=-1)
        await self.rpc.call("registerApplicationMaster", request, msg.RegisterApplicationMasterResponseProto)

    async def beat(self, count: int | None = None, memory_mib: int = 1024, vcores: int = 1) -> None:
        request = msg.AllocateRequestProto(response_id=self.response_id)
        if count is not None:
            entry = request.ask.add(resource_name="*", num_containers=count, relax_locality=True)
            entry.priority.priority = 1
            entry.capability.memory, entry.capability.virtual_cores = memory_mib, vcores
        response = await self.rpc.call("allocate", request, msg.AllocateResponseProto)
        self.response_id = response.response_id
        self.ended += [status.exit_status for status in response.completed_container_statuses]
        for given in response.nm_tokens:
            token, node = given.token, given.nodeId
            wire = WireToken(
                identifier=token.identifier, password=token.password, kind=token.kind, service=token.service
            )
            self.agents[f"{node.host}:{node.port}"] = RpcClient(
                host=node.host,
                port=node.port,
                protocol=CONTAINER_PROTOCOL,
                user="",
                token=wire,
                client_id=secrets.token_bytes(16),
            )
        for container in response.allocated_containers:
            self.granted_s.append(time.monotonic())
            if self.task_s:
                await self._start(container)

    async def _start(self, container: pb.ContainerProto) -> None:
        agent = self.agents[f"{container.nodeId.host}:{container.nodeId.port}"]
        request = msg.StartContainersRequestProto()
        entry = request.start_container_request.add(container_token=container.container_token)
        # The first ones end one after the other, as on a cluster that has been busy for long.
        task_s = self.task_s if len(self.granted_s) > FIRST else 1 + secrets.randbelow(self.task_s)
        entry.container_launch_context.command.append(f"sleep {task_s}")
        await agent.call("startContainers", request, msg.StartContainersResponseProto)

    async def live(self, refill: int) -> None:
        """Beats, and always wants so many more; 0: as it asked."""
        while True:
            await self.beat(refill or None)
            await asyncio.sleep(BEAT_S)


async def master(cluster: Cluster, queue: str, task_s: int = 0) -> Master:
    rpc = client(cluster)
    _, token = await amrm_token(rpc, await submit_unmanaged(rpc, queue))
    host, port = cluster.address("scheduler")
    found = Master(
        RpcClient(
            host=host, port=port, protocol=MASTER_PROTOCOL, user="", token=token, client_id=secrets.token_bytes(16)
        ),
        task_s,
    )
    await found.register()
    return found


async def granted(wanting: Master, count: int, wait_s: float) -> list[float]:
    """After how many seconds each of so many was granted; fewer: that is all within the time."""
    asked_s = time.monotonic()
    while len(wanting.granted_s) < count and time.monotonic() - asked_s < wait_s:
        await wanting.beat()
        await asyncio.sleep(BEAT_S)
    return [at_s - asked_s for at_s in wanting.granted_s]


async def sizes(cluster: Cluster, wait_s: float) -> None:
    busy = await master(cluster, "b", TASK_S)
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(busy.live(60))
        await asyncio.sleep(SETTLED_S)
        wanting = await master(cluster, "a")
        await wanting.beat(2, 8192, 8)
        tell("2 x 8 GiB within the guarantee", 2, await granted(wanting, 2, wait_s), busy)
        beating.cancel()


async def unplaced(cluster: Cluster, wait_s: float) -> None:
    stuck = await master(cluster, "a")
    await stuck.beat(40)
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(stuck.live(0))
        await asyncio.sleep(SETTLED_S)
        wanting = await master(cluster, "b")
        await wanting.beat(10)
        tell("10 beside pods without a node", 10, await granted(wanting, 10, wait_s), stuck)
        beating.cancel()


def tell(what: str, count: int, seconds: list[float], others: Master) -> None:
    within = f"within {', '.join(f'{one:.0f}' for one in sorted({round(s) for s in seconds}))} s" if seconds else ""
    killed = sum(status == PREEMPTED for status in others.ended)
    print(f"| {what} | {len(seconds)} of {count} {within} | {killed} ended |", flush=True)


SCENARIOS = {"sizes": (sizes, "50", "50"), "unplaced": (unplaced, "25", "75")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []], default=[])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--wait", type=float, default=170.0)
    asked = parser.parse_args()
    for name in asked.scenarios or SCENARIOS:
        run, own, other = SCENARIOS[name]
        os.environ["YODEL_QUEUES"] = '["a", "b"]'
        os.environ["YODEL_MAXIMUM_ALLOCATION_MIB"] = "16384"
        os.environ["YODEL_MAXIMUM_ALLOCATION_VCORES"] = "16"
        os.environ["YODEL_PREEMPTION"] = json.dumps({"enabled": not asked.keep})
        nowhere = {"root.a": {"pod_template": {"spec": {"nodeSelector": {"no": "such"}}}}}
        os.environ["YODEL_QUEUE_SETTINGS"] = json.dumps(nowhere if name == "unplaced" else {})
        with local_cluster(*NODES) as cluster, contextlib.suppress(ExceptionGroup):
            asyncio.run(shares(cluster, own, other))
            uvloop.run(run(cluster, asked.wait))


async def shares(cluster: Cluster, own: str, other: str) -> None:
    """Set the guarantees of the two queues, as an administrator does."""
    host, port = _rest(cluster)
    body = json.dumps(
        {
            "update-queue": [
                {"queue-name": f"root.{name}", "params": {"entry": [{"key": "capacity", "value": value}]}}
                for name, value in (("a", own), ("b", other))
            ]
        }
    ).encode()
    reader, writer = await asyncio.open_connection(host, port)
    head = (
        f"PUT /ws/v1/cluster/scheduler-conf?user.name=root HTTP/1.1\r\nHost: {host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    if b" 200 " not in answer.split(b"\r\n", 1)[0]:
        raise RuntimeError(answer.decode(errors="replace"))


def _rest(cluster: Cluster) -> tuple[str, int]:
    host, _, port = str(cluster.ready["rest_url"]).removeprefix("http://").rstrip("/").rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    print_machine()
    main()
