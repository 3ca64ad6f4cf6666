"""Calls to a protocol's handlers, without a socket and with one."""

from __future__ import annotations

import asyncio
import inspect
from base64 import b64encode
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from tests.support.playbook import WEB_ADDRESS, World
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.tokens import AMRM_TOKEN_KIND, Token
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import AuthMethod
from yodel.hadoop_rpc.writable import WireToken
from yodel.rm_rpc.client_protocol import ClientProtocol, ClientServices
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rm_rpc.tracker_protocol import TrackerProtocol
from yodel.rpc_io.client import RpcClient
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RetryCacheLimits, RpcProtocol
from yodel.rpc_io.server import RpcServer, ServerSecurity


def context(
    user: str = "alice", *, attempt_id: ApplicationAttemptId | None = None, world: World | None = None
) -> CallContext:
    """Return the context of a caller: a user, or an ApplicationMaster with its token."""
    token = world.rm.tokens.amrm_token(attempt_id) if world is not None and attempt_id is not None else None
    return CallContext(
        user=user if attempt_id is None else str(attempt_id),
        real_user=None,
        auth_method=AuthMethod.SIMPLE if token is None else AuthMethod.TOKEN,
        token_kind=AMRM_TOKEN_KIND if token is not None else None,
        token_identifier=token.identifier if token is not None else None,
        remote_host="10.0.0.9",
        remote_port=1,
    )


async def call(protocol: RpcProtocol, method: str, caller: CallContext, request: Any = None) -> Any:
    """The handler's answer; what is not given of the request is empty."""
    found = protocol.methods[method]
    answer = found.handler(caller, found.request_type() if request is None else request)
    return await answer if inspect.isawaitable(answer) else answer


async def counting_turns(work: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """Its result, and how often somebody else had a turn until it was there."""
    task, turns = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return await task, turns


def client_protocol(world: World) -> ClientProtocol:
    """The client port of the world's ResourceManager as it is now."""
    rm = world.rm
    services = ClientServices(
        queries=rm.queries,
        rights=rm.rights,
        submission=rm.submission,
        changes=rm.changes,
        nodes=rm.nodes,
        delegation_tokens=rm.delegation_tokens,
        log_aggregation=rm.log_aggregation,
    )
    return ClientProtocol(services, WEB_ADDRESS)


def tracker_protocol(world: World) -> RpcProtocol:
    """Serve the node agents' port of the world's ResourceManager; they are to report each quarter of a second."""
    rm = world.rm
    return TrackerProtocol(
        rm.registration,
        rm.heartbeats,
        rm.tokens,
        250,
        "yodel-test",
        master_keys=rm.master_keys,
        log_aggregation=rm.log_aggregation,
    ).protocol()


@asynccontextmanager
async def serving(protocol: RpcProtocol, security: ServerSecurity) -> AsyncIterator[int]:
    """The port on which the protocol is served."""
    server = RpcServer(
        name="test",
        dispatcher=Dispatcher([protocol], fault_for=fault_for, retry_cache=RetryCacheLimits()),
        security=security,
        nonce=lambda: b64encode(b"n" * 30).decode(),
    )
    _, port = await server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await server.stop()


def client_of(protocol_name: str, port: int, *, user: str = "alice", token: Token | None = None) -> RpcClient:
    wire = None
    if token is not None:
        wire = WireToken(identifier=token.identifier, password=token.password, kind=token.kind, service=token.service)
    return RpcClient(
        host="127.0.0.1",
        port=port,
        protocol=protocol_name,
        user=user,
        token=wire,
        call_timeout_s=10,
        client_id=b"c" * 16,
    )


async def every_method(client: RpcClient, service_module: Any, service: str) -> dict[str, str | None]:
    """Call each method of a service with an empty request: None for an answer, else the Java class of the fault.

    Raises:
        Unavailable: a call was not answered.
    """
    answers: dict[str, str | None] = {}
    nothing = msg.GetNewApplicationRequestProto()
    try:
        for method in service_module.DESCRIPTOR.services_by_name[service].methods:
            try:
                await client.call(method.name, nothing, GetMessageClass(method.output_type))
                answers[method.name] = None
            except RemoteFault as fault:
                answers[method.name] = fault.java_class
    finally:
        await client.close()
    return answers


def is_hadoops(java_class: str | None) -> bool:
    """An answer, or an error that Hadoop's own servers give; a bug of ours is a plain IOException."""
    return java_class is None or java_class.startswith(("org.apache.hadoop.", "java.lang."))
