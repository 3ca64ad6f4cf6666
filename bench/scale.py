"""Measures the processor time of heartbeats of 10,000 ApplicationMasters and 5,000 nodes, each one a second.

    python -m bench.scale [--seconds 10]

The ResourceManager is held to the first core and the client to the last.  A connection of an ApplicationMaster stands
for twenty of them: it beats twenty times a second, each time one write.  A connection of nodes has twenty nodes that
have registered, and beats once a second for each.  So beats, reads and writes are those of 15,000 connections, and
sockets, attempts and what is kept of them are those of 750.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Sequence

import uvloop

from bench import heartbeats
from bench.cluster import Cluster, local_cluster, until
from bench.heartbeats import QUIET_S, Caller, Figures
from bench.machine import print_machine
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as msg
from yodel.hadoop_pb.yarn_protos_pb2 import NodeIdProto, ResourceProto

MASTERS, NODES = 10_000, 5_000
A_CONNECTION = 20
"""ApplicationMasters or nodes that one connection stands for, and its beats a second."""
MASTER_CONNECTIONS, NODE_CONNECTIONS = MASTERS // A_CONNECTION, NODES // A_CONNECTION
TRACKER_PROTOCOL = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
PORT = 8041
SETTINGS = {"YODEL_NODE_MANAGERS": "network"}
"""The nodes are NodeManagers, which need no token: an agent's names one node, and so a connection can be one's only."""
WARM_UP_S = 2.0
CATCH_UP = 5
"""Beats that one may be behind and still send: who is later has missed them."""


class Nodes(Caller):
    """Registers its nodes one after the other, then beats for each in turn."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(TRACKER_PROTOCOL, user="yarn")
        self._ids = [NodeIdProto(host=name, port=PORT) for name in names]
        self._response_ids = [0] * len(names)
        self._registering = iter(self._ids)

    def begin(self) -> None:
        """Register the next one."""
        node_id = next(self._registering, None)
        if node_id is None:
            self.registered.set_result(None)
            return
        size = ResourceProto(memory=1024, virtual_cores=1)
        request = msg.RegisterNodeManagerRequestProto(node_id=node_id, http_port=8042, resource=size)
        request.nm_version = "3.5.0"
        self.call("registerNodeManager", request)

    def answered(self, body: bytes) -> None:
        if not self.registered.done():
            self.begin()
            return
        place = self.beats % len(self._ids)
        self._response_ids[place] = msg.NodeHeartbeatResponseProto.FromString(body).response_id
        self.beats += 1

    def beat(self) -> None:
        place = self.beats % len(self._ids)
        request = msg.NodeHeartbeatRequestProto()
        request.node_status.node_id.CopyFrom(self._ids[place])
        request.node_status.response_id = self._response_ids[place]
        request.node_status.nodeHealthStatus.is_node_healthy = True
        self.call("nodeHeartbeat", request)


async def nodes(cluster: Cluster) -> list[Nodes]:
    """Return connections whose nodes have registered."""
    host, port = cluster.address("tracker")
    found = []
    for number in range(NODE_CONNECTIONS):
        one = Nodes([f"scale-{number}-{place}" for place in range(A_CONNECTION)])
        await asyncio.get_running_loop().create_connection(lambda one=one: one, host, port)  # type: ignore[misc]
        await one.registered
        found.append(one)
    return found


async def measure(cluster: Cluster, beating: Sequence[Caller], seconds: float) -> Figures:
    """Let each beat twenty times a second, its turn spread over the twentieth, and at once when it is late; one beat of
    a connection is under way at a time."""
    sent = {one: one.calls - one.beats for one in beating}  # what registered is no beat
    due = [0.0] * len(beating)
    period_s, begin_s, cpu_s = 1 / A_CONNECTION, time.perf_counter(), cluster.processor_s()
    for place in range(len(beating)):
        due[place] = begin_s + period_s * place / len(beating)
    beats = sum(one.beats for one in beating)
    while (now_s := time.perf_counter()) < begin_s + seconds:
        for place, one in enumerate(beating):
            if due[place] <= now_s and one.calls - one.beats == sent[one]:
                one.beat()
                due[place] = max(due[place] + period_s, now_s - CATCH_UP * period_s)
        await asyncio.sleep(0.001)
    beats = sum(one.beats for one in beating) - beats
    took_s, cpu_s = time.perf_counter() - begin_s, cluster.processor_s() - cpu_s
    await until(lambda: all(one.calls - one.beats == sent[one] for one in beating), QUIET_S)
    return Figures(per_s=beats / took_s, cpu_us=1e6 * cpu_s / beats)


async def run(cluster: Cluster, seconds: float) -> None:
    """Print the rate that was reached beside the one that was due, and what it takes."""
    beating: list[Caller] = [*await heartbeats.masters(cluster, MASTER_CONNECTIONS), *await nodes(cluster)]
    cores = sorted(os.sched_getaffinity(0))
    cluster.hold_to(cores[:1])
    os.sched_setaffinity(0, cores[-1:])
    await measure(cluster, beating, WARM_UP_S)
    found = await measure(cluster, beating, seconds)
    due, used = MASTERS + NODES, found.per_s * found.cpu_us / 1e6
    name = f"{MASTERS:,} ApplicationMasters and {NODES:,} nodes, a heartbeat a second each"
    cores_of_all = due * found.cpu_us / 1e6
    print(f"| {name} | {found.per_s:,.0f} of {due:,} /s | {found.cpu_us:.1f} µs each", end="")
    print(f" | {used:.2f} cores used, {cores_of_all:.2f} for all |", flush=True)
    for one in beating:
        one.transport.abort()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    with local_cluster("--nodes", "1", more=SETTINGS) as cluster:
        uvloop.run(run(cluster, seconds))


if __name__ == "__main__":
    print_machine()
    main()
