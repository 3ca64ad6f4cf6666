from yodel.hadoop_pb import Security_pb2 as _Security_pb2
from yodel.hadoop_pb import yarn_protos_pb2 as _yarn_protos_pb2
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as _yarn_server_common_protos_pb2
from yodel.hadoop_pb import yarn_service_protos_pb2 as _yarn_service_protos_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RemoteNodeProto(_message.Message):
    __slots__ = ("node_id", "http_address", "rack_name", "node_partition")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RACK_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_PARTITION_FIELD_NUMBER: _ClassVar[int]
    node_id: _yarn_protos_pb2.NodeIdProto
    http_address: str
    rack_name: str
    node_partition: str
    def __init__(self, node_id: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., http_address: _Optional[str] = ..., rack_name: _Optional[str] = ..., node_partition: _Optional[str] = ...) -> None: ...

class RegisterDistributedSchedulingAMResponseProto(_message.Message):
    __slots__ = ("register_response", "max_container_resource", "min_container_resource", "incr_container_resource", "container_token_expiry_interval", "container_id_start", "nodes_for_scheduling")
    REGISTER_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTAINER_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    MIN_CONTAINER_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    INCR_CONTAINER_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_TOKEN_EXPIRY_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_START_FIELD_NUMBER: _ClassVar[int]
    NODES_FOR_SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    register_response: _yarn_service_protos_pb2.RegisterApplicationMasterResponseProto
    max_container_resource: _yarn_protos_pb2.ResourceProto
    min_container_resource: _yarn_protos_pb2.ResourceProto
    incr_container_resource: _yarn_protos_pb2.ResourceProto
    container_token_expiry_interval: int
    container_id_start: int
    nodes_for_scheduling: _containers.RepeatedCompositeFieldContainer[RemoteNodeProto]
    def __init__(self, register_response: _Optional[_Union[_yarn_service_protos_pb2.RegisterApplicationMasterResponseProto, _Mapping]] = ..., max_container_resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., min_container_resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., incr_container_resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., container_token_expiry_interval: _Optional[int] = ..., container_id_start: _Optional[int] = ..., nodes_for_scheduling: _Optional[_Iterable[_Union[RemoteNodeProto, _Mapping]]] = ...) -> None: ...

class DistributedSchedulingAllocateResponseProto(_message.Message):
    __slots__ = ("allocate_response", "nodes_for_scheduling")
    ALLOCATE_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    NODES_FOR_SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    allocate_response: _yarn_service_protos_pb2.AllocateResponseProto
    nodes_for_scheduling: _containers.RepeatedCompositeFieldContainer[RemoteNodeProto]
    def __init__(self, allocate_response: _Optional[_Union[_yarn_service_protos_pb2.AllocateResponseProto, _Mapping]] = ..., nodes_for_scheduling: _Optional[_Iterable[_Union[RemoteNodeProto, _Mapping]]] = ...) -> None: ...

class DistributedSchedulingAllocateRequestProto(_message.Message):
    __slots__ = ("allocate_request", "allocated_containers")
    ALLOCATE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ALLOCATED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    allocate_request: _yarn_service_protos_pb2.AllocateRequestProto
    allocated_containers: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    def __init__(self, allocate_request: _Optional[_Union[_yarn_service_protos_pb2.AllocateRequestProto, _Mapping]] = ..., allocated_containers: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ...) -> None: ...

class NodeLabelsProto(_message.Message):
    __slots__ = ("nodeLabels",)
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    nodeLabels: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeLabelProto]
    def __init__(self, nodeLabels: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeLabelProto, _Mapping]]] = ...) -> None: ...

class NodeAttributesProto(_message.Message):
    __slots__ = ("nodeAttributes",)
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    nodeAttributes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeAttributeProto]
    def __init__(self, nodeAttributes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeAttributeProto, _Mapping]]] = ...) -> None: ...

