from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.admin import Administration
from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.rpc_calls import call, context
from yodel.domain.ids import NodeId
from yodel.domain.resource import Resource
from yodel.errors import AccessDenied, Refused
from yodel.hadoop_pb import resourcemanager_administration_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_server_resourcemanager_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.rm_rpc.admin_protocol import NAME, ROUTER_ONLY, AdminProtocol
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.serving.pieces import PIECE

ADMIN = context("admin")
REFRESHES = [
    "refreshQueues",
    "refreshNodes",
    "refreshSuperUserGroupsConfiguration",
    "refreshUserToGroupsMappings",
    "refreshAdminAcls",
    "refreshNodesResources",
    "refreshClusterMaxPriority",
]


@pytest.fixture
def administration(world: World) -> Administration:
    return Administration(world)


@pytest.fixture
async def protocol(administration: Administration) -> RpcProtocol:
    return AdminProtocol(await administration.service()).protocol()


def test_every_method_of_the_service_is_there_and_none_is_at_most_once(protocol: RpcProtocol) -> None:
    service = service_pb.DESCRIPTOR.services_by_name["ResourceManagerAdministrationProtocolService"]
    assert (protocol.name, set(protocol.methods)) == (NAME, {method.name for method in service.methods})
    assert not any(method.at_most_once for method in protocol.methods.values())


@pytest.mark.parametrize("method", REFRESHES)
async def test_refreshes_are_empty_and_for_administrators(protocol: RpcProtocol, method: str) -> None:
    assert (await call(protocol, method, ADMIN)).ByteSize() == 0
    with pytest.raises(AccessDenied, match=f"User alice doesn't have permission to call '{method}'"):
        await call(protocol, method, context("alice"))


@pytest.mark.parametrize(
    "method",
    [
        "updateNodeResource",
        "checkForDecommissioningNodes",
        "addToClusterNodeLabels",
        "removeFromClusterNodeLabels",
        "replaceLabelsOnNodes",
    ],
)
async def test_all_else_is_for_administrators_too(protocol: RpcProtocol, method: str) -> None:
    with pytest.raises(AccessDenied):
        await call(protocol, method, context("alice"))


async def test_groups_are_for_everybody(protocol: RpcProtocol) -> None:
    request = msg.GetGroupsForUserRequestProto(user="bob")
    assert (await call(protocol, "getGroupsForUser", context("alice"), request)).groups == ["staff", "users"]


async def test_graceful_leave_is_polled_and_then_forced(
    world: World, protocol: RpcProtocol, administration: Administration, tmp_path: Path
) -> None:
    """``yarn rmadmin -refreshNodes -g 10 -client``."""
    await world.running_am()
    (tmp_path / "exclude").write_text(NODE.host)
    administration.change(nodes_exclude_path=tmp_path / "exclude")
    request = msg.RefreshNodesRequestProto(decommissionType=msg.GRACEFUL, decommissionTimeout=10)
    await call(protocol, "refreshNodes", ADMIN, request)
    assert world.rm.state.nodes[NODE].decommissioning_timeout_s == 10
    (node,) = (await call(protocol, "checkForDecommissioningNodes", ADMIN)).decommissioningNodes
    assert ids.node_id(node) == NODE

    await call(protocol, "refreshNodes", ADMIN, msg.RefreshNodesRequestProto(decommissionType=msg.FORCEFUL))
    assert not (await call(protocol, "checkForDecommissioningNodes", ADMIN)).decommissioningNodes


async def test_node_resource_is_changed(world: World, protocol: RpcProtocol) -> None:
    await world.register_node()
    request = msg.UpdateNodeResourceRequestProto()
    entry = request.node_resource_map.add()
    entry.node_id.CopyFrom(ids.node_id_pb(NODE))
    entry.resource_option.resource.CopyFrom(ids.resource_pb(Resource(512, 1)))
    await call(protocol, "updateNodeResource", ADMIN, request)
    assert world.rm.state.nodes[NODE].capability == Resource(512, 1)


@pytest.mark.parametrize("method", ["addToClusterNodeLabels", "removeFromClusterNodeLabels", "replaceLabelsOnNodes"])
async def test_labels_are_disabled(protocol: RpcProtocol, method: str) -> None:
    with pytest.raises(Refused, match=r"^java\.io\.IOException: Node-label-based scheduling is disabled"):
        await call(protocol, method, ADMIN)


async def test_unknown_nodes_are_told_before_labels_are(protocol: RpcProtocol) -> None:
    request: Any = msg.ReplaceLabelsOnNodeRequestProto(failOnUnknownNodes=True)
    request.nodeToLabels.add().nodeId.host = "who"
    with pytest.raises(Refused, match=r"unknown nodes:\[who:0\]$"):
        await call(protocol, "replaceLabelsOnNodes", ADMIN, request)


@pytest.mark.parametrize("method", ["replaceLabelsOnNodes", "updateNodeResource"])
async def test_others_have_turns_while_thousands_of_nodes_are_read(protocol: RpcProtocol, method: str) -> None:
    request: Any = protocol.methods[method].request_type()
    for number in range(5 * PIECE):
        if method == "replaceLabelsOnNodes":
            request.failOnUnknownNodes = True
            request.nodeToLabels.add().nodeId.host = f"node-{number}"
        else:
            node_id = NodeId(f"node-{number}", 1)
            request.node_resource_map.add(
                node_id=ids.node_id_pb(node_id), resource_option={"resource": ids.resource_pb(Resource(1024, 1))}
            )
    answer, turns = asyncio.ensure_future(call(protocol, method, ADMIN, request)), 0
    while not answer.done():
        await asyncio.sleep(0)
        turns += 1
    with pytest.raises(Refused, match="node-0:"):
        await answer
    assert turns > 5


async def test_service_acls_are_not_enabled(protocol: RpcProtocol) -> None:
    with pytest.raises(Refused, match=r"Service Authorization \(hadoop\.security\.authorization\) not enabled\.$"):
        await call(protocol, "refreshServiceAcls", context("alice"))


@pytest.mark.parametrize("method", sorted(ROUTER_ONLY))
async def test_a_routers_methods_name_the_router(protocol: RpcProtocol, method: str) -> None:
    with pytest.raises(Refused, match=r"^It is not allowed to call the RM's .* Please call +Router's"):
        await call(protocol, method, ADMIN)
