from yodel.hadoop_pb import yarn_protos_pb2 as _yarn_protos_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DecommissionTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NORMAL: _ClassVar[DecommissionTypeProto]
    GRACEFUL: _ClassVar[DecommissionTypeProto]
    FORCEFUL: _ClassVar[DecommissionTypeProto]

class AttributeMappingOperationTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLACE: _ClassVar[AttributeMappingOperationTypeProto]
    ADD: _ClassVar[AttributeMappingOperationTypeProto]
    REMOVE: _ClassVar[AttributeMappingOperationTypeProto]
NORMAL: DecommissionTypeProto
GRACEFUL: DecommissionTypeProto
FORCEFUL: DecommissionTypeProto
REPLACE: AttributeMappingOperationTypeProto
ADD: AttributeMappingOperationTypeProto
REMOVE: AttributeMappingOperationTypeProto

class RefreshQueuesRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshQueuesResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshNodesRequestProto(_message.Message):
    __slots__ = ("decommissionType", "decommissionTimeout", "sub_cluster_id")
    DECOMMISSIONTYPE_FIELD_NUMBER: _ClassVar[int]
    DECOMMISSIONTIMEOUT_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    decommissionType: DecommissionTypeProto
    decommissionTimeout: int
    sub_cluster_id: str
    def __init__(self, decommissionType: _Optional[_Union[DecommissionTypeProto, str]] = ..., decommissionTimeout: _Optional[int] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshNodesResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshSuperUserGroupsConfigurationRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshSuperUserGroupsConfigurationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshUserToGroupsMappingsRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshUserToGroupsMappingsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshAdminAclsRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshAdminAclsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshServiceAclsRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshServiceAclsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetGroupsForUserRequestProto(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class GetGroupsForUserResponseProto(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateNodeResourceRequestProto(_message.Message):
    __slots__ = ("node_resource_map", "sub_cluster_id")
    NODE_RESOURCE_MAP_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    node_resource_map: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeResourceMapProto]
    sub_cluster_id: str
    def __init__(self, node_resource_map: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeResourceMapProto, _Mapping]]] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class UpdateNodeResourceResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshNodesResourcesRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshNodesResourcesResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AddToClusterNodeLabelsRequestProto(_message.Message):
    __slots__ = ("deprecatedNodeLabels", "nodeLabels", "sub_cluster_id")
    DEPRECATEDNODELABELS_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    deprecatedNodeLabels: _containers.RepeatedScalarFieldContainer[str]
    nodeLabels: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeLabelProto]
    sub_cluster_id: str
    def __init__(self, deprecatedNodeLabels: _Optional[_Iterable[str]] = ..., nodeLabels: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeLabelProto, _Mapping]]] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class AddToClusterNodeLabelsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RemoveFromClusterNodeLabelsRequestProto(_message.Message):
    __slots__ = ("nodeLabels", "sub_cluster_id")
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    nodeLabels: _containers.RepeatedScalarFieldContainer[str]
    sub_cluster_id: str
    def __init__(self, nodeLabels: _Optional[_Iterable[str]] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class RemoveFromClusterNodeLabelsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReplaceLabelsOnNodeRequestProto(_message.Message):
    __slots__ = ("nodeToLabels", "failOnUnknownNodes", "sub_cluster_id")
    NODETOLABELS_FIELD_NUMBER: _ClassVar[int]
    FAILONUNKNOWNNODES_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    nodeToLabels: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeIdToLabelsProto]
    failOnUnknownNodes: bool
    sub_cluster_id: str
    def __init__(self, nodeToLabels: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeIdToLabelsProto, _Mapping]]] = ..., failOnUnknownNodes: _Optional[bool] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class ReplaceLabelsOnNodeResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UpdateNodeLabelsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CheckForDecommissioningNodesRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class CheckForDecommissioningNodesResponseProto(_message.Message):
    __slots__ = ("decommissioningNodes",)
    DECOMMISSIONINGNODES_FIELD_NUMBER: _ClassVar[int]
    decommissioningNodes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeIdProto]
    def __init__(self, decommissioningNodes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]]] = ...) -> None: ...

class RefreshClusterMaxPriorityRequestProto(_message.Message):
    __slots__ = ("sub_cluster_id",)
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    sub_cluster_id: str
    def __init__(self, sub_cluster_id: _Optional[str] = ...) -> None: ...

class RefreshClusterMaxPriorityResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeIdToLabelsNameProto(_message.Message):
    __slots__ = ("nodeId", "nodeLabels")
    NODEID_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    nodeId: _yarn_protos_pb2.NodeIdProto
    nodeLabels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodeId: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., nodeLabels: _Optional[_Iterable[str]] = ...) -> None: ...

class NodesToAttributesMappingRequestProto(_message.Message):
    __slots__ = ("operation", "nodeToAttributes", "failOnUnknownNodes", "sub_cluster_id")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    NODETOATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    FAILONUNKNOWNNODES_FIELD_NUMBER: _ClassVar[int]
    SUB_CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    operation: AttributeMappingOperationTypeProto
    nodeToAttributes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeToAttributesProto]
    failOnUnknownNodes: bool
    sub_cluster_id: str
    def __init__(self, operation: _Optional[_Union[AttributeMappingOperationTypeProto, str]] = ..., nodeToAttributes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeToAttributesProto, _Mapping]]] = ..., failOnUnknownNodes: _Optional[bool] = ..., sub_cluster_id: _Optional[str] = ...) -> None: ...

class NodesToAttributesMappingResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeregisterSubClusterRequestProto(_message.Message):
    __slots__ = ("subClusterId",)
    SUBCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    subClusterId: str
    def __init__(self, subClusterId: _Optional[str] = ...) -> None: ...

class DeregisterSubClusterResponseProto(_message.Message):
    __slots__ = ("deregisterSubClusters",)
    DEREGISTERSUBCLUSTERS_FIELD_NUMBER: _ClassVar[int]
    deregisterSubClusters: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.DeregisterSubClustersProto]
    def __init__(self, deregisterSubClusters: _Optional[_Iterable[_Union[_yarn_protos_pb2.DeregisterSubClustersProto, _Mapping]]] = ...) -> None: ...

class SaveFederationQueuePolicyRequestProto(_message.Message):
    __slots__ = ("queue", "federationQueueWeight", "policyManagerClassName")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    FEDERATIONQUEUEWEIGHT_FIELD_NUMBER: _ClassVar[int]
    POLICYMANAGERCLASSNAME_FIELD_NUMBER: _ClassVar[int]
    queue: str
    federationQueueWeight: _yarn_protos_pb2.FederationQueueWeightProto
    policyManagerClassName: str
    def __init__(self, queue: _Optional[str] = ..., federationQueueWeight: _Optional[_Union[_yarn_protos_pb2.FederationQueueWeightProto, _Mapping]] = ..., policyManagerClassName: _Optional[str] = ...) -> None: ...

class SaveFederationQueuePolicyResponseProto(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class BatchSaveFederationQueuePoliciesRequestProto(_message.Message):
    __slots__ = ("federationQueueWeights",)
    FEDERATIONQUEUEWEIGHTS_FIELD_NUMBER: _ClassVar[int]
    federationQueueWeights: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.FederationQueueWeightProto]
    def __init__(self, federationQueueWeights: _Optional[_Iterable[_Union[_yarn_protos_pb2.FederationQueueWeightProto, _Mapping]]] = ...) -> None: ...

class BatchSaveFederationQueuePoliciesResponseProto(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class QueryFederationQueuePoliciesRequestProto(_message.Message):
    __slots__ = ("pageSize", "currentPage", "queue", "queues")
    PAGESIZE_FIELD_NUMBER: _ClassVar[int]
    CURRENTPAGE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    pageSize: int
    currentPage: int
    queue: str
    queues: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pageSize: _Optional[int] = ..., currentPage: _Optional[int] = ..., queue: _Optional[str] = ..., queues: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryFederationQueuePoliciesResponseProto(_message.Message):
    __slots__ = ("totalSize", "totalPage", "currentPage", "pageSize", "federationQueueWeights")
    TOTALSIZE_FIELD_NUMBER: _ClassVar[int]
    TOTALPAGE_FIELD_NUMBER: _ClassVar[int]
    CURRENTPAGE_FIELD_NUMBER: _ClassVar[int]
    PAGESIZE_FIELD_NUMBER: _ClassVar[int]
    FEDERATIONQUEUEWEIGHTS_FIELD_NUMBER: _ClassVar[int]
    totalSize: int
    totalPage: int
    currentPage: int
    pageSize: int
    federationQueueWeights: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.FederationQueueWeightProto]
    def __init__(self, totalSize: _Optional[int] = ..., totalPage: _Optional[int] = ..., currentPage: _Optional[int] = ..., pageSize: _Optional[int] = ..., federationQueueWeights: _Optional[_Iterable[_Union[_yarn_protos_pb2.FederationQueueWeightProto, _Mapping]]] = ...) -> None: ...

class DeleteFederationApplicationRequestProto(_message.Message):
    __slots__ = ("application",)
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    application: str
    def __init__(self, application: _Optional[str] = ...) -> None: ...

class DeleteFederationApplicationResponseProto(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class GetSubClustersRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSubClustersResponseProto(_message.Message):
    __slots__ = ("subClusters",)
    SUBCLUSTERS_FIELD_NUMBER: _ClassVar[int]
    subClusters: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.FederationSubClusterProto]
    def __init__(self, subClusters: _Optional[_Iterable[_Union[_yarn_protos_pb2.FederationSubClusterProto, _Mapping]]] = ...) -> None: ...

class DeleteFederationQueuePoliciesRequestProto(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, queues: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteFederationQueuePoliciesResponseProto(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class ActiveRMInfoProto(_message.Message):
    __slots__ = ("clusterId", "rmId")
    CLUSTERID_FIELD_NUMBER: _ClassVar[int]
    RMID_FIELD_NUMBER: _ClassVar[int]
    clusterId: str
    rmId: str
    def __init__(self, clusterId: _Optional[str] = ..., rmId: _Optional[str] = ...) -> None: ...
