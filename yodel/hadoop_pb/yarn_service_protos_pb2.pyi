from yodel.hadoop_pb import Security_pb2 as _Security_pb2
from yodel.hadoop_pb import yarn_protos_pb2 as _yarn_protos_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContainerUpdateTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INCREASE_RESOURCE: _ClassVar[ContainerUpdateTypeProto]
    DECREASE_RESOURCE: _ClassVar[ContainerUpdateTypeProto]
    PROMOTE_EXECUTION_TYPE: _ClassVar[ContainerUpdateTypeProto]
    DEMOTE_EXECUTION_TYPE: _ClassVar[ContainerUpdateTypeProto]

class SchedulerResourceTypes(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY: _ClassVar[SchedulerResourceTypes]
    CPU: _ClassVar[SchedulerResourceTypes]

class ApplicationsRequestScopeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ALL: _ClassVar[ApplicationsRequestScopeProto]
    VIEWABLE: _ClassVar[ApplicationsRequestScopeProto]
    OWN: _ClassVar[ApplicationsRequestScopeProto]

class LocalizationStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    L_PENDING: _ClassVar[LocalizationStateProto]
    L_COMPLETED: _ClassVar[LocalizationStateProto]
    L_FAILED: _ClassVar[LocalizationStateProto]
INCREASE_RESOURCE: ContainerUpdateTypeProto
DECREASE_RESOURCE: ContainerUpdateTypeProto
PROMOTE_EXECUTION_TYPE: ContainerUpdateTypeProto
DEMOTE_EXECUTION_TYPE: ContainerUpdateTypeProto
MEMORY: SchedulerResourceTypes
CPU: SchedulerResourceTypes
ALL: ApplicationsRequestScopeProto
VIEWABLE: ApplicationsRequestScopeProto
OWN: ApplicationsRequestScopeProto
L_PENDING: LocalizationStateProto
L_COMPLETED: LocalizationStateProto
L_FAILED: LocalizationStateProto

class RegisterApplicationMasterRequestProto(_message.Message):
    __slots__ = ("host", "rpc_port", "tracking_url", "placement_constraints")
    HOST_FIELD_NUMBER: _ClassVar[int]
    RPC_PORT_FIELD_NUMBER: _ClassVar[int]
    TRACKING_URL_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    host: str
    rpc_port: int
    tracking_url: str
    placement_constraints: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.PlacementConstraintMapEntryProto]
    def __init__(self, host: _Optional[str] = ..., rpc_port: _Optional[int] = ..., tracking_url: _Optional[str] = ..., placement_constraints: _Optional[_Iterable[_Union[_yarn_protos_pb2.PlacementConstraintMapEntryProto, _Mapping]]] = ...) -> None: ...

class RegisterApplicationMasterResponseProto(_message.Message):
    __slots__ = ("maximumCapability", "client_to_am_token_master_key", "application_ACLs", "containers_from_previous_attempts", "queue", "nm_tokens_from_previous_attempts", "scheduler_resource_types", "resource_profiles", "resource_types")
    MAXIMUMCAPABILITY_FIELD_NUMBER: _ClassVar[int]
    CLIENT_TO_AM_TOKEN_MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_ACLS_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FROM_PREVIOUS_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NM_TOKENS_FROM_PREVIOUS_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_RESOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_PROFILES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    maximumCapability: _yarn_protos_pb2.ResourceProto
    client_to_am_token_master_key: bytes
    application_ACLs: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationACLMapProto]
    containers_from_previous_attempts: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    queue: str
    nm_tokens_from_previous_attempts: _containers.RepeatedCompositeFieldContainer[NMTokenProto]
    scheduler_resource_types: _containers.RepeatedScalarFieldContainer[SchedulerResourceTypes]
    resource_profiles: _yarn_protos_pb2.ResourceProfilesProto
    resource_types: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ResourceTypeInfoProto]
    def __init__(self, maximumCapability: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., client_to_am_token_master_key: _Optional[bytes] = ..., application_ACLs: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationACLMapProto, _Mapping]]] = ..., containers_from_previous_attempts: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., queue: _Optional[str] = ..., nm_tokens_from_previous_attempts: _Optional[_Iterable[_Union[NMTokenProto, _Mapping]]] = ..., scheduler_resource_types: _Optional[_Iterable[_Union[SchedulerResourceTypes, str]]] = ..., resource_profiles: _Optional[_Union[_yarn_protos_pb2.ResourceProfilesProto, _Mapping]] = ..., resource_types: _Optional[_Iterable[_Union[_yarn_protos_pb2.ResourceTypeInfoProto, _Mapping]]] = ...) -> None: ...

