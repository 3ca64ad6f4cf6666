from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.records import a_node
from tests.support.rpc_calls import call, client_protocol, context, counting_turns
from yodel.domain.node_load import NodeLoad, Utilization
from yodel.domain.states import NodeState
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rpc_io.dispatch import RpcProtocol
from yodel.serving.pieces import PIECE, REPORTS_PIECE


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


LABELS, NODES = 3, 2 * PIECE + 10
"""A label of a third of the nodes each."""
PIECES = {
    "getNodeToLabels": NODES // PIECE,
    "getLabelsToNodes": NODES // PIECE,
    "getClusterNodes": NODES // REPORTS_PIECE,
}


@pytest.mark.parametrize(("method", "pieces"), PIECES.items())
async def test_others_have_a_turn_while_many_nodes_are_told_of(
    world: World, protocol: RpcProtocol, method: str, pieces: int
) -> None:
    rows = [a_node(f"node-{n}", state=NodeState.RUNNING, labels=(f"label-{n % LABELS}",)) for n in range(NODES)]
    world.rm.state.publish(rows)
    answer, turns = await counting_turns(call(protocol, method, context()))
    assert turns >= pieces
    if method == "getNodeToLabels":
        assert [(ids.node_id(e.nodeId), list(e.nodeLabels)) for e in answer.nodeToLabels] == [
            (row.id, list(row.labels)) for row in rows
        ]
    if method == "getLabelsToNodes":
        assert {e.nodeLabels: [ids.node_id(i) for i in e.nodeId] for e in answer.labelsToNodes} == {
            f"label-{n}": [row.id for row in rows[n::LABELS]] for n in range(LABELS)
        }


async def test_as_many_labels_as_nodes_are_told_of_in_pieces(world: World, protocol: RpcProtocol) -> None:
    names = sorted(f"label-{n}" for n in range(NODES))
    world.rm.state.publish([a_node(f"node-{n}", labels=(f"label-{n}",)) for n in reversed(range(NODES))])
    labels, turns = await counting_turns(call(protocol, "getClusterNodeLabels", context()))
    assert turns >= NODES // PIECE
    assert list(labels.deprecatedNodeLabels) == [label.name for label in labels.nodeLabels] == names
    by_label, turns = await counting_turns(call(protocol, "getLabelsToNodes", context()))
    assert turns >= NODES // PIECE
    assert [entry.nodeLabels for entry in by_label.labelsToNodes] == names
    assert {len(entry.nodeId) for entry in by_label.labelsToNodes} == {1}
