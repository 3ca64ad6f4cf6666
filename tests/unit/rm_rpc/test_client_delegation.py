from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.playbook import World
from tests.support.rpc_calls import call, client_of, client_protocol, context, serving
from tests.support.server_machine import OFFER
from yodel.domain.tokens import Token
from yodel.errors import AccessDenied, InvalidToken, InvalidValue
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import AuthMethod
from yodel.pb_convert.delegation_tokens import delegation_content
from yodel.rm_rpc.client_delegation import DelegationCalls
from yodel.rm_rpc.client_protocol import NAME
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rpc_io.server import ServerSecurity


async def a_token(world: World, user: str = "alice", renewer: str = "yarn") -> security_pb.TokenProto:
    request = security_pb.GetDelegationTokenRequestProto(renewer=renewer)
    answer = await world.run(call(client_protocol(world).protocol(), "getDelegationToken", context(user), request))
    token: security_pb.TokenProto = answer.token
    return token


async def submitter(world: World, token: Token | None) -> Any:
    """Return whom the RM takes a caller for that shows this token and calls itself eve."""
    protocol = client_protocol(world)
    security = ServerSecurity(allow_simple=True, token_passwords=protocol.token_grant)
    async with serving(protocol.protocol(), security) as port:
        client = client_of(NAME, port, user="eve", token=token)
        try:
            request = security_pb.GetDelegationTokenRequestProto(renewer="r")
            answer = await client.call("getDelegationToken", request, security_pb.GetDelegationTokenResponseProto)
        finally:
            await client.close()
    return world.rm.delegation_tokens.accepted(answer.token.identifier).owner


def wire(token: security_pb.TokenProto) -> Token:
    return Token(identifier=token.identifier, password=token.password, kind=token.kind, service="rm:8032")


async def test_token_has_hadoops_kind_and_no_service(world: World) -> None:
    token = await a_token(world)
    assert (token.kind, token.service, len(token.password)) == ("RM_DELEGATION_TOKEN", "", 20)


async def test_caller_with_a_token_is_its_owner_and_without_one_whom_it_says(world: World) -> None:
    token = await a_token(world)
    assert await submitter(world, wire(token)) == "alice"
    assert await submitter(world, None) == "eve"


async def test_token_that_a_proxy_got_names_it_in_every_call(world: World) -> None:
    proxied = replace(context("alice"), real_user="oozie")
    request = security_pb.GetDelegationTokenRequestProto(renewer="yarn")
    handlers = client_protocol(world)
    token = (await world.run(call(handlers.protocol(), "getDelegationToken", proxied, request))).token

    grant = handlers.token_grant(token.identifier)

    assert grant is not None
    assert (grant.user, grant.real_user) == ("alice", "oozie")
    assert await submitter(world, wire(token)) == "alice"
    contents = [delegation_content(row.identifier) for row in world.disk.delegation_tokens.values()]
    assert [(content.owner, content.real_user) for content in contents] == [("alice", "oozie")] * 2


async def test_wrong_password_and_unknown_token_do_not_log_in(world: World) -> None:
    token = wire(await a_token(world))
    for wrong in (replace(token, password=b"x" * 20), replace(token, identifier=token.identifier + b"\x08\x01")):
        with pytest.raises(RemoteFault):
            await submitter(world, wrong)


async def test_renewed_and_cancelled_over_the_protocol(world: World) -> None:
    protocol, token = client_protocol(world).protocol(), await a_token(world)
    renew = security_pb.RenewDelegationTokenRequestProto(token=token)
    world.clock.advance(100)
    answer = await world.run(call(protocol, "renewDelegationToken", context("yarn"), renew))
    assert answer.newExpiryTime == world.clock.now_ms() + 86_400_000

    cancel = security_pb.CancelDelegationTokenRequestProto(token=token)
    await world.run(call(protocol, "cancelDelegationToken", context(), cancel))
    with pytest.raises(InvalidToken, match="Token not found"):
        await world.run(call(protocol, "cancelDelegationToken", context(), cancel))


def test_refusals_carry_the_java_class_that_hadoop_wraps() -> None:
    invalid, denied = fault_for(InvalidToken("gone")), fault_for(AccessDenied("no"))
    assert invalid.message == "org.apache.hadoop.security.token.SecretManager$InvalidToken: gone"
    assert denied.message == "org.apache.hadoop.security.AccessControlException: no"
    assert {invalid.java_class, denied.java_class} == {"org.apache.hadoop.yarn.exceptions.YarnException"}


async def test_simple_caller_is_served_at_once_beside_tokens(world: World) -> None:
    protocol = client_protocol(world)
    security = ServerSecurity(allow_simple=True, token_passwords=protocol.token_grant)
    async with serving(protocol.protocol(), security) as port:
        client = client_of(NAME, port)
        try:
            await client.call(
                "getClusterMetrics", msg.GetClusterMetricsRequestProto(), msg.GetClusterMetricsResponseProto
            )
        finally:
            await client.close()


@pytest.mark.parametrize("method", ["SIMPLE", "TOKEN", "KERBEROS"])
async def test_with_security_tokens_are_for_those_with_tickets(world: World, method: str) -> None:
    calls = DelegationCalls(world.rm.delegation_tokens, OFFER)
    caller = replace(context("alice"), auth_method=AuthMethod[method])
    token = await a_token(world, renewer="alice")
    wanted = {
        "issued": calls.get_delegation_token(caller, security_pb.GetDelegationTokenRequestProto(renewer="yarn")),
        "renewed": calls.renew_delegation_token(caller, security_pb.RenewDelegationTokenRequestProto(token=token)),
        "cancelled": calls.cancel_delegation_token(caller, security_pb.CancelDelegationTokenRequestProto(token=token)),
    }
    for done, calling in wanted.items():
        if method == "KERBEROS":
            await world.run(calling)
        else:
            with pytest.raises(RemoteFault) as caught:
                await calling
            assert caught.value.java_class == faults.IO_EXCEPTION
            assert caught.value.message == f"Delegation Token can be {done} only with kerberos authentication"


async def test_renewer_by_principal_is_its_short_name_with_security(world: World) -> None:
    calls = DelegationCalls(world.rm.delegation_tokens, OFFER)
    caller = replace(context("alice"), auth_method=AuthMethod.KERBEROS)
    request = security_pb.GetDelegationTokenRequestProto(renewer="rm@EXAMPLE.COM")
    issued = await world.run(calls.get_delegation_token(caller, request))
    assert delegation_content(issued.token.identifier).renewer == "rm"
    with pytest.raises(InvalidValue, match="one of our realm"):
        await calls.get_delegation_token(caller, security_pb.GetDelegationTokenRequestProto(renewer="rm@ELSEWHERE"))