class FinishApplicationMasterRequestProto(_message.Message):
    __slots__ = ("diagnostics", "tracking_url", "final_application_status")
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    TRACKING_URL_FIELD_NUMBER: _ClassVar[int]
    FINAL_APPLICATION_STATUS_FIELD_NUMBER: _ClassVar[int]
    diagnostics: str
    tracking_url: str
    final_application_status: _yarn_protos_pb2.FinalApplicationStatusProto
    def __init__(self, diagnostics: _Optional[str] = ..., tracking_url: _Optional[str] = ..., final_application_status: _Optional[_Union[_yarn_protos_pb2.FinalApplicationStatusProto, str]] = ...) -> None: ...

class FinishApplicationMasterResponseProto(_message.Message):
    __slots__ = ("isUnregistered",)
    ISUNREGISTERED_FIELD_NUMBER: _ClassVar[int]
    isUnregistered: bool
    def __init__(self, isUnregistered: _Optional[bool] = ...) -> None: ...

class UpdateContainerRequestProto(_message.Message):
    __slots__ = ("container_version", "container_id", "update_type", "capability", "execution_type")
    CONTAINER_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    container_version: int
    container_id: _yarn_protos_pb2.ContainerIdProto
    update_type: ContainerUpdateTypeProto
    capability: _yarn_protos_pb2.ResourceProto
    execution_type: _yarn_protos_pb2.ExecutionTypeProto
    def __init__(self, container_version: _Optional[int] = ..., container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., update_type: _Optional[_Union[ContainerUpdateTypeProto, str]] = ..., capability: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., execution_type: _Optional[_Union[_yarn_protos_pb2.ExecutionTypeProto, str]] = ...) -> None: ...

class UpdateContainerErrorProto(_message.Message):
    __slots__ = ("reason", "update_request", "current_container_version")
    REASON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    CURRENT_CONTAINER_VERSION_FIELD_NUMBER: _ClassVar[int]
    reason: str
    update_request: UpdateContainerRequestProto
    current_container_version: int
    def __init__(self, reason: _Optional[str] = ..., update_request: _Optional[_Union[UpdateContainerRequestProto, _Mapping]] = ..., current_container_version: _Optional[int] = ...) -> None: ...

class AllocateRequestProto(_message.Message):
    __slots__ = ("ask", "release", "blacklist_request", "response_id", "progress", "update_requests", "scheduling_requests", "tracking_url")
    ASK_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    BLACKLIST_REQUEST_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ID_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULING_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    TRACKING_URL_FIELD_NUMBER: _ClassVar[int]
    ask: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ResourceRequestProto]
    release: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    blacklist_request: _yarn_protos_pb2.ResourceBlacklistRequestProto
    response_id: int
    progress: float
    update_requests: _containers.RepeatedCompositeFieldContainer[UpdateContainerRequestProto]
    scheduling_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.SchedulingRequestProto]
    tracking_url: str
    def __init__(self, ask: _Optional[_Iterable[_Union[_yarn_protos_pb2.ResourceRequestProto, _Mapping]]] = ..., release: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., blacklist_request: _Optional[_Union[_yarn_protos_pb2.ResourceBlacklistRequestProto, _Mapping]] = ..., response_id: _Optional[int] = ..., progress: _Optional[float] = ..., update_requests: _Optional[_Iterable[_Union[UpdateContainerRequestProto, _Mapping]]] = ..., scheduling_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.SchedulingRequestProto, _Mapping]]] = ..., tracking_url: _Optional[str] = ...) -> None: ...

class NMTokenProto(_message.Message):
    __slots__ = ("nodeId", "token")
    NODEID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    nodeId: _yarn_protos_pb2.NodeIdProto
    token: _Security_pb2.TokenProto
    def __init__(self, nodeId: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ...) -> None: ...

class UpdatedContainerProto(_message.Message):
    __slots__ = ("update_type", "container")
    UPDATE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    update_type: ContainerUpdateTypeProto
    container: _yarn_protos_pb2.ContainerProto
    def __init__(self, update_type: _Optional[_Union[ContainerUpdateTypeProto, str]] = ..., container: _Optional[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]] = ...) -> None: ...

class EnhancedHeadroomProto(_message.Message):
    __slots__ = ("total_pending_count", "total_active_cores")
    TOTAL_PENDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ACTIVE_CORES_FIELD_NUMBER: _ClassVar[int]
    total_pending_count: int
    total_active_cores: int
    def __init__(self, total_pending_count: _Optional[int] = ..., total_active_cores: _Optional[int] = ...) -> None: ...

