from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.rpc_calls import serving
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.tokens import MasterKey, Token
from yodel.errors import Refused, Unavailable
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import TokenGrant
from yodel.pb_convert import ids, tokens
from yodel.ports.node_agents import AmStart
from yodel.rm_rpc.node_agents import NAME, RpcNodeAgents
from yodel.rpc_io.dispatch import CallContext, RpcMethod, RpcProtocol
from yodel.rpc_io.server import ServerSecurity

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
AM = ContainerId.of(ATTEMPT, 1)
KEY = MasterKey(key_id=1, secret=b"s" * 32)
CONTEXT = pb.ContainerLaunchContextProto(command=["java Main"])


def a_start(port: int) -> AmStart:
    node_id = NodeId("127.0.0.1", port)
    return AmStart(
        node_id=node_id,
        container_id=AM,
        user="alice",
        launch_context=CONTEXT.SerializeToString(),
        container_token=Token(identifier=b"ct", password=b"pw", kind="ContainerToken", service=str(node_id)),
        nm_token=tokens.nm_token(KEY, ATTEMPT, node_id, "alice"),
    )


Answer = Callable[[msg.StartContainersRequestProto], msg.StartContainersResponseProto]


async def start(answer: Answer, seen: list[CallContext] | None = None) -> None:
    """Start the AM at a node agent that answers so."""

    def handle(context: CallContext, request: msg.StartContainersRequestProto) -> Any:
        (seen if seen is not None else []).append(context)
        return answer(request)

    def grant(identifier: bytes) -> TokenGrant:
        right = tokens.nm_token(KEY, ATTEMPT, NodeId("127.0.0.1", port), "alice")
        assert identifier == right.identifier
        return TokenGrant(password=right.password, user=str(ATTEMPT), kind="NMToken")

    method = RpcMethod(name="startContainers", request_type=msg.StartContainersRequestProto, handler=handle)
    protocol = RpcProtocol(name=NAME, methods={method.name: method})
    async with serving(protocol, ServerSecurity(allow_simple=False, token_passwords=grant)) as port:
        await RpcNodeAgents(lambda: b"c" * 16).start_am(a_start(port))


def failing(text: str) -> Answer:
    def answer(_: msg.StartContainersRequestProto) -> msg.StartContainersResponseProto:
        response = msg.StartContainersResponseProto()
        failed = response.failed_requests.add(container_id=ids.container_id_pb(AM))
        failed.exception.class_name, failed.exception.message = faults.YARN_EXCEPTION, text
        return response

    return answer


async def test_am_is_started_with_its_token_as_its_attempt() -> None:
    requests: list[msg.StartContainersRequestProto] = []
    callers: list[CallContext] = []

    def answer(request: msg.StartContainersRequestProto) -> msg.StartContainersResponseProto:
        requests.append(request)
        return msg.StartContainersResponseProto(succeeded_requests=[ids.container_id_pb(AM)])

    await start(answer, callers)

    (entry,) = requests[0].start_container_request
    assert entry.container_launch_context == CONTEXT
    assert (entry.container_token.identifier, entry.container_token.kind) == (b"ct", "ContainerToken")
    assert (callers[0].token_kind, callers[0].user) == ("NMToken", str(ATTEMPT))


async def test_failed_start_is_refused_with_the_agents_words() -> None:
    with pytest.raises(Refused, match="no such resource"):
        await start(failing("no such resource"))


async def test_fault_is_refused_with_its_class_and_words() -> None:
    def answer(_: msg.StartContainersRequestProto) -> msg.StartContainersResponseProto:
        raise RemoteFault(faults.INVALID_TOKEN, "expired")

    with pytest.raises(Refused, match=r"InvalidToken.*expired"):
        await start(answer)


@pytest.mark.parametrize("java_class", [faults.NM_NOT_YET_READY, faults.RETRIABLE])
async def test_agent_that_is_not_ready_is_asked_again(java_class: str) -> None:
    def answer(_: msg.StartContainersRequestProto) -> msg.StartContainersResponseProto:
        raise RemoteFault(java_class, "not yet connected with ResourceManager")

    with pytest.raises(Unavailable, match="not yet connected"):
        await start(answer)


async def test_agent_that_does_not_listen_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await RpcNodeAgents(lambda: b"c" * 16).start_am(a_start(1))
