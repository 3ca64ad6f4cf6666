from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.rpc_calls import call, client_protocol, context
from yodel.domain.node_load import NodeLoad, Utilization
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rpc_io.dispatch import RpcProtocol


@pytest.fixture
def protocol(world: World) -> RpcProtocol:
    return client_protocol(world).protocol()


@pytest.mark.parametrize(
    "method",
    ["getNewReservation", "submitReservation", "updateReservation", "deleteReservation", "listReservations"],
)
async def test_reservations_are_switched_off(protocol: RpcProtocol, method: str) -> None:
    with pytest.raises(RemoteFault, match=r"Reservation is not enabled\. Please enable & try again"):
        await call(protocol, method, context(), object())


async def test_node_shows_what_its_agent_measured(world: World, protocol: RpcProtocol) -> None:
    await world.register_node()
    used = Utilization(physical_mib=512, virtual_mib=1024, cpu_cores=0.5)
    world.rm.nodes.runtimes[NODE].load = NodeLoad(containers=used, health_ms=77)
    (report,) = (await call(protocol, "getClusterNodes", context())).nodeReports
    assert (report.containers_utilization.pmem, report.last_health_report_time) == (512, 77)


async def test_labels_are_those_of_the_nodes(world: World, protocol: RpcProtocol) -> None:
    await world.register_node()
    for method in ("getClusterNodeLabels", "getNodeToLabels", "getLabelsToNodes"):
        assert not (await call(protocol, method, context())).ListFields()
    world.rm.state.publish([replace(world.rm.state.nodes[NODE], labels=("gpu",))])

    labels = await call(protocol, "getClusterNodeLabels", context())
    assert [label.name for label in labels.nodeLabels] == ["gpu"]
    (by_node,) = (await call(protocol, "getNodeToLabels", context())).nodeToLabels
    assert (ids.node_id(by_node.nodeId), list(by_node.nodeLabels)) == (NODE, ["gpu"])
    (by_label,) = (await call(protocol, "getLabelsToNodes", context())).labelsToNodes
    assert [ids.node_id(node_id) for node_id in by_label.nodeId] == [NODE]
    other = msg.GetLabelsToNodesRequestProto(nodeLabels=["ssd"])
    assert not (await call(protocol, "getLabelsToNodes", context(), other)).labelsToNodes