class AllocateResponseProto(_message.Message):
    __slots__ = ("a_m_command", "response_id", "allocated_containers", "completed_container_statuses", "limit", "updated_nodes", "num_cluster_nodes", "preempt", "nm_tokens", "am_rm_token", "application_priority", "collector_info", "update_errors", "updated_containers", "containers_from_previous_attempts", "rejected_scheduling_requests", "enhanced_headroom")
    A_M_COMMAND_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOCATED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_CONTAINER_STATUSES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_NODES_FIELD_NUMBER: _ClassVar[int]
    NUM_CLUSTER_NODES_FIELD_NUMBER: _ClassVar[int]
    PREEMPT_FIELD_NUMBER: _ClassVar[int]
    NM_TOKENS_FIELD_NUMBER: _ClassVar[int]
    AM_RM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_INFO_FIELD_NUMBER: _ClassVar[int]
    UPDATE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FROM_PREVIOUS_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    REJECTED_SCHEDULING_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ENHANCED_HEADROOM_FIELD_NUMBER: _ClassVar[int]
    a_m_command: _yarn_protos_pb2.AMCommandProto
    response_id: int
    allocated_containers: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    completed_container_statuses: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerStatusProto]
    limit: _yarn_protos_pb2.ResourceProto
    updated_nodes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeReportProto]
    num_cluster_nodes: int
    preempt: _yarn_protos_pb2.PreemptionMessageProto
    nm_tokens: _containers.RepeatedCompositeFieldContainer[NMTokenProto]
    am_rm_token: _Security_pb2.TokenProto
    application_priority: _yarn_protos_pb2.PriorityProto
    collector_info: _yarn_protos_pb2.CollectorInfoProto
    update_errors: _containers.RepeatedCompositeFieldContainer[UpdateContainerErrorProto]
    updated_containers: _containers.RepeatedCompositeFieldContainer[UpdatedContainerProto]
    containers_from_previous_attempts: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    rejected_scheduling_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.RejectedSchedulingRequestProto]
    enhanced_headroom: EnhancedHeadroomProto
    def __init__(self, a_m_command: _Optional[_Union[_yarn_protos_pb2.AMCommandProto, str]] = ..., response_id: _Optional[int] = ..., allocated_containers: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., completed_container_statuses: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerStatusProto, _Mapping]]] = ..., limit: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., updated_nodes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeReportProto, _Mapping]]] = ..., num_cluster_nodes: _Optional[int] = ..., preempt: _Optional[_Union[_yarn_protos_pb2.PreemptionMessageProto, _Mapping]] = ..., nm_tokens: _Optional[_Iterable[_Union[NMTokenProto, _Mapping]]] = ..., am_rm_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ..., application_priority: _Optional[_Union[_yarn_protos_pb2.PriorityProto, _Mapping]] = ..., collector_info: _Optional[_Union[_yarn_protos_pb2.CollectorInfoProto, _Mapping]] = ..., update_errors: _Optional[_Iterable[_Union[UpdateContainerErrorProto, _Mapping]]] = ..., updated_containers: _Optional[_Iterable[_Union[UpdatedContainerProto, _Mapping]]] = ..., containers_from_previous_attempts: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., rejected_scheduling_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.RejectedSchedulingRequestProto, _Mapping]]] = ..., enhanced_headroom: _Optional[_Union[EnhancedHeadroomProto, _Mapping]] = ...) -> None: ...

class GetNewApplicationRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetNewApplicationResponseProto(_message.Message):
    __slots__ = ("application_id", "maximumCapability")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    MAXIMUMCAPABILITY_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    maximumCapability: _yarn_protos_pb2.ResourceProto
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., maximumCapability: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ...) -> None: ...

class GetApplicationReportRequestProto(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ...) -> None: ...

class GetApplicationReportResponseProto(_message.Message):
    __slots__ = ("application_report",)
    APPLICATION_REPORT_FIELD_NUMBER: _ClassVar[int]
    application_report: _yarn_protos_pb2.ApplicationReportProto
    def __init__(self, application_report: _Optional[_Union[_yarn_protos_pb2.ApplicationReportProto, _Mapping]] = ...) -> None: ...

class SubmitApplicationRequestProto(_message.Message):
    __slots__ = ("application_submission_context",)
    APPLICATION_SUBMISSION_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    application_submission_context: _yarn_protos_pb2.ApplicationSubmissionContextProto
    def __init__(self, application_submission_context: _Optional[_Union[_yarn_protos_pb2.ApplicationSubmissionContextProto, _Mapping]] = ...) -> None: ...

class SubmitApplicationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FailApplicationAttemptRequestProto(_message.Message):
    __slots__ = ("application_attempt_id",)
    APPLICATION_ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    application_attempt_id: _yarn_protos_pb2.ApplicationAttemptIdProto
    def __init__(self, application_attempt_id: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ...) -> None: ...

class FailApplicationAttemptResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class KillApplicationRequestProto(_message.Message):
    __slots__ = ("application_id", "diagnostics")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    diagnostics: str
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., diagnostics: _Optional[str] = ...) -> None: ...

class KillApplicationResponseProto(_message.Message):
    __slots__ = ("is_kill_completed",)
    IS_KILL_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    is_kill_completed: bool
    def __init__(self, is_kill_completed: _Optional[bool] = ...) -> None: ...

class GetClusterMetricsRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetClusterMetricsResponseProto(_message.Message):
    __slots__ = ("cluster_metrics",)
    CLUSTER_METRICS_FIELD_NUMBER: _ClassVar[int]
    cluster_metrics: _yarn_protos_pb2.YarnClusterMetricsProto
    def __init__(self, cluster_metrics: _Optional[_Union[_yarn_protos_pb2.YarnClusterMetricsProto, _Mapping]] = ...) -> None: ...

class MoveApplicationAcrossQueuesRequestProto(_message.Message):
    __slots__ = ("application_id", "target_queue")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_QUEUE_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    target_queue: str
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., target_queue: _Optional[str] = ...) -> None: ...

class MoveApplicationAcrossQueuesResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetApplicationsRequestProto(_message.Message):
    __slots__ = ("application_types", "application_states", "users", "queues", "limit", "start_begin", "start_end", "finish_begin", "finish_end", "applicationTags", "scope", "name")
    APPLICATION_TYPES_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_STATES_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    START_BEGIN_FIELD_NUMBER: _ClassVar[int]
    START_END_FIELD_NUMBER: _ClassVar[int]
    FINISH_BEGIN_FIELD_NUMBER: _ClassVar[int]
    FINISH_END_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONTAGS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    application_types: _containers.RepeatedScalarFieldContainer[str]
    application_states: _containers.RepeatedScalarFieldContainer[_yarn_protos_pb2.YarnApplicationStateProto]
    users: _containers.RepeatedScalarFieldContainer[str]
    queues: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    start_begin: int
    start_end: int
    finish_begin: int
    finish_end: int
    applicationTags: _containers.RepeatedScalarFieldContainer[str]
    scope: ApplicationsRequestScopeProto
    name: str
    def __init__(self, application_types: _Optional[_Iterable[str]] = ..., application_states: _Optional[_Iterable[_Union[_yarn_protos_pb2.YarnApplicationStateProto, str]]] = ..., users: _Optional[_Iterable[str]] = ..., queues: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ..., start_begin: _Optional[int] = ..., start_end: _Optional[int] = ..., finish_begin: _Optional[int] = ..., finish_end: _Optional[int] = ..., applicationTags: _Optional[_Iterable[str]] = ..., scope: _Optional[_Union[ApplicationsRequestScopeProto, str]] = ..., name: _Optional[str] = ...) -> None: ...

class GetApplicationsResponseProto(_message.Message):
    __slots__ = ("applications",)
    APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    applications: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationReportProto]
    def __init__(self, applications: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationReportProto, _Mapping]]] = ...) -> None: ...

class GetClusterNodesRequestProto(_message.Message):
    __slots__ = ("nodeStates",)
    NODESTATES_FIELD_NUMBER: _ClassVar[int]
    nodeStates: _containers.RepeatedScalarFieldContainer[_yarn_protos_pb2.NodeStateProto]
    def __init__(self, nodeStates: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeStateProto, str]]] = ...) -> None: ...

class GetClusterNodesResponseProto(_message.Message):
    __slots__ = ("nodeReports",)
    NODEREPORTS_FIELD_NUMBER: _ClassVar[int]
    nodeReports: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeReportProto]
    def __init__(self, nodeReports: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeReportProto, _Mapping]]] = ...) -> None: ...

class GetQueueInfoRequestProto(_message.Message):
    __slots__ = ("queueName", "includeApplications", "includeChildQueues", "recursive", "subClusterId")
    QUEUENAME_FIELD_NUMBER: _ClassVar[int]
    INCLUDEAPPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    INCLUDECHILDQUEUES_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    SUBCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    queueName: str
    includeApplications: bool
    includeChildQueues: bool
    recursive: bool
    subClusterId: str
    def __init__(self, queueName: _Optional[str] = ..., includeApplications: _Optional[bool] = ..., includeChildQueues: _Optional[bool] = ..., recursive: _Optional[bool] = ..., subClusterId: _Optional[str] = ...) -> None: ...

class GetQueueInfoResponseProto(_message.Message):
    __slots__ = ("queueInfo",)
    QUEUEINFO_FIELD_NUMBER: _ClassVar[int]
    queueInfo: _yarn_protos_pb2.QueueInfoProto
    def __init__(self, queueInfo: _Optional[_Union[_yarn_protos_pb2.QueueInfoProto, _Mapping]] = ...) -> None: ...

class GetQueueUserAclsInfoRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetQueueUserAclsInfoResponseProto(_message.Message):
    __slots__ = ("queueUserAcls",)
    QUEUEUSERACLS_FIELD_NUMBER: _ClassVar[int]
    queueUserAcls: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.QueueUserACLInfoProto]
    def __init__(self, queueUserAcls: _Optional[_Iterable[_Union[_yarn_protos_pb2.QueueUserACLInfoProto, _Mapping]]] = ...) -> None: ...

class GetNodesToLabelsRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetNodesToLabelsResponseProto(_message.Message):
    __slots__ = ("nodeToLabels",)
    NODETOLABELS_FIELD_NUMBER: _ClassVar[int]
    nodeToLabels: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeIdToLabelsProto]
    def __init__(self, nodeToLabels: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeIdToLabelsProto, _Mapping]]] = ...) -> None: ...

class GetLabelsToNodesRequestProto(_message.Message):
    __slots__ = ("nodeLabels",)
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    nodeLabels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodeLabels: _Optional[_Iterable[str]] = ...) -> None: ...

class GetLabelsToNodesResponseProto(_message.Message):
    __slots__ = ("labelsToNodes",)
    LABELSTONODES_FIELD_NUMBER: _ClassVar[int]
    labelsToNodes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.LabelsToNodeIdsProto]
    def __init__(self, labelsToNodes: _Optional[_Iterable[_Union[_yarn_protos_pb2.LabelsToNodeIdsProto, _Mapping]]] = ...) -> None: ...

class GetClusterNodeLabelsRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetClusterNodeLabelsResponseProto(_message.Message):
    __slots__ = ("deprecatedNodeLabels", "nodeLabels")
    DEPRECATEDNODELABELS_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    deprecatedNodeLabels: _containers.RepeatedScalarFieldContainer[str]
    nodeLabels: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeLabelProto]
    def __init__(self, deprecatedNodeLabels: _Optional[_Iterable[str]] = ..., nodeLabels: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeLabelProto, _Mapping]]] = ...) -> None: ...

class GetClusterNodeAttributesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetClusterNodeAttributesResponseProto(_message.Message):
    __slots__ = ("nodeAttributes",)
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    nodeAttributes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeAttributeInfoProto]
    def __init__(self, nodeAttributes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeAttributeInfoProto, _Mapping]]] = ...) -> None: ...

class GetAttributesToNodesRequestProto(_message.Message):
    __slots__ = ("nodeAttributes",)
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    nodeAttributes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeAttributeKeyProto]
    def __init__(self, nodeAttributes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeAttributeKeyProto, _Mapping]]] = ...) -> None: ...

class GetAttributesToNodesResponseProto(_message.Message):
    __slots__ = ("attributesToNodes",)
    ATTRIBUTESTONODES_FIELD_NUMBER: _ClassVar[int]
    attributesToNodes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.AttributeToNodesProto]
    def __init__(self, attributesToNodes: _Optional[_Iterable[_Union[_yarn_protos_pb2.AttributeToNodesProto, _Mapping]]] = ...) -> None: ...

class GetNodesToAttributesRequestProto(_message.Message):
    __slots__ = ("hostnames",)
    HOSTNAMES_FIELD_NUMBER: _ClassVar[int]
    hostnames: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, hostnames: _Optional[_Iterable[str]] = ...) -> None: ...

class GetNodesToAttributesResponseProto(_message.Message):
    __slots__ = ("nodesToAttributes",)
    NODESTOATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    nodesToAttributes: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.NodeToAttributesProto]
    def __init__(self, nodesToAttributes: _Optional[_Iterable[_Union[_yarn_protos_pb2.NodeToAttributesProto, _Mapping]]] = ...) -> None: ...

class UpdateApplicationPriorityRequestProto(_message.Message):
    __slots__ = ("applicationId", "applicationPriority")
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONPRIORITY_FIELD_NUMBER: _ClassVar[int]
    applicationId: _yarn_protos_pb2.ApplicationIdProto
    applicationPriority: _yarn_protos_pb2.PriorityProto
    def __init__(self, applicationId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., applicationPriority: _Optional[_Union[_yarn_protos_pb2.PriorityProto, _Mapping]] = ...) -> None: ...

class UpdateApplicationPriorityResponseProto(_message.Message):
    __slots__ = ("applicationPriority",)
    APPLICATIONPRIORITY_FIELD_NUMBER: _ClassVar[int]
    applicationPriority: _yarn_protos_pb2.PriorityProto
    def __init__(self, applicationPriority: _Optional[_Union[_yarn_protos_pb2.PriorityProto, _Mapping]] = ...) -> None: ...

class SignalContainerRequestProto(_message.Message):
    __slots__ = ("container_id", "command")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    command: _yarn_protos_pb2.SignalContainerCommandProto
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., command: _Optional[_Union[_yarn_protos_pb2.SignalContainerCommandProto, str]] = ...) -> None: ...

class SignalContainerResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UpdateApplicationTimeoutsRequestProto(_message.Message):
    __slots__ = ("applicationId", "application_timeouts")
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    applicationId: _yarn_protos_pb2.ApplicationIdProto
    application_timeouts: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationUpdateTimeoutMapProto]
    def __init__(self, applicationId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., application_timeouts: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationUpdateTimeoutMapProto, _Mapping]]] = ...) -> None: ...

