"""Empty ``allocate`` heartbeats a second over 1, 50 and 500 connections, each an authenticated, registered AM.

    python -m bench.heartbeats [--seconds 5]
    python -m bench.heartbeats --client 127.0.0.1:8032 --scheduler 127.0.0.1:8030     # a running RM, Hadoop's own too

Every connection is one attempt: TOKEN authentication, response ids, one beat on the way at a time.  Server and client
share the machine; the reference (a bare loop without state or authentication, same client library) runs beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from pathlib import Path
from typing import cast

import uvloop

from bench.cluster import MASTER_PROTOCOL, Cluster, amrm_token, client, local_cluster, submit_unmanaged
from bench.machine import print_machine
from bench.rpc_load import fresh_nonce
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.client_connection import Answered, ClientConnection, ClientIdentity, ConnectionReady
from yodel.hadoop_rpc.writable import WireToken

CONNECTIONS = (1, 50, 500)


class Beating(asyncio.Protocol):
    """One ApplicationMaster: registers, then beats as fast as it is answered."""

    transport: asyncio.Transport

    def __init__(self, token: WireToken) -> None:
        identity = ClientIdentity(client_id=secrets.token_bytes(16), protocol=MASTER_PROTOCOL, user="", token=token)
        self.machine = ClientConnection(identity=identity, cnonce=fresh_nonce())
        self.beats, self.calls, self.response_id, self.is_registered = 0, 0, 0, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.machine.connect())

    def data_received(self, data: bytes) -> None:
        self.machine.receive_data(data)
        while (event := self.machine.next_event()) is not None:
            match event:
                case ConnectionReady():
                    self.transport.write(self.machine.data_to_send())
                    self.call("registerApplicationMaster", msg.RegisterApplicationMasterRequestProto(rpc_port=-1))
                case Answered(fault=fault, body=body):
                    if fault is not None:
                        raise RuntimeError(f"refused: {fault}")
                    self.answered(body)
        self.transport.write(self.machine.data_to_send())

    def answered(self, body: bytes) -> None:
        if self.is_registered:
            self.response_id = msg.AllocateResponseProto.FromString(body).response_id
            self.beats += 1
        self.is_registered = True
        request = msg.AllocateRequestProto(response_id=self.response_id, progress=0.5)
        request.blacklist_request.SetInParent()
        self.call("allocate", request)

    def call(self, method: str, request: msg.AllocateRequestProto | msg.RegisterApplicationMasterRequestProto) -> None:
        self.calls += 1
        self.transport.write(self.machine.call(call_id=self.calls, method=method, body=request.SerializeToString()))


async def measure(cluster: Cluster, connections: int, seconds: float) -> float:
    """Beats a second."""
    rpc = client(cluster)
    tokens = [(await amrm_token(rpc, await submit_unmanaged(rpc)))[1] for _ in range(connections)]
    await rpc.close()
    host, port = cluster.address("scheduler")
    beating = []
    for token in tokens:
        one = Beating(token)
        await asyncio.get_running_loop().create_connection(lambda one=one: one, host, port)  # type: ignore[misc]
        beating.append(one)
    await asyncio.sleep(1.0)
    before, begin_s = sum(b.beats for b in beating), time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (sum(b.beats for b in beating) - before) / (time.perf_counter() - begin_s)
    for one in beating:
        one.transport.abort()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--client", help="host:port of a running RM's client port")
    parser.add_argument("--scheduler", help="host:port of its scheduler port")
    arguments = parser.parse_args()
    for connections in CONNECTIONS:
        if arguments.client:
            running = Cluster(Path(), {"rm": {"client": arguments.client, "scheduler": arguments.scheduler}})
            rate = uvloop.run(measure(running, connections, arguments.seconds))
        else:
            with local_cluster("--nodes", "1") as cluster:
                rate = uvloop.run(measure(cluster, connections, arguments.seconds))
        print(f"| heartbeats, {connections} connections | {rate:,.0f} /s |", flush=True)


if __name__ == "__main__":
    print_machine()
    main()
