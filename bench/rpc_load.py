"""Load on an RPC port: N connections, each with a pipeline of empty calls; prints calls per second.

    python bench/rpc_load.py --port 8032 --connections 50 --pipeline 4 --seconds 5
    python bench/rpc_load.py --port 8030 --protocol … --method … --token-file container_tokens --kind YARN_AM_RM_TOKEN
    python bench/rpc_load.py --serve          # also serves a bare loop in another process, as the reference

It measures the wire and the dispatch; a method that needs a real request answers an error, which counts separately.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import multiprocessing
import secrets
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import uvloop

from bench.machine import print_machine
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.client_connection import Answered, ClientConnection, ClientIdentity, ConnectionReady, Failed
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.writable import WireToken, parse_credentials
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RpcMethod, RpcProtocol
from yodel.rpc_io.server import RpcServer, ServerSecurity, TokenGrant

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
METHOD = "allocate"
BENCH_TOKEN = WireToken(identifier=b"bench", password=b"bench", kind="BENCH", service="")


class Caller(asyncio.Protocol):
    """One connection that keeps ``pipeline`` calls on the way."""

    transport: asyncio.Transport

    def __init__(self, identity: ClientIdentity, method: str, pipeline: int) -> None:
        self.machine = ClientConnection(identity=identity, cnonce=fresh_nonce())
        self.method, self.pipeline = method, pipeline
        self.answers = self.errors = self.calls = 0
        self.failed: RemoteFault | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.machine.connect())
        if self.machine.open:
            self.send(self.pipeline)

    def data_received(self, data: bytes) -> None:
        self.machine.receive_data(data)
        answered = 0
        while (event := self.machine.next_event()) is not None:
            match event:
                case Answered():
                    answered += 1
                    self.errors += event.fault is not None
                case ConnectionReady():
                    answered = self.pipeline
                case Failed():
                    self.failed = event.fault
        self.transport.write(self.machine.data_to_send())
        if answered and self.machine.open:
            self.send(answered)
            self.answers += answered

    def send(self, count: int) -> None:
        requests = []
        for _ in range(count):
            requests.append(self.machine.call(call_id=self.calls & 0x7FFFFFFF, method=self.method, body=b""))
            self.calls += 1
        self.transport.write(b"".join(requests))


def fresh_nonce() -> str:
    return base64.b64encode(secrets.token_bytes(30)).decode()


async def load(arguments: argparse.Namespace, port: int, token: WireToken | None) -> None:
    loop = asyncio.get_running_loop()
    callers = []
    for _ in range(arguments.connections):
        identity = ClientIdentity(
            client_id=secrets.token_bytes(16), protocol=arguments.protocol, user=arguments.user, token=token
        )
        caller = Caller(identity, arguments.method, arguments.pipeline)
        await loop.create_connection(lambda caller=caller: caller, arguments.host, port)  # type: ignore[misc]
        callers.append(caller)
    await asyncio.sleep(arguments.warm_up_s)
    before, begin = sum(caller.answers for caller in callers), time.perf_counter()
    await asyncio.sleep(arguments.seconds)
    answers, seconds = sum(caller.answers for caller in callers) - before, time.perf_counter() - begin
    errors = sum(caller.errors for caller in callers)
    failed = next((caller.failed for caller in callers if caller.failed is not None), None)
    print(f"{answers / seconds:,.0f} calls/s over {len(callers)} connections; errors {errors}; refused: {failed}")
    for caller in callers:
        caller.transport.abort()


def serve(pipe: Connection) -> None:
    """A bare loop: allocate answers an empty message."""

    def allocate(_context: CallContext, _request: AllocateRequestProto) -> AllocateResponseProto:
        return AllocateResponseProto()

    async def run() -> None:
        method = RpcMethod(name=METHOD, request_type=AllocateRequestProto, handler=allocate)
        dispatcher = Dispatcher(
            [RpcProtocol(name=PROTOCOL, methods={METHOD: method})],
            fault_for=lambda error: RemoteFault(faults.YARN_EXCEPTION, str(error)),
            retry_cache=None,
        )
        grant = TokenGrant(password=BENCH_TOKEN.password, user="bench", kind=BENCH_TOKEN.kind)
        security = ServerSecurity(
            allow_simple=True, token_passwords=lambda identifier: grant if identifier == b"bench" else None
        )
        server = RpcServer(name="bench", dispatcher=dispatcher, security=security, nonce=fresh_nonce)
        _, port = await server.start("127.0.0.1", 0)
        pipe.send(port)
        await asyncio.get_running_loop().run_in_executor(None, pipe.poll, None)
        await server.stop()

    uvloop.run(run())


@contextlib.contextmanager
def served() -> Iterator[int]:
    """The bare loop in its own process; ends with the block."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join(10)


def token_of(arguments: argparse.Namespace) -> WireToken | None:
    if arguments.token_file is None:
        return BENCH_TOKEN if arguments.serve and arguments.kind else None
    credentials = parse_credentials(arguments.token_file.read_bytes())
    return next(token for _, token in credentials.tokens if token.kind == arguments.kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8030)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--pipeline", type=int, default=1, help="calls on the way at once, a connection")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm-up-s", type=float, default=0.5)
    parser.add_argument("--protocol", default=PROTOCOL)
    parser.add_argument("--method", default=METHOD)
    parser.add_argument("--user", default="bench")
    parser.add_argument("--token-file", type=Path, help="a credentials file; without it the calls are SIMPLE")
    parser.add_argument("--kind", default="", help="kind of the token to use")
    parser.add_argument("--serve", action="store_true", help="serve a bare loop too; --kind BENCH uses a token")
    arguments = parser.parse_args()
    with served() if arguments.serve else contextlib.nullcontext(arguments.port) as port:
        uvloop.run(load(arguments, port, token_of(arguments)))


if __name__ == "__main__":
    print_machine()
    main()