class UpdateApplicationTimeoutsResponseProto(_message.Message):
    __slots__ = ("application_timeouts",)
    APPLICATION_TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    application_timeouts: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationUpdateTimeoutMapProto]
    def __init__(self, application_timeouts: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationUpdateTimeoutMapProto, _Mapping]]] = ...) -> None: ...

class GetAllResourceProfilesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAllResourceProfilesResponseProto(_message.Message):
    __slots__ = ("resource_profiles",)
    RESOURCE_PROFILES_FIELD_NUMBER: _ClassVar[int]
    resource_profiles: _yarn_protos_pb2.ResourceProfilesProto
    def __init__(self, resource_profiles: _Optional[_Union[_yarn_protos_pb2.ResourceProfilesProto, _Mapping]] = ...) -> None: ...

class GetResourceProfileRequestProto(_message.Message):
    __slots__ = ("profile",)
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    profile: str
    def __init__(self, profile: _Optional[str] = ...) -> None: ...

class GetResourceProfileResponseProto(_message.Message):
    __slots__ = ("resources",)
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    resources: _yarn_protos_pb2.ResourceProto
    def __init__(self, resources: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ...) -> None: ...

class GetAllResourceTypeInfoRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAllResourceTypeInfoResponseProto(_message.Message):
    __slots__ = ("resource_type_info",)
    RESOURCE_TYPE_INFO_FIELD_NUMBER: _ClassVar[int]
    resource_type_info: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ResourceTypeInfoProto]
    def __init__(self, resource_type_info: _Optional[_Iterable[_Union[_yarn_protos_pb2.ResourceTypeInfoProto, _Mapping]]] = ...) -> None: ...

class StartContainerRequestProto(_message.Message):
    __slots__ = ("container_launch_context", "container_token")
    CONTAINER_LAUNCH_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_TOKEN_FIELD_NUMBER: _ClassVar[int]
    container_launch_context: _yarn_protos_pb2.ContainerLaunchContextProto
    container_token: _Security_pb2.TokenProto
    def __init__(self, container_launch_context: _Optional[_Union[_yarn_protos_pb2.ContainerLaunchContextProto, _Mapping]] = ..., container_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ...) -> None: ...

class StartContainerResponseProto(_message.Message):
    __slots__ = ("services_meta_data",)
    SERVICES_META_DATA_FIELD_NUMBER: _ClassVar[int]
    services_meta_data: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.StringBytesMapProto]
    def __init__(self, services_meta_data: _Optional[_Iterable[_Union[_yarn_protos_pb2.StringBytesMapProto, _Mapping]]] = ...) -> None: ...

class StopContainerRequestProto(_message.Message):
    __slots__ = ("container_id",)
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ...) -> None: ...

class StopContainerResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResourceLocalizationRequestProto(_message.Message):
    __slots__ = ("container_id", "local_resources")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    LOCAL_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    local_resources: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.StringLocalResourceMapProto]
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., local_resources: _Optional[_Iterable[_Union[_yarn_protos_pb2.StringLocalResourceMapProto, _Mapping]]] = ...) -> None: ...

class ResourceLocalizationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReInitializeContainerRequestProto(_message.Message):
    __slots__ = ("container_id", "container_launch_context", "auto_commit")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_LAUNCH_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    AUTO_COMMIT_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    container_launch_context: _yarn_protos_pb2.ContainerLaunchContextProto
    auto_commit: bool
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., container_launch_context: _Optional[_Union[_yarn_protos_pb2.ContainerLaunchContextProto, _Mapping]] = ..., auto_commit: _Optional[bool] = ...) -> None: ...

class ReInitializeContainerResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RestartContainerResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RollbackResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CommitResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartContainersRequestProto(_message.Message):
    __slots__ = ("start_container_request",)
    START_CONTAINER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    start_container_request: _containers.RepeatedCompositeFieldContainer[StartContainerRequestProto]
    def __init__(self, start_container_request: _Optional[_Iterable[_Union[StartContainerRequestProto, _Mapping]]] = ...) -> None: ...

class ContainerExceptionMapProto(_message.Message):
    __slots__ = ("container_id", "exception")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    exception: _yarn_protos_pb2.SerializedExceptionProto
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., exception: _Optional[_Union[_yarn_protos_pb2.SerializedExceptionProto, _Mapping]] = ...) -> None: ...

class StartContainersResponseProto(_message.Message):
    __slots__ = ("services_meta_data", "succeeded_requests", "failed_requests")
    SERVICES_META_DATA_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    services_meta_data: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.StringBytesMapProto]
    succeeded_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, services_meta_data: _Optional[_Iterable[_Union[_yarn_protos_pb2.StringBytesMapProto, _Mapping]]] = ..., succeeded_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class StopContainersRequestProto(_message.Message):
    __slots__ = ("container_id",)
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    container_id: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    def __init__(self, container_id: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ...) -> None: ...