class RegisterNodeManagerRequestProto(_message.Message):
    __slots__ = ("node_id", "http_port", "resource", "nm_version", "container_statuses", "runningApplications", "nodeLabels", "physicalResource", "log_aggregation_reports_for_apps", "nodeAttributes", "nodeStatus", "kubernetes_node_name", "can")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    HTTP_PORT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NM_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_STATUSES_FIELD_NUMBER: _ClassVar[int]
    RUNNINGAPPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    PHYSICALRESOURCE_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_REPORTS_FOR_APPS_FIELD_NUMBER: _ClassVar[int]
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    NODESTATUS_FIELD_NUMBER: _ClassVar[int]
    KUBERNETES_NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    CAN_FIELD_NUMBER: _ClassVar[int]
    node_id: _yarn_protos_pb2.NodeIdProto
    http_port: int
    resource: _yarn_protos_pb2.ResourceProto
    nm_version: str
    container_statuses: _containers.RepeatedCompositeFieldContainer[NMContainerStatusProto]
    runningApplications: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationIdProto]
    nodeLabels: NodeLabelsProto
    physicalResource: _yarn_protos_pb2.ResourceProto
    log_aggregation_reports_for_apps: _containers.RepeatedCompositeFieldContainer[LogAggregationReportProto]
    nodeAttributes: NodeAttributesProto
    nodeStatus: _yarn_server_common_protos_pb2.NodeStatusProto
    kubernetes_node_name: str
    can: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_id: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., http_port: _Optional[int] = ..., resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., nm_version: _Optional[str] = ..., container_statuses: _Optional[_Iterable[_Union[NMContainerStatusProto, _Mapping]]] = ..., runningApplications: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]]] = ..., nodeLabels: _Optional[_Union[NodeLabelsProto, _Mapping]] = ..., physicalResource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., log_aggregation_reports_for_apps: _Optional[_Iterable[_Union[LogAggregationReportProto, _Mapping]]] = ..., nodeAttributes: _Optional[_Union[NodeAttributesProto, _Mapping]] = ..., nodeStatus: _Optional[_Union[_yarn_server_common_protos_pb2.NodeStatusProto, _Mapping]] = ..., kubernetes_node_name: _Optional[str] = ..., can: _Optional[_Iterable[str]] = ...) -> None: ...

class RegisterNodeManagerResponseProto(_message.Message):
    __slots__ = ("container_token_master_key", "nm_token_master_key", "nodeAction", "rm_identifier", "diagnostics_message", "rm_version", "areNodeLabelsAcceptedByRM", "resource", "areNodeAttributesAcceptedByRM", "can")
    CONTAINER_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    NM_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    NODEACTION_FIELD_NUMBER: _ClassVar[int]
    RM_IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RM_VERSION_FIELD_NUMBER: _ClassVar[int]
    ARENODELABELSACCEPTEDBYRM_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    ARENODEATTRIBUTESACCEPTEDBYRM_FIELD_NUMBER: _ClassVar[int]
    CAN_FIELD_NUMBER: _ClassVar[int]
    container_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    nm_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    nodeAction: _yarn_server_common_protos_pb2.NodeActionProto
    rm_identifier: int
    diagnostics_message: str
    rm_version: str
    areNodeLabelsAcceptedByRM: bool
    resource: _yarn_protos_pb2.ResourceProto
    areNodeAttributesAcceptedByRM: bool
    can: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, container_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., nm_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., nodeAction: _Optional[_Union[_yarn_server_common_protos_pb2.NodeActionProto, str]] = ..., rm_identifier: _Optional[int] = ..., diagnostics_message: _Optional[str] = ..., rm_version: _Optional[str] = ..., areNodeLabelsAcceptedByRM: _Optional[bool] = ..., resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., areNodeAttributesAcceptedByRM: _Optional[bool] = ..., can: _Optional[_Iterable[str]] = ...) -> None: ...

