from yodel.hadoop_pb import yarn_protos_pb2 as _yarn_protos_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NodeActionProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_ACTION_NORMAL: _ClassVar[NodeActionProto]
    NODE_ACTION_RESYNC: _ClassVar[NodeActionProto]
    NODE_ACTION_SHUTDOWN: _ClassVar[NodeActionProto]
NODE_ACTION_NORMAL: NodeActionProto
NODE_ACTION_RESYNC: NodeActionProto
NODE_ACTION_SHUTDOWN: NodeActionProto

class NodeStatusProto(_message.Message):
    __slots__ = ("node_id", "response_id", "containersStatuses", "nodeHealthStatus", "keep_alive_applications", "containers_utilization", "node_utilization", "increased_containers", "opportunistic_containers_status")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINERSSTATUSES_FIELD_NUMBER: _ClassVar[int]
    NODEHEALTHSTATUS_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALIVE_APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    NODE_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    INCREASED_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    OPPORTUNISTIC_CONTAINERS_STATUS_FIELD_NUMBER: _ClassVar[int]
    node_id: _yarn_protos_pb2.NodeIdProto
    response_id: int
    containersStatuses: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerStatusProto]
    nodeHealthStatus: NodeHealthStatusProto
    keep_alive_applications: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ApplicationIdProto]
    containers_utilization: _yarn_protos_pb2.ResourceUtilizationProto
    node_utilization: _yarn_protos_pb2.ResourceUtilizationProto
    increased_containers: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.ContainerProto]
    opportunistic_containers_status: OpportunisticContainersStatusProto
    def __init__(self, node_id: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., response_id: _Optional[int] = ..., containersStatuses: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerStatusProto, _Mapping]]] = ..., nodeHealthStatus: _Optional[_Union[NodeHealthStatusProto, _Mapping]] = ..., keep_alive_applications: _Optional[_Iterable[_Union[_yarn_protos_pb2.ApplicationIdProto, _Mapping]]] = ..., containers_utilization: _Optional[_Union[_yarn_protos_pb2.ResourceUtilizationProto, _Mapping]] = ..., node_utilization: _Optional[_Union[_yarn_protos_pb2.ResourceUtilizationProto, _Mapping]] = ..., increased_containers: _Optional[_Iterable[_Union[_yarn_protos_pb2.ContainerProto, _Mapping]]] = ..., opportunistic_containers_status: _Optional[_Union[OpportunisticContainersStatusProto, _Mapping]] = ...) -> None: ...

class OpportunisticContainersStatusProto(_message.Message):
    __slots__ = ("running_opport_containers", "opport_memory_used", "opport_cores_used", "queued_opport_containers", "wait_queue_length", "estimated_queue_wait_time", "opport_queue_capacity")
    RUNNING_OPPORT_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    OPPORT_MEMORY_USED_FIELD_NUMBER: _ClassVar[int]
    OPPORT_CORES_USED_FIELD_NUMBER: _ClassVar[int]
    QUEUED_OPPORT_CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    WAIT_QUEUE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_QUEUE_WAIT_TIME_FIELD_NUMBER: _ClassVar[int]
    OPPORT_QUEUE_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    running_opport_containers: int
    opport_memory_used: int
    opport_cores_used: int
    queued_opport_containers: int
    wait_queue_length: int
    estimated_queue_wait_time: int
    opport_queue_capacity: int
    def __init__(self, running_opport_containers: _Optional[int] = ..., opport_memory_used: _Optional[int] = ..., opport_cores_used: _Optional[int] = ..., queued_opport_containers: _Optional[int] = ..., wait_queue_length: _Optional[int] = ..., estimated_queue_wait_time: _Optional[int] = ..., opport_queue_capacity: _Optional[int] = ...) -> None: ...

class MasterKeyProto(_message.Message):
    __slots__ = ("key_id", "bytes")
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    key_id: int
    bytes: bytes
    def __init__(self, key_id: _Optional[int] = ..., bytes: _Optional[bytes] = ...) -> None: ...

class NodeHealthStatusProto(_message.Message):
    __slots__ = ("is_node_healthy", "health_report", "last_health_report_time")
    IS_NODE_HEALTHY_FIELD_NUMBER: _ClassVar[int]
    HEALTH_REPORT_FIELD_NUMBER: _ClassVar[int]
    LAST_HEALTH_REPORT_TIME_FIELD_NUMBER: _ClassVar[int]
    is_node_healthy: bool
    health_report: str
    last_health_report_time: int
    def __init__(self, is_node_healthy: _Optional[bool] = ..., health_report: _Optional[str] = ..., last_health_report_time: _Optional[int] = ...) -> None: ...

class VersionProto(_message.Message):
    __slots__ = ("major_version", "minor_version")
    MAJOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    MINOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    major_version: int
    minor_version: int
    def __init__(self, major_version: _Optional[int] = ..., minor_version: _Optional[int] = ...) -> None: ...