class StopContainersResponseProto(_message.Message):
    __slots__ = ("succeeded_requests", "failed_requests")
    SUCCEEDED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    succeeded_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, succeeded_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class GetContainerStatusesRequestProto(_message.Message):
    __slots__ = ("container_id",)
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    container_id: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    def __init__(self, container_id: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ...) -> None: ...

class GetContainerStatusesResponseProto(_message.Message):
    __slots__ = ("status", "failed_requests")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    status: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerStatusProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, status: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerStatusProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class IncreaseContainersResourceRequestProto(_message.Message):
    __slots__ = ("increase_containers",)
    INCREASE_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    increase_containers: _containers.RepeatedCompositeFieldContainer[_Security_pb2.TokenProto]
    def __init__(self, increase_containers: _Optional[_Iterable[_Union[_Security_pb2.TokenProto, _Mapping]]] = ...) -> None: ...

class IncreaseContainersResourceResponseProto(_message.Message):
    __slots__ = ("succeeded_requests", "failed_requests")
    SUCCEEDED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    succeeded_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, succeeded_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class ContainerUpdateRequestProto(_message.Message):
    __slots__ = ("update_container_token",)
    UPDATE_CONTAINER_TOKEN_FIELD_NUMBER: _ClassVar[int]
    update_container_token: _containers.RepeatedCompositeFieldContainer[_Security_pb2.TokenProto]
    def __init__(self, update_container_token: _Optional[_Iterable[_Union[_Security_pb2.TokenProto, _Mapping]]] = ...) -> None: ...

class ContainerUpdateResponseProto(_message.Message):
    __slots__ = ("succeeded_requests", "failed_requests")
    SUCCEEDED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    succeeded_requests: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, succeeded_requests: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class GetApplicationAttemptReportRequestProto(_message.Message):
    __slots__ = ("application_attempt_id",)
    APPLICATION_ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    application_attempt_id: _yarn_protos_pb2.ApplicationAttemptIdProto
    def __init__(self, application_attempt_id: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ...) -> None: ...

class GetApplicationAttemptReportResponseProto(_message.Message):
    __slots__ = ("application_attempt_report",)
    APPLICATION_ATTEMPT_REPORT_FIELD_NUMBER: _ClassVar[int]
    application_attempt_report: _yarn_protos_pb2.ApplicationAttemptReportProto
    def __init__(self, application_attempt_report: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptReportProto, _Mapping]] = ...) -> None: ...

class GetApplicationAttemptsRequestProto(_message.Message):
    __slots__ = ("application_id",)
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    application_id: _yarn_protos_pb2.ApplicationIdProto
    def __init__(self, application_id: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ...) -> None: ...

class GetApplicationAttemptsResponseProto(_message.Message):
    __slots__ = ("application_attempts",)
    APPLICATION_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    application_attempts: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationAttemptReportProto]
    def __init__(self, application_attempts: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationAttemptReportProto, _Mapping]]] = ...) -> None: ...

class GetContainerReportRequestProto(_message.Message):
    __slots__ = ("container_id",)
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ...) -> None: ...

class GetContainerReportResponseProto(_message.Message):
    __slots__ = ("container_report",)
    CONTAINER_REPORT_FIELD_NUMBER: _ClassVar[int]
    container_report: _yarn_protos_pb2.ContainerReportProto
    def __init__(self, container_report: _Optional[_Union[_yarn_protos_pb2.ContainerReportProto, _Mapping]] = ...) -> None: ...

class GetContainersRequestProto(_message.Message):
    __slots__ = ("application_attempt_id",)
    APPLICATION_ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    application_attempt_id: _yarn_protos_pb2.ApplicationAttemptIdProto
    def __init__(self, application_attempt_id: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ...) -> None: ...

class GetContainersResponseProto(_message.Message):
    __slots__ = ("containers",)
    CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    containers: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerReportProto]
    def __init__(self, containers: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerReportProto, _Mapping]]] = ...) -> None: ...

class UseSharedCacheResourceRequestProto(_message.Message):
    __slots__ = ("applicationId", "resourceKey")
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    RESOURCEKEY_FIELD_NUMBER: _ClassVar[int]
    applicationId: _yarn_protos_pb2.ApplicationIdProto
    resourceKey: str
    def __init__(self, applicationId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., resourceKey: _Optional[str] = ...) -> None: ...

class UseSharedCacheResourceResponseProto(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class ReleaseSharedCacheResourceRequestProto(_message.Message):
    __slots__ = ("applicationId", "resourceKey")
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    RESOURCEKEY_FIELD_NUMBER: _ClassVar[int]
    applicationId: _yarn_protos_pb2.ApplicationIdProto
    resourceKey: str
    def __init__(self, applicationId: _Optional[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]] = ..., resourceKey: _Optional[str] = ...) -> None: ...

class ReleaseSharedCacheResourceResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetNewReservationRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetNewReservationResponseProto(_message.Message):
    __slots__ = ("reservation_id",)
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    reservation_id: _yarn_protos_pb2.ReservationIdProto
    def __init__(self, reservation_id: _Optional[_Union[_yarn_protos_pb2.ReservationIdProto, _Mapping]] = ...) -> None: ...