class UnRegisterNodeManagerRequestProto(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: _yarn_protos_pb2.NodeIdProto
    def __init__(self, node_id: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ...) -> None: ...

class UnRegisterNodeManagerResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeHeartbeatRequestProto(_message.Message):
    __slots__ = ("node_status", "last_known_container_token_master_key", "last_known_nm_token_master_key", "nodeLabels", "log_aggregation_reports_for_apps", "registering_collectors", "nodeAttributes", "tokenSequenceNo", "capacity", "colocation_policy_version", "emergency", "loan", "written", "shuffle")
    NODE_STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_KNOWN_CONTAINER_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    LAST_KNOWN_NM_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_REPORTS_FOR_APPS_FIELD_NUMBER: _ClassVar[int]
    REGISTERING_COLLECTORS_FIELD_NUMBER: _ClassVar[int]
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    TOKENSEQUENCENO_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    COLOCATION_POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    EMERGENCY_FIELD_NUMBER: _ClassVar[int]
    LOAN_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    node_status: _yarn_server_common_protos_pb2.NodeStatusProto
    last_known_container_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    last_known_nm_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    nodeLabels: NodeLabelsProto
    log_aggregation_reports_for_apps: _containers.RepeatedCompositeFieldContainer[LogAggregationReportProto]
    registering_collectors: _containers.RepeatedCompositeFieldContainer[AppCollectorDataProto]
    nodeAttributes: NodeAttributesProto
    tokenSequenceNo: int
    capacity: YodelCapacityProto
    colocation_policy_version: str
    emergency: YodelEmergencyProto
    loan: YodelLoanReportProto
    written: YodelWrittenReportProto
    shuffle: _containers.RepeatedCompositeFieldContainer[YodelShuffleProto]
    def __init__(self, node_status: _Optional[_Union[_yarn_server_common_protos_pb2.NodeStatusProto, _Mapping]] = ..., last_known_container_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., last_known_nm_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., nodeLabels: _Optional[_Union[NodeLabelsProto, _Mapping]] = ..., log_aggregation_reports_for_apps: _Optional[_Iterable[_Union[LogAggregationReportProto, _Mapping]]] = ..., registering_collectors: _Optional[_Iterable[_Union[AppCollectorDataProto, _Mapping]]] = ..., nodeAttributes: _Optional[_Union[NodeAttributesProto, _Mapping]] = ..., tokenSequenceNo: _Optional[int] = ..., capacity: _Optional[_Union[YodelCapacityProto, _Mapping]] = ..., colocation_policy_version: _Optional[str] = ..., emergency: _Optional[_Union[YodelEmergencyProto, _Mapping]] = ..., loan: _Optional[_Union[YodelLoanReportProto, _Mapping]] = ..., written: _Optional[_Union[YodelWrittenReportProto, _Mapping]] = ..., shuffle: _Optional[_Iterable[_Union[YodelShuffleProto, _Mapping]]] = ...) -> None: ...

class LogAggregationReportProto(_message.Message):
    __slots__ = ("application_id", "log_aggregation_status", "diagnostics")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_STATUS_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    log_aggregation_status: _yarn_protos_pb2.LogAggregationStatusProto
    diagnostics: str
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., log_aggregation_status: _Optional[_Union[_yarn_protos_pb2.LogAggregationStatusProto, str]] = ..., diagnostics: _Optional[str] = ...) -> None: ...

