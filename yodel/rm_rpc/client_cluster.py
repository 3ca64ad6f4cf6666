"""ApplicationClientProtocol: the cluster: metrics, nodes, labels, attributes, resource types (ClientRMService).

Resource profiles and reservations are features that a default ResourceManager has switched off: they are answered with
its refusals.  Node attributes there are none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from yodel.domain.states import NodeState
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids, reports
from yodel.rpc_io.dispatch import CallContext, Handler
from yodel.services.nodes.agents import Agents
from yodel.services.views.queries import NodeView, Queries
from yodel.serving.pieces import PIECE, REPORTS_PIECE, taking_turns


class ClusterCalls:
    """Handlers by wire name in ``handlers``."""

    def __init__(self, queries: Queries, nodes: Agents) -> None:
        self._queries, self._nodes = queries, nodes

    def handlers(self) -> dict[str, Handler]:
        return {
            "getClusterMetrics": self.get_cluster_metrics,
            "getClusterNodes": self.get_cluster_nodes,
            "getNodeToLabels": self.get_node_to_labels,
            "getLabelsToNodes": self.get_labels_to_nodes,
            "getClusterNodeLabels": self.get_cluster_node_labels,
            "getClusterNodeAttributes": lambda _, __: msg.GetClusterNodeAttributesResponseProto(),
            "getAttributesToNodes": lambda _, __: msg.GetAttributesToNodesResponseProto(),
            "getNodesToAttributes": lambda _, __: msg.GetNodesToAttributesResponseProto(),
            "getResourceTypeInfo": self.get_resource_type_info,
            "getResourceProfiles": _profiles_disabled,
            "getResourceProfile": _profiles_disabled,
            "getNewReservation": _reservations_disabled,
            "submitReservation": _reservations_disabled,
            "updateReservation": _reservations_disabled,
            "deleteReservation": _reservations_disabled,
            "listReservations": _reservations_disabled,
        }

    def get_cluster_metrics(
        self, _: CallContext, __: msg.GetClusterMetricsRequestProto
    ) -> msg.GetClusterMetricsResponseProto:
        """``num_node_managers`` counts those that may come back too (RMContext.getRMNodes)."""
        by_state = self._queries.nodes_by_state()
        active = (NodeState.NEW, NodeState.RUNNING, NodeState.UNHEALTHY, NodeState.DECOMMISSIONING)
        response = msg.GetClusterMetricsResponseProto()
        metrics = response.cluster_metrics
        metrics.num_node_managers = sum(by_state.get(state, 0) for state in active)
        metrics.num_active_nms = by_state.get(NodeState.RUNNING, 0)
        metrics.num_lost_nms = by_state.get(NodeState.LOST, 0)
        metrics.num_unhealthy_nms = by_state.get(NodeState.UNHEALTHY, 0)
        metrics.num_decommissioned_nms = by_state.get(NodeState.DECOMMISSIONED, 0)
        metrics.num_rebooted_nms = by_state.get(NodeState.REBOOTED, 0)
        metrics.num_decommissioning_nms = by_state.get(NodeState.DECOMMISSIONING, 0)
        metrics.num_shutdown_nms = by_state.get(NodeState.SHUTDOWN, 0)
        return response

    async def get_cluster_nodes(
        self, _: CallContext, request: msg.GetClusterNodesRequestProto
    ) -> msg.GetClusterNodesResponseProto:
        def report(view: NodeView) -> pb.NodeReportProto:
            return reports.node_report(view.node, view.used, view.containers, load=self._nodes.load(view.node.id))

        views = list(self._queries.nodes(NodeState(state) for state in request.nodeStates))
        response = msg.GetClusterNodesResponseProto()
        async for view in taking_turns(views, REPORTS_PIECE):
            response.nodeReports.append(report(view))
        return response

    async def get_node_to_labels(
        self, _: CallContext, __: msg.GetNodesToLabelsRequestProto
    ) -> msg.GetNodesToLabelsResponseProto:
        response = msg.GetNodesToLabelsResponseProto()
        async for node in taking_turns(list(self._queries.rows.nodes.values()), PIECE):
            if node.labels:
                entry = response.nodeToLabels.add(nodeLabels=node.labels)
                entry.nodeId.CopyFrom(ids.node_id_pb(node.id))
        return response

    async def get_labels_to_nodes(
        self, _: CallContext, request: msg.GetLabelsToNodesRequestProto
    ) -> msg.GetLabelsToNodesResponseProto:
        wanted = frozenset(request.nodeLabels)
        response = msg.GetLabelsToNodesResponseProto()
        found = self._queries.rows.nodes_by_label().items()
        pairs = [(label, node) for label, nodes in found if not wanted or label in wanted for node in nodes]
        async for label, node in taking_turns(pairs, PIECE):
            entries = response.labelsToNodes
            entry = entries[-1] if entries and entries[-1].nodeLabels == label else entries.add(nodeLabels=label)
            entry.nodeId.append(ids.node_id_pb(node.id))
        return response

    async def get_cluster_node_labels(
        self, _: CallContext, __: msg.GetClusterNodeLabelsRequestProto
    ) -> msg.GetClusterNodeLabelsResponseProto:
        labels = list(self._queries.rows.nodes_by_label())
        response = msg.GetClusterNodeLabelsResponseProto(deprecatedNodeLabels=labels)
        async for label in taking_turns(labels, PIECE):
            response.nodeLabels.add(name=label, isExclusive=True)
        return response

    def get_resource_type_info(
        self, _: CallContext, __: msg.GetAllResourceTypeInfoRequestProto
    ) -> msg.GetAllResourceTypeInfoResponseProto:
        return msg.GetAllResourceTypeInfoResponseProto(resource_type_info=reports.resource_types())


def _profiles_disabled(_: CallContext, __: Any) -> NoReturn:
    """The distributed shell goes on only when exactly this class comes back."""
    raise RemoteFault(
        faults.FEATURE_NOT_ENABLED,
        "Resource profile is not enabled, please enable resource profile feature before using its functions. "
        "(by setting yarn.resourcemanager.resource-profiles.enabled to true)",
    )


def _reservations_disabled(_: CallContext, __: Any) -> NoReturn:
    raise RemoteFault(faults.YARN_EXCEPTION, "Reservation is not enabled. Please enable & try again")
