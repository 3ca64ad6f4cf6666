from yodel.hadoop_pb import Security_pb2 as _Security_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResourceTypesProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COUNTABLE: _ClassVar[ResourceTypesProto]

class ContainerStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    C_NEW: _ClassVar[ContainerStateProto]
    C_RUNNING: _ClassVar[ContainerStateProto]
    C_COMPLETE: _ClassVar[ContainerStateProto]

class ContainerSubStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CSS_SCHEDULED: _ClassVar[ContainerSubStateProto]
    CSS_RUNNING: _ClassVar[ContainerSubStateProto]
    CSS_PAUSED: _ClassVar[ContainerSubStateProto]
    CSS_COMPLETING: _ClassVar[ContainerSubStateProto]
    CSS_DONE: _ClassVar[ContainerSubStateProto]

class YarnApplicationStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NEW: _ClassVar[YarnApplicationStateProto]
    NEW_SAVING: _ClassVar[YarnApplicationStateProto]
    SUBMITTED: _ClassVar[YarnApplicationStateProto]
    ACCEPTED: _ClassVar[YarnApplicationStateProto]
    RUNNING: _ClassVar[YarnApplicationStateProto]
    FINISHED: _ClassVar[YarnApplicationStateProto]
    FAILED: _ClassVar[YarnApplicationStateProto]
    KILLED: _ClassVar[YarnApplicationStateProto]

class YarnApplicationAttemptStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APP_ATTEMPT_NEW: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_SUBMITTED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_SCHEDULED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_ALLOCATED_SAVING: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_ALLOCATED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_LAUNCHED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_FAILED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_RUNNING: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_FINISHING: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_FINISHED: _ClassVar[YarnApplicationAttemptStateProto]
    APP_ATTEMPT_KILLED: _ClassVar[YarnApplicationAttemptStateProto]

class FinalApplicationStatusProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APP_UNDEFINED: _ClassVar[FinalApplicationStatusProto]
    APP_SUCCEEDED: _ClassVar[FinalApplicationStatusProto]
    APP_FAILED: _ClassVar[FinalApplicationStatusProto]
    APP_KILLED: _ClassVar[FinalApplicationStatusProto]
    APP_ENDED: _ClassVar[FinalApplicationStatusProto]

class LocalResourceVisibilityProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PUBLIC: _ClassVar[LocalResourceVisibilityProto]
    PRIVATE: _ClassVar[LocalResourceVisibilityProto]
    APPLICATION: _ClassVar[LocalResourceVisibilityProto]

class LocalResourceTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARCHIVE: _ClassVar[LocalResourceTypeProto]
    FILE: _ClassVar[LocalResourceTypeProto]
    PATTERN: _ClassVar[LocalResourceTypeProto]

class LogAggregationStatusProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_DISABLED: _ClassVar[LogAggregationStatusProto]
    LOG_NOT_START: _ClassVar[LogAggregationStatusProto]
    LOG_RUNNING: _ClassVar[LogAggregationStatusProto]
    LOG_SUCCEEDED: _ClassVar[LogAggregationStatusProto]
    LOG_FAILED: _ClassVar[LogAggregationStatusProto]
    LOG_TIME_OUT: _ClassVar[LogAggregationStatusProto]
    LOG_RUNNING_WITH_FAILURE: _ClassVar[LogAggregationStatusProto]

class NodeStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NS_NEW: _ClassVar[NodeStateProto]
    NS_RUNNING: _ClassVar[NodeStateProto]
    NS_UNHEALTHY: _ClassVar[NodeStateProto]
    NS_DECOMMISSIONED: _ClassVar[NodeStateProto]
    NS_LOST: _ClassVar[NodeStateProto]
    NS_REBOOTED: _ClassVar[NodeStateProto]
    NS_DECOMMISSIONING: _ClassVar[NodeStateProto]
    NS_SHUTDOWN: _ClassVar[NodeStateProto]

class NodeUpdateTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_USABLE: _ClassVar[NodeUpdateTypeProto]
    NODE_UNUSABLE: _ClassVar[NodeUpdateTypeProto]
    NODE_DECOMMISSIONING: _ClassVar[NodeUpdateTypeProto]

class NodeAttributeTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STRING: _ClassVar[NodeAttributeTypeProto]

class ContainerTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPLICATION_MASTER: _ClassVar[ContainerTypeProto]
    TASK: _ClassVar[ContainerTypeProto]

class ExecutionTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GUARANTEED: _ClassVar[ExecutionTypeProto]
    OPPORTUNISTIC: _ClassVar[ExecutionTypeProto]

class AMCommandProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AM_RESYNC: _ClassVar[AMCommandProto]
    AM_SHUTDOWN: _ClassVar[AMCommandProto]

class RejectionReasonProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RRP_COULD_NOT_PLACE_ON_NODE: _ClassVar[RejectionReasonProto]
    RRP_COULD_NOT_SCHEDULE_ON_NODE: _ClassVar[RejectionReasonProto]

class ApplicationTimeoutTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APP_TIMEOUT_LIFETIME: _ClassVar[ApplicationTimeoutTypeProto]

class ApplicationAccessTypeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPACCESS_VIEW_APP: _ClassVar[ApplicationAccessTypeProto]
    APPACCESS_MODIFY_APP: _ClassVar[ApplicationAccessTypeProto]

class QueueStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    Q_STOPPED: _ClassVar[QueueStateProto]
    Q_RUNNING: _ClassVar[QueueStateProto]
    Q_DRAINING: _ClassVar[QueueStateProto]

class QueueACLProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QACL_SUBMIT_APPLICATIONS: _ClassVar[QueueACLProto]
    QACL_ADMINISTER_QUEUE: _ClassVar[QueueACLProto]

class SignalContainerCommandProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_THREAD_DUMP: _ClassVar[SignalContainerCommandProto]
    GRACEFUL_SHUTDOWN: _ClassVar[SignalContainerCommandProto]
    FORCEFUL_SHUTDOWN: _ClassVar[SignalContainerCommandProto]

class NodeAttributeOpCodeProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NO_OP: _ClassVar[NodeAttributeOpCodeProto]
    EQ: _ClassVar[NodeAttributeOpCodeProto]
    NE: _ClassVar[NodeAttributeOpCodeProto]

class ReservationRequestInterpreterProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    R_ANY: _ClassVar[ReservationRequestInterpreterProto]
    R_ALL: _ClassVar[ReservationRequestInterpreterProto]
    R_ORDER: _ClassVar[ReservationRequestInterpreterProto]
    R_ORDER_NO_GAP: _ClassVar[ReservationRequestInterpreterProto]

class ContainerExitStatusProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUCCESS: _ClassVar[ContainerExitStatusProto]
    INVALID: _ClassVar[ContainerExitStatusProto]
    ABORTED: _ClassVar[ContainerExitStatusProto]
    DISKS_FAILED: _ClassVar[ContainerExitStatusProto]

class ContainerRetryPolicyProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NEVER_RETRY: _ClassVar[ContainerRetryPolicyProto]
    RETRY_ON_ALL_ERRORS: _ClassVar[ContainerRetryPolicyProto]
    RETRY_ON_SPECIFIC_ERROR_CODES: _ClassVar[ContainerRetryPolicyProto]