class NodeHeartbeatResponseProto(_message.Message):
    __slots__ = ("response_id", "container_token_master_key", "nm_token_master_key", "nodeAction", "containers_to_cleanup", "applications_to_cleanup", "nextHeartBeatInterval", "diagnostics_message", "containers_to_be_removed_from_nm", "system_credentials_for_apps", "areNodeLabelsAcceptedByRM", "containers_to_decrease", "containers_to_signal", "resource", "container_queuing_limit", "app_collectors", "containers_to_update", "areNodeAttributesAcceptedByRM", "tokenSequenceNo", "containers_on_notice", "colocation_policy", "pods", "eviction_ranks", "allocatable")
    RESPONSE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    NM_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    NODEACTION_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_TO_CLEANUP_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONS_TO_CLEANUP_FIELD_NUMBER: _ClassVar[int]
    NEXTHEARTBEATINTERVAL_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_TO_BE_REMOVED_FROM_NM_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_CREDENTIALS_FOR_APPS_FIELD_NUMBER: _ClassVar[int]
    ARENODELABELSACCEPTEDBYRM_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_TO_DECREASE_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_TO_SIGNAL_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_QUEUING_LIMIT_FIELD_NUMBER: _ClassVar[int]
    APP_COLLECTORS_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_TO_UPDATE_FIELD_NUMBER: _ClassVar[int]
    ARENODEATTRIBUTESACCEPTEDBYRM_FIELD_NUMBER: _ClassVar[int]
    TOKENSEQUENCENO_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_ON_NOTICE_FIELD_NUMBER: _ClassVar[int]
    COLOCATION_POLICY_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_RANKS_FIELD_NUMBER: _ClassVar[int]
    ALLOCATABLE_FIELD_NUMBER: _ClassVar[int]
    response_id: int
    container_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    nm_token_master_key: _yarn_server_common_protos_pb2.MasterKeyProto
    nodeAction: _yarn_server_common_protos_pb2.NodeActionProto
    containers_to_cleanup: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    applications_to_cleanup: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationIdProto]
    nextHeartBeatInterval: int
    diagnostics_message: str
    containers_to_be_removed_from_nm: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    system_credentials_for_apps: _containers.RepeatedCompositeFieldContainer[SystemCredentialsForAppsProto]
    areNodeLabelsAcceptedByRM: bool
    containers_to_decrease: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    containers_to_signal: _containers.RepeatedCompositeFieldContainer[_yarn_service_protos_pb2.SignalContainerRequestProto]
    resource: _yarn_protos_pb2.ResourceProto
    container_queuing_limit: ContainerQueuingLimitProto
    app_collectors: _containers.RepeatedCompositeFieldContainer[AppCollectorDataProto]
    containers_to_update: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    areNodeAttributesAcceptedByRM: bool
    tokenSequenceNo: int
    containers_on_notice: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    colocation_policy: YodelPolicyProto
    pods: _containers.RepeatedCompositeFieldContainer[YodelPodProto]
    eviction_ranks: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    allocatable: _containers.RepeatedCompositeFieldContainer[YodelFigureProto]
    def __init__(self, response_id: _Optional[int] = ..., container_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., nm_token_master_key: _Optional[_Union[_yarn_server_common_protos_pb2.MasterKeyProto, _Mapping]] = ..., nodeAction: _Optional[_Union[_yarn_server_common_protos_pb2.NodeActionProto, str]] = ..., containers_to_cleanup: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., applications_to_cleanup: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]]] = ..., nextHeartBeatInterval: _Optional[int] = ..., diagnostics_message: _Optional[str] = ..., containers_to_be_removed_from_nm: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., system_credentials_for_apps: _Optional[_Iterable[_Union[SystemCredentialsForAppsProto, _Mapping]]] = ..., areNodeLabelsAcceptedByRM: _Optional[bool] = ..., containers_to_decrease: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., containers_to_signal: _Optional[_Iterable[_Union[_yarn_service_protos_pb2.SignalContainerRequestProto, _Mapping]]] = ..., resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., container_queuing_limit: _Optional[_Union[ContainerQueuingLimitProto, _Mapping]] = ..., app_collectors: _Optional[_Iterable[_Union[AppCollectorDataProto, _Mapping]]] = ..., containers_to_update: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., areNodeAttributesAcceptedByRM: _Optional[bool] = ..., tokenSequenceNo: _Optional[int] = ..., containers_on_notice: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., colocation_policy: _Optional[_Union[YodelPolicyProto, _Mapping]] = ..., pods: _Optional[_Iterable[_Union[YodelPodProto, _Mapping]]] = ..., eviction_ranks: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., allocatable: _Optional[_Iterable[_Union[YodelFigureProto, _Mapping]]] = ...) -> None: ...

class ContainerQueuingLimitProto(_message.Message):
    __slots__ = ("max_queue_length", "max_queue_wait_time_in_ms")
    MAX_QUEUE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUE_WAIT_TIME_IN_MS_FIELD_NUMBER: _ClassVar[int]
    max_queue_length: int
    max_queue_wait_time_in_ms: int
    def __init__(self, max_queue_length: _Optional[int] = ..., max_queue_wait_time_in_ms: _Optional[int] = ...) -> None: ...

class SystemCredentialsForAppsProto(_message.Message):
    __slots__ = ("appId", "credentialsForApp")
    APPID_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALSFORAPP_FIELD_NUMBER: _ClassVar[int]
    appId: _yarn_protos_pb2.ApplicationIdProto
    credentialsForApp: bytes
    def __init__(self, appId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., credentialsForApp: _Optional[bytes] = ...) -> None: ...

class AppCollectorDataProto(_message.Message):
    __slots__ = ("app_id", "app_collector_addr", "rm_identifier", "version", "app_collector_token")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_COLLECTOR_ADDR_FIELD_NUMBER: _ClassVar[int]
    RM_IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    APP_COLLECTOR_TOKEN_FIELD_NUMBER: _ClassVar[int]
    app_id: _yarn_protos_pb2.ApplicationIdProto
    app_collector_addr: str
    rm_identifier: int
    version: int
    app_collector_token: _Security_pb2.TokenProto
    def __init__(self, app_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., app_collector_addr: _Optional[str] = ..., rm_identifier: _Optional[int] = ..., version: _Optional[int] = ..., app_collector_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ...) -> None: ...