class ReservationSubmissionRequestProto(_message.Message):
    __slots__ = ("queue", "reservation_definition", "reservation_id")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    queue: str
    reservation_definition: _yarn_protos_pb2.ReservationDefinitionProto
    reservation_id: _yarn_protos_pb2.ReservationIdProto
    def __init__(self, queue: _Optional[str] = ..., reservation_definition: _Optional[_Union[_yarn_protos_pb2.ReservationDefinitionProto, _Mapping]] = ..., reservation_id: _Optional[_Union[_yarn_protos_pb2.ReservationIdProto, _Mapping]] = ...) -> None: ...

class ReservationSubmissionResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReservationUpdateRequestProto(_message.Message):
    __slots__ = ("reservation_definition", "reservation_id")
    RESERVATION_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    reservation_definition: _yarn_protos_pb2.ReservationDefinitionProto
    reservation_id: _yarn_protos_pb2.ReservationIdProto
    def __init__(self, reservation_definition: _Optional[_Union[_yarn_protos_pb2.ReservationDefinitionProto, _Mapping]] = ..., reservation_id: _Optional[_Union[_yarn_protos_pb2.ReservationIdProto, _Mapping]] = ...) -> None: ...

class ReservationUpdateResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReservationDeleteRequestProto(_message.Message):
    __slots__ = ("reservation_id",)
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    reservation_id: _yarn_protos_pb2.ReservationIdProto
    def __init__(self, reservation_id: _Optional[_Union[_yarn_protos_pb2.ReservationIdProto, _Mapping]] = ...) -> None: ...

class ReservationDeleteResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReservationListRequestProto(_message.Message):
    __slots__ = ("queue", "reservation_id", "start_time", "end_time", "include_resource_allocations")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RESOURCE_ALLOCATIONS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    reservation_id: str
    start_time: int
    end_time: int
    include_resource_allocations: bool
    def __init__(self, queue: _Optional[str] = ..., reservation_id: _Optional[str] = ..., start_time: _Optional[int] = ..., end_time: _Optional[int] = ..., include_resource_allocations: _Optional[bool] = ...) -> None: ...

class ReservationListResponseProto(_message.Message):
    __slots__ = ("reservations",)
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    reservations: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ReservationAllocationStateProto]
    def __init__(self, reservations: _Optional[_Iterable[_Union[_yarn_protos_pb2.ReservationAllocationStateProto, _Mapping]]] = ...) -> None: ...

class RunSharedCacheCleanerTaskRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RunSharedCacheCleanerTaskResponseProto(_message.Message):
    __slots__ = ("accepted",)
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    def __init__(self, accepted: _Optional[bool] = ...) -> None: ...

class GetLocalizationStatusesRequestProto(_message.Message):
    __slots__ = ("container_id",)
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    container_id: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerIdProto]
    def __init__(self, container_id: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]]] = ...) -> None: ...

class GetLocalizationStatusesResponseProto(_message.Message):
    __slots__ = ("cntn_localization_statuses", "failed_requests")
    CNTN_LOCALIZATION_STATUSES_FIELD_NUMBER: _ClassVar[int]
    FAILED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    cntn_localization_statuses: _containers.RepeatedCompositeFieldContainer[ContainerLocalizationStatusesProto]
    failed_requests: _containers.RepeatedCompositeFieldContainer[ContainerExceptionMapProto]
    def __init__(self, cntn_localization_statuses: _Optional[_Iterable[_Union[ContainerLocalizationStatusesProto, _Mapping]]] = ..., failed_requests: _Optional[_Iterable[_Union[ContainerExceptionMapProto, _Mapping]]] = ...) -> None: ...

class LocalizationStatusProto(_message.Message):
    __slots__ = ("resource_key", "localization_state", "diagnostics")
    RESOURCE_KEY_FIELD_NUMBER: _ClassVar[int]
    LOCALIZATION_STATE_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    resource_key: str
    localization_state: LocalizationStateProto
    diagnostics: str
    def __init__(self, resource_key: _Optional[str] = ..., localization_state: _Optional[_Union[LocalizationStateProto, str]] = ..., diagnostics: _Optional[str] = ...) -> None: ...

class ContainerLocalizationStatusesProto(_message.Message):
    __slots__ = ("container_id", "localization_statuses")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    LOCALIZATION_STATUSES_FIELD_NUMBER: _ClassVar[int]
    container_id: _yarn_protos_pb2.ContainerIdProto
    localization_statuses: _containers.RepeatedCompositeFieldContainer[LocalizationStatusProto]
    def __init__(self, container_id: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., localization_statuses: _Optional[_Iterable[_Union[LocalizationStatusProto, _Mapping]]] = ...) -> None: ...