COUNTABLE: ResourceTypesProto
C_NEW: ContainerStateProto
C_RUNNING: ContainerStateProto
C_COMPLETE: ContainerStateProto
CSS_SCHEDULED: ContainerSubStateProto
CSS_RUNNING: ContainerSubStateProto
CSS_PAUSED: ContainerSubStateProto
CSS_COMPLETING: ContainerSubStateProto
CSS_DONE: ContainerSubStateProto
NEW: YarnApplicationStateProto
NEW_SAVING: YarnApplicationStateProto
SUBMITTED: YarnApplicationStateProto
ACCEPTED: YarnApplicationStateProto
RUNNING: YarnApplicationStateProto
FINISHED: YarnApplicationStateProto
FAILED: YarnApplicationStateProto
KILLED: YarnApplicationStateProto
APP_ATTEMPT_NEW: YarnApplicationAttemptStateProto
APP_ATTEMPT_SUBMITTED: YarnApplicationAttemptStateProto
APP_ATTEMPT_SCHEDULED: YarnApplicationAttemptStateProto
APP_ATTEMPT_ALLOCATED_SAVING: YarnApplicationAttemptStateProto
APP_ATTEMPT_ALLOCATED: YarnApplicationAttemptStateProto
APP_ATTEMPT_LAUNCHED: YarnApplicationAttemptStateProto
APP_ATTEMPT_FAILED: YarnApplicationAttemptStateProto
APP_ATTEMPT_RUNNING: YarnApplicationAttemptStateProto
APP_ATTEMPT_FINISHING: YarnApplicationAttemptStateProto
APP_ATTEMPT_FINISHED: YarnApplicationAttemptStateProto
APP_ATTEMPT_KILLED: YarnApplicationAttemptStateProto
APP_UNDEFINED: FinalApplicationStatusProto
APP_SUCCEEDED: FinalApplicationStatusProto
APP_FAILED: FinalApplicationStatusProto
APP_KILLED: FinalApplicationStatusProto
APP_ENDED: FinalApplicationStatusProto
PUBLIC: LocalResourceVisibilityProto
PRIVATE: LocalResourceVisibilityProto
APPLICATION: LocalResourceVisibilityProto
ARCHIVE: LocalResourceTypeProto
FILE: LocalResourceTypeProto
PATTERN: LocalResourceTypeProto
LOG_DISABLED: LogAggregationStatusProto
LOG_NOT_START: LogAggregationStatusProto
LOG_RUNNING: LogAggregationStatusProto
LOG_SUCCEEDED: LogAggregationStatusProto
LOG_FAILED: LogAggregationStatusProto
LOG_TIME_OUT: LogAggregationStatusProto
LOG_RUNNING_WITH_FAILURE: LogAggregationStatusProto
NS_NEW: NodeStateProto
NS_RUNNING: NodeStateProto
NS_UNHEALTHY: NodeStateProto
NS_DECOMMISSIONED: NodeStateProto
NS_LOST: NodeStateProto
NS_REBOOTED: NodeStateProto
NS_DECOMMISSIONING: NodeStateProto
NS_SHUTDOWN: NodeStateProto
NODE_USABLE: NodeUpdateTypeProto
NODE_UNUSABLE: NodeUpdateTypeProto
NODE_DECOMMISSIONING: NodeUpdateTypeProto
STRING: NodeAttributeTypeProto
APPLICATION_MASTER: ContainerTypeProto
TASK: ContainerTypeProto
GUARANTEED: ExecutionTypeProto
OPPORTUNISTIC: ExecutionTypeProto
AM_RESYNC: AMCommandProto
AM_SHUTDOWN: AMCommandProto
RRP_COULD_NOT_PLACE_ON_NODE: RejectionReasonProto
RRP_COULD_NOT_SCHEDULE_ON_NODE: RejectionReasonProto
APP_TIMEOUT_LIFETIME: ApplicationTimeoutTypeProto
APPACCESS_VIEW_APP: ApplicationAccessTypeProto
APPACCESS_MODIFY_APP: ApplicationAccessTypeProto
Q_STOPPED: QueueStateProto
Q_RUNNING: QueueStateProto
Q_DRAINING: QueueStateProto
QACL_SUBMIT_APPLICATIONS: QueueACLProto
QACL_ADMINISTER_QUEUE: QueueACLProto
OUTPUT_THREAD_DUMP: SignalContainerCommandProto
GRACEFUL_SHUTDOWN: SignalContainerCommandProto
FORCEFUL_SHUTDOWN: SignalContainerCommandProto
NO_OP: NodeAttributeOpCodeProto
EQ: NodeAttributeOpCodeProto
NE: NodeAttributeOpCodeProto
R_ANY: ReservationRequestInterpreterProto
R_ALL: ReservationRequestInterpreterProto
R_ORDER: ReservationRequestInterpreterProto
R_ORDER_NO_GAP: ReservationRequestInterpreterProto
SUCCESS: ContainerExitStatusProto
INVALID: ContainerExitStatusProto
ABORTED: ContainerExitStatusProto
DISKS_FAILED: ContainerExitStatusProto
NEVER_RETRY: ContainerRetryPolicyProto
RETRY_ON_ALL_ERRORS: ContainerRetryPolicyProto
RETRY_ON_SPECIFIC_ERROR_CODES: ContainerRetryPolicyProto

class SerializedExceptionProto(_message.Message):
    __slots__ = ("message", "trace", "class_name", "cause")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    message: str
    trace: str
    class_name: str
    cause: SerializedExceptionProto
    def __init__(self, message: _Optional[str] = ..., trace: _Optional[str] = ..., class_name: _Optional[str] = ..., cause: _Optional[_Union[SerializedExceptionProto, _Mapping]] = ...) -> None: ...

class ApplicationIdProto(_message.Message):
    __slots__ = ("id", "cluster_timestamp")
    ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    id: int
    cluster_timestamp: int
    def __init__(self, id: _Optional[int] = ..., cluster_timestamp: _Optional[int] = ...) -> None: ...

class ApplicationAttemptIdProto(_message.Message):
    __slots__ = ("application_id", "attemptId")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTID_FIELD_NUMBER: _ClassVar[int]
    application_id: ApplicationIdProto
    attemptId: int
    def __init__(self, application_id: _Optional[_Union[ApplicationIdProto, _Mapping]] = ..., attemptId: _Optional[int] = ...) -> None: ...

class ContainerIdProto(_message.Message):
    __slots__ = ("app_id", "app_attempt_id", "id")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    app_id: ApplicationIdProto
    app_attempt_id: ApplicationAttemptIdProto
    id: int
    def __init__(self, app_id: _Optional[_Union[ApplicationIdProto, _Mapping]] = ..., app_attempt_id: _Optional[_Union[ApplicationAttemptIdProto, _Mapping]] = ..., id: _Optional[int] = ...) -> None: ...

class ResourceInformationProto(_message.Message):
    __slots__ = ("key", "value", "units", "type", "tags", "attributes")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: int
    units: str
    type: ResourceTypesProto
    tags: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.RepeatedCompositeFieldContainer[StringStringMapProto]
    def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ..., units: _Optional[str] = ..., type: _Optional[_Union[ResourceTypesProto, str]] = ..., tags: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Iterable[_Union[StringStringMapProto, _Mapping]]] = ...) -> None: ...