class ReportNewCollectorInfoRequestProto(_message.Message):
    __slots__ = ("app_collectors",)
    APP_COLLECTORS_FIELD_NUMBER: _ClassVar[int]
    app_collectors: _containers.RepeatedCompositeFieldContainer[AppCollectorDataProto]
    def __init__(self, app_collectors: _Optional[_Iterable[_Union[AppCollectorDataProto, _Mapping]]] = ...) -> None: ...

class ReportNewCollectorInfoResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTimelineCollectorContextRequestProto(_message.Message):
    __slots__ = ("appId",)
    APPID_FIELD_NUMBER: _ClassVar[int]
    appId: _yarn_protos_pb2.ApplicationIdProto
    def __init__(self, appId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ...) -> None: ...

class GetTimelineCollectorContextResponseProto(_message.Message):
    __slots__ = ("user_id", "flow_name", "flow_version", "flow_run_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FLOW_NAME_FIELD_NUMBER: _ClassVar[int]
    FLOW_VERSION_FIELD_NUMBER: _ClassVar[int]
    FLOW_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    flow_name: str
    flow_version: str
    flow_run_id: int
    def __init__(self, user_id: _Optional[str] = ..., flow_name: _Optional[str] = ..., flow_version: _Optional[str] = ..., flow_run_id: _Optional[int] = ...) -> None: ...

class NMContainerStatusProto(_message.Message):
    __slots__ = ("container_id", "container_state", "resource", "priority", "diagnostics", "container_exit_status", "creation_time", "nodeLabelExpression", "version", "executionType", "allocation_request_id", "allocation_tags")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_STATE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    NODELABELEXPRESSION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONTYPE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_TAGS_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    container_state: _yarn_protos_pb2.ContainerStateProto
    resource: _yarn_protos_pb2.ResourceProto
    priority: _yarn_protos_pb2.PriorityProto
    diagnostics: str
    container_exit_status: int
    creation_time: int
    nodeLabelExpression: str
    version: int
    executionType: _yarn_protos_pb2.ExecutionTypeProto
    allocation_request_id: int
    allocation_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., container_state: _Optional[_Union[_yarn_protos_pb2.ContainerStateProto, str]] = ..., resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., priority: _Optional[_Union[_yarn_protos_pb2.PriorityProto, _Mapping]] = ..., diagnostics: _Optional[str] = ..., container_exit_status: _Optional[int] = ..., creation_time: _Optional[int] = ..., nodeLabelExpression: _Optional[str] = ..., version: _Optional[int] = ..., executionType: _Optional[_Union[_yarn_protos_pb2.ExecutionTypeProto, str]] = ..., allocation_request_id: _Optional[int] = ..., allocation_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class SCMUploaderNotifyRequestProto(_message.Message):
    __slots__ = ("resource_key", "filename")
    RESOURCE_KEY_FIELD_NUMBER: _ClassVar[int]
    FILENAME_FIELD_NUMBER: _ClassVar[int]
    resource_key: str
    filename: str
    def __init__(self, resource_key: _Optional[str] = ..., filename: _Optional[str] = ...) -> None: ...

class SCMUploaderNotifyResponseProto(_message.Message):
    __slots__ = ("accepted",)
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    def __init__(self, accepted: _Optional[bool] = ...) -> None: ...

class SCMUploaderCanUploadRequestProto(_message.Message):
    __slots__ = ("resource_key",)
    RESOURCE_KEY_FIELD_NUMBER: _ClassVar[int]
    resource_key: str
    def __init__(self, resource_key: _Optional[str] = ...) -> None: ...

class SCMUploaderCanUploadResponseProto(_message.Message):
    __slots__ = ("uploadable",)
    UPLOADABLE_FIELD_NUMBER: _ClassVar[int]
    uploadable: bool
    def __init__(self, uploadable: _Optional[bool] = ...) -> None: ...

class YodelFigureProto(_message.Message):
    __slots__ = ("name", "amount")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    amount: int
    def __init__(self, name: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class YodelTermProto(_message.Message):
    __slots__ = ("name", "amount", "why")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    name: str
    amount: int
    why: str
    def __init__(self, name: _Optional[str] = ..., amount: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class YodelStepProto(_message.Message):
    __slots__ = ("name", "before", "after", "why")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    name: str
    before: int
    after: int
    why: str
    def __init__(self, name: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class YodelLoanProto(_message.Message):
    __slots__ = ("resource", "amount", "measured", "terms", "steps")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    MEASURED_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    resource: str
    amount: int
    measured: _containers.RepeatedCompositeFieldContainer[YodelFigureProto]
    terms: _containers.RepeatedCompositeFieldContainer[YodelTermProto]
    steps: _containers.RepeatedCompositeFieldContainer[YodelStepProto]
    def __init__(self, resource: _Optional[str] = ..., amount: _Optional[int] = ..., measured: _Optional[_Iterable[_Union[YodelFigureProto, _Mapping]]] = ..., terms: _Optional[_Iterable[_Union[YodelTermProto, _Mapping]]] = ..., steps: _Optional[_Iterable[_Union[YodelStepProto, _Mapping]]] = ...) -> None: ...

class YodelCapacityProto(_message.Message):
    __slots__ = ("policy_version", "source", "age_ms", "loans", "problems", "bounds", "pressure", "counts", "written_groups", "best_effort")
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    LOANS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_GROUPS_FIELD_NUMBER: _ClassVar[int]
    BEST_EFFORT_FIELD_NUMBER: _ClassVar[int]
    policy_version: str
    source: str
    age_ms: int
    loans: _containers.RepeatedCompositeFieldContainer[YodelLoanProto]
    problems: _containers.RepeatedScalarFieldContainer[str]
    bounds: _containers.RepeatedCompositeFieldContainer[YodelBoundProto]
    pressure: YodelPressureProto
    counts: _containers.RepeatedCompositeFieldContainer[YodelFigureProto]
    written_groups: int
    best_effort: str
    def __init__(self, policy_version: _Optional[str] = ..., source: _Optional[str] = ..., age_ms: _Optional[int] = ..., loans: _Optional[_Iterable[_Union[YodelLoanProto, _Mapping]]] = ..., problems: _Optional[_Iterable[str]] = ..., bounds: _Optional[_Iterable[_Union[YodelBoundProto, _Mapping]]] = ..., pressure: _Optional[_Union[YodelPressureProto, _Mapping]] = ..., counts: _Optional[_Iterable[_Union[YodelFigureProto, _Mapping]]] = ..., written_groups: _Optional[int] = ..., best_effort: _Optional[str] = ...) -> None: ...

class YodelLoanReportProto(_message.Message):
    __slots__ = ("policy_version", "source", "age_ms", "loans", "problems", "pressure")
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    LOANS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    policy_version: str
    source: str
    age_ms: int
    loans: _containers.RepeatedCompositeFieldContainer[YodelLoanProto]
    problems: _containers.RepeatedScalarFieldContainer[str]
    pressure: YodelPressureProto
    def __init__(self, policy_version: _Optional[str] = ..., source: _Optional[str] = ..., age_ms: _Optional[int] = ..., loans: _Optional[_Iterable[_Union[YodelLoanProto, _Mapping]]] = ..., problems: _Optional[_Iterable[str]] = ..., pressure: _Optional[_Union[YodelPressureProto, _Mapping]] = ...) -> None: ...

class YodelWrittenReportProto(_message.Message):
    __slots__ = ("policy_version", "problems", "bounds", "counts", "written_groups", "best_effort")
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_GROUPS_FIELD_NUMBER: _ClassVar[int]
    BEST_EFFORT_FIELD_NUMBER: _ClassVar[int]
    policy_version: str
    problems: _containers.RepeatedScalarFieldContainer[str]
    bounds: _containers.RepeatedCompositeFieldContainer[YodelBoundProto]
    counts: _containers.RepeatedCompositeFieldContainer[YodelFigureProto]
    written_groups: int
    best_effort: str
    def __init__(self, policy_version: _Optional[str] = ..., problems: _Optional[_Iterable[str]] = ..., bounds: _Optional[_Iterable[_Union[YodelBoundProto, _Mapping]]] = ..., counts: _Optional[_Iterable[_Union[YodelFigureProto, _Mapping]]] = ..., written_groups: _Optional[int] = ..., best_effort: _Optional[str] = ...) -> None: ...

class YodelPressureProto(_message.Message):
    __slots__ = ("source", "some_basis_points")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SOME_BASIS_POINTS_FIELD_NUMBER: _ClassVar[int]
    source: str
    some_basis_points: int
    def __init__(self, source: _Optional[str] = ..., some_basis_points: _Optional[int] = ...) -> None: ...

class YodelBoundProto(_message.Message):
    __slots__ = ("container", "file", "decided", "written", "read", "put_back", "why")
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    PUT_BACK_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    container: str
    file: str
    decided: int
    written: int
    read: int
    put_back: int
    why: str
    def __init__(self, container: _Optional[str] = ..., file: _Optional[str] = ..., decided: _Optional[int] = ..., written: _Optional[int] = ..., read: _Optional[int] = ..., put_back: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class YodelPodProto(_message.Message):
    __slots__ = ("container_id", "uid")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    uid: str
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., uid: _Optional[str] = ...) -> None: ...

class YodelEmergencyProto(_message.Message):
    __slots__ = ("reason", "cool_down_s", "containers")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COOL_DOWN_S_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    reason: str
    cool_down_s: int
    containers: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    def __init__(self, reason: _Optional[str] = ..., cool_down_s: _Optional[int] = ..., containers: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ...) -> None: ...

class YodelShuffleProto(_message.Message):
    __slots__ = ("container_id", "outcome", "left_out")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    outcome: str
    left_out: _containers.RepeatedCompositeFieldContainer[YodelLeftOutProto]
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., outcome: _Optional[str] = ..., left_out: _Optional[_Iterable[_Union[YodelLeftOutProto, _Mapping]]] = ...) -> None: ...

class YodelLeftOutProto(_message.Message):
    __slots__ = ("keys", "reason", "detail")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    detail: str
    def __init__(self, keys: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class YodelFormulaProto(_message.Message):
    __slots__ = ("part_percent", "share_percent", "counts_system", "reserved", "online_percent", "kept", "most_percent", "static_amount")
    PART_PERCENT_FIELD_NUMBER: _ClassVar[int]
    SHARE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_SYSTEM_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    ONLINE_PERCENT_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    MOST_PERCENT_FIELD_NUMBER: _ClassVar[int]
    STATIC_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    part_percent: int
    share_percent: int
    counts_system: bool
    reserved: int
    online_percent: int
    kept: int
    most_percent: int
    static_amount: int
    def __init__(self, part_percent: _Optional[int] = ..., share_percent: _Optional[int] = ..., counts_system: _Optional[bool] = ..., reserved: _Optional[int] = ..., online_percent: _Optional[int] = ..., kept: _Optional[int] = ..., most_percent: _Optional[int] = ..., static_amount: _Optional[int] = ...) -> None: ...

class YodelShapingProto(_message.Message):
    __slots__ = ("window_s", "step_up_percent", "dead_band_percent", "dead_band_cpu_milli", "dead_band_memory_mib", "round_cpu_milli", "round_memory_mib")
    WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    STEP_UP_PERCENT_FIELD_NUMBER: _ClassVar[int]
    DEAD_BAND_PERCENT_FIELD_NUMBER: _ClassVar[int]
    DEAD_BAND_CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    DEAD_BAND_MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    ROUND_CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    ROUND_MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    window_s: int
    step_up_percent: int
    dead_band_percent: int
    dead_band_cpu_milli: int
    dead_band_memory_mib: int
    round_cpu_milli: int
    round_memory_mib: int
    def __init__(self, window_s: _Optional[int] = ..., step_up_percent: _Optional[int] = ..., dead_band_percent: _Optional[int] = ..., dead_band_cpu_milli: _Optional[int] = ..., dead_band_memory_mib: _Optional[int] = ..., round_cpu_milli: _Optional[int] = ..., round_memory_mib: _Optional[int] = ...) -> None: ...

class YodelPolicyProto(_message.Message):
    __slots__ = ("version", "preset", "cpu", "memory", "shaping", "limits", "quota")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SHAPING_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    version: str
    preset: str
    cpu: YodelFormulaProto
    memory: YodelFormulaProto
    shaping: YodelShapingProto
    limits: bool
    quota: bool
    def __init__(self, version: _Optional[str] = ..., preset: _Optional[str] = ..., cpu: _Optional[_Union[YodelFormulaProto, _Mapping]] = ..., memory: _Optional[_Union[YodelFormulaProto, _Mapping]] = ..., shaping: _Optional[_Union[YodelShapingProto, _Mapping]] = ..., limits: _Optional[bool] = ..., quota: _Optional[bool] = ...) -> None: ...
