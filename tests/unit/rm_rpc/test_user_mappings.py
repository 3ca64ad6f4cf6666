from __future__ import annotations

import pytest

from tests.support.admin import Administration
from tests.support.playbook import World
from tests.support.rpc_calls import call, context
from yodel.errors import AccessDenied, Refused
from yodel.hadoop_pb import GenericRefreshProtocol_pb2 as generic_pb
from yodel.hadoop_pb import GetUserMappingsProtocol_pb2 as groups_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc import user_mappings
from yodel.rm_rpc.user_mappings import UserMappings
from yodel.rpc_io.dispatch import RpcProtocol

ADMIN = context("admin")
Protocols = dict[str, RpcProtocol]


@pytest.fixture
def administration(world: World) -> Administration:
    return Administration(world)


@pytest.fixture
async def protocols(administration: Administration) -> Protocols:
    return {protocol.name: protocol for protocol in UserMappings(await administration.service()).protocols()}


async def test_groups_of_a_user(protocols: Protocols) -> None:
    request = groups_pb.GetGroupsForUserRequestProto(user="bob")
    protocol = protocols[user_mappings.GET_USER_MAPPINGS]
    assert (await call(protocol, "getGroupsForUser", context("alice"), request)).groups == ["staff", "users"]


async def test_mappings_are_refreshed_by_administrators(protocols: Protocols, administration: Administration) -> None:
    protocol = protocols[user_mappings.REFRESH_USER_MAPPINGS]
    for method in ("refreshUserToGroupsMappings", "refreshSuperUserGroupsConfiguration"):
        assert (await call(protocol, method, ADMIN)).ByteSize() == 0
        with pytest.raises(AccessDenied, match=method):
            await call(protocol, method, context("alice"))
    assert (administration.proxy_reloads, administration.forgotten) == (1, 1)


async def test_what_is_not_there_says_so(protocols: Protocols) -> None:
    with pytest.raises(Refused, match="not enabled"):
        await call(protocols[user_mappings.REFRESH_POLICY], "refreshServiceAcl", ADMIN)
    with pytest.raises(RemoteFault, match="not queued"):
        await call(protocols[user_mappings.REFRESH_CALL_QUEUE], "refreshCallQueue", ADMIN)
    request = generic_pb.GenericRefreshRequestProto(identifier="Cache")
    with pytest.raises(RemoteFault, match="No response handlers registered for identifier Cache") as caught:
        await call(protocols[user_mappings.GENERIC_REFRESH], "refresh", ADMIN, request)
    assert caught.value.java_class == faults.ILLEGAL_ARGUMENT