class ResourceTypeInfoProto(_message.Message):
    __slots__ = ("name", "units", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    units: str
    type: ResourceTypesProto
    def __init__(self, name: _Optional[str] = ..., units: _Optional[str] = ..., type: _Optional[_Union[ResourceTypesProto, str]] = ...) -> None: ...

class ResourceProto(_message.Message):
    __slots__ = ("memory", "virtual_cores", "resource_value_map")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    VIRTUAL_CORES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VALUE_MAP_FIELD_NUMBER: _ClassVar[int]
    memory: int
    virtual_cores: int
    resource_value_map: _containers.RepeatedCompositeFieldContainer[ResourceInformationProto]
    def __init__(self, memory: _Optional[int] = ..., virtual_cores: _Optional[int] = ..., resource_value_map: _Optional[_Iterable[_Union[ResourceInformationProto, _Mapping]]] = ...) -> None: ...

class ResourceUtilizationProto(_message.Message):
    __slots__ = ("pmem", "vmem", "cpu", "customResources")
    PMEM_FIELD_NUMBER: _ClassVar[int]
    VMEM_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    CUSTOMRESOURCES_FIELD_NUMBER: _ClassVar[int]
    pmem: int
    vmem: int
    cpu: float
    customResources: _containers.RepeatedCompositeFieldContainer[StringFloatMapProto]
    def __init__(self, pmem: _Optional[int] = ..., vmem: _Optional[int] = ..., cpu: _Optional[float] = ..., customResources: _Optional[_Iterable[_Union[StringFloatMapProto, _Mapping]]] = ...) -> None: ...

class ResourceOptionProto(_message.Message):
    __slots__ = ("resource", "over_commit_timeout")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OVER_COMMIT_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    resource: ResourceProto
    over_commit_timeout: int
    def __init__(self, resource: _Optional[_Union[ResourceProto, _Mapping]] = ..., over_commit_timeout: _Optional[int] = ...) -> None: ...

class ResourceProfileEntry(_message.Message):
    __slots__ = ("name", "resources")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    name: str
    resources: ResourceProto
    def __init__(self, name: _Optional[str] = ..., resources: _Optional[_Union[ResourceProto, _Mapping]] = ...) -> None: ...

class ResourceProfilesProto(_message.Message):
    __slots__ = ("resource_profiles_map",)
    RESOURCE_PROFILES_MAP_FIELD_NUMBER: _ClassVar[int]
    resource_profiles_map: _containers.RepeatedCompositeFieldContainer[ResourceProfileEntry]
    def __init__(self, resource_profiles_map: _Optional[_Iterable[_Union[ResourceProfileEntry, _Mapping]]] = ...) -> None: ...

class NodeResourceMapProto(_message.Message):
    __slots__ = ("node_id", "resource_option")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_OPTION_FIELD_NUMBER: _ClassVar[int]
    node_id: NodeIdProto
    resource_option: ResourceOptionProto
    def __init__(self, node_id: _Optional[_Union[NodeIdProto, _Mapping]] = ..., resource_option: _Optional[_Union[ResourceOptionProto, _Mapping]] = ...) -> None: ...

class PriorityProto(_message.Message):
    __slots__ = ("priority",)
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    priority: int
    def __init__(self, priority: _Optional[int] = ...) -> None: ...

class ContainerProto(_message.Message):
    __slots__ = ("id", "nodeId", "node_http_address", "resource", "priority", "container_token", "execution_type", "allocation_request_id", "version", "allocation_tags", "exposed_ports")
    ID_FIELD_NUMBER: _ClassVar[int]
    NODEID_FIELD_NUMBER: _ClassVar[int]
    NODE_HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_TAGS_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_PORTS_FIELD_NUMBER: _ClassVar[int]
    id: ContainerIdProto
    nodeId: NodeIdProto
    node_http_address: str
    resource: ResourceProto
    priority: PriorityProto
    container_token: _Security_pb2.TokenProto
    execution_type: ExecutionTypeProto
    allocation_request_id: int
    version: int
    allocation_tags: _containers.RepeatedScalarFieldContainer[str]
    exposed_ports: str
    def __init__(self, id: _Optional[_Union[ContainerIdProto, _Mapping]] = ..., nodeId: _Optional[_Union[NodeIdProto, _Mapping]] = ..., node_http_address: _Optional[str] = ..., resource: _Optional[_Union[ResourceProto, _Mapping]] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., container_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ..., execution_type: _Optional[_Union[ExecutionTypeProto, str]] = ..., allocation_request_id: _Optional[int] = ..., version: _Optional[int] = ..., allocation_tags: _Optional[_Iterable[str]] = ..., exposed_ports: _Optional[str] = ...) -> None: ...

class ContainerReportProto(_message.Message):
    __slots__ = ("container_id", "resource", "node_id", "priority", "creation_time", "finish_time", "diagnostics_info", "log_url", "container_exit_status", "container_state", "node_http_address", "executionType", "exposed_ports")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_INFO_FIELD_NUMBER: _ClassVar[int]
    LOG_URL_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_STATE_FIELD_NUMBER: _ClassVar[int]
    NODE_HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONTYPE_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_PORTS_FIELD_NUMBER: _ClassVar[int]
    container_id: ContainerIdProto
    resource: ResourceProto
    node_id: NodeIdProto
    priority: PriorityProto
    creation_time: int
    finish_time: int
    diagnostics_info: str
    log_url: str
    container_exit_status: int
    container_state: ContainerStateProto
    node_http_address: str
    executionType: ExecutionTypeProto
    exposed_ports: str
    def __init__(self, container_id: _Optional[_Union[ContainerIdProto, _Mapping]] = ..., resource: _Optional[_Union[ResourceProto, _Mapping]] = ..., node_id: _Optional[_Union[NodeIdProto, _Mapping]] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., creation_time: _Optional[int] = ..., finish_time: _Optional[int] = ..., diagnostics_info: _Optional[str] = ..., log_url: _Optional[str] = ..., container_exit_status: _Optional[int] = ..., container_state: _Optional[_Union[ContainerStateProto, str]] = ..., node_http_address: _Optional[str] = ..., executionType: _Optional[_Union[ExecutionTypeProto, str]] = ..., exposed_ports: _Optional[str] = ...) -> None: ...

class URLProto(_message.Message):
    __slots__ = ("scheme", "host", "port", "file", "userInfo")
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    USERINFO_FIELD_NUMBER: _ClassVar[int]
    scheme: str
    host: str
    port: int
    file: str
    userInfo: str
    def __init__(self, scheme: _Optional[str] = ..., host: _Optional[str] = ..., port: _Optional[int] = ..., file: _Optional[str] = ..., userInfo: _Optional[str] = ...) -> None: ...

class LocalResourceProto(_message.Message):
    __slots__ = ("resource", "size", "timestamp", "type", "visibility", "pattern", "should_be_uploaded_to_shared_cache")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    SHOULD_BE_UPLOADED_TO_SHARED_CACHE_FIELD_NUMBER: _ClassVar[int]
    resource: URLProto
    size: int
    timestamp: int
    type: LocalResourceTypeProto
    visibility: LocalResourceVisibilityProto
    pattern: str
    should_be_uploaded_to_shared_cache: bool
    def __init__(self, resource: _Optional[_Union[URLProto, _Mapping]] = ..., size: _Optional[int] = ..., timestamp: _Optional[int] = ..., type: _Optional[_Union[LocalResourceTypeProto, str]] = ..., visibility: _Optional[_Union[LocalResourceVisibilityProto, str]] = ..., pattern: _Optional[str] = ..., should_be_uploaded_to_shared_cache: _Optional[bool] = ...) -> None: ...

class StringLongMapProto(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: int
    def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class StringFloatMapProto(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: float
    def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class ApplicationResourceUsageReportProto(_message.Message):
    __slots__ = ("num_used_containers", "num_reserved_containers", "used_resources", "reserved_resources", "needed_resources", "memory_seconds", "vcore_seconds", "queue_usage_percentage", "cluster_usage_percentage", "preempted_memory_seconds", "preempted_vcore_seconds", "application_resource_usage_map", "application_preempted_resource_usage_map")
    NUM_USED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    NUM_RESERVED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    USED_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    RESERVED_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    NEEDED_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    VCORE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_USAGE_PERCENTAGE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_USAGE_PERCENTAGE_FIELD_NUMBER: _ClassVar[int]
    PREEMPTED_MEMORY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTED_VCORE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_RESOURCE_USAGE_MAP_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_PREEMPTED_RESOURCE_USAGE_MAP_FIELD_NUMBER: _ClassVar[int]
    num_used_containers: int
    num_reserved_containers: int
    used_resources: ResourceProto
    reserved_resources: ResourceProto
    needed_resources: ResourceProto
    memory_seconds: int
    vcore_seconds: int
    queue_usage_percentage: float
    cluster_usage_percentage: float
    preempted_memory_seconds: int
    preempted_vcore_seconds: int
    application_resource_usage_map: _containers.RepeatedCompositeFieldContainer[StringLongMapProto]
    application_preempted_resource_usage_map: _containers.RepeatedCompositeFieldContainer[StringLongMapProto]
    def __init__(self, num_used_containers: _Optional[int] = ..., num_reserved_containers: _Optional[int] = ..., used_resources: _Optional[_Union[ResourceProto, _Mapping]] = ..., reserved_resources: _Optional[_Union[ResourceProto, _Mapping]] = ..., needed_resources: _Optional[_Union[ResourceProto, _Mapping]] = ..., memory_seconds: _Optional[int] = ..., vcore_seconds: _Optional[int] = ..., queue_usage_percentage: _Optional[float] = ..., cluster_usage_percentage: _Optional[float] = ..., preempted_memory_seconds: _Optional[int] = ..., preempted_vcore_seconds: _Optional[int] = ..., application_resource_usage_map: _Optional[_Iterable[_Union[StringLongMapProto, _Mapping]]] = ..., application_preempted_resource_usage_map: _Optional[_Iterable[_Union[StringLongMapProto, _Mapping]]] = ...) -> None: ...

class ApplicationReportProto(_message.Message):
    __slots__ = ("applicationId", "user", "queue", "name", "host", "rpc_port", "client_to_am_token", "yarn_application_state", "trackingUrl", "diagnostics", "startTime", "finishTime", "final_application_status", "app_resource_Usage", "originalTrackingUrl", "currentApplicationAttemptId", "progress", "applicationType", "am_rm_token", "applicationTags", "log_aggregation_status", "unmanaged_application", "priority", "appNodeLabelExpression", "amNodeLabelExpression", "appTimeouts", "launchTime", "submitTime", "rmClusterId")
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    RPC_PORT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_TO_AM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    YARN_APPLICATION_STATE_FIELD_NUMBER: _ClassVar[int]
    TRACKINGURL_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    STARTTIME_FIELD_NUMBER: _ClassVar[int]
    FINISHTIME_FIELD_NUMBER: _ClassVar[int]
    FINAL_APPLICATION_STATUS_FIELD_NUMBER: _ClassVar[int]
    APP_RESOURCE_USAGE_FIELD_NUMBER: _ClassVar[int]
    ORIGINALTRACKINGURL_FIELD_NUMBER: _ClassVar[int]
    CURRENTAPPLICATIONATTEMPTID_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONTYPE_FIELD_NUMBER: _ClassVar[int]
    AM_RM_TOKEN_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONTAGS_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_STATUS_FIELD_NUMBER: _ClassVar[int]
    UNMANAGED_APPLICATION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    APPNODELABELEXPRESSION_FIELD_NUMBER: _ClassVar[int]
    AMNODELABELEXPRESSION_FIELD_NUMBER: _ClassVar[int]
    APPTIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    LAUNCHTIME_FIELD_NUMBER: _ClassVar[int]
    SUBMITTIME_FIELD_NUMBER: _ClassVar[int]
    RMCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    applicationId: ApplicationIdProto
    user: str
    queue: str
    name: str
    host: str
    rpc_port: int
    client_to_am_token: _Security_pb2.TokenProto
    yarn_application_state: YarnApplicationStateProto
    trackingUrl: str
    diagnostics: str
    startTime: int
    finishTime: int
    final_application_status: FinalApplicationStatusProto
    app_resource_Usage: ApplicationResourceUsageReportProto
    originalTrackingUrl: str
    currentApplicationAttemptId: ApplicationAttemptIdProto
    progress: float
    applicationType: str
    am_rm_token: _Security_pb2.TokenProto
    applicationTags: _containers.RepeatedScalarFieldContainer[str]
    log_aggregation_status: LogAggregationStatusProto
    unmanaged_application: bool
    priority: PriorityProto
    appNodeLabelExpression: str
    amNodeLabelExpression: str
    appTimeouts: _containers.RepeatedCompositeFieldContainer[AppTimeoutsMapProto]
    launchTime: int
    submitTime: int
    rmClusterId: str
    def __init__(self, applicationId: _Optional[_Union[ApplicationIdProto, _Mapping]] = ..., user: _Optional[str] = ..., queue: _Optional[str] = ..., name: _Optional[str] = ..., host: _Optional[str] = ..., rpc_port: _Optional[int] = ..., client_to_am_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ..., yarn_application_state: _Optional[_Union[YarnApplicationStateProto, str]] = ..., trackingUrl: _Optional[str] = ..., diagnostics: _Optional[str] = ..., startTime: _Optional[int] = ..., finishTime: _Optional[int] = ..., final_application_status: _Optional[_Union[FinalApplicationStatusProto, str]] = ..., app_resource_Usage: _Optional[_Union[ApplicationResourceUsageReportProto, _Mapping]] = ..., originalTrackingUrl: _Optional[str] = ..., currentApplicationAttemptId: _Optional[_Union[ApplicationAttemptIdProto, _Mapping]] = ..., progress: _Optional[float] = ..., applicationType: _Optional[str] = ..., am_rm_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ..., applicationTags: _Optional[_Iterable[str]] = ..., log_aggregation_status: _Optional[_Union[LogAggregationStatusProto, str]] = ..., unmanaged_application: _Optional[bool] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., appNodeLabelExpression: _Optional[str] = ..., amNodeLabelExpression: _Optional[str] = ..., appTimeouts: _Optional[_Iterable[_Union[AppTimeoutsMapProto, _Mapping]]] = ..., launchTime: _Optional[int] = ..., submitTime: _Optional[int] = ..., rmClusterId: _Optional[str] = ...) -> None: ...

class AppTimeoutsMapProto(_message.Message):
    __slots__ = ("application_timeout_type", "application_timeout")
    APPLICATION_TIMEOUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    application_timeout_type: ApplicationTimeoutTypeProto
    application_timeout: ApplicationTimeoutProto
    def __init__(self, application_timeout_type: _Optional[_Union[ApplicationTimeoutTypeProto, str]] = ..., application_timeout: _Optional[_Union[ApplicationTimeoutProto, _Mapping]] = ...) -> None: ...

class ApplicationTimeoutProto(_message.Message):
    __slots__ = ("application_timeout_type", "expire_time", "remaining_time")
    APPLICATION_TIMEOUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    REMAINING_TIME_FIELD_NUMBER: _ClassVar[int]
    application_timeout_type: ApplicationTimeoutTypeProto
    expire_time: str
    remaining_time: int
    def __init__(self, application_timeout_type: _Optional[_Union[ApplicationTimeoutTypeProto, str]] = ..., expire_time: _Optional[str] = ..., remaining_time: _Optional[int] = ...) -> None: ...

class ApplicationAttemptReportProto(_message.Message):
    __slots__ = ("application_attempt_id", "host", "rpc_port", "tracking_url", "diagnostics", "yarn_application_attempt_state", "am_container_id", "original_tracking_url", "startTime", "finishTime")
    APPLICATION_ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    RPC_PORT_FIELD_NUMBER: _ClassVar[int]
    TRACKING_URL_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    YARN_APPLICATION_ATTEMPT_STATE_FIELD_NUMBER: _ClassVar[int]
    AM_CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_TRACKING_URL_FIELD_NUMBER: _ClassVar[int]
    STARTTIME_FIELD_NUMBER: _ClassVar[int]
    FINISHTIME_FIELD_NUMBER: _ClassVar[int]
    application_attempt_id: ApplicationAttemptIdProto
    host: str
    rpc_port: int
    tracking_url: str
    diagnostics: str
    yarn_application_attempt_state: YarnApplicationAttemptStateProto
    am_container_id: ContainerIdProto
    original_tracking_url: str
    startTime: int
    finishTime: int
    def __init__(self, application_attempt_id: _Optional[_Union[ApplicationAttemptIdProto, _Mapping]] = ..., host: _Optional[str] = ..., rpc_port: _Optional[int] = ..., tracking_url: _Optional[str] = ..., diagnostics: _Optional[str] = ..., yarn_application_attempt_state: _Optional[_Union[YarnApplicationAttemptStateProto, str]] = ..., am_container_id: _Optional[_Union[ContainerIdProto, _Mapping]] = ..., original_tracking_url: _Optional[str] = ..., startTime: _Optional[int] = ..., finishTime: _Optional[int] = ...) -> None: ...

class NodeIdProto(_message.Message):
    __slots__ = ("host", "port")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class NodeReportProto(_message.Message):
    __slots__ = ("nodeId", "httpAddress", "rackName", "used", "capability", "numContainers", "node_state", "health_report", "last_health_report_time", "node_labels", "containers_utilization", "node_utilization", "decommissioning_timeout", "node_update_type", "node_attributes")
    NODEID_FIELD_NUMBER: _ClassVar[int]
    HTTPADDRESS_FIELD_NUMBER: _ClassVar[int]
    RACKNAME_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    NUMCONTAINERS_FIELD_NUMBER: _ClassVar[int]
    NODE_STATE_FIELD_NUMBER: _ClassVar[int]
    HEALTH_REPORT_FIELD_NUMBER: _ClassVar[int]
    LAST_HEALTH_REPORT_TIME_FIELD_NUMBER: _ClassVar[int]
    NODE_LABELS_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    NODE_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    DECOMMISSIONING_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    NODE_UPDATE_TYPE_FIELD_NUMBER: _ClassVar[int]
    NODE_ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    nodeId: NodeIdProto
    httpAddress: str
    rackName: str
    used: ResourceProto
    capability: ResourceProto
    numContainers: int
    node_state: NodeStateProto
    health_report: str
    last_health_report_time: int
    node_labels: _containers.RepeatedScalarFieldContainer[str]
    containers_utilization: ResourceUtilizationProto
    node_utilization: ResourceUtilizationProto
    decommissioning_timeout: int
    node_update_type: NodeUpdateTypeProto
    node_attributes: _containers.RepeatedCompositeFieldContainer[NodeAttributeProto]
    def __init__(self, nodeId: _Optional[_Union[NodeIdProto, _Mapping]] = ..., httpAddress: _Optional[str] = ..., rackName: _Optional[str] = ..., used: _Optional[_Union[ResourceProto, _Mapping]] = ..., capability: _Optional[_Union[ResourceProto, _Mapping]] = ..., numContainers: _Optional[int] = ..., node_state: _Optional[_Union[NodeStateProto, str]] = ..., health_report: _Optional[str] = ..., last_health_report_time: _Optional[int] = ..., node_labels: _Optional[_Iterable[str]] = ..., containers_utilization: _Optional[_Union[ResourceUtilizationProto, _Mapping]] = ..., node_utilization: _Optional[_Union[ResourceUtilizationProto, _Mapping]] = ..., decommissioning_timeout: _Optional[int] = ..., node_update_type: _Optional[_Union[NodeUpdateTypeProto, str]] = ..., node_attributes: _Optional[_Iterable[_Union[NodeAttributeProto, _Mapping]]] = ...) -> None: ...

class NodeIdToLabelsProto(_message.Message):
    __slots__ = ("nodeId", "nodeLabels")
    NODEID_FIELD_NUMBER: _ClassVar[int]
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    nodeId: NodeIdProto
    nodeLabels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodeId: _Optional[_Union[NodeIdProto, _Mapping]] = ..., nodeLabels: _Optional[_Iterable[str]] = ...) -> None: ...

class LabelsToNodeIdsProto(_message.Message):
    __slots__ = ("nodeLabels", "nodeId")
    NODELABELS_FIELD_NUMBER: _ClassVar[int]
    NODEID_FIELD_NUMBER: _ClassVar[int]
    nodeLabels: str
    nodeId: _containers.RepeatedCompositeFieldContainer[NodeIdProto]
    def __init__(self, nodeLabels: _Optional[str] = ..., nodeId: _Optional[_Iterable[_Union[NodeIdProto, _Mapping]]] = ...) -> None: ...

class NodeLabelProto(_message.Message):
    __slots__ = ("name", "isExclusive")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ISEXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    isExclusive: bool
    def __init__(self, name: _Optional[str] = ..., isExclusive: _Optional[bool] = ...) -> None: ...

class NodeAttributeKeyProto(_message.Message):
    __slots__ = ("attributePrefix", "attributeName")
    ATTRIBUTEPREFIX_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTENAME_FIELD_NUMBER: _ClassVar[int]
    attributePrefix: str
    attributeName: str
    def __init__(self, attributePrefix: _Optional[str] = ..., attributeName: _Optional[str] = ...) -> None: ...

class NodeAttributeProto(_message.Message):
    __slots__ = ("attributeKey", "attributeType", "attributeValue")
    ATTRIBUTEKEY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTETYPE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTEVALUE_FIELD_NUMBER: _ClassVar[int]
    attributeKey: NodeAttributeKeyProto
    attributeType: NodeAttributeTypeProto
    attributeValue: str
    def __init__(self, attributeKey: _Optional[_Union[NodeAttributeKeyProto, _Mapping]] = ..., attributeType: _Optional[_Union[NodeAttributeTypeProto, str]] = ..., attributeValue: _Optional[str] = ...) -> None: ...

class NodeAttributeInfoProto(_message.Message):
    __slots__ = ("attributeKey", "attributeType")
    ATTRIBUTEKEY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTETYPE_FIELD_NUMBER: _ClassVar[int]
    attributeKey: NodeAttributeKeyProto
    attributeType: NodeAttributeTypeProto
    def __init__(self, attributeKey: _Optional[_Union[NodeAttributeKeyProto, _Mapping]] = ..., attributeType: _Optional[_Union[NodeAttributeTypeProto, str]] = ...) -> None: ...

class NodeToAttributeValueProto(_message.Message):
    __slots__ = ("hostname", "attributeValue")
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTEVALUE_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    attributeValue: str
    def __init__(self, hostname: _Optional[str] = ..., attributeValue: _Optional[str] = ...) -> None: ...

class AttributeToNodesProto(_message.Message):
    __slots__ = ("nodeAttribute", "nodeValueMap")
    NODEATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    NODEVALUEMAP_FIELD_NUMBER: _ClassVar[int]
    nodeAttribute: NodeAttributeKeyProto
    nodeValueMap: _containers.RepeatedCompositeFieldContainer[NodeToAttributeValueProto]
    def __init__(self, nodeAttribute: _Optional[_Union[NodeAttributeKeyProto, _Mapping]] = ..., nodeValueMap: _Optional[_Iterable[_Union[NodeToAttributeValueProto, _Mapping]]] = ...) -> None: ...

class NodeToAttributesProto(_message.Message):
    __slots__ = ("node", "nodeAttributes")
    NODE_FIELD_NUMBER: _ClassVar[int]
    NODEATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    node: str
    nodeAttributes: _containers.RepeatedCompositeFieldContainer[NodeAttributeProto]
    def __init__(self, node: _Optional[str] = ..., nodeAttributes: _Optional[_Iterable[_Union[NodeAttributeProto, _Mapping]]] = ...) -> None: ...

class DeregisterSubClustersProto(_message.Message):
    __slots__ = ("subClusterId", "deregisterState", "lastHeartBeatTime", "information", "subClusterState")
    SUBCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    DEREGISTERSTATE_FIELD_NUMBER: _ClassVar[int]
    LASTHEARTBEATTIME_FIELD_NUMBER: _ClassVar[int]
    INFORMATION_FIELD_NUMBER: _ClassVar[int]
    SUBCLUSTERSTATE_FIELD_NUMBER: _ClassVar[int]
    subClusterId: str
    deregisterState: str
    lastHeartBeatTime: str
    information: str
    subClusterState: str
    def __init__(self, subClusterId: _Optional[str] = ..., deregisterState: _Optional[str] = ..., lastHeartBeatTime: _Optional[str] = ..., information: _Optional[str] = ..., subClusterState: _Optional[str] = ...) -> None: ...

class FederationQueueWeightProto(_message.Message):
    __slots__ = ("routerWeight", "amrmWeight", "headRoomAlpha", "queue", "policyManagerClassName")
    ROUTERWEIGHT_FIELD_NUMBER: _ClassVar[int]
    AMRMWEIGHT_FIELD_NUMBER: _ClassVar[int]
    HEADROOMALPHA_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    POLICYMANAGERCLASSNAME_FIELD_NUMBER: _ClassVar[int]
    routerWeight: str
    amrmWeight: str
    headRoomAlpha: str
    queue: str
    policyManagerClassName: str
    def __init__(self, routerWeight: _Optional[str] = ..., amrmWeight: _Optional[str] = ..., headRoomAlpha: _Optional[str] = ..., queue: _Optional[str] = ..., policyManagerClassName: _Optional[str] = ...) -> None: ...

class FederationSubClusterProto(_message.Message):
    __slots__ = ("subClusterId", "lastHeartBeatTime", "subClusterState")
    SUBCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    LASTHEARTBEATTIME_FIELD_NUMBER: _ClassVar[int]
    SUBCLUSTERSTATE_FIELD_NUMBER: _ClassVar[int]
    subClusterId: str
    lastHeartBeatTime: str
    subClusterState: str
    def __init__(self, subClusterId: _Optional[str] = ..., lastHeartBeatTime: _Optional[str] = ..., subClusterState: _Optional[str] = ...) -> None: ...

class ResourceRequestProto(_message.Message):
    __slots__ = ("priority", "resource_name", "capability", "num_containers", "relax_locality", "node_label_expression", "execution_type_request", "allocation_request_id")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    NUM_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    RELAX_LOCALITY_FIELD_NUMBER: _ClassVar[int]
    NODE_LABEL_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_TYPE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    priority: PriorityProto
    resource_name: str
    capability: ResourceProto
    num_containers: int
    relax_locality: bool
    node_label_expression: str
    execution_type_request: ExecutionTypeRequestProto
    allocation_request_id: int
    def __init__(self, priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., resource_name: _Optional[str] = ..., capability: _Optional[_Union[ResourceProto, _Mapping]] = ..., num_containers: _Optional[int] = ..., relax_locality: _Optional[bool] = ..., node_label_expression: _Optional[str] = ..., execution_type_request: _Optional[_Union[ExecutionTypeRequestProto, _Mapping]] = ..., allocation_request_id: _Optional[int] = ...) -> None: ...

class ExecutionTypeRequestProto(_message.Message):
    __slots__ = ("execution_type", "enforce_execution_type")
    EXECUTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    ENFORCE_EXECUTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    execution_type: ExecutionTypeProto
    enforce_execution_type: bool
    def __init__(self, execution_type: _Optional[_Union[ExecutionTypeProto, str]] = ..., enforce_execution_type: _Optional[bool] = ...) -> None: ...

class SchedulingRequestProto(_message.Message):
    __slots__ = ("allocationRequestId", "priority", "executionType", "allocationTags", "resourceSizing", "placementConstraint")
    ALLOCATIONREQUESTID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONTYPE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATIONTAGS_FIELD_NUMBER: _ClassVar[int]
    RESOURCESIZING_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTCONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    allocationRequestId: int
    priority: PriorityProto
    executionType: ExecutionTypeRequestProto
    allocationTags: _containers.RepeatedScalarFieldContainer[str]
    resourceSizing: ResourceSizingProto
    placementConstraint: PlacementConstraintProto
    def __init__(self, allocationRequestId: _Optional[int] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., executionType: _Optional[_Union[ExecutionTypeRequestProto, _Mapping]] = ..., allocationTags: _Optional[_Iterable[str]] = ..., resourceSizing: _Optional[_Union[ResourceSizingProto, _Mapping]] = ..., placementConstraint: _Optional[_Union[PlacementConstraintProto, _Mapping]] = ...) -> None: ...

class ResourceSizingProto(_message.Message):
    __slots__ = ("numAllocations", "resources")
    NUMALLOCATIONS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    numAllocations: int
    resources: ResourceProto
    def __init__(self, numAllocations: _Optional[int] = ..., resources: _Optional[_Union[ResourceProto, _Mapping]] = ...) -> None: ...

class RejectedSchedulingRequestProto(_message.Message):
    __slots__ = ("reason", "request")
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    reason: RejectionReasonProto
    request: SchedulingRequestProto
    def __init__(self, reason: _Optional[_Union[RejectionReasonProto, str]] = ..., request: _Optional[_Union[SchedulingRequestProto, _Mapping]] = ...) -> None: ...

class PreemptionMessageProto(_message.Message):
    __slots__ = ("strictContract", "contract")
    STRICTCONTRACT_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    strictContract: StrictPreemptionContractProto
    contract: PreemptionContractProto
    def __init__(self, strictContract: _Optional[_Union[StrictPreemptionContractProto, _Mapping]] = ..., contract: _Optional[_Union[PreemptionContractProto, _Mapping]] = ...) -> None: ...

class StrictPreemptionContractProto(_message.Message):
    __slots__ = ("container",)
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    container: _containers.RepeatedCompositeFieldContainer[PreemptionContainerProto]
    def __init__(self, container: _Optional[_Iterable[_Union[PreemptionContainerProto, _Mapping]]] = ...) -> None: ...

class PreemptionContractProto(_message.Message):
    __slots__ = ("resource", "container")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    resource: _containers.RepeatedCompositeFieldContainer[PreemptionResourceRequestProto]
    container: _containers.RepeatedCompositeFieldContainer[PreemptionContainerProto]
    def __init__(self, resource: _Optional[_Iterable[_Union[PreemptionResourceRequestProto, _Mapping]]] = ..., container: _Optional[_Iterable[_Union[PreemptionContainerProto, _Mapping]]] = ...) -> None: ...

class PreemptionContainerProto(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: ContainerIdProto
    def __init__(self, id: _Optional[_Union[ContainerIdProto, _Mapping]] = ...) -> None: ...

class PreemptionResourceRequestProto(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: ResourceRequestProto
    def __init__(self, resource: _Optional[_Union[ResourceRequestProto, _Mapping]] = ...) -> None: ...

class ResourceBlacklistRequestProto(_message.Message):
    __slots__ = ("blacklist_additions", "blacklist_removals")
    BLACKLIST_ADDITIONS_FIELD_NUMBER: _ClassVar[int]
    BLACKLIST_REMOVALS_FIELD_NUMBER: _ClassVar[int]
    blacklist_additions: _containers.RepeatedScalarFieldContainer[str]
    blacklist_removals: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, blacklist_additions: _Optional[_Iterable[str]] = ..., blacklist_removals: _Optional[_Iterable[str]] = ...) -> None: ...

class ApplicationSubmissionContextProto(_message.Message):
    __slots__ = ("application_id", "application_name", "queue", "priority", "am_container_spec", "cancel_tokens_when_complete", "unmanaged_am", "maxAppAttempts", "resource", "applicationType", "keep_containers_across_application_attempts", "applicationTags", "attempt_failures_validity_interval", "log_aggregation_context", "reservation_id", "node_label_expression", "am_container_resource_request", "application_timeouts", "application_scheduling_properties")
    APPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    AM_CONTAINER_SPEC_FIELD_NUMBER: _ClassVar[int]
    CANCEL_TOKENS_WHEN_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    UNMANAGED_AM_FIELD_NUMBER: _ClassVar[int]
    MAXAPPATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONTYPE_FIELD_NUMBER: _ClassVar[int]
    KEEP_CONTAINERS_ACROSS_APPLICATION_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONTAGS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FAILURES_VALIDITY_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_LABEL_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    AM_CONTAINER_RESOURCE_REQUEST_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_TIMEOUTS_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_SCHEDULING_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    application_id: ApplicationIdProto
    application_name: str
    queue: str
    priority: PriorityProto
    am_container_spec: ContainerLaunchContextProto
    cancel_tokens_when_complete: bool
    unmanaged_am: bool
    maxAppAttempts: int
    resource: ResourceProto
    applicationType: str
    keep_containers_across_application_attempts: bool
    applicationTags: _containers.RepeatedScalarFieldContainer[str]
    attempt_failures_validity_interval: int
    log_aggregation_context: LogAggregationContextProto
    reservation_id: ReservationIdProto
    node_label_expression: str
    am_container_resource_request: _containers.RepeatedCompositeFieldContainer[ResourceRequestProto]
    application_timeouts: _containers.RepeatedCompositeFieldContainer[ApplicationTimeoutMapProto]
    application_scheduling_properties: _containers.RepeatedCompositeFieldContainer[StringStringMapProto]
    def __init__(self, application_id: _Optional[_Union[ApplicationIdProto, _Mapping]] = ..., application_name: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ..., am_container_spec: _Optional[_Union[ContainerLaunchContextProto, _Mapping]] = ..., cancel_tokens_when_complete: _Optional[bool] = ..., unmanaged_am: _Optional[bool] = ..., maxAppAttempts: _Optional[int] = ..., resource: _Optional[_Union[ResourceProto, _Mapping]] = ..., applicationType: _Optional[str] = ..., keep_containers_across_application_attempts: _Optional[bool] = ..., applicationTags: _Optional[_Iterable[str]] = ..., attempt_failures_validity_interval: _Optional[int] = ..., log_aggregation_context: _Optional[_Union[LogAggregationContextProto, _Mapping]] = ..., reservation_id: _Optional[_Union[ReservationIdProto, _Mapping]] = ..., node_label_expression: _Optional[str] = ..., am_container_resource_request: _Optional[_Iterable[_Union[ResourceRequestProto, _Mapping]]] = ..., application_timeouts: _Optional[_Iterable[_Union[ApplicationTimeoutMapProto, _Mapping]]] = ..., application_scheduling_properties: _Optional[_Iterable[_Union[StringStringMapProto, _Mapping]]] = ...) -> None: ...

class ApplicationTimeoutMapProto(_message.Message):
    __slots__ = ("application_timeout_type", "timeout")
    APPLICATION_TIMEOUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    application_timeout_type: ApplicationTimeoutTypeProto
    timeout: int
    def __init__(self, application_timeout_type: _Optional[_Union[ApplicationTimeoutTypeProto, str]] = ..., timeout: _Optional[int] = ...) -> None: ...

class ApplicationUpdateTimeoutMapProto(_message.Message):
    __slots__ = ("application_timeout_type", "expire_time")
    APPLICATION_TIMEOUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    application_timeout_type: ApplicationTimeoutTypeProto
    expire_time: str
    def __init__(self, application_timeout_type: _Optional[_Union[ApplicationTimeoutTypeProto, str]] = ..., expire_time: _Optional[str] = ...) -> None: ...

class LogAggregationContextProto(_message.Message):
    __slots__ = ("include_pattern", "exclude_pattern", "rolled_logs_include_pattern", "rolled_logs_exclude_pattern", "log_aggregation_policy_class_name", "log_aggregation_policy_parameters")
    INCLUDE_PATTERN_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_PATTERN_FIELD_NUMBER: _ClassVar[int]
    ROLLED_LOGS_INCLUDE_PATTERN_FIELD_NUMBER: _ClassVar[int]
    ROLLED_LOGS_EXCLUDE_PATTERN_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_POLICY_CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    LOG_AGGREGATION_POLICY_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    include_pattern: str
    exclude_pattern: str
    rolled_logs_include_pattern: str
    rolled_logs_exclude_pattern: str
    log_aggregation_policy_class_name: str
    log_aggregation_policy_parameters: str
    def __init__(self, include_pattern: _Optional[str] = ..., exclude_pattern: _Optional[str] = ..., rolled_logs_include_pattern: _Optional[str] = ..., rolled_logs_exclude_pattern: _Optional[str] = ..., log_aggregation_policy_class_name: _Optional[str] = ..., log_aggregation_policy_parameters: _Optional[str] = ...) -> None: ...

class ApplicationACLMapProto(_message.Message):
    __slots__ = ("accessType", "acl")
    ACCESSTYPE_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    accessType: ApplicationAccessTypeProto
    acl: str
    def __init__(self, accessType: _Optional[_Union[ApplicationAccessTypeProto, str]] = ..., acl: _Optional[str] = ...) -> None: ...

class YarnClusterMetricsProto(_message.Message):
    __slots__ = ("num_node_managers", "num_decommissioned_nms", "num_active_nms", "num_lost_nms", "num_unhealthy_nms", "num_rebooted_nms", "num_decommissioning_nms", "num_shutdown_nms")
    NUM_NODE_MANAGERS_FIELD_NUMBER: _ClassVar[int]
    NUM_DECOMMISSIONED_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_ACTIVE_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_LOST_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_UNHEALTHY_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_REBOOTED_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_DECOMMISSIONING_NMS_FIELD_NUMBER: _ClassVar[int]
    NUM_SHUTDOWN_NMS_FIELD_NUMBER: _ClassVar[int]
    num_node_managers: int
    num_decommissioned_nms: int
    num_active_nms: int
    num_lost_nms: int
    num_unhealthy_nms: int
    num_rebooted_nms: int
    num_decommissioning_nms: int
    num_shutdown_nms: int
    def __init__(self, num_node_managers: _Optional[int] = ..., num_decommissioned_nms: _Optional[int] = ..., num_active_nms: _Optional[int] = ..., num_lost_nms: _Optional[int] = ..., num_unhealthy_nms: _Optional[int] = ..., num_rebooted_nms: _Optional[int] = ..., num_decommissioning_nms: _Optional[int] = ..., num_shutdown_nms: _Optional[int] = ...) -> None: ...

class QueueStatisticsProto(_message.Message):
    __slots__ = ("numAppsSubmitted", "numAppsRunning", "numAppsPending", "numAppsCompleted", "numAppsKilled", "numAppsFailed", "numActiveUsers", "availableMemoryMB", "allocatedMemoryMB", "pendingMemoryMB", "reservedMemoryMB", "availableVCores", "allocatedVCores", "pendingVCores", "reservedVCores", "allocatedContainers", "pendingContainers", "reservedContainers")
    NUMAPPSSUBMITTED_FIELD_NUMBER: _ClassVar[int]
    NUMAPPSRUNNING_FIELD_NUMBER: _ClassVar[int]
    NUMAPPSPENDING_FIELD_NUMBER: _ClassVar[int]
    NUMAPPSCOMPLETED_FIELD_NUMBER: _ClassVar[int]
    NUMAPPSKILLED_FIELD_NUMBER: _ClassVar[int]
    NUMAPPSFAILED_FIELD_NUMBER: _ClassVar[int]
    NUMACTIVEUSERS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLEMEMORYMB_FIELD_NUMBER: _ClassVar[int]
    ALLOCATEDMEMORYMB_FIELD_NUMBER: _ClassVar[int]
    PENDINGMEMORYMB_FIELD_NUMBER: _ClassVar[int]
    RESERVEDMEMORYMB_FIELD_NUMBER: _ClassVar[int]
    AVAILABLEVCORES_FIELD_NUMBER: _ClassVar[int]
    ALLOCATEDVCORES_FIELD_NUMBER: _ClassVar[int]
    PENDINGVCORES_FIELD_NUMBER: _ClassVar[int]
    RESERVEDVCORES_FIELD_NUMBER: _ClassVar[int]
    ALLOCATEDCONTAINERS_FIELD_NUMBER: _ClassVar[int]
    PENDINGCONTAINERS_FIELD_NUMBER: _ClassVar[int]
    RESERVEDCONTAINERS_FIELD_NUMBER: _ClassVar[int]
    numAppsSubmitted: int
    numAppsRunning: int
    numAppsPending: int
    numAppsCompleted: int
    numAppsKilled: int
    numAppsFailed: int
    numActiveUsers: int
    availableMemoryMB: int
    allocatedMemoryMB: int
    pendingMemoryMB: int
    reservedMemoryMB: int
    availableVCores: int
    allocatedVCores: int
    pendingVCores: int
    reservedVCores: int
    allocatedContainers: int
    pendingContainers: int
    reservedContainers: int
    def __init__(self, numAppsSubmitted: _Optional[int] = ..., numAppsRunning: _Optional[int] = ..., numAppsPending: _Optional[int] = ..., numAppsCompleted: _Optional[int] = ..., numAppsKilled: _Optional[int] = ..., numAppsFailed: _Optional[int] = ..., numActiveUsers: _Optional[int] = ..., availableMemoryMB: _Optional[int] = ..., allocatedMemoryMB: _Optional[int] = ..., pendingMemoryMB: _Optional[int] = ..., reservedMemoryMB: _Optional[int] = ..., availableVCores: _Optional[int] = ..., allocatedVCores: _Optional[int] = ..., pendingVCores: _Optional[int] = ..., reservedVCores: _Optional[int] = ..., allocatedContainers: _Optional[int] = ..., pendingContainers: _Optional[int] = ..., reservedContainers: _Optional[int] = ...) -> None: ...

class QueueInfoProto(_message.Message):
    __slots__ = ("queueName", "capacity", "maximumCapacity", "currentCapacity", "state", "childQueues", "applications", "accessibleNodeLabels", "defaultNodeLabelExpression", "queueStatistics", "preemptionDisabled", "queueConfigurationsMap", "intraQueuePreemptionDisabled", "weight", "queuePath", "maxParallelApps", "schedulerType", "minResourceVCore", "minResourceMemory", "maxResourceVCore", "maxResourceMemory", "reservedResourceVCore", "reservedResourceMemory", "steadyFairShareVCore", "steadyFairShareMemory", "subClusterId", "maxRunningApp")
    QUEUENAME_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    MAXIMUMCAPACITY_FIELD_NUMBER: _ClassVar[int]
    CURRENTCAPACITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CHILDQUEUES_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    ACCESSIBLENODELABELS_FIELD_NUMBER: _ClassVar[int]
    DEFAULTNODELABELEXPRESSION_FIELD_NUMBER: _ClassVar[int]
    QUEUESTATISTICS_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIONDISABLED_FIELD_NUMBER: _ClassVar[int]
    QUEUECONFIGURATIONSMAP_FIELD_NUMBER: _ClassVar[int]
    INTRAQUEUEPREEMPTIONDISABLED_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    QUEUEPATH_FIELD_NUMBER: _ClassVar[int]
    MAXPARALLELAPPS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULERTYPE_FIELD_NUMBER: _ClassVar[int]
    MINRESOURCEVCORE_FIELD_NUMBER: _ClassVar[int]
    MINRESOURCEMEMORY_FIELD_NUMBER: _ClassVar[int]
    MAXRESOURCEVCORE_FIELD_NUMBER: _ClassVar[int]
    MAXRESOURCEMEMORY_FIELD_NUMBER: _ClassVar[int]
    RESERVEDRESOURCEVCORE_FIELD_NUMBER: _ClassVar[int]
    RESERVEDRESOURCEMEMORY_FIELD_NUMBER: _ClassVar[int]
    STEADYFAIRSHAREVCORE_FIELD_NUMBER: _ClassVar[int]
    STEADYFAIRSHAREMEMORY_FIELD_NUMBER: _ClassVar[int]
    SUBCLUSTERID_FIELD_NUMBER: _ClassVar[int]
    MAXRUNNINGAPP_FIELD_NUMBER: _ClassVar[int]
    queueName: str
    capacity: float
    maximumCapacity: float
    currentCapacity: float
    state: QueueStateProto
    childQueues: _containers.RepeatedCompositeFieldContainer[QueueInfoProto]
    applications: _containers.RepeatedCompositeFieldContainer[ApplicationReportProto]
    accessibleNodeLabels: _containers.RepeatedScalarFieldContainer[str]
    defaultNodeLabelExpression: str
    queueStatistics: QueueStatisticsProto
    preemptionDisabled: bool
    queueConfigurationsMap: _containers.RepeatedCompositeFieldContainer[QueueConfigurationsMapProto]
    intraQueuePreemptionDisabled: bool
    weight: float
    queuePath: str
    maxParallelApps: int
    schedulerType: str
    minResourceVCore: int
    minResourceMemory: int
    maxResourceVCore: int
    maxResourceMemory: int
    reservedResourceVCore: int
    reservedResourceMemory: int
    steadyFairShareVCore: int
    steadyFairShareMemory: int
    subClusterId: str
    maxRunningApp: int
    def __init__(self, queueName: _Optional[str] = ..., capacity: _Optional[float] = ..., maximumCapacity: _Optional[float] = ..., currentCapacity: _Optional[float] = ..., state: _Optional[_Union[QueueStateProto, str]] = ..., childQueues: _Optional[_Iterable[_Union[QueueInfoProto, _Mapping]]] = ..., applications: _Optional[_Iterable[_Union[ApplicationReportProto, _Mapping]]] = ..., accessibleNodeLabels: _Optional[_Iterable[str]] = ..., defaultNodeLabelExpression: _Optional[str] = ..., queueStatistics: _Optional[_Union[QueueStatisticsProto, _Mapping]] = ..., preemptionDisabled: _Optional[bool] = ..., queueConfigurationsMap: _Optional[_Iterable[_Union[QueueConfigurationsMapProto, _Mapping]]] = ..., intraQueuePreemptionDisabled: _Optional[bool] = ..., weight: _Optional[float] = ..., queuePath: _Optional[str] = ..., maxParallelApps: _Optional[int] = ..., schedulerType: _Optional[str] = ..., minResourceVCore: _Optional[int] = ..., minResourceMemory: _Optional[int] = ..., maxResourceVCore: _Optional[int] = ..., maxResourceMemory: _Optional[int] = ..., reservedResourceVCore: _Optional[int] = ..., reservedResourceMemory: _Optional[int] = ..., steadyFairShareVCore: _Optional[int] = ..., steadyFairShareMemory: _Optional[int] = ..., subClusterId: _Optional[str] = ..., maxRunningApp: _Optional[int] = ...) -> None: ...

class QueueConfigurationsProto(_message.Message):
    __slots__ = ("capacity", "absoluteCapacity", "maxCapacity", "absoluteMaxCapacity", "maxAMPercentage", "effectiveMinCapacity", "effectiveMaxCapacity", "configuredMinCapacity", "configuredMaxCapacity")
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTECAPACITY_FIELD_NUMBER: _ClassVar[int]
    MAXCAPACITY_FIELD_NUMBER: _ClassVar[int]
    ABSOLUTEMAXCAPACITY_FIELD_NUMBER: _ClassVar[int]
    MAXAMPERCENTAGE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVEMINCAPACITY_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVEMAXCAPACITY_FIELD_NUMBER: _ClassVar[int]
    CONFIGUREDMINCAPACITY_FIELD_NUMBER: _ClassVar[int]
    CONFIGUREDMAXCAPACITY_FIELD_NUMBER: _ClassVar[int]
    capacity: float
    absoluteCapacity: float
    maxCapacity: float
    absoluteMaxCapacity: float
    maxAMPercentage: float
    effectiveMinCapacity: ResourceProto
    effectiveMaxCapacity: ResourceProto
    configuredMinCapacity: ResourceProto
    configuredMaxCapacity: ResourceProto
    def __init__(self, capacity: _Optional[float] = ..., absoluteCapacity: _Optional[float] = ..., maxCapacity: _Optional[float] = ..., absoluteMaxCapacity: _Optional[float] = ..., maxAMPercentage: _Optional[float] = ..., effectiveMinCapacity: _Optional[_Union[ResourceProto, _Mapping]] = ..., effectiveMaxCapacity: _Optional[_Union[ResourceProto, _Mapping]] = ..., configuredMinCapacity: _Optional[_Union[ResourceProto, _Mapping]] = ..., configuredMaxCapacity: _Optional[_Union[ResourceProto, _Mapping]] = ...) -> None: ...

class QueueConfigurationsMapProto(_message.Message):
    __slots__ = ("partitionName", "queueConfigurations")
    PARTITIONNAME_FIELD_NUMBER: _ClassVar[int]
    QUEUECONFIGURATIONS_FIELD_NUMBER: _ClassVar[int]
    partitionName: str
    queueConfigurations: QueueConfigurationsProto
    def __init__(self, partitionName: _Optional[str] = ..., queueConfigurations: _Optional[_Union[QueueConfigurationsProto, _Mapping]] = ...) -> None: ...

class QueueUserACLInfoProto(_message.Message):
    __slots__ = ("queueName", "userAcls")
    QUEUENAME_FIELD_NUMBER: _ClassVar[int]
    USERACLS_FIELD_NUMBER: _ClassVar[int]
    queueName: str
    userAcls: _containers.RepeatedScalarFieldContainer[QueueACLProto]
    def __init__(self, queueName: _Optional[str] = ..., userAcls: _Optional[_Iterable[_Union[QueueACLProto, str]]] = ...) -> None: ...

class PlacementConstraintProto(_message.Message):
    __slots__ = ("simpleConstraint", "compositeConstraint")
    SIMPLECONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    COMPOSITECONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    simpleConstraint: SimplePlacementConstraintProto
    compositeConstraint: CompositePlacementConstraintProto
    def __init__(self, simpleConstraint: _Optional[_Union[SimplePlacementConstraintProto, _Mapping]] = ..., compositeConstraint: _Optional[_Union[CompositePlacementConstraintProto, _Mapping]] = ...) -> None: ...

class SimplePlacementConstraintProto(_message.Message):
    __slots__ = ("scope", "targetExpressions", "minCardinality", "maxCardinality", "attributeOpCode")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TARGETEXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    MINCARDINALITY_FIELD_NUMBER: _ClassVar[int]
    MAXCARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTEOPCODE_FIELD_NUMBER: _ClassVar[int]
    scope: str
    targetExpressions: _containers.RepeatedCompositeFieldContainer[PlacementConstraintTargetProto]
    minCardinality: int
    maxCardinality: int
    attributeOpCode: NodeAttributeOpCodeProto
    def __init__(self, scope: _Optional[str] = ..., targetExpressions: _Optional[_Iterable[_Union[PlacementConstraintTargetProto, _Mapping]]] = ..., minCardinality: _Optional[int] = ..., maxCardinality: _Optional[int] = ..., attributeOpCode: _Optional[_Union[NodeAttributeOpCodeProto, str]] = ...) -> None: ...

class PlacementConstraintTargetProto(_message.Message):
    __slots__ = ("targetType", "targetKey", "targetValues")
    class TargetType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NODE_ATTRIBUTE: _ClassVar[PlacementConstraintTargetProto.TargetType]
        ALLOCATION_TAG: _ClassVar[PlacementConstraintTargetProto.TargetType]
        SELF: _ClassVar[PlacementConstraintTargetProto.TargetType]
    NODE_ATTRIBUTE: PlacementConstraintTargetProto.TargetType
    ALLOCATION_TAG: PlacementConstraintTargetProto.TargetType
    SELF: PlacementConstraintTargetProto.TargetType
    TARGETTYPE_FIELD_NUMBER: _ClassVar[int]
    TARGETKEY_FIELD_NUMBER: _ClassVar[int]
    TARGETVALUES_FIELD_NUMBER: _ClassVar[int]
    targetType: PlacementConstraintTargetProto.TargetType
    targetKey: str
    targetValues: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, targetType: _Optional[_Union[PlacementConstraintTargetProto.TargetType, str]] = ..., targetKey: _Optional[str] = ..., targetValues: _Optional[_Iterable[str]] = ...) -> None: ...

class TimedPlacementConstraintProto(_message.Message):
    __slots__ = ("placementConstraint", "schedulingDelay", "delayUnit")
    class DelayUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MILLISECONDS: _ClassVar[TimedPlacementConstraintProto.DelayUnit]
        OPPORTUNITIES: _ClassVar[TimedPlacementConstraintProto.DelayUnit]
    MILLISECONDS: TimedPlacementConstraintProto.DelayUnit
    OPPORTUNITIES: TimedPlacementConstraintProto.DelayUnit
    PLACEMENTCONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULINGDELAY_FIELD_NUMBER: _ClassVar[int]
    DELAYUNIT_FIELD_NUMBER: _ClassVar[int]
    placementConstraint: PlacementConstraintProto
    schedulingDelay: int
    delayUnit: TimedPlacementConstraintProto.DelayUnit
    def __init__(self, placementConstraint: _Optional[_Union[PlacementConstraintProto, _Mapping]] = ..., schedulingDelay: _Optional[int] = ..., delayUnit: _Optional[_Union[TimedPlacementConstraintProto.DelayUnit, str]] = ...) -> None: ...

class CompositePlacementConstraintProto(_message.Message):
    __slots__ = ("compositeType", "childConstraints", "timedChildConstraints")
    class CompositeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AND: _ClassVar[CompositePlacementConstraintProto.CompositeType]
        OR: _ClassVar[CompositePlacementConstraintProto.CompositeType]
        DELAYED_OR: _ClassVar[CompositePlacementConstraintProto.CompositeType]
    AND: CompositePlacementConstraintProto.CompositeType
    OR: CompositePlacementConstraintProto.CompositeType
    DELAYED_OR: CompositePlacementConstraintProto.CompositeType
    COMPOSITETYPE_FIELD_NUMBER: _ClassVar[int]
    CHILDCONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    TIMEDCHILDCONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    compositeType: CompositePlacementConstraintProto.CompositeType
    childConstraints: _containers.RepeatedCompositeFieldContainer[PlacementConstraintProto]
    timedChildConstraints: _containers.RepeatedCompositeFieldContainer[TimedPlacementConstraintProto]
    def __init__(self, compositeType: _Optional[_Union[CompositePlacementConstraintProto.CompositeType, str]] = ..., childConstraints: _Optional[_Iterable[_Union[PlacementConstraintProto, _Mapping]]] = ..., timedChildConstraints: _Optional[_Iterable[_Union[TimedPlacementConstraintProto, _Mapping]]] = ...) -> None: ...

class PlacementConstraintMapEntryProto(_message.Message):
    __slots__ = ("allocation_tags", "placement_constraint")
    ALLOCATION_TAGS_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    allocation_tags: _containers.RepeatedScalarFieldContainer[str]
    placement_constraint: PlacementConstraintProto
    def __init__(self, allocation_tags: _Optional[_Iterable[str]] = ..., placement_constraint: _Optional[_Union[PlacementConstraintProto, _Mapping]] = ...) -> None: ...

class ReservationIdProto(_message.Message):
    __slots__ = ("id", "cluster_timestamp")
    ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    id: int
    cluster_timestamp: int
    def __init__(self, id: _Optional[int] = ..., cluster_timestamp: _Optional[int] = ...) -> None: ...

class ReservationRequestProto(_message.Message):
    __slots__ = ("capability", "num_containers", "concurrency", "duration")
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    NUM_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    capability: ResourceProto
    num_containers: int
    concurrency: int
    duration: int
    def __init__(self, capability: _Optional[_Union[ResourceProto, _Mapping]] = ..., num_containers: _Optional[int] = ..., concurrency: _Optional[int] = ..., duration: _Optional[int] = ...) -> None: ...

class ReservationRequestsProto(_message.Message):
    __slots__ = ("reservation_resources", "interpreter")
    RESERVATION_RESOURCES_FIELD_NUMBER: _ClassVar[int]
    INTERPRETER_FIELD_NUMBER: _ClassVar[int]
    reservation_resources: _containers.RepeatedCompositeFieldContainer[ReservationRequestProto]
    interpreter: ReservationRequestInterpreterProto
    def __init__(self, reservation_resources: _Optional[_Iterable[_Union[ReservationRequestProto, _Mapping]]] = ..., interpreter: _Optional[_Union[ReservationRequestInterpreterProto, str]] = ...) -> None: ...

class ReservationDefinitionProto(_message.Message):
    __slots__ = ("reservation_requests", "arrival", "deadline", "reservation_name", "recurrence_expression", "priority")
    RESERVATION_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ARRIVAL_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_NAME_FIELD_NUMBER: _ClassVar[int]
    RECURRENCE_EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    reservation_requests: ReservationRequestsProto
    arrival: int
    deadline: int
    reservation_name: str
    recurrence_expression: str
    priority: PriorityProto
    def __init__(self, reservation_requests: _Optional[_Union[ReservationRequestsProto, _Mapping]] = ..., arrival: _Optional[int] = ..., deadline: _Optional[int] = ..., reservation_name: _Optional[str] = ..., recurrence_expression: _Optional[str] = ..., priority: _Optional[_Union[PriorityProto, _Mapping]] = ...) -> None: ...

class ResourceAllocationRequestProto(_message.Message):
    __slots__ = ("start_time", "end_time", "resource")
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    start_time: int
    end_time: int
    resource: ResourceProto
    def __init__(self, start_time: _Optional[int] = ..., end_time: _Optional[int] = ..., resource: _Optional[_Union[ResourceProto, _Mapping]] = ...) -> None: ...

class ReservationAllocationStateProto(_message.Message):
    __slots__ = ("reservation_definition", "allocation_requests", "start_time", "end_time", "user", "contains_gangs", "acceptance_time", "reservation_id")
    RESERVATION_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_GANGS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTANCE_TIME_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    reservation_definition: ReservationDefinitionProto
    allocation_requests: _containers.RepeatedCompositeFieldContainer[ResourceAllocationRequestProto]
    start_time: int
    end_time: int
    user: str
    contains_gangs: bool
    acceptance_time: int
    reservation_id: ReservationIdProto
    def __init__(self, reservation_definition: _Optional[_Union[ReservationDefinitionProto, _Mapping]] = ..., allocation_requests: _Optional[_Iterable[_Union[ResourceAllocationRequestProto, _Mapping]]] = ..., start_time: _Optional[int] = ..., end_time: _Optional[int] = ..., user: _Optional[str] = ..., contains_gangs: _Optional[bool] = ..., acceptance_time: _Optional[int] = ..., reservation_id: _Optional[_Union[ReservationIdProto, _Mapping]] = ...) -> None: ...

class ContainerLaunchContextProto(_message.Message):
    __slots__ = ("localResources", "tokens", "service_data", "environment", "command", "application_ACLs", "container_retry_context", "tokens_conf")
    LOCALRESOURCES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_DATA_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_ACLS_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_RETRY_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CONF_FIELD_NUMBER: _ClassVar[int]
    localResources: _containers.RepeatedCompositeFieldContainer[StringLocalResourceMapProto]
    tokens: bytes
    service_data: _containers.RepeatedCompositeFieldContainer[StringBytesMapProto]
    environment: _containers.RepeatedCompositeFieldContainer[StringStringMapProto]
    command: _containers.RepeatedScalarFieldContainer[str]
    application_ACLs: _containers.RepeatedCompositeFieldContainer[ApplicationACLMapProto]
    container_retry_context: ContainerRetryContextProto
    tokens_conf: bytes
    def __init__(self, localResources: _Optional[_Iterable[_Union[StringLocalResourceMapProto, _Mapping]]] = ..., tokens: _Optional[bytes] = ..., service_data: _Optional[_Iterable[_Union[StringBytesMapProto, _Mapping]]] = ..., environment: _Optional[_Iterable[_Union[StringStringMapProto, _Mapping]]] = ..., command: _Optional[_Iterable[str]] = ..., application_ACLs: _Optional[_Iterable[_Union[ApplicationACLMapProto, _Mapping]]] = ..., container_retry_context: _Optional[_Union[ContainerRetryContextProto, _Mapping]] = ..., tokens_conf: _Optional[bytes] = ...) -> None: ...

class ContainerStatusProto(_message.Message):
    __slots__ = ("container_id", "state", "diagnostics", "exit_status", "capability", "executionType", "container_attributes", "container_sub_state")
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONTYPE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_SUB_STATE_FIELD_NUMBER: _ClassVar[int]
    container_id: ContainerIdProto
    state: ContainerStateProto
    diagnostics: str
    exit_status: int
    capability: ResourceProto
    executionType: ExecutionTypeProto
    container_attributes: _containers.RepeatedCompositeFieldContainer[StringStringMapProto]
    container_sub_state: ContainerSubStateProto
    def __init__(self, container_id: _Optional[_Union[ContainerIdProto, _Mapping]] = ..., state: _Optional[_Union[ContainerStateProto, str]] = ..., diagnostics: _Optional[str] = ..., exit_status: _Optional[int] = ..., capability: _Optional[_Union[ResourceProto, _Mapping]] = ..., executionType: _Optional[_Union[ExecutionTypeProto, str]] = ..., container_attributes: _Optional[_Iterable[_Union[StringStringMapProto, _Mapping]]] = ..., container_sub_state: _Optional[_Union[ContainerSubStateProto, str]] = ...) -> None: ...

class ContainerRetryContextProto(_message.Message):
    __slots__ = ("retry_policy", "error_codes", "max_retries", "retry_interval", "failures_validity_interval")
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODES_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    RETRY_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_VALIDITY_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    retry_policy: ContainerRetryPolicyProto
    error_codes: _containers.RepeatedScalarFieldContainer[int]
    max_retries: int
    retry_interval: int
    failures_validity_interval: int
    def __init__(self, retry_policy: _Optional[_Union[ContainerRetryPolicyProto, str]] = ..., error_codes: _Optional[_Iterable[int]] = ..., max_retries: _Optional[int] = ..., retry_interval: _Optional[int] = ..., failures_validity_interval: _Optional[int] = ...) -> None: ...

class StringLocalResourceMapProto(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: LocalResourceProto
    def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[LocalResourceProto, _Mapping]] = ...) -> None: ...

class StringStringMapProto(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class StringBytesMapProto(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: bytes
    def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class CollectorInfoProto(_message.Message):
    __slots__ = ("collector_addr", "collector_token")
    COLLECTOR_ADDR_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_TOKEN_FIELD_NUMBER: _ClassVar[int]
    collector_addr: str
    collector_token: _Security_pb2.TokenProto
    def __init__(self, collector_addr: _Optional[str] = ..., collector_token: _Optional[_Union[_Security_pb2.TokenProto, _Mapping]] = ...) -> None: ...
