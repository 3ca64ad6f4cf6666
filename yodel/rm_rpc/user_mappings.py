"""Hadoop's common refresh protocols, on port 8033: group mappings, proxy users, service ACLs, call queue, generic.

Hadoop's NameNode serves these by their own names; tools that are pointed at the RM get the same answers as from the
administration protocol.  A call queue that could be swapped and handlers that registered for a generic refresh do not
exist: both say so in Hadoop's words.
"""

from __future__ import annotations

from yodel.hadoop_pb import GenericRefreshProtocol_pb2 as generic_pb
from yodel.hadoop_pb import GetUserMappingsProtocol_pb2 as groups_pb
from yodel.hadoop_pb import RefreshAuthorizationPolicyProtocol_pb2 as policy_pb
from yodel.hadoop_pb import RefreshCallQueueProtocol_pb2 as queue_pb
from yodel.hadoop_pb import RefreshUserMappingsProtocol_pb2 as mappings_pb
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, RpcProtocol
from yodel.services.nodes.administration import AdminService

GET_USER_MAPPINGS = "org.apache.hadoop.tools.GetUserMappingsProtocol"
REFRESH_USER_MAPPINGS = "org.apache.hadoop.security.RefreshUserMappingsProtocol"
REFRESH_POLICY = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
REFRESH_CALL_QUEUE = "org.apache.hadoop.ipc.RefreshCallQueueProtocol"
GENERIC_REFRESH = "org.apache.hadoop.ipc.GenericRefreshProtocol"


class UserMappings:
    """Handlers by wire name, five protocols."""

    def __init__(self, admin: AdminService) -> None:
        self._admin = admin

    def protocols(self) -> list[RpcProtocol]:
        return [
            protocol(
                GET_USER_MAPPINGS,
                groups_pb.DESCRIPTOR.services_by_name["GetUserMappingsProtocolService"],
                {"getGroupsForUser": self.get_groups_for_user},
            ),
            protocol(
                REFRESH_USER_MAPPINGS,
                mappings_pb.DESCRIPTOR.services_by_name["RefreshUserMappingsProtocolService"],
                {
                    "refreshUserToGroupsMappings": self.refresh_groups,
                    "refreshSuperUserGroupsConfiguration": self.refresh_proxy_users,
                },
            ),
            protocol(
                REFRESH_POLICY,
                policy_pb.DESCRIPTOR.services_by_name["RefreshAuthorizationPolicyProtocolService"],
                {"refreshServiceAcl": self.refresh_service_acl},
            ),
            protocol(
                REFRESH_CALL_QUEUE,
                queue_pb.DESCRIPTOR.services_by_name["RefreshCallQueueProtocolService"],
                {"refreshCallQueue": self.refresh_call_queue},
            ),
            protocol(
                GENERIC_REFRESH,
                generic_pb.DESCRIPTOR.services_by_name["GenericRefreshProtocolService"],
                {"refresh": self.refresh},
            ),
        ]

    async def get_groups_for_user(
        self, _: CallContext, request: groups_pb.GetGroupsForUserRequestProto
    ) -> groups_pb.GetGroupsForUserResponseProto:
        return groups_pb.GetGroupsForUserResponseProto(groups=await self._admin.groups_of(request.user))

    def refresh_groups(
        self, context: CallContext, _: mappings_pb.RefreshUserToGroupsMappingsRequestProto
    ) -> mappings_pb.RefreshUserToGroupsMappingsResponseProto:
        self._admin.require_admin(context.user, "refreshUserToGroupsMappings")
        self._admin.refresh_groups()
        return mappings_pb.RefreshUserToGroupsMappingsResponseProto()

    async def refresh_proxy_users(
        self, context: CallContext, _: mappings_pb.RefreshSuperUserGroupsConfigurationRequestProto
    ) -> mappings_pb.RefreshSuperUserGroupsConfigurationResponseProto:
        self._admin.require_admin(context.user, "refreshSuperUserGroupsConfiguration")
        await self._admin.refresh_proxy_users()
        return mappings_pb.RefreshSuperUserGroupsConfigurationResponseProto()

    def refresh_service_acl(
        self, _: CallContext, __: policy_pb.RefreshServiceAclRequestProto
    ) -> policy_pb.RefreshServiceAclResponseProto:
        self._admin.refuse_service_acls()

    def refresh_call_queue(
        self, context: CallContext, _: queue_pb.RefreshCallQueueRequestProto
    ) -> queue_pb.RefreshCallQueueResponseProto:
        self._admin.require_admin(context.user, "refreshCallQueue")
        raise RemoteFault(faults.IO_EXCEPTION, "Exception refreshing the call queue: calls are not queued here")

    def refresh(
        self, context: CallContext, request: generic_pb.GenericRefreshRequestProto
    ) -> generic_pb.GenericRefreshResponseCollectionProto:
        """RefreshRegistry.dispatch for an identifier under which nobody registered."""
        self._admin.require_admin(context.user, "refresh")
        text = f"No response handlers registered for identifier {request.identifier[:256]}"
        raise RemoteFault(faults.ILLEGAL_ARGUMENT, text)
