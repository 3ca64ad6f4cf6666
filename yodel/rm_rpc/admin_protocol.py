"""ResourceManagerAdministrationProtocol, port 8033 (AdminService): what ``yarn rmadmin`` calls.

All its methods are idempotent (``@Idempotent`` in Hadoop): a client that repeats one runs it again, and no retry cache
is asked.  Methods of a federation's Router answer with AdminService's own words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from google.protobuf.message import Message

from yodel.errors import Refused
from yodel.hadoop_pb import resourcemanager_administration_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_server_resourcemanager_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.nodes.administration import AdminService
from yodel.serving.pieces import in_pieces

NAME = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
ROUTER_ONLY = {
    "deregisterSubCluster": (
        "It is not allowed to call the RM's deregisterSubCluster to set the subCluster(s) state to SC_LOST, Please "
        "call Router's deregisterSubCluster to set."
    ),
    "saveFederationQueuePolicy": (
        "It is not allowed to call the RM's saveFederationQueuePolicy.  Please call Router's saveFederationQueuePolicy "
        "to set Policy."
    ),
    "batchSaveFederationQueuePolicies": (
        "It is not allowed to call the RM's  batchSaveFederationQueuePolicies.  Please call Router's "
        "batchSaveFederationQueuePolicies to set Policies."
    ),
    "listFederationQueuePolicies": (
        "It is not allowed to call the RM's  listFederationQueuePolicies.  Please call Router's "
        "listFederationQueuePolicies to list Policies."
    ),
    "deleteFederationApplication": (
        "It is not allowed to call the RM's  deleteFederationApplication.  Please call Router's "
        "deleteFederationApplication to delete Application."
    ),
    "getFederationSubClusters": (
        "It is not allowed to call the RM's  getFederationSubClusters.  Please call Router's getFederationSubClusters "
        "to get SubClusters."
    ),
    "deleteFederationPoliciesByQueues": (
        "It is not allowed to call the RM's  deleteFederationQueuePoliciesByQueues.  Please call Router's "
        "deleteFederationQueuePoliciesByQueues to delete Policies."
    ),
}


class AdminProtocol:
    """Handlers by wire name."""

    def __init__(self, admin: AdminService) -> None:
        self._admin = admin

    def protocol(self) -> RpcProtocol:
        admin = self._admin
        handlers: dict[str, Handler] = {
            "refreshQueues": self._refresh("refreshQueues", admin.refresh_queues, msg.RefreshQueuesResponseProto),
            "refreshNodes": self.refresh_nodes,
            "refreshSuperUserGroupsConfiguration": self._refresh(
                "refreshSuperUserGroupsConfiguration",
                admin.refresh_proxy_users,
                msg.RefreshSuperUserGroupsConfigurationResponseProto,
            ),
            "refreshUserToGroupsMappings": self.refresh_user_to_groups_mappings,
            "refreshAdminAcls": self._refresh(
                "refreshAdminAcls", admin.refresh_admin_acls, msg.RefreshAdminAclsResponseProto
            ),
            "refreshServiceAcls": self.refresh_service_acls,
            "getGroupsForUser": self.get_groups_for_user,
            "updateNodeResource": self.update_node_resource,
            "refreshNodesResources": self._refresh(
                "refreshNodesResources", admin.refresh_node_resources, msg.RefreshNodesResourcesResponseProto
            ),
            "addToClusterNodeLabels": self.add_to_cluster_node_labels,
            "removeFromClusterNodeLabels": self.remove_from_cluster_node_labels,
            "replaceLabelsOnNodes": self.replace_labels_on_nodes,
            "checkForDecommissioningNodes": self.check_for_decommissioning_nodes,
            "refreshClusterMaxPriority": self._refresh(
                "refreshClusterMaxPriority", admin.refresh_max_priority, msg.RefreshClusterMaxPriorityResponseProto
            ),
            **{name: _refusing(text) for name, text in ROUTER_ONLY.items()},
        }
        descriptor = service_pb.DESCRIPTOR.services_by_name["ResourceManagerAdministrationProtocolService"]
        return protocol(NAME, descriptor, handlers)

    async def refresh_nodes(
        self, context: CallContext, request: msg.RefreshNodesRequestProto
    ) -> msg.RefreshNodesResponseProto:
        self._admin.require_admin(context.user, "refreshNodes")
        if request.decommissionType == msg.FORCEFUL:
            await self._admin.refresh_nodes_forcefully()
        else:
            timeout_s = request.decommissionTimeout if request.HasField("decommissionTimeout") else None
            is_graceful = request.decommissionType == msg.GRACEFUL
            await self._admin.refresh_nodes(is_graceful=is_graceful, timeout_s=timeout_s)
        return msg.RefreshNodesResponseProto()

    def refresh_user_to_groups_mappings(
        self, context: CallContext, _: msg.RefreshUserToGroupsMappingsRequestProto
    ) -> msg.RefreshUserToGroupsMappingsResponseProto:
        self._admin.require_admin(context.user, "refreshUserToGroupsMappings")
        self._admin.refresh_groups()
        return msg.RefreshUserToGroupsMappingsResponseProto()

    def refresh_service_acls(
        self, _: CallContext, __: msg.RefreshServiceAclsRequestProto
    ) -> msg.RefreshServiceAclsResponseProto:
        """Hadoop looks whether there is anything to refresh before it looks who asks."""
        self._admin.refuse_service_acls()

    async def get_groups_for_user(
        self, _: CallContext, request: msg.GetGroupsForUserRequestProto
    ) -> msg.GetGroupsForUserResponseProto:
        return msg.GetGroupsForUserResponseProto(groups=await self._admin.groups_of(request.user))

    async def update_node_resource(
        self, context: CallContext, request: msg.UpdateNodeResourceRequestProto
    ) -> msg.UpdateNodeResourceResponseProto:
        self._admin.require_admin(context.user, "updateNodeResource")
        wanted = await in_pieces(
            lambda entry: (ids.node_id(entry.node_id), ids.resource(entry.resource_option.resource)),
            request.node_resource_map,
        )
        await self._admin.update_node_resource(dict(wanted))
        return msg.UpdateNodeResourceResponseProto()

    def add_to_cluster_node_labels(
        self, context: CallContext, _: msg.AddToClusterNodeLabelsRequestProto
    ) -> msg.AddToClusterNodeLabelsResponseProto:
        self._admin.require_admin(context.user, "addToClusterNodeLabels")
        self._admin.refuse_labels()

    def remove_from_cluster_node_labels(
        self, context: CallContext, _: msg.RemoveFromClusterNodeLabelsRequestProto
    ) -> msg.RemoveFromClusterNodeLabelsResponseProto:
        self._admin.require_admin(context.user, "removeFromClusterNodeLabels")
        self._admin.refuse_labels()

    async def replace_labels_on_nodes(
        self, context: CallContext, request: msg.ReplaceLabelsOnNodeRequestProto
    ) -> msg.ReplaceLabelsOnNodeResponseProto:
        self._admin.require_admin(context.user, "replaceLabelsOnNode")
        entries = request.nodeToLabels if request.failOnUnknownNodes else ()
        named = await in_pieces(lambda entry: (entry.nodeId.host, entry.nodeId.port), entries)
        self._admin.refuse_labels(named)

    def check_for_decommissioning_nodes(
        self, context: CallContext, _: msg.CheckForDecommissioningNodesRequestProto
    ) -> msg.CheckForDecommissioningNodesResponseProto:
        self._admin.require_admin(context.user, "checkForDecommissioningNodes")
        nodes = [ids.node_id_pb(node_id) for node_id in self._admin.decommissioning_nodes()]
        return msg.CheckForDecommissioningNodesResponseProto(decommissioningNodes=nodes)

    def _refresh(
        self, method: str, act: Callable[[], Awaitable[None]], response_type: Callable[[], Message]
    ) -> Handler:
        """A method whose request and response are empty."""

        async def handle(context: CallContext, _: Message) -> Message:
            self._admin.require_admin(context.user, method)
            await act()
            return response_type()

        return handle


def _refusing(text: str) -> Handler:
    def handle(_: CallContext, __: Message) -> Message:
        raise Refused(text)

    return handle
